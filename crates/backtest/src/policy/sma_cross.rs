//! Simple-moving-average cross, the textbook trend follower (Brock, Lakonishok & LeBaron 1992): long while the fast
//! average is above the slow one, short (or flat) while below.

use super::indicator::Indicator;
use super::parameter::{Invalid, Kind, Values};
use super::strategy::{Inputs, MAX_INPUTS, Signal, Strategy, inputs};

/// Level +1 while SMA(fast) > SMA(slow) of the closes, −1 (`long_only`: 0) while less, unchanged while equal (to
/// 1e-12 of the price); 0 before `slow` bars exist.
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
        averages_cross(inputs, self.long_only)
    }

    fn long_only(&self) -> bool {
        self.long_only
    }
}

/// Averages that differ by less than this share of a price are equal: the difference is rounding. Sums of a few hundred
/// prices carry an error of 1e-15 to 1e-13 of them, which depends on where a series starts and on the unit of its
/// prices; averages that do differ, of prices on a grid of ticks, differ by a tick over the product of their lengths.
pub(crate) const TIE: f64 = 1e-12;

/// Long while the first average is above the second, `below` while less.
#[inline(always)]
pub(super) fn averages_cross(&[fast, slow, ..]: &[f64; MAX_INPUTS], long_only: bool) -> Signal {
    cross(fast - slow, slow, long_only)
}

/// Long while `gap` is above 0, `below` while less; `price` is what it is a difference of.
#[inline(always)]
pub(super) fn cross(gap: f64, price: f64, long_only: bool) -> Signal {
    let tie = TIE * price.abs();
    Signal::LONG.when(gap > tie).or(Signal::below(long_only).when(gap < -tie))
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

    #[test]
    fn rounding_is_no_cross() {
        for price in [0.1, 83.37, 1e-8, 1e8] {
            assert_eq!(levels_of(SmaCross::new(3, 7, false), &[price; 500]), [0.0; 500]);
        }
        // Whole cents, so that the sums of an integer say what is equal; the unit must not matter.
        let mut rng = gigabar_market::rng::Philox::new(1, 0);
        let cents: Vec<i64> = (0..3000).map(|_| 10_000 + rng.index(5) as i64).collect();
        let sum = |t: usize, n: usize| cents[t + 1 - n..=t].iter().sum::<i64>();
        let mut want = vec![0.0_f64; cents.len()];
        let mut ties = 0;
        for t in 1..cents.len() {
            let order = if t < 11 { None } else { Some((sum(t, 4) * 12).cmp(&(sum(t, 12) * 4))) };
            ties += usize::from(order == Some(std::cmp::Ordering::Equal));
            want[t] = order.map_or(0.0, |order| if order.is_eq() { want[t - 1] } else { f64::from(order as i8) });
        }
        assert!(ties > 20, "{ties} ties");
        for unit in [0.01, 1.0, 0.000_01, 1.1] {
            let close: Vec<f64> = cents.iter().map(|&price| price as f64 * unit).collect();
            assert_eq!(levels_of(SmaCross::new(4, 12, false), &close), want, "unit {unit}");
        }
    }
}
