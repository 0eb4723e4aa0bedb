//! [`StrategyResult`]: what one of several strategies earned, as a backtest of it alone tells.

use gigabar_backtest::metric::{MetricInfo, WindowMetrics};
use gigabar_backtest::sweep::SweepRow;
use gigabar_backtest::{EvalReport, Path};
use gigabar_market::Bars;
use serde::{Deserialize, Serialize};

use super::ranking::best_by;
use crate::report::decimate;

/// Points that a curve keeps, at most about.
const POINTS: usize = 600;

/// The account over all windows, chained and thinned: of every stretch the first, the last, the lowest and the highest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Bar opens, UTC nanoseconds. `[n_point]`
    pub ts: Vec<i64>,
    /// What 100 have become at that bar's close. `[n_point]`
    pub value: Vec<f64>,
}

impl Growth {
    fn new(bars: &Bars, paths: &[Path]) -> Self {
        let (mut growth, mut start) = (Self::default(), 100.0);
        for path in paths {
            let (equity, first) = (&path.equity, path.equity.first().copied().unwrap_or(1.0));
            for i in decimate::keep(&[equity], equity.len(), POINTS.div_ceil(paths.len())) {
                growth.ts.push(bars.ts()[path.first_bar + i]);
                growth.value.push(start * (equity[i] / first));
            }
            start *= equity.last().copied().unwrap_or(first) / first;
        }
        growth
    }
}

/// The `n` best of `strategies`, the best first, as [`best`](super::best) ranks.
pub fn best_strategies(strategies: &[StrategyResult], by: &MetricInfo, n: usize) -> Vec<usize> {
    let rows: Vec<SweepRow> = strategies.iter().map(|one| one.row).collect();
    best_by(&rows, by, |i| (by.value)(&strategies[i].metrics), n)
}

/// A strategy and its metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct StrategyResult {
    /// Its name.
    pub name: String,
    /// What a table shows of it.
    pub row: SweepRow,
    /// All metrics of the windows as one account.
    pub metrics: WindowMetrics,
    /// Its curve.
    pub growth: Growth,
}

impl StrategyResult {
    /// Of its report over windows of `bars`, and of the paths that the report was made from.
    ///
    /// # Panics
    /// When a path reaches beyond `bars`.
    pub fn new(report: EvalReport, bars: &Bars, paths: &[Path]) -> Self {
        let EvalReport { policy, pooled, .. } = report;
        // Defined wherever there is a bar.
        let value = |metric: Option<f64>| metric.unwrap_or_default();
        let trades = || paths.iter().flat_map(|path| &path.trades);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let row = SweepRow {
            total_pnl: value(pooled.total_pnl),
            total_return: value(pooled.total_return),
            sharpe: pooled.sharpe,
            max_drawdown: value(pooled.max_drawdown),
            final_equity: value(pooled.final_equity),
            costs: value(pooled.costs),
            n_trades: count(trades().count()),
            n_wins: count(trades().filter(|trade| trade.pnl > 0.0).count()),
            bars_in_market: count(paths.iter().map(|path| path.counts.bars_in_market).sum()),
            n_bars: count(pooled.n_bars),
            ruined: pooled.ruined,
        };
        Self { name: policy, row, metrics: pooled, growth: Growth::new(bars, paths) }
    }
}
