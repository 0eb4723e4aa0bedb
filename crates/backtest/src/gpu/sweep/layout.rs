//! The structs `sweep.cu` shares with the host, and the plan of one batch of parameter sets.

use gigabar_gpu::Plain;

use crate::gpu::indicator::TablePlan;
use crate::policy::Strategy;
use crate::policy::strategy::{AnyStrategy, MAX_INPUTS, MAX_THRESHOLDS, Signal, each};
use crate::sweep::{Columns, Statistics, SweepRow};

/// One parameter set on the device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct SweepSet {
    column: [u32; MAX_INPUTS],
    threshold: [f64; MAX_THRESHOLDS],
    below: u32,
    unused: u32,
}
const _: () = assert!(size_of::<SweepSet>() == 56);

/// Which decisions a launch makes, and for how many sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct SweepSpan {
    /// The window's first bar.
    pub start: u32,
    /// Decisions of the window.
    pub n_decision: u32,
    /// First decision of the launch, a multiple of the tile.
    pub from: u32,
    /// Decisions of the launch.
    pub n: u32,
    /// Sets.
    pub n_set: u32,
    /// Sets of a warp.
    pub lanes: u32,
}
const _: () = assert!(size_of::<SweepSpan>() == 24);

/// What a set has earned so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct SweepState {
    equity: f64,
    peak: f64,
    trough: f64,
    max_drawdown: f64,
    mean: f64,
    m2: f64,
    largest: f64,
    costs: f64,
    n: u32,
    n_trades: u32,
    n_wins: u32,
    bars_in_market: u32,
    held: u32,
    ruined: u32,
}
const _: () = assert!(size_of::<SweepState>() == 88);

#[allow(unsafe_code)]
mod plain {
    use super::{Plain, SweepSet, SweepSpan, SweepState};
    // SAFETY (all): repr(C) of numbers; signal.cuh and sweep.cu assert the same sizes.
    unsafe impl Plain for SweepSet {}
    unsafe impl Plain for SweepSpan {}
    unsafe impl Plain for SweepState {}
}

impl SweepState {
    /// The finished row of an account that began with `initial`.
    pub fn row(&self, initial: f64, risk_free: f64, periods_per_year: f64) -> SweepRow {
        let statistics = Statistics {
            equity: self.equity,
            peak: self.peak,
            trough: self.trough,
            max_drawdown: self.max_drawdown,
            mean: self.mean,
            m2: self.m2,
            largest: self.largest,
            n: self.n,
            ..Statistics::new(initial)
        };
        SweepRow {
            costs: self.costs,
            n_trades: self.n_trades,
            n_wins: self.n_wins,
            bars_in_market: self.bars_in_market,
            ruined: self.ruined != 0,
            ..statistics.row(risk_free, periods_per_year)
        }
    }
}

/// Names of the signal functions of `signal.cuh`.
pub(super) const STRATEGIES: [&str; 7] = [
    "STRATEGY_CROSS",
    "STRATEGY_RSI",
    "STRATEGY_DONCHIAN",
    "STRATEGY_BOLLINGER",
    "STRATEGY_MACD",
    "STRATEGY_MOMENTUM",
    "STRATEGY_VOL_TARGET",
];

/// Parameter sets of one strategy as the device sees them.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepPlan {
    /// The indicators they read.
    pub table: TablePlan,
    /// `[n_set]`
    pub sets: Vec<SweepSet>,
    /// Index into the signal functions.
    pub strategy: u32,
    /// Whether the level is the side times a size.
    pub sized: bool,
}

impl SweepPlan {
    /// Of strategies of one kind.
    pub fn new(strategies: &[AnyStrategy]) -> Self {
        let columns = Columns::of(strategies);
        let set = |(i, strategy): (usize, &AnyStrategy)| {
            let (threshold, long_only) = each!(strategy, s => (s.thresholds(), s.long_only()));
            let below = u32::from(Signal::below(long_only).0);
            SweepSet { column: columns.of_set(i), threshold, below, unused: 0 }
        };
        let strategy = strategies.first().map_or(0, |strategy| match strategy {
            AnyStrategy::SmaCross(_) | AnyStrategy::EmaCross(_) => 0,
            AnyStrategy::Rsi(_) => 1,
            AnyStrategy::Donchian(_) => 2,
            AnyStrategy::Bollinger(_) => 3,
            AnyStrategy::Macd(_) => 4,
            AnyStrategy::Momentum(_) => 5,
            AnyStrategy::VolTarget(_) => 6,
        });
        Self {
            table: TablePlan::new(columns.indicators()),
            sets: strategies.iter().enumerate().map(set).collect(),
            sized: strategies.first().is_some_and(AnyStrategy::is_sized),
            strategy,
        }
    }
}
