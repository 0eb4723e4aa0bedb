//! Never in the market.

use std::ops::Range;

use super::{Observation, Policy};

/// Level 0 at every bar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flat;

impl Policy for Flat {
    fn name(&self) -> String {
        "flat".into()
    }

    fn reset(&mut self, _window: Range<usize>) {}

    fn level(&mut self, _observation: &Observation<'_>) -> f64 {
        0.0
    }
}
