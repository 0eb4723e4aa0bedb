//! The classic indicators, by their standard definitions and TA-Lib's conventions.
//!
//! Every function takes whole columns `[n_bars]` and returns columns `[n_bars]`: NaN up to the bar where TA-Lib (0.8,
//! unstable period 0, compatibility "default") gives its first value, TA-Lib's value from there on, to 1e-9 relative.
//! A series shorter than that is NaN throughout. Entry t reads bars up to t only.
//!
//! One difference, wanted: where TA-Lib calls a denominator zero by an absolute size (1e-14; a money flow below 1.0),
//! these functions do so relative to the price or only at exactly 0, so that a change of units changes no value.
//!
//! # Panics
//! All of them, when a period is 0 or the columns differ in length.

mod average;
mod directional;
mod oscillator;
mod range;
mod volume;

pub use average::{Macd, ema, linearreg_slope, macd, sma, stddev};
pub use directional::{Aroon, adx, aroon, minus_di, plus_di};
pub use oscillator::{Stoch, cci, rsi, stoch, willr};
pub use range::{Bands, atr, bbands, true_range};
pub use volume::{mfi, obv};

pub(super) use oscillator::{rsi_or, stoch_or, willr_or};
pub(super) use volume::mfi_or;

/// Below this share of the price a difference of prices is rounding, not movement.
pub(super) const FLAT: f64 = 1e-14;

/// Panics unless all columns are as long as the first.
fn check_lengths(columns: &[&[f64]]) -> usize {
    let n = columns[0].len();
    assert!(columns.iter().all(|c| c.len() == n), "columns differ in length");
    n
}
