//! Money flow index and on-balance volume.

use super::check_lengths;
use crate::feature::rolling::{padded, rolling};

/// Money flow index (Quong & Soudack 1989) in `[0, 100]`; first value at bar `period`. No flow in the window: 0.
pub fn mfi(high: &[f64], low: &[f64], close: &[f64], volume: &[f64], period: usize) -> Vec<f64> {
    mfi_or([high, low, close, volume], period, 0.0)
}

/// [`mfi`] of `[high, low, close, volume]` with the value of a window without flow given by the caller.
pub(in crate::feature) fn mfi_or(hlcv: [&[f64]; 4], period: usize, no_flow: f64) -> Vec<f64> {
    let [high, low, close, volume] = hlcv;
    let n = check_lengths(&[close, high, low, volume]);
    let typical: Vec<f64> = (0..n).map(|t| (high[t] + low[t] + close[t]) / 3.0).collect();
    // [into the market, out of it], for bar i + 1
    let flow = |i: usize| {
        let (now, money) = (typical[i + 1], typical[i + 1] * volume[i + 1]);
        [if now > typical[i] { money } else { 0.0 }, if now < typical[i] { money } else { 0.0 }]
    };
    let sums = rolling(n.saturating_sub(1), period, flow, |a, b| [a[0] + b[0], a[1] + b[1]]);
    let index = |[into, out]: [f64; 2]| if into + out > 0.0 { 100.0 * (into / (into + out)) } else { no_flow };
    padded(n, period, sums.into_iter().map(index))
}

/// On-balance volume (Granville 1963): the first bar's volume, plus that of rising bars, minus that of falling ones.
pub fn obv(close: &[f64], volume: &[f64]) -> Vec<f64> {
    let n = check_lengths(&[close, volume]);
    let mut balance = 0.0;
    (0..n)
        .map(|t| {
            balance += if t == 0 { volume[0] } else { signed(close, volume, t) };
            balance
        })
        .collect()
}

/// The volume of bar t ≥ 1, signed by the close's direction.
fn signed(close: &[f64], volume: &[f64], t: usize) -> f64 {
    if close[t] > close[t - 1] {
        volume[t]
    } else if close[t] < close[t - 1] {
        -volume[t]
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obv_by_hand() {
        assert_eq!(obv(&[1.0, 2.0, 2.0, 1.5], &[10.0, 5.0, 7.0, 3.0]), [10.0, 15.0, 15.0, 12.0]);
    }

    #[test]
    fn no_volume_is_no_flow() {
        let p = [1.0, 2.0, 3.0, 2.0];
        let m = mfi_or([&p, &p, &p, &[0.0; 4]], 2, 50.0);
        assert!(m[1].is_nan());
        assert_eq!(m[2..], [50.0, 50.0]);
        assert_eq!(mfi(&p, &p, &p, &[1.0; 4], 2)[3], 100.0 * 3.0 / 5.0);
    }
}
