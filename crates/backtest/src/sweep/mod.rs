//! A parameter sweep: every set of a [`Grid`] over one window, without keeping any path.
//!
//! [`cpu`] runs the exact engine, the sets in parallel; [`gpu::GpuSweep`](crate::gpu::GpuSweep) does the same on a
//! device. Both take the bars in chunks and carry accounts and statistics along, so memory is bounded by the number of
//! sets, not by the length of the window. Indicators are computed once per distinct length.
//!
//! A row equals a single backtest of its set: P&L, drawdown and counts exactly, the Sharpe ratio to 1e-9 (its mean and
//! deviation are streamed here and made in blocks there).

mod columns;
mod row;
mod statistics;

use std::ops::Range;

use rayon::prelude::*;
use thiserror::Error;

use crate::cpu::account::Account;
use crate::cpu::engine::{Market, Rules};
use crate::path::Trade;
use crate::policy::indicator::{Prices, Stream};
use crate::policy::strategy::{AnyStrategy, MAX_INPUTS, each};
use crate::policy::{Grid, Strategy};

pub(crate) use columns::Columns;
pub use row::SweepRow;
pub(crate) use statistics::{BLOCK, Statistics};

/// Bars computed before every set moves on: an indicator column of a chunk stays in a second-level cache.
const CHUNK_BARS: usize = 8192;
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

/// Runs every set of `grid` over the bars `window`, as [`simulate`](crate::cpu::engine::simulate) would; rows are in the
/// grid's order. `risk_free` is an annual rate. `on_progress` hears of bar evaluations done and in all.
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
        let mut table = Table::new(Columns::of(&strategies));
        let mut runs: Vec<Run> = strategies.iter().map(|_| Run::new(rules)).collect();
        for start in decisions.clone().step_by(CHUNK_BARS) {
            let chunk = start..decisions.end.min(start + CHUNK_BARS);
            table.fill(market, chunk.clone());
            let walk = |(i, run): (usize, &mut Run)| {
                let inputs = table.inputs(i);
                each!(strategies[i], s => run.walk(&s, inputs, rules, market, chunk.clone(), decisions.end));
            };
            runs.par_iter_mut().enumerate().for_each(walk);
            done += runs.len() as u64 * chunk.len() as u64;
            on_progress(done, total);
        }
        rows.extend(runs.iter().map(|run| run.row(risk_free, market.periods_per_year)));
    }
    Ok(rows)
}

/// The sets `range` of a grid.
pub(crate) fn strategies(grid: &Grid, range: Range<usize>) -> Result<Vec<AnyStrategy>, SweepError> {
    let not_a_rule = || SweepError::NotARule { strategy: grid.strategy() };
    range.map(|i| grid.strategy_of(i).ok_or_else(not_a_rule)).collect()
}

/// The indicator columns of one chunk.
struct Table {
    columns: Columns,
    streams: Vec<Stream>,
    /// `[n_column][chunk]`
    values: Vec<Vec<f64>>,
}

impl Table {
    fn new(columns: Columns) -> Self {
        let streams: Vec<_> = columns.indicators().iter().copied().map(Stream::new).collect();
        Self { values: vec![Vec::new(); streams.len()], columns, streams }
    }

    fn fill(&mut self, market: &Market<'_>, chunk: Range<usize>) {
        let prices = Prices { high: market.high, low: market.low, close: market.close };
        self.streams.par_iter_mut().zip(&mut self.values).for_each(|(stream, values)| {
            values.clear();
            values.extend(chunk.clone().map(|t| stream.at(prices, t)));
        });
    }

    /// The columns set `i` reads; those it does not read repeat its first.
    fn inputs(&self, i: usize) -> [&[f64]; MAX_INPUTS] {
        self.columns.of_set(i).map(|column| self.values[column as usize].as_slice())
    }
}

/// One parameter set on its way through the window.
#[derive(Debug, Clone)]
struct Run {
    account: Account,
    /// Level the strategy holds; a barrier or a silent bar may keep the account from holding it.
    level: f64,
    statistics: Statistics,
    n_trades: u32,
    n_wins: u32,
}

impl Run {
    fn new(rules: &Rules) -> Self {
        let statistics = Statistics::new(rules.initial_cash());
        Self { account: Account::new(rules), level: 0.0, statistics, n_trades: 0, n_wins: 0 }
    }

    /// Decides at the closes `chunk`; the window's last decision is at `end` − 1. `inputs` are `[chunk.len()]`.
    fn walk<S: Strategy>(
        &mut self,
        strategy: &S,
        inputs: [&[f64]; MAX_INPUTS],
        rules: &Rules,
        market: &Market<'_>,
        chunk: Range<usize>,
        end: usize,
    ) {
        let (n_trades, n_wins) = (&mut self.n_trades, &mut self.n_wins);
        let mut count = |trade: Trade| {
            *n_trades += 1;
            *n_wins += u32::from(trade.pnl > 0.0);
        };
        for (i, t) in chunk.enumerate() {
            let signal = strategy.signal(market.close[t], &inputs.map(|column| column[i]));
            self.level = signal.apply(self.level);
            let last = t + 1 == end;
            let passed = if last { None } else { self.account.pass(rules, market, t, self.level) };
            let ret = passed.unwrap_or_else(|| self.account.step(rules, market, t, self.level, last, &mut count).ret);
            self.statistics.push(ret, self.account.equity());
        }
    }

    fn row(&self, risk_free: f64, periods_per_year: f64) -> SweepRow {
        let counts = self.account.counts();
        SweepRow {
            costs: counts.costs,
            n_trades: self.n_trades,
            n_wins: self.n_wins,
            bars_in_market: counts.bars_in_market as u32,
            ruined: counts.ruined,
            ..self.statistics.row(risk_free, periods_per_year)
        }
    }
}
