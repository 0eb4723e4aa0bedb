//! [`SweepReport`]: what a parameter sweep found, or a comparison of strategies: the best, how all of them fared, and
//! of parameters a map of one metric.

mod map;
mod ranking;
mod strategy;

use gigabar_backtest::metric::{CATALOG, MetricInfo, Trials, WindowMetrics, expected_max_sharpe, quantile};
use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep::SweepRow;
use serde::{Deserialize, Serialize};

pub use map::{MapAxis, SweepMap};
pub use ranking::{COLUMNS, SweepColumn, UnknownColumn, best, column, metric, pooled};
pub use strategy::{Growth, StrategyResult, best_strategies};

/// Sets that a report names.
const N_BEST: usize = 10;

/// Strategies whose curves a report keeps: no more can be told apart by colour.
const N_CURVES: usize = 10;

/// What is ranked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ranked {
    /// Parameter sets of a grid.
    #[default]
    Sets,
    /// Strategies of a file of signals.
    Strategies,
}

impl Ranked {
    /// `set`, `strategy`.
    pub fn one(self) -> &'static str {
        match self {
            Self::Sets => "set",
            Self::Strategies => "strategy",
        }
    }

    /// `sets`, `strategies`.
    pub fn many(self) -> &'static str {
        match self {
            Self::Sets => "sets",
            Self::Strategies => "strategies",
        }
    }
}

/// The result of a sweep: of a grid's parameter sets, or of several strategies' signals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepReport {
    /// What is ranked.
    #[serde(default)]
    pub ranked: Ranked,
    /// The strategy with its grid, as typed; of strategies, their file.
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
    /// The best sets, the best first; of strategies all.
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
    /// Its name, which of a set `--strategy` reads.
    pub name: String,
    /// Its values of the swept parameters. `[n_axis]`
    pub labels: Vec<String>,
    /// Its metrics.
    pub row: SweepRow,
    /// Of a strategy: all its metrics, pooled over the windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<WindowMetrics>,
    /// Of the best strategies: their curves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
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
        Self {
            grid: text.into(),
            axes: grid.axes().iter().map(|axis| axis.name.into()).collect(),
            n_skipped: grid.n_skipped(),
            map: best.first().and_then(|&top| SweepMap::new(grid, rows, column, top)),
            best: best.into_iter().map(|i| RankedSet::new(grid, i, rows[i])).collect(),
            ..Self::of_rows(rows, n_windows, column.key, |i| (column.value)(&rows[i]), periods_per_year)
        }
    }

    /// Of the strategies of `file`, each with all its metrics over `n_windows` windows as one account, ranked by `by`.
    pub fn of_strategies(
        file: &str,
        strategies: &[StrategyResult],
        n_windows: usize,
        by: &MetricInfo,
        periods_per_year: f64,
    ) -> Self {
        let rows: Vec<SweepRow> = strategies.iter().map(|one| one.row).collect();
        let set = |(rank, i): (usize, usize)| RankedSet {
            name: strategies[i].name.clone(),
            labels: Vec::new(),
            row: rows[i],
            metrics: Some(strategies[i].metrics.clone()),
            growth: (rank < N_CURVES).then(|| strategies[i].growth.clone()),
        };
        Self {
            ranked: Ranked::Strategies,
            grid: file.into(),
            best: best_strategies(strategies, by, rows.len()).into_iter().enumerate().map(set).collect(),
            ..Self::of_rows(&rows, n_windows, by.key, |i| (by.value)(&strategies[i].metrics), periods_per_year)
        }
    }

    /// How all of them fared.
    fn of_rows(
        rows: &[SweepRow],
        n_windows: usize,
        sort: &str,
        value: impl Fn(usize) -> Option<f64>,
        periods_per_year: f64,
    ) -> Self {
        let traded = (0..rows.len()).filter(|&i| rows[i].bars_in_market > 0);
        let values: Vec<f64> = traded.filter_map(value).filter(|value| !value.is_nan()).collect();
        let trials = trials(rows, periods_per_year);
        let luck = trials.sharpe_variance.and_then(|variance| expected_max_sharpe(trials.n, variance));
        Self {
            n_sets: rows.len(),
            n_windows,
            n_bars: rows.first().map_or(0, |row| row.n_bars as usize),
            sort: sort.into(),
            n_profitable: rows.iter().filter(|row| row.total_return > 0.0).count(),
            n_idle: rows.iter().filter(|row| row.bars_in_market == 0).count(),
            median: quantile(&values, 0.5),
            luck_sharpe: luck.map(|luck| luck * periods_per_year.sqrt()),
            ..Self::default()
        }
    }
}

impl SweepReport {
    /// The metric that ranks.
    pub fn ranked_by(&self) -> Option<&'static MetricInfo> {
        CATALOG.iter().find(|info| info.key == self.sort)
    }
}

impl RankedSet {
    /// A metric of it. Of a set those of [`COLUMNS`], of a strategy any.
    pub fn value(&self, info: &MetricInfo) -> Option<f64> {
        let column = COLUMNS.iter().find(|column| column.key == info.key);
        column.map_or_else(|| (info.value)(self.metrics.as_ref()?), |column| (column.value)(&self.row))
    }
}

/// The sets as trials of which one is chosen.
pub fn trials(rows: &[SweepRow], periods_per_year: f64) -> Trials {
    let sharpes: Vec<Option<f64>> = rows.iter().map(|row| row.sharpe).collect();
    Trials::from_sharpes(&sharpes, periods_per_year)
}

impl RankedSet {
    fn new(grid: &Grid, i: usize, row: SweepRow) -> Self {
        Self { name: grid.name(i), labels: labels(grid, i), row, metrics: None, growth: None }
    }
}

/// Set `i`'s values of the swept parameters. `[n_axis]`
pub fn labels(grid: &Grid, i: usize) -> Vec<String> {
    grid.axes().iter().zip(grid.position(i)).map(|(axis, at)| axis.labels[at].clone()).collect()
}
