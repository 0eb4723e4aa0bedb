//! What the learner must show as a whole: that it learns what can be learned, nothing else, and that its policies
//! travel.
#![allow(clippy::unwrap_used, missing_docs)]

mod checkpoint;
mod learns;

use std::ops::Range;
use std::sync::Arc;

use gigabar_backtest::rules::{RewardConfig, SimConfig};
use gigabar_learn::dqn::{DqnConfig, TrainData, Trainer};
use gigabar_market::Bars;
use gigabar_market::feature::FeatureTable;
use gigabar_market::scale::Scaler;
use gigabar_market::sigma::sigma;

/// A market with its features, scaled on the train range.
struct Case {
    bars: Arc<Bars>,
    sigma: Arc<Vec<f64>>,
    table: FeatureTable,
    scaler: Scaler,
    train: Range<usize>,
    test: Range<usize>,
}

impl Case {
    fn new(bars: Bars, split: usize) -> Self {
        let table = FeatureTable::compute(&bars).unwrap();
        let train = table.warmup_bars()..split;
        let scaler = Scaler::fit(&table, train.clone()).unwrap();
        let (sigma, test) = (Arc::new(sigma(bars.close())), split..bars.len());
        Self { bars: Arc::new(bars), sigma, table, scaler, train, test }
    }

    fn trainer(&self, config: &DqnConfig, sim: &SimConfig, seed: u64) -> Trainer {
        let data = TrainData {
            bars: Arc::clone(&self.bars),
            sigma: Arc::clone(&self.sigma),
            features: Arc::new(self.scaler.transform(&self.table).unwrap()),
            range: self.train.clone(),
        };
        Trainer::new(config, sim, &RewardConfig::default(), data, seed).unwrap()
    }
}
