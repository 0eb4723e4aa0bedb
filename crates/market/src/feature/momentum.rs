//! Oscillators: RSI, MACD, stochastic, CCI, Williams %R.

use super::indicator::{cci, macd, rsi_or, stoch_or, willr_or};
use super::{Column, Job};
use crate::Bars;

/// This family's features.
pub(super) const JOBS: &[Job] = &[rsi_14, macd_12_26, stoch_14, cci_20, willr_14];

fn hlc(bars: &Bars) -> [&[f64]; 3] {
    [bars.high(), bars.low(), bars.close()]
}

fn rsi_14(bars: &Bars) -> Vec<Column> {
    vec![Column::new("rsi_14", 14, rsi_or(bars.close(), 14, 50.0))]
}

/// In units of the close: prices have no place in a feature.
fn macd_12_26(bars: &Bars) -> Vec<Column> {
    let close = bars.close();
    let m = macd(close, 12, 26, 9);
    let relative = |column: &[f64]| column.iter().zip(close).map(|(m, c)| m / c).collect();
    vec![
        Column::new("macd_12_26", 33, relative(&m.line)),
        Column::new("macd_signal_12_26_9", 33, relative(&m.signal)),
        Column::new("macd_histogram_12_26_9", 33, relative(&m.histogram)),
    ]
}

fn stoch_14(bars: &Bars) -> Vec<Column> {
    let s = stoch_or(hlc(bars), 14, 3, 3, 50.0);
    vec![Column::new("stoch_k_14_3", 17, s.k), Column::new("stoch_d_14_3_3", 17, s.d)]
}

fn cci_20(bars: &Bars) -> Vec<Column> {
    vec![Column::new("cci_20", 19, cci(bars.high(), bars.low(), bars.close(), 20))]
}

fn willr_14(bars: &Bars) -> Vec<Column> {
    vec![Column::new("willr_14", 13, willr_or(hlc(bars), 14, -50.0))]
}
