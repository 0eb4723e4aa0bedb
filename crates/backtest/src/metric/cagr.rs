//! Compound annual growth rate: (E_n/E_0)^(N/n) − 1, n bars of which N make a year.
//!
//! −1 when the equity is exhausted (E_n ≤ 0). Undefined when n = 0, E_0 ≤ 0, or the power overflows (a few lucky bars
//! raised to a year of minutes). n counts every bar lived through, also one whose return is NaN.

use super::defined;

/// Growth a year as a fraction.
pub fn cagr(equity: &[f64], periods_per_year: f64) -> Option<f64> {
    let (&first, &last) = (equity.first()?, equity.last()?);
    cagr_of(first, last, equity.len() - 1, periods_per_year)
}

pub(crate) fn cagr_of(first: f64, last: f64, n: usize, periods_per_year: f64) -> Option<f64> {
    if n == 0 || first <= 0.0 {
        return None;
    }
    if last <= 0.0 {
        return Some(-1.0);
    }
    defined((last / first).powf(periods_per_year / n as f64) - 1.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        // Two of four quarters, +21 %: 1.21² − 1.
        assert!((cagr(&[100.0, 110.0, 121.0], 4.0).unwrap() - 0.4641).abs() < 1e-15);
    }

    #[test]
    fn ruin_is_minus_one() {
        assert_eq!(cagr(&[100.0, 0.0, 0.0], 252.0), Some(-1.0));
    }

    #[test]
    fn undefined() {
        assert_eq!(cagr(&[], 252.0), None);
        assert_eq!(cagr(&[100.0], 252.0), None);
        assert_eq!(cagr(&[0.0, 1.0], 252.0), None);
        assert_eq!(cagr(&[1.0, 2.0], 525_600.0), None);
    }
}
