//! Turnover a year: Σ|Δ|·price over all fills, over the mean equity (of E_0..E_n), times N/n. Buying once with all
//! equity and selling at the end of a year is a turnover of about 2.
//!
//! Undefined when n = 0 or the mean equity is not positive.

use super::{defined, sum::sum};

/// Traded value a year, in multiples of the mean equity.
pub fn turnover(traded_value: f64, equity: &[f64], periods_per_year: f64) -> Option<f64> {
    turnover_of(traded_value, sum(equity), equity.len().checked_sub(1)?, periods_per_year)
}

pub(crate) fn turnover_of(traded: f64, equity_sum: f64, n_bars: usize, periods_per_year: f64) -> Option<f64> {
    if n_bars == 0 || equity_sum.is_nan() || equity_sum <= 0.0 {
        return None;
    }
    let mean_equity = equity_sum / (n_bars + 1) as f64;
    defined(traded / mean_equity * periods_per_year / n_bars as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 300 traded on a mean equity of 100, in half a year.
        assert_eq!(turnover(300.0, &[90.0, 100.0, 110.0], 4.0), Some(6.0));
        assert_eq!(turnover(0.0, &[90.0, 100.0], 4.0), Some(0.0));
    }

    #[test]
    fn undefined() {
        assert_eq!(turnover(1.0, &[], 4.0), None);
        assert_eq!(turnover(1.0, &[100.0], 4.0), None);
        assert_eq!(turnover(1.0, &[0.0, 0.0], 4.0), None);
    }
}
