//! What a simulated window leaves behind: [`Path`] and its [`Trade`]s. Metrics and reports read nothing else.

use serde::{Deserialize, Serialize};

/// The account along one window of T bars; n = T − 1 decisions. Index 0 is the account before the first decision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Index of the window's first bar in the data set.
    pub first_bar: usize,
    /// Simple return of each bar lived through. `[n]`
    pub returns: Vec<f64>,
    /// Cash + units·close after each bar; `equity[0]` is the initial cash. `[n + 1]`
    pub equity: Vec<f64>,
    /// Cash after each bar. `[n + 1]`
    pub cash: Vec<f64>,
    /// Units held after each bar, negative when short. `[n + 1]`
    pub units: Vec<f64>,
    /// Level held after each bar. `[n + 1]`
    pub level: Vec<f64>,
    /// Closed trades, in order of exit. Their P&L sums to the change of equity.
    pub trades: Vec<Trade>,
    /// What happened along the way.
    pub counts: Counts,
}

/// Events counted along a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Bars in which a position was open at any time.
    pub bars_in_market: usize,
    /// Fills, exits included.
    pub fills: usize,
    /// Σ|Δ|·price over all fills, in the quote currency, before costs.
    pub traded_value: f64,
    /// Commission, spread and slippage paid, in the quote currency.
    pub costs: f64,
    /// Carry paid, in the quote currency.
    pub carry: f64,
    /// Orders refused because the bar did not trade.
    pub rejected_orders: usize,
    /// Orders cut by the participation cap.
    pub capped_orders: usize,
    /// Decisions that were NaN, taken as flat.
    pub nan_levels: usize,
    /// Whether equity was exhausted or the position liquidated.
    pub ruined: bool,
}

/// From flat (or a flip) to flat (or a flip).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trade {
    /// 1 long, −1 short.
    pub side: i8,
    /// Bar whose open (or close, by the fill rule) opened it; an index into the data set.
    pub entry_bar: usize,
    /// Bar in which it closed; an index into the data set.
    pub exit_bar: usize,
    /// Largest |units| held.
    pub units: f64,
    /// Average cost per unit, spread and slippage inside, commission outside.
    pub entry_price: f64,
    /// Fill price of the last exit.
    pub exit_price: f64,
    /// Net profit: every commission and carry inside.
    pub pnl: f64,
    /// `pnl` / equity at entry.
    pub trade_return: f64,
    /// Bars lived through.
    pub bars_held: usize,
    /// What closed it.
    pub exit: ExitReason,
}

/// What closed a trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitReason {
    /// The policy went flat.
    Signal,
    /// The policy changed sides.
    Flip,
    /// The stop barrier.
    Stop,
    /// The take-profit barrier.
    Take,
    /// The vertical barrier.
    Time,
    /// Maintenance margin.
    Liquidation,
    /// The window ended.
    End,
}
