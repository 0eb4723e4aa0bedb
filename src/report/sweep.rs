//! [`SweepReport`]: what a parameter sweep found: its best sets, how all of them fared, and a map of one metric.

mod map;
mod ranking;

use gigabar_backtest::metric::Trials;
use gigabar_backtest::metric::{expected_max_sharpe, quantile};
use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep::SweepRow;
use serde::{Deserialize, Serialize};

pub use map::{MapAxis, SweepMap};
pub use ranking::{COLUMNS, SweepColumn, UnknownColumn, best, column, pooled};

/// Sets that a report names.
const N_BEST: usize = 10;

/// The result of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepReport {
    /// The strategy with its grid, as typed.
    pub grid: String,
    /// The swept parameters.
    pub axes: Vec<String>,
    /// Sets that ran.
    pub n_sets: usize,
    /// Combinations left out because the strategy does not allow them.
    pub n_skipped: usize,
    /// Windows each set traded; with several, the rows are pooled by [`pooled`].
    pub n_windows: usize,
    /// Bars each set lived through.
    pub n_bars: usize,
    /// Key of the metric that ranks the sets.
    pub sort: String,
    /// The best sets, the best first.
    pub best: Vec<RankedSet>,
    /// Sets with a profit.
    pub n_profitable: usize,
    /// Sets that never held a position; they rank last.
    pub n_idle: usize,
    /// Median of the metric that ranks the sets, over those that traded.
    pub median: Option<f64>,
    /// The largest annualised Sharpe ratio to expect of as many sets without skill, their ratios spread as here
    /// (Bailey & López de Prado 2014).
    pub luck_sharpe: Option<f64>,
    /// The metric over one or two of the parameters.
    pub map: Option<SweepMap>,
}

/// One parameter set and what it earned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedSet {
    /// Its name, which `--strategy` reads.
    pub name: String,
    /// Its values of the swept parameters. `[n_axis]`
    pub labels: Vec<String>,
    /// Its metrics.
    pub row: SweepRow,
}

impl SweepReport {
    /// Of the rows of a grid, in its order, ranked by `column`. `text` is the grid as typed.
    ///
    /// # Panics
    /// When there is not one row per set.
    pub fn new(
        text: &str,
        grid: &Grid,
        rows: &[SweepRow],
        n_windows: usize,
        column: &SweepColumn,
        periods_per_year: f64,
    ) -> Self {
        assert_eq!(grid.len(), rows.len(), "one row per set");
        let best = best(rows, column, N_BEST);
        let traded = rows.iter().filter(|row| row.bars_in_market > 0);
        let values: Vec<f64> = traded.filter_map(column.value).collect();
        let trials = trials(rows, periods_per_year);
        let luck = trials.sharpe_variance.and_then(|variance| expected_max_sharpe(trials.n, variance));
        Self {
            grid: text.into(),
            axes: grid.axes().iter().map(|axis| axis.name.into()).collect(),
            n_sets: rows.len(),
            n_skipped: grid.n_skipped(),
            n_windows,
            n_bars: rows.first().map_or(0, |row| row.n_bars as usize),
            sort: column.key.into(),
            n_profitable: rows.iter().filter(|row| row.total_return > 0.0).count(),
            n_idle: rows.iter().filter(|row| row.bars_in_market == 0).count(),
            median: quantile(&values, 0.5),
            luck_sharpe: luck.map(|luck| luck * periods_per_year.sqrt()),
            map: best.first().and_then(|&top| SweepMap::new(grid, rows, column, top)),
            best: best.into_iter().map(|i| RankedSet::new(grid, i, rows[i])).collect(),
        }
    }
}

/// The sets as trials of which one is chosen.
pub fn trials(rows: &[SweepRow], periods_per_year: f64) -> Trials {
    let sharpes: Vec<Option<f64>> = rows.iter().map(|row| row.sharpe).collect();
    Trials::from_sharpes(&sharpes, periods_per_year)
}

impl RankedSet {
    fn new(grid: &Grid, i: usize, row: SweepRow) -> Self {
        Self { name: grid.name(i), labels: labels(grid, i), row }
    }
}

/// Set `i`'s values of the swept parameters. `[n_axis]`
pub fn labels(grid: &Grid, i: usize) -> Vec<String> {
    grid.axes().iter().zip(grid.position(i)).map(|(axis, at)| axis.labels[at].clone()).collect()
}
