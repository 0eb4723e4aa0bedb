//! `collector.cu` beside [`Collector`]: the same Q-values, every transition in the ring bit for bit.

use gigabar_backtest::cpu::engine::Rules;
use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::rules::{Kelly, RewardConfig, RewardKind, SimConfig, TripleBarrier};
use gigabar_market::rng::Philox;

use super::super::epoch_state::EpochState;
use super::super::layout::{EnvTally, LearnerParams};
use super::super::world::Dims;
use super::case::{Case, CollectorKernels, Emulated, epsilon};
use crate::collector::{CollectStats, Collector, EpochReset};
use crate::replay::{PriorityConfig, ReplayKind, Ring, Sampler};

fn dims(n_env: usize, n_step: usize, capacity: usize) -> Dims {
    Dims { n_learner: 2, n_env, n_step, n_feature: 0, n_action: 0, capacity, batch: 4 }
}

fn costs() -> SimConfig {
    SimConfig { half_spread_bps: 3.0, commission_bps: 2.0, ..SimConfig::default() }
}

/// What epochs of 40 bars begin with.
const RESETS: [EpochReset; 3] = [
    EpochReset { portfolio: true, dsr: false },
    EpochReset { portfolio: false, dsr: true },
    EpochReset { portfolio: true, dsr: true },
];

/// A learner on the CPU.
struct Twin {
    collector: Collector,
    ring: Ring,
    sampler: Sampler,
    stats: CollectStats,
}

/// `rounds` bars on both sides. Returns how many environments were ruined.
fn hold(case: &Case, rounds: usize) -> u64 {
    let (rules, dims) = (case.rules(), case.dims);
    let mut device = Emulated::new(case);
    let mut twins: Vec<Twin> = device.params.iter().map(|p| twin(case, &rules, p)).collect();
    let collectors: Vec<Collector> = twins.iter().map(|twin| twin.collector.clone()).collect();
    device.upload(&collectors);
    assert_eq!(device.collector.collectors(&dims, &device.params), collectors, "round trip");
    let kernels = CollectorKernels::build(case, device.params[0].rules.flags);
    kernels.observe(&mut device);
    let mut rng = Philox::new(5, 5);
    for round in 0..rounds {
        let observed = round % 17 == 0 || round + 1 == rounds;
        if observed {
            twins.iter().enumerate().for_each(|(k, twin)| assert_observed(case, &rules, &device, k, twin));
        }
        if let Some(reset) = RESETS.get(round / 40).filter(|_| round % 40 == 39) {
            for (twin, p) in twins.iter_mut().zip(&device.params) {
                twin.collector.begin_epoch(&case.world(&rules, p), *reset);
            }
            kernels.reset(&mut device, *reset);
            kernels.observe(&mut device);
        }
        // Ties and NaN now and then.
        let draw = |_| if rng.uniform() < 0.01 { f32::NAN } else { (rng.uniform() * 20.0).floor() as f32 };
        let mut q: Vec<f32> = (0..dims.n_envs() * dims.n_action).map(draw).collect();
        for (k, twin) in twins.iter_mut().enumerate() {
            let own = &q[k * dims.n_env * dims.n_action..][..dims.n_env * dims.n_action];
            twin.step(case, &rules, &device.params[k], device.state[k].env_steps, own);
        }
        kernels.step(&mut device, &mut q);
        kernels.store(&mut device);
        if observed {
            let collectors = device.collector.collectors(&dims, &device.params);
            for (k, (twin, collector)) in twins.iter().zip(&collectors).enumerate() {
                assert_eq!(&twin.collector, collector, "learner {k}, bar {round}");
                let (ring, sampler) = device.replay.get(k, &device.state[k]);
                assert_eq!(twin.ring, ring, "learner {k}, bar {round}");
                assert_eq!(twin.sampler.state().priorities, sampler.priorities, "learner {k}, bar {round}");
                assert_eq!(device.state[k].env_steps, ((round + 1) * dims.n_env) as u64);
            }
            assert_shown(case, &kernels.show(&mut device), &twins);
        }
    }
    twins.iter().enumerate().for_each(|(k, twin)| assert_tallied(&device, k, &twin.stats));
    twins.iter().map(|twin| twin.stats.ruins).sum()
}

fn twin(case: &Case, rules: &Rules, p: &LearnerParams) -> Twin {
    let priority = PriorityConfig { alpha: p.alpha, eps: p.priority_eps };
    Twin {
        collector: Collector::new(case.dims.n_env, &case.world(rules, p)),
        ring: Ring::new(case.dims.capacity),
        sampler: Sampler::new(case.kind, case.dims.capacity, priority),
        stats: CollectStats::default(),
    }
}

impl Twin {
    fn step(&mut self, case: &Case, rules: &Rules, p: &LearnerParams, env_steps: u64, q: &[f32]) {
        let (ring, sampler) = (&mut self.ring, &mut self.sampler);
        let mut keep = |t: &crate::replay::Transition| sampler.insert(ring.push(t));
        self.collector.step(&case.world(rules, p), q, epsilon(p, env_steps), &mut self.stats, &mut keep);
    }
}

fn assert_observed(case: &Case, rules: &Rules, device: &Emulated, k: usize, twin: &Twin) {
    let (dims, row) = (case.dims, case.dims.row_floats());
    let want = twin.collector.observe(&case.world(rules, &device.params[k]));
    let n_input = dims.n_feature + N_PORTFOLIO;
    let own = &device.observation[k * dims.n_env * row..][..dims.n_env * row];
    for (got, want) in own.chunks_exact(row).zip(want.chunks_exact(n_input)) {
        assert_eq!(got[..n_input], *want, "learner {k}");
        assert!(got[n_input..].iter().all(|&x| x == 0.0), "padding");
    }
}

/// What `epoch_state_show` tells of every environment.
fn assert_shown(case: &Case, states: &[EpochState], twins: &[Twin]) {
    let envs = twins.iter().flat_map(|twin| &twin.collector.envs);
    for (state, env) in states.iter().zip(envs) {
        let want = EpochState {
            vol_ema: case.market().sigma[env.bar] as f32,
            median_vol: env.reward.median_vol as f32,
            portfolio_value: env.account.equity() as f32,
            portfolio_position: env.account.units() as f32,
            portfolio_cash: env.account.cash() as f32,
            dsr_mean: env.reward.dsr_mean as f32,
            dsr_var: env.reward.dsr_var as f32,
            step_count: env.steps as f32,
        };
        assert_eq!(*state, want);
    }
}

fn assert_tallied(device: &Emulated, k: usize, stats: &CollectStats) {
    let dims = device.dims;
    let tallies = &device.tallies[k * dims.n_env..(k + 1) * dims.n_env];
    let n: u64 = tallies.iter().map(|t| u64::from(t.steps)).sum();
    assert_eq!((n, stats.ruins), (stats.reward.n, tallies.iter().map(|t| u64::from(t.ruins)).sum()));
    let fold = |f: fn(f64, f64) -> f64, of: fn(&EnvTally) -> f64| tallies.iter().map(of).reduce(f).unwrap();
    assert_eq!(fold(f64::min, |t| t.reward_min), stats.reward.min);
    assert_eq!(fold(f64::max, |t| t.reward_max), stats.reward.max);
    let mean = |sum: f64| sum / n as f64;
    let (sum, squares) = (fold(|a, b| a + b, |t| t.reward_sum), fold(|a, b| a + b, |t| t.reward_squares));
    assert!((mean(sum) - stats.reward.mean()).abs() < 1e-12 * (1.0 + stats.reward.max.abs()));
    let std = (mean(squares) - mean(sum).powi(2)).sqrt();
    assert!((std - stats.reward.std()).abs() < 1e-9 * (1.0 + std), "{std} against {}", stats.reward.std());
    let (sum, squares) = (fold(|a, b| a + b, |t| t.return_sum), fold(|a, b| a + b, |t| t.return_squares));
    assert!((mean(sum) - stats.returns.mean()).abs() < 1e-14);
    assert!(((mean(squares) - mean(sum).powi(2)).sqrt() - stats.returns.std()).abs() < 1e-12);
    assert_eq!(device.action_counts[k * dims.n_action..(k + 1) * dims.n_action], stats.action_counts);
}

#[test]
fn barriers_costs_and_three_steps() {
    let barrier = Some(TripleBarrier { k_stop: Some(1.0), k_take: Some(2.0), max_hold: Some(5) });
    let sim = SimConfig { barrier, ..costs() };
    let case = Case::new(sim, RewardConfig::default(), ReplayKind::Proportional, dims(3, 3, 1_025));
    hold(&case, 1_500);
}

#[test]
fn kelly_and_rewards_with_memory() {
    let kelly = Some(Kelly { min_trades: 2, ..Kelly::default() });
    let reward =
        RewardConfig { kind: RewardKind::Dsr, turnover_penalty: 0.1, drawdown_penalty: 0.3, ..RewardConfig::default() };
    let case = Case::new(SimConfig { kelly, ..costs() }, reward, ReplayKind::Rank, dims(2, 1, 300));
    hold(&case, 1_500);
}

/// All environments finish their first episodes in one bar: more transitions than the ring holds.
#[test]
fn ruin_and_a_ring_smaller_than_a_burst() {
    let sim = SimConfig { max_position: 60.0, maintenance_margin: 0.01, ..costs() };
    let reward = RewardConfig { kind: RewardKind::VolScaled, ruin_penalty: 3.0, ..RewardConfig::default() };
    let case = Case::new(sim, reward, ReplayKind::Proportional, dims(5, 3, 7));
    assert!(hold(&case, 600) > 0, "the test needs a ruin");
}

/// More environments than threads that store; and no kind of replay but uniform.
#[test]
fn environments_take_turns_in_the_cpus_order() {
    let case = Case::new(costs(), RewardConfig::default(), ReplayKind::Uniform, dims(75, 2, 1_000));
    hold(&case, 70);
    let reward = RewardConfig { kind: RewardKind::Simple, ..RewardConfig::default() };
    let mut case = Case::new(costs(), reward, ReplayKind::Proportional, dims(40, 5, 50));
    case.episode_bars = 4;
    hold(&case, 50);
}
