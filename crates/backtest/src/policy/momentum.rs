//! Time-series momentum (Moskowitz, Ooi & Pedersen 2012): the side of the return over a lookback, where that is large
//! enough.

use super::indicator::Indicator;
use super::parameter::{Invalid, Kind, Values};
use super::sma_cross::long_only;
use super::strategy::{Inputs, MAX_INPUTS, MAX_THRESHOLDS, Signal, Strategy, inputs};

/// Level +1 while the return of the last `lookback` bars is above `threshold`, −1 (`long_only`: 0) while it is below
/// −`threshold`, 0 in between and before `lookback` bars have gone by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Momentum {
    lookback: usize,
    threshold: f64,
    long_only: bool,
}

const RETURN: Kind = Kind::Number { min: 0.0, max: 1000.0, rule: "a return from 0 to 1000, as a fraction" };

impl Momentum {
    /// The return over `lookback` bars (at least 1) against `threshold`, a fraction (at least 0).
    pub fn new(lookback: usize, threshold: f64, long_only: bool) -> Self {
        Self { lookback, threshold, long_only }
    }
}

impl Strategy for Momentum {
    const KINDS: &'static [Kind] = &[Kind::Bars { min: 1 }, RETURN, Kind::Flag];

    fn build(&[lookback, threshold, long_only, ..]: &Values) -> Result<Self, Invalid> {
        Ok(Self::new(lookback as usize, threshold, long_only != 0.0))
    }

    fn name(&self) -> String {
        let Self { lookback, threshold, .. } = self;
        format!("momentum:lookback={lookback},threshold={threshold}{}", long_only(self.long_only))
    }

    fn indicators(&self) -> Inputs {
        inputs(&[Indicator::Momentum(self.lookback)])
    }

    #[inline(always)]
    fn signal(&self, _close: f64, &[past, ..]: &[f64; MAX_INPUTS]) -> Signal {
        let (up, down) = (past > self.threshold, past < -self.threshold);
        let leave = Signal::LEAVE_LONG.or(Signal::LEAVE_SHORT).when(past.abs() <= self.threshold);
        Signal::LONG.when(up).or(Signal::below(self.long_only).when(down)).or(leave)
    }

    fn thresholds(&self) -> [f64; MAX_THRESHOLDS] {
        [self.threshold, 0.0, 0.0, 0.0]
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
        // Returns over two bars: – – 0 0.5 −0.2 −0.5 0.25.
        let close = [10.0, 10.0, 10.0, 15.0, 8.0, 7.5, 10.0];
        let levels = [0.0, 0.0, 0.0, 1.0, -1.0, -1.0, 1.0];
        assert_eq!(levels_of(Momentum::new(2, 0.0, false), &close), levels);
        // 0.25 itself is not above the threshold, and −0.2 lies in between.
        let levels = [0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0];
        assert_eq!(levels_of(Momentum::new(2, 0.25, false), &close), levels);
        let levels = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        assert_eq!(levels_of(Momentum::new(2, 0.25, true), &close), levels);
    }
}
