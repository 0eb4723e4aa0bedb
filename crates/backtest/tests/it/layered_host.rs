//! The kernels of the layered form under the emulation of CUDA on the host, in the order the evaluator launches them:
//! against the engine, a plain forward pass and the CPU's votes.

use gigabar_backtest::EnsembleVote;
use gigabar_backtest::cpu::account::Account;
use gigabar_backtest::ensemble::{VOTES, flat_action};
use gigabar_backtest::gpu::layered::{
    LayeredPlan, PackedLayers, VOTE, dense_source, first_source, step_source, vote_constants,
};
use gigabar_backtest::gpu::layout::{EnvAccount, RolloutPair};
use gigabar_backtest::gpu::{MlpActivation, MlpPolicy, MlpShape};
use gigabar_gpu::KernelSource;
use gigabar_gpu::header::PRELUDE;
use gigabar_market::rng::Philox;

use crate::host_kernel::{HostKernel, PARAMETERS, raw};
use crate::kernel_host::{Arrays, N_FEATURE, World, costs, shape};
use crate::support::{balanced, decided, forward, random_features, random_policy, same_column};

/// The kernels of one plan.
struct Kernels {
    project: HostKernel,
    begin: HostKernel,
    dense: Vec<HostKernel>,
    step: HostKernel,
}

impl Kernels {
    fn build(plan: &LayeredPlan, flags: u32) -> Self {
        let step = step_source(plan, flags, true);
        let dense = |layer: usize| {
            let [x, y, z] = plan.dense_grid(layer);
            let launch = format!(
                "{x}, {y}, {z}, DENSE_THREADS, [=] {{ dense_forward((f32*)p[0], (f32*)p[1], (f32*)p[2], (f32*)p[3], \
                 (f32*)p[4], n[0]); }}"
            );
            HostKernel::build(&dense_source(plan, layer), PARAMETERS, &launch)
        };
        Self {
            project: HostKernel::build(
                &first_source(plan),
                PARAMETERS,
                "(n[2] + TILE_BARS - 1) / TILE_BARS, H1 / TILE_OUT, n[4], 256, [=] { project_features((f32*)p[0], \
                 (EnvWindow*)p[1], (RolloutPair*)p[2], (f32*)p[3], (f32*)p[4], (f32*)p[5], n[0], n[1], n[2], n[3]); }",
            ),
            begin: HostKernel::build(
                &step,
                PARAMETERS,
                "n[4], VOTERS, 1, STEP_THREADS, [=] { layered_begin((EnvBar*)p[0], (EnvWindow*)p[1], (EnvRules*)p[2], \
                 (RolloutPair*)p[3], (f32*)p[4], (f32*)p[5], (f32*)p[6], (EnvAccount*)p[7], (EnvAccount*)p[8], \
                 (f64*)p[9], (f32*)p[10], (LayeredClock*)p[11], n[0], n[1], n[2], n[3]); }",
            ),
            dense: (1..plan.widths.len()).map(dense).collect(),
            step: HostKernel::build(
                &step,
                PARAMETERS,
                "n[2], VOTERS, 1, STEP_THREADS, [=] { layered_step((EnvBar*)p[0], (EnvWindow*)p[1], (EnvRules*)p[2], \
                 (RolloutPair*)p[3], (f64*)p[4], (f32*)p[5], (f32*)p[6], (f32*)p[7], (f32*)p[8], (f32*)p[9], \
                 (LayeredClock*)p[10], (LayeredClock*)p[11], (EnvAccount*)p[12], (EnvAccount*)p[13], (EnvAccount*)p[14], \
                 (f64*)p[15], (f64*)p[16], (u8*)p[17], (f32*)p[18], n[0], n[1]); }",
            ),
        }
    }
}

/// What passes between the kernels; NaN where nothing is written. Aligned as device memory is.
struct State {
    projected: Vec<f32>,
    outputs: Vec<Vec<[f32; 4]>>,
    shares: Vec<Vec<[f32; 4]>>,
    clocks: [u128; 2],
    lives: [Vec<EnvAccount>; 2],
    accounts: Vec<EnvAccount>,
    equity: Vec<f64>,
    returns: Vec<f64>,
    actions: Vec<u8>,
}

impl State {
    fn new(plan: &LayeredPlan, chunk: usize, n_path: usize) -> Self {
        let n_row = plan.n_model * plan.n_row;
        let hidden = &plan.widths[..plan.widths.len() - 1];
        let share = n_row * plan.share_floats() / 4;
        let lives = || vec![EnvAccount::default(); plan.n_account()];
        Self {
            projected: vec![f32::NAN; n_row * chunk * plan.widths[0]],
            outputs: hidden.iter().map(|width| vec![[f32::NAN; 4]; n_row * width / 4]).collect(),
            shares: vec![vec![[f32::NAN; 4]; share]; if hidden.is_empty() { 2 } else { 1 }],
            clocks: [0; 2],
            lives: [lives(), lives()],
            accounts: lives(),
            equity: vec![f64::NAN; n_path],
            returns: vec![f64::NAN; n_path],
            actions: vec![u8::MAX; n_path],
        }
    }

    /// Where layer 1 goes in a step that begins with buffers `turn`.
    fn first_output(&mut self, turn: usize) -> *mut u8 {
        let n = self.shares.len();
        match self.outputs.first_mut() {
            Some(output) => raw(output),
            None => raw(&mut self.shares[turn % n]),
        }
    }
}

/// A run of `n_model` networks, each with features of its own, over all windows of a world.
struct Run<'a> {
    world: &'a World,
    plan: LayeredPlan,
    policies: Vec<MlpPolicy>,
    /// Of every model, for all bars.
    features: Vec<Vec<f32>>,
}

impl Run<'_> {
    /// Launches of `chunk` decisions and replays of `graph_steps`, as `evaluator/layered.rs` has them.
    fn go(&self, chunk: u32, graph_steps: u32) -> (Vec<RolloutPair>, State) {
        let (plan, mut arrays) = (&self.plan, self.world.arrays());
        let n_row = plan.n_row as u32;
        let (mut pairs, mut rows, mut n_path) = (Vec::new(), Vec::new(), 0);
        for model in 0..plan.n_model as u32 {
            rows.extend((0..n_row).map(|window| RolloutPair { path: 0, window, policy: model }));
        }
        for decider in 0..(plan.n_account() / plan.n_row) as u32 {
            for (window, shape) in (0..).zip(&arrays.windows) {
                pairs.push(RolloutPair { path: n_path as i64, window, policy: decider });
                n_path += shape.n_bars as usize;
            }
        }
        let mut packed = plan.pack(&self.policies);
        let mut state = State::new(plan, chunk as usize, n_path);
        let kernels = Kernels::build(plan, arrays.rules[0].flags);
        let n_steps = arrays.windows.iter().map(|window| window.n_bars - 1).max().unwrap();
        for t0 in (0..n_steps).step_by(chunk as usize) {
            let steps = chunk.min(n_steps - t0);
            self.project(&kernels, &mut arrays, &mut rows, &mut packed, &mut state, [chunk, t0, steps]);
            let market = [raw(&mut arrays.bars), raw(&mut arrays.windows), raw(&mut arrays.rules), raw(&mut pairs)];
            let layer = [raw(&mut state.projected), raw(&mut packed.portfolio), raw(&mut packed.head)];
            let account = [raw(&mut state.accounts), raw(&mut state.lives[0]), raw(&mut state.equity)];
            let out = [state.first_output(0), raw(&mut state.clocks)];
            let numbers = [chunk, n_row, t0, steps, plan.n_account() as u32];
            kernels.begin.run(&[&market[..], &layer, &account, &out].concat(), &numbers);
            for i in 0..steps.div_ceil(graph_steps) * graph_steps {
                self.step(&kernels, market, &mut packed, &mut state, i as usize % 2, chunk);
            }
        }
        (pairs, state)
    }

    fn project(
        &self,
        kernels: &Kernels,
        arrays: &mut Arrays,
        rows: &mut [RolloutPair],
        packed: &mut PackedLayers,
        state: &mut State,
        [chunk, t0, steps]: [u32; 3],
    ) {
        let n_row = self.plan.n_row as u32;
        for (model, features) in (0..).zip(&self.features) {
            let own = self.world.ranges.iter().map(|r| &features[r.start * N_FEATURE..r.end * N_FEATURE]);
            let mut own: Vec<f32> = own.flatten().copied().collect();
            let market = [raw(&mut own), raw(&mut arrays.windows), raw(rows)];
            let layer = [raw(&mut packed.projection), raw(&mut packed.projection_bias), raw(&mut state.projected)];
            kernels.project.run(&[market, layer].concat(), &[chunk, t0, steps, model * n_row, n_row]);
        }
    }

    fn step(
        &self,
        kernels: &Kernels,
        market: [*mut u8; 4],
        packed: &mut PackedLayers,
        state: &mut State,
        turn: usize,
        chunk: u32,
    ) {
        let n_row = self.plan.n_row as u32;
        for (layer, kernel) in (1..).zip(&kernels.dense) {
            let (weight, bias) = &mut packed.dense[layer - 1];
            let from = raw(&mut state.outputs[layer - 1]);
            let to = state.outputs.get_mut(layer).unwrap_or(&mut state.shares[0]);
            kernel.run(&[from, raw(weight), raw(bias), raw(&mut packed.head), raw(to)], &[n_row]);
        }
        let n_share = state.shares.len();
        let shares = [raw(&mut packed.levels), raw(&mut state.shares[turn % n_share]), raw(&mut packed.head_bias)];
        let layer = [raw(&mut state.projected), raw(&mut packed.portfolio), raw(&mut packed.head)];
        let clock = |state: &mut State, turn: usize| raw(&mut state.clocks[turn..=turn]);
        let clocks = [clock(state, turn), clock(state, 1 - turn)];
        let lives = [raw(&mut state.lives[turn]), raw(&mut state.lives[1 - turn]), raw(&mut state.accounts)];
        let path = [raw(&mut state.equity), raw(&mut state.returns), raw(&mut state.actions)];
        let out = [state.first_output(1 - turn)];
        let numbers = [chunk, n_row, self.plan.n_account() as u32];
        kernels.step.run(&[&market[..], &shares, &layer, &clocks, &lives, &path, &out].concat(), &numbers);
    }

    /// The engine, given the kernel's actions, takes the same path; the networks ask for the same actions or call a
    /// tie.
    fn hold(&self, pairs: &[RolloutPair], state: &State) {
        let mut used = vec![0; self.policies[0].shape.n_action];
        for (i, pair) in pairs.iter().enumerate() {
            let n_voter = self.plan.n_voter();
            let models = pair.policy as usize * n_voter..(pair.policy as usize + 1) * n_voter;
            let (market, rules) = (self.world.market(), self.world.rules());
            let (w, start) = (pair.window as usize, pair.path as usize);
            let range = self.world.ranges[w].clone();
            let levels = &self.policies[0].levels;
            let mut engine = Account::new(&rules);
            let (mut equity, mut returns) = (vec![rules.initial_cash()], Vec::new());
            for (t, &action) in (range.start..range.end - 1).zip(&state.actions[start..]) {
                let portfolio = engine.observation(&market, t);
                let row = t * N_FEATURE..(t + 1) * N_FEATURE;
                let q = models.clone().map(|m| forward(&self.policies[m], &self.features[m][row.clone()], &portfolio));
                let q: Vec<Vec<f32>> = q.collect();
                decided(self.plan.vote, &q, flat_action(levels), action as usize)
                    .unwrap_or_else(|reason| panic!("window {w}, bar {t}: {reason}"));
                used[action as usize] += 1;
                let level = levels[action as usize];
                let step = engine.step(&rules, &market, t, level, t + 2 == range.end, &mut |_| {});
                returns.push(step.ret);
                equity.push(step.equity);
            }
            same_column(w, "equity", &equity, &state.equity[start..start + range.len()]);
            same_column(w, "returns", &returns, &state.returns[start..start + range.len() - 1]);
            assert_eq!(*engine.counts(), state.accounts[i].counts(), "window {w}: counts");
        }
        assert!(used.iter().filter(|&&n| n > 0).count() > 1, "one action only: nothing tested: {used:?}");
    }
}

/// Builds, runs and holds; `n_sm` decides the tiles. Returns the actions.
fn check(
    world: &World,
    shape: &MlpShape,
    (n_model, vote): (usize, Option<EnsembleVote>),
    (chunk, graph_steps): (u32, u32),
    n_sm: usize,
) -> Vec<u8> {
    let plan = LayeredPlan::new(shape, n_model, world.ranges.len(), vote, n_sm).unwrap();
    let policies = (0..n_model as u64).map(|seed| balanced(random_policy(shape, seed), &world.features)).collect();
    let n_bars = world.features.len() / N_FEATURE;
    // Every ensemble member has its own scaler, so its own features.
    let own = |model: usize| match (vote, model) {
        (None, _) | (_, 0) => world.features.clone(),
        (Some(_), model) => random_features(n_bars, N_FEATURE, 20 + model as u64),
    };
    let run = Run { world, plan, policies, features: (0..n_model).map(own).collect() };
    let (pairs, state) = run.go(chunk, graph_steps);
    run.hold(&pairs, &state);
    state.actions
}

#[test]
fn the_layered_kernels_take_the_engines_path() {
    let world = World::new(costs(), vec![3..40, 10..29, 0..2]);
    check(&world, &shape(&[256, 256], 5, MlpActivation::Relu, false), (1, None), (1_000, 4), 1);
    check(&world, &shape(&[256, 256], 5, MlpActivation::Relu, true), (2, None), (13, 4), 1_000);
}

#[test]
fn other_depths_and_widths_do_too() {
    let world = World::new(costs(), vec![3..40, 0..20]);
    check(&world, &shape(&[100], 3, MlpActivation::Tanh, true), (2, None), (13, 6), 1);
    check(&world, &shape(&[300, 64], 9, MlpActivation::Silu, false), (1, None), (20, 2), 1);
    check(&world, &shape(&[64, 70, 130, 64, 60], 2, MlpActivation::Tanh, false), (1, None), (1_000, 38), 1);
    let short = World::new(costs(), vec![3..14, 0..3]);
    check(&short, &shape(&[1024, 1100], 5, MlpActivation::Relu, true), (1, None), (7, 2), 1);
}

#[test]
fn ensembles_vote_as_the_cpu_does() {
    let world = World::new(costs(), vec![3..40, 10..25]);
    for (vote, hidden, dueling) in [("agreement:0.6", &[64][..], false), ("confidence", &[64, 64], true)] {
        let shape = shape(hidden, 5, MlpActivation::Relu, dueling);
        check(&world, &shape, (3, Some(vote.parse().unwrap())), (21, 4), 1);
    }
}

#[test]
fn tiles_and_company_do_not_change_an_action() {
    let shape = shape(&[128, 64], 5, MlpActivation::Relu, false);
    // More windows than a tile has rows.
    let ranges: Vec<_> = (0..11).map(|i| i..i + 30 - i).collect();
    let together = check(&World::new(costs(), ranges.clone()), &shape, (1, None), (1_000, 2), 1_000);
    let wide = check(&World::new(costs(), ranges.clone()), &shape, (1, None), (1_000, 2), 1);
    assert_eq!(together, wide);
    for first in [0, 10] {
        let start: usize = ranges[..first].iter().map(ExactSizeIterator::len).sum();
        let range = std::slice::from_ref(&ranges[first]);
        let alone = check(&World::new(costs(), range.to_vec()), &shape, (1, None), (1_000, 2), 1);
        assert_eq!(together[start..start + range[0].len()], alone);
    }
}

/// `vote.cuh` on the host beside [`EnsembleVote::decide`]: the same actions, ties and broken models included.
#[test]
fn vote_cuh_decides_as_ensemble_vote() {
    const N_ACTION: usize = 5;
    const N_CASE: usize = 4_000;
    const CALL: &str = "1, 1, 1, 1, [=] { for (u32 i = 0; i < n[0]; ++i) { VoteTally tally; tally.clear(); \
                        for (u32 m = 0; m < n[1]; ++m) tally.add((f32*)p[0] + (i * n[1] + m) * N_ACTION); \
                        ((u32*)p[2])[i] = tally.decide(vote_flat((f64*)p[1])); } }";
    let mut levels = [-1.0, -0.5, 0.0, 0.5, 1.0];
    let mut rng = Philox::new(3, 4);
    for text in [&VOTES[..], &["agreement:1", "agreement:0.3"]].concat() {
        let vote: EnsembleVote = text.parse().unwrap();
        for n_model in [1, 3, 7] {
            let mut source = KernelSource::new("vote").texts(&[PRELUDE, VOTE]).define("N_ACTION", N_ACTION);
            for (name, value) in vote_constants(Some(vote), n_model) {
                source = source.define(name, value);
            }
            let kernel = HostKernel::build(&source, PARAMETERS, CALL);
            // A coarse grid makes ties of every kind; now and then a value is broken.
            let mut draw = |case: usize| match (rng.uniform(), case % 2) {
                (u, _) if u < 0.003 => f32::NAN,
                (u, _) if u < 0.005 => f32::INFINITY,
                (u, 0) => (u * 4.0).floor() as f32 - 2.0,
                (u, _) => (u * 2.0 - 1.0) as f32,
            };
            let mut q: Vec<f32> = (0..N_CASE)
                .flat_map(|case| [(); 7 * N_ACTION].map(|()| draw(case)).into_iter().take(n_model * N_ACTION))
                .collect();
            let mut got = vec![u32::MAX; N_CASE];
            kernel.run(&[raw(&mut q), raw(&mut levels), raw(&mut got)], &[N_CASE as u32, n_model as u32]);
            for (case, (models, got)) in q.chunks(n_model * N_ACTION).zip(got).enumerate() {
                let models: Vec<&[f32]> = models.chunks(N_ACTION).collect();
                let want = vote.decide(&models, flat_action(&levels));
                assert_eq!(got as usize, want, "{text}, case {case}: {models:?}");
            }
        }
    }
}
