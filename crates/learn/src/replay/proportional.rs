//! Proportional prioritised replay (Schaul, Quan, Antonoglou & Silver, "Prioritized Experience Replay", ICLR 2016) on a
//! sum tree.
//!
//! A node is always the sum of its two children, recomputed from them and never adjusted by a difference, so the tree
//! does not drift: after any number of updates the root is what a fresh build from the leaves would give.

use gigabar_market::rng::Philox;

use super::{Draw, PriorityConfig, SamplerState, importance, stratified};

/// A complete binary tree of f64 sums; leaves are priorities, padded with 0 to a power of two.
#[derive(Debug, Clone, PartialEq)]
pub struct SumTree {
    /// Number of leaves, a power of two.
    n_leaf: usize,
    /// Node 1 is the root, node i has children 2i and 2i + 1, leaf k is node n_leaf + k. `[2·n_leaf]`
    nodes: Vec<f64>,
}

impl SumTree {
    /// A tree of zeros with at least `capacity` leaves.
    pub fn new(capacity: usize) -> Self {
        let n_leaf = capacity.max(1).next_power_of_two();
        Self { n_leaf, nodes: vec![0.0; 2 * n_leaf] }
    }

    /// Sum of all leaves.
    pub fn total(&self) -> f64 {
        self.nodes[1]
    }

    /// Leaf k.
    pub fn get(&self, k: usize) -> f64 {
        self.nodes[self.n_leaf + k]
    }

    /// Sets leaf k and recomputes the nodes above it.
    pub fn set(&mut self, k: usize, value: f64) {
        let mut node = self.n_leaf + k;
        self.nodes[node] = value;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
        }
    }

    /// Sets the first leaves and recomputes the whole tree.
    pub fn fill(&mut self, leaves: &[f64]) {
        self.nodes[self.n_leaf..self.n_leaf + leaves.len()].copy_from_slice(leaves);
        for node in (1..self.n_leaf).rev() {
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
        }
    }

    /// The leaf under `mass` of `[0, total)`. Never a leaf of 0: a node is only entered when its sum is above 0,
    /// whatever rounding leaves of `mass`.
    pub fn find(&self, mut mass: f64) -> usize {
        let mut node = 1;
        while node < self.n_leaf {
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            if mass < left || right <= 0.0 {
                node *= 2;
            } else {
                mass -= left;
                node = 2 * node + 1;
            }
        }
        node - self.n_leaf
    }
}

/// P(i) = p_i/Σp with p = (|δ| + ε)^α.
#[derive(Debug, Clone)]
pub struct Proportional {
    config: PriorityConfig,
    tree: SumTree,
    len: usize,
    /// Largest p seen; new transitions start with it.
    max_priority: f64,
    /// Scratch. `[batch]`
    probabilities: Vec<f64>,
}

impl Proportional {
    /// An empty sampler for `capacity` slots.
    pub fn new(capacity: usize, config: PriorityConfig) -> Self {
        Self { config, tree: SumTree::new(capacity), len: 0, max_priority: 1.0, probabilities: Vec::new() }
    }

    pub(super) fn insert(&mut self, slot: usize) {
        self.len = self.len.max(slot + 1);
        self.tree.set(slot, self.max_priority);
    }

    pub(super) fn draw(&mut self, n: usize, beta: f64, rng: &mut Philox, out: &mut Draw) {
        let total = self.tree.total();
        out.slots.clear();
        out.slots.extend((0..n).map(|i| self.tree.find(stratified(i, n, rng) * total)));
        self.probabilities.clear();
        self.probabilities.extend(out.slots.iter().map(|&slot| self.tree.get(slot) / total));
        importance(out, &self.probabilities, self.len, beta);
    }

    pub(super) fn update(&mut self, slots: &[usize], td_abs: &[f32]) {
        for (&slot, &td) in slots.iter().zip(td_abs) {
            let priority = (f64::from(td) + self.config.eps).powf(self.config.alpha);
            self.max_priority = self.max_priority.max(priority);
            self.tree.set(slot, priority);
        }
    }

    pub(super) fn state(&self) -> SamplerState {
        let priorities = (0..self.len).map(|k| self.tree.get(k)).collect();
        SamplerState { priorities, order: Vec::new(), scalars: [self.max_priority, 0.0] }
    }

    pub(super) fn restore(&mut self, state: &SamplerState, len: usize) -> Result<(), String> {
        if state.priorities.len() != len || len > self.tree.n_leaf {
            return Err(format!("{} priorities for {len} transitions", state.priorities.len()));
        }
        if !state.priorities.iter().all(|p| p.is_finite() && *p >= 0.0) {
            return Err("a priority is negative or not finite".into());
        }
        self.tree.fill(&state.priorities);
        self.len = len;
        self.max_priority = state.scalars[0];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::tests::{assert_frequencies, rng};

    const CONFIG: PriorityConfig = PriorityConfig { alpha: 0.6, eps: 0.01 };

    #[test]
    fn frequencies_are_the_exact_probabilities() {
        let mut sampler = Proportional::new(11, CONFIG);
        (0..11).for_each(|slot| sampler.insert(slot));
        let td: Vec<f32> = (0..11).map(|i| 0.05 * (i * i) as f32).collect();
        sampler.update(&(0..11).collect::<Vec<_>>(), &td);
        let p: Vec<f64> = td.iter().map(|&d| (f64::from(d) + 0.01).powf(0.6)).collect();
        let total: f64 = p.iter().sum();
        let exact: Vec<f64> = p.iter().map(|p| p / total).collect();
        assert_frequencies(&exact, |rng, out| sampler.draw(1, 0.4, rng, out));
    }

    #[test]
    fn weights_are_those_of_the_paper() {
        let mut sampler = Proportional::new(4, PriorityConfig { alpha: 1.0, eps: 0.0 });
        (0..4).for_each(|slot| sampler.insert(slot));
        sampler.update(&[0, 1, 2, 3], &[1.0, 2.0, 3.0, 4.0]);
        let mut out = Draw::default();
        sampler.draw(64, 0.5, &mut rng(), &mut out);
        let smallest = out.slots.iter().map(|s| s + 1).min().unwrap_or(0) as f64;
        for (slot, w) in out.slots.iter().zip(&out.weights) {
            let p = (slot + 1) as f64;
            assert!((f64::from(*w) - (p / smallest).powf(-0.5)).abs() < 1e-6);
        }
    }

    #[test]
    fn a_million_updates_do_not_drift() {
        let mut tree = SumTree::new(1000);
        let mut rng = rng();
        for _ in 0..1_000_000 {
            let exponent = 12.0 * rng.uniform() - 6.0;
            tree.set(rng.index(1000), 10f64.powf(exponent));
        }
        let mut fresh = SumTree::new(1000);
        fresh.fill(&(0..1000).map(|k| tree.get(k)).collect::<Vec<_>>());
        assert_eq!(tree, fresh);
        let sum: f64 = (0..1000).map(|k| tree.get(k)).sum();
        assert!((tree.total() / sum - 1.0).abs() < 1e-13);
    }

    #[test]
    fn zero_is_never_drawn_even_at_the_edges() {
        let mut tree = SumTree::new(13);
        for (k, value) in [(2, 0.1), (3, 0.2), (7, 0.7), (9, 1e-300)] {
            tree.set(k, value);
        }
        let total = tree.total();
        let below = f64::from_bits(total.to_bits() - 1);
        for mass in [0.0, 0.1, 0.1f64 + 0.2, below, total, total * 2.0] {
            assert!(tree.get(tree.find(mass)) > 0.0, "mass {mass}");
        }
        let mut rng = rng();
        for _ in 0..100_000 {
            assert!(tree.get(tree.find(rng.uniform() * total)) > 0.0);
        }
    }

    #[test]
    fn a_new_transition_gets_the_largest_priority() {
        let mut sampler = Proportional::new(3, PriorityConfig { alpha: 1.0, eps: 0.0 });
        sampler.insert(0);
        sampler.update(&[0], &[7.0]);
        sampler.insert(1);
        assert_eq!(sampler.tree.get(1), 7.0);
    }

    #[test]
    fn each_stratum_is_drawn_once() {
        let mut sampler = Proportional::new(8, PriorityConfig { alpha: 1.0, eps: 0.0 });
        (0..8).for_each(|slot| sampler.insert(slot));
        let mut out = Draw::default();
        sampler.draw(8, 1.0, &mut rng(), &mut out);
        assert_eq!(out.slots, (0..8).collect::<Vec<_>>());
    }
}
