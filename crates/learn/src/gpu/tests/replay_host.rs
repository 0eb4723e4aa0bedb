//! `replay.cu` and the priorities of `guard.cu` beside the CPU's samplers: the same seed draws the same slots, priorities are the
//! same bits.

use gigabar_gpu::Arch;
use gigabar_market::rng::Philox;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::super::guard::{GuardShape, LearnerEpoch, LossRow, StepResult, guard_source};
use super::super::layout::LearnerState;
use super::super::replay::{replay_source, tree};
use super::super::world::Dims;
use super::case::{Case, Emulated, beta};
use super::host_kernel::{HostKernel, PARAMETERS, raw};
use crate::dqn::batch::Noise;
use crate::replay::{Draw, PriorityConfig, ReplayKind, Ring, Sampler, Transition};
use crate::stream;

/// `replay_draw` and `guard_book`, and the minibatch they leave.
pub(super) struct ReplayKernels {
    draw: HostKernel,
    book: HostKernel,
    threads: u32,
    /// `[K, batch]`
    pub(super) slots: Vec<u32>,
    /// `[K, batch]`
    pub(super) weights: Vec<f64>,
    /// `[K, 2, batch, row_floats]`
    x: Vec<f32>,
}

impl ReplayKernels {
    pub(super) fn build(case: &Case, threads: usize) -> Self {
        let draw = "n[0], n[1], 1, 128, [=] { replay_draw((LearnerParams*)p[0], (LearnerState*)p[1], (f32*)p[2], \
            *(RingView*)p[3], *(ReplayView*)p[4], (u32*)p[5], (f64*)p[6], (f32*)p[7]); }";
        let book = "n[0], 1, 1, n[1], [=] { guard_book((LearnerParams*)p[0], (LearnerState*)p[1], *(ReplayView*)p[2], \
            (u32*)p[3], (f32*)p[4], (LossRow*)p[5], (StepResult*)p[6], (LearnerEpoch*)p[7]); }";
        let shape = GuardShape { cluster: 1, threads };
        let rows = case.dims.n_learner * case.dims.batch;
        Self {
            draw: HostKernel::build(&replay_source(&case.dims, case.kind, u32::MAX), PARAMETERS, draw),
            book: HostKernel::build(&guard_source(&case.dims, case.kind, u32::MAX, shape), PARAMETERS, book),
            threads: threads as u32,
            slots: vec![u32::MAX; rows],
            weights: vec![f64::NAN; rows],
            x: vec![f32::NAN; 2 * rows * case.dims.row_floats()],
        }
    }

    pub(super) fn draw(&mut self, on: &mut Emulated) {
        let (mut ring, mut replay) = ([on.ring_view()], [on.replay_view()]);
        let world = [raw(&mut on.params), raw(&mut on.state), raw(&mut on.features), raw(&mut ring), raw(&mut replay)];
        let own = [raw(&mut self.slots), raw(&mut self.weights), raw(&mut self.x)];
        let grid = [on.dims.batch.div_ceil(4), on.dims.n_learner].map(|n| n as u32);
        self.draw.run(&[&world[..], &own].concat(), &grid);
    }

    /// `skipped` `[K]`. Also counts the step.
    pub(super) fn update(&mut self, on: &mut Emulated, td_abs: &mut [f32], skipped: &[bool]) {
        let mut replay = [on.replay_view()];
        let mut rows = vec![LossRow::default(); td_abs.len()];
        let result = |&s: &bool| StepResult { verdict: u32::from(s), ..StepResult::default() };
        let mut results: Vec<StepResult> = skipped.iter().map(result).collect();
        let mut epochs = vec![LearnerEpoch::default(); skipped.len()];
        let world = [raw(&mut on.params), raw(&mut on.state), raw(&mut replay), raw(&mut self.slots), raw(td_abs)];
        let own = [raw(&mut rows), raw(&mut results), raw(&mut epochs)];
        self.book.run(&[&world[..], &own].concat(), &[on.dims.n_learner as u32, self.threads]);
    }
}

pub(super) fn case(kind: ReplayKind, n_learner: usize, capacity: usize, batch: usize) -> Case {
    let dims = Dims { n_learner, n_env: 1, n_step: 1, n_feature: 0, n_action: 0, capacity, batch };
    Case::new(Default::default(), Default::default(), kind, dims)
}

/// A learner's ring and sampler on the CPU, with `written` transitions of all kinds.
pub(super) fn filled(case: &Case, device: &Emulated, k: usize, written: usize) -> (Ring, Sampler) {
    let (p, mut rng) = (&device.params[k], Philox::new(3, k as u64));
    let config = PriorityConfig { alpha: p.alpha, eps: p.priority_eps };
    let (mut ring, mut sampler) = (Ring::new(case.dims.capacity), Sampler::new(case.kind, case.dims.capacity, config));
    for _ in 0..written {
        let bar = 100 + rng.index(300) as u32;
        let mut portfolio = || [(); 8].map(|()| rng.uniform() as f32);
        let (portfolio, next_portfolio) = (portfolio(), portfolio());
        let transition = Transition {
            bar,
            portfolio,
            action: rng.index(5) as u32,
            reward: rng.uniform() as f32,
            discount: 0.9,
            done: rng.uniform() < 0.1,
            next_bar: bar + 1 + rng.index(3) as u32,
            next_portfolio,
        };
        sampler.insert(ring.push(&transition));
    }
    // Some TD errors come many times, so that ranks tie.
    let td: Vec<f32> = (0..ring.len()).map(|i| if i % 3 == 0 { 0.25 } else { rng.uniform() as f32 * 2.0 }).collect();
    sampler.update(&(0..ring.len()).collect::<Vec<_>>(), &td);
    (ring, sampler)
}

/// The sampling stream as the CPU's trainer has it after `grad_steps` minibatches.
pub(super) fn sample_rng(device: &Emulated, k: usize) -> Philox {
    let mut rng = Philox::new(device.params[k].seed, stream::SAMPLE);
    for _ in 0..device.state[k].grad_steps * device.dims.batch as u64 {
        rng.uniform();
    }
    rng
}

/// Rounds of draw, update and, at the end of each, skip, held to the CPU's samplers.
fn hold(kind: ReplayKind, capacity: usize, batch: usize, written: [usize; 2]) {
    let case = case(kind, 2, capacity, batch);
    let mut device = Emulated::new(&case);
    let mut kernels = ReplayKernels::build(&case, GuardShape::choose(&case.dims, kind, Arch(80)).threads);
    let mut twins: Vec<(Ring, Sampler)> = (0..2).map(|k| filled(&case, &device, k, written[k])).collect();
    for (k, (ring, sampler)) in twins.iter().enumerate() {
        let state = &mut device.state[k];
        device.replay.put(k, ring, &sampler.state(), state).unwrap();
        (state.grad_steps, state.env_steps) = (3 + 10 * k as u64, 500 * k as u64);
    }
    let mut rng = Philox::new(9, 9);
    for round in 0..6 {
        kernels.draw(&mut device);
        let td = |_| if rng.uniform() < 0.1 { [0.0, 1e-30, 50.0][round % 3] } else { rng.uniform() as f32 * 3.0 };
        let mut td: Vec<f32> = (0..2 * batch).map(td).collect();
        let skipped = round == 4;
        if skipped {
            td.iter_mut().step_by(3).for_each(|td| *td = f32::NAN);
            td.iter_mut().skip(1).step_by(5).for_each(|td| *td = f32::INFINITY);
        }
        for (k, (ring, sampler)) in twins.iter_mut().enumerate() {
            let mut want = Draw::default();
            let beta = beta(&device.params[k], device.state[k].env_steps);
            sampler.draw(batch, beta, &mut sample_rng(&device, k), &mut want);
            let own = k * batch..(k + 1) * batch;
            assert_drawn(&want, &kernels.slots[own.clone()], &kernels.weights[own.clone()]);
            assert_gathered(&case, &device, k, ring, &want, &kernels.x);
            let mut rows: Vec<(usize, f32)> = want.slots.iter().copied().zip(td[own].iter().copied()).collect();
            if skipped {
                rows.retain(|row| !row.1.is_finite());
                rows.iter_mut().for_each(|row| row.1 = 0.0);
            }
            let (slots, td): (Vec<usize>, Vec<f32>) = rows.into_iter().unzip();
            sampler.update(&slots, &td);
        }
        kernels.update(&mut device, &mut td, &[skipped; 2]);
        for (k, (_, sampler)) in twins.iter().enumerate() {
            let ((_, got), want) = (device.replay.get(k, &device.state[k]), sampler.state());
            assert_eq!((got.priorities, got.scalars), (want.priorities, want.scalars), "learner {k}, round {round}");
        }
        assert_fresh(&device);
    }
}

fn assert_drawn(want: &Draw, slots: &[u32], raw_weights: &[f64]) {
    let slots: Vec<usize> = slots.iter().map(|&slot| slot as usize).collect();
    assert_eq!(want.slots, slots);
    let largest = raw_weights.iter().copied().fold(0.0, f64::max);
    let weights: Vec<f32> = raw_weights.iter().map(|w| (w / largest) as f32).collect();
    assert_eq!(want.weights, weights);
}

/// Rows of features, with the CPU's noise where there is any, and portfolios.
fn assert_gathered(case: &Case, device: &Emulated, k: usize, ring: &Ring, draw: &Draw, x: &[f32]) {
    let (dims, p) = (case.dims, &device.params[k]);
    let row = dims.row_floats();
    let mut block = device.state[k].grad_steps * (dims.batch * 2 * dims.n_feature.div_ceil(8)) as u64;
    let mut noise = Noise { amplitude: p.noise as f32, seed: p.seed, block: &mut block };
    for (i, &slot) in draw.slots.iter().enumerate() {
        let t = ring.get(slot);
        for (which, (bar, portfolio)) in [(t.bar, t.portfolio), (t.next_bar, t.next_portfolio)].into_iter().enumerate()
        {
            let mut want = Vec::new();
            noise.extend(&mut want, case.features.row(bar as usize));
            want.extend_from_slice(&portfolio);
            want.resize(row, 0.0);
            let at = ((k * 2 + which) * dims.batch + i) * row;
            assert_eq!(x[at..at + row], want, "learner {k}, row {i}, {which}");
        }
    }
}

/// Every inner node is the sum of its children, as a fresh build gives it.
fn assert_fresh(device: &Emulated) {
    let got = &device.replay.tree;
    let mut fresh = got.clone();
    let n_node = got.len() / device.dims.n_learner;
    fresh.chunks_exact_mut(n_node.max(1)).for_each(|nodes| tree::build(nodes, device.dims.capacity));
    assert!(fresh == *got, "an inner node is stale");
}

#[test]
fn proportional_at_every_edge_of_the_tree() {
    // A batch larger than the ring draws a slot many times.
    let cases = [(1, 8, [1, 1]), (31, 40, [31, 5]), (32, 7, [32, 1]), (33, 64, [33, 90]), (1_023, 33, [1_023, 40])];
    cases.into_iter().for_each(|(capacity, batch, written)| hold(ReplayKind::Proportional, capacity, batch, written));
    hold(ReplayKind::Proportional, 1_025, 64, [1_025, 3_000]);
    hold(ReplayKind::Proportional, 40_000, 256, [40_000, 100]);
}

#[test]
fn uniform_slots_are_the_cpus() {
    hold(ReplayKind::Uniform, 33, 16, [33, 7]);
}

#[test]
fn ranks_take_new_priorities_and_keep_their_order_until_sorted() {
    hold_ranks(50, 20, [50, 90]);
}

fn hold_ranks(capacity: usize, batch: usize, written: [usize; 2]) {
    let case = case(ReplayKind::Rank, 2, capacity, batch);
    let mut device = Emulated::new(&case);
    let mut kernels = ReplayKernels::build(&case, 128);
    for (k, written) in written.into_iter().enumerate() {
        let (ring, sampler) = filled(&case, &device, k, written);
        let mut state = device.state[k];
        device.replay.put(k, &ring, &sampler.state(), &mut state).unwrap();
        device.state[k] = state;
    }
    let before = device.replay.order.clone();
    kernels.draw(&mut device);
    let mut td: Vec<f32> = (0..2 * batch).map(|i| i as f32).collect();
    kernels.update(&mut device, &mut td, &[false; 2]);
    assert_eq!(device.replay.order, before);
    for (k, state) in device.state.iter().enumerate() {
        let priorities = &device.replay.priority[k * capacity..(k + 1) * capacity];
        for (i, &slot) in kernels.slots[k * batch..(k + 1) * batch].iter().enumerate() {
            let last = kernels.slots[k * batch..(k + 1) * batch].iter().rposition(|&s| s == slot).unwrap();
            assert_eq!(priorities[slot as usize], (k * batch + last) as f32, "row {i}");
        }
        assert_eq!(state.max_priority, ((k + 1) * batch - 1) as f64);
    }
}

/// Zero is never drawn, whatever the random number.
#[test]
fn zero_priorities_are_never_drawn() {
    let case = case(ReplayKind::Proportional, 2, 100, 64);
    let mut device = Emulated::new(&case);
    let n_node = device.replay.tree.len() / 2;
    for (k, some) in [[2, 3, 99], [0, 64, 65]].into_iter().enumerate() {
        let nodes = &mut device.replay.tree[k * n_node..(k + 1) * n_node];
        some.into_iter().zip([0.1, 0.2, 1e-300]).for_each(|(slot, value)| nodes[slot] = value);
        tree::build(nodes, 100);
        device.state[k] = LearnerState { written: 100, max_priority: 1.0, ..LearnerState::default() };
    }
    let mut kernels = ReplayKernels::build(&case, 256);
    for step in 0..50 {
        device.state.iter_mut().for_each(|state| state.grad_steps = step);
        kernels.draw(&mut device);
        assert!(kernels.slots[..64].iter().all(|slot| [2, 3, 99].contains(slot)));
        assert!(kernels.slots[64..].iter().all(|slot| [0, 64, 65].contains(slot)));
    }
}

/// χ² of single draws against exact probabilities; seeds are fixed, so the outcome is too.
pub(super) fn assert_frequencies(kernels: &mut ReplayKernels, device: &mut Emulated, exact: &[f64]) {
    let n = 20_000_u32;
    let mut counts = vec![0_usize; exact.len()];
    for step in 0..n {
        device.state[0].grad_steps = u64::from(step);
        kernels.draw(device);
        counts[kernels.slots[0] as usize] += 1;
    }
    let term = |(&count, &p): (&usize, &f64)| (count as f64 - f64::from(n) * p).powi(2) / (f64::from(n) * p);
    let chi2: f64 = counts.iter().zip(exact).map(term).sum();
    let p_value = 1.0 - ChiSquared::new(exact.len() as f64 - 1.0).unwrap().cdf(chi2);
    assert!(p_value > 1e-3, "χ² = {chi2}, p = {p_value}, counts {counts:?}");
}

#[test]
fn proportional_frequencies_are_the_exact_probabilities() {
    let case = case(ReplayKind::Proportional, 1, 40, 1);
    let mut device = Emulated::new(&case);
    let (ring, sampler) = filled(&case, &device, 0, 40);
    let state = sampler.state();
    device.replay.put(0, &ring, &state, &mut device.state[0]).unwrap();
    let total: f64 = state.priorities.iter().sum();
    let exact: Vec<f64> = state.priorities.iter().map(|p| p / total).collect();
    assert_frequencies(&mut ReplayKernels::build(&case, 128), &mut device, &exact);
}
