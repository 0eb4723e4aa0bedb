//! The eight numbers a policy sees of its own account.

use super::account::Account;
use super::engine::Market;

/// Length of the portfolio observation.
pub const N_PORTFOLIO: usize = 8;

/// Names of the portfolio observation, in order.
pub const PORTFOLIO_NAMES: [&str; N_PORTFOLIO] = [
    "exposure",
    "level",
    "unrealised_return",
    "drawdown",
    "return_over_sigma",
    "log_bars_in_trade",
    "log_growth",
    "cash_share",
];

/// A ruined account still has a finite log growth: ln of this floor.
pub(crate) const GROWTH_FLOOR: f64 = 1e-6;

impl Account {
    /// The account at the close of bar `t`:
    /// `[units·close/equity, level, side·(close/entry_price − 1), 1 − equity/max_equity, clip(r_t/sigma[t], ±10),
    /// ln(1 + bars in trade)/5, ln(equity/initial), cash/equity]`. Computed in f64, rounded once to f32.
    pub fn observation(&self, market: &Market<'_>, t: usize) -> [f32; N_PORTFOLIO] {
        let close = market.close[t];
        let per_equity = if self.equity > 0.0 { 1.0 / self.equity } else { 0.0 };
        let (unrealised, bars) = if self.units == 0.0 {
            (0.0, 0.0)
        } else {
            let side = 1.0f64.copysign(self.units);
            (side * (close / self.trade.entry_price - 1.0), self.trade.bars as f64)
        };
        let sigma = market.sigma[t];
        let shock = if sigma > 0.0 { (self.last_return / sigma).clamp(-10.0, 10.0) } else { 0.0 };
        [
            self.units * close * per_equity,
            self.level,
            unrealised,
            self.drawdown(),
            shock,
            (1.0 + bars).ln() / 5.0,
            (self.equity / self.initial).max(GROWTH_FLOOR).ln(),
            self.cash * per_equity,
        ]
        .map(|x| x as f32)
    }
}
