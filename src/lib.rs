//! gigabar trains and walk-forward-tests trading policies under one exact simulator.
//! This crate is the facade: the libraries under one roof, and the run report with its renderers. The program of the same
//! name is built from the same package.
#![forbid(unsafe_code)]

pub use gigabar_backtest as backtest;
pub use gigabar_learn as learn;
pub use gigabar_market as market;

pub mod report;
