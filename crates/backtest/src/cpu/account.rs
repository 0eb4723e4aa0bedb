//! [`Account::step`]: decision at the close of bar t, life in bar t + 1. The f64 statement of the rules.
//!
//! Order within a step: order → fill → stop or liquidation → take-profit → carry → vertical barrier → forced close at
//! the window's end → mark. Every price concession and barrier of the step uses `sigma[t]`. The operations and their
//! order are the contract a device twin must repeat bit for bit; [`super::reference`] states them again in Decimal.

use serde::{Deserialize, Serialize};

use super::engine::{Market, Rules};
use super::kelly::Tally;
use crate::path::{Counts, ExitReason, Trade};
use crate::rules::{Fill, Rebalance};

/// Cash, position and the trade in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    pub(crate) cash: f64,
    pub(crate) units: f64,
    pub(crate) level: f64,
    pub(crate) equity: f64,
    pub(crate) initial: f64,
    pub(crate) peak: f64,
    pub(crate) last_return: f64,
    pub(crate) trade: OpenTrade,
    pub(crate) tally: Tally,
    pub(crate) counts: Counts,
}

/// The trade in progress; meaningful while units are held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenTrade {
    pub(crate) entry_bar: usize,
    /// Average cost per unit.
    pub(crate) entry_price: f64,
    /// Equity just before the entry.
    pub(crate) equity: f64,
    /// Net cash received so far; the P&L once flat.
    pub(crate) flow: f64,
    pub(crate) max_units: f64,
    /// Bars lived through.
    pub(crate) bars: usize,
    pub(crate) stop: Option<f64>,
    pub(crate) take: Option<f64>,
    pub(crate) max_hold: Option<u32>,
}

/// What one bar did to the account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// equity_{t+1}/equity_t − 1; 0 once ruined.
    pub ret: f64,
    /// Equity after the bar.
    pub equity: f64,
    /// Σ|Δ|·price/equity_t over the bar's fills.
    pub turnover: f64,
    /// Rise of the drawdown, ≥ 0.
    pub drawdown_rise: f64,
    /// `sigma[t + 1]`, the volatility once the bar has closed.
    pub sigma: f64,
    /// Whether the account was ruined in this very bar.
    pub ruined: bool,
}

/// Where, at what price and against which volume the fills of one instant happen.
#[derive(Clone, Copy)]
struct Venue<'a> {
    rules: &'a Rules,
    /// Bar whose price and volume are used.
    bar: usize,
    volume: f64,
    sigma: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum OrderKind {
    /// Pays spread and slippage.
    Market,
    /// Commission only.
    Limit,
}

impl Account {
    /// A flat account holding the initial cash.
    pub fn new(rules: &Rules) -> Self {
        let cash = rules.initial_cash;
        Self {
            cash,
            units: 0.0,
            level: 0.0,
            equity: cash,
            initial: cash,
            peak: cash,
            last_return: 0.0,
            trade: OpenTrade::default(),
            tally: Tally::default(),
            counts: Counts::default(),
        }
    }

    /// Cash + units·close at the last bar lived through.
    pub fn equity(&self) -> f64 {
        self.equity
    }

    /// Cash; negative when a long position is levered.
    pub fn cash(&self) -> f64 {
        self.cash
    }

    /// Units held, negative when short.
    pub fn units(&self) -> f64 {
        self.units
    }

    /// Level held.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Events so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether the account is frozen for good.
    pub fn ruined(&self) -> bool {
        self.counts.ruined
    }

    /// Decides at the close of bar `t` for `level` and lives through bar `t + 1`; `last` closes what is open at its
    /// close. A level that is not finite is taken as flat and counted. Closed trades go to `trades`.
    pub fn step(
        &mut self,
        rules: &Rules,
        market: &Market<'_>,
        t: usize,
        level: f64,
        last: bool,
        trades: &mut impl FnMut(Trade),
    ) -> Step {
        let next = t + 1;
        if self.counts.ruined {
            return self.frozen(market.sigma[next]);
        }
        let before = self.equity;
        let drawdown = self.drawdown();
        let traded = self.counts.traded_value;

        self.order(rules, market, t, level, trades);
        if self.units != 0.0 {
            self.live(rules, market, t, last, trades);
        }
        self.mark(market.close[next], next, trades);

        self.last_return = self.equity / before - 1.0;
        Step {
            ret: self.last_return,
            equity: self.equity,
            turnover: (self.counts.traded_value - traded) / before,
            drawdown_rise: (self.drawdown() - drawdown).max(0.0),
            sigma: market.sigma[next],
            ruined: self.counts.ruined,
        }
    }

    fn frozen(&mut self, sigma: f64) -> Step {
        self.last_return = 0.0;
        Step { ret: 0.0, equity: self.equity, turnover: 0.0, drawdown_rise: 0.0, sigma, ruined: false }
    }

    pub(super) fn drawdown(&self) -> f64 {
        1.0 - self.equity / self.peak
    }

    /// Sizes the level and sends the order, if there is one.
    fn order(&mut self, rules: &Rules, market: &Market<'_>, t: usize, level: f64, trades: &mut impl FnMut(Trade)) {
        let level = if level.is_finite() {
            level
        } else {
            self.counts.nan_levels += 1;
            0.0
        };
        let exposure = level * rules.max_position * self.tally.scale(rules.kelly.as_ref());
        let target = rules.whole_lots(exposure * self.equity / market.close[t]);
        let mut delta = target - self.units;
        let wanted = match rules.rebalance {
            Rebalance::OnChange => level != self.level,
            Rebalance::EveryBar => delta.abs() * market.close[t] / self.equity > rules.threshold,
        };
        if !wanted {
            return;
        }
        if delta == 0.0 {
            self.level = level;
            return;
        }
        let (bar, price) = match rules.fill {
            Fill::NextOpen => (t + 1, market.open[t + 1]),
            Fill::Close => (t, market.close[t]),
        };
        if !market.trades_in(bar) {
            self.counts.rejected_orders += 1;
            return;
        }
        let venue = Venue { rules, bar, volume: market.volume[bar], sigma: market.sigma[t] };
        self.level = level;
        let mut after = target;
        let cap = rules.max_participation * venue.volume;
        if rules.max_participation > 0.0 && delta.abs() > cap {
            self.counts.capped_orders += 1;
            delta = rules.whole_lots(cap).copysign(delta);
            after = self.units + delta;
            if delta == 0.0 {
                return;
            }
        }
        self.trade_to(&venue, price, delta, after, trades);
    }

    /// Fills a policy's order of `delta` units that leaves `after` units: opens, resizes, closes or flips.
    fn trade_to(&mut self, venue: &Venue<'_>, price: f64, delta: f64, after: f64, trades: &mut impl FnMut(Trade)) {
        if self.units == 0.0 {
            let (fill, commission) = self.fill(venue, price, delta, OrderKind::Market);
            return self.open(venue, fill, after, commission);
        }
        if after == 0.0 {
            return self.close(venue, price, OrderKind::Market, ExitReason::Signal, trades);
        }
        let held = self.units;
        let (fill, commission) = self.fill(venue, price, delta, OrderKind::Market);
        if (after > 0.0) == (held > 0.0) {
            return self.resize(fill, delta, after, commission);
        }
        let closing = commission * (held.abs() / delta.abs());
        self.settle(venue.bar, fill, held * fill - closing, ExitReason::Flip, trades);
        if !self.counts.ruined {
            self.open(venue, fill, after, commission - closing);
        }
    }

    /// Prices a fill and counts it. Returns the fill price and the commission; cash moves with the caller.
    #[inline]
    fn fill(&mut self, venue: &Venue<'_>, price: f64, delta: f64, kind: OrderKind) -> (f64, f64) {
        let rules = venue.rules;
        let quantity = delta.abs();
        let fill = match kind {
            OrderKind::Market => {
                let concession = rules.concession(quantity, venue.volume, venue.sigma);
                price * (1.0 + concession.copysign(delta))
            }
            OrderKind::Limit => price,
        };
        let commission = quantity * fill * rules.commission + rules.commission_fixed;
        self.counts.fills += 1;
        self.counts.traded_value += quantity * price;
        self.counts.costs += quantity * (fill - price).abs() + commission;
        (fill, commission)
    }

    fn open(&mut self, venue: &Venue<'_>, fill: f64, units: f64, commission: f64) {
        let flow = -(units * fill) - commission;
        self.trade = OpenTrade {
            entry_bar: venue.bar,
            entry_price: fill,
            equity: self.cash,
            flow,
            max_units: units.abs(),
            ..OpenTrade::default()
        };
        self.cash += flow;
        self.units = units;
        self.set_barriers(venue, fill);
    }

    fn set_barriers(&mut self, venue: &Venue<'_>, fill: f64) {
        let Some(barrier) = venue.rules.barrier else { return };
        let horizon = barrier.max_hold.map_or(1.0, f64::from);
        let reach = venue.sigma * horizon.sqrt();
        if reach == 0.0 {
            return;
        }
        let side = 1.0f64.copysign(self.units);
        self.trade.stop = barrier.k_stop.map(|k| fill * (1.0 - side * (k * reach)));
        self.trade.take = barrier.k_take.map(|k| fill * (1.0 + side * (k * reach)));
        self.trade.max_hold = barrier.max_hold;
    }

    fn resize(&mut self, fill: f64, delta: f64, after: f64, commission: f64) {
        let flow = -(delta * fill) - commission;
        if after.abs() > self.units.abs() {
            let cost = self.units.abs() * self.trade.entry_price + delta.abs() * fill;
            self.trade.entry_price = cost / after.abs();
        }
        self.trade.max_units = self.trade.max_units.max(after.abs());
        self.trade.flow += flow;
        self.cash += flow;
        self.units = after;
    }

    /// Closes everything at `price`. The level held becomes 0 unless the policy asked for the exit itself.
    fn close(
        &mut self,
        venue: &Venue<'_>,
        price: f64,
        kind: OrderKind,
        exit: ExitReason,
        trades: &mut impl FnMut(Trade),
    ) {
        let held = self.units;
        let (fill, commission) = self.fill(venue, price, -held, kind);
        self.settle(venue.bar, fill, held * fill - commission, exit, trades);
        if exit != ExitReason::Signal {
            self.level = 0.0;
        }
    }

    /// Books the proceeds that end a trade. An account left with nothing is ruined; its debt is the broker's loss.
    fn settle(&mut self, bar: usize, fill: f64, proceeds: f64, exit: ExitReason, trades: &mut impl FnMut(Trade)) {
        let side = if self.units > 0.0 { 1 } else { -1 };
        self.cash += proceeds;
        let mut pnl = self.trade.flow + proceeds;
        if self.cash <= 0.0 {
            pnl -= self.cash;
            self.cash = 0.0;
            self.counts.ruined = true;
            self.level = 0.0;
        }
        self.units = 0.0;
        let trade_return = pnl / self.trade.equity;
        self.tally.add(trade_return);
        trades(Trade {
            side,
            entry_bar: self.trade.entry_bar,
            exit_bar: bar,
            units: self.trade.max_units,
            entry_price: self.trade.entry_price,
            exit_price: fill,
            pnl,
            trade_return,
            bars_held: self.trade.bars,
            exit,
        });
    }

    /// Lives through bar t + 1 with a position.
    fn live(&mut self, rules: &Rules, market: &Market<'_>, t: usize, last: bool, trades: &mut impl FnMut(Trade)) {
        let bar = t + 1;
        let venue = Venue { rules, bar, volume: market.volume[bar], sigma: market.sigma[t] };
        let can_trade = market.trades_in(bar);
        self.counts.bars_in_market += 1;
        self.trade.bars += 1;
        if can_trade {
            self.touch(&venue, market, trades);
        }
        if self.units == 0.0 {
            return;
        }
        let rate = if self.units > 0.0 { rules.carry_long } else { rules.carry_short };
        let carry = self.units.abs() * market.close[t] * rate;
        self.cash -= carry;
        self.trade.flow -= carry;
        self.counts.carry += carry;
        let expired = self.trade.max_hold.is_some_and(|h| self.trade.bars >= h as usize);
        if expired && can_trade {
            self.close(&venue, market.close[bar], OrderKind::Market, ExitReason::Time, trades);
        } else if last {
            self.close(&venue, market.close[bar], OrderKind::Market, ExitReason::End, trades);
        }
    }

    /// Stop and liquidation against the adverse extreme, then the take-profit.
    fn touch(&mut self, venue: &Venue<'_>, market: &Market<'_>, trades: &mut impl FnMut(Trade)) {
        let (open, high, low) = (market.open[venue.bar], market.high[venue.bar], market.low[venue.bar]);
        let long = self.units > 0.0;
        let adverse = if long { low } else { high };
        // Where each order would fill: its level, or the open when that is already beyond.
        let from_open = |level: f64| if long { level.min(open) } else { level.max(open) };
        let reached = |level: f64| if long { low <= level } else { high >= level };
        let stop = self.trade.stop.filter(|&s| reached(s)).map(from_open);
        let liquidation = self.liquidation(venue.rules.margin, adverse).map(from_open);
        let nearer = |l: f64, s: f64| if long { l >= s } else { l <= s };
        match (stop, liquidation) {
            (stop, Some(l)) if stop.is_none_or(|s| nearer(l, s)) => {
                self.close(venue, l, OrderKind::Market, ExitReason::Liquidation, trades);
                self.counts.ruined = true;
            }
            (Some(s), _) => self.close(venue, s, OrderKind::Market, ExitReason::Stop, trades),
            _ => {
                let touched = |&k: &f64| if long { high >= k } else { low <= k };
                if let Some(take) = self.trade.take.filter(touched) {
                    self.close(venue, take, OrderKind::Limit, ExitReason::Take, trades);
                }
            }
        }
    }

    /// The price at which equity equals the maintenance margin, if the adverse extreme reaches it.
    fn liquidation(&self, margin: f64, adverse: f64) -> Option<f64> {
        let notional = self.units.abs() * adverse;
        if self.cash + self.units * adverse > margin * notional {
            return None;
        }
        // cash + units·q = margin·|units|·q
        Some(self.cash / (margin * self.units.abs() - self.units))
    }

    /// Values the account at the close. Equity that is gone without a trade (a bar that could not liquidate, costs,
    /// carry) ends the account there.
    fn mark(&mut self, close: f64, bar: usize, trades: &mut impl FnMut(Trade)) {
        self.equity = self.cash + self.units * close;
        if self.equity <= 0.0 {
            self.counts.ruined = true;
            self.level = 0.0;
            if self.units != 0.0 {
                self.settle(bar, close, self.units * close, ExitReason::Liquidation, trades);
            }
            self.cash = 0.0;
            self.equity = 0.0;
        }
        self.peak = self.peak.max(self.equity);
    }
}
