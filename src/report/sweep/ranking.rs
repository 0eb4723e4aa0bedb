//! The columns of a sweep, the best of its sets, and the windows of a set as one.

use std::cmp::Ordering;

use gigabar_backtest::metric::{Better, CATALOG, MetricInfo};
use gigabar_backtest::sweep::SweepRow;
use thiserror::Error;

use super::Ranked;

/// A metric that every set of a sweep has.
#[derive(Debug, Clone, Copy)]
pub struct SweepColumn {
    /// Its key in [`CATALOG`].
    pub key: &'static str,
    /// Reads it.
    pub value: fn(&SweepRow) -> Option<f64>,
}

/// The columns of tables and of `sweep.csv`, in order.
pub const COLUMNS: [SweepColumn; 9] = [
    SweepColumn { key: "sharpe", value: |row| row.sharpe },
    SweepColumn { key: "total_return", value: |row| Some(row.total_return) },
    SweepColumn { key: "max_drawdown", value: |row| Some(row.max_drawdown) },
    SweepColumn { key: "win_rate", value: SweepRow::win_rate },
    SweepColumn { key: "n_trades", value: |row| Some(f64::from(row.n_trades)) },
    SweepColumn { key: "exposure", value: SweepRow::exposure },
    SweepColumn { key: "costs", value: |row| Some(row.costs) },
    SweepColumn { key: "total_pnl", value: |row| Some(row.total_pnl) },
    SweepColumn { key: "final_equity", value: |row| Some(row.final_equity) },
];

impl SweepColumn {
    /// How the metric is called and written.
    pub fn info(&self) -> &'static MetricInfo {
        // Every key is in the catalog: a test holds it to that.
        CATALOG.iter().find(|info| info.key == self.key).unwrap_or(&CATALOG[0])
    }
}

/// A key that nothing can be ranked by.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} cannot be sorted by `{key}`", if *ranked == Ranked::Sets { "a sweep" } else { "strategies" })]
pub struct UnknownColumn {
    /// The key as written.
    pub key: String,
    /// What is to be ranked.
    pub ranked: Ranked,
}

impl UnknownColumn {
    /// The keys it can be sorted by.
    pub fn hint(&self) -> Option<String> {
        let keys: Vec<&str> = match self.ranked {
            Ranked::Sets => COLUMNS.iter().map(SweepColumn::info).filter(ranks).map(|info| info.key).collect(),
            Ranked::Strategies => CATALOG.iter().filter(ranks).map(|info| info.key).collect(),
        };
        Some(format!("use one of {}", keys.join(", ")))
    }
}

fn ranks(info: &&MetricInfo) -> bool {
    info.better != Better::Neither
}

/// The column to rank sets by.
///
/// # Errors
/// [`UnknownColumn`] for a key of no column, or of one that only describes.
pub fn column(key: &str) -> Result<&'static SweepColumn, UnknownColumn> {
    let unknown = || UnknownColumn { key: key.into(), ranked: Ranked::Sets };
    COLUMNS.iter().find(|column| column.key == key && ranks(&column.info())).ok_or_else(unknown)
}

/// The metric to rank strategies by, of which all are known.
///
/// # Errors
/// [`UnknownColumn`] for a key of no metric, or of one that only describes.
pub fn metric(key: &str) -> Result<&'static MetricInfo, UnknownColumn> {
    let unknown = || UnknownColumn { key: key.into(), ranked: Ranked::Strategies };
    CATALOG.iter().find(|info| info.key == key && ranks(info)).ok_or_else(unknown)
}

/// The `n` best rows, the best first. Last, whatever the metric, are accounts that never held a position; before them
/// those that were ruined, or grew beyond all numbers; of each the undefined after the others. Equal ones stay in the
/// grid's order.
pub fn best(rows: &[SweepRow], column: &SweepColumn, n: usize) -> Vec<usize> {
    best_by(rows, column.info(), |i| (column.value)(&rows[i]), n)
}

/// As [`best`], by a metric that the rows need not hold.
pub(super) fn best_by(
    rows: &[SweepRow],
    info: &MetricInfo,
    value: impl Fn(usize) -> Option<f64>,
    n: usize,
) -> Vec<usize> {
    let value = |i: usize| value(i).filter(|value| !value.is_nan());
    let better_first = |&a: &usize, &b: &usize| -> Ordering {
        let rank = |i: usize, j: usize| info.rank(value(i), value(j));
        standing(&rows[a]).cmp(&standing(&rows[b])).then_with(|| rank(b, a)).then(a.cmp(&b))
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    if n < order.len() {
        order.select_nth_unstable_by(n, better_first);
        order.truncate(n);
    }
    order.sort_unstable_by(better_first);
    order
}

/// Which accounts come first, whatever they earned.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Alive,
    Lost,
    Idle,
}

fn standing(row: &SweepRow) -> Standing {
    match row {
        row if row.bars_in_market == 0 => Standing::Idle,
        row if row.ruined || !row.final_equity.is_finite() => Standing::Lost,
        _ => Standing::Alive,
    }
}

/// One row per set of the rows of several windows, `[n_window][n_set]`. Returns, P&L, costs and counts are those of the
/// windows as one account, each taking over the equity the one before left. Without the paths two metrics are not:
/// `sharpe` is the mean over all windows, see `mean_sharpe`, `max_drawdown` the largest inside any window.
pub fn pooled(windows: Vec<Vec<SweepRow>>) -> Vec<SweepRow> {
    let mut sharpes = Vec::new();
    if let [first, _, ..] = windows.as_slice() {
        sharpes = (0..first.len()).map(|i| mean_sharpe(windows.iter().map(|rows| &rows[i]))).collect();
    }
    let mut windows = windows.into_iter();
    let Some(mut pooled) = windows.next() else { return Vec::new() };
    for window in windows {
        pooled.iter_mut().zip(window).for_each(|(sum, row)| add(sum, &row));
    }
    pooled.iter_mut().zip(sharpes).for_each(|(row, sharpe)| row.sharpe = sharpe);
    pooled
}

/// The mean over a set's windows. A window in which the account never moved counts as 0: it earned nothing in excess of
/// cash, and to leave it out would favour sets that trade once, in the one window that suited them. Undefined where the
/// account moved in a window that defines none, or never moved at all.
fn mean_sharpe<'a>(windows: impl Iterator<Item = &'a SweepRow>) -> Option<f64> {
    let (mut sum, mut n, mut moved) = (0.0, 0_u32, false);
    for row in windows {
        let idle = row.total_pnl == 0.0 && row.max_drawdown == 0.0;
        if !idle {
            sum += row.sharpe?;
        }
        (n, moved) = (n + 1, moved || !idle);
    }
    moved.then(|| sum / f64::from(n))
}

fn add(sum: &mut SweepRow, row: &SweepRow) {
    let initial = sum.final_equity - sum.total_pnl;
    let scale = sum.final_equity / (row.final_equity - row.total_pnl);
    sum.max_drawdown = sum.max_drawdown.max(row.max_drawdown);
    sum.costs += row.costs * scale;
    sum.final_equity = row.final_equity * scale;
    sum.total_pnl = sum.final_equity - initial;
    sum.total_return = sum.final_equity / initial - 1.0;
    sum.n_trades += row.n_trades;
    sum.n_wins += row.n_wins;
    sum.bars_in_market += row.bars_in_market;
    sum.n_bars += row.n_bars;
    sum.ruined |= row.ruined;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn row(sharpe: Option<f64>, total_return: f64, bars_in_market: u32) -> SweepRow {
        let final_equity = 100.0 * (1.0 + total_return);
        let total_pnl = final_equity - 100.0;
        SweepRow { sharpe, total_return, total_pnl, final_equity, bars_in_market, n_bars: 10, ..SweepRow::default() }
    }

    #[test]
    fn every_column_is_a_metric_and_only_some_rank() {
        assert!(COLUMNS.iter().all(|column| column.info().key == column.key));
        assert_eq!(column("sharpe").unwrap().key, "sharpe");
        for key in ["n_trades", "exposure", "sortino", ""] {
            let error = column(key).unwrap_err();
            assert_eq!(error.to_string(), format!("a sweep cannot be sorted by `{key}`"));
            assert!(error.hint().unwrap().starts_with("use one of sharpe, total_return, max_drawdown, win_rate"));
        }
    }

    #[test]
    fn the_best_come_first_the_idle_and_undefined_last() {
        let mut rows = vec![row(Some(1.0), 0.1, 5), row(None, 0.9, 5), row(Some(2.0), 0.2, 5), row(Some(9.0), 0.0, 0)];
        rows.push(row(Some(2.0), 0.3, 5));
        assert_eq!(best(&rows, column("sharpe").unwrap(), 5), [2, 4, 0, 1, 3]);
        assert_eq!(best(&rows, column("sharpe").unwrap(), 2), [2, 4]);
        assert_eq!(best(&rows, column("total_return").unwrap(), 9), [1, 4, 2, 0, 3]);
        rows[4].max_drawdown = -1.0;
        assert_eq!(best(&rows, column("max_drawdown").unwrap(), 1), [4], "less is better");
    }

    #[test]
    fn the_ruined_and_what_is_no_number_come_behind_the_living() {
        let mut rows = vec![row(Some(f64::NAN), 0.5, 5), row(Some(5.0), f64::INFINITY, 5), row(Some(9.0), 0.2, 5)];
        rows.extend([row(Some(-1.0), -0.5, 5), row(None, 0.0, 0)]);
        rows[2].ruined = true;
        rows[2].max_drawdown = 1.0;
        assert_eq!(best(&rows, column("sharpe").unwrap(), 5), [3, 0, 2, 1, 4]);
        assert_eq!(best(&rows, column("total_return").unwrap(), 5), [0, 3, 1, 2, 4]);
    }

    #[test]
    fn strategies_are_ranked_by_any_metric_that_has_a_better_end() {
        for key in ["sharpe", "sortino", "calmar", "profit_factor", "max_drawdown_bars"] {
            assert_eq!(metric(key).unwrap().key, key);
        }
        let error = metric("exposure").unwrap_err();
        assert_eq!(error.to_string(), "strategies cannot be sorted by `exposure`");
        assert!(error.hint().unwrap().contains("calmar") && !error.hint().unwrap().contains("exposure"));
    }

    #[test]
    fn windows_chain_to_the_hand_value() {
        let (mut a, mut b) = (row(Some(1.0), 0.5, 4), row(Some(2.0), -0.2, 6));
        (a.costs, b.costs, b.max_drawdown, b.ruined) = (1.0, 2.0, 0.3, true);
        let sum = pooled(vec![vec![a], vec![b], vec![row(None, 0.0, 0)]])[0];
        // The third window never traded: (1 + 2 + 0) / 3.
        // 100 · 1.5 · 0.8 = 120; the second window's costs were paid on 1.5 times its own equity.
        assert!((sum.final_equity - 120.0).abs() < 1e-12 && (sum.total_return - 0.2).abs() < 1e-12);
        assert!((sum.total_pnl - 20.0).abs() < 1e-12 && (sum.costs - 4.0).abs() < 1e-12);
        assert_eq!((sum.sharpe, sum.max_drawdown, sum.ruined), (Some(1.0), 0.3, true));
        assert_eq!((sum.bars_in_market, sum.n_bars), (10, 30));
    }

    #[test]
    fn a_window_that_never_moved_counts_as_zero() {
        let mean = |rows: &[SweepRow]| pooled(rows.iter().map(|row| vec![*row]).collect())[0].sharpe;
        let (idle, one) = (row(None, 0.0, 0), row(Some(3.0), 0.1, 4));
        // One lucky trade in three windows does not beat steady ones.
        let steady = [row(Some(1.5), 0.1, 4), row(Some(1.0), 0.1, 4), row(Some(2.0), 0.1, 4)];
        assert_eq!((mean(&[idle, one, idle]), mean(&steady)), (Some(1.0), Some(1.5)));
        assert_eq!(mean(&[idle, idle]), None, "it never traded at all");
        assert_eq!(mean(&[one, row(None, 0.2, 4)]), None, "it moved, yet no ratio is defined");
        let back = SweepRow { max_drawdown: 0.1, ..row(None, 0.0, 4) };
        assert_eq!(mean(&[one, back]), None, "it moved and came back");
        assert_eq!((mean(&[one]), mean(&[idle])), (Some(3.0), None), "a single window keeps its own");
    }
}
