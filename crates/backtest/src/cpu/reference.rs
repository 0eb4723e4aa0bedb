//! The rules of a bar in exact decimal arithmetic: the truth the f64 engine is tested against.
//!
//! Written from the rules, not from the engine: a ledger of cash flows per trade, no running shortcuts, clarity before
//! speed. Volatilities come in as f64; everything that touches money is [`Decimal`].

use std::ops::Range;

use rust_decimal::{Decimal, MathematicalOps};

use super::engine::{DUST, LOT_TOLERANCE, Market};
use crate::path::ExitReason;
use crate::rules::{Fill, Rebalance, SimConfig, Slippage};

/// One trade, exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceTrade {
    /// 1 long, −1 short.
    pub side: i8,
    /// First and last bar, indices into the data set.
    pub bars: (usize, usize),
    /// Average cost per unit.
    pub entry_price: Decimal,
    /// Fill price of the last exit.
    pub exit_price: Decimal,
    /// Net of every cost and carry.
    pub pnl: Decimal,
    /// `pnl` / equity at entry.
    pub trade_return: Decimal,
    /// Bars lived through.
    pub bars_held: usize,
    /// What closed it.
    pub exit: ExitReason,
}

/// The account along a window, exactly; index 0 is the account before the first decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReferencePath {
    /// Cash + units·close. `[n + 1]`
    pub equity: Vec<Decimal>,
    /// `[n + 1]`
    pub cash: Vec<Decimal>,
    /// `[n + 1]`
    pub units: Vec<Decimal>,
    /// Closed trades in order of exit.
    pub trades: Vec<ReferenceTrade>,
    /// Orders refused by bars that did not trade.
    pub rejected_orders: usize,
    /// Orders cut by the participation cap.
    pub capped_orders: usize,
    /// Whether the account was ruined.
    pub ruined: bool,
}

/// Simulates the given `levels`, one per decision of `window`.
///
/// # Panics
/// Where a number leaves the range of [`Decimal`], about ±7.9e28.
pub fn replay(config: &SimConfig, market: &Market<'_>, window: Range<usize>, levels: &[f64]) -> ReferencePath {
    let mut sim = Simulation::new(config, market);
    let decisions = window.start..window.end - 1;
    for (t, &level) in decisions.clone().zip(levels) {
        sim.bar(t, level, t + 1 == decisions.end);
    }
    sim.path
}

fn dec(x: f64) -> Decimal {
    Decimal::from_f64_retain(x).unwrap_or_default()
}

fn bps(x: f64) -> Decimal {
    dec(x) * Decimal::new(1, 4)
}

struct Simulation<'a> {
    config: &'a SimConfig,
    market: &'a Market<'a>,
    cash: Decimal,
    position: Option<Position>,
    level: f64,
    path: ReferencePath,
}

#[derive(Clone)]
struct Position {
    units: Decimal,
    entry_bar: usize,
    entry_price: Decimal,
    equity_at_entry: Decimal,
    /// Every cash flow of the trade, signed, commissions and carry included.
    flows: Vec<Decimal>,
    bars_lived: usize,
    stop: Option<Decimal>,
    take: Option<Decimal>,
    max_hold: Option<usize>,
}

impl Position {
    fn side(&self) -> Decimal {
        if self.units > Decimal::ZERO { Decimal::ONE } else { -Decimal::ONE }
    }

    fn is_long(&self) -> bool {
        self.units > Decimal::ZERO
    }
}

impl<'a> Simulation<'a> {
    fn new(config: &'a SimConfig, market: &'a Market<'a>) -> Self {
        let cash = dec(config.initial_cash);
        let path =
            ReferencePath { equity: vec![cash], cash: vec![cash], units: vec![Decimal::ZERO], ..Default::default() };
        Self { config, market, cash, position: None, level: 0.0, path }
    }

    fn units(&self) -> Decimal {
        self.position.as_ref().map_or(Decimal::ZERO, |p| p.units)
    }

    fn equity(&self) -> Decimal {
        self.path.equity.last().copied().unwrap_or_default()
    }

    fn bar(&mut self, t: usize, level: f64, last: bool) {
        if !self.path.ruined {
            self.decide(t, if level.is_finite() { level } else { 0.0 });
            if let Some(p) = &mut self.position {
                p.bars_lived += 1;
            }
            if self.can_trade(t + 1) {
                self.intrabar(t);
            }
            self.carry(t);
            self.vertical_barrier(t);
            if last && self.position.is_some() {
                self.exit(t, t + 1, dec(self.market.close[t + 1]), true, ExitReason::End);
            }
        }
        self.mark(t + 1);
    }

    fn can_trade(&self, bar: usize) -> bool {
        !self.market.has_volume || self.market.volume[bar] > 0.0
    }

    fn decide(&mut self, t: usize, level: f64) {
        let close = dec(self.market.close[t]);
        let exposure = dec(level) * dec(self.config.max_position) * self.kelly_scale();
        let target = self.to_lots(exposure * self.equity() / close);
        let delta = target - self.units();
        let ordered = match self.config.rebalance {
            Rebalance::OnChange => level != self.level,
            Rebalance::EveryBar => delta.abs() * close / self.equity() > dec(self.config.rebalance_threshold.max(DUST)),
        };
        if !ordered {
            return;
        }
        let (bar, price) = match self.config.fill {
            Fill::NextOpen => (t + 1, self.market.open[t + 1]),
            Fill::Close => (t, self.market.close[t]),
        };
        if !delta.is_zero() && !self.can_trade(bar) {
            self.path.rejected_orders += 1;
            return;
        }
        self.level = level;
        let delta = self.cap(delta, bar);
        if !delta.is_zero() {
            self.trade(t, bar, dec(price), delta);
        }
    }

    fn to_lots(&self, units: Decimal) -> Decimal {
        if self.config.lot_size == 0.0 {
            return units;
        }
        let lot = dec(self.config.lot_size);
        let lots = units / lot;
        let nearest = lots.round();
        if (lots - nearest).abs() <= dec(LOT_TOLERANCE) { nearest * lot } else { lots.trunc() * lot }
    }

    fn cap(&mut self, delta: Decimal, bar: usize) -> Decimal {
        let most = dec(self.config.max_participation) * dec(self.market.volume[bar]);
        if self.config.max_participation == 0.0 || delta.abs() <= most {
            return delta;
        }
        self.path.capped_orders += 1;
        let filled = self.to_lots(most);
        if delta.is_sign_negative() { -filled } else { filled }
    }

    /// The fill price of a market order, and its commission.
    fn price(&self, t: usize, bar: usize, price: Decimal, delta: Decimal, market_order: bool) -> (Decimal, Decimal) {
        let mut fill = price;
        if market_order {
            let concession = bps(self.config.half_spread_bps) + self.slip(t, bar, delta.abs());
            fill = if delta.is_sign_negative() {
                price * (Decimal::ONE - concession)
            } else {
                price * (Decimal::ONE + concession)
            };
        }
        let commission = delta.abs() * fill * bps(self.config.commission_bps) + dec(self.config.commission_fixed);
        (fill, commission)
    }

    fn slip(&self, t: usize, bar: usize, quantity: Decimal) -> Decimal {
        match self.config.slippage {
            Slippage::None => Decimal::ZERO,
            Slippage::Fixed { bps: b } => bps(b),
            Slippage::VolumeImpact(m) => {
                let cap = dec(m.max_impact);
                let volume = dec(self.market.volume[bar]);
                if volume.is_zero() {
                    return cap;
                }
                let root = (quantity / volume).sqrt().unwrap_or_default();
                (dec(m.eta) * dec(self.market.sigma[t]) * root).min(cap)
            }
        }
    }

    /// An order of the policy: splits a flip into its closing and its opening part.
    fn trade(&mut self, t: usize, bar: usize, price: Decimal, delta: Decimal) {
        let (fill, commission) = self.price(t, bar, price, delta, true);
        let held = self.units();
        let after = held + delta;
        let flips = held * after < Decimal::ZERO;
        if held.is_zero() {
            self.enter(t, bar, fill, after, commission);
        } else if after.is_zero() {
            self.leave(bar, fill, commission, ExitReason::Signal);
        } else if flips {
            let closing = commission * held.abs() / delta.abs();
            self.leave(bar, fill, closing, ExitReason::Flip);
            if !self.path.ruined {
                self.enter(t, bar, fill, after, commission - closing);
            }
        } else if let Some(p) = &mut self.position {
            if after.abs() > held.abs() {
                p.entry_price = (held.abs() * p.entry_price + delta.abs() * fill) / after.abs();
            }
            p.units = after;
            let flow = -delta * fill - commission;
            p.flows.push(flow);
            self.cash += flow;
        }
    }

    fn enter(&mut self, t: usize, bar: usize, fill: Decimal, units: Decimal, commission: Decimal) {
        let flow = -units * fill - commission;
        let mut position = Position {
            units,
            entry_bar: bar,
            entry_price: fill,
            equity_at_entry: self.cash,
            flows: vec![flow],
            bars_lived: 0,
            stop: None,
            take: None,
            max_hold: None,
        };
        self.cash += flow;
        if let Some(barrier) = self.config.barrier {
            let hold = Decimal::from(barrier.max_hold.unwrap_or(1));
            let sigma = dec(self.market.sigma[t]) * hold.sqrt().unwrap_or_default();
            if !sigma.is_zero() {
                let side = position.side();
                position.stop = barrier.k_stop.map(|k| fill * (Decimal::ONE - side * dec(k) * sigma));
                position.take = barrier.k_take.map(|k| fill * (Decimal::ONE + side * dec(k) * sigma));
                position.max_hold = barrier.max_hold.map(|h| h as usize);
            }
        }
        self.position = Some(position);
    }

    /// Closes the whole position by an order of its own.
    fn exit(&mut self, t: usize, bar: usize, price: Decimal, market_order: bool, reason: ExitReason) {
        let (fill, commission) = self.price(t, bar, price, -self.units(), market_order);
        self.leave(bar, fill, commission, reason);
        self.level = 0.0;
    }

    fn leave(&mut self, bar: usize, fill: Decimal, commission: Decimal, reason: ExitReason) {
        let Some(p) = self.position.take() else { return };
        let proceeds = p.units * fill - commission;
        self.cash += proceeds;
        let mut pnl = p.flows.iter().sum::<Decimal>() + proceeds;
        if self.cash <= Decimal::ZERO {
            pnl -= self.cash; // what the account cannot pay is not its loss
            self.ruin();
        }
        self.path.trades.push(ReferenceTrade {
            side: if p.is_long() { 1 } else { -1 },
            bars: (p.entry_bar, bar),
            entry_price: p.entry_price,
            exit_price: fill,
            pnl,
            trade_return: pnl / p.equity_at_entry,
            bars_held: p.bars_lived,
            exit: reason,
        });
    }

    fn ruin(&mut self) {
        self.path.ruined = true;
        self.cash = Decimal::ZERO;
        self.level = 0.0;
    }

    fn intrabar(&mut self, t: usize) {
        let Some(p) = self.position.clone() else { return };
        let bar = t + 1;
        let (open, high, low) = (dec(self.market.open[bar]), dec(self.market.high[bar]), dec(self.market.low[bar]));
        let (adverse, favourable) = if p.is_long() { (low, high) } else { (high, low) };
        // Signed so that "worse" is always smaller: the two sides then read alike.
        let s = p.side();
        let at_worst_open = |level: Decimal| s * (s * level).min(s * open);
        let stop = p.stop.filter(|&x| s * adverse <= s * x).map(at_worst_open);
        let margin = dec(self.config.maintenance_margin);
        let called = self.cash + p.units * adverse <= margin * p.units.abs() * adverse;
        let call = called.then(|| at_worst_open(-self.cash / (p.units - margin * p.units.abs())));
        let take = p.take.filter(|&x| s * favourable >= s * x);
        match (call, stop, take) {
            (Some(call), stop, _) if stop.is_none_or(|x| s * call >= s * x) => {
                self.exit(t, bar, call, true, ExitReason::Liquidation);
                self.path.ruined = true;
            }
            (_, Some(x), _) => self.exit(t, bar, x, true, ExitReason::Stop),
            (_, None, Some(x)) => self.exit(t, bar, x, false, ExitReason::Take),
            _ => {}
        }
    }

    fn carry(&mut self, t: usize) {
        let Some(p) = &mut self.position else { return };
        let rate = if p.is_long() { self.config.carry_long } else { self.config.carry_short };
        let paid = p.units.abs() * dec(self.market.close[t]) * dec(rate) / dec(self.market.periods_per_year);
        p.flows.push(-paid);
        self.cash -= paid;
    }

    fn vertical_barrier(&mut self, t: usize) {
        let expired = self.position.as_ref().is_some_and(|p| p.max_hold.is_some_and(|h| p.bars_lived >= h));
        if expired && self.can_trade(t + 1) {
            self.exit(t, t + 1, dec(self.market.close[t + 1]), true, ExitReason::Time);
        }
    }

    fn mark(&mut self, bar: usize) {
        let close = dec(self.market.close[bar]);
        let equity = self.cash + self.units() * close;
        if equity <= Decimal::ZERO && !self.path.ruined {
            self.leave(bar, close, Decimal::ZERO, ExitReason::Liquidation);
            self.ruin();
        }
        self.path.equity.push(equity.max(Decimal::ZERO));
        self.path.cash.push(self.cash);
        self.path.units.push(self.units());
    }

    fn kelly_scale(&self) -> Decimal {
        let Some(kelly) = self.config.kelly else { return Decimal::ONE };
        let returns: Vec<Decimal> = self.path.trades.iter().map(|t| t.trade_return).collect();
        if returns.len() < (kelly.min_trades as usize).max(1) {
            return Decimal::ONE;
        }
        let wins: Vec<Decimal> = returns.iter().copied().filter(|&r| r > Decimal::ZERO).collect();
        let losses: Vec<Decimal> = returns.iter().copied().filter(|&r| r < Decimal::ZERO).collect();
        if losses.is_empty() {
            return dec(kelly.cap);
        }
        if wins.is_empty() {
            return Decimal::ZERO;
        }
        let mean = |v: &[Decimal]| v.iter().sum::<Decimal>() / Decimal::from(v.len());
        let p = Decimal::from(wins.len()) / Decimal::from(returns.len());
        let b = mean(&wins) / -mean(&losses);
        let full = p - (Decimal::ONE - p) / b;
        (dec(kelly.fraction) * full).clamp(Decimal::ZERO, dec(kelly.cap))
    }
}
