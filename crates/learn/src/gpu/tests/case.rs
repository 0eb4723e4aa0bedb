//! A small population beside its CPU twins: the same market, and kernels run under the emulation of CUDA's threads.

use std::ops::Range;

use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::gpu::layout::{EnvBar, EnvRules};
use gigabar_backtest::rules::{RewardConfig, SimConfig};
use gigabar_market::Bars;
use gigabar_market::feature::FeatureTable;
use gigabar_market::scale::{ScaledFeatures, Scaler};
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

use super::super::collector::collector_source;
use super::super::collector::transfer::HostCollector;
use super::super::epoch_state::{EpochState, reset_flags};
use super::super::layout::*;
use super::super::params::reward_of;
use super::super::replay::rank_tables;
use super::super::replay::transfer::HostReplay;
use super::super::world::Dims;
use super::host_kernel::{HostKernel, PARAMETERS, raw};
use crate::collector::{Collector, EpochReset, World};
use crate::replay::ReplayKind;
use crate::schedule::Decay;

pub(super) const LEVELS: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// A market and how it is traded.
pub(super) struct Case {
    bars: Bars,
    sigma: Vec<f64>,
    pub(super) features: ScaledFeatures,
    range: Range<usize>,
    sim: SimConfig,
    reward: RewardConfig,
    pub(super) episode_bars: usize,
    pub(super) dims: Dims,
    pub(super) kind: ReplayKind,
}

impl Case {
    pub(super) fn new(sim: SimConfig, reward: RewardConfig, kind: ReplayKind, dims: Dims) -> Self {
        let bars = random_walk(500, 3, &RandomWalkConfig::default()).unwrap();
        let table = FeatureTable::compute(&bars).unwrap();
        let range = table.warmup_bars()..480;
        let features = Scaler::fit(&table, range.clone()).unwrap().transform(&table).unwrap();
        let dims = Dims { n_feature: features.n_feature(), n_action: LEVELS.len(), ..dims };
        Self { sigma: sigma(bars.close()), bars, features, range, sim, reward, episode_bars: 30, dims, kind }
    }

    pub(super) fn market(&self) -> Market<'_> {
        Market::new(&self.bars, &self.sigma)
    }

    pub(super) fn rules(&self) -> Rules {
        Rules::new(&self.sim, &self.market()).unwrap()
    }

    /// The CPU's world of a learner.
    pub(super) fn world<'a>(&'a self, rules: &'a Rules, p: &LearnerParams) -> World<'a> {
        World {
            rules,
            market: self.market(),
            features: &self.features,
            reward: &self.reward,
            levels: &LEVELS,
            range: &self.range,
            episode_bars: self.episode_bars,
            n_step: self.dims.n_step,
            gamma: p.gamma,
            reward_scale: p.reward_scale,
            seed: p.seed,
        }
    }

    /// Settings of learner `k`; all differ.
    pub(super) fn params(&self, k: usize) -> LearnerParams {
        let market = self.market();
        LearnerParams {
            rules: EnvRules::new(&self.rules(), &market),
            reward: reward_of(&self.reward, &self.sigma[self.range.clone()]),
            seed: (0xdead_beef << 32) + k as u64,
            // The second table of the two that `Emulated` holds is another one's.
            features: (k % 2 * self.features.values().len()) as i64,
            first_bar: self.range.start as u32,
            n_start: (self.range.len() - self.episode_bars) as u32,
            episode_bars: self.episode_bars as u32,
            gamma: 0.9 + 0.05 * k as f64,
            reward_scale: 2.0 + k as f64,
            total_steps: 4_000.0,
            epsilon_start: 1.0,
            epsilon_end: 0.1,
            epsilon_fraction: 0.5,
            beta_start: 0.4,
            beta_end: 1.0,
            alpha: 0.6 + 0.1 * k as f64,
            priority_eps: 0.01,
            noise: if k == 0 { 1.5 * 3f64.sqrt() } else { 0.0 },
            flags: if k == 1 { PARAMS_EPSILON_EXPONENTIAL } else { 0 },
            ..LearnerParams::default()
        }
    }
}

/// The share of random actions, as the CPU has it.
pub(super) fn epsilon(p: &LearnerParams, env_steps: u64) -> f64 {
    let decay = if p.flags & PARAMS_EPSILON_EXPONENTIAL != 0 { Decay::Exponential } else { Decay::Linear };
    let progress = env_steps as f64 / p.total_steps / p.epsilon_fraction;
    decay.at(p.epsilon_start, p.epsilon_end, progress)
}

/// β of the importance weights, as the CPU has it.
pub(super) fn beta(p: &LearnerParams, env_steps: u64) -> f64 {
    Decay::Linear.at(p.beta_start, p.beta_end, env_steps as f64 / p.total_steps)
}

/// The device's memory and what runs in it.
pub(super) struct Emulated {
    pub(super) dims: Dims,
    pub(super) params: Vec<LearnerParams>,
    pub(super) state: Vec<LearnerState>,
    bars: Vec<EnvBar>,
    pub(super) features: Vec<f32>,
    levels: Vec<f64>,
    pub(super) collector: HostCollector,
    pub(super) tallies: Vec<EnvTally>,
    pub(super) action_counts: Vec<u64>,
    pub(super) observation: Vec<f32>,
    after: Vec<EnvAfter>,
    pub(super) replay: HostReplay,
    cumulative: Vec<f64>,
    table: Vec<u32>,
}

fn address<T>(values: &mut [T]) -> u64 {
    raw(values) as u64
}

impl Emulated {
    /// Learners before their first step. A feature table for even and one for odd learners.
    pub(super) fn new(case: &Case) -> Self {
        let (dims, market) = (case.dims, case.market());
        let params: Vec<_> = (0..dims.n_learner).map(|k| case.params(k)).collect();
        let alphas: Vec<f64> = params.iter().map(|p| p.alpha).collect();
        let (cumulative, table) = rank_tables(&alphas, dims.capacity);
        let mut features = case.features.values().to_vec();
        features.extend_from_slice(case.features.values());
        Self {
            state: vec![LearnerState { max_priority: 1.0, ..LearnerState::default() }; dims.n_learner],
            bars: (0..market.close.len()).map(|t| EnvBar::of(&market, t)).collect(),
            features,
            levels: LEVELS.repeat(dims.n_learner),
            collector: HostCollector::default(),
            tallies: vec![EnvTally::default(); dims.n_envs()],
            action_counts: vec![0; dims.n_learner * dims.n_action],
            observation: vec![f32::NAN; dims.n_envs() * dims.row_floats()],
            after: vec![EnvAfter::default(); dims.n_envs()],
            replay: HostReplay::new(dims, case.kind),
            cumulative,
            table,
            params,
            dims,
        }
    }

    pub(super) fn upload(&mut self, collectors: &[Collector]) {
        self.collector = HostCollector::of(&collectors.iter().collect::<Vec<_>>(), &self.dims).unwrap();
    }

    pub(super) fn ring_view(&mut self) -> RingView {
        let ring = &mut self.replay;
        RingView {
            bar: address(&mut ring.bar),
            portfolio: address(&mut ring.portfolio),
            action: address(&mut ring.action),
            reward: address(&mut ring.reward),
            discount: address(&mut ring.discount),
            done: address(&mut ring.done),
            next_bar: address(&mut ring.next_bar),
            next_portfolio: address(&mut ring.next_portfolio),
            capacity: self.dims.capacity as u64,
        }
    }

    pub(super) fn replay_view(&mut self) -> ReplayView {
        ReplayView {
            tree: address(&mut self.replay.tree),
            priority: address(&mut self.replay.priority),
            order: address(&mut self.replay.order),
            cumulative: address(&mut self.cumulative),
            table: address(&mut self.table),
        }
    }

    fn collector_view(&mut self) -> CollectorView {
        CollectorView {
            accounts: address(&mut self.collector.accounts),
            places: address(&mut self.collector.places),
            pending: address(&mut self.collector.pending),
            tallies: address(&mut self.tallies),
            action_counts: address(&mut self.action_counts),
            observation: address(&mut self.observation),
            after: address(&mut self.after),
        }
    }
}

/// `collector_observe`, `collector_step`, `collector_store` and those of `epoch_state.cu`.
pub(super) struct CollectorKernels(HostKernel);

impl CollectorKernels {
    const STORE_THREADS: u32 = 32;

    pub(super) fn build(case: &Case, flags: u32) -> Self {
        let launch = "n[1], n[2], 1, n[3], [=] { \
            LearnerParams* params = (LearnerParams*)p[0]; EnvBar* bars = (EnvBar*)p[2]; f32* features = (f32*)p[3]; \
            if (n[0] == 0) collector_observe(params, bars, features, *(CollectorView*)p[6]); \
            if (n[0] == 1) collector_step(params, (LearnerState*)p[1], bars, features, (f64*)p[4], (f32*)p[5], \
                                          *(CollectorView*)p[6]); \
            if (n[0] == 2) collector_count((LearnerState*)p[1], *(CollectorView*)p[6], *(ReplayView*)p[8]); \
            if (n[0] == 3) collector_store(params, (LearnerState*)p[1], *(CollectorView*)p[6], *(RingView*)p[7]); \
            if (n[0] == 4) epoch_state_reset(params, *(CollectorView*)p[6], n[4]); \
            if (n[0] == 5) epoch_state_show(params, bars, *(CollectorView*)p[6], (EpochState*)p[5]); }";
        // Few threads, so that a few environments take turns: the last definition counts.
        let source = collector_source(&case.dims, case.kind, flags).define("STORE_THREADS", Self::STORE_THREADS);
        Self(HostKernel::build(&source, PARAMETERS, launch))
    }

    pub(super) fn observe(&self, on: &mut Emulated) {
        self.run::<f32>(on, &mut [], [0, on.dims.n_env as u32, on.dims.n_learner as u32, 32, 0]);
    }

    pub(super) fn step(&self, on: &mut Emulated, q: &mut [f32]) {
        self.run(on, q, [1, on.dims.n_env as u32, on.dims.n_learner as u32, 32, 0]);
    }

    pub(super) fn store(&self, on: &mut Emulated) {
        self.run::<f32>(on, &mut [], [2, on.dims.n_learner as u32, 1, Self::STORE_THREADS, 0]);
        let blocks = on.dims.n_env.div_ceil(32) as u32;
        self.run::<f32>(on, &mut [], [3, blocks, on.dims.n_learner as u32, 32, 0]);
    }

    pub(super) fn reset(&self, on: &mut Emulated, reset: EpochReset) {
        let grid = [on.dims.n_env.div_ceil(32), on.dims.n_learner].map(|n| n as u32);
        self.run::<f32>(on, &mut [], [4, grid[0], grid[1], 32, reset_flags(reset)]);
    }

    pub(super) fn show(&self, on: &mut Emulated) -> Vec<EpochState> {
        let grid = [on.dims.n_env.div_ceil(32), on.dims.n_learner].map(|n| n as u32);
        let mut states = vec![EpochState::default(); on.dims.n_envs()];
        self.run(on, &mut states, [5, grid[0], grid[1], 32, 0]);
        states
    }

    fn run<T>(&self, on: &mut Emulated, q: &mut [T], numbers: [u32; 5]) {
        let (mut view, mut ring, mut replay) = ([on.collector_view()], [on.ring_view()], [on.replay_view()]);
        let world = [raw(&mut on.params), raw(&mut on.state), raw(&mut on.bars), raw(&mut on.features)];
        let own = [raw(&mut on.levels), raw(q), raw(&mut view), raw(&mut ring), raw(&mut replay)];
        self.0.run(&[&world[..], &own].concat(), &numbers);
    }
}
