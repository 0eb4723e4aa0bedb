//! Training curves, a small chart per series with a line per fold.

use std::collections::BTreeSet;

use serde::Serialize;

use super::format;
use crate::report::run_report::TrainingCurve;

/// Series shown at once, in this order, with what they are; the others wait behind a fold.
const MAIN: [(&str, &str, &str); 8] = [
    ("loss", "Loss", "weighted Huber loss, mean over the epoch"),
    ("q_mean", "Mean Q", "over the minibatches, all actions"),
    ("mean_reward", "Reward", "mean per environment step"),
    ("epsilon", "ε", "share of random actions at the epoch's end"),
    ("grad_norm", "Gradient norm", "global, before clipping"),
    ("sharpe_estimate", "Sharpe while exploring", "annualised, on training bars"),
    ("q_std", "Spread of Q", "standard deviation"),
    ("reward_std", "Spread of the reward", "standard deviation"),
];
/// Points per line; a page shows no more.
const MAX_POINTS: usize = 2_000;

/// A series over all folds.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    label: String,
    #[serde(skip)]
    help: &'static str,
    #[serde(skip)]
    main: bool,
    folds: Vec<Line>,
}

/// One fold's line.
#[derive(Debug, Serialize)]
struct Line {
    fold: usize,
    x: Vec<usize>,
    y: Vec<Option<f64>>,
}

/// What the page's scaffolding needs to know of a chart.
#[derive(Debug, Serialize)]
pub(super) struct Slot {
    label: String,
    help: &'static str,
    main: bool,
}

/// All charts, main ones first.
#[derive(Debug, Serialize)]
pub(super) struct Training {
    series: Vec<Chart>,
    folds: Vec<usize>,
}

impl Training {
    pub(super) fn new(curves: &[TrainingCurve]) -> Self {
        let names: BTreeSet<&str> = curves.iter().flat_map(|c| c.series.keys().map(String::as_str)).collect();
        let main = MAIN.iter().filter(|(name, ..)| names.contains(name));
        let mut series: Vec<Chart> =
            main.map(|&(name, label, help)| Chart::new(curves, name, label.into(), help, true)).collect();
        for name in names {
            if MAIN.iter().all(|(main, ..)| *main != name) {
                series.push(Chart::new(curves, name, name.replace('_', " "), "", false));
            }
        }
        let folds: BTreeSet<usize> = curves.iter().map(|c| c.fold).collect();
        Self { series, folds: folds.into_iter().collect() }
    }

    /// For the template, in the order of the data.
    pub(super) fn slots(&self) -> Vec<Slot> {
        self.series.iter().map(|c| Slot { label: c.label.clone(), help: c.help, main: c.main }).collect()
    }

    /// Charts behind the fold.
    pub(super) fn n_more(&self) -> usize {
        self.series.iter().filter(|c| !c.main).count()
    }
}

impl Chart {
    fn new(curves: &[TrainingCurve], name: &str, label: String, help: &'static str, main: bool) -> Self {
        let folds = curves.iter().filter_map(|curve| Some(Line::new(curve, curve.series.get(name)?)));
        Self { label, help, main, folds: folds.collect() }
    }
}

impl Line {
    fn new(curve: &TrainingCurve, values: &[f64]) -> Self {
        let n = curve.epoch.len().min(values.len());
        let kept = crate::report::decimate::keep(&[&values[..n]], n, MAX_POINTS);
        Self {
            fold: curve.fold,
            x: kept.iter().map(|&i| curve.epoch[i]).collect(),
            y: kept.iter().map(|&i| format::rounded(values[i])).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_series_come_first_and_undefined_epochs_are_gaps() {
        let series = [("loss", vec![1.0, f64::NAN]), ("q_mean", vec![0.1, 0.2]), ("action_share_0", vec![0.5, 0.5])];
        let series = series.map(|(name, values)| (name.to_owned(), values)).into();
        let training = Training::new(&[TrainingCurve { fold: 3, epoch: vec![0, 1], series }]);
        let labels: Vec<&str> = training.series.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["Loss", "Mean Q", "action share 0"]);
        assert_eq!(training.series[0].folds[0].y, [Some(1.0), None]);
        assert_eq!((training.folds.as_slice(), training.n_more()), ([3].as_slice(), 1));
    }
}
