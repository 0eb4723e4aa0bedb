//! What a gradient step and a bar of collection take on a GPU. Prints figures; BENCHMARKS.md quotes them.

use std::sync::Arc;
use std::time::Instant;

use gigabar_backtest::rules::{RewardConfig, SimConfig};
use gigabar_gpu::{Device, GpuError, Graph};
use gigabar_market::feature::FeatureTable;
use gigabar_market::scale::Scaler;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

use super::super::Population;
use crate::dqn::{DqnConfig, TrainData, Trainer};
use crate::net::Activation;
use crate::replay::ReplayKind;

const N_BARS: usize = 100_000;
const CAPACITY: usize = 1_000_000;
const STEPS_PER_GRAPH: usize = 16;

fn data() -> TrainData {
    let bars = random_walk(N_BARS, 1, &RandomWalkConfig::default()).unwrap();
    let table = FeatureTable::compute(&bars).unwrap();
    let range = table.warmup_bars()..N_BARS;
    let features = Scaler::fit(&table, range.clone()).unwrap().transform(&table).unwrap();
    let sigma = Arc::new(sigma(bars.close()));
    TrainData { bars: Arc::new(bars), sigma, features: Arc::new(features), range }
}

fn config(replay: ReplayKind, n_envs: usize, batch: usize) -> DqnConfig {
    DqnConfig {
        replay,
        hidden: vec![256, 256],
        activation: Activation::Relu,
        batch,
        replay_capacity: CAPACITY,
        learning_starts: batch,
        train_every: 1 << 40,
        n_envs,
        steps_per_epoch: 64 * 4_096,
        epochs: 1_000,
        feature_noise: 0.0,
        ..DqnConfig::default()
    }
}

/// A population with full rings; and environment steps per second of filling them.
fn filled(device: &Device, data: &TrainData, config: &DqnConfig, k: usize) -> (Population, f64) {
    let sim = SimConfig { half_spread_bps: 1.0, commission_bps: 1.0, ..SimConfig::default() };
    let new = |seed| Trainer::new(config, &sim, &RewardConfig::default(), data.clone(), seed).unwrap();
    let mut population = Population::new(device, (0..k as u64).map(new).collect()).unwrap();
    population.run_epoch(false).unwrap();
    let epochs = (CAPACITY / config.steps_per_epoch).max(4);
    let started = Instant::now();
    (0..epochs).for_each(|i| drop(population.run_epoch(i + 1 < epochs).unwrap()));
    let steps = epochs * config.steps_per_epoch * k;
    (population, steps as f64 / started.elapsed().as_secs_f64())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Microseconds of one of `graph`'s `n` steps: the median of seven runs of 60 graphs and a wait.
fn micros(device: &Device, graph: &Graph, n: usize) -> f64 {
    let run = || {
        let started = Instant::now();
        (0..60).for_each(|_| graph.launch().unwrap());
        device.synchronize().unwrap();
        started.elapsed().as_secs_f64() / (60 * n) as f64 * 1e6
    };
    run();
    median((0..7).map(|_| run()).collect())
}

type Part = fn(&Population) -> Result<(), GpuError>;

/// What a gradient step and a bar are made of.
const PARTS: [(&str, Part); 10] = [
    ("draw", |p| p.replay.queue_draw(&p.world)),
    ("forward", |p| p.learner.queue_forward(&p.replay.x)),
    ("loss", |p| p.learner.queue_loss(p.learners(), p.minibatch())),
    ("backward", |p| p.learner.queue_backward()),
    ("gradient", |p| p.learner.queue_gradient()),
    ("update", |p| p.learner.queue_update(p.learners(), &p.guard)),
    ("priorities and booking", |p| p.guard.queue_book(&p.world, &p.replay, &p.learner)),
    ("Q of environments", |p| p.learner.queue_q(&p.collector.observation)),
    ("step", |p| p.collector.queue_step(&p.world, &p.learner.q)),
    ("store", |p| p.collector.queue_store(&p.world, &p.replay)),
];

#[test]
#[ignore = "needs a CUDA device; prints timings"]
fn gradient_steps_and_collection() {
    let (device, data) = (Device::open(0).unwrap(), data());
    println!("{}", device.facts());
    for (k, batch) in [(1, 256), (1, 1_024), (32, 256), (32, 64)] {
        for replay in [ReplayKind::Uniform, ReplayKind::Proportional, ReplayKind::Rank] {
            if k > 1 && replay != ReplayKind::Proportional {
                continue;
            }
            let n_envs = if k == 1 { 4_096 } else { 512 };
            let (population, speed) = filled(&device, &data, &config(replay, n_envs, batch), k);
            let steps = || (0..STEPS_PER_GRAPH).try_for_each(|_| population.queue_gradient_step());
            let graph = device.capture("steps", steps).unwrap();
            let step = micros(&device, &graph, STEPS_PER_GRAPH);
            let bar = device.capture("bar", || population.queue_collection()).unwrap();
            let bar = micros(&device, &bar, 1);
            println!(
                "{k} learners, batch {batch}, {replay:?}: gradient step of all {step:.1} µs; {n_envs} environments each: \
                 {bar:.1} µs a bar, {:.1} M steps/s alone, {:.1} M steps/s in epochs",
                (k * n_envs) as f64 / bar,
                speed / 1e6
            );
            for (what, part) in PARTS {
                let graph =
                    device.capture("part", || (0..STEPS_PER_GRAPH).try_for_each(|_| part(&population))).unwrap();
                println!("    {what}: {:.2} µs", micros(&device, &graph, STEPS_PER_GRAPH));
            }
        }
    }
}
