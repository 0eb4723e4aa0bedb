//! Bars, causal features, scalers and walk-forward windows. No GPU, no learning, no trading rules.
#![forbid(unsafe_code)]

pub mod bars;
pub mod calendar;
pub mod rng;
pub mod sigma;
pub mod time;

pub use bars::{BarColumns, Bars, BarsError};
