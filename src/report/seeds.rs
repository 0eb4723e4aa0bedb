//! [`SeedsReport`]: the same folds trained from several seeds. How far the results lie apart is what chance alone does
//! to them.

use gigabar_backtest::metric::WindowMetrics;
use gigabar_backtest::report::MeanStd;
use serde::{Deserialize, Serialize};

/// Pooled results of every seed. The rest of a report is about the first, which was chosen before any was known:
/// nothing is the best of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeedsReport {
    /// Of each seed. `[n_seeds]`
    pub seeds: Vec<SeedFigures>,
    /// Means over the seeds that define the figure.
    pub mean: SeedFigures,
    /// Sample standard deviations (ddof 1).
    pub std: SeedFigures,
    /// The least of each figure.
    pub least: SeedFigures,
    /// The largest of each figure.
    pub largest: SeedFigures,
}

/// Pooled out-of-sample figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SeedFigures {
    /// Sharpe ratio, annualised.
    pub sharpe: Option<f64>,
    /// Total return.
    pub total_return: Option<f64>,
    /// Largest drawdown.
    pub max_drawdown: Option<f64>,
}

impl SeedFigures {
    /// Keys of the figures in the catalog of metrics, in the order of [`Self::values`].
    pub const KEYS: [&str; 3] = ["sharpe", "total_return", "max_drawdown"];

    /// The figures in order.
    pub fn values(&self) -> [Option<f64>; 3] {
        [self.sharpe, self.total_return, self.max_drawdown]
    }

    fn of([sharpe, total_return, max_drawdown]: [Option<f64>; 3]) -> Self {
        Self { sharpe, total_return, max_drawdown }
    }
}

impl SeedsReport {
    /// Of the pooled metrics of each seed.
    pub fn new(pooled: &[WindowMetrics]) -> Self {
        let figures = |m: &WindowMetrics| SeedFigures::of([m.sharpe, m.total_return, m.max_drawdown]);
        let seeds: Vec<SeedFigures> = pooled.iter().map(figures).collect();
        let column = |i: usize| seeds.iter().map(move |seed| seed.values()[i]);
        let over = |f: &dyn Fn(usize) -> Option<f64>| SeedFigures::of([f(0), f(1), f(2)]);
        Self {
            mean: over(&|i| MeanStd::of(column(i)).mean),
            std: over(&|i| MeanStd::of(column(i)).std),
            least: over(&|i| column(i).flatten().min_by(f64::total_cmp)),
            largest: over(&|i| column(i).flatten().max_by(f64::total_cmp)),
            seeds,
        }
    }

    /// A name and figures for every row of a table: the seeds, then how they spread.
    pub fn rows(&self) -> Vec<(String, SeedFigures)> {
        let seeds = self.seeds.iter().enumerate();
        let mut rows: Vec<_> =
            seeds.map(|(i, of)| (if i == 0 { "0 (reported)".into() } else { i.to_string() }, *of)).collect();
        rows.extend(self.spread().map(|(name, of)| (name.to_owned(), of)));
        rows
    }

    /// The rows that say how the seeds spread.
    pub fn spread(&self) -> [(&'static str, SeedFigures); 4] {
        [("mean", self.mean), ("std", self.std), ("least", self.least), ("largest", self.largest)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_by_hand() {
        let seed = |sharpe, total_return| WindowMetrics {
            sharpe,
            total_return: Some(total_return),
            max_drawdown: None,
            ..WindowMetrics::default()
        };
        let report = SeedsReport::new(&[seed(Some(1.0), 0.1), seed(None, -0.2), seed(Some(3.0), 0.4)]);
        assert_eq!(report.mean.values()[0], Some(2.0));
        assert!((report.mean.total_return.unwrap_or_default() - 0.1).abs() < 1e-15);
        assert!((report.std.sharpe.unwrap_or_default() - 2f64.sqrt()).abs() < 1e-15);
        assert!((report.std.total_return.unwrap_or_default() - 0.3).abs() < 1e-15);
        assert_eq!((report.least.sharpe, report.largest.sharpe), (Some(1.0), Some(3.0)));
        assert_eq!((report.least.total_return, report.largest.total_return), (Some(-0.2), Some(0.4)));
        assert_eq!([report.mean, report.std, report.least, report.largest].map(|f| f.max_drawdown), [None; 4]);
        let names: Vec<String> = report.rows().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["0 (reported)", "1", "2", "mean", "std", "least", "largest"]);
    }
}
