//! Long from the first decision to the end.

use std::ops::Range;

use gigabar_market::Bars;

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

    fn levels_ahead(&mut self, _bars: &Bars, span: Range<usize>, to: &mut Vec<f64>) -> bool {
        to.resize(to.len() + span.len(), 1.0);
        true
    }
}
