//! Long from the first decision to the end.

use std::ops::Range;

use super::{Observation, Policy};

/// Level 1 at every bar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BuyAndHold;

impl Policy for BuyAndHold {
    fn name(&self) -> String {
        "buy-and-hold".into()
    }

    fn reset(&mut self, _window: Range<usize>) {}

    fn level(&mut self, _observation: &Observation<'_>) -> f64 {
        1.0
    }
}
