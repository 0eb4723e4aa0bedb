//! [`Columns`]: the distinct indicators of many parameter sets.

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
        let read: Vec<Vec<Indicator>> = strategies.iter().map(AnyStrategy::indicators).collect();
        let mut indicators: Vec<Indicator> = read.iter().flatten().copied().collect();
        indicators.sort_unstable();
        indicators.dedup();
        let place = |indicator: &Indicator| indicators.partition_point(|other| other < indicator) as u32;
        let inputs = |own: &Vec<Indicator>| std::array::from_fn(|k| own.get(k).or(own.first()).map_or(0, place));
        Self { inputs: read.iter().map(inputs).collect(), indicators }
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
