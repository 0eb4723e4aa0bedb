//! MACD against its signal line (Appel 1979): long while the difference of two exponential averages is above its own
//! average, short (or flat) while below. Values as TA-Lib's MACD.

use super::indicator::Indicator;
use super::parameter::{Invalid, Kind, Values};
use super::sma_cross::{cross, long_only};
use super::strategy::{Inputs, MAX_INPUTS, Signal, Strategy, inputs};

/// Level +1 while the MACD line, EMA(fast) − EMA(slow) of the closes, is above its signal line, the EMA(signal) of it;
/// −1 (`long_only`: 0) while below, unchanged while equal (to 1e-12 of the price); 0 before bar `slow` + `signal` − 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacdCross {
    fast: usize,
    slow: usize,
    signal: usize,
    long_only: bool,
}

impl MacdCross {
    /// Averages over `fast` and `slow` bars (1 ≤ fast < slow), their difference averaged over `signal` bars (at least
    /// 1).
    pub fn new(fast: usize, slow: usize, signal: usize, long_only: bool) -> Self {
        Self { fast, slow, signal, long_only }
    }
}

impl Strategy for MacdCross {
    const KINDS: &'static [Kind] = &[Kind::Bars { min: 1 }, Kind::Bars { min: 1 }, Kind::Bars { min: 2 }, Kind::Flag];

    fn build(&[fast, slow, signal, long_only, ..]: &Values) -> Result<Self, Invalid> {
        if slow <= fast {
            return Err(Invalid { key: "slow", rule: "a whole number of bars above `fast`" });
        }
        Ok(Self::new(fast as usize, slow as usize, signal as usize, long_only != 0.0))
    }

    fn name(&self) -> String {
        let Self { fast, slow, signal, .. } = self;
        format!("macd:fast={fast},slow={slow},signal={signal}{}", long_only(self.long_only))
    }

    fn indicators(&self) -> Inputs {
        let Self { fast, slow, signal, .. } = *self;
        inputs(&[Indicator::Macd { fast, slow, signal }])
    }

    #[inline(always)]
    fn signal(&self, close: f64, &[histogram, ..]: &[f64; MAX_INPUTS]) -> Signal {
        cross(histogram, close, self.long_only)
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
        // EMA(1) is the close; EMA(3), α = 1/2: – – 4 3 5 4.5. Lines – – 2 −1 2 −0.5; their EMA(2), α = 2/3, – – – 0.5
        // 1.5 1/6.
        let close = [2.0, 4.0, 6.0, 2.0, 7.0, 4.0];
        assert_eq!(levels_of(MacdCross::new(1, 3, 2, false), &close), [0.0, 0.0, 0.0, -1.0, 1.0, -1.0]);
        assert_eq!(levels_of(MacdCross::new(1, 3, 2, true), &close), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    }
}
