//! [`WindowMetrics`]: the whole suite over one window.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::catalog::{self, UnknownMetric};
use super::probabilistic_sharpe::probabilistic_sharpe_of;
use super::scan::{PairStats, ReturnStats};
use super::stats::{EquityStats, TAIL, TailStats, WindowStats};
use super::trades::TradeStats;
use super::{benchmark, cagr, calmar, extremes, omega, shape, sharpe, sortino, tail_ratio, total_return, turnover};
use super::{defined, exposure, ulcer_index, value_at_risk, volatility};
use crate::path::{Counts, Path, Trade};

/// Rates and levels the metrics are measured against.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricConfig {
    /// Risk-free rate a year (0.02 = 2 %): Sharpe ratio, alpha, probabilistic Sharpe.
    pub risk_free: f64,
    /// Minimum acceptable return a year: Sortino and omega ratio.
    pub mar: f64,
    /// Tail probability of the value at risk and its conditional, inside (0, 1).
    pub var_level: f64,
}

impl Default for MetricConfig {
    fn default() -> Self {
        Self { risk_free: 0.0, mar: 0.0, var_level: TAIL }
    }
}

/// A setting no metric can be measured with.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("metric.{field} is {value}; it must be {must}")]
pub struct MetricConfigError {
    /// Offending field.
    pub field: &'static str,
    /// Its value.
    pub value: f64,
    /// What it must be.
    pub must: &'static str,
}

impl MetricConfig {
    /// # Errors
    /// [`MetricConfigError`] for a rate that is not finite or a level outside (0, 1).
    pub fn validate(&self) -> Result<(), MetricConfigError> {
        for (field, value) in [("risk_free", self.risk_free), ("mar", self.mar)] {
            if !value.is_finite() {
                return Err(MetricConfigError { field, value, must: "a finite annual rate" });
            }
        }
        if self.var_level > 0.0 && self.var_level < 1.0 {
            return Ok(());
        }
        Err(MetricConfigError { field: "var_level", value: self.var_level, must: "above 0 and below 1" })
    }
}

/// A window's path by reference: what metrics read of it, without a copy.
#[derive(Debug, Clone, Copy)]
pub struct PathView<'a> {
    /// Simple return of each bar lived through. `[n]`
    pub returns: &'a [f64],
    /// Equity, E_0 first. `[n + 1]`
    pub equity: &'a [f64],
    /// Closed trades.
    pub trades: &'a [Trade],
    /// Events along the way.
    pub counts: Counts,
}

impl<'a> From<&'a Path> for PathView<'a> {
    fn from(path: &'a Path) -> Self {
        Self { returns: &path.returns, equity: &path.equity, trades: &path.trades, counts: path.counts }
    }
}

/// Every metric of one window. Fractions, not percent; money in the quote currency; `None` is undefined.
/// [`super::CATALOG`] holds a label, a format and an explanation for each field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowMetrics {
    /// Bars lived through, n.
    pub n_bars: usize,
    /// E_n.
    pub final_equity: Option<f64>,
    /// E_n − E_0.
    pub total_pnl: Option<f64>,
    /// E_n/E_0 − 1.
    pub total_return: Option<f64>,
    /// Compound annual growth rate.
    pub cagr: Option<f64>,
    /// Annualised standard deviation.
    pub volatility: Option<f64>,
    /// Annualised Sharpe ratio.
    pub sharpe: Option<f64>,
    /// Annualised Sortino ratio.
    pub sortino: Option<f64>,
    /// CAGR over the largest drawdown.
    pub calmar: Option<f64>,
    /// Gains over losses about the minimum acceptable return.
    pub omega: Option<f64>,
    /// Probability that the true Sharpe ratio exceeds 0.
    pub psr: Option<f64>,
    /// Largest fall from a peak.
    pub max_drawdown: Option<f64>,
    /// Longest stretch under water, bars.
    pub max_drawdown_bars: Option<usize>,
    /// Bars from the deepest trough back to its peak.
    pub recovery_bars: Option<usize>,
    /// Whether the last peak was regained.
    pub recovered: Option<bool>,
    /// Root mean square drawdown.
    pub ulcer_index: Option<f64>,
    /// Historical value at risk of one bar at `var_level`, positive = loss.
    pub var: Option<f64>,
    /// Mean loss at or beyond the value at risk.
    pub cvar: Option<f64>,
    /// Sample skewness.
    pub skew: Option<f64>,
    /// Sample excess kurtosis.
    pub kurtosis: Option<f64>,
    /// 95 % quantile over the 5 % quantile, absolute.
    pub tail_ratio: Option<f64>,
    /// Largest return of one bar.
    pub best_bar: Option<f64>,
    /// Smallest return of one bar.
    pub worst_bar: Option<f64>,
    /// Closed trades.
    pub n_trades: usize,
    /// Share of trades that won.
    pub win_rate: Option<f64>,
    /// Gross profit over gross loss.
    pub profit_factor: Option<f64>,
    /// Mean win over mean loss.
    pub payoff_ratio: Option<f64>,
    /// Mean P&L of a trade.
    pub expectancy: Option<f64>,
    /// Mean P&L over equity at entry.
    pub avg_trade_return: Option<f64>,
    /// System quality number.
    pub sqn: Option<f64>,
    /// Mean bars a trade lived through.
    pub avg_bars_held: Option<f64>,
    /// Share of bars in the market.
    pub exposure: Option<f64>,
    /// Traded value a year over the mean equity.
    pub turnover: Option<f64>,
    /// Fills, exits included.
    pub fills: usize,
    /// Commission, spread and slippage paid.
    pub costs: Option<f64>,
    /// Carry paid.
    pub carry: Option<f64>,
    /// Orders refused because the bar did not trade.
    pub rejected_orders: usize,
    /// Orders cut by the participation cap.
    pub capped_orders: usize,
    /// Decisions that were NaN, taken as flat.
    pub nan_levels: usize,
    /// Whether equity was exhausted or the position liquidated.
    pub ruined: bool,
    /// Return of holding the instrument, close to close.
    pub benchmark_return: Option<f64>,
    /// Annual return the exposure to the benchmark does not explain.
    pub alpha: Option<f64>,
    /// Sensitivity to the benchmark.
    pub beta: Option<f64>,
    /// Annualised active return per unit of its deviation.
    pub information_ratio: Option<f64>,
}

impl WindowMetrics {
    /// The suite over one window, which may be given as `&Path` or [`PathView`]. `benchmark_returns` `[n]` are the
    /// close-to-close returns of the same bars; without a benchmark, pass an empty slice.
    ///
    /// # Panics
    /// When `benchmark_returns` is neither empty nor as long as the path's returns.
    pub fn compute<'a>(
        path: impl Into<PathView<'a>>,
        benchmark_returns: &[f64],
        periods_per_year: f64,
        config: &MetricConfig,
    ) -> Self {
        Self::from_stats(&WindowStats::of(path, benchmark_returns, periods_per_year, config), periods_per_year, config)
    }

    /// The suite from what a window's path comes down to. `config` and `periods_per_year` must be those of the
    /// statistics, which hold quantiles at its level and sums about its thresholds.
    pub fn from_stats(stats: &WindowStats, periods_per_year: f64, config: &MetricConfig) -> Self {
        let mut metrics = Self { n_bars: stats.n_bars, ..Self::default() };
        metrics.set_returns(&stats.returns, periods_per_year, config);
        if let Some(equity) = &stats.equity {
            metrics.set_equity(equity, stats.counts.traded_value, periods_per_year);
        }
        metrics.set_tails(&stats.tails, stats.returns.moments.n, config.var_level);
        metrics.set_trades(&stats.trades, stats.n_trades);
        metrics.set_counts(stats.counts);
        if let Some(pair) = &stats.pair {
            metrics.set_benchmark(pair, periods_per_year, config);
        }
        metrics
    }

    fn set_returns(&mut self, stats: &ReturnStats, periods_per_year: f64, config: &MetricConfig) {
        let moments = &stats.moments;
        self.volatility = volatility::volatility_of(moments, periods_per_year);
        self.sharpe = sharpe::sharpe_of(moments, config.risk_free, periods_per_year);
        self.psr = probabilistic_sharpe_of(moments, 0.0, config.risk_free, periods_per_year);
        self.sortino = sortino::sortino_of(stats, periods_per_year);
        self.omega = omega::omega_of(stats);
        self.skew = shape::skew_of(moments);
        self.kurtosis = shape::kurtosis_of(moments);
        self.best_bar = extremes::best_bar_of(moments);
        self.worst_bar = extremes::worst_bar_of(moments);
    }

    fn set_equity(&mut self, equity: &EquityStats, traded_value: f64, periods_per_year: f64) {
        let &EquityStats { first, last, drawdown } = equity;
        self.final_equity = defined(last);
        self.total_pnl = total_return::total_pnl_of(first, last);
        self.total_return = total_return::total_return_of(first, last);
        self.cagr = cagr::cagr_of(first, last, drawdown.n, periods_per_year);
        self.max_drawdown = defined(drawdown.max);
        self.max_drawdown_bars = Some(drawdown.max_bars);
        self.recovery_bars = drawdown.recovery_bars;
        self.recovered = Some(drawdown.recovered);
        self.ulcer_index = ulcer_index::ulcer_index_of(&drawdown);
        self.calmar = calmar::calmar_of(self.cagr, self.max_drawdown);
        self.turnover = turnover::turnover_of(traded_value, drawdown.equity_sum, drawdown.n, periods_per_year);
    }

    fn set_tails(&mut self, tails: &TailStats, n: usize, var_level: f64) {
        if value_at_risk::is_defined(n, var_level) {
            self.var = tails.cut.and_then(|cut| defined(-cut));
            self.cvar = tails.beyond.map(|mean| -mean);
        }
        if n >= 2 {
            self.tail_ratio = tails.low.zip(tails.high).and_then(|(low, high)| tail_ratio::tail_ratio_of(low, high));
        }
    }

    fn set_trades(&mut self, stats: &TradeStats, n_trades: usize) {
        self.n_trades = n_trades;
        self.win_rate = stats.win_rate();
        self.profit_factor = stats.profit_factor();
        self.payoff_ratio = stats.payoff_ratio();
        self.expectancy = stats.expectancy();
        self.avg_trade_return = stats.avg_trade_return();
        self.sqn = stats.sqn();
        self.avg_bars_held = stats.avg_bars_held();
    }

    fn set_counts(&mut self, counts: Counts) {
        self.exposure = exposure(counts.bars_in_market, self.n_bars);
        self.fills = counts.fills;
        self.costs = defined(counts.costs);
        self.carry = defined(counts.carry);
        self.rejected_orders = counts.rejected_orders;
        self.capped_orders = counts.capped_orders;
        self.nan_levels = counts.nan_levels;
        self.ruined = counts.ruined;
    }

    fn set_benchmark(&mut self, pair: &PairStats, periods_per_year: f64, config: &MetricConfig) {
        self.benchmark_return = benchmark::benchmark_return_of(pair);
        self.beta = benchmark::beta_of(pair);
        self.alpha = benchmark::alpha_of(pair, config.risk_free, periods_per_year);
        self.information_ratio = benchmark::information_ratio_of(pair, periods_per_year);
    }

    /// The metric named `key`: `None` when there is none of that name, `Some(None)` when it is undefined here. Flags
    /// read 1 or 0.
    pub fn get(&self, key: &str) -> Option<Option<f64>> {
        catalog::find(key).ok().map(|info| (info.value)(self))
    }

    /// As [`Self::get`], for a key a person wrote.
    ///
    /// # Errors
    /// [`UnknownMetric`], which names the nearest key.
    pub fn objective(&self, key: &str) -> Result<Option<f64>, UnknownMetric> {
        catalog::find(key).map(|info| (info.value)(self))
    }
}
