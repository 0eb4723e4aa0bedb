//! Statistics of the closed trades, net of every cost and carry. A win has P&L > 0, a loss P&L < 0; a trade of exactly
//! 0 is neither, but counts in n.
//!
//! | metric | formula | undefined |
//! |---|---|---|
//! | win_rate | wins/n | no trades |
//! | profit_factor | Σwins/Σ\|losses\| | no losses |
//! | payoff_ratio | mean win/\|mean loss\| | no wins or no losses |
//! | expectancy | mean P&L, quote currency | no trades |
//! | avg_trade_return | mean of P&L/equity at entry | no trades |
//! | sqn | √n·mean(P&L)/std(P&L, ddof 1) (Tharp 2008) | n < 2 or P&L constant up to rounding |
//! | avg_bars_held | mean bars lived through | no trades |

use super::sum::{block_sums, map_blocks, tree};
use super::{Moments, defined};
use crate::path::Trade;

/// What the trade metrics are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TradeStats {
    /// Moments of the P&L, quote currency.
    pub pnl: Moments,
    /// Trades with P&L > 0.
    pub wins: f64,
    /// Their sum.
    pub gross_profit: f64,
    /// Trades with P&L < 0.
    pub losses: f64,
    /// The size of their sum.
    pub gross_loss: f64,
    /// Σ of the trade returns.
    pub return_sum: f64,
    /// Σ of the bars held.
    pub bars_held: f64,
}

impl TradeStats {
    /// Of closed trades.
    pub fn of(trades: &[Trade]) -> Self {
        let pnl: Vec<f64> = trades.iter().map(|trade| trade.pnl).collect();
        let signed = map_blocks(&pnl, |block| {
            block_sums(block, |p| [f64::from(p > 0.0), p.max(0.0), f64::from(p < 0.0), (-p).max(0.0)])
        });
        let others = map_blocks(trades, |block| {
            let columns: Vec<(f64, f64)> = block.iter().map(|t| (t.trade_return, t.bars_held as f64)).collect();
            block_sums(&columns, |(r, bars)| [r, bars])
        });
        let [wins, gross_profit, losses, gross_loss] = add(signed);
        let [return_sum, bars_held] = add(others);
        Self { pnl: Moments::of(&pnl), wins, gross_profit, losses, gross_loss, return_sum, bars_held }
    }

    /// Share of the trades that won.
    pub fn win_rate(&self) -> Option<f64> {
        self.mean(self.wins)
    }

    /// Gross profit over gross loss.
    pub fn profit_factor(&self) -> Option<f64> {
        if self.losses == 0.0 { None } else { defined(self.gross_profit / self.gross_loss) }
    }

    /// Mean win over mean loss.
    pub fn payoff_ratio(&self) -> Option<f64> {
        if self.wins == 0.0 || self.losses == 0.0 {
            return None;
        }
        defined((self.gross_profit / self.wins) / (self.gross_loss / self.losses))
    }

    /// Mean P&L, quote currency.
    pub fn expectancy(&self) -> Option<f64> {
        if self.pnl.n == 0 { None } else { defined(self.pnl.mean) }
    }

    /// Mean of P&L / equity at entry.
    pub fn avg_trade_return(&self) -> Option<f64> {
        self.mean(self.return_sum)
    }

    /// System quality number.
    pub fn sqn(&self) -> Option<f64> {
        defined((self.pnl.n as f64).sqrt() * self.pnl.mean / self.pnl.spread()?)
    }

    /// Mean bars a trade lived through.
    pub fn avg_bars_held(&self) -> Option<f64> {
        self.mean(self.bars_held)
    }

    fn mean(&self, sum: f64) -> Option<f64> {
        if self.pnl.n == 0 { None } else { defined(sum / self.pnl.n as f64) }
    }
}

fn add<const K: usize>(parts: Vec<[f64; K]>) -> [f64; K] {
    tree(parts, |mut a, b| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    })
    .unwrap_or([0.0; K])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::path::ExitReason;

    fn trade(pnl: f64, bars_held: usize) -> Trade {
        Trade {
            side: 1,
            entry_bar: 0,
            exit_bar: bars_held,
            units: 1.0,
            entry_price: 100.0,
            exit_price: 100.0 + pnl,
            pnl,
            trade_return: pnl / 1000.0,
            bars_held,
            exit: ExitReason::Signal,
        }
    }

    #[test]
    fn by_hand() {
        let stats = TradeStats::of(&[trade(30.0, 1), trade(-10.0, 2), trade(0.0, 3), trade(20.0, 6)]);
        assert_eq!(stats.win_rate(), Some(0.5));
        assert_eq!(stats.profit_factor(), Some(5.0));
        assert_eq!(stats.payoff_ratio(), Some(2.5));
        assert_eq!(stats.expectancy(), Some(10.0));
        assert!((stats.avg_trade_return().unwrap() - 0.01).abs() < 1e-17);
        assert_eq!(stats.avg_bars_held(), Some(3.0));
        // Deviations 20, −20, −10, 10: variance 1000/3.
        assert!((stats.sqn().unwrap() - 2.0 * 10.0 / (1000.0_f64 / 3.0).sqrt()).abs() < 1e-14);
    }

    #[test]
    fn undefined_without_trades() {
        let stats = TradeStats::of(&[]);
        assert_eq!((stats.win_rate(), stats.profit_factor(), stats.payoff_ratio()), (None, None, None));
        assert_eq!((stats.expectancy(), stats.avg_trade_return()), (None, None));
        assert_eq!((stats.sqn(), stats.avg_bars_held()), (None, None));
    }

    #[test]
    fn only_wins_or_only_losses() {
        let wins = TradeStats::of(&[trade(1.0, 1), trade(1.0, 1)]);
        assert_eq!(
            (wins.win_rate(), wins.profit_factor(), wins.payoff_ratio(), wins.sqn()),
            (Some(1.0), None, None, None)
        );
        let losses = TradeStats::of(&[trade(-1.0, 1)]);
        assert_eq!((losses.win_rate(), losses.profit_factor(), losses.payoff_ratio()), (Some(0.0), Some(0.0), None));
    }
}
