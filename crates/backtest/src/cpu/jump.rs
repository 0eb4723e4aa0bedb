//! A window whose levels are known beforehand: the account jumps from one bar that matters to the next, and the path
//! between is filled in by all processors. Bit for bit what stepping through every bar gives.
//!
//! A [`Jumper`] steps where the level wanted is not the one held, or where a bar's extremes might liquidate, and leaves
//! a [`Mark`] there. Between two marks cash, units and level stand still and equity is cash + units·close: while the
//! account is on its way through one stretch of bars, the path through the stretch before is filled in.

use std::ops::Range;

use rayon::prelude::*;

use super::account::Account;
use super::engine::{Keep, Market, Rules};
use super::pages::column;
use super::widest::{Work, widest};
use crate::path::{Path, Trade};

/// Bars whose path is filled in while the account is on its way through as many more.
const STRETCH_BARS: usize = 1 << 20;
/// Bars one processor fills in at a time.
const PIECE_BARS: usize = 1 << 14;
/// Levels compared at a time.
const LOOK_BARS: usize = 256;

/// What is held after a bar in which the account did something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    /// The bar lived through, an index into the data set.
    bar: usize,
    cash: f64,
    units: f64,
    level: f64,
}

/// One account on its way through a window.
pub(crate) struct Jumper<'a> {
    rules: &'a Rules,
    market: &'a Market<'a>,
    /// One past the window's last decision.
    end: usize,
    account: Account,
    trades: Vec<Trade>,
    marks: Vec<Mark>,
}

impl Jumper<'_> {
    /// Decides at the closes from bar `first` on, which follow those before, for the levels wanted there.
    pub(crate) fn walk(&mut self, first: usize, levels: &[f64]) {
        let mut at = 0;
        while at < levels.len() && !self.account.ruined() {
            let t = first + at;
            let ahead = &levels[at..levels.len().min(at + LOOK_BARS)];
            let mut rest = same(ahead, self.account.level());
            // What is open is closed in the window's last bar.
            if t + rest == self.end {
                rest = rest.saturating_sub(1);
            }
            if rest > 0 && self.is_quiet(t + 1..t + rest + 1) {
                self.account.skip(rest, self.market.close[t + rest]);
                at += rest;
                continue;
            }
            let (trades, last) = (&mut self.trades, t + 1 == self.end);
            self.account.step(self.rules, self.market, t, levels[at], last, &mut |trade| trades.push(trade));
            let (cash, units, level) = (self.account.cash(), self.account.units(), self.account.level());
            self.marks.push(Mark { bar: t + 1, cash, units, level });
            at += 1;
        }
    }

    fn is_quiet(&self, bars: Range<usize>) -> bool {
        if self.account.units() == 0.0 {
            return self.account.is_quiet(self.rules, 0.0, 0.0);
        }
        let low = extreme(&self.market.low[bars.clone()], |a, b| a < b);
        let high = extreme(&self.market.high[bars], |a, b| a > b);
        self.account.is_quiet(self.rules, low, high)
    }
}

/// How many of the first levels are `held`.
fn same(levels: &[f64], held: f64) -> usize {
    const EIGHT: usize = 8;
    let all = |eight: &[f64; EIGHT]| eight.iter().fold(true, |all, &level| all & (level == held));
    let whole = levels.as_chunks::<EIGHT>().0.iter().take_while(|eight| all(eight)).count() * EIGHT;
    whole + levels[whole..].iter().take_while(|&&level| level == held).count()
}

/// The value that beats all others; eight candidates side by side.
fn extreme(values: &[f64], beats: impl Fn(f64, f64) -> bool) -> f64 {
    let best = |a: f64, b: f64| if beats(b, a) { b } else { a };
    let (eights, rest) = values.as_chunks::<8>();
    let mut lanes = [values[0]; 8];
    for eight in eights {
        lanes.iter_mut().zip(eight).for_each(|(lane, &value)| *lane = best(*lane, value));
    }
    lanes.iter().chain(rest).fold(values[0], |a, &b| best(a, b))
}

/// Walks `n` decisions of `window` from its first bar on. `feed` is told a range of bars and calls [`Jumper::walk`] for
/// all of them.
pub(crate) fn path(
    rules: &Rules,
    market: &Market<'_>,
    (window, n): (Range<usize>, usize),
    keep: Keep,
    mut feed: impl FnMut(&mut Jumper<'_>, Range<usize>) + Send,
) -> Path {
    let cash = rules.initial_cash();
    let (account, end) = (Account::new(rules), window.end.saturating_sub(1));
    let mut jumper = Jumper { rules, market, end, account, trades: Vec::new(), marks: Vec::new() };
    let kept = || if keep == Keep::Everything { column(n + 1) } else { Vec::new() };
    let mut path = Path {
        first_bar: window.start,
        returns: column(n),
        equity: column(n + 1),
        cash: kept(),
        units: kept(),
        level: kept(),
        ..Path::default()
    };
    path.equity[0] = cash;
    path.cash.iter_mut().take(1).for_each(|first| *first = cash);
    let mut columns = Columns::of(&mut path);
    let mut held = Mark { bar: window.start, cash, units: 0.0, level: 0.0 };
    let mut walked: Option<Walked<'_>> = None;
    for first in (window.start..window.start + n).step_by(STRETCH_BARS) {
        let bars = first..(window.start + n).min(first + STRETCH_BARS);
        let columns = columns.split(bars.len());
        match walked.take() {
            Some(before) => drop(rayon::join(|| before.fill(market.close), || feed(&mut jumper, bars))),
            None => feed(&mut jumper, bars),
        }
        let marks = std::mem::take(&mut jumper.marks);
        let before = held;
        held = marks.last().copied().unwrap_or(held);
        walked = Some(Walked { first: first + 1, columns, before, marks });
    }
    if let Some(walked) = walked {
        walked.fill(market.close);
    }
    path.counts = *jumper.account.counts();
    path.trades = jumper.trades;
    path
}

/// A stretch of the path. All are as long, or empty where they are not kept.
struct Columns<'a> {
    returns: &'a mut [f64],
    equity: &'a mut [f64],
    cash: &'a mut [f64],
    units: &'a mut [f64],
    level: &'a mut [f64],
}

impl<'a> Columns<'a> {
    /// The bars lived through.
    fn of(path: &'a mut Path) -> Self {
        let lived = |column: &'a mut Vec<f64>| column.split_first_mut().map_or(&mut [][..], |(_, rest)| rest);
        Self {
            returns: &mut path.returns,
            equity: lived(&mut path.equity),
            cash: lived(&mut path.cash),
            units: lived(&mut path.units),
            level: lived(&mut path.level),
        }
    }

    /// Takes the first `n` bars off.
    fn split(&mut self, n: usize) -> Self {
        fn first<'a>(column: &mut &'a mut [f64], n: usize) -> &'a mut [f64] {
            let whole = std::mem::take(column);
            let (first, rest) = whole.split_at_mut(n.min(whole.len()));
            *column = rest;
            first
        }
        Self {
            returns: first(&mut self.returns, n),
            equity: first(&mut self.equity, n),
            cash: first(&mut self.cash, n),
            units: first(&mut self.units, n),
            level: first(&mut self.level, n),
        }
    }
}

/// A stretch that the account has been through.
struct Walked<'a> {
    /// The first bar lived through.
    first: usize,
    columns: Columns<'a>,
    /// What was held before.
    before: Mark,
    marks: Vec<Mark>,
}

impl Walked<'_> {
    fn fill(mut self, close: &[f64]) {
        let n = self.columns.returns.len();
        let piece = |at: usize| {
            let (first, columns) = (self.first + at, self.columns.split(PIECE_BARS.min(n - at)));
            Piece { first, columns, before: self.before, marks: &self.marks, close }
        };
        let pieces: Vec<Piece<'_>> = (0..n).step_by(PIECE_BARS).map(piece).collect();
        if pieces.len() == 1 {
            pieces.into_iter().for_each(widest);
        } else {
            pieces.into_par_iter().for_each(widest);
        }
    }
}

/// What one processor fills in at a time.
struct Piece<'a> {
    first: usize,
    columns: Columns<'a>,
    /// What was held before the stretch.
    before: Mark,
    marks: &'a [Mark],
    close: &'a [f64],
}

impl Work for Piece<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { first, columns, before, marks, close } = self;
        let (past, marks) = marks.split_at(marks.partition_point(|mark| mark.bar < first));
        let mut held = *past.last().unwrap_or(&before);
        let start = held.cash + held.units * close[first - 1];
        let (n, mut from) = (columns.equity.len(), 0);
        for mark in marks.iter().map(Some).chain([None]) {
            let to = mark.map_or(n, |mark| n.min(mark.bar - first));
            if !columns.cash.is_empty() {
                columns.cash[from..to].fill(held.cash);
                columns.units[from..to].fill(held.units);
                columns.level[from..to].fill(held.level);
            }
            for (equity, close) in columns.equity[from..to].iter_mut().zip(&close[first + from..]) {
                *equity = held.cash + held.units * close;
            }
            let Some(mark) = mark.filter(|_| to < n) else { break };
            (held, from) = (*mark, to);
        }
        // Ruin leaves nothing to divide by.
        let ret = |before: f64, after: f64| if before <= 0.0 { 0.0 } else { after / before - 1.0 };
        columns.returns[0] = ret(start, columns.equity[0]);
        for (to, pair) in columns.returns.iter_mut().skip(1).zip(columns.equity.windows(2)) {
            *to = ret(pair[0], pair[1]);
        }
    }
}
