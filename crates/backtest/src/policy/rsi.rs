//! RSI reversal (Wilder 1978): buy what has fallen too far, sell what has risen too far.

use super::indicator::Indicator;
use super::parameter::{Invalid, Kind, Values};
use super::sma_cross::long_only;
use super::strategy::{Inputs, MAX_INPUTS, MAX_THRESHOLDS, Signal, Strategy, inputs};

/// Level +1 from the bar whose RSI is below `low` until a bar whose RSI is above `high`; from there −1 (`long_only`: 0)
/// until it is below `low` again. In between, and at either threshold itself, the level is kept. 0 before the RSI
/// exists and until it first leaves the band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RsiReversal {
    period: usize,
    low: f64,
    high: f64,
    long_only: bool,
}

const PERCENT: Kind = Kind::Number { min: 0.0, max: 100.0, rule: "a number from 0 to 100" };

impl RsiReversal {
    /// RSI over `period` bars (at least 2); 0 ≤ low < high ≤ 100.
    pub fn new(period: usize, low: f64, high: f64, long_only: bool) -> Self {
        Self { period, low, high, long_only }
    }
}

impl Strategy for RsiReversal {
    const KINDS: &'static [Kind] = &[Kind::Bars { min: 2 }, PERCENT, PERCENT, Kind::Flag];

    fn build(&[period, low, high, long_only, ..]: &Values) -> Result<Self, Invalid> {
        if high <= low {
            return Err(Invalid { key: "high", rule: "a number above `low`, at most 100" });
        }
        Ok(Self::new(period as usize, low, high, long_only != 0.0))
    }

    fn name(&self) -> String {
        let Self { period, low, high, .. } = self;
        format!("rsi:period={period},low={low},high={high}{}", long_only(self.long_only))
    }

    fn indicators(&self) -> Inputs {
        inputs(&[Indicator::Rsi(self.period)])
    }

    #[inline(always)]
    fn signal(&self, _close: f64, &[rsi, ..]: &[f64; MAX_INPUTS]) -> Signal {
        Signal::LONG.when(rsi < self.low).or(Signal::below(self.long_only).when(rsi > self.high))
    }

    fn thresholds(&self) -> [f64; MAX_THRESHOLDS] {
        [self.low, self.high, 0.0, 0.0]
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
        // Changes −1 −1 +1 +3 −1 −9: averages over two bars give RSI 0, 50, 87.5, 58.3, 8.3.
        let close = [20.0, 19.0, 18.0, 19.0, 22.0, 21.0, 12.0];
        let levels = [0.0, 0.0, 1.0, 1.0, -1.0, -1.0, 1.0];
        assert_eq!(levels_of(RsiReversal::new(2, 30.0, 70.0, false), &close), levels);
        let levels = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0];
        assert_eq!(levels_of(RsiReversal::new(2, 30.0, 70.0, true), &close), levels);
        // At a threshold nothing happens: RSI 50 neither leaves nor enters.
        let levels = [0.0, 0.0, 1.0, 1.0, -1.0, -1.0, 1.0];
        assert_eq!(levels_of(RsiReversal::new(2, 50.0, 87.0, false), &close), levels);
        let levels = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(levels_of(RsiReversal::new(2, 50.0, 87.5, false), &close), levels);
    }
}
