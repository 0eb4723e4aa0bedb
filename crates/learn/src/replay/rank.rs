//! Rank-based prioritised replay (Schaul et al. 2016, §3.3): P(i) ∝ rank(i)^−α, rank by |δ|.
//!
//! As in the paper, an array-based binary heap stands in for the sorted order, so an update costs O(log N), and the
//! array is sorted every [`SORT_EVERY`] draws (a sorted array is a heap). The rank of a transition is its place in that
//! array.

use gigabar_market::rng::Philox;

use super::{Draw, SamplerState, importance, stratified};

/// Draws between two sorts of the heap.
pub const SORT_EVERY: u32 = 1_000;

/// P(i) ∝ rank(i)^−α.
#[derive(Debug, Clone)]
pub struct Rank {
    /// |δ| of each slot. `[len]`
    priorities: Vec<f64>,
    /// Slots, heap-ordered by priority, largest first. `[len]`
    heap: Vec<u32>,
    /// Place of each slot in `heap`. `[len]`
    place: Vec<u32>,
    /// Σ_{j ≤ k+1} j^−α. `[capacity]`
    cumulative: Vec<f64>,
    max_priority: f64,
    draws_since_sort: u32,
    /// Scratch. `[batch]`
    probabilities: Vec<f64>,
}

impl Rank {
    /// An empty sampler for `capacity` slots.
    pub fn new(capacity: usize, alpha: f64) -> Self {
        let mut sum = 0.0;
        let add = |k: usize| {
            sum += (k as f64).powf(-alpha);
            sum
        };
        let cumulative = (1..=capacity).map(add).collect();
        Self {
            priorities: Vec::new(),
            heap: Vec::new(),
            place: Vec::new(),
            cumulative,
            max_priority: 1.0,
            draws_since_sort: 0,
            probabilities: Vec::new(),
        }
    }

    pub(super) fn insert(&mut self, slot: usize) {
        if slot == self.priorities.len() {
            self.priorities.push(f64::NEG_INFINITY);
            self.place.push(self.heap.len() as u32);
            self.heap.push(slot as u32);
        }
        self.set(slot, self.max_priority);
    }

    pub(super) fn draw(&mut self, n: usize, beta: f64, rng: &mut Philox, out: &mut Draw) {
        self.draws_since_sort += 1;
        if self.draws_since_sort >= SORT_EVERY {
            self.sort();
        }
        let cumulative = &self.cumulative[..self.heap.len()];
        let total = cumulative[cumulative.len() - 1];
        out.slots.clear();
        self.probabilities.clear();
        for i in 0..n {
            let mass = stratified(i, n, rng) * total;
            let place = cumulative.partition_point(|&c| c <= mass).min(cumulative.len() - 1);
            let below = if place == 0 { 0.0 } else { cumulative[place - 1] };
            out.slots.push(self.heap[place] as usize);
            self.probabilities.push((cumulative[place] - below) / total);
        }
        importance(out, &self.probabilities, self.heap.len(), beta);
    }

    pub(super) fn update(&mut self, slots: &[usize], td_abs: &[f32]) {
        for (&slot, &td) in slots.iter().zip(td_abs) {
            let priority = f64::from(td);
            self.max_priority = self.max_priority.max(priority);
            self.set(slot, priority);
        }
    }

    /// Sorts the heap array by falling priority; ties by slot.
    fn sort(&mut self) {
        self.draws_since_sort = 0;
        let priorities = &self.priorities;
        let key = |slot: &u32| priorities[*slot as usize];
        self.heap.sort_unstable_by(|a, b| key(b).total_cmp(&key(a)).then(a.cmp(b)));
        for (place, &slot) in self.heap.iter().enumerate() {
            self.place[slot as usize] = place as u32;
        }
    }

    fn set(&mut self, slot: usize, priority: f64) {
        self.priorities[slot] = priority;
        let place = self.sift_up(self.place[slot] as usize);
        self.sift_down(place);
    }

    fn key(&self, place: usize) -> f64 {
        self.priorities[self.heap[place] as usize]
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a] as usize] = a as u32;
        self.place[self.heap[b] as usize] = b as u32;
    }

    fn sift_up(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.key(place) <= self.key(parent) {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
        place
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let mut largest = place;
            for child in [left, right] {
                if child < self.heap.len() && self.key(child) > self.key(largest) {
                    largest = child;
                }
            }
            if largest == place {
                return;
            }
            self.swap(place, largest);
            place = largest;
        }
    }

    pub(super) fn state(&self) -> SamplerState {
        SamplerState {
            priorities: self.priorities.clone(),
            order: self.heap.clone(),
            scalars: [self.max_priority, f64::from(self.draws_since_sort)],
        }
    }

    pub(super) fn restore(&mut self, state: &SamplerState, len: usize) -> Result<(), String> {
        if state.priorities.len() != len || state.order.len() != len || len > self.cumulative.len() {
            let (p, o) = (state.priorities.len(), state.order.len());
            return Err(format!("{p} priorities and {o} ranks for {len} transitions"));
        }
        let mut place = vec![u32::MAX; len];
        for (rank, &slot) in state.order.iter().enumerate() {
            match place.get_mut(slot as usize) {
                Some(p) if *p == u32::MAX => *p = rank as u32,
                _ => return Err(format!("rank {rank} names slot {slot} twice or beyond the buffer")),
            }
        }
        self.priorities.clone_from(&state.priorities);
        self.heap.clone_from(&state.order);
        self.place = place;
        self.max_priority = state.scalars[0];
        self.draws_since_sort = state.scalars[1] as u32;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::tests::{assert_frequencies, rng};

    fn filled(n: usize, alpha: f64, td: &[f32]) -> Rank {
        let mut sampler = Rank::new(n, alpha);
        (0..n).for_each(|slot| sampler.insert(slot));
        sampler.update(&(0..n).collect::<Vec<_>>(), td);
        sampler
    }

    #[test]
    fn frequencies_are_the_exact_probabilities() {
        let td = [0.3f32, 9.0, 0.1, 4.0, 0.0, 2.0, 1.0];
        let rank_of = [5, 1, 6, 2, 7, 3, 4];
        let mut sampler = filled(7, 0.7, &td);
        sampler.sort();
        let p: Vec<f64> = rank_of.iter().map(|&r| f64::from(r).powf(-0.7)).collect();
        let total: f64 = p.iter().sum();
        let exact: Vec<f64> = p.iter().map(|p| p / total).collect();
        assert_frequencies(&exact, |rng, out| sampler.draw(1, 0.4, rng, out));
    }

    #[test]
    fn weights_are_those_of_the_paper() {
        let mut sampler = filled(3, 1.0, &[3.0, 2.0, 1.0]);
        sampler.sort();
        let mut out = Draw::default();
        sampler.draw(64, 0.5, &mut rng(), &mut out);
        // P = 6/11, 3/11, 2/11; the largest weight is that of slot 2.
        let exact = [(2.0f64 / 6.0).sqrt(), (2.0f64 / 3.0).sqrt(), 1.0];
        assert!(out.slots.contains(&2));
        for (&slot, &w) in out.slots.iter().zip(&out.weights) {
            assert!((f64::from(w) - exact[slot]).abs() < 1e-6);
        }
    }

    #[test]
    fn stays_a_heap_with_true_places() {
        let mut sampler = Rank::new(100, 0.6);
        let mut rng = rng();
        for i in 0..100 {
            sampler.insert(i);
            let slot = rng.index(i + 1);
            sampler.update(&[slot], &[rng.uniform() as f32]);
        }
        for place in 1..100 {
            assert!(sampler.key((place - 1) / 2) >= sampler.key(place));
            assert_eq!(sampler.place[sampler.heap[place] as usize], place as u32);
        }
    }

    #[test]
    fn refuses_an_order_that_is_no_permutation() {
        let mut state = filled(3, 1.0, &[3.0, 2.0, 1.0]).state();
        state.order = vec![0, 0, 1];
        assert!(Rank::new(3, 1.0).restore(&state, 3).is_err());
        state.order = vec![0, 1, 7];
        assert!(Rank::new(3, 1.0).restore(&state, 3).is_err());
        state.order = vec![2, 1, 0];
        assert!(Rank::new(3, 1.0).restore(&state, 3).is_ok());
    }
}
