//! Volatility: realised, Parkinson, Garman–Klass, ATR, Bollinger.

use std::f64::consts::LN_2;

use super::indicator::{atr, bbands};
use super::returns::log_return;
use super::rolling::{padded, rolling_sum};
use super::{Column, Job};
use crate::Bars;

/// This family's features.
pub(super) const JOBS: &[Job] = &[realised, parkinson, garman_klass, atr_ratio, bollinger];

/// A spread below this share of the price is rounding.
const FLAT: f64 = 1e-13;

/// √ mean r²: around zero, not around the mean, the usual realised volatility.
fn realised(bars: &Bars) -> Vec<Column> {
    let n = bars.len();
    let r = log_return(bars.close(), 1);
    let column = |w: usize| {
        let squares = rolling_sum(n - 1, w, |i| r[i + 1] * r[i + 1]);
        let values = padded(n, w, squares.into_iter().map(|s| (s / w as f64).sqrt()));
        Column::new(format!("realised_vol_{w}"), w, values)
    };
    vec![column(20), column(60)]
}

/// Parkinson, "The extreme value method for estimating the variance of the rate of return" (1980).
fn parkinson(bars: &Bars) -> Vec<Column> {
    let (high, low) = (bars.high(), bars.low());
    let term = |t: usize| (high[t] / low[t]).ln().powi(2) / (4.0 * LN_2);
    vec![root_mean("parkinson_vol_20", bars.len(), term)]
}

/// Garman & Klass, "On the estimation of security price volatilities from historical data" (1980), the practical form.
/// Never negative: |ln(c/o)| ≤ ln(h/l) and ½ > 2 ln 2 − 1.
fn garman_klass(bars: &Bars) -> Vec<Column> {
    let (open, high, low, close) = (bars.open(), bars.high(), bars.low(), bars.close());
    let term = |t: usize| {
        let (range, body) = ((high[t] / low[t]).ln(), (close[t] / open[t]).ln());
        0.5 * range * range - (2.0 * LN_2 - 1.0) * body * body
    };
    vec![root_mean("garman_klass_vol_20", bars.len(), term)]
}

fn root_mean(name: &str, n_bars: usize, variance: impl Fn(usize) -> f64) -> Column {
    const WINDOW: usize = 20;
    let sums = rolling_sum(n_bars, WINDOW, variance);
    let values = padded(n_bars, WINDOW - 1, sums.into_iter().map(|s| (s / WINDOW as f64).sqrt()));
    Column::new(name, WINDOW - 1, values)
}

fn atr_ratio(bars: &Bars) -> Vec<Column> {
    let close = bars.close();
    let range = atr(bars.high(), bars.low(), close, 14);
    vec![Column::new("atr_ratio_14", 14, range.iter().zip(close).map(|(a, c)| a / c).collect())]
}

fn bollinger(bars: &Bars) -> Vec<Column> {
    let close = bars.close();
    let bands = bbands(close, 20, 2.0);
    let n = close.len();
    let mut percent = vec![f64::NAN; n];
    let mut width = vec![f64::NAN; n];
    for t in 19..n {
        let spread = bands.upper[t] - bands.lower[t];
        let flat = spread <= FLAT * bands.middle[t];
        percent[t] = if flat { 0.5 } else { (close[t] - bands.lower[t]) / spread };
        width[t] = spread / bands.middle[t];
    }
    vec![Column::new("bollinger_percent_b_20", 19, percent), Column::new("bollinger_width_20", 19, width)]
}
