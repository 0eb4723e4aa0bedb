//! Never in the market.

use std::ops::Range;

use gigabar_market::Bars;

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

    fn levels_ahead(&mut self, _bars: &Bars, span: Range<usize>, to: &mut Vec<f64>) -> bool {
        to.resize(to.len() + span.len(), 0.0);
        true
    }
}
