//! Experience replay: a ring of compact transitions and three ways to draw from it.
//!
//! | kind | probability of slot i | file |
//! |---|---|---|
//! | uniform (Lin 1992; Mnih et al. 2015) | 1/N | [`uniform`] |
//! | proportional (Schaul et al. 2016) | p_i/Σp, p = (\|δ\| + ε)^α | [`proportional`] |
//! | rank-based (Schaul et al. 2016) | rank(i)^−α/Σ, rank by \|δ\| | [`rank`] |
//!
//! Draws are stratified: the unit interval is cut into as many pieces as the batch has rows, one draw from each.

pub mod proportional;
pub mod rank;
pub mod ring;
pub mod uniform;

use gigabar_market::rng::Philox;
use serde::{Deserialize, Serialize};

pub use proportional::Proportional;
pub use rank::Rank;
pub use ring::{Ring, Transition};
pub use uniform::Uniform;

/// How minibatches are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayKind {
    /// Every transition alike.
    Uniform,
    /// By the size of the last TD error.
    Proportional,
    /// By the rank of the last TD error.
    Rank,
}

/// Settings of a prioritised sampler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorityConfig {
    /// α: 0 is uniform, 1 fully prioritised.
    pub alpha: f64,
    /// ε added to |δ| (proportional), so that no transition is forgotten.
    pub eps: f64,
}

/// Slots drawn, with their importance weights. Buffers are reused between draws.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draw {
    /// Ring slots. `[batch]`
    pub slots: Vec<usize>,
    /// w_i = (N·P(i))^−β / max_j w_j over the batch. `[batch]`
    pub weights: Vec<f32>,
}

/// The sampler's arrays, as a checkpoint stores them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SamplerState {
    /// One priority per filled slot.
    pub priorities: Vec<f64>,
    /// The heap's slots, best first (rank-based only).
    pub order: Vec<u32>,
    /// Largest priority seen, and draws since the last sort.
    pub scalars: [f64; 2],
}

/// A way to draw minibatches, one of the three.
#[derive(Debug, Clone)]
pub enum Sampler {
    /// See [`Uniform`].
    Uniform(Uniform),
    /// See [`Proportional`].
    Proportional(Proportional),
    /// See [`Rank`].
    Rank(Rank),
}

impl Sampler {
    /// An empty sampler for `capacity` slots.
    pub fn new(kind: ReplayKind, capacity: usize, config: PriorityConfig) -> Self {
        match kind {
            ReplayKind::Uniform => Self::Uniform(Uniform::new()),
            ReplayKind::Proportional => Self::Proportional(Proportional::new(capacity, config)),
            ReplayKind::Rank => Self::Rank(Rank::new(capacity, config.alpha)),
        }
    }

    /// A transition was written to `slot`: it gets the largest priority seen so far, so that it is replayed soon.
    pub fn insert(&mut self, slot: usize) {
        match self {
            Self::Uniform(s) => s.insert(slot),
            Self::Proportional(s) => s.insert(slot),
            Self::Rank(s) => s.insert(slot),
        }
    }

    /// Draws `n` slots; the buffer must hold at least one.
    pub fn draw(&mut self, n: usize, beta: f64, rng: &mut Philox, out: &mut Draw) {
        match self {
            Self::Uniform(s) => s.draw(n, rng, out),
            Self::Proportional(s) => s.draw(n, beta, rng, out),
            Self::Rank(s) => s.draw(n, beta, rng, out),
        }
    }

    /// Sets new priorities from absolute TD errors.
    pub fn update(&mut self, slots: &[usize], td_abs: &[f32]) {
        match self {
            Self::Uniform(_) => {}
            Self::Proportional(s) => s.update(slots, td_abs),
            Self::Rank(s) => s.update(slots, td_abs),
        }
    }

    /// The arrays a checkpoint needs.
    pub fn state(&self) -> SamplerState {
        match self {
            Self::Uniform(_) => SamplerState::default(),
            Self::Proportional(s) => s.state(),
            Self::Rank(s) => s.state(),
        }
    }

    /// Restores [`Sampler::state`] for a buffer of `len` transitions.
    ///
    /// # Errors
    /// What is wrong with the arrays.
    pub fn restore(&mut self, state: &SamplerState, len: usize) -> Result<(), String> {
        match self {
            Self::Uniform(s) => {
                s.restore(len);
                Ok(())
            }
            Self::Proportional(s) => s.restore(state, len),
            Self::Rank(s) => s.restore(state, len),
        }
    }
}

/// The i-th of n stratified points of `[0, 1)`.
fn stratified(i: usize, n: usize, rng: &mut Philox) -> f64 {
    (i as f64 + rng.uniform()) / n as f64
}

/// Turns probabilities into importance weights, in place: `out.weights` from `(N·P)^−β`, divided by the largest.
fn importance(out: &mut Draw, probabilities: &[f64], n_stored: usize, beta: f64) {
    let raw = |p: &f64| (n_stored as f64 * p).powf(-beta);
    let largest = probabilities.iter().map(raw).fold(0.0, f64::max);
    out.weights.clear();
    out.weights.extend(probabilities.iter().map(|p| (raw(p) / largest) as f32));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    pub(super) fn rng() -> Philox {
        Philox::new(20_260, 1)
    }

    /// χ² test of 200,000 single draws against exact probabilities. The seed is fixed, so the outcome is too.
    pub(super) fn assert_frequencies(exact: &[f64], mut draw: impl FnMut(&mut Philox, &mut Draw)) {
        let (n, mut rng, mut out) = (200_000usize, rng(), Draw::default());
        let mut counts = vec![0usize; exact.len()];
        for _ in 0..n {
            draw(&mut rng, &mut out);
            counts[out.slots[0]] += 1;
        }
        let term = |(&count, &p): (&usize, &f64)| (count as f64 - n as f64 * p).powi(2) / (n as f64 * p);
        let chi2: f64 = counts.iter().zip(exact).map(term).sum();
        let p_value = 1.0 - ChiSquared::new(exact.len() as f64 - 1.0).unwrap().cdf(chi2);
        assert!(p_value > 1e-3, "χ² = {chi2}, p = {p_value}, counts {counts:?}");
    }

    #[test]
    fn uniform_frequencies() {
        let mut sampler = Sampler::new(ReplayKind::Uniform, 6, PriorityConfig { alpha: 0.6, eps: 0.01 });
        (0..6).for_each(|slot| sampler.insert(slot));
        assert_frequencies(&[1.0 / 6.0; 6], |rng, out| sampler.draw(1, 1.0, rng, out));
    }

    /// A restored sampler draws what the original would have drawn.
    #[test]
    fn state_round_trips() {
        for kind in [ReplayKind::Uniform, ReplayKind::Proportional, ReplayKind::Rank] {
            let config = PriorityConfig { alpha: 0.6, eps: 0.01 };
            let mut a = Sampler::new(kind, 50, config);
            let (mut rng_a, mut drawn, mut again) = (rng(), Draw::default(), Draw::default());
            for slot in 0..40 {
                a.insert(slot);
                a.draw(4, 0.5, &mut rng_a, &mut drawn);
                let td: Vec<f32> = drawn.slots.iter().map(|&s| (s as f32 * 0.37).sin().abs()).collect();
                a.update(&drawn.slots.clone(), &td);
            }
            let mut b = Sampler::new(kind, 50, config);
            b.restore(&a.state(), 40).unwrap();
            let mut rng_b = rng_a.clone();
            for _ in 0..2_000 {
                a.draw(8, 0.5, &mut rng_a, &mut drawn);
                b.draw(8, 0.5, &mut rng_b, &mut again);
                assert_eq!(drawn, again);
            }
        }
    }
}
