//! Sortino ratio (Sortino & van der Meer 1991): (mean(r) − mar/N)/√(mean(min(r − mar/N, 0)²))·√N, mar an annual rate.
//! The downside is averaged over all n returns, not over the losing ones.
//!
//! Undefined without downside: no return below mar/N by more than rounding (the relative test of the Sharpe ratio).
//! NaN returns are skipped.

use super::defined;
use super::moments::is_rounding;
use super::scan::ReturnStats;

/// Annualised Sortino ratio against the minimum acceptable return `mar`.
pub fn sortino(returns: &[f64], mar: f64, periods_per_year: f64) -> Option<f64> {
    sortino_of(&ReturnStats::of(returns, mar / periods_per_year), periods_per_year)
}

/// Annualised downside deviation: √(mean(min(r − mar/N, 0)²))·√N; 0 without downside, undefined when n = 0.
pub fn downside_deviation(returns: &[f64], mar: f64, periods_per_year: f64) -> Option<f64> {
    let deviation = bar_downside(&ReturnStats::of(returns, mar / periods_per_year))?;
    defined(deviation * periods_per_year.sqrt())
}

pub(crate) fn sortino_of(stats: &ReturnStats, periods_per_year: f64) -> Option<f64> {
    let downside = bar_downside(stats)?;
    if is_rounding(downside, stats.moments.max_abs()) {
        return None;
    }
    defined((stats.moments.mean - stats.threshold) / downside * periods_per_year.sqrt())
}

fn bar_downside(stats: &ReturnStats) -> Option<f64> {
    (stats.moments.n > 0).then(|| (stats.downside_squares / stats.moments.n as f64).sqrt())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        // mean 0.01; downside of all four: √(0.02²/4) = 0.01.
        let returns = [0.02, -0.02, 0.03, 0.01];
        assert!((sortino(&returns, 0.0, 4.0).unwrap() - 2.0).abs() < 1e-14);
        assert!((downside_deviation(&returns, 0.0, 4.0).unwrap() - 0.02).abs() < 1e-16);
        // mar of 4 % over 4 periods: mean excess 0, so 0.
        assert!(sortino(&returns, 0.04, 4.0).unwrap().abs() < 1e-14);
    }

    #[test]
    fn undefined_without_downside() {
        assert_eq!(sortino(&[], 0.0, 252.0), None);
        assert_eq!(sortino(&[0.01, 0.0, 0.02], 0.0, 252.0), None);
        assert_eq!(sortino(&[0.01, 0.02], -1.0, 252.0), None);
        assert_eq!(downside_deviation(&[0.01], 0.0, 252.0), Some(0.0));
        assert_eq!(downside_deviation(&[], 0.0, 252.0), None);
    }
}
