//! Omega ratio (Keating & Shadwick 2002): Σmax(r − θ, 0)/Σmax(θ − r, 0) with θ = mar/N, mar an annual rate. At θ = 0
//! it is the profit factor of the bars.
//!
//! Undefined when no return lies below θ. NaN returns are skipped.

use super::defined;
use super::scan::ReturnStats;

/// Omega ratio at the annual threshold `mar`.
pub fn omega(returns: &[f64], mar: f64, periods_per_year: f64) -> Option<f64> {
    omega_of(&ReturnStats::of(returns, mar / periods_per_year))
}

pub(crate) fn omega_of(stats: &ReturnStats) -> Option<f64> {
    if stats.shortfall > 0.0 { defined(stats.excess / stats.shortfall) } else { None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        assert!((omega(&[0.03, -0.02, 0.01], 0.0, 252.0).unwrap() - 2.0).abs() < 1e-15);
        // θ = 0.01: gains 0.02, shortfall 0.03.
        assert!((omega(&[0.03, -0.02, 0.01], 0.04, 4.0).unwrap() - 2.0 / 3.0).abs() < 1e-15);
        assert_eq!(omega(&[-0.03, -0.02], 0.0, 252.0), Some(0.0));
    }

    #[test]
    fn undefined_without_losses() {
        assert_eq!(omega(&[0.03, 0.0], 0.0, 252.0), None);
        assert_eq!(omega(&[], 0.0, 252.0), None);
    }
}
