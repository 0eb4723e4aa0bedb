//! Profit of a window: P&L = E_n − E_0 in the quote currency, return = E_n/E_0 − 1 as a fraction.
//!
//! Undefined without an equity, and the return also when E_0 ≤ 0. Equity, not the product of returns, is the source:
//! a window that lost everything has a return of exactly −1.

use super::defined;

/// E_n − E_0, quote currency.
pub fn total_pnl(equity: &[f64]) -> Option<f64> {
    total_pnl_of(*equity.first()?, *equity.last()?)
}

/// E_n/E_0 − 1.
pub fn total_return(equity: &[f64]) -> Option<f64> {
    total_return_of(*equity.first()?, *equity.last()?)
}

pub(crate) fn total_pnl_of(first: f64, last: f64) -> Option<f64> {
    defined(last - first)
}

pub(crate) fn total_return_of(first: f64, last: f64) -> Option<f64> {
    if first > 0.0 { defined(last / first - 1.0) } else { None }
}

/// The equity that returns make of `initial`: E_t = E_{t−1}·(1 + r_t). A NaN return leaves it unchanged. `[n + 1]`
pub fn compound(initial: f64, returns: &[f64]) -> Vec<f64> {
    let mut equity = Vec::with_capacity(returns.len() + 1);
    equity.push(initial);
    let mut now = initial;
    for &r in returns {
        if !r.is_nan() {
            now *= 1.0 + r;
        }
        equity.push(now);
    }
    equity
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(total_pnl(&[100.0, 90.0, 125.0]), Some(25.0));
        assert_eq!(total_return(&[100.0, 90.0, 125.0]), Some(0.25));
        assert_eq!(total_return(&[100.0, 0.0]), Some(-1.0));
        assert_eq!(total_return(&[100.0]), Some(0.0));
    }

    #[test]
    fn undefined_without_a_positive_start() {
        assert_eq!(total_pnl(&[]), None);
        assert_eq!(total_return(&[]), None);
        assert_eq!(total_return(&[0.0, 1.0]), None);
    }

    #[test]
    fn compounding_skips_nan() {
        assert_eq!(compound(100.0, &[0.5, f64::NAN, -0.5]), vec![100.0, 150.0, 150.0, 75.0]);
    }
}
