//! gigabar trains and walk-forward-tests trading policies under one exact simulator.
//!
//! This crate is the facade: the libraries under one roof, and the run report with its renderers. The program of the
//! same name is built from the same package.
//!
//! ```
//! use gigabar::backtest::{cpu::engine::{Market, Rules, simulate}, policy, SimConfig};
//! use gigabar::market::{sigma::sigma, synth};
//!
//! let bars = synth::random_walk(500, 7, &synth::RandomWalkConfig::default())?;
//! let sigma = sigma(bars.close());
//! let market = Market::new(&bars, &sigma);
//! let rules = Rules::new(&SimConfig::default(), &market)?;
//! let mut strategy = policy::parse("sma-cross:fast=5,slow=20")?;
//! let path = simulate(&rules, &bars, &market, 0..bars.len(), strategy.as_mut());
//! assert_eq!(path.returns.len(), bars.len() - 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub use gigabar_backtest as backtest;
pub use gigabar_gpu as gpu;
pub use gigabar_learn as learn;
pub use gigabar_market as market;

pub mod report;
