//! Wilder's directional movement (+DI, −DI, ADX; Wilder 1978) and Aroon (Chande 1995).

use super::range::range_at;
use super::{FLAT, check_lengths};
use crate::feature::rolling::{padded, rolling};

/// Wilder's running sums of directional movement and true range.
#[derive(Debug, Clone, Copy, Default)]
struct Movement {
    plus: f64,
    minus: f64,
    range: f64,
    close: f64,
}

impl Movement {
    /// +DI and −DI in `[0, 100]`; `None` where the market has had no range.
    fn indices(&self) -> Option<[f64; 2]> {
        (self.range > FLAT * self.close).then(|| [self.plus, self.minus].map(|m| 100.0 * (m / self.range)))
    }

    /// DX = 100·|+DI − −DI|/(+DI + −DI); `None` without a range or without directional movement.
    fn dx(&self) -> Option<f64> {
        let [plus, minus] = self.indices()?;
        (plus + minus > 0.0).then(|| 100.0 * ((plus - minus).abs() / (plus + minus)))
    }
}

/// The sums at bars `period..`, as TA-Lib seeds them: plain sums over bars 1 to `period − 1`, then s − s/period + new.
fn movements(high: &[f64], low: &[f64], close: &[f64], period: usize) -> Vec<Movement> {
    let n = check_lengths(&[close, high, low]);
    assert!(period > 0, "an index needs at least one bar");
    let mut out = Vec::with_capacity(n.saturating_sub(period));
    let mut sum = Movement::default();
    for t in 1..n {
        let (up, down) = (high[t] - high[t - 1], low[t - 1] - low[t]);
        let keep = if t < period { 1.0 } else { 1.0 - 1.0 / period as f64 };
        sum.plus = sum.plus * keep + if up > 0.0 && up > down { up } else { 0.0 };
        sum.minus = sum.minus * keep + if down > 0.0 && down > up { down } else { 0.0 };
        sum.range = sum.range * keep + range_at(high, low, close, t);
        sum.close = close[t];
        if t >= period {
            out.push(sum);
        }
    }
    out
}

/// +DI in `[0, 100]`; first value at bar `period`. No range: 0.
pub fn plus_di(high: &[f64], low: &[f64], close: &[f64], period: usize) -> Vec<f64> {
    let sums = movements(high, low, close, period);
    padded(close.len(), period, sums.iter().map(|m| m.indices().map_or(0.0, |i| i[0])))
}

/// −DI in `[0, 100]`; first value at bar `period`. No range: 0.
pub fn minus_di(high: &[f64], low: &[f64], close: &[f64], period: usize) -> Vec<f64> {
    let sums = movements(high, low, close, period);
    padded(close.len(), period, sums.iter().map(|m| m.indices().map_or(0.0, |i| i[1])))
}

/// Average directional index in `[0, 100]`; first value at bar `2·period − 1`: the mean of `period` DX, then Wilder's
/// smoothing. A bar without a DX adds nothing to the first mean and leaves the index as it is later.
pub fn adx(high: &[f64], low: &[f64], close: &[f64], period: usize) -> Vec<f64> {
    let n = period as f64;
    let mut index = 0.0;
    let mut out = vec![f64::NAN; close.len()];
    for (i, movement) in movements(high, low, close, period).iter().enumerate() {
        if let Some(dx) = movement.dx() {
            index = if i < period { index + dx / n } else { (index * (n - 1.0) + dx) / n };
        }
        if i + 1 >= period {
            out[i + period] = index;
        }
    }
    out
}

/// Columns of [`aroon`]. `[n_bars]` each
#[derive(Debug, Clone, PartialEq)]
pub struct Aroon {
    /// How recent the high is, in `[0, 100]`: 100 when it is this bar's.
    pub up: Vec<f64>,
    /// How recent the low is, in `[0, 100]`.
    pub down: Vec<f64>,
    /// Up − down, in `[−100, 100]`.
    pub oscillator: Vec<f64>,
}

/// Aroon over the last `period + 1` bars; first value at bar `period`. Of equal extremes the latest counts, so a flat
/// market is 100, 100 and 0.
pub fn aroon(high: &[f64], low: &[f64], period: usize) -> Aroon {
    let n = check_lengths(&[high, low]);
    assert!(period > 0, "an index needs at least one bar");
    let later = |a: (f64, usize), b: (f64, usize)| if b.0 >= a.0 { b } else { a };
    let highs = rolling(n, period + 1, |t| (high[t], t), later);
    let lows = rolling(n, period + 1, |t| (-low[t], t), later);
    let recency = |i: usize, at: usize| 100.0 * (at - i) as f64 / period as f64;
    let column = |e: &[(f64, usize)]| padded(n, period, e.iter().enumerate().map(|(i, &(_, at))| recency(i, at)));
    let (up, down) = (column(&highs), column(&lows));
    let oscillator = up.iter().zip(&down).map(|(u, d)| u - d).collect();
    Aroon { up, down, oscillator }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rise_is_all_plus() {
        let high: Vec<f64> = (0..60).map(|i| 101.0 + f64::from(i)).collect();
        let low: Vec<f64> = high.iter().map(|h| h - 1.0).collect();
        let close = high.clone();
        assert!(minus_di(&high, &low, &close, 14)[14..].iter().all(|&v| v == 0.0));
        assert!(adx(&high, &low, &close, 14)[27..].iter().all(|&v| (v - 100.0).abs() < 1e-9));
        assert!(adx(&high, &low, &close, 14)[26].is_nan());
    }

    #[test]
    fn flat_markets_take_the_stated_values() {
        let flat = [2.3; 60];
        assert_eq!(plus_di(&flat, &flat, &flat, 14)[14..], [0.0; 46]);
        assert_eq!(adx(&flat, &flat, &flat, 14)[27..], [0.0; 33]);
        let a = aroon(&flat, &flat, 25);
        assert_eq!((a.up[25], a.down[25], a.oscillator[25]), (100.0, 100.0, 0.0));
    }

    #[test]
    fn aroon_by_hand() {
        let a = aroon(&[1.0, 5.0, 3.0, 4.0, 2.0], &[1.0, 4.0, 2.5, 3.0, 0.5], 4);
        assert!(a.up[3].is_nan());
        assert_eq!((a.up[4], a.down[4], a.oscillator[4]), (25.0, 100.0, -75.0));
    }
}
