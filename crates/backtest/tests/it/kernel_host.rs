//! The kernels themselves, compiled for the host and run under an emulation of CUDA's threads and barriers: indexing,
//! packing, barriers (a deadlock fails), launch splitting and the hand-over between lanes, without a GPU. What only a
//! GPU can show (its logarithm, its memory order, its speed) is tests/gpu.

pub(crate) use crate::host_kernel::{HostKernel, PARAMETERS, raw};
use crate::support::{argmax, forward, random_features, random_policy, same_column};
use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::account::Account;
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::gpu::layout::{EnvAccount, EnvBar, EnvRules, EnvWindow, RolloutPair};
use gigabar_backtest::gpu::rollout::{greedy_source, metrics_source, project_source};
use gigabar_backtest::gpu::{MlpActivation, MlpPlan, MlpShape, WindowSummary};
use gigabar_backtest::metric::{max_drawdown, sharpe, total_pnl};
use gigabar_backtest::rules::TripleBarrier;
use gigabar_gpu::Arch;
use gigabar_market::Bars;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

pub(crate) const N_FEATURE: usize = 21;
const TIE: f32 = 2e-5;

/// A small market and windows of unequal length inside it.
pub(crate) struct World {
    pub(crate) bars: Bars,
    sigma: Vec<f64>,
    config: SimConfig,
    pub(crate) features: Vec<f32>,
    pub(crate) ranges: Vec<std::ops::Range<usize>>,
}

/// What every kernel reads.
pub(crate) struct Arrays {
    pub(crate) bars: Vec<EnvBar>,
    pub(crate) windows: Vec<EnvWindow>,
    pub(crate) rules: Vec<EnvRules>,
    pub(crate) features: Vec<f32>,
    pub(crate) periods: Vec<f64>,
}

impl World {
    pub(crate) fn new(config: SimConfig, ranges: Vec<std::ops::Range<usize>>) -> Self {
        let n_bars = ranges.iter().map(|range| range.end).max().unwrap() + 1;
        let walk = RandomWalkConfig { volatility: 0.02, ..RandomWalkConfig::default() };
        let bars = random_walk(n_bars, 9, &walk).unwrap();
        let features = random_features(n_bars, N_FEATURE, 10);
        Self { sigma: sigma(bars.close()), bars, config, features, ranges }
    }

    pub(crate) fn market(&self) -> Market<'_> {
        Market::new(&self.bars, &self.sigma)
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules::new(&self.config, &self.market()).unwrap()
    }

    pub(crate) fn arrays(&self) -> Arrays {
        let (market, mut bars, mut windows, mut features) = (self.market(), Vec::new(), Vec::new(), Vec::new());
        for range in &self.ranges {
            let (row, n_bars, first_bar) = (bars.len() as i64, range.len() as u32, range.start as u32);
            windows.push(EnvWindow { row, n_bars, first_bar, rules: 0, unused: 0 });
            bars.extend(range.clone().map(|t| EnvBar::of(&market, t)));
            features.extend_from_slice(&self.features[range.start * N_FEATURE..range.end * N_FEATURE]);
        }
        let periods = vec![market.periods_per_year; windows.len()];
        Arrays { bars, windows, rules: vec![EnvRules::new(&self.rules(), &market)], features, periods }
    }
}

/// `metrics_summarise` over paths already made.
pub(crate) fn summarise(
    arrays: &mut Arrays,
    pairs: &mut [RolloutPair],
    accounts: &mut [EnvAccount],
    equity: &mut [f64],
    returns: &mut [f64],
) -> Vec<WindowSummary> {
    let launch = "n[0], 1, 1, LANES, [=] { metrics_summarise((EnvWindow*)p[0], (RolloutPair*)p[1], (EnvAccount*)p[2], \
                  (f64*)p[3], (f64*)p[4], (f64*)p[5], 0.0, (WindowSummary*)p[6]); }";
    let kernel = HostKernel::build(&metrics_source(), PARAMETERS, launch);
    let mut out = vec![WindowSummary::default(); pairs.len()];
    let n = pairs.len() as u32;
    let periods = raw(&mut arrays.periods);
    let columns = [raw(accounts), raw(equity), raw(returns), periods, raw(&mut out)];
    kernel.run(&[&[raw(&mut arrays.windows), raw(pairs)], &columns[..]].concat(), &[n]);
    out
}

/// Greedy rollouts of `n_policy` networks over all windows in launches of `chunk` decisions, held to the engine.
fn greedy(shape: &MlpShape, slots: usize, n_policy: u64, chunk: u32, world: &World) {
    let plan = MlpPlan::new(shape, slots, Arch(80), 1 << 20, "host").unwrap();
    let policies: Vec<_> = (0..n_policy).map(|seed| random_policy(shape, seed)).collect();
    let mut arrays = world.arrays();
    let (mut pairs, mut first, mut n_path) = (Vec::new(), vec![0_u32], 0);
    for policy in 0..policies.len() {
        for (w, window) in arrays.windows.iter().enumerate() {
            pairs.push(RolloutPair { path: n_path as i64, window: w as u32, policy: policy as u32 });
            n_path += window.n_bars as usize;
            if (w + 1) % slots == 0 || w + 1 == arrays.windows.len() {
                first.push(pairs.len() as u32);
            }
        }
    }
    let (mut packed, mut projection, mut bias, mut levels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for policy in &policies {
        plan.pack(policy, &mut packed);
        plan.pack_projection(policy, &mut projection, &mut bias);
        levels.extend_from_slice(&policy.levels);
    }
    let (n_pair, n_block) = (pairs.len() as u32, first.len() as u32 - 1);
    // NaN where nothing is written.
    let mut projected = vec![f32::NAN; (pairs.len() * chunk as usize + 2) * plan.first_width()];
    let mut accounts = vec![EnvAccount::default(); pairs.len()];
    let (mut equity, mut returns, mut actions) =
        (vec![f64::NAN; n_path], vec![f64::NAN; n_path], vec![u8::MAX; n_path]);
    let project = HostKernel::build(
        &project_source(&plan),
        PARAMETERS,
        "(n[2] + TILE_BARS - 1) / TILE_BARS, H1 / TILE_OUT, n[3], 256, [=] { project_features((f32*)p[0], (EnvWindow*)p[1], \
         (RolloutPair*)p[2], (f32*)p[3], (f32*)p[4], (f32*)p[5], n[0], n[1], n[2], 0); }",
    );
    let rollout = HostKernel::build(
        &greedy_source(&plan, arrays.rules[0].flags, n_policy == 1, true),
        PARAMETERS,
        "n[4], 1, 1, BLOCK_THREADS, [=] { rollout_greedy((EnvBar*)p[0], (EnvWindow*)p[1], (EnvRules*)p[2], \
         (RolloutPair*)p[3], (u32*)p[4], (f32*)p[5], (f32*)p[6], (f64*)p[7], (EnvAccount*)p[8], (f64*)p[9], (f64*)p[10], \
         (u8*)p[11], n[0], n[1], n[2], ((EnvRules*)p[2])[0]); }",
    );
    let n_steps = arrays.windows.iter().map(|window| window.n_bars - 1).max().unwrap();
    for t0 in (0..n_steps).step_by(chunk as usize) {
        let numbers = [chunk, t0, chunk.min(n_steps - t0), n_pair, n_block];
        let windows = raw(&mut arrays.windows);
        let inputs = [raw(&mut arrays.features), windows, raw(&mut pairs), raw(&mut projection), raw(&mut bias)];
        project.run(&[&inputs[..], &[raw(&mut projected)]].concat(), &numbers);
        let market = [raw(&mut arrays.bars), windows, raw(&mut arrays.rules), raw(&mut pairs), raw(&mut first)];
        let nets = [raw(&mut projected), raw(&mut packed), raw(&mut levels)];
        let out = [raw(&mut accounts), raw(&mut equity), raw(&mut returns), raw(&mut actions)];
        rollout.run(&[&market[..], &nets, &out].concat(), &numbers);
    }
    let summaries = summarise(&mut arrays, &mut pairs, &mut accounts, &mut equity, &mut returns);
    let mut used = vec![0; shape.n_action];
    for (slot, pair) in pairs.iter().enumerate() {
        let (start, w) = (pair.path as usize, pair.window as usize);
        let n_bars = world.ranges[w].len();
        let path = (&equity[start..start + n_bars], &returns[start..start + n_bars - 1]);
        let own = &actions[start..start + n_bars - 1];
        own.iter().for_each(|&action| used[action as usize] += 1);
        hold(world, w, &policies[pair.policy as usize], own, path, &accounts[slot]);
        assert_eq!(total_pnl(path.0), Some(summaries[slot].total_pnl));
        assert_eq!(max_drawdown(path.0), Some(summaries[slot].max_drawdown));
        assert_eq!(sharpe(path.1, 0.0, arrays.periods[w]), summaries[slot].sharpe());
    }
    assert!(used.iter().filter(|&&n| n > 0).count() > 1, "one action only: nothing tested");
}

/// The engine, given the kernel's actions, takes the same path; the plain network asks for the same actions or calls a
/// tie.
pub(crate) fn hold(
    world: &World,
    w: usize,
    policy: &gigabar_backtest::gpu::MlpPolicy,
    actions: &[u8],
    path: (&[f64], &[f64]),
    account: &EnvAccount,
) {
    let (market, rules, range) = (world.market(), world.rules(), world.ranges[w].clone());
    let mut engine = Account::new(&rules);
    let (mut equity, mut returns) = (vec![rules.initial_cash()], Vec::new());
    for (t, &action) in (range.start..range.end - 1).zip(actions) {
        let portfolio = engine.observation(&market, t);
        let q = forward(policy, &world.features[t * N_FEATURE..(t + 1) * N_FEATURE], &portfolio);
        let size = q.iter().fold(1.0_f32, |size, q| size.max(q.abs()));
        let gap = (q[argmax(&q)] - q[action as usize]) / size;
        assert!(gap <= TIE, "window {w}, bar {t}: action {action}, Q {q:?}");
        let level = policy.levels[action as usize];
        let step = engine.step(&rules, &market, t, level, t + 2 == range.end, &mut |_| {});
        returns.push(step.ret);
        equity.push(step.equity);
    }
    same_column(w, "equity", &equity, path.0);
    same_column(w, "returns", &returns, path.1);
    assert_eq!(*engine.counts(), account.counts(), "window {w}: counts");
}

pub(crate) fn costs() -> SimConfig {
    SimConfig {
        commission_bps: 2.0,
        half_spread_bps: 1.0,
        barrier: Some(TripleBarrier { k_stop: Some(1.0), k_take: Some(2.0), max_hold: Some(5) }),
        ..SimConfig::default()
    }
}

pub(crate) fn shape(hidden: &[usize], n_action: usize, activation: MlpActivation, dueling: bool) -> MlpShape {
    MlpShape { n_feature: N_FEATURE, hidden: hidden.to_vec(), n_action, activation, dueling }
}

#[test]
fn the_resident_kernel_takes_the_engines_path() {
    let world = World::new(costs(), vec![3..140, 0..2, 10..77]);
    greedy(&shape(&[256, 256], 5, MlpActivation::Relu, false), 1, 1, 1_000, &world);
    greedy(&shape(&[256, 256], 5, MlpActivation::Relu, true), 8, 2, 60, &world);
}

#[test]
fn other_depths_and_widths_do_too() {
    let world = World::new(costs(), vec![3..90, 0..30]);
    greedy(&shape(&[100], 3, MlpActivation::Tanh, true), 1, 1, 50, &world);
    greedy(&shape(&[512], 5, MlpActivation::Silu, false), 4, 1, 1_000, &world);
    greedy(&shape(&[128, 60, 64], 9, MlpActivation::Silu, false), 8, 1, 40, &world);
    greedy(&shape(&[64, 500], 2, MlpActivation::Tanh, false), 16, 2, 33, &world);
}
