//! Donchian channel breakout (Donchian 1960; the rules of the Turtles, Faith 2003, decided at closes).

use super::indicator::Indicator;
use super::parameter::{Invalid, Kind, Values};
use super::sma_cross::long_only;
use super::strategy::{Inputs, MAX_INPUTS, Signal, Strategy, inputs};

/// Level +1 when the close is above the highest high of the `period` bars before; −1 (`long_only`: out of a long) when
/// it is below their lowest low. A long is left when the close is below the lowest low of the `exit` bars before, a
/// short when it is above their highest high; an entry wins over an exit. Otherwise the level is kept; 0 before
/// `period` bars have gone by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Donchian {
    period: usize,
    exit: usize,
    long_only: bool,
}

impl Donchian {
    /// Channels of the `period` and `exit` bars before (at least 1 each).
    pub fn new(period: usize, exit: usize, long_only: bool) -> Self {
        Self { period, exit, long_only }
    }
}

impl Strategy for Donchian {
    const KINDS: &'static [Kind] = &[Kind::Bars { min: 1 }, Kind::Bars { min: 1 }, Kind::Flag];

    fn build(&[period, exit, long_only, ..]: &Values) -> Result<Self, Invalid> {
        Ok(Self::new(period as usize, exit as usize, long_only != 0.0))
    }

    fn name(&self) -> String {
        format!("donchian:period={},exit={}{}", self.period, self.exit, long_only(self.long_only))
    }

    fn indicators(&self) -> Inputs {
        let (period, exit) = (self.period, self.exit);
        inputs(&[
            Indicator::Highest(period),
            Indicator::Lowest(period),
            Indicator::Highest(exit),
            Indicator::Lowest(exit),
        ])
    }

    #[inline(always)]
    fn signal(&self, close: f64, &[top, bottom, exit_top, exit_bottom]: &[f64; MAX_INPUTS]) -> Signal {
        let enter = Signal::LONG.when(close > top).or(Signal::below(self.long_only).when(close < bottom));
        let leave = Signal::LEAVE_LONG.when(close < exit_bottom).or(Signal::LEAVE_SHORT.when(close > exit_top));
        enter.or(leave)
    }

    fn long_only(&self) -> bool {
        self.long_only
    }
}

#[cfg(test)]
mod tests {
    use super::super::strategy::levels_of;
    use super::*;

    #[test]
    fn by_hand() {
        // Channel of three bars, exit of one. Bar 3 breaks out; 4 closes below bar 3; 5 breaks down; 6 closes above bar
        // 5;
        // 7 lies inside.
        let close = [5.0, 6.0, 5.5, 7.0, 6.5, 4.0, 4.5, 4.5];
        let levels = [0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0];
        assert_eq!(levels_of(Donchian::new(3, 1, false), &close), levels);
        let levels = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(levels_of(Donchian::new(3, 1, true), &close), levels);
        // With an exit that never comes the level is kept until the other side breaks.
        let levels = [0.0, 0.0, 0.0, 1.0, 1.0, -1.0, -1.0, -1.0];
        assert_eq!(levels_of(Donchian::new(3, 100, false), &close), levels);
    }
}
