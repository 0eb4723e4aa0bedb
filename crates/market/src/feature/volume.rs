//! Volume: z-scores, money flow, slope of on-balance volume. All are 0 throughout in a series without volume.

use super::indicator::mfi_or;
use super::rolling::{padded, rolling_moments, rolling_sum};
use super::{Column, Job};
use crate::Bars;

/// This family's features.
pub(super) const JOBS: &[Job] = &[volume_z, mfi_14, obv_slope_20];

/// A spread below this share of the mean volume is rounding.
const FLAT: f64 = 1e-13;

fn volume_z(bars: &Bars) -> Vec<Column> {
    let volume = bars.volume();
    let column = |w: usize| {
        let z = rolling_moments(volume, w).into_iter().zip(&volume[w - 1..]).map(|(m, v)| {
            let std = m.std();
            match std {
                // overflow: the table reports it, where dividing would give a quiet 0
                s if s.is_infinite() => f64::NAN,
                s if s > FLAT * m.mean => (v - m.mean) / s,
                _ => 0.0,
            }
        });
        Column::new(format!("volume_z_{w}"), w - 1, padded(volume.len(), w - 1, z))
    };
    vec![column(20), column(60)]
}

/// Without flow in the window: neutral, 50, once there has been any volume at all; 0 until then. Whether volume comes
/// later must not show.
fn mfi_14(bars: &Bars) -> Vec<Column> {
    let volume = bars.volume();
    let mut values = mfi_or([bars.high(), bars.low(), bars.close(), volume], 14, 50.0);
    let silent = volume.iter().take_while(|&&v| v == 0.0).count();
    if silent > 14 {
        values[14..silent].fill(0.0);
    }
    vec![Column::new("mfi_14", 14, values)]
}

/// From the window's own signed volumes, so that the far past's rounding cannot reach it. O(n·20).
fn obv_slope_20(bars: &Bars) -> Vec<Column> {
    const WINDOW: usize = 20;
    let (close, volume) = (bars.close(), bars.volume());
    let n = bars.len();
    let means = rolling_sum(n, WINDOW, |t| volume[t] / WINDOW as f64);
    let signed = |t: usize| {
        let up = f64::from(close[t] > close[t - 1]);
        let down = f64::from(close[t] < close[t - 1]);
        volume[t] * (up - down)
    };
    let slopes = means
        .into_iter()
        .enumerate()
        .map(|(start, mean)| if mean > 0.0 { balance_slope::<WINDOW>(start, signed) / mean } else { 0.0 });
    vec![Column::new("obv_slope_20", WINDOW - 1, padded(n, WINDOW - 1, slopes))]
}

/// Least-squares slope per bar of the running sum of `signed` over `WINDOW` bars, the first of them at 0.
fn balance_slope<const WINDOW: usize>(start: usize, signed: impl Fn(usize) -> f64) -> f64 {
    let middle = (WINDOW as f64 - 1.0) / 2.0;
    let (mut balance, mut product, mut spread) = (0.0, 0.0, 0.0);
    for i in 0..WINDOW {
        if i > 0 {
            balance += signed(start + i);
        }
        let x = i as f64 - middle;
        product += x * balance;
        spread += x * x;
    }
    product / spread
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::feature::indicator::{linearreg_slope, obv};
    use crate::synth::{RandomWalkConfig, random_walk};

    #[test]
    fn the_slope_is_that_of_on_balance_volume() {
        let bars = random_walk(200, 5, &RandomWalkConfig::default()).unwrap();
        let want = linearreg_slope(&obv(bars.close(), bars.volume()), 20);
        let got = &obv_slope_20(&bars)[0].values;
        for t in 19..200 {
            let mean = bars.volume()[t - 19..=t].iter().sum::<f64>() / 20.0;
            assert!((got[t] - want[t] / mean).abs() < 1e-9, "bar {t}");
        }
    }
}
