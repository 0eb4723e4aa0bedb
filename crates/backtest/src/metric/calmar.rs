//! Calmar ratio (Young 1991): CAGR over the largest drawdown, over the whole window.
//!
//! Undefined without a drawdown, or where the CAGR is.

use super::{cagr, defined, max_drawdown};

/// CAGR / max drawdown.
pub fn calmar(equity: &[f64], periods_per_year: f64) -> Option<f64> {
    calmar_of(cagr(equity, periods_per_year), max_drawdown(equity))
}

pub(crate) fn calmar_of(cagr: Option<f64>, max_drawdown: Option<f64>) -> Option<f64> {
    let drawdown = max_drawdown.filter(|&d| d > 0.0)?;
    defined(cagr? / drawdown)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        assert!((calmar(&[100.0, 80.0, 121.0], 2.0).unwrap() - 0.21 / 0.2).abs() < 1e-14);
        assert_eq!(calmar(&[100.0, 0.0], 252.0), Some(-1.0));
    }

    #[test]
    fn undefined_without_drawdown() {
        assert_eq!(calmar(&[100.0, 110.0], 252.0), None);
        assert_eq!(calmar(&[], 252.0), None);
    }
}
