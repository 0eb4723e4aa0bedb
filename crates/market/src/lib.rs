//! Bars, causal features, scalers and walk-forward windows. No GPU, no learning, no trading rules.
#![forbid(unsafe_code)]

pub mod bars;
pub mod calendar;
pub mod check;
pub mod feature;
pub mod jumps;
pub mod load;
pub mod resample;
pub mod rng;
pub mod scale;
pub mod sigma;
pub mod synth;
pub mod time;
pub mod whole;
pub mod window;
pub mod write;

pub use bars::{BarColumns, Bars, BarsError};
