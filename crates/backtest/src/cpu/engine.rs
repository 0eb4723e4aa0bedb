//! [`Market`] and [`Rules`]: a series and a checked configuration; [`simulate`]: one policy over one window.
//!
//! The life of a bar itself is [`Account::step`]; training environments, evaluation and backtests all call it.

use std::ops::Range;

use gigabar_market::Bars;

use super::account::Account;
use super::jump;
use crate::path::Path;
use crate::policy::{Observation, Policy};
use crate::rules::{Fill, Kelly, Rebalance, RulesError, SimConfig, Slippage, TripleBarrier};

/// The columns the rules read, borrowed from a data set. All slices are `[n_bars]`.
#[derive(Debug, Clone, Copy)]
pub struct Market<'a> {
    /// First price of each bar.
    pub open: &'a [f64],
    /// Highest price.
    pub high: &'a [f64],
    /// Lowest price.
    pub low: &'a [f64],
    /// Last price.
    pub close: &'a [f64],
    /// Traded units.
    pub volume: &'a [f64],
    /// Per-bar volatility ([`gigabar_market::sigma::sigma`]).
    pub sigma: &'a [f64],
    /// Whether the series has volume anywhere; if so a bar without any trades nothing.
    pub has_volume: bool,
    /// Bars per year.
    pub periods_per_year: f64,
}

impl<'a> Market<'a> {
    /// Borrows the columns of `bars`; `sigma` is `sigma(bars.close())`.
    pub fn new(bars: &'a Bars, sigma: &'a [f64]) -> Self {
        debug_assert_eq!(bars.len(), sigma.len());
        Self {
            open: bars.open(),
            high: bars.high(),
            low: bars.low(),
            close: bars.close(),
            volume: bars.volume(),
            sigma,
            has_volume: bars.has_volume(),
            periods_per_year: bars.periods_per_year(),
        }
    }

    /// Whether orders, barriers and liquidations can happen in bar `t`.
    pub fn trades_in(&self, t: usize) -> bool {
        !self.has_volume || self.volume[t] > 0.0
    }
}

/// A [`SimConfig`] checked against a series, with its rates in the units the step uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    pub(crate) initial_cash: f64,
    pub(crate) max_position: f64,
    pub(crate) lot_size: f64,
    pub(crate) rebalance: Rebalance,
    /// |Δ|·close/equity an order must exceed.
    pub(crate) threshold: f64,
    pub(crate) fill: Fill,
    /// Fraction of the price.
    pub(crate) half_spread: f64,
    /// Fraction of the traded value.
    pub(crate) commission: f64,
    pub(crate) commission_fixed: f64,
    pub(crate) slippage: Slippage,
    pub(crate) max_participation: f64,
    /// Carry per bar, fraction of |units|·close.
    pub(crate) carry_long: f64,
    pub(crate) carry_short: f64,
    pub(crate) margin: f64,
    pub(crate) barrier: Option<TripleBarrier>,
    pub(crate) kelly: Option<Kelly>,
}

/// Orders smaller than this share of equity are rounding dust, never sent.
pub const DUST: f64 = 1e-12;

/// A target within this many lots of a whole number of lots is that number: 500 lots computed as 499.999… are 500.
pub const LOT_TOLERANCE: f64 = 1e-9;

impl Rules {
    /// Checks every setting and converts rates to per-bar fractions.
    ///
    /// # Errors
    /// [`RulesError`] naming the first field out of range, or a volume-based model on a series without volume.
    pub fn new(config: &SimConfig, market: &Market<'_>) -> Result<Self, RulesError> {
        config.check()?;
        config.check_volume(market.has_volume)?;
        Ok(Self {
            initial_cash: config.initial_cash,
            max_position: config.max_position,
            lot_size: config.lot_size,
            rebalance: config.rebalance,
            threshold: config.rebalance_threshold.max(DUST),
            fill: config.fill,
            half_spread: config.half_spread_bps * 1e-4,
            commission: config.commission_bps * 1e-4,
            commission_fixed: config.commission_fixed,
            slippage: config.slippage,
            max_participation: config.max_participation,
            carry_long: config.carry_long / market.periods_per_year,
            carry_short: config.carry_short / market.periods_per_year,
            margin: config.maintenance_margin,
            barrier: config.barrier,
            kelly: config.kelly,
        })
    }

    /// Cash at the first bar.
    pub fn initial_cash(&self) -> f64 {
        self.initial_cash
    }

    /// Rounds a target toward zero to whole lots.
    pub(crate) fn whole_lots(&self, units: f64) -> f64 {
        if self.lot_size == 0.0 {
            return units;
        }
        let lots = units / self.lot_size;
        let nearest = lots.round();
        let whole = if (lots - nearest).abs() <= LOT_TOLERANCE { nearest } else { lots.trunc() };
        whole * self.lot_size
    }

    /// The price concession of a market order for `quantity` units against a bar of `volume`, as a fraction.
    pub(crate) fn concession(&self, quantity: f64, volume: f64, sigma: f64) -> f64 {
        let slip = match self.slippage {
            Slippage::None => 0.0,
            Slippage::Fixed { bps } => bps * 1e-4,
            Slippage::VolumeImpact(m) => {
                let impact = m.eta * sigma * (quantity / volume).sqrt();
                // A forced exit in a bar without volume has an infinite (or 0·∞) impact: the cap.
                if impact < m.max_impact { impact } else { m.max_impact }
            }
        };
        self.half_spread + slip
    }
}

/// What a path keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Every column.
    Everything,
    /// Returns and equity.
    Equity,
}

/// Levels asked of a policy at a time.
const SPAN_BARS: usize = 4096;

/// Runs `policy` over the bars `window` (`window.len()` ≥ 2): decisions at all but the last bar, every position closed
/// at the last close.
///
/// A policy that tells its levels beforehand ([`Policy::levels_ahead`]) under rules that let a position rest (no carry,
/// barrier or rebalancing) is not walked bar by bar; the path is the same, bit for bit.
pub fn simulate(
    rules: &Rules,
    bars: &Bars,
    market: &Market<'_>,
    window: Range<usize>,
    policy: &mut dyn Policy,
) -> Path {
    run(rules, bars, market, window, policy, Keep::Everything)
}

/// As [`simulate`], keeping only what metrics read: returns, equity, trades and counts. Cash, units and level stay
/// empty.
pub fn simulate_equity(
    rules: &Rules,
    bars: &Bars,
    market: &Market<'_>,
    window: Range<usize>,
    policy: &mut dyn Policy,
) -> Path {
    run(rules, bars, market, window, policy, Keep::Equity)
}

fn run(
    rules: &Rules,
    bars: &Bars,
    market: &Market<'_>,
    window: Range<usize>,
    policy: &mut dyn Policy,
    keep: Keep,
) -> Path {
    policy.reset(window.clone());
    let (decisions, mut levels) = (window.start..window.end.saturating_sub(1), Vec::new());
    let first = decisions.start..decisions.end.min(decisions.start + SPAN_BARS);
    if rules.rests() && policy.levels_ahead(bars, first.clone(), &mut levels) {
        return jump::path(rules, market, (window, decisions.len()), keep, |jumper, stretch| {
            for start in stretch.clone().step_by(SPAN_BARS) {
                let span = start..stretch.end.min(start + SPAN_BARS);
                if start > first.start {
                    levels.clear();
                    policy.levels_ahead(bars, span, &mut levels);
                }
                jumper.walk(start, &levels);
            }
        });
    }
    walk(rules, market, window, keep, |account, t| {
        let portfolio = account.observation(market, t);
        Some(policy.level(&Observation::new(bars, t, &portfolio)))
    })
}

/// Replays given `levels`, one per decision of `window`, without observations: the fast path for signals.
pub fn replay(rules: &Rules, market: &Market<'_>, window: Range<usize>, levels: &[f64]) -> Path {
    if rules.rests() {
        let n = levels.len().min(window.len().saturating_sub(1));
        let start = window.start;
        return jump::path(rules, market, (window, n), Keep::Everything, |jumper, bars| {
            jumper.walk(bars.start, &levels[bars.start - start..bars.end - start]);
        });
    }
    let mut levels = levels.iter();
    walk(rules, market, window, Keep::Everything, |_, _| levels.next().copied())
}

/// One account along `window`, asking for a level before each step, until there is none.
fn walk(
    rules: &Rules,
    market: &Market<'_>,
    window: Range<usize>,
    keep: Keep,
    mut level: impl FnMut(&Account, usize) -> Option<f64>,
) -> Path {
    let mut account = Account::new(rules);
    let mut path = Path::starting(window.start, window.len(), rules.initial_cash, keep);
    for t in window.start..window.end.saturating_sub(1) {
        let Some(level) = level(&account, t) else { break };
        let step = account.step(rules, market, t, level, t + 2 == window.end, &mut |trade| path.trades.push(trade));
        path.push(step.ret, &account, keep);
    }
    path.counts = *account.counts();
    path
}

impl Path {
    fn starting(first_bar: usize, n_bars: usize, initial_cash: f64, keep: Keep) -> Self {
        let column = |first: f64| {
            let mut v = Vec::with_capacity(n_bars);
            v.push(first);
            v
        };
        let kept = |first: f64| if keep == Keep::Everything { column(first) } else { Vec::new() };
        Self {
            first_bar,
            returns: Vec::with_capacity(n_bars.saturating_sub(1)),
            equity: column(initial_cash),
            cash: kept(initial_cash),
            units: kept(0.0),
            level: kept(0.0),
            ..Self::default()
        }
    }

    fn push(&mut self, ret: f64, account: &Account, keep: Keep) {
        self.returns.push(ret);
        self.equity.push(account.equity());
        if keep == Keep::Equity {
            return;
        }
        self.cash.push(account.cash());
        self.units.push(account.units());
        self.level.push(account.level());
    }
}
