//! Historical value at risk and expected shortfall of one bar, positive = loss, at any tail level (default 0.05):
//! VaR = −quantile(r, level, linear interpolation); CVaR = −mean of the r ≤ that quantile (Acerbi & Tasche 2002).
//!
//! NaN never enters. Undefined when fewer than 20 returns remain, or the level is not inside (0, 1).

use super::defined;
use super::quantile::{quantile, quantiles_counted};
use super::sum::{block_sums, map_blocks, tree};

/// Fewer returns than this say nothing about a 5 % tail.
pub const MIN_RETURNS: usize = 20;

/// Loss of one bar that is exceeded with probability `level`.
pub fn value_at_risk(returns: &[f64], level: f64) -> Option<f64> {
    let n = returns.iter().filter(|r| !r.is_nan()).count();
    if !is_defined(n, level) {
        return None;
    }
    let [cut] = quantiles_counted(returns, n, [level]);
    defined(-cut?)
}

/// Mean loss of the bars at or beyond the value at risk.
pub fn conditional_value_at_risk(returns: &[f64], level: f64) -> Option<f64> {
    let n = returns.iter().filter(|r| !r.is_nan()).count();
    if is_defined(n, level) { defined(-tail_mean(returns, quantile(returns, level)?)?) } else { None }
}

pub(crate) fn is_defined(n: usize, level: f64) -> bool {
    n >= MIN_RETURNS && level > 0.0 && level < 1.0
}

/// Mean of the elements ≤ `cut`.
pub fn tail_mean(values: &[f64], cut: f64) -> Option<f64> {
    let parts = map_blocks(values, |block| block_sums(block, |x| if x <= cut { [1.0, x] } else { [0.0, 0.0] }));
    let [count, sum] = tree(parts, |a, b| [a[0] + b[0], a[1] + b[1]])?;
    if count > 0.0 { defined(sum / count) } else { None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        // −10 … +10 %, 21 returns: rank 0.05·20 = 1, the second smallest.
        let returns: Vec<f64> = (-10..=10).map(|i| f64::from(i) / 100.0).collect();
        assert_eq!(value_at_risk(&returns, 0.05), Some(0.09));
        assert!((conditional_value_at_risk(&returns, 0.05).unwrap() - 0.095).abs() < 1e-15);
        // Rank 2.5 lies between −8 % and −7 %; the tail is −10, −9, −8 %.
        assert!((value_at_risk(&returns, 0.125).unwrap() - 0.075).abs() < 1e-15);
        assert!((conditional_value_at_risk(&returns, 0.125).unwrap() - 0.09).abs() < 1e-15);
    }

    #[test]
    fn a_gain_in_the_tail_is_a_negative_loss() {
        assert_eq!(value_at_risk(&[0.01; 20], 0.05), Some(-0.01));
    }

    #[test]
    fn nan_never_enters() {
        let mut returns: Vec<f64> = (-10..=10).map(|i| f64::from(i) / 100.0).collect();
        let clean = (value_at_risk(&returns, 0.05), conditional_value_at_risk(&returns, 0.05));
        returns.splice(3..3, [f64::NAN; 5]);
        assert_eq!((value_at_risk(&returns, 0.05), conditional_value_at_risk(&returns, 0.05)), clean);
    }

    #[test]
    fn undefined_below_twenty_or_at_an_impossible_level() {
        let mut returns = vec![-0.01; 19];
        returns.push(f64::NAN);
        assert_eq!(value_at_risk(&returns, 0.05), None);
        assert_eq!(conditional_value_at_risk(&returns, 0.05), None);
        for level in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(value_at_risk(&[0.01; 30], level), None);
        }
    }
}
