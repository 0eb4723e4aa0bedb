//! [`SweepRow`]: what one parameter set earned.

use serde::{Deserialize, Serialize};

/// The metrics of one parameter set over one window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SweepRow {
    /// E_n − E_0, quote currency.
    pub total_pnl: f64,
    /// E_n/E_0 − 1.
    pub total_return: f64,
    /// Annualised Sharpe ratio; undefined for constant returns.
    pub sharpe: Option<f64>,
    /// Largest fall from a peak, a fraction.
    pub max_drawdown: f64,
    /// E_n, quote currency.
    pub final_equity: f64,
    /// Commission, spread and slippage paid, quote currency.
    pub costs: f64,
    /// Closed trades.
    pub n_trades: u32,
    /// Closed trades with a profit, net.
    pub n_wins: u32,
    /// Bars in which a position was open.
    pub bars_in_market: u32,
    /// Bars lived through, one fewer than the window has.
    pub n_bars: u32,
    /// Whether equity was exhausted or the position liquidated.
    pub ruined: bool,
}

impl SweepRow {
    /// Share of the trades that won; undefined without trades.
    pub fn win_rate(&self) -> Option<f64> {
        (self.n_trades > 0).then(|| f64::from(self.n_wins) / f64::from(self.n_trades))
    }

    /// Share of the bars with a position; undefined without bars.
    pub fn exposure(&self) -> Option<f64> {
        (self.n_bars > 0).then(|| f64::from(self.bars_in_market) / f64::from(self.n_bars))
    }
}
