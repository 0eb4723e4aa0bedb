//! Rings and samplers between the CPU's form and the device's arrays, exact both ways.

use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_gpu::GpuError;

use super::tree;
use crate::gpu::layout::LearnerState;
use crate::gpu::world::{Dims, expect_len};
use crate::replay::{ReplayKind, Ring, SamplerState};

/// All arrays of a population's rings and samplers on the host. `[K, capacity]` where nothing else is said.
#[derive(Debug, Clone)]
pub(crate) struct HostReplay {
    dims: Dims,
    kind: ReplayKind,
    pub(crate) bar: Vec<u32>,
    /// `[K, capacity, N_PORTFOLIO]`
    pub(crate) portfolio: Vec<f32>,
    pub(crate) action: Vec<u32>,
    pub(crate) reward: Vec<f32>,
    pub(crate) discount: Vec<f32>,
    pub(crate) done: Vec<u32>,
    pub(crate) next_bar: Vec<u32>,
    /// `[K, capacity, N_PORTFOLIO]`
    pub(crate) next_portfolio: Vec<f32>,
    /// Proportional: `[K, n_node]`
    pub(crate) tree: Vec<f64>,
    /// Rank: |δ|.
    pub(crate) priority: Vec<f32>,
    /// Rank: slots by falling priority; those not filled follow in order.
    pub(crate) order: Vec<u32>,
}

impl HostReplay {
    /// Empty rings.
    pub(crate) fn new(dims: Dims, kind: ReplayKind) -> Self {
        let n = dims.n_learner * dims.capacity;
        let n_node: usize = tree::level_lens(dims.capacity).iter().sum();
        let only = |wanted: ReplayKind, len: usize| if kind == wanted { len } else { 0 };
        let order = (0..only(ReplayKind::Rank, n)).map(|i| (i % dims.capacity) as u32);
        Self {
            dims,
            kind,
            bar: vec![0; n],
            portfolio: vec![0.0; n * N_PORTFOLIO],
            action: vec![0; n],
            reward: vec![0.0; n],
            discount: vec![0.0; n],
            done: vec![0; n],
            next_bar: vec![0; n],
            next_portfolio: vec![0.0; n * N_PORTFOLIO],
            tree: vec![0.0; only(ReplayKind::Proportional, dims.n_learner * n_node)],
            priority: vec![0.0; only(ReplayKind::Rank, n)],
            order: order.collect(),
        }
    }

    /// Sets learner `k`'s ring and sampler, and what of them is in its progress.
    ///
    /// # Errors
    /// [`GpuError::Length`] when they hold other numbers of transitions than `dims` and each other allow.
    pub(crate) fn put(
        &mut self,
        k: usize,
        ring: &Ring,
        sampler: &SamplerState,
        state: &mut LearnerState,
    ) -> Result<(), GpuError> {
        let (n, capacity) = (ring.len(), self.dims.capacity);
        expect_len("ring", (ring.written() as usize).min(capacity), n)?;
        let prioritised = self.kind != ReplayKind::Uniform;
        expect_len("priorities", if prioritised { n } else { 0 }, sampler.priorities.len())?;
        let at = k * capacity;
        self.bar[at..at + n].copy_from_slice(&ring.bar);
        self.action[at..at + n].copy_from_slice(&ring.action);
        self.reward[at..at + n].copy_from_slice(&ring.reward);
        self.discount[at..at + n].copy_from_slice(&ring.discount);
        self.done[at..at + n].iter_mut().zip(&ring.done).for_each(|(to, &done)| *to = u32::from(done));
        self.next_bar[at..at + n].copy_from_slice(&ring.next_bar);
        let wide = at * N_PORTFOLIO..(at + n) * N_PORTFOLIO;
        self.portfolio[wide.clone()].copy_from_slice(&ring.portfolio);
        self.next_portfolio[wide].copy_from_slice(&ring.next_portfolio);
        match self.kind {
            ReplayKind::Uniform => {}
            ReplayKind::Proportional => self.put_tree(k, &sampler.priorities),
            ReplayKind::Rank => self.put_ranks(k, &sampler.priorities),
        }
        state.written = ring.written();
        // The uniform sampler's state says nothing: 1, as every sampler begins.
        state.max_priority = if prioritised { sampler.scalars[0] } else { 1.0 };
        Ok(())
    }

    fn put_tree(&mut self, k: usize, priorities: &[f64]) {
        let n_node = self.tree.len() / self.dims.n_learner;
        let nodes = &mut self.tree[k * n_node..(k + 1) * n_node];
        nodes.fill(0.0);
        nodes[..priorities.len()].copy_from_slice(priorities);
        tree::build(nodes, self.dims.capacity);
    }

    fn put_ranks(&mut self, k: usize, priorities: &[f64]) {
        let (at, n) = (k * self.dims.capacity, priorities.len());
        let own = &mut self.priority[at..at + n];
        own.iter_mut().zip(priorities).for_each(|(to, &priority)| *to = priority as f32);
        let mut slots: Vec<u32> = (0..n as u32).collect();
        let key = |slot: &u32| priorities[*slot as usize];
        slots.sort_by(|a, b| key(b).total_cmp(&key(a)));
        self.order[at..at + n].copy_from_slice(&slots);
    }

    /// Learner `k`'s ring and sampler, as the CPU keeps them. A sorted order is a heap.
    pub(crate) fn get(&self, k: usize, state: &LearnerState) -> (Ring, SamplerState) {
        let capacity = self.dims.capacity;
        let n = usize::try_from(state.written).unwrap_or(usize::MAX).min(capacity);
        let (at, mut ring) = (k * capacity, Ring::new(capacity));
        let wide = at * N_PORTFOLIO..(at + n) * N_PORTFOLIO;
        ring.bar = self.bar[at..at + n].to_vec();
        ring.portfolio = self.portfolio[wide.clone()].to_vec();
        ring.action = self.action[at..at + n].to_vec();
        ring.reward = self.reward[at..at + n].to_vec();
        ring.discount = self.discount[at..at + n].to_vec();
        ring.done = self.done[at..at + n].iter().map(|&done| u8::from(done != 0)).collect();
        ring.next_bar = self.next_bar[at..at + n].to_vec();
        ring.next_portfolio = self.next_portfolio[wide].to_vec();
        ring.set_written(state.written);
        let scalars = [state.max_priority, 0.0];
        let sampler = match self.kind {
            ReplayKind::Uniform => SamplerState::default(),
            ReplayKind::Proportional => {
                let leaves = k * (self.tree.len() / self.dims.n_learner);
                SamplerState { priorities: self.tree[leaves..leaves + n].to_vec(), order: Vec::new(), scalars }
            }
            ReplayKind::Rank => {
                let priorities: Vec<f64> = self.priority[at..at + n].iter().map(|&p| f64::from(p)).collect();
                let mut order: Vec<u32> = (0..n as u32).collect();
                // Sorted anew: priorities may have changed since the device last did.
                order.sort_by(|&a, &b| priorities[b as usize].total_cmp(&priorities[a as usize]));
                SamplerState { priorities, order, scalars }
            }
        };
        (ring, sampler)
    }
}
