//! Exponential-moving-average cross (Appel's MACD line against zero): long while the fast average is above the slow
//! one, short (or flat) while below. Averages as TA-Lib's EMA.

use super::indicator::Indicator;
use super::parameter::{Invalid, Kind, Values};
use super::sma_cross::{averages_cross, long_only};
use super::strategy::{Inputs, MAX_INPUTS, Signal, Strategy, inputs};

/// Level +1 while EMA(fast) > EMA(slow) of the closes, −1 (`long_only`: 0) while less, unchanged while equal (to
/// 1e-12 of the price); 0 before
/// `slow` bars exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmaCross {
    fast: usize,
    slow: usize,
    long_only: bool,
}

impl EmaCross {
    /// Averages over `fast` and `slow` bars (1 ≤ fast < slow); `long_only` holds nothing while below.
    pub fn new(fast: usize, slow: usize, long_only: bool) -> Self {
        Self { fast, slow, long_only }
    }
}

impl Strategy for EmaCross {
    const KINDS: &'static [Kind] = &[Kind::Bars { min: 1 }, Kind::Bars { min: 1 }, Kind::Flag];

    fn build(&[fast, slow, long_only, ..]: &Values) -> Result<Self, Invalid> {
        if slow <= fast {
            return Err(Invalid { key: "slow", rule: "a whole number of bars above `fast`" });
        }
        Ok(Self::new(fast as usize, slow as usize, long_only != 0.0))
    }

    fn name(&self) -> String {
        format!("ema-cross:fast={},slow={}{}", self.fast, self.slow, long_only(self.long_only))
    }

    fn indicators(&self) -> Inputs {
        inputs(&[Indicator::Ema(self.fast), Indicator::Ema(self.slow)])
    }

    #[inline(always)]
    fn signal(&self, _close: f64, inputs: &[f64; MAX_INPUTS]) -> Signal {
        averages_cross(inputs, self.long_only)
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
        // EMA(1) is the close. EMA(3), α = 1/2: – – 4 3 5 4.5.
        let close = [2.0, 4.0, 6.0, 2.0, 7.0, 4.0];
        assert_eq!(levels_of(EmaCross::new(1, 3, false), &close), [0.0, 0.0, 1.0, -1.0, 1.0, -1.0]);
        assert_eq!(levels_of(EmaCross::new(1, 3, true), &close), [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    }
}
