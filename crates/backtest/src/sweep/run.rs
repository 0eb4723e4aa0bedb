//! [`Run`]: the account of one parameter set; [`Group`]: as many as there are lanes, on their way through a window.

use std::ops::Range;

use super::lanes::{Eight, Holdings, LANES, Lanes, ROWS};
use super::statistics::Statistics;
use super::table::Table;
use super::word::{Levels, Signals, WORD_BARS, Wants, Word};
use super::{SweepRow, columns::Columns};
use crate::cpu::account::Account;
use crate::cpu::engine::{Market, Rules};
use crate::cpu::widest::Work;
use crate::path::Trade;
use crate::policy::strategy::{AnyStrategy, each};

/// What every group of a sweep shares over one stretch of bars.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a> {
    pub(super) rules: &'a Rules,
    pub(super) market: &'a Market<'a>,
    pub(super) columns: &'a Columns,
    pub(super) table: &'a Table,
    /// The sets of the batch.
    pub(super) strategies: &'a [AnyStrategy],
    /// One past the window's last decision.
    pub(super) end: usize,
}

/// One parameter set's account.
#[derive(Debug, Clone)]
struct Run {
    account: Account,
    /// Side the strategy is on; a barrier or a silent bar may keep the account from being there.
    side: f64,
    n_trades: u32,
    n_wins: u32,
}

/// What the accounts of a group hold after the bars of a word in which they did something.
struct Changes {
    /// Bit i: bar i of the word. `[LANES]`
    bars: [u64; LANES],
    /// `[LANES][WORD_BARS]`, where the bit is set.
    cash: [[f64; WORD_BARS]; LANES],
    units: [[f64; WORD_BARS]; LANES],
}

impl Run {
    fn new(rules: &Rules) -> Self {
        Self { account: Account::new(rules), side: 0.0, n_trades: 0, n_wins: 0 }
    }

    /// Decides at the `n` closes from bar `first` on: steps at those where something may happen and jumps over the
    /// rest.
    /// Writes what is held after each step; returns the bars stepped through.
    fn walk(
        &mut self,
        on: &Stretch<'_>,
        wants: &mut impl Wants,
        (first, n): (usize, usize),
        cash: &mut [f64; WORD_BARS],
        units: &mut [f64; WORD_BARS],
    ) -> u64 {
        let (rules, market, account) = (on.rules, on.market, &mut self.account);
        let (n_trades, n_wins) = (&mut self.n_trades, &mut self.n_wins);
        let mut count = |trade: Trade| {
            *n_trades += 1;
            *n_wins += u32::from(trade.pnl > 0.0);
        };
        let (low, high) = on.table.extremes(first);
        let ends = first + n == on.end;
        let mut stepped = 0;
        let mut at = 0;
        while at < n && !account.ruined() {
            let mut next = at;
            if account.is_quiet(rules, low, high) {
                // What is open is closed in the window's last bar.
                next = wants.next(at, account.level()).min(if ends { n - 1 } else { n });
            }
            account.skip(next - at, market.close[first + next]);
            if next == n {
                break;
            }
            let t = first + next;
            account.step(rules, market, t, wants.level(next), t + 1 == on.end, &mut count);
            (cash[next], units[next]) = (account.cash(), account.units());
            stepped |= 1 << next;
            at = next + 1;
        }
        stepped
    }
}

/// Neighbouring sets of a batch, at most [`LANES`].
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The first set's place in the batch.
    first: usize,
    runs: Vec<Run>,
    lanes: Lanes,
    /// The bars after the last whole block, which only a window's end leaves.
    rest: Option<[Statistics; LANES]>,
}

impl Group {
    /// The sets `sets` of a batch, at the start of a window.
    pub(super) fn new(rules: &Rules, sets: Range<usize>) -> Self {
        let runs = sets.clone().map(|_| Run::new(rules)).collect();
        Self { first: sets.start, runs, lanes: Lanes::new(rules.initial_cash()), rest: None }
    }

    /// The rows of its sets.
    pub(super) fn rows(
        &self,
        initial_cash: f64,
        risk_free: f64,
        periods_per_year: f64,
    ) -> impl Iterator<Item = SweepRow> {
        self.runs.iter().enumerate().map(move |(lane, run)| {
            let statistics = self.rest.map_or_else(|| self.lanes.statistics(lane), |rest| rest[lane]);
            let counts = run.account.counts();
            SweepRow {
                costs: counts.costs,
                n_trades: run.n_trades,
                n_wins: run.n_wins,
                bars_in_market: counts.bars_in_market as u32,
                ruined: counts.ruined,
                ..Statistics { initial: initial_cash, ..statistics }.row(risk_free, periods_per_year)
            }
        })
    }
}

/// A group's way through a stretch of decisions, whole words from the window's start on.
pub(super) struct Walk<'a> {
    pub(super) group: &'a mut Group,
    pub(super) on: Stretch<'a>,
    pub(super) decisions: Range<usize>,
}

impl Work for Walk<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { group, on, decisions } = self;
        let mut changes =
            Changes { bars: [0; LANES], cash: [[0.0; WORD_BARS]; LANES], units: [[0.0; WORD_BARS]; LANES] };
        for first in decisions.clone().step_by(WORD_BARS) {
            let n = WORD_BARS.min(decisions.end - first);
            let offset = first - decisions.start;
            for (lane, run) in group.runs.iter_mut().enumerate() {
                changes.bars[lane] = 0;
                if run.account.ruined() {
                    continue;
                }
                let set = group.first + lane;
                let inputs = on.table.inputs(on.columns.of_set(set), offset..offset + n);
                let close = &on.market.close[first..first + n];
                let (cash, units) = (&mut changes.cash[lane], &mut changes.units[lane]);
                let (strategy, side, a_year) = (on.strategies[set], &mut run.side, on.market.periods_per_year);
                changes.bars[lane] = if strategy.is_sized() {
                    let mut levels = each!(strategy, strategy => Levels::of(&strategy, close, inputs, a_year, side));
                    run.walk(&on, &mut levels, (first, n), cash, units)
                } else {
                    let word = each!(strategy, strategy => Word::of(&strategy, close, inputs));
                    let mut signals = Signals { word, side: *side };
                    let stepped = run.walk(&on, &mut signals, (first, n), cash, units);
                    run.side = signals.side;
                    stepped
                };
            }
            group.count(&changes, &on.market.close[first + 1..=first + n]);
        }
    }
}

impl Group {
    /// The statistics of the bars that closed at `close`, at most a word of them.
    #[inline(always)]
    fn count(&mut self, changes: &Changes, close: &[f64]) {
        let any = changes.bars.iter().fold(0, |any, bars| any | bars);
        let (blocks, rest) = close.as_chunks::<ROWS>();
        for (block, close) in blocks.iter().enumerate() {
            let at = block * ROWS;
            if (any >> at) & ((1 << ROWS) - 1) == 0 {
                self.lanes.held(close);
            } else {
                self.lanes.traded(close, &changes.holdings(&self.lanes, at));
            }
        }
        if !rest.is_empty() {
            self.count_rest(changes, blocks.len() * ROWS, rest);
        }
    }

    /// A window's end, lane by lane.
    #[cold]
    fn count_rest(&mut self, changes: &Changes, at: usize, close: &[f64]) {
        let holdings = changes.holdings(&self.lanes, at);
        let rest: [Statistics; LANES] = std::array::from_fn(|lane| {
            let mut one = self.lanes.statistics(lane);
            for (row, close) in close.iter().enumerate() {
                let equity = holdings.cash[row][lane] + holdings.units[row][lane] * close;
                one.push(if one.equity <= 0.0 { 0.0 } else { equity / one.equity - 1.0 }, equity);
            }
            one
        });
        self.rest = Some(rest);
    }
}

impl Changes {
    /// What is held after each bar of the block that begins at bar `at` of the word.
    #[inline(always)]
    fn holdings(&self, before: &Lanes, at: usize) -> Holdings {
        let mut held = Holdings { cash: [before.cash; ROWS], units: [before.units; ROWS] };
        for (lane, bars) in self.bars.iter().enumerate() {
            let mut bars = (bars >> at) & ((1 << ROWS) - 1);
            while bars != 0 {
                let row = bars.trailing_zeros() as usize;
                let (cash, units) = (self.cash[lane][at + row], self.units[lane][at + row]);
                let fill = |rows: &mut [Eight], value| rows.iter_mut().for_each(|eight| eight[lane] = value);
                fill(&mut held.cash[row..], cash);
                fill(&mut held.units[row..], units);
                bars &= bars - 1;
            }
        }
        held
    }
}
