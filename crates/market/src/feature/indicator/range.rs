//! Volatility in price units: true range, ATR, Bollinger bands.

use super::check_lengths;
use crate::feature::rolling::{padded, rolling_moments};

/// True range max(h − l, |h − c₋₁|, |l − c₋₁|) (Wilder 1978); first value at bar 1.
pub fn true_range(high: &[f64], low: &[f64], close: &[f64]) -> Vec<f64> {
    let n = check_lengths(&[close, high, low]);
    padded(n, 1, (1..n).map(|t| range_at(high, low, close, t)))
}

/// True range of bar t ≥ 1.
pub(super) fn range_at(high: &[f64], low: &[f64], close: &[f64], t: usize) -> f64 {
    let before = close[t - 1];
    (high[t] - low[t]).max((high[t] - before).abs()).max((low[t] - before).abs())
}

/// Average true range, Wilder's smoothing seeded with the mean of the first `period` true ranges; first value at bar
/// `period`.
pub fn atr(high: &[f64], low: &[f64], close: &[f64], period: usize) -> Vec<f64> {
    assert!(period > 0, "an average needs at least one bar");
    let n = period as f64;
    let mut out = true_range(high, low, close);
    let mut average = 0.0;
    for (t, value) in out.iter_mut().enumerate().skip(1) {
        average = if t <= period { average + *value / n } else { (average * (n - 1.0) + *value) / n };
        *value = if t >= period { average } else { f64::NAN };
    }
    out
}

/// Columns of [`bbands`], in price units. `[n_bars]` each
#[derive(Debug, Clone, PartialEq)]
pub struct Bands {
    /// Middle + width·std.
    pub upper: Vec<f64>,
    /// The SMA.
    pub middle: Vec<f64>,
    /// Middle − width·std.
    pub lower: Vec<f64>,
}

/// Bollinger bands: SMA ± `width` population standard deviations; first value at bar `period − 1`.
pub fn bbands(close: &[f64], period: usize, width: f64) -> Bands {
    let moments = rolling_moments(close, period);
    let column = |side: f64| padded(close.len(), period - 1, moments.iter().map(|m| m.mean + side * width * m.std()));
    Bands { upper: column(1.0), middle: column(0.0), lower: column(-1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_count_in_the_true_range() {
        let tr = true_range(&[10.0, 15.0, 9.0], &[9.0, 14.0, 8.0], &[9.5, 14.5, 8.5]);
        assert!(tr[0].is_nan());
        assert_eq!(&tr[1..], [5.5, 6.5]);
    }

    #[test]
    fn atr_by_hand() {
        let a = atr(&[10.0, 12.0, 13.0, 13.0], &[9.0, 11.0, 11.0, 12.0], &[9.5, 11.5, 12.0, 12.5], 2);
        assert!(a[1].is_nan());
        assert_eq!(&a[2..], [(2.5 + 2.0) / 2.0, (2.25 + 1.0) / 2.0]);
    }

    #[test]
    fn bands_of_a_flat_market_meet() {
        let b = bbands(&[0.1; 25], 20, 2.0);
        assert_eq!(b.upper[19..], [0.1; 6]);
        assert_eq!(b.lower[19..], [0.1; 6]);
    }
}
