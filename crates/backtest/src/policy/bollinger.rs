//! Bollinger band mean reversion (Bollinger 2001): against a close outside the bands, until it is back at the mean.
//! Bands as TA-Lib's BBANDS: SMA ± width·population standard deviation.

use super::indicator::Indicator;
use super::parameter::{Invalid, Kind, Values};
use super::sma_cross::{TIE, long_only};
use super::strategy::{Inputs, MAX_INPUTS, MAX_THRESHOLDS, Signal, Strategy, inputs};

/// Level +1 when the close is below the lower band, until a close at or above the mean; −1 (`long_only`: 0) when it is
/// above the upper band, until a close at or below the mean. Otherwise the level is kept; 0 before `period` bars exist.
/// Bands of no width give no entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bollinger {
    period: usize,
    width: f64,
    long_only: bool,
}

const WIDTH: Kind = Kind::Number { min: f64::MIN_POSITIVE, max: 1e6, rule: "a number above 0, at most 1000000" };

impl Bollinger {
    /// Bands of `period` bars (at least 2), `width` deviations from the mean (above 0).
    pub fn new(period: usize, width: f64, long_only: bool) -> Self {
        Self { period, width, long_only }
    }
}

impl Strategy for Bollinger {
    const KINDS: &'static [Kind] = &[Kind::Bars { min: 2 }, WIDTH, Kind::Flag];

    fn build(&[period, width, long_only, ..]: &Values) -> Result<Self, Invalid> {
        Ok(Self::new(period as usize, width, long_only != 0.0))
    }

    fn name(&self) -> String {
        format!("bollinger:period={},width={}{}", self.period, self.width, long_only(self.long_only))
    }

    fn indicators(&self) -> Inputs {
        inputs(&[Indicator::Sma(self.period), Indicator::StdDev(self.period)])
    }

    #[inline(always)]
    fn signal(&self, close: f64, &[mean, std, ..]: &[f64; MAX_INPUTS]) -> Signal {
        let reach = self.width * std;
        let wide = std > 0.0;
        let enter = Signal::LONG
            .when(wide && close < mean - reach)
            .or(Signal::below(self.long_only).when(wide && close > mean + reach));
        // At the mean but for rounding is at the mean.
        let (above, tie) = (close - mean, TIE * close.abs());
        enter.or(Signal::LEAVE_LONG.when(above >= -tie)).or(Signal::LEAVE_SHORT.when(above <= tie))
    }

    fn thresholds(&self) -> [f64; MAX_THRESHOLDS] {
        [self.width, 0.0, 0.0, 0.0]
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
        // Means of three bars – – 10 9 8.67 8.67 10.33, deviations – – 0 1.41 1.25 1.25 1.25.
        let close = [10.0, 10.0, 10.0, 7.0, 9.0, 10.0, 12.0];
        // 7 < 9 − 1.41: long; 9 ≥ 8.67: out; 10 > 8.67 + 1.25: short; 12 is above the mean still.
        assert_eq!(levels_of(Bollinger::new(3, 1.0, false), &close), [0.0, 0.0, 0.0, 1.0, 0.0, -1.0, -1.0]);
        assert_eq!(levels_of(Bollinger::new(3, 1.0, true), &close), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(levels_of(Bollinger::new(3, 5.0, false), &close), [0.0; 7]);
    }
}
