//! Volatility target: always long, or on the side of the trend, with as much as makes the expected volatility of the
//! account meet a target (Moskowitz, Ooi & Pedersen 2012; Harvey et al. 2018).

use super::indicator::Indicator;
use super::parameter::{Invalid, Kind, Values};
use super::sma_cross::long_only;
use super::strategy::{Inputs, MAX_INPUTS, MAX_THRESHOLDS, Signal, Strategy, inputs};

/// Added before rounding down to steps: three steps of 0.1 are 0.3.
pub(crate) const STEP_SLACK: f64 = 1e-9;

/// The size is min(`cap`, `target` ÷ expected annual volatility), rounded down to a multiple of `step`; the volatility
/// to expect is [`Indicator::Volatility`] over `period` bars, times √(bars a year). With `trend` = 0 the level is
/// +size; else +size while the return of the last `trend` bars is above 0, −size (`long_only`: 0) while below, the side
/// kept while it is 0. Level 0 until both are defined. Where prices have not moved the size is `cap`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VolTarget {
    period: usize,
    target: f64,
    cap: f64,
    step: f64,
    trend: usize,
    long_only: bool,
}

const TARGET: Kind = Kind::Number { min: 1e-6, max: 100.0, rule: "an annual volatility above 0, as a fraction: 0.15" };
const CAP: Kind = Kind::Number { min: 1e-6, max: 1000.0, rule: "a level above 0, at most 1000" };
const STEP: Kind = Kind::Number { min: 1e-6, max: 1000.0, rule: "a number above 0, at most `cap`" };

impl VolTarget {
    fn size(&self, volatility: f64, periods_per_year: f64) -> f64 {
        let wanted = self.target / (volatility * periods_per_year.sqrt());
        let capped = if wanted < self.cap { wanted } else { self.cap };
        (capped / self.step + STEP_SLACK).floor() * self.step
    }
}

impl Strategy for VolTarget {
    const KINDS: &'static [Kind] = &[Kind::Bars { min: 2 }, TARGET, CAP, STEP, Kind::Bars { min: 0 }, Kind::Flag];
    const SIZED: bool = true;

    fn build(&[period, target, cap, step, trend, long_only]: &Values) -> Result<Self, Invalid> {
        if step > cap {
            return Err(Invalid { key: "step", rule: "a number above 0, at most `cap`" });
        }
        let (period, trend) = (period as usize, trend as usize);
        Ok(Self { period, target, cap, step, trend, long_only: long_only != 0.0 })
    }

    fn name(&self) -> String {
        let Self { period, target, cap, step, trend, .. } = self;
        let long_only = long_only(self.long_only);
        format!("vol-target:period={period},target={target},cap={cap},step={step},trend={trend}{long_only}")
    }

    fn indicators(&self) -> Inputs {
        let volatility = Indicator::Volatility(self.period);
        match self.trend {
            0 => inputs(&[volatility]),
            n => inputs(&[volatility, Indicator::Momentum(n)]),
        }
    }

    #[inline(always)]
    fn signal(&self, _close: f64, &[volatility, past, ..]: &[f64; MAX_INPUTS]) -> Signal {
        let (defined, trend) = (volatility >= 0.0, self.trend > 0);
        let up = defined && (!trend || past > 0.0);
        Signal::LONG.when(up).or(Signal::below(self.long_only).when(defined && trend && past < 0.0))
    }

    #[inline(always)]
    fn level(&self, side: f64, &[volatility, ..]: &[f64; MAX_INPUTS], periods_per_year: f64) -> f64 {
        side * self.size(volatility, periods_per_year)
    }

    fn thresholds(&self) -> [f64; MAX_THRESHOLDS] {
        [self.target, self.cap, self.step, if self.trend > 0 { 1.0 } else { 0.0 }]
    }

    fn long_only(&self) -> bool {
        self.long_only
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::strategy::levels_of;
    use super::*;

    fn levels(values: &Values, close: &[f64]) -> Vec<f64> {
        levels_of(VolTarget::build(values).unwrap(), close)
    }

    #[test]
    fn by_hand() {
        // Returns 0.1, −0.1, 0, 0.1; variances over two bars – – 0.01 0.00333 0.00778: 158.7, 91.7, 140.0 % a year.
        let close = [100.0, 110.0, 99.0, 99.0, 108.9];
        let long = [2.0, 1.0, 1.0, 0.25, 0.0, 0.0];
        // 1/1.587 = 0.63, 1/0.917 above the cap of 1, 1/1.4 = 0.71: down to quarters.
        assert_eq!(levels(&long, &close), [0.0, 0.0, 0.5, 1.0, 0.5]);
        assert_eq!(levels(&[2.0, 1.0, 0.5, 0.5, 0.0, 0.0], &close), [0.0, 0.0, 0.5, 0.5, 0.5]);
        // The return of one bar is −, 0, +.
        assert_eq!(levels(&[2.0, 1.0, 1.0, 0.25, 1.0, 0.0], &close), [0.0, 0.0, -0.5, -1.0, 0.5]);
        assert_eq!(levels(&[2.0, 1.0, 1.0, 0.25, 1.0, 1.0], &close), [0.0, 0.0, 0.0, 0.0, 0.5]);
    }

    #[test]
    fn sizes_are_whole_steps_up_to_the_cap() {
        let of = |cap: f64, step: f64| VolTarget::build(&[5.0, 0.15, cap, step, 0.0, 0.0]).unwrap();
        for (cap, step) in [(0.3, 0.1), (1.0, 0.1), (0.7, 0.1), (2.0, 0.05), (1.5, 0.3)] {
            assert!((of(cap, step).size(0.0, 252.0) - cap).abs() < 1e-12, "{cap} in steps of {step}");
        }
        assert_eq!(of(1.0, 0.4).size(0.0, 252.0), 0.8, "never above the cap");
        assert_eq!(VolTarget::build(&[5.0, 0.15, 1.0, 1.5, 0.0, 0.0]).unwrap_err().key, "step");
    }
}
