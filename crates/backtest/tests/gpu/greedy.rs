//! `rollout_greedy` beside `cpu::account` and a plain forward pass.

use gigabar_backtest::cpu::account::Account;
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::gpu::{DevicePath, GpuBacktestEvaluator, MlpActivation, MlpPolicy, MlpShape, WindowInput};
use gigabar_backtest::rules::{Kelly, Rebalance, TripleBarrier};
use gigabar_backtest::{SimConfig, metric};
use gigabar_gpu::Device;
use gigabar_market::Bars;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

use crate::support::{TIE, argmax, device, forward, random_features, random_policy, same_column, shape};

/// A market, features for all its bars, and windows of unequal length.
pub(crate) struct World {
    pub(crate) bars: Bars,
    sigma: Vec<f64>,
    pub(crate) config: SimConfig,
    pub(crate) features: Vec<f32>,
    n_feature: usize,
    pub(crate) ranges: Vec<std::ops::Range<usize>>,
}

impl World {
    pub(crate) fn new(lengths: &[usize], n_feature: usize, config: SimConfig) -> Self {
        let n_bars = lengths.iter().max().unwrap() + 500;
        let bars = random_walk(n_bars, 11, &RandomWalkConfig::default()).unwrap();
        let ranges = lengths.iter().enumerate().map(|(i, &n)| i % 400..i % 400 + n).collect();
        let features = random_features(n_bars, n_feature, 12);
        Self { sigma: sigma(bars.close()), bars, config, features, n_feature, ranges }
    }

    pub(crate) fn market(&self) -> Market<'_> {
        Market::new(&self.bars, &self.sigma)
    }

    pub(crate) fn evaluator(&self, device: &Device) -> GpuBacktestEvaluator {
        let rules = Rules::new(&self.config, &self.market()).unwrap();
        let input = |range: &std::ops::Range<usize>| WindowInput {
            market: self.market(),
            rules: &rules,
            range: range.clone(),
            features: &self.features[range.start * self.n_feature..range.end * self.n_feature],
        };
        let inputs: Vec<WindowInput<'_>> = self.ranges.iter().map(input).collect();
        GpuBacktestEvaluator::upload_windows(device, &inputs).unwrap()
    }

    /// Holds a device path to the engine given its own actions, bit for bit; counts steps and disagreements.
    pub(crate) fn check(&self, w: usize, policy: &MlpPolicy, got: &DevicePath) -> (usize, usize) {
        let (market, range) = (self.market(), self.ranges[w].clone());
        let rules = Rules::new(&self.config, &market).unwrap();
        let mut account = Account::new(&rules);
        let (mut equity, mut returns) = (vec![rules.initial_cash()], Vec::new());
        let mut disagreements = 0;
        for (i, t) in (range.start..range.end - 1).enumerate() {
            let portfolio = account.observation(&market, t);
            let q = forward(policy, &self.features[t * self.n_feature..(t + 1) * self.n_feature], &portfolio);
            let (want, action) = (argmax(&q), got.actions[i] as usize);
            if want != action {
                let size = q.iter().fold(1.0_f32, |size, q| size.max(q.abs()));
                let gap = (q[want] - q[action]) / size;
                assert!(gap <= TIE, "window {w}, step {i}: action {action} for {want}, no tie: {q:?}");
                disagreements += 1;
            }
            let step = account.step(&rules, &market, t, policy.levels[action], t + 2 == range.end, &mut |_| {});
            returns.push(step.ret);
            equity.push(step.equity);
        }
        same_column(w, "equity", &equity, &got.path.equity);
        same_column(w, "returns", &returns, &got.path.returns);
        assert_eq!(*account.counts(), got.path.counts, "window {w}: counts");
        (equity.len() - 1, disagreements)
    }
}

pub(crate) fn costs() -> SimConfig {
    SimConfig { half_spread_bps: 1.0, commission_bps: 2.0, carry_short: 0.05, ..SimConfig::default() }
}

pub(crate) fn everything() -> SimConfig {
    SimConfig {
        max_position: 2.0,
        lot_size: 0.25,
        rebalance: Rebalance::EveryBar,
        rebalance_threshold: 0.05,
        maintenance_margin: 0.05,
        barrier: Some(TripleBarrier { k_stop: Some(1.5), k_take: Some(2.0), max_hold: Some(12) }),
        kelly: Some(Kelly::default()),
        ..costs()
    }
}

fn parity(device: &Device, shape: &MlpShape, lengths: &[usize], n_policy: u64, config: SimConfig) {
    let world = World::new(lengths, shape.n_feature, config);
    let policies: Vec<MlpPolicy> = (0..n_policy).map(|seed| random_policy(shape, seed)).collect();
    let mut evaluator = world.evaluator(device);
    let summaries = evaluator.evaluate_with_actions(&policies, 0.0).unwrap();
    let (mut steps, mut disagreements, mut used) = (0, 0, vec![0_usize; shape.n_action]);
    // Reading a path copies every column: of many windows a spread of them is looked at.
    let stride = (lengths.len() / 7).max(1);
    for k in 0..policies.len() {
        for w in (0..lengths.len()).step_by(stride) {
            let got = evaluator.path(k, w).unwrap();
            let (n, wrong) = world.check(w, &policies[k], &got);
            (steps, disagreements) = (steps + n, disagreements + wrong);
            got.actions.iter().for_each(|&action| used[action as usize] += 1);
            let summary = &summaries[k * lengths.len() + w];
            assert_eq!(Some(summary.total_pnl), metric::total_pnl(&got.path.equity));
            assert_eq!(Some(summary.max_drawdown), metric::max_drawdown(&got.path.equity));
        }
    }
    println!(
        "{:?} {:?}: {steps} steps, {disagreements} ties decided otherwise, actions {used:?}",
        shape.hidden, shape.activation
    );
    assert!(disagreements * 10_000 <= steps, "{disagreements} of {steps} disagree");
    assert!(used.iter().filter(|&&n| n > 0).count() > 1, "one action only: nothing tested");
}

#[test]
#[ignore = "needs a CUDA device"]
fn two_layers_of_256() {
    let device = device();
    let lengths = [20_000, 19_999, 15_000, 4_097, 513, 3, 2];
    parity(&device, &shape(&[256, 256], 5, MlpActivation::Relu, false), &lengths, 2, costs());
    parity(&device, &shape(&[256, 256], 5, MlpActivation::Relu, true), &lengths, 1, everything());
}

#[test]
#[ignore = "needs a CUDA device"]
fn one_and_three_layers_and_odd_widths() {
    let device = device();
    let lengths = [3_000, 2_999, 700, 64];
    parity(&device, &shape(&[100], 3, MlpActivation::Tanh, true), &lengths, 2, costs());
    parity(&device, &shape(&[512], 5, MlpActivation::Silu, false), &lengths, 1, everything());
    parity(&device, &shape(&[128, 60, 64], 9, MlpActivation::Silu, false), &lengths, 1, costs());
    parity(&device, &shape(&[64, 500], 2, MlpActivation::Tanh, false), &lengths, 1, costs());
    parity(&device, &shape(&[33, 17], 5, MlpActivation::Relu, true), &lengths, 1, costs());
}

#[test]
#[ignore = "needs a CUDA device"]
fn more_pairs_than_multiprocessors() {
    let device = device();
    let lengths: Vec<usize> = (0..151).map(|i| 300 + 7 * (i % 13)).collect();
    parity(&device, &shape(&[256, 256], 5, MlpActivation::Relu, false), &lengths, 3, costs());
}

#[test]
#[ignore = "needs a CUDA device"]
fn runs_and_launch_lengths_give_the_same_bits() {
    let device = device();
    let shape = shape(&[256, 256], 5, MlpActivation::Relu, false);
    let world = World::new(&[5_000, 4_500, 7], shape.n_feature, costs());
    let policies = [random_policy(&shape, 1), random_policy(&shape, 2)];
    let mut evaluator = world.evaluator(&device);
    let first = evaluator.evaluate_with_actions(&policies, 0.0).unwrap();
    let path = evaluator.path(1, 0).unwrap();
    assert_eq!(evaluator.evaluate_with_actions(&policies, 0.0).unwrap(), first, "two runs differ");
    assert_eq!(evaluator.path(1, 0).unwrap(), path, "two runs differ");
    for slots in [1, 4, 8, 16] {
        evaluator.force_slots(slots);
        assert_eq!(evaluator.evaluate_with_actions(&policies, 0.0).unwrap(), first, "blocks of {slots} differ");
        assert_eq!(evaluator.path(1, 0).unwrap(), path, "blocks of {slots} differ");
    }
    // 6 pairs · 256 · 4 B a step: 700 steps a launch.
    evaluator.limit_projection(6 * 256 * 4 * 700);
    assert_eq!(evaluator.evaluate_with_actions(&policies, 0.0).unwrap(), first, "shorter launches differ");
    assert_eq!(evaluator.path(1, 0).unwrap(), path, "shorter launches differ");
}

#[test]
#[ignore = "needs a CUDA device"]
fn one_read_and_one_synchronisation() {
    let device = device();
    let shape = shape(&[256, 256], 5, MlpActivation::Relu, false);
    let world = World::new(&[2_000, 1_500], shape.n_feature, costs());
    let policies = [random_policy(&shape, 1)];
    let mut evaluator = world.evaluator(&device);
    for _ in 0..2 {
        let before = evaluator.traffic();
        evaluator.evaluate(&policies, 0.0).unwrap();
        let traffic = evaluator.traffic().since(&before);
        println!("{traffic}");
        assert_eq!((traffic.to_host, traffic.syncs), (1, 1));
        assert_eq!(traffic.to_host_bytes, 2 * 64);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn policies_that_take_turns_give_the_same_numbers() {
    let device = device();
    let shape = shape(&[64, 64], 5, MlpActivation::Relu, false);
    let world = World::new(&[3_000, 500, 7], shape.n_feature, costs());
    let policies: Vec<MlpPolicy> = (0..7).map(|seed| random_policy(&shape, seed)).collect();
    let mut evaluator = world.evaluator(&device);
    let need = evaluator.memory(&policies, true).unwrap();
    println!("{need}");
    assert_eq!(need.at_once, 7);
    let whole = evaluator.evaluate_with_actions(&policies, 0.0).unwrap();
    let last = evaluator.path(6, 0).unwrap();
    evaluator.limit_paths((need.weights + need.paths) / 7 * 3);
    let before = evaluator.traffic();
    assert_eq!(evaluator.evaluate_with_actions(&policies, 0.0).unwrap(), whole, "three at a time");
    assert_eq!(evaluator.traffic().since(&before).syncs, 3);
    assert_eq!(evaluator.path(6, 0).unwrap(), last);
    let gone = evaluator.path(2, 0).unwrap_err().to_string();
    assert!(gone.contains("still on the device, from: expected 6, got 2"), "{gone}");
    evaluator.limit_paths(1);
    assert_eq!(evaluator.evaluate(&policies, 0.0).unwrap(), whole, "one at a time");
}
