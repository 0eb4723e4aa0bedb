//! [`Account::pass`]: a bar in which nothing can happen, for what runs many accounts over many bars.

use super::account::Account;
use super::engine::{Market, Rules};
use crate::rules::Rebalance;

impl Account {
    /// Lives through bar `t` + 1 as [`Account::step`] would and returns its return, if `level` is held already and no
    /// barrier, carry or liquidation can touch the position; else changes nothing. Not for a window's last bar.
    #[inline]
    pub(crate) fn pass(&mut self, rules: &Rules, market: &Market<'_>, t: usize, level: f64) -> Option<f64> {
        let next = t + 1;
        if level != self.level || self.counts.ruined || rules.rebalance != Rebalance::OnChange {
            return None;
        }
        let equity = self.cash + self.units * market.close[next];
        if self.units != 0.0 {
            let adverse = if self.units > 0.0 { market.low[next] } else { market.high[next] };
            let solvent = self.cash + self.units * adverse > rules.margin * (self.units.abs() * adverse);
            let carried = rules.carry_long != 0.0 || rules.carry_short != 0.0;
            if !solvent || carried || rules.barrier.is_some() || equity <= 0.0 {
                return None;
            }
            self.counts.bars_in_market += 1;
            self.trade.bars += 1;
        }
        self.last_return = equity / self.equity - 1.0;
        self.equity = equity;
        self.peak = self.peak.max(equity);
        Some(self.last_return)
    }
}
