//! [`EvalReport`]: the one result of evaluating a policy over windows, whatever computed it.

use std::collections::BTreeMap;

use gigabar_market::Bars;
use serde::{Deserialize, Serialize};

use crate::metric::benchmark::close_to_close;
use crate::metric::probabilistic_sharpe::deflated_sharpe_of;
use crate::metric::{CATALOG, Format, MetricConfig, Moments, Trials, WindowMetrics, WindowStats};
use crate::path::{Counts, Path};

/// Metrics per window, pooled over all of them, and their spread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalReport {
    /// The policy's name.
    pub policy: String,
    /// Bars a year, the factor that annualised.
    pub periods_per_year: f64,
    /// Number of trials the policy was chosen from, itself included.
    pub n_trials: usize,
    /// What the metrics were measured against.
    pub config: MetricConfig,
    /// Each window, in the order given.
    pub windows: Vec<WindowReport>,
    /// The windows as one account, each taking over the equity the one before left: the headline.
    pub pooled: WindowMetrics,
    /// Mean and standard deviation over the windows of every numeric metric, by key.
    pub across: BTreeMap<String, MeanStd>,
    /// Buy-and-hold, close to close without costs, pooled over the same windows.
    pub benchmark: WindowMetrics,
    /// Probabilistic Sharpe ratio of the pooled returns: probability that the true one exceeds 0.
    pub psr: Option<f64>,
    /// Deflated Sharpe ratio of the pooled returns: as `psr`, against the best to expect of `n_trials` without skill.
    pub dsr: Option<f64>,
}

/// One window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowReport {
    /// Its place among the windows.
    pub index: usize,
    /// First bar, an index into the data set.
    pub first_bar: usize,
    /// Last bar, inside the window.
    pub last_bar: usize,
    /// Opening time of the first bar, UTC nanoseconds.
    pub first_ts: i64,
    /// Opening time of the last bar, UTC nanoseconds.
    pub last_ts: i64,
    /// Bars of the window; its metrics count one return fewer.
    pub n_bars: usize,
    /// Metrics of the policy.
    pub metrics: WindowMetrics,
    /// Metrics of buy-and-hold, close to close without costs, over the same bars.
    pub benchmark: WindowMetrics,
}

/// Mean and spread of a metric over the windows where it is defined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MeanStd {
    /// Mean; undefined when no window defines the metric.
    pub mean: Option<f64>,
    /// Sample standard deviation (ddof 1); undefined for fewer than two values.
    pub std: Option<f64>,
    /// Windows that define the metric.
    pub n: usize,
}

impl MeanStd {
    /// Of the values that are defined.
    pub fn of(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let values: Vec<f64> = values.into_iter().flatten().collect();
        let moments = Moments::of(&values);
        Self { mean: (moments.n > 0).then_some(moments.mean), std: moments.std(), n: moments.n }
    }
}

impl EvalReport {
    /// Evaluates the paths one policy took through `bars`; `n_trials` is the number of policies it was chosen from.
    ///
    /// # Panics
    /// When a path reaches beyond `bars`.
    pub fn new(policy: &str, bars: &Bars, paths: &[Path], config: &MetricConfig, n_trials: usize) -> Self {
        Self::with_trials(policy, bars, paths, config, Trials::count(n_trials))
    }

    /// As [`Self::new`], with what is known of the trials' Sharpe ratios.
    ///
    /// # Panics
    /// When a path reaches beyond `bars`.
    pub fn with_trials(policy: &str, bars: &Bars, paths: &[Path], config: &MetricConfig, trials: Trials) -> Self {
        Self::from_stats(policy, bars, &ReportStats::of(bars, paths, config), config, trials)
    }

    /// The report of statistics, whatever computed them from paths through `bars`.
    pub(crate) fn from_stats(
        policy: &str,
        bars: &Bars,
        stats: &ReportStats,
        config: &MetricConfig,
        trials: Trials,
    ) -> Self {
        let ppy = bars.periods_per_year();
        let windows: Vec<WindowReport> =
            stats.windows.iter().enumerate().map(|(i, window)| WindowReport::new(i, bars, window, config)).collect();
        let pooled = WindowMetrics::from_stats(&stats.pooled, ppy, config);
        Self {
            policy: policy.into(),
            periods_per_year: ppy,
            n_trials: trials.n,
            config: *config,
            across: across(&windows),
            benchmark: WindowMetrics::from_stats(&stats.hold, ppy, config),
            psr: pooled.psr,
            dsr: deflated_sharpe_of(&stats.pooled.returns.moments, trials, config.risk_free, ppy),
            pooled,
            windows,
        }
    }
}

/// What a report's metrics are formulas of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReportStats {
    /// In the order of the windows.
    pub(crate) windows: Vec<SpanStats>,
    /// The windows as one account.
    pub(crate) pooled: WindowStats,
    /// Holding the instrument, as one account.
    pub(crate) hold: WindowStats,
}

/// One window of [`ReportStats`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SpanStats {
    /// First bar, an index into the data set.
    pub(crate) first_bar: usize,
    /// Of the policy.
    pub(crate) own: WindowStats,
    /// Of holding the instrument over the same bars.
    pub(crate) hold: WindowStats,
}

impl ReportStats {
    fn of(bars: &Bars, paths: &[Path], config: &MetricConfig) -> Self {
        let stats = |path: &Path, hold: &Path| WindowStats::of(path, &hold.returns, bars.periods_per_year(), config);
        let holds: Vec<Path> = paths.iter().map(|path| hold(bars, path)).collect();
        let span = |(path, hold): (&Path, &Path)| SpanStats {
            first_bar: path.first_bar,
            own: stats(path, hold),
            hold: stats(hold, hold),
        };
        let (hold, account) = (pool(&holds), pool(paths));
        Self {
            windows: paths.iter().zip(&holds).map(span).collect(),
            pooled: stats(account.get(), hold.get()),
            hold: stats(hold.get(), hold.get()),
        }
    }
}

impl WindowReport {
    fn new(index: usize, bars: &Bars, stats: &SpanStats, config: &MetricConfig) -> Self {
        let ppy = bars.periods_per_year();
        let last_bar = stats.first_bar + stats.own.n_bars;
        Self {
            index,
            first_bar: stats.first_bar,
            last_bar,
            first_ts: bars.ts()[stats.first_bar],
            last_ts: bars.ts()[last_bar],
            n_bars: stats.own.n_bars + 1,
            metrics: WindowMetrics::from_stats(&stats.own, ppy, config),
            benchmark: WindowMetrics::from_stats(&stats.hold, ppy, config),
        }
    }
}

/// Holding the instrument over a path's bars, close to close, without costs: starts with the path's cash, is in the
/// market in every bar and trades nothing inside the window.
fn hold(bars: &Bars, path: &Path) -> Path {
    let n = path.returns.len();
    let close = &bars.close()[path.first_bar..=path.first_bar + n];
    let initial = path.equity.first().copied().unwrap_or(1.0);
    Path {
        first_bar: path.first_bar,
        returns: close_to_close(close),
        equity: close.iter().map(|c| initial * (c / close[0])).collect(),
        counts: Counts { bars_in_market: n, ..Counts::default() },
        ..Path::default()
    }
}

/// The windows as one account; a single window is that account already.
enum Pool<'a> {
    One(&'a Path),
    Many(Box<Path>),
}

impl Pool<'_> {
    fn get(&self) -> &Path {
        match self {
            Self::One(path) => path,
            Self::Many(path) => path,
        }
    }
}

/// Returns and trades are strung together and events summed. Each window's equity is scaled to begin where the one
/// before ended, which is the equity its returns make of that; its traded value, costs and carry are scaled alike, so
/// that they belong to the pooled equity. Trades stay as they were: every window began with the same cash.
fn pool(paths: &[Path]) -> Pool<'_> {
    if let [path] = paths {
        return Pool::One(path);
    }
    let mut account = Path { first_bar: paths.first().map_or(0, |path| path.first_bar), ..Path::default() };
    for path in paths {
        let start = path.equity.first().copied().unwrap_or(1.0);
        let scale = takeover(account.equity.last().copied(), start);
        // The first point of a later window is the last point of the one before.
        let skip = usize::from(!account.equity.is_empty());
        account.equity.extend(path.equity.iter().skip(skip).map(|e| e * scale));
        account.returns.extend_from_slice(&path.returns);
        account.trades.extend_from_slice(&path.trades);
        account.counts = add_counts(account.counts, path.counts, scale);
    }
    Pool::Many(Box::new(account))
}

/// What the money of a window that begins with `start` is multiplied by when it takes over the equity `before`; the
/// first window keeps its own.
pub(crate) fn takeover(before: Option<f64>, start: f64) -> f64 {
    before.map_or(1.0, |equity| equity / start)
}

/// Counts of an account and of a window that follows it, whose money is scaled.
pub(crate) fn add_counts(sum: Counts, window: Counts, scale: f64) -> Counts {
    Counts {
        bars_in_market: sum.bars_in_market + window.bars_in_market,
        fills: sum.fills + window.fills,
        traded_value: sum.traded_value + window.traded_value * scale,
        costs: sum.costs + window.costs * scale,
        carry: sum.carry + window.carry * scale,
        rejected_orders: sum.rejected_orders + window.rejected_orders,
        capped_orders: sum.capped_orders + window.capped_orders,
        nan_levels: sum.nan_levels + window.nan_levels,
        ruined: sum.ruined || window.ruined,
    }
}

fn across(windows: &[WindowReport]) -> BTreeMap<String, MeanStd> {
    CATALOG
        .iter()
        .filter(|info| info.format != Format::Flag)
        .map(|info| (info.key.into(), MeanStd::of(windows.iter().map(|window| (info.value)(&window.metrics)))))
        .collect()
}
