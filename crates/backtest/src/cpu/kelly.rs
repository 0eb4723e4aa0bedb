//! Kelly sizing (Kelly 1956) from the account's own closed trades.

use serde::{Deserialize, Serialize};

use crate::rules::Kelly;

/// Closed trades, as Kelly sizing needs them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) trades: u32,
    pub(crate) wins: u32,
    pub(crate) losses: u32,
    /// Σ trade_return of the wins.
    pub(crate) won: f64,
    /// Σ |trade_return| of the losses.
    pub(crate) lost: f64,
}

impl Tally {
    /// Counts a closed trade.
    pub(super) fn add(&mut self, trade_return: f64) {
        self.trades += 1;
        if trade_return > 0.0 {
            self.wins += 1;
            self.won += trade_return;
        } else if trade_return < 0.0 {
            self.losses += 1;
            self.lost -= trade_return;
        }
    }

    /// clip(fraction·f*, 0, cap) with f* = p − (1 − p)/b; 1 without sizing and until `min_trades` have closed.
    pub(super) fn scale(&self, kelly: Option<&Kelly>) -> f64 {
        let Some(kelly) = kelly else { return 1.0 };
        if self.trades < kelly.min_trades.max(1) {
            return 1.0;
        }
        if self.losses == 0 {
            return kelly.cap;
        }
        if self.wins == 0 {
            return 0.0;
        }
        let p = f64::from(self.wins) / f64::from(self.trades);
        let b = (self.won / f64::from(self.wins)) / (self.lost / f64::from(self.losses));
        (kelly.fraction * (p - (1.0 - p) / b)).clamp(0.0, kelly.cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(returns: &[f64]) -> Tally {
        let mut tally = Tally::default();
        returns.iter().for_each(|&r| tally.add(r));
        tally
    }

    #[test]
    fn half_a_bet_by_hand() {
        let kelly = Kelly { fraction: 0.5, cap: 1.0, min_trades: 3 };
        // p = 2/3, b = 0.04/0.02 = 2, f* = 2/3 − (1/3)/2 = 1/2.
        assert!((tally(&[0.05, -0.02, 0.03]).scale(Some(&kelly)) - 0.25).abs() < 1e-15);
    }

    #[test]
    fn the_ends_of_the_scale() {
        let kelly = Kelly { fraction: 1.0, cap: 0.8, min_trades: 2 };
        assert_eq!(tally(&[0.1]).scale(Some(&kelly)), 1.0, "too few trades");
        assert_eq!(tally(&[0.1, 0.2]).scale(Some(&kelly)), 0.8, "no losses");
        assert_eq!(tally(&[-0.1, 0.0]).scale(Some(&kelly)), 0.0, "no wins");
        assert_eq!(tally(&[0.01, -0.1]).scale(Some(&kelly)), 0.0, "a losing bet");
        assert_eq!(tally(&[0.01, -0.1]).scale(None), 1.0);
    }
}
