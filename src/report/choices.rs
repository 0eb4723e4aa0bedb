//! [`ChoicesReport`]: which parameters each fold of a rule's walk-forward chose on its train part, and how they fared
//! on both parts.

use gigabar_backtest::metric::{Format, WindowMetrics};
use gigabar_market::time;
use serde::{Deserialize, Serialize};

use super::sweep::SweepColumn;

/// What the folds chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChoicesReport {
    /// The strategy with its grid, as typed.
    pub grid: String,
    /// The swept parameters.
    pub axes: Vec<String>,
    /// Sets each fold chose among.
    pub n_sets: usize,
    /// Combinations left out because the strategy does not allow them.
    pub n_skipped: usize,
    /// Key of the metric that chose.
    pub sort: String,
    /// One per fold.
    pub folds: Vec<FoldChoice>,
    /// Mean return a year out of sample over the mean in sample (Pardo 2008); undefined where the latter is no profit.
    pub efficiency: Option<f64>,
    /// Probability that the true Sharpe ratio is above 0, the run counted as one trial.
    pub psr: Option<f64>,
}

/// The choice of one fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldChoice {
    /// Opening times of the train part's first and last bar, UTC nanoseconds.
    pub train_ts: [i64; 2],
    /// The chosen set, which `--strategy` reads.
    pub name: String,
    /// Its values of the swept parameters. `[n_axis]`
    pub labels: Vec<String>,
    /// On the train part.
    pub in_sample: PartFigures,
    /// On the test part.
    pub out_of_sample: PartFigures,
    /// Return a year out of sample over that in sample; undefined where the latter is no profit.
    pub efficiency: Option<f64>,
}

/// How a set fared on one part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PartFigures {
    /// The metric that chose.
    pub metric: Option<f64>,
    /// Total return × bars a year ÷ bars lived through, without compounding.
    pub annual_return: Option<f64>,
    /// Closed trades.
    pub n_trades: usize,
}

impl PartFigures {
    /// Of a window's metrics.
    pub fn new(metrics: &WindowMetrics, column: &SweepColumn, periods_per_year: f64) -> Self {
        let years = metrics.n_bars as f64 / periods_per_year;
        Self {
            metric: (column.info().value)(metrics),
            annual_return: metrics.total_return.filter(|_| years > 0.0).map(|total| total / years),
            n_trades: metrics.n_trades,
        }
    }
}

impl FoldChoice {
    /// Days of the train part.
    pub fn train_days(&self) -> String {
        format!("{} to {}", time::day(self.train_ts[0]), time::day(self.train_ts[1]))
    }
}

/// `outside` over `inside`, where that was a profit.
pub fn efficiency(inside: Option<f64>, outside: Option<f64>) -> Option<f64> {
    let (inside, outside) = (inside?, outside?);
    (inside > 0.0).then(|| outside / inside)
}

impl ChoicesReport {
    /// The mean returns a year of all folds, one over the other.
    pub fn pooled_efficiency(folds: &[FoldChoice]) -> Option<f64> {
        let mean = |of: fn(&FoldChoice) -> Option<f64>| -> Option<f64> {
            let all: Vec<f64> = folds.iter().map(of).collect::<Option<_>>()?;
            Some(all.iter().sum::<f64>() / all.len() as f64)
        };
        efficiency(mean(|fold| fold.in_sample.annual_return), mean(|fold| fold.out_of_sample.annual_return))
    }

    fn column(&self) -> Option<&'static SweepColumn> {
        super::sweep::column(&self.sort).ok()
    }

    /// Names of the table's columns.
    pub fn header(&self) -> Vec<String> {
        let metric = self.column().map_or(String::new(), |column| column.info().label.to_lowercase());
        let mut header = vec!["fold".to_owned(), "chosen on".into()];
        header.extend(self.axes.iter().cloned());
        for part in ["in sample", "out of sample"] {
            header.push(format!("{metric} {part}"));
        }
        header.extend(["return a year in sample", "out of sample", "efficiency"].map(str::to_owned));
        header
    }

    /// A row per fold.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let format = self.column().map_or(Format::Ratio, |column| column.info().format);
        let row = |(i, fold): (usize, &FoldChoice)| {
            let parts = [&fold.in_sample, &fold.out_of_sample];
            let mut row = vec![i.to_string(), fold.train_days()];
            row.extend(fold.labels.iter().cloned());
            row.extend(parts.map(|part| format.text(part.metric)));
            row.extend(parts.map(|part| Format::Percent.text(part.annual_return)));
            row.push(Format::Ratio.text(fold.efficiency));
            row
        };
        self.folds.iter().enumerate().map(row).collect()
    }

    /// How to read the table.
    pub fn notes(&self) -> Vec<String> {
        let count = |n: usize| Format::Count.text(Some(n as f64));
        let efficiency = Format::Ratio.text(self.efficiency);
        let mut notes = vec![format!(
            "walk-forward efficiency {efficiency}: mean return a year out of sample over that in sample, without compounding"
        )];
        if self.n_sets > 1 {
            let names: std::collections::BTreeSet<&str> = self.folds.iter().map(|fold| fold.name.as_str()).collect();
            notes.push(format!(
                "each of {} folds chose among {} sets on its train part alone: {} different ones",
                self.folds.len(),
                count(self.n_sets),
                names.len()
            ));
            notes.push(format!(
                "no choice saw its test part: counted as one trial, the chance of a true Sharpe ratio above 0 is {}; the deflated \
                 one counts every set as tried",
                Format::Percent.text(self.psr)
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(inside: f64, outside: f64) -> FoldChoice {
        let part = |rate| PartFigures { metric: None, annual_return: Some(rate), n_trades: 1 };
        FoldChoice {
            train_ts: [0, 0],
            name: String::new(),
            labels: vec![],
            in_sample: part(inside),
            out_of_sample: part(outside),
            efficiency: efficiency(Some(inside), Some(outside)),
        }
    }

    #[test]
    fn efficiency_by_hand() {
        let folds = [fold(0.4, 0.1), fold(0.2, -0.05), fold(-0.1, 0.3)];
        assert_eq!(folds.clone().map(|fold| fold.efficiency), [Some(0.25), Some(-0.25), None]);
        // (0.1 − 0.05 + 0.3) / (0.4 + 0.2 − 0.1)
        let pooled = ChoicesReport::pooled_efficiency(&folds).unwrap_or_default();
        assert!((pooled - 0.7).abs() < 1e-12, "{pooled}");
        assert_eq!(ChoicesReport::pooled_efficiency(&[fold(-0.1, 0.2)]), None);
    }
}
