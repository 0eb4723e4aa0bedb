//! Greedy evaluation on a GPU: `cargo bench -p gigabar-backtest --bench gpu_rollout`. Synthetic market, random weights,
//! 48 features, network 56 → 256 → 256 → 5. Every time is wall clock of `evaluate`, the synchronisation and the read
//! inside.
//! `-- --quick` runs a small case once, for a memory checker; `-- --many` 4,096 short windows once, for a profiler.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Instant;

use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::gpu::{GpuBacktestEvaluator, MlpActivation, MlpPolicy, MlpShape, WindowInput};
use gigabar_gpu::Device;
use gigabar_market::Bars;
use gigabar_market::rng::Philox;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

const N_FEATURE: usize = 48;
const RUNS: usize = 7;

struct World {
    bars: Bars,
    sigma: Vec<f64>,
    features: Vec<f32>,
}

impl World {
    fn new(n_bars: usize) -> Self {
        let bars = random_walk(n_bars, 1, &RandomWalkConfig::default()).unwrap();
        let mut rng = Philox::new(1, 2);
        let features = (0..n_bars * N_FEATURE).map(|_| (4.0 * rng.uniform() - 2.0) as f32).collect();
        Self { sigma: sigma(bars.close()), bars, features }
    }

    /// `n_windows` windows of `n_bars`, spread over the series.
    fn evaluator(&self, device: &Device, n_windows: usize, n_bars: usize) -> GpuBacktestEvaluator {
        let market = Market::new(&self.bars, &self.sigma);
        let config = SimConfig { half_spread_bps: 1.0, commission_bps: 1.0, ..SimConfig::default() };
        let rules = Rules::new(&config, &market).unwrap();
        let room = self.bars.len() - n_bars;
        let input = |w: usize| {
            let start = if n_windows == 1 { 0 } else { room * w / (n_windows - 1) };
            let features = &self.features[start * N_FEATURE..(start + n_bars) * N_FEATURE];
            WindowInput { market, rules: &rules, range: start..start + n_bars, features }
        };
        let inputs: Vec<WindowInput<'_>> = (0..n_windows).map(input).collect();
        GpuBacktestEvaluator::upload_windows(device, &inputs).unwrap()
    }
}

fn policies(n: usize) -> Vec<MlpPolicy> {
    policies_of(n, 256)
}

/// Networks with two hidden layers of `width`.
fn policies_of(n: usize, width: usize) -> Vec<MlpPolicy> {
    let shape = MlpShape {
        n_feature: N_FEATURE,
        hidden: vec![width, width],
        n_action: 5,
        activation: MlpActivation::Relu,
        dueling: false,
    };
    let policy = |seed: usize| {
        let mut rng = Philox::new(seed as u64, 3);
        let mut weights = Vec::new();
        for (n_out, n_in) in shape.matrices() {
            let bound = (3.0 / n_in as f64).sqrt();
            let mut draw =
                |n: usize| (0..n).map(|_| ((2.0 * rng.uniform() - 1.0) * bound) as f32).collect::<Vec<f32>>();
            weights.extend([draw(n_out * n_in), draw(n_out)]);
        }
        MlpPolicy { shape: shape.clone(), weights, levels: vec![-1.0, -0.5, 0.0, 0.5, 1.0] }
    };
    (0..n).map(policy).collect()
}

/// First call and median of the warm ones, seconds.
fn time(name: &str, evaluator: &mut GpuBacktestEvaluator, policies: &[MlpPolicy], n_bars: usize, runs: usize) {
    let pairs = policies.len() * evaluator.n_windows();
    let mut seconds = Vec::new();
    let mut traffic = evaluator.traffic();
    let mut first = 0.0;
    let mut trades = 0;
    for run in 0..=runs {
        let before = evaluator.traffic();
        let start = Instant::now();
        let summaries = evaluator.evaluate(policies, 0.0).unwrap();
        let elapsed = start.elapsed().as_secs_f64();
        if run == 0 {
            first = elapsed;
        } else {
            seconds.push(elapsed);
        }
        traffic = evaluator.traffic().since(&before);
        trades = summaries.iter().map(|s| u64::from(s.n_trades)).sum();
    }
    seconds.sort_by(f64::total_cmp);
    let median = if seconds.is_empty() { first } else { seconds[seconds.len() / 2] };
    let best = seconds.first().copied().unwrap_or(first);
    let steps = pairs as f64 * (n_bars - 1) as f64;
    println!("{name}: {pairs} pairs × {n_bars} bars, {trades} trades");
    println!(
        "    first {:.1} ms, warm median {:.2} ms, best {:.2} ms; {:.3} µs per lockstep, {:.1} M steps/s",
        first * 1e3,
        median * 1e3,
        best * 1e3,
        median * 1e6 / (n_bars - 1) as f64,
        steps / median / 1e6
    );
    println!("    per evaluate: {traffic}");
}

fn main() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => {
            println!("{error}\nhint: {}", error.hint().unwrap_or_default());
            return;
        }
    };
    println!("{}", device.facts());
    if std::env::args().any(|arg| arg == "--quick") {
        let world = World::new(1_000);
        time("quick", &mut world.evaluator(&device, 3, 300), &policies(2), 300, 0);
        time("quick, two slots", &mut world.evaluator(&device, 140, 40), &policies(2), 40, 0);
        return;
    }
    if std::env::args().any(|arg| arg == "--many") {
        time("many", &mut World::new(8_000).evaluator(&device, 4_096, 300), &policies(1), 300, 0);
        return;
    }
    let world = World::new(200_000);
    time("8 windows", &mut world.evaluator(&device, 8, 100_000), &policies(1), 100_000, RUNS);
    time("132 pairs", &mut world.evaluator(&device, 12, 100_000), &policies(11), 100_000, RUNS);
    time("264 pairs", &mut world.evaluator(&device, 24, 20_000), &policies(11), 20_000, RUNS);
    time("528 pairs", &mut world.evaluator(&device, 48, 20_000), &policies(11), 20_000, RUNS);
    time("1 pair", &mut world.evaluator(&device, 1, 100_000), &policies(1), 100_000, RUNS);
    let mut many = world.evaluator(&device, 4_096, 2_000);
    time("4096 windows", &mut many, &policies(1), 2_000, RUNS);
    for slots in [1, 4, 8] {
        many.force_slots(slots);
        time(&format!("4096 windows, {slots} to a block"), &mut many, &policies(1), 2_000, RUNS);
    }
    let mut layered = world.evaluator(&device, 8, 5_000);
    time("8 windows, 2×1024 (layered form)", &mut layered, &policies_of(1, 1_024), 5_000, RUNS);
    layered.force_layered(true);
    time("8 windows, 2×256 in the layered form", &mut layered, &policies(1), 5_000, RUNS);
}
