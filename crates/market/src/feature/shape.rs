//! The shape of a bar and of the recent returns' distribution.

use super::returns::log_return;
use super::rolling::{Moments4, PairMoments, padded, rolling};
use super::{Column, Job};
use crate::Bars;

/// This family's features.
pub(super) const JOBS: &[Job] = &[bar, moments, autocorrelation];

const WINDOW: usize = 60;

/// Log returns that spread less than this are rounding (ln of a ratio near 1 is good to 1e-16).
const FLAT: f64 = 1e-14;

fn bar(bars: &Bars) -> Vec<Column> {
    let (high, low, close) = (bars.high(), bars.low(), bars.close());
    let place = |t: usize| {
        let range = high[t] - low[t];
        if range > 0.0 { ((close[t] - low[t]) - (high[t] - close[t])) / range } else { 0.0 }
    };
    vec![
        Column::new("range_1", 0, high.iter().zip(low).map(|(h, l)| (h / l).ln()).collect()),
        Column::new("close_location_1", 0, (0..bars.len()).map(place).collect()),
    ]
}

fn moments(bars: &Bars) -> Vec<Column> {
    let n = bars.len();
    let r = log_return(bars.close(), 1);
    let windows = rolling(n - 1, WINDOW, |i| Moments4::of(r[i + 1]), Moments4::merge);
    let column = |value: fn(&Moments4) -> f64| {
        padded(n, WINDOW, windows.iter().map(|m| if m.std() > FLAT { value(m) } else { 0.0 }))
    };
    vec![
        Column::new("skew_60", WINDOW, column(Moments4::skew)),
        Column::new("kurtosis_60", WINDOW, column(Moments4::excess_kurtosis)),
    ]
}

fn autocorrelation(bars: &Bars) -> Vec<Column> {
    let n = bars.len();
    let r = log_return(bars.close(), 1);
    let windows = rolling(n - 2, WINDOW, |i| PairMoments::of(r[i + 1], r[i + 2]), PairMoments::merge);
    let values = padded(n, WINDOW + 1, windows.iter().map(|m| m.correlation(FLAT)));
    vec![Column::new("autocorrelation_60", WINDOW + 1, values)]
}
