//! Trend: ADX and its directional indices, Aroon, Donchian position, distance to EMAs.

use super::indicator::{adx, aroon, ema, minus_di, plus_di};
use super::rolling::{padded, rolling_max, rolling_min};
use super::{Column, Job};
use crate::Bars;

/// This family's features.
pub(super) const JOBS: &[Job] = &[adx_14, plus_di_14, minus_di_14, aroon_25, donchian, ema_distance];

fn adx_14(bars: &Bars) -> Vec<Column> {
    vec![Column::new("adx_14", 27, adx(bars.high(), bars.low(), bars.close(), 14))]
}

fn plus_di_14(bars: &Bars) -> Vec<Column> {
    vec![Column::new("plus_di_14", 14, plus_di(bars.high(), bars.low(), bars.close(), 14))]
}

fn minus_di_14(bars: &Bars) -> Vec<Column> {
    vec![Column::new("minus_di_14", 14, minus_di(bars.high(), bars.low(), bars.close(), 14))]
}

fn aroon_25(bars: &Bars) -> Vec<Column> {
    let a = aroon(bars.high(), bars.low(), 25);
    vec![
        Column::new("aroon_up_25", 25, a.up),
        Column::new("aroon_down_25", 25, a.down),
        Column::new("aroon_oscillator_25", 25, a.oscillator),
    ]
}

fn donchian(bars: &Bars) -> Vec<Column> {
    let close = bars.close();
    let column = |w: usize| {
        let channel = rolling_max(bars.high(), w).into_iter().zip(rolling_min(bars.low(), w));
        let place = channel.zip(&close[w - 1..]).map(|((highest, lowest), c)| {
            let range = highest - lowest;
            if range > 0.0 { (c - lowest) / range } else { 0.5 }
        });
        Column::new(format!("donchian_position_{w}"), w - 1, padded(close.len(), w - 1, place))
    };
    vec![column(20), column(55)]
}

fn ema_distance(bars: &Bars) -> Vec<Column> {
    let close = bars.close();
    let column = |period: usize| {
        let distance = close.iter().zip(ema(close, period)).map(|(c, e)| (c / e).ln()).collect();
        Column::new(format!("ema_distance_{period}"), period - 1, distance)
    };
    [10, 20, 50, 100].map(column).into()
}
