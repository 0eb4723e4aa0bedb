//! [`Columns`]: the distinct indicators of many parameter sets.

use std::collections::HashMap;

use crate::policy::indicator::Indicator;
use crate::policy::strategy::{AnyStrategy, MAX_INPUTS};

/// Every indicator once, in order of kind and length, and where each set finds its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Columns {
    indicators: Vec<Indicator>,
    /// `[n_set]`
    inputs: Vec<[u32; MAX_INPUTS]>,
}

impl Columns {
    /// Of the strategies, each of which reads at least one indicator.
    pub(crate) fn of(strategies: &[AnyStrategy]) -> Self {
        let mut place = HashMap::new();
        for strategy in strategies {
            place.extend(strategy.indicators().into_iter().flatten().map(|own| (own, 0)));
        }
        let mut indicators: Vec<Indicator> = place.keys().copied().collect();
        indicators.sort_unstable();
        for (own, column) in indicators.iter().zip(0..) {
            place.insert(*own, column);
        }
        let inputs = |strategy: &AnyStrategy| {
            let own = strategy.indicators();
            own.map(|input| input.or(own[0]).and_then(|input| place.get(&input).copied()).unwrap_or(0))
        };
        Self { inputs: strategies.iter().map(inputs).collect(), indicators }
    }

    /// Every indicator once.
    pub(crate) fn indicators(&self) -> &[Indicator] {
        &self.indicators
    }

    /// The columns set `i` reads; those it does not read repeat its first.
    pub(crate) fn of_set(&self, i: usize) -> [u32; MAX_INPUTS] {
        self.inputs[i]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::policy::Grid;
    use crate::sweep::strategies;

    #[test]
    fn every_indicator_once() {
        let grid = Grid::parse("sma-cross:fast=2..3,slow=3..5").unwrap();
        let columns = Columns::of(&strategies(&grid, 0..grid.len()).unwrap());
        assert_eq!(columns.indicators(), [2, 3, 4, 5].map(Indicator::Sma));
        assert_eq!(columns.of_set(2), [0, 3, 0, 0], "fast 2, slow 5");
        assert_eq!(columns.of_set(3), [1, 2, 1, 1], "fast 3, slow 4");
    }
}
