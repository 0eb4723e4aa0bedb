//! [`TrainData`]: what a trainer learns from.

use std::ops::Range;
use std::sync::Arc;

use gigabar_backtest::rules::{RewardConfig, RewardKind};
use gigabar_market::Bars;
use gigabar_market::scale::ScaledFeatures;

use super::DqnConfig;
use super::summary::Moments;
use crate::error::LearnError;

/// What a trainer learns from. Nothing outside `range` is read.
#[derive(Debug, Clone)]
pub struct TrainData {
    /// The data set.
    pub bars: Arc<Bars>,
    /// `sigma(bars.close())`. `[n_bars]`
    pub sigma: Arc<Vec<f64>>,
    /// Features of the whole data set, scaled by a scaler fitted on `range`.
    pub features: Arc<ScaledFeatures>,
    /// The bars to train on, after the features' warm-up.
    pub range: Range<usize>,
}

impl TrainData {
    /// Whether the range lies inside the data and can hold an episode.
    pub(super) fn check(&self, config: &DqnConfig) -> Result<(), LearnError> {
        let (range, n_bars) = (&self.range, self.bars.len());
        let wrong = |rule: String| Err(LearnError::Range { first: range.start, end: range.end, n_bars, rule });
        let (features, sigma) = (self.features.n_bars(), self.sigma.len());
        if range.end > n_bars || features != n_bars || sigma != n_bars {
            let rows = format!("{features} rows of features, {sigma} of volatility");
            return wrong(format!("it must lie inside the data ({rows})"));
        }
        let least = config.n_step + 2;
        if range.len() < least {
            return wrong(format!("training needs at least {least} bars (n_step + 2)"));
        }
        Ok(())
    }

    /// See [`DqnConfig::reward_scale`].
    pub(super) fn reward_scale(&self, config: &DqnConfig, reward: &RewardConfig) -> f64 {
        if config.reward_scale > 0.0 {
            return config.reward_scale;
        }
        if reward.kind == RewardKind::Dsr {
            return 1.0;
        }
        let mut returns = Moments::default();
        self.bars.close()[self.range.clone()].windows(2).for_each(|w| returns.add((w[1] / w[0]).ln()));
        if returns.std() > 0.0 { 1.0 / returns.std() } else { 1.0 }
    }
}
