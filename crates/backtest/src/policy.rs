//! [`Policy`]: what decides. Rule strategies live in the files beside this one; networks bring their own.

pub mod bollinger;
pub mod buy_and_hold;
pub mod donchian;
pub mod ema_cross;
pub mod flat;
pub mod grid;
pub mod indicator;
pub mod macd;
pub mod momentum;
pub mod parameter;
pub mod parse;
pub mod random;
pub mod rsi;
pub mod signals;
pub mod sma_cross;
pub mod strategy;
pub mod vol_target;

use std::ops::Range;

use gigabar_market::Bars;

use crate::cpu::observation::N_PORTFOLIO;

pub use bollinger::Bollinger;
pub use buy_and_hold::BuyAndHold;
pub use donchian::Donchian;
pub use ema_cross::EmaCross;
pub use flat::Flat;
pub use grid::{Axis, Grid};
pub use macd::MacdCross;
pub use momentum::Momentum;
pub use parse::{PolicyError, STRATEGIES, parse};
pub use random::Random;
pub use rsi::RsiReversal;
pub use signals::{Signals, SignalsError, SignalsFile};
pub use sma_cross::SmaCross;
pub use strategy::{AnyStrategy, Strategy, StrategyPolicy};
pub use vol_target::VolTarget;

/// Decides a level at the close of every bar but the last of a window.
pub trait Policy: Send {
    /// Name for tables and reports.
    fn name(&self) -> String;

    /// Called once before the first decision of a window; `window` is a range of bars of the data set.
    fn reset(&mut self, window: Range<usize>);

    /// The level wanted: the share of `max_position` to hold, negative for short. Not finite means flat.
    fn level(&mut self, observation: &Observation<'_>) -> f64;

    /// Appends the levels at the closes of `span`, bars of the window that follow those of the call before, where they
    /// depend on prices alone. A policy that looks at its account answers false and appends nothing. Either holds
    /// for all calls. The level at bar t is what [`Self::level`] would say and reads no bar after t.
    fn levels_ahead(&mut self, _bars: &Bars, _span: Range<usize>, _to: &mut Vec<f64>) -> bool {
        false
    }
}

/// What may be read at the close of bar t: prices up to t and the account. Later bars are out of reach by type.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    bars: &'a Bars,
    t: usize,
    portfolio: &'a [f32; N_PORTFOLIO],
}

impl<'a> Observation<'a> {
    /// The view at the close of bar `t`.
    pub fn new(bars: &'a Bars, t: usize, portfolio: &'a [f32; N_PORTFOLIO]) -> Self {
        Self { bars, t, portfolio }
    }

    /// Index of the bar that has just closed.
    pub fn t(&self) -> usize {
        self.t
    }

    /// The account: see [`crate::cpu::observation`]. `[8]`
    pub fn portfolio(&self) -> &'a [f32; N_PORTFOLIO] {
        self.portfolio
    }

    /// Bars a year, the factor that annualises.
    pub fn periods_per_year(&self) -> f64 {
        self.bars.periods_per_year()
    }

    /// Time stamps of bars 0 to t, UTC nanoseconds. `[t + 1]`
    pub fn ts(&self) -> &'a [i64] {
        &self.bars.ts()[..=self.t]
    }

    /// Opens of bars 0 to t. `[t + 1]`
    pub fn open(&self) -> &'a [f64] {
        &self.bars.open()[..=self.t]
    }

    /// Highs of bars 0 to t. `[t + 1]`
    pub fn high(&self) -> &'a [f64] {
        &self.bars.high()[..=self.t]
    }

    /// Lows of bars 0 to t. `[t + 1]`
    pub fn low(&self) -> &'a [f64] {
        &self.bars.low()[..=self.t]
    }

    /// Closes of bars 0 to t. `[t + 1]`
    pub fn close(&self) -> &'a [f64] {
        &self.bars.close()[..=self.t]
    }

    /// Volumes of bars 0 to t. `[t + 1]`
    pub fn volume(&self) -> &'a [f64] {
        &self.bars.volume()[..=self.t]
    }
}
