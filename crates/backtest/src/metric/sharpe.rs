//! Sharpe ratio (Sharpe 1994): (mean(r) − rf/N)/std(r, ddof 1)·√N, rf an annual rate.
//!
//! Undefined when n < 2 or the returns are constant up to rounding, std ≤ 1e-12·max(1e-300, max|r|): a *relative* test,
//! since constant 0.1 returns have a computed std of 3.5e-16, which an absolute test calls a Sharpe of 4.6e15.
//! NaN returns are skipped.

use super::{Moments, defined};

/// Annualised Sharpe ratio.
pub fn sharpe(returns: &[f64], risk_free: f64, periods_per_year: f64) -> Option<f64> {
    sharpe_of(&Moments::of(returns), risk_free, periods_per_year)
}

pub(crate) fn sharpe_of(moments: &Moments, risk_free: f64, periods_per_year: f64) -> Option<f64> {
    defined(bar_sharpe_of(moments, risk_free, periods_per_year)? * periods_per_year.sqrt())
}

/// The Sharpe ratio of one bar, not annualised.
pub(crate) fn bar_sharpe_of(moments: &Moments, risk_free: f64, periods_per_year: f64) -> Option<f64> {
    defined((moments.mean - risk_free / periods_per_year) / moments.spread()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        // mean 0.02, std 0.01·√2; with rf 4 % over 4 periods the mean excess is 0.01.
        let returns = [0.01, 0.03];
        assert!((sharpe(&returns, 0.0, 4.0).unwrap() - 4.0 / 2.0_f64.sqrt()).abs() < 1e-14);
        assert!((sharpe(&returns, 0.04, 4.0).unwrap() - 2.0 / 2.0_f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn constant_returns_have_none() {
        for constant in [0.1, 0.0, -0.1, 1e-5] {
            assert_eq!(sharpe(&[constant; 1000], 0.0, 252.0), None);
        }
    }

    #[test]
    fn tiny_returns_are_not_constant() {
        assert!(sharpe(&[1e-14, 3e-14], 0.0, 252.0).is_some());
    }

    #[test]
    fn undefined_below_two_returns() {
        assert_eq!(sharpe(&[], 0.0, 252.0), None);
        assert_eq!(sharpe(&[0.1], 0.0, 252.0), None);
    }
}
