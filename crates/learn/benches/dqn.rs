//! What training costs on one thread: environment steps per second of collection, and time per gradient step.
//!
//! `cargo bench -p gigabar-learn --bench dqn`. Each figure is the median of several epochs of a real trainer; collection
//! is an epoch whose first gradient step would come after its end.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;
use std::time::Instant;

use gigabar_backtest::rules::{RewardConfig, SimConfig};
use gigabar_learn::dqn::{DqnConfig, TrainData, Trainer};
use gigabar_learn::replay::ReplayKind;
use gigabar_market::feature::FeatureTable;
use gigabar_market::scale::Scaler;
use gigabar_market::sigma::sigma;

const N_BARS: usize = 3_000;
const STEPS: usize = 8_000;
const REPEATS: usize = 5;

fn data() -> TrainData {
    let bars = gigabar_market::synth::planted(N_BARS, 1, &Default::default()).unwrap();
    let table = FeatureTable::compute(&bars).unwrap();
    let range = table.warmup_bars()..N_BARS;
    let features = Scaler::fit(&table, range.clone()).unwrap().transform(&table).unwrap();
    let sigma = Arc::new(sigma(bars.close()));
    TrainData { bars: Arc::new(bars), sigma, features: Arc::new(features), range }
}

/// Median seconds of an epoch after the first, and gradient steps in it.
fn epoch_seconds(config: &DqnConfig, data: &TrainData) -> (f64, u64) {
    let sim = SimConfig { half_spread_bps: 1.0, commission_bps: 1.0, ..SimConfig::default() };
    let mut trainer = Trainer::new(config, &sim, &RewardConfig::default(), data.clone(), 1).unwrap();
    let mut before = trainer.run_epoch().unwrap().grad_steps;
    let mut seconds = Vec::new();
    let mut steps = 0;
    for _ in 0..REPEATS {
        let started = Instant::now();
        let summary = trainer.run_epoch().unwrap();
        seconds.push(started.elapsed().as_secs_f64());
        (steps, before) = (summary.grad_steps - before, summary.grad_steps);
    }
    seconds.sort_by(f64::total_cmp);
    (seconds[REPEATS / 2], steps)
}

fn main() {
    let data = data();
    let base =
        DqnConfig { steps_per_epoch: STEPS, epochs: REPEATS + 1, learning_starts: 1_000, ..DqnConfig::default() };
    println!("{:<50} {:>12} {:>18}", "", "env steps/s", "µs/gradient step");
    for (hidden, batch) in [(vec![64, 64], 64), (vec![256, 256], 256)] {
        // One gradient step in STEPS environment steps: collection alone.
        let quiet = DqnConfig { hidden: hidden.clone(), train_every: STEPS, ..base.clone() };
        let (collect, _) = epoch_seconds(&quiet, &data);
        let title = format!("collection, {hidden:?}, {} environments", base.n_envs);
        println!("{title:<50} {:>12.0}", STEPS as f64 / collect);
        let train_every = if batch > 64 { 16 } else { 4 };
        let replays = [ReplayKind::Uniform, ReplayKind::Proportional, ReplayKind::Rank];
        for (replay, feature_noise) in replays.map(|r| (r, base.feature_noise)).into_iter().chain([(replays[0], 0.0)]) {
            let config =
                DqnConfig { hidden: hidden.clone(), batch, replay, train_every, feature_noise, ..base.clone() };
            let (all, steps) = epoch_seconds(&config, &data);
            let title = format!("learning, {hidden:?} × {batch}, {replay:?}, noise {feature_noise}");
            println!("{title:<50} {:>12.0} {:>18.1}", STEPS as f64 / all, (all - collect) / steps as f64 * 1e6);
        }
    }
}
