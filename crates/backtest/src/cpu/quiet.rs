//! Stretches of bars in which nothing can happen to an account: while it holds its level, cash and units do not change
//! and equity is cash + units·close. What trades many bars jumps over them and steps ([`Account::step`]) at the others.

use super::account::Account;
use super::engine::Rules;
use crate::rules::Rebalance;

impl Rules {
    /// Whether a position can go through a bar unchanged. With carry, barriers or rebalancing something happens in all.
    pub(crate) fn rests(&self) -> bool {
        self.rebalance == Rebalance::OnChange && self.holds_still()
    }

    /// Whether nothing is due for holding: no carry, and no barrier to look at.
    fn holds_still(&self) -> bool {
        self.carry_long == 0.0 && self.carry_short == 0.0 && self.barrier.is_none()
    }
}

impl Account {
    /// Whether the account lives unchanged through bars that stay within `low` and `high`, as long as it is asked for
    /// the level it holds and none of them is a window's last. Rounding is monotone: what holds at the extremes holds
    /// at every bar between them.
    #[inline]
    pub(crate) fn is_quiet(&self, rules: &Rules, low: f64, high: f64) -> bool {
        if self.counts.ruined {
            return true;
        }
        if rules.rebalance != Rebalance::OnChange {
            return false;
        }
        if self.units == 0.0 {
            return true;
        }
        if !rules.holds_still() {
            return false;
        }
        let adverse = if self.units > 0.0 { low } else { high };
        self.cash + self.units * adverse > rules.margin * (self.units.abs() * high)
    }

    /// Lives through `n` quiet bars, the last of which closed at `close`. Neither the last return nor the peak is kept:
    /// for accounts that nobody observes.
    #[inline]
    pub(crate) fn skip(&mut self, n: usize, close: f64) {
        if n > 0 && !self.counts.ruined {
            self.equity = self.cash + self.units * close;
            if self.units != 0.0 {
                self.counts.bars_in_market += n;
                self.trade.bars += n;
            }
        }
    }
}
