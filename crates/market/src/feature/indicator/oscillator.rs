//! RSI, stochastic, CCI, Williams %R.

use super::{FLAT, check_lengths, sma};
use crate::feature::rolling::{padded, rolling_max, rolling_min};

/// Relative strength index (Wilder 1978) in `[0, 100]`; first value at bar `period`. No movement at all: 0, as TA-Lib.
pub fn rsi(close: &[f64], period: usize) -> Vec<f64> {
    rsi_or(close, period, 0.0)
}

/// [`rsi`] with the value of a market that has not moved given by the caller.
pub(in crate::feature) fn rsi_or(close: &[f64], period: usize, flat: f64) -> Vec<f64> {
    assert!(period > 0, "an index needs at least one bar");
    let n = period as f64;
    let mut out = vec![f64::NAN; close.len()];
    let (mut gain, mut loss) = (0.0, 0.0);
    for t in 1..close.len() {
        let change = close[t] - close[t - 1];
        let (up, down) = (change.max(0.0), (-change).max(0.0));
        if t <= period {
            gain += up / n;
            loss += down / n;
        } else {
            gain = (gain * (n - 1.0) + up) / n;
            loss = (loss * (n - 1.0) + down) / n;
        }
        if t >= period {
            let moved = gain + loss;
            out[t] = if moved > FLAT * close[t] { 100.0 * (gain / moved) } else { flat };
        }
    }
    out
}

/// 100·(close − lowest low)/(highest high − lowest low) of the last `period` bars, from bar `period − 1`.
fn location(high: &[f64], low: &[f64], close: &[f64], period: usize, flat: f64) -> Vec<f64> {
    let n = check_lengths(&[close, high, low]);
    let extremes = rolling_max(high, period).into_iter().zip(rolling_min(low, period));
    let values = extremes.zip(close.iter().skip(period - 1)).map(|((highest, lowest), c)| {
        let range = highest - lowest;
        if range > 0.0 { 100.0 * ((c - lowest) / range) } else { flat }
    });
    padded(n, period - 1, values)
}

/// Columns of [`stoch`], in `[0, 100]`. `[n_bars]` each
#[derive(Debug, Clone, PartialEq)]
pub struct Stoch {
    /// %K: the close's place in the window's range, smoothed.
    pub k: Vec<f64>,
    /// %D: %K smoothed again.
    pub d: Vec<f64>,
}

/// Slow stochastic (Lane), both smoothings by SMA; both columns start at bar `fast_k + slow_k + slow_d − 3`. A window
/// without a range counts as 0, as TA-Lib.
pub fn stoch(high: &[f64], low: &[f64], close: &[f64], fast_k: usize, slow_k: usize, slow_d: usize) -> Stoch {
    stoch_or([high, low, close], fast_k, slow_k, slow_d, 0.0)
}

/// [`stoch`] of `[high, low, close]` with the value of a window without a range given by the caller.
pub(in crate::feature) fn stoch_or(hlc: [&[f64]; 3], fast_k: usize, slow_k: usize, slow_d: usize, flat: f64) -> Stoch {
    let [high, low, close] = hlc;
    let n = close.len();
    let raw = location(high, low, close, fast_k, flat);
    let first_raw = (fast_k - 1).min(n);
    let k = sma(&raw[first_raw..], slow_k);
    let first_k = (slow_k - 1).min(k.len());
    let d = sma(&k[first_k..], slow_d);
    let first = (fast_k + slow_k + slow_d - 3).min(n);
    Stoch {
        k: padded(n, first, k.into_iter().skip(first - first_raw)),
        d: padded(n, first, d.into_iter().skip(first - first_raw - first_k)),
    }
}

/// Commodity channel index (Lambert 1980), unbounded; first value at bar `period − 1`. A window whose typical price
/// (h + l + c)/3 does not move: 0. O(n·period): a mean deviation cannot be merged.
pub fn cci(high: &[f64], low: &[f64], close: &[f64], period: usize) -> Vec<f64> {
    let n = check_lengths(&[close, high, low]);
    assert!(period > 0, "an index needs at least one bar");
    let typical: Vec<f64> = (0..n).map(|t| (high[t] + low[t] + close[t]) / 3.0).collect();
    let index = |w: &[f64]| {
        let mean = w.iter().sum::<f64>() / period as f64;
        let deviation = w.iter().map(|x| (x - mean).abs()).sum::<f64>() / period as f64;
        // rounding of the mean alone gives a deviation of about 1e-16 of it
        if deviation > FLAT * mean { (w[period - 1] - mean) / (0.015 * deviation) } else { 0.0 }
    };
    padded(n, period - 1, typical.windows(period).map(index))
}

/// Williams %R in `[−100, 0]`; first value at bar `period − 1`. A window without a range: 0, as TA-Lib.
pub fn willr(high: &[f64], low: &[f64], close: &[f64], period: usize) -> Vec<f64> {
    willr_or([high, low, close], period, 0.0)
}

/// [`willr`] of `[high, low, close]` with the value of a window without a range given by the caller.
pub(in crate::feature) fn willr_or(hlc: [&[f64]; 3], period: usize, flat: f64) -> Vec<f64> {
    let [high, low, close] = hlc;
    location(high, low, close, period, flat + 100.0).into_iter().map(|k| k - 100.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsi_by_hand() {
        let r = rsi(&[10.0, 11.0, 10.5, 11.5], 2);
        assert!(r[1].is_nan());
        assert!((r[2] - 100.0 * 1.0 / 1.5).abs() < 1e-12);
        // gain (0.5 + 1)/2, loss 0.25/2
        assert!((r[3] - 100.0 * 0.75 / 0.875).abs() < 1e-12);
    }

    #[test]
    fn flat_markets_take_the_stated_values() {
        let flat = [5.1; 30];
        let hlc = [&flat[..], &flat[..], &flat[..]];
        assert_eq!(rsi(&flat, 14)[14..], [0.0; 16]);
        assert_eq!(rsi_or(&flat, 14, 50.0)[14..], [50.0; 16]);
        assert_eq!(willr_or(hlc, 14, -50.0)[13..], [-50.0; 17]);
        assert_eq!(stoch_or(hlc, 14, 3, 3, 50.0).k[17..], [50.0; 13]);
        assert_eq!(cci(&flat, &flat, &flat, 20)[19..], [0.0; 11]);
    }
}
