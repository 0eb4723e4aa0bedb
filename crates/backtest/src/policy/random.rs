//! Uniformly random levels: what luck alone does after costs.

use std::ops::Range;

use gigabar_market::rng::philox4x32;

use super::{Observation, Policy};

/// Draws one of `levels` anew every `hold_bars` bars. A pure function of (seed, bar), so windows do not matter.
#[derive(Debug, Clone, PartialEq)]
pub struct Random {
    /// Generator key.
    pub seed: u64,
    /// Bars a drawn level is kept.
    pub hold_bars: usize,
    /// Levels drawn from.
    pub levels: Vec<f64>,
}

impl Random {
    /// Levels −1, −0.5, 0, 0.5, 1, kept for `hold_bars` (at least 1).
    pub fn new(seed: u64, hold_bars: usize) -> Self {
        Self { seed, hold_bars: hold_bars.max(1), levels: vec![-1.0, -0.5, 0.0, 0.5, 1.0] }
    }
}

impl Policy for Random {
    fn name(&self) -> String {
        format!("random:seed={},hold={}", self.seed, self.hold_bars)
    }

    fn reset(&mut self, _window: Range<usize>) {}

    fn level(&mut self, observation: &Observation<'_>) -> f64 {
        let draw = (observation.t() / self.hold_bars) as u64;
        let key = [self.seed as u32, (self.seed >> 32) as u32];
        let word = philox4x32(key, [draw as u32, (draw >> 32) as u32, 0, 0])[0];
        let pick = (u64::from(word) * self.levels.len() as u64) >> 32;
        self.levels[pick as usize]
    }
}
