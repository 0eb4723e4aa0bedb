//! Simple-moving-average cross, the textbook trend follower (Brock, Lakonishok & LeBaron 1992): long while the fast
//! average is above the slow one, short (or flat) while below.

use super::indicator::Indicator;
use super::parameter::{Invalid, Kind, Values};
use super::strategy::{Inputs, MAX_INPUTS, Signal, Strategy, inputs};

/// Level +1 while SMA(fast) > SMA(slow) of the closes, −1 (`long_only`: 0) while less, unchanged while equal; 0 before
/// `slow` bars exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmaCross {
    fast: usize,
    slow: usize,
    long_only: bool,
}

impl SmaCross {
    /// Averages over `fast` and `slow` bars (1 ≤ fast < slow); `long_only` holds nothing while below.
    pub fn new(fast: usize, slow: usize, long_only: bool) -> Self {
        Self { fast, slow, long_only }
    }
}

impl Strategy for SmaCross {
    const KINDS: &'static [Kind] = &[Kind::Bars { min: 1 }, Kind::Bars { min: 1 }, Kind::Flag];

    fn build(&[fast, slow, long_only, ..]: &Values) -> Result<Self, Invalid> {
        if slow <= fast {
            return Err(Invalid { key: "slow", rule: "a whole number of bars above `fast`" });
        }
        Ok(Self::new(fast as usize, slow as usize, long_only != 0.0))
    }

    fn name(&self) -> String {
        format!("sma-cross:fast={},slow={}{}", self.fast, self.slow, long_only(self.long_only))
    }

    fn indicators(&self) -> Inputs {
        inputs(&[Indicator::Sma(self.fast), Indicator::Sma(self.slow)])
    }

    #[inline(always)]
    fn signal(&self, _close: f64, inputs: &[f64; MAX_INPUTS]) -> Signal {
        cross(inputs, self.long_only)
    }

    fn long_only(&self) -> bool {
        self.long_only
    }
}

/// Long while the first input is above the second, `below` while less.
#[inline(always)]
pub(super) fn cross(&[fast, slow, ..]: &[f64; MAX_INPUTS], long_only: bool) -> Signal {
    Signal::LONG.when(fast > slow).or(Signal::below(long_only).when(fast < slow))
}

/// The parameter as names show it.
pub(super) fn long_only(long_only: bool) -> &'static str {
    if long_only { ",long_only=true" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::super::strategy::levels_of;
    use super::*;

    #[test]
    fn by_hand() {
        // SMA(1) against SMA(2): up at 2, down at 1, equal holds.
        let close = [1.0, 2.0, 1.0, 1.0, 1.0, 3.0];
        assert_eq!(levels_of(SmaCross::new(1, 2, false), &close), [0.0, 1.0, -1.0, -1.0, -1.0, 1.0]);
        assert_eq!(levels_of(SmaCross::new(1, 2, true), &close), [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }
}
