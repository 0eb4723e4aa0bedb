//! [`WindowStats`]: the numbers every metric of a window is a formula of. [`WindowStats::of`] reads them from slices; a
//! device that fills the same struct gets the same [`WindowMetrics`](super::WindowMetrics).

use super::drawdown::Drawdown;
use super::quantile::quantiles_counted;
use super::scan::{PairStats, ReturnStats};
use super::trades::TradeStats;
use super::value_at_risk::{self, tail_mean};
use super::{MetricConfig, PathView};
use crate::path::Counts;

/// Level of the tail ratio, and of the value at risk unless set otherwise.
pub(crate) const TAIL: f64 = 0.05;

/// Sufficient statistics of one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowStats {
    /// Bars lived through, n; those whose return is NaN included.
    pub n_bars: usize,
    /// Of the returns, against the minimum acceptable return of one bar.
    pub returns: ReturnStats,
    /// Of the equity; `None` without one that begins above 0.
    pub equity: Option<EquityStats>,
    /// Of the returns' tails.
    pub tails: TailStats,
    /// Closed trades.
    pub n_trades: usize,
    /// Of the closed trades.
    pub trades: TradeStats,
    /// Events along the way.
    pub counts: Counts,
    /// Of the returns beside the benchmark's; `None` without a benchmark.
    pub pair: Option<PairStats>,
}

/// Statistics of an equity curve E_0..E_n.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EquityStats {
    /// E_0.
    pub first: f64,
    /// E_n.
    pub last: f64,
    /// Everything about drawdowns.
    pub drawdown: Drawdown,
}

impl EquityStats {
    fn of(equity: &[f64]) -> Option<Self> {
        let drawdown = Drawdown::of(equity)?;
        Some(Self { first: *equity.first()?, last: *equity.last()?, drawdown })
    }
}

/// Quantiles of the returns; `None` where they are undefined.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TailStats {
    /// At the level of the value at risk.
    pub cut: Option<f64>,
    /// Mean of the returns ≤ `cut`.
    pub beyond: Option<f64>,
    /// At 5 %.
    pub low: Option<f64>,
    /// At 95 %.
    pub high: Option<f64>,
}

impl TailStats {
    /// `n` of the returns are not NaN.
    fn of(returns: &[f64], n: usize, var_level: f64) -> Self {
        let (cut, low, high) = if var_level == TAIL {
            let [low, high] = quantiles_counted(returns, n, [TAIL, 1.0 - TAIL]);
            (low, low, high)
        } else {
            let [cut, low, high] = quantiles_counted(returns, n, [var_level, TAIL, 1.0 - TAIL]);
            (cut, low, high)
        };
        let wanted = cut.filter(|_| value_at_risk::is_defined(n, var_level));
        Self { cut, beyond: wanted.and_then(|cut| tail_mean(returns, cut)), low, high }
    }
}

impl WindowStats {
    /// Of one window. `benchmark_returns` `[n]` are the close-to-close returns of the same bars; empty: no benchmark.
    ///
    /// # Panics
    /// When `benchmark_returns` is neither empty nor as long as the path's returns.
    pub fn of<'a>(
        path: impl Into<PathView<'a>>,
        benchmark_returns: &[f64],
        periods_per_year: f64,
        config: &MetricConfig,
    ) -> Self {
        let path = path.into();
        let (returns, equity) = rayon::join(
            || ReturnStats::of(path.returns, config.mar / periods_per_year),
            || EquityStats::of(path.equity),
        );
        let has_benchmark = !benchmark_returns.is_empty() || path.returns.is_empty();
        Self {
            n_bars: path.returns.len(),
            tails: TailStats::of(path.returns, returns.moments.n, config.var_level),
            returns,
            equity,
            n_trades: path.trades.len(),
            trades: TradeStats::of(path.trades),
            counts: path.counts,
            pair: has_benchmark.then(|| PairStats::of(path.returns, benchmark_returns)),
        }
    }
}
