//! Annualised volatility: std(r, ddof 1)·√N.
//!
//! Undefined when n < 2. NaN returns are skipped.

use super::{Moments, defined};

/// Volatility a year as a fraction.
pub fn volatility(returns: &[f64], periods_per_year: f64) -> Option<f64> {
    volatility_of(&Moments::of(returns), periods_per_year)
}

pub(crate) fn volatility_of(moments: &Moments, periods_per_year: f64) -> Option<f64> {
    defined(moments.std()? * periods_per_year.sqrt())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        // Deviations ±0.01 about 0.02: variance 2e-4/1.
        assert!((volatility(&[0.01, 0.03], 4.0).unwrap() - 2.0 * 2e-4_f64.sqrt()).abs() < 1e-16);
        assert_eq!(volatility(&[0.0, 0.0], 4.0), Some(0.0));
    }

    #[test]
    fn undefined_below_two_returns() {
        assert_eq!(volatility(&[], 252.0), None);
        assert_eq!(volatility(&[0.1], 252.0), None);
        assert_eq!(volatility(&[0.1, f64::NAN], 252.0), None);
    }
}
