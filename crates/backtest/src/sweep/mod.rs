//! A parameter sweep: every set of a [`Grid`] over one window or several, without keeping any path.
//!
//! [`cpu`] runs the exact engine, the sets in parallel; [`gpu::GpuSweep`](crate::gpu::GpuSweep) does the same on a
//! device. Both take the bars in stretches and carry accounts and statistics along, so memory is bounded by the number
//! of sets, not by the length of the window. Indicators are computed once per distinct length.
//!
//! On the CPU a set's signals are bits, 64 bars in a word. An account jumps from one bar that may matter to the next
//! ([`Account::step`](crate::cpu::account::Account::step) there, nothing in between); then the statistics of eight sets
//! are taken side by side, in the processor's widest vectors. Under rules that work in every bar (carry, barriers,
//! rebalancing) an account that holds something steps through every bar. Neither changes a bit of any row.
//!
//! A row equals a single backtest of its set: P&L, drawdown and counts exactly, the Sharpe ratio to 1e-9 (its mean and
//! deviation are streamed here and made in blocks there).

mod columns;
mod lanes;
mod row;
mod run;
mod statistics;
mod table;
mod word;

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;
use thiserror::Error;

use crate::cpu::engine::{Market, Rules};
use crate::cpu::widest::widest;
use crate::policy::Grid;
use crate::policy::strategy::AnyStrategy;

pub(crate) use columns::Columns;
use lanes::LANES;
pub use row::SweepRow;
use run::{Group, Stretch, Walk};
pub(crate) use statistics::{BLOCK, Statistics};
use table::Table;

/// Sets in memory at a time.
const BATCH_SETS: usize = 1 << 16;

/// Why a grid cannot be swept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SweepError {
    /// Not a rule over indicators.
    #[error("strategy {strategy} cannot be swept: it is no rule over indicators")]
    NotARule {
        /// The strategy.
        strategy: &'static str,
    },
}

/// Runs every set of `grid` over the bars `window`, as [`simulate`](crate::cpu::engine::simulate) would; rows are in
/// the grid's order. `risk_free` is an annual rate. `on_progress` hears of bar evaluations done and in all.
///
/// # Errors
/// [`SweepError`] for a grid of a strategy that is no rule over indicators.
pub fn cpu(
    rules: &Rules,
    market: &Market<'_>,
    window: Range<usize>,
    grid: &Grid,
    risk_free: f64,
    mut on_progress: impl FnMut(u64, u64),
) -> Result<Vec<SweepRow>, SweepError> {
    let decisions = window.start..window.end.saturating_sub(1);
    let total = grid.len() as u64 * decisions.len() as u64;
    let mut done = 0;
    let mut rows = Vec::with_capacity(grid.len());
    for first in (0..grid.len()).step_by(BATCH_SETS) {
        let strategies = strategies(grid, first..grid.len().min(first + BATCH_SETS))?;
        let columns = Columns::of(&strategies);
        let mut table = Table::new(&columns);
        let of = |first: usize| Group::new(rules, first..strategies.len().min(first + LANES));
        let mut groups: Vec<Group> = (0..strategies.len()).step_by(LANES).map(of).collect();
        let stretch = table.stretch_bars();
        for start in decisions.clone().step_by(stretch) {
            let decisions = start..decisions.end.min(start + stretch);
            table.fill(market, decisions.clone());
            let (columns, table, strategies, end) = (&columns, &table, &strategies[..], window.end - 1);
            let on = Stretch { rules, market, columns, table, strategies, end };
            let walk = |group: &mut Group| widest(Walk { group, on, decisions: decisions.clone() });
            groups.par_iter_mut().for_each(walk);
            done += strategies.len() as u64 * decisions.len() as u64;
            on_progress(done, total);
        }
        let (cash, periods) = (rules.initial_cash(), market.periods_per_year);
        rows.extend(groups.iter().flat_map(|group| group.rows(cash, risk_free, periods)));
    }
    Ok(rows)
}

/// As [`cpu`], over several windows side by side; `[windows][sets]`.
///
/// # Errors
/// As [`cpu`].
pub fn cpu_windows(
    rules: &Rules,
    market: &Market<'_>,
    windows: &[Range<usize>],
    grid: &Grid,
    risk_free: f64,
    on_progress: impl FnMut(u64, u64) + Send,
) -> Result<Vec<Vec<SweepRow>>, SweepError> {
    let bars: u64 = windows.iter().map(|window| window.len().saturating_sub(1) as u64).sum();
    let total = bars * grid.len() as u64;
    let progress = Mutex::new((0, on_progress));
    let one = |window: &Range<usize>| {
        let mut before = 0;
        let told = |done: u64, _| {
            // A listener that panicked is not called again.
            if let Ok(mut progress) = progress.lock() {
                let (sum, listener) = &mut *progress;
                *sum += done - before;
                listener(*sum, total);
            }
            before = done;
        };
        cpu(rules, market, window.clone(), grid, risk_free, told)
    };
    windows.par_iter().map(one).collect()
}

/// The sets `range` of a grid.
pub(crate) fn strategies(grid: &Grid, range: Range<usize>) -> Result<Vec<AnyStrategy>, SweepError> {
    let not_a_rule = || SweepError::NotARule { strategy: grid.strategy() };
    range.map(|i| grid.strategy_of(i).ok_or_else(not_a_rule)).collect()
}

#[cfg(test)]
mod reference;
