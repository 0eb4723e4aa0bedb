//! Tail ratio: |quantile(r, 1 − level)|/|quantile(r, level)|, linear interpolation; level 0.05 as in empyrical.
//!
//! Undefined when n < 2 or the lower quantile is 0. NaN never enters.

use super::defined;
use super::quantile::quantiles;

/// Size of the gains in the upper tail against the losses in the lower one.
pub fn tail_ratio(returns: &[f64], level: f64) -> Option<f64> {
    // Two returns at least.
    returns.iter().filter(|r| !r.is_nan()).nth(1)?;
    let [low, high] = quantiles(returns, [level, 1.0 - level]);
    tail_ratio_of(low?, high?)
}

pub(crate) fn tail_ratio_of(low: f64, high: f64) -> Option<f64> {
    if low == 0.0 { None } else { defined((high / low).abs()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        // 21 returns −10 … +10 % with the gains doubled: |2·9 %|/|−9 %|.
        let returns: Vec<f64> = (-10..=10).map(|i| f64::from(if i > 0 { 2 * i } else { i }) / 100.0).collect();
        assert!((tail_ratio(&returns, 0.05).unwrap() - 2.0).abs() < 1e-14);
    }

    #[test]
    fn undefined() {
        assert_eq!(tail_ratio(&[], 0.05), None);
        assert_eq!(tail_ratio(&[0.1, f64::NAN], 0.05), None);
        assert_eq!(tail_ratio(&[0.0; 30], 0.05), None);
    }
}
