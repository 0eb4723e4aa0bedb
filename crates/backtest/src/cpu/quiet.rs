//! Stretches of bars in which nothing can happen to an account: while it holds its level, cash and units do not change
//! and equity is cash + units·close. What trades many bars jumps over them and steps ([`Account::step`]) at the others.

use super::account::Account;
use super::engine::Rules;
use crate::rules::Rebalance;

impl Account {
    /// Whether the account lives unchanged through bars that stay within `low` and `high`, as long as it is asked for the
    /// level it holds and none of them is a window's last. Rounding is monotone: what holds at the extremes holds at
    /// every bar between them.
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
        let carried = rules.carry_long != 0.0 || rules.carry_short != 0.0;
        if carried || rules.barrier.is_some() {
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
