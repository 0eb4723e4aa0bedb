//! `rank.cu` beside a sort, and draws by its order beside the CPU's rank-based sampler.

use gigabar_market::rng::Philox;

use super::super::layout::SortView;
use super::super::replay::rank_source;
use super::case::{Case, Emulated, beta};
use super::host_kernel::{HostKernel, PARAMETERS, raw};
use super::replay_host::{ReplayKernels, assert_frequencies, case, filled, sample_rng};
use crate::replay::{Draw, PriorityConfig, ReplayKind, Sampler};

const TILE: usize = 4_096;

struct SortKernels(HostKernel);

impl SortKernels {
    fn build(case: &Case) -> Self {
        let launch = "n[1], n[2], 1, n[3], [=] { LearnerState* states = (LearnerState*)p[0]; \
            if (n[0] == 0) rank_count(states, *(ReplayView*)p[1], *(SortView*)p[2], n[4], n[5]); \
            if (n[0] == 1) rank_scan(states, *(SortView*)p[2]); \
            if (n[0] == 2) rank_scatter(states, *(ReplayView*)p[1], *(SortView*)p[2], n[4], n[5]); }";
        Self(HostKernel::build(&rank_source(&case.dims, 0), PARAMETERS, launch))
    }

    fn sort(&self, on: &mut Emulated) {
        let (k, capacity) = (on.dims.n_learner, on.dims.capacity);
        let tiles = capacity.div_ceil(TILE);
        let (mut keys, mut slots) = (vec![u32::MAX; 2 * k * capacity], vec![u32::MAX; k * capacity]);
        let mut counts = vec![u32::MAX; k * 256 * tiles];
        let address = |values: &mut [u32]| raw(values) as u64;
        let view = SortView { keys: address(&mut keys), slots: address(&mut slots), counts: address(&mut counts) };
        let (mut view, mut replay) = ([view], [on.replay_view()]);
        let pointers = [raw(&mut on.state), raw(&mut replay), raw(&mut view)];
        for pass in 0..4 {
            self.0.run(&pointers, &[0, tiles as u32, k as u32, 256, k as u32, pass]);
            self.0.run(&pointers, &[1, k as u32, 1, 1024, k as u32, pass]);
            self.0.run(&pointers, &[2, tiles as u32, k as u32, 256, k as u32, pass]);
        }
    }
}

/// Ranks of learners with `written` transitions: sorted, and drawn by.
fn hold(capacity: usize, written: [usize; 2]) {
    let batch = 48;
    let case = case(ReplayKind::Rank, 2, capacity, batch);
    let mut device = Emulated::new(&case);
    for (k, written) in written.into_iter().enumerate() {
        let (ring, sampler) = filled(&case, &device, k, written);
        let mut state = device.state[k];
        device.replay.put(k, &ring, &sampler.state(), &mut state).unwrap();
        device.state[k] = state;
    }
    // Any order will do before.
    let mut rng = Philox::new(2, 2);
    for (k, state) in device.state.iter().enumerate() {
        let n = (state.written as usize).min(capacity);
        let own = &mut device.replay.order[k * capacity..k * capacity + n];
        (0..n).for_each(|i| own.swap(i, rng.index(n)));
    }
    SortKernels::build(&case).sort(&mut device);
    let mut kernels = ReplayKernels::build(&case, 128);
    kernels.draw(&mut device);
    for k in 0..2 {
        let (ring, want) = device.replay.get(k, &device.state[k]);
        let own = &device.replay.order[k * capacity..(k + 1) * capacity];
        assert_eq!(own[..ring.len()], want.order, "{capacity}: learner {k}");
        assert!((ring.len()..capacity).all(|i| own[i] as usize == i), "slots not filled keep their place");
        let p = &device.params[k];
        let mut twin = Sampler::new(ReplayKind::Rank, capacity, PriorityConfig { alpha: p.alpha, eps: 0.0 });
        twin.restore(&want, ring.len()).unwrap();
        let mut drawn = Draw::default();
        let beta = beta(p, device.state[k].env_steps);
        twin.draw(batch, beta, &mut sample_rng(&device, k), &mut drawn);
        let rows = k * batch..(k + 1) * batch;
        let slots: Vec<usize> = kernels.slots[rows.clone()].iter().map(|&slot| slot as usize).collect();
        assert_eq!(drawn.slots, slots, "{capacity}: learner {k}");
        let raw = &kernels.weights[rows];
        let largest = raw.iter().copied().fold(0.0, f64::max);
        assert_eq!(drawn.weights, raw.iter().map(|w| (w / largest) as f32).collect::<Vec<_>>());
    }
}

#[test]
fn sorted_at_every_edge_of_a_tile() {
    hold(1, [1, 1]);
    hold(33, [33, 2]);
    hold(TILE + 1, [TILE + 1, TILE]);
    hold(3 * TILE + 5, [9 * TILE, TILE - 1]);
}

#[test]
fn rank_frequencies_are_the_exact_probabilities() {
    let case = case(ReplayKind::Rank, 1, 9, 1);
    let mut device = Emulated::new(&case);
    let (ring, sampler) = filled(&case, &device, 0, 9);
    device.replay.put(0, &ring, &sampler.state(), &mut device.state[0]).unwrap();
    SortKernels::build(&case).sort(&mut device);
    let mut exact = vec![0.0; 9];
    for (place, &slot) in device.replay.order.iter().enumerate() {
        exact[slot as usize] = (place as f64 + 1.0).powf(-device.params[0].alpha);
    }
    let total: f64 = exact.iter().sum();
    exact.iter_mut().for_each(|p| *p /= total);
    assert_frequencies(&mut ReplayKernels::build(&case, 128), &mut device, &exact);
}
