//! The windows chained into one account, and the columns of it that the page draws.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use gigabar_backtest::{ExitReason, Trade};
use serde::Serialize;

use super::format;
use crate::report::decimate;
use crate::report::run_report::{RunReport, WindowCurve};

/// What the chained account starts with: its curve reads as growth of 100.
const START: f64 = 100.0;
/// Points of all curves together; at about 45 bytes a point the page stays near 2 MB.
pub(super) const MAX_POINTS: usize = 40_000;
/// Trades that reach the page; beyond, the best and the worst half of this many.
pub(super) const MAX_TRADES: usize = 2_000;

/// The simple return of one bar lived through, and that of buy-and-hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BarReturn {
    /// The bar's open, UTC ns.
    pub(super) ts: i64,
    /// The account's.
    pub(super) ret: f64,
    /// Buy-and-hold's.
    pub(super) benchmark: f64,
}

/// One window inside the chain, at full resolution.
struct Link<'a> {
    curve: &'a WindowCurve,
    first_bar: usize,
    equity: Vec<f64>,
    benchmark: Vec<f64>,
    drawdown: Vec<f64>,
}

/// All windows in order, each starting with what the one before ended with.
pub(super) struct Chain<'a> {
    links: Vec<Link<'a>>,
}

impl<'a> Chain<'a> {
    /// Chains the report's curves.
    ///
    /// # Errors
    /// A curve whose columns differ in length, or that belongs to no window of the report.
    pub(super) fn new(report: &'a RunReport) -> Result<Self> {
        let mut links = Vec::with_capacity(report.curves.len());
        let (mut equity, mut benchmark, mut peak) = (START, START, START);
        for curve in &report.curves {
            check(curve)?;
            let Some(window) = report.report.windows.iter().find(|w| w.index == curve.index) else {
                bail!("curve {}: the report has no window of that index", curve.index);
            };
            let link = Link::new(curve, window.first_bar, equity, benchmark, &mut peak);
            equity = link.equity.last().copied().unwrap_or(equity);
            benchmark = link.benchmark.last().copied().unwrap_or(benchmark);
            links.push(link);
        }
        Ok(Self { links })
    }

    /// Whether there is no point at all.
    pub(super) fn is_empty(&self) -> bool {
        self.links.iter().all(|l| l.equity.is_empty())
    }

    /// Closed trades of all windows.
    pub(super) fn n_trades(&self) -> usize {
        self.links.iter().map(|l| l.curve.trades.len()).sum()
    }

    /// Every bar lived through, in order; none where the curves do not have them all.
    pub(super) fn returns(&self) -> Vec<BarReturn> {
        if self.links.iter().any(|link| link.curve.thinned_from.is_some()) {
            return Vec::new();
        }
        let mut bars = Vec::with_capacity(self.links.iter().map(|l| l.equity.len()).sum());
        for link in &self.links {
            let curve = link.curve;
            bars.extend((1..curve.ts.len()).map(|i| BarReturn {
                ts: curve.ts[i],
                ret: ratio(curve.equity[i], curve.equity[i - 1]) - 1.0,
                benchmark: ratio(curve.benchmark[i], curve.benchmark[i - 1]) - 1.0,
            }));
        }
        bars
    }

    /// The curves, thinned to what a page can show.
    pub(super) fn windows(&self) -> Vec<WindowColumns> {
        let n_total: usize = self.links.iter().map(|l| l.equity.len()).sum();
        self.links.iter().map(|link| link.columns((MAX_POINTS * link.equity.len()).div_ceil(n_total.max(1)))).collect()
    }

    /// The trades the page lists, in order of entry.
    pub(super) fn trades(&self) -> TradeColumns {
        let mut all: Vec<(&Link<'_>, &Trade)> =
            self.links.iter().flat_map(|link| link.curve.trades.iter().map(move |t| (link, t))).collect();
        if all.len() > MAX_TRADES {
            all.sort_by(|a, b| a.1.pnl.total_cmp(&b.1.pnl));
            all.drain(MAX_TRADES / 2..all.len() - MAX_TRADES / 2);
            all.sort_by_key(|(_, t)| (t.entry_bar, t.exit_bar));
        }
        let mut columns = TradeColumns::default();
        all.into_iter().for_each(|(link, trade)| columns.push(link, trade));
        columns
    }
}

impl<'a> Link<'a> {
    fn new(curve: &'a WindowCurve, first_bar: usize, equity: f64, benchmark: f64, peak: &mut f64) -> Self {
        let scaled =
            |values: &[f64], start: f64| -> Vec<f64> { values.iter().map(|&v| start * ratio(v, values[0])).collect() };
        let equity = scaled(&curve.equity, equity);
        let drawdown = equity
            .iter()
            .map(|&e| {
                *peak = peak.max(e);
                e / *peak - 1.0
            })
            .collect();
        Self { curve, first_bar, equity, benchmark: scaled(&curve.benchmark, benchmark), drawdown }
    }

    fn columns(&self, max_points: usize) -> WindowColumns {
        let curve = self.curve;
        let series: [&[f64]; 5] = [&self.equity, &self.benchmark, &self.drawdown, &curve.close, &curve.exposure];
        let kept = decimate::keep(&series, curve.ts.len(), max_points);
        let pick = |values: &[f64]| kept.iter().map(|&i| format::rounded(values[i])).collect();
        let pick_fixed = |values: &[f64]| kept.iter().map(|&i| format::fixed(values[i], 4)).collect();
        let t0 = curve.ts.first().map_or(0, |&ts| ms(ts));
        let mut before = t0;
        let steps = kept.iter().map(|&i| {
            let now = ms(curve.ts[i]);
            now - std::mem::replace(&mut before, now)
        });
        WindowColumns {
            index: curve.index,
            t0,
            dt: steps.collect(),
            equity: pick(&self.equity),
            benchmark: pick(&self.benchmark),
            price: pick(&curve.close),
            exposure: pick_fixed(&curve.exposure),
            drawdown: pick_fixed(&self.drawdown),
        }
    }

    /// Position inside the window of a bar of the data set.
    fn position(&self, bar: usize) -> usize {
        bar.saturating_sub(self.first_bar).min(self.equity.len().saturating_sub(1))
    }
}

fn check(curve: &WindowCurve) -> Result<()> {
    let n = curve.ts.len();
    let named = [
        ("equity", &curve.equity),
        ("benchmark", &curve.benchmark),
        ("exposure", &curve.exposure),
        ("level", &curve.level),
        ("close", &curve.close),
    ];
    for (name, values) in named {
        ensure!(values.len() == n, "curve {}: {name} has {} values, ts has {n}", curve.index, values.len());
    }
    Ok(())
}

/// `a / b`, 1 where the account was already empty: a ruined account returns nothing.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 1.0 }
}

fn ms(ts_ns: i64) -> i64 {
    ts_ns.div_euclid(1_000_000)
}

/// One window's columns for the page; `null` where a value is not finite.
#[derive(Debug, Serialize)]
pub(super) struct WindowColumns {
    index: usize,
    /// The first bar's open, ms since the epoch.
    t0: i64,
    /// Milliseconds since the point before.
    dt: Vec<i64>,
    equity: Vec<Option<f64>>,
    benchmark: Vec<Option<f64>>,
    price: Vec<Option<f64>>,
    exposure: Vec<Option<f64>>,
    drawdown: Vec<Option<f64>>,
}

/// The listed trades, a column each.
#[derive(Debug, Default, Serialize)]
pub(super) struct TradeColumns {
    window: Vec<usize>,
    side: Vec<i8>,
    units: Vec<Option<f64>>,
    entry_t: Vec<i64>,
    exit_t: Vec<i64>,
    entry_price: Vec<Option<f64>>,
    exit_price: Vec<Option<f64>>,
    entry_equity: Vec<Option<f64>>,
    exit_equity: Vec<Option<f64>>,
    pnl: Vec<Option<f64>>,
    trade_return: Vec<Option<f64>>,
    bars_held: Vec<usize>,
    reason: Vec<ExitReason>,
}

impl TradeColumns {
    fn push(&mut self, link: &Link<'_>, trade: &Trade) {
        if link.equity.is_empty() {
            return;
        }
        let (entry, exit) = (link.position(trade.entry_bar), link.position(trade.exit_bar));
        self.window.push(link.curve.index);
        self.side.push(trade.side);
        self.units.push(format::rounded(trade.units));
        self.entry_t.push(ms(link.curve.ts[entry]));
        self.exit_t.push(ms(link.curve.ts[exit]));
        self.entry_price.push(format::rounded(trade.entry_price));
        self.exit_price.push(format::rounded(trade.exit_price));
        self.entry_equity.push(format::rounded(link.equity[entry]));
        self.exit_equity.push(format::rounded(link.equity[exit]));
        self.pnl.push(format::fixed(trade.pnl, 4));
        self.trade_return.push(format::rounded(trade.trade_return));
        self.bars_held.push(trade.bars_held);
        self.reason.push(trade.exit);
    }
}

/// Closed trades by what closed them, most frequent first.
pub(super) fn exits(report: &RunReport) -> Vec<(&'static str, usize)> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for trade in report.curves.iter().flat_map(|c| &c.trades) {
        *counts.entry(reason_text(trade.exit)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    counts
}

fn reason_text(reason: ExitReason) -> &'static str {
    match reason {
        ExitReason::Signal => "signal",
        ExitReason::Flip => "change of side",
        ExitReason::Stop => "stop",
        ExitReason::Take => "take-profit",
        ExitReason::Time => "time limit",
        ExitReason::Liquidation => "liquidation",
        ExitReason::End => "end of window",
    }
}
