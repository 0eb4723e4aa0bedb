//! [`Scaler`]: z-scores fitted on the train range alone, so that nothing of the test reaches the learner.

use std::collections::HashSet;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::feature::FeatureTable;

/// Scaled features are cut off at ± this many standard deviations.
pub const DEFAULT_CLIP: f64 = 5.0;

/// Rows that one task scales.
const BLOCK_BARS: usize = 1024;

/// Why features cannot be scaled.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ScaleError {
    /// The range to fit on is empty, begins inside the warm-up or ends behind the data.
    #[error(
        "cannot fit a scaler on bars {}..{}: usable are {warmup_bars}..{n_bars} (bars after the warm-up)",
        train.start, train.end
    )]
    TrainRange {
        /// The range asked for.
        train: Range<usize>,
        /// First usable bar.
        warmup_bars: usize,
        /// Bars in the table.
        n_bars: usize,
    },
    /// The scaler was fitted on other features than the table holds.
    #[error("the scaler was fitted on other features: {}", describe(missing, extra, reordered))]
    Features {
        /// Known to the scaler, absent from the table.
        missing: Vec<String>,
        /// In the table, unknown to the scaler.
        extra: Vec<String>,
        /// In both, at another place.
        reordered: Vec<String>,
    },
    /// A scaler read from outside that no fit could have made.
    #[error("the scaler is damaged: {what}")]
    Damaged {
        /// What is wrong with it.
        what: String,
    },
}

impl ScaleError {
    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::TrainRange { warmup_bars, .. } => {
                format!("begin the range at bar {warmup_bars} or later and keep it inside the data")
            }
            Self::Features { .. } => {
                "use the gigabar version that made the checkpoint, or train again with this one".to_owned()
            }
            Self::Damaged { .. } => "take an undamaged copy of the checkpoint, or train again".to_owned(),
        })
    }
}

fn describe(missing: &[String], extra: &[String], reordered: &[String]) -> String {
    [("missing here", missing), ("not known to it", extra), ("in another place", reordered)]
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {}", names.join(", ")))
        .collect::<Vec<_>>()
        .join("; ")
}

/// (x − mean)/std per feature, clipped; a feature that was constant on the train range comes out as 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaler {
    /// The features, in the order of a row. `[n_feature]`
    pub names: Vec<String>,
    /// Mean on the train range. `[n_feature]`
    pub mean: Vec<f64>,
    /// Population standard deviation on the train range, exactly 0 for a constant feature. `[n_feature]`
    pub std: Vec<f64>,
    /// Scaled values are clipped to ± this.
    pub clip: f64,
}

impl Scaler {
    /// Mean and standard deviation of every feature over the bars of `train`, and of no other bar.
    ///
    /// # Errors
    /// [`ScaleError::TrainRange`] when `train` is empty or not within the usable bars.
    pub fn fit(table: &FeatureTable, train: Range<usize>) -> Result<Self, ScaleError> {
        let (warmup_bars, n_bars) = (table.warmup_bars(), table.n_bars());
        if train.is_empty() || train.start < warmup_bars || train.end > n_bars {
            return Err(ScaleError::TrainRange { train, warmup_bars, n_bars });
        }
        let n = train.len() as f64;
        let mean = means(table, train.clone(), |x, _| x, n);
        let variance = means(table, train, |x, j| (x - mean[j]) * (x - mean[j]), n);
        let std = mean.iter().zip(variance).map(|(m, v)| floored(v.sqrt(), *m)).collect();
        Ok(Self { names: table.names().to_vec(), mean, std, clip: DEFAULT_CLIP })
    }

    /// Scales every row after the warm-up; earlier rows are 0.
    ///
    /// # Errors
    /// [`ScaleError::Features`] naming the features that differ, [`ScaleError::Damaged`] for a scaler no fit could have
    /// made.
    pub fn transform(&self, table: &FeatureTable) -> Result<ScaledFeatures, ScaleError> {
        self.check()?;
        self.check_names(table.names())?;
        let (n_bars, n_feature, warmup_bars) = (table.n_bars(), table.n_feature(), table.warmup_bars());
        let mut values = vec![0.0; n_bars * n_feature];
        values.par_chunks_mut(BLOCK_BARS * n_feature).enumerate().for_each(|(block, rows)| {
            let start = block * BLOCK_BARS;
            let unusable = warmup_bars.saturating_sub(start);
            for (i, out) in rows.chunks_exact_mut(n_feature).enumerate().skip(unusable) {
                for (j, (scaled, &x)) in out.iter_mut().zip(table.row(start + i)).enumerate() {
                    *scaled = self.scaled(j, x) as f32;
                }
            }
        });
        Ok(ScaledFeatures { n_bars, n_feature, values })
    }

    fn scaled(&self, feature: usize, x: f64) -> f64 {
        let std = self.std[feature];
        if std == 0.0 { 0.0 } else { ((x - self.mean[feature]) / std).clamp(-self.clip, self.clip) }
    }

    fn check(&self) -> Result<(), ScaleError> {
        let damaged = |what: String| Err(ScaleError::Damaged { what });
        let n = self.names.len();
        if n == 0 || self.mean.len() != n || self.std.len() != n {
            return damaged(format!("{n} names, {} means, {} standard deviations", self.mean.len(), self.std.len()));
        }
        if !(self.clip.is_finite() && self.clip > 0.0) {
            return damaged(format!("clip is {}, expected a number above 0", self.clip));
        }
        for ((name, mean), std) in self.names.iter().zip(&self.mean).zip(&self.std) {
            if !(mean.is_finite() && std.is_finite() && *std >= 0.0) {
                return damaged(format!("{name} has mean {mean} and standard deviation {std}"));
            }
        }
        Ok(())
    }

    fn check_names(&self, found: &[String]) -> Result<(), ScaleError> {
        if self.names == found {
            return Ok(());
        }
        let absent = |from: &[String], of: &[String]| -> Vec<String> {
            let known: HashSet<&String> = of.iter().collect();
            from.iter().filter(|n| !known.contains(n)).cloned().collect()
        };
        let (missing, extra) = (absent(&self.names, found), absent(found, &self.names));
        // order is compared among the shared names: one that is missing must not make all later ones look moved
        let shared = |of: &[String], without: &[String]| -> Vec<String> {
            of.iter().filter(|n| !without.contains(n)).cloned().collect()
        };
        let (expected, got) = (shared(&self.names, &missing), shared(found, &extra));
        let reordered = expected.iter().zip(&got).filter(|(a, b)| a != b).map(|(a, _)| a.clone()).collect();
        Err(ScaleError::Features { missing, extra, reordered })
    }
}

/// Mean of `f(value, feature)` over rows, per feature; summed in row order.
fn means(table: &FeatureTable, rows: Range<usize>, f: impl Fn(f64, usize) -> f64, n: f64) -> Vec<f64> {
    let mut sums = vec![0.0; table.n_feature()];
    for t in rows {
        for (j, (sum, &x)) in sums.iter_mut().zip(table.row(t)).enumerate() {
            *sum += f(x, j);
        }
    }
    sums.iter().map(|s| s / n).collect()
}

/// 0 where the spread is only rounding of a constant.
fn floored(std: f64, mean: f64) -> f64 {
    if std <= 1e-12 + 1e-9 * mean.abs() { 0.0 } else { std }
}

/// Scaled features, ready for a network.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledFeatures {
    n_bars: usize,
    n_feature: usize,
    /// Row-major, standard deviations. `[n_bars, n_feature]`
    values: Vec<f32>,
}

impl ScaledFeatures {
    /// The features of bar t; 0 before the warm-up. `[n_feature]`
    ///
    /// # Panics
    /// When there is no bar t.
    pub fn row(&self, t: usize) -> &[f32] {
        &self.values[t * self.n_feature..(t + 1) * self.n_feature]
    }

    /// Features per bar.
    pub fn n_feature(&self) -> usize {
        self.n_feature
    }

    /// Number of rows.
    pub fn n_bars(&self) -> usize {
        self.n_bars
    }

    /// All rows, row-major. `[n_bars, n_feature]`
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

#[cfg(test)]
#[path = "scale_tests.rs"]
mod tests;
