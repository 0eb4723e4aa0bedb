//! Ulcer index (Martin & McCann 1989): √(mean(d_t²)) of the drawdowns after each of the n bars, as a fraction.
//!
//! Undefined when n = 0 or E_0 ≤ 0. The peak is seeded with E_0.

use super::defined;
use super::drawdown::Drawdown;

/// Root mean square drawdown.
pub fn ulcer_index(equity: &[f64]) -> Option<f64> {
    ulcer_index_of(&Drawdown::of(equity)?)
}

pub(crate) fn ulcer_index_of(drawdown: &Drawdown) -> Option<f64> {
    if drawdown.n == 0 { None } else { defined((drawdown.sum_squares / drawdown.n as f64).sqrt()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        // Drawdowns 0.5, 0, 0, 0.5 → √(0.5/4).
        assert!((ulcer_index(&[100.0, 50.0, 100.0, 200.0, 100.0]).unwrap() - 0.125_f64.sqrt()).abs() < 1e-15);
        assert_eq!(ulcer_index(&[100.0, 101.0]), Some(0.0));
    }

    #[test]
    fn undefined_without_bars() {
        assert_eq!(ulcer_index(&[100.0]), None);
        assert_eq!(ulcer_index(&[]), None);
    }
}
