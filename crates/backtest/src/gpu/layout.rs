//! The structs that cross to the device: `repr(C)` twins of `env_state.cuh`, their conversions, and the constants that
//! reach CUDA by `-D`. Sizes are asserted on both sides.

use gigabar_gpu::{KernelSource, Plain};

use crate::cpu::engine::{LOT_TOLERANCE, Market, Rules};
use crate::cpu::observation::{GROWTH_FLOOR, N_PORTFOLIO};
use crate::path::{Counts, ExitReason, Trade};
use crate::rules::{Fill, Rebalance, Slippage};

/// Bits of [`EnvRules::flags`].
const RULES_HAS_VOLUME: u32 = 1;
const RULES_HAS_BARRIER: u32 = 2;
const RULES_HAS_STOP: u32 = 4;
const RULES_HAS_TAKE: u32 = 8;
pub(super) const RULES_HAS_KELLY: u32 = 16;
const RULES_HAS_LOTS: u32 = 32;
const RULES_HAS_CAP: u32 = 64;
const RULES_HAS_CARRY: u32 = 128;
const RULES_SLIPS_FIXED: u32 = 256;
const RULES_SLIPS_BY_IMPACT: u32 = 512;
const RULES_EVERY_BAR: u32 = 1024;
const RULES_FILLS_AT_CLOSE: u32 = 2048;
const RULES: [(&str, u32); 12] = [
    ("RULES_HAS_VOLUME", RULES_HAS_VOLUME),
    ("RULES_HAS_BARRIER", RULES_HAS_BARRIER),
    ("RULES_HAS_STOP", RULES_HAS_STOP),
    ("RULES_HAS_TAKE", RULES_HAS_TAKE),
    ("RULES_HAS_KELLY", RULES_HAS_KELLY),
    ("RULES_HAS_LOTS", RULES_HAS_LOTS),
    ("RULES_HAS_CAP", RULES_HAS_CAP),
    ("RULES_HAS_CARRY", RULES_HAS_CARRY),
    ("RULES_SLIPS_FIXED", RULES_SLIPS_FIXED),
    ("RULES_SLIPS_BY_IMPACT", RULES_SLIPS_BY_IMPACT),
    ("RULES_EVERY_BAR", RULES_EVERY_BAR),
    ("RULES_FILLS_AT_CLOSE", RULES_FILLS_AT_CLOSE),
];
/// Bits of [`EnvAccount::flags`].
pub(super) const ACCOUNT_RUINED: u32 = 1;
pub(super) const ACCOUNT_HAS_STOP: u32 = 2;
pub(super) const ACCOUNT_HAS_TAKE: u32 = 4;

const EXITS: [(&str, ExitReason); 7] = [
    ("EXIT_SIGNAL", ExitReason::Signal),
    ("EXIT_FLIP", ExitReason::Flip),
    ("EXIT_STOP", ExitReason::Stop),
    ("EXIT_TAKE", ExitReason::Take),
    ("EXIT_TIME", ExitReason::Time),
    ("EXIT_LIQUIDATION", ExitReason::Liquidation),
    ("EXIT_END", ExitReason::End),
];

/// Every constant `env.cuh` needs, as name and C++ literal.
pub fn constants() -> Vec<(&'static str, String)> {
    let mut out = vec![
        ("ACCOUNT_RUINED", format!("{ACCOUNT_RUINED}u")),
        ("ACCOUNT_HAS_STOP", format!("{ACCOUNT_HAS_STOP}u")),
        ("ACCOUNT_HAS_TAKE", format!("{ACCOUNT_HAS_TAKE}u")),
        ("LOT_TOLERANCE", format!("{LOT_TOLERANCE:e}")),
        ("GROWTH_FLOOR", format!("{GROWTH_FLOOR:e}")),
        ("N_PORTFOLIO", N_PORTFOLIO.to_string()),
    ];
    out.extend(RULES.map(|(name, bit)| (name, format!("{bit}u"))));
    out.extend(EXITS.iter().enumerate().map(|(i, (name, _))| (*name, format!("{i}u"))));
    out
}

/// Adds every constant of `env.cuh` to a source.
pub(crate) fn define(source: KernelSource) -> KernelSource {
    constants().into_iter().fold(source, |source, (name, value)| source.define(name, value))
}

/// Columns of one bar.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(16))]
pub struct EnvBar {
    /// First price.
    pub open: f64,
    /// Highest price.
    pub high: f64,
    /// Lowest price.
    pub low: f64,
    /// Last price.
    pub close: f64,
    /// Traded units.
    pub volume: f64,
    /// Per-bar volatility at its close.
    pub sigma: f64,
}
const _: () = assert!(size_of::<EnvBar>() == 48);

impl EnvBar {
    /// Bar `t` of a market.
    pub fn of(market: &Market<'_>, t: usize) -> Self {
        Self {
            open: market.open[t],
            high: market.high[t],
            low: market.low[t],
            close: market.close[t],
            volume: market.volume[t],
            sigma: market.sigma[t],
        }
    }
}

/// [`Rules`] on the device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct EnvRules {
    pub initial_cash: f64,
    pub max_position: f64,
    pub lot_size: f64,
    pub threshold: f64,
    pub half_spread: f64,
    pub commission: f64,
    pub commission_fixed: f64,
    pub slip_fixed: f64,
    pub impact_eta: f64,
    pub impact_max: f64,
    pub max_participation: f64,
    pub carry_long: f64,
    pub carry_short: f64,
    pub margin: f64,
    pub k_stop: f64,
    pub k_take: f64,
    pub kelly_fraction: f64,
    pub kelly_cap: f64,
    pub kelly_min_trades: u32,
    pub max_hold: u32,
    pub flags: u32,
    pub unused: u32,
}
const _: () = assert!(size_of::<EnvRules>() == 160);

impl EnvRules {
    /// The rules of one market.
    pub fn new(rules: &Rules, market: &Market<'_>) -> Self {
        let mut out = Self {
            initial_cash: rules.initial_cash,
            max_position: rules.max_position,
            lot_size: rules.lot_size,
            threshold: rules.threshold,
            half_spread: rules.half_spread,
            commission: rules.commission,
            commission_fixed: rules.commission_fixed,
            max_participation: rules.max_participation,
            carry_long: rules.carry_long,
            carry_short: rules.carry_short,
            margin: rules.margin,
            ..Self::default()
        };
        let has = [
            (RULES_HAS_VOLUME, market.has_volume),
            (RULES_HAS_LOTS, rules.lot_size != 0.0),
            (RULES_HAS_CAP, rules.max_participation > 0.0),
            (RULES_HAS_CARRY, rules.carry_long != 0.0 || rules.carry_short != 0.0),
            (RULES_EVERY_BAR, rules.rebalance == Rebalance::EveryBar),
            (RULES_FILLS_AT_CLOSE, rules.fill == Fill::Close),
        ];
        out.flags = has.into_iter().map(|(bit, it_has)| if it_has { bit } else { 0 }).sum();
        match rules.slippage {
            Slippage::None => {}
            Slippage::Fixed { bps } => {
                out.flags |= RULES_SLIPS_FIXED;
                out.slip_fixed = bps * 1e-4;
            }
            Slippage::VolumeImpact(m) => {
                out.flags |= RULES_SLIPS_BY_IMPACT;
                (out.impact_eta, out.impact_max) = (m.eta, m.max_impact);
            }
        }
        if let Some(barrier) = rules.barrier {
            out.flags |= RULES_HAS_BARRIER;
            out.flags |= barrier.k_stop.map_or(0, |_| RULES_HAS_STOP) | barrier.k_take.map_or(0, |_| RULES_HAS_TAKE);
            out.k_stop = barrier.k_stop.unwrap_or(0.0);
            out.k_take = barrier.k_take.unwrap_or(0.0);
            out.max_hold = barrier.max_hold.unwrap_or(0);
        }
        if let Some(kelly) = rules.kelly {
            out.flags |= RULES_HAS_KELLY;
            (out.kelly_fraction, out.kelly_cap) = (kelly.fraction, kelly.cap);
            out.kelly_min_trades = kelly.min_trades.max(1);
        }
        out
    }
}

/// [`Account`](crate::cpu::account::Account) on the device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(16))]
#[allow(missing_docs)]
pub struct EnvAccount {
    pub cash: f64,
    pub units: f64,
    pub level: f64,
    pub equity: f64,
    pub peak: f64,
    pub entry_price: f64,
    pub traded_value: f64,
    pub costs: f64,
    pub bars: u32,
    pub trades: u32,
    pub bars_in_market: u32,
    pub fills: u32,
    pub rejected_orders: u32,
    pub capped_orders: u32,
    pub nan_levels: u32,
    pub flags: u32,
    pub last_return: f64,
    pub initial: f64,
    pub carry: f64,
    pub stop: f64,
    pub take: f64,
    pub entry_equity: f64,
    pub flow: f64,
    pub won: f64,
    pub lost: f64,
    pub wins: u32,
    pub losses: u32,
    pub max_hold: u32,
    pub entry_bar: u32,
    pub max_units: f64,
}
const _: () = assert!(size_of::<EnvAccount>() == 192);

impl EnvAccount {
    /// Whether the account is frozen for good.
    pub fn ruined(&self) -> bool {
        self.flags & ACCOUNT_RUINED != 0
    }

    /// Its counts as the CPU keeps them.
    pub fn counts(&self) -> Counts {
        Counts {
            bars_in_market: self.bars_in_market as usize,
            fills: self.fills as usize,
            traded_value: self.traded_value,
            costs: self.costs,
            carry: self.carry,
            rejected_orders: self.rejected_orders as usize,
            capped_orders: self.capped_orders as usize,
            nan_levels: self.nan_levels as usize,
            ruined: self.ruined(),
        }
    }
}

/// A closed [`Trade`] on the device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct EnvTrade {
    pub units: f64,
    pub entry_price: f64,
    pub exit_price: f64,
    pub pnl: f64,
    pub trade_return: f64,
    pub entry_bar: u32,
    pub exit_bar: u32,
    pub bars_held: u32,
    pub side: i32,
    pub exit: u32,
    pub unused: u32,
}
const _: () = assert!(size_of::<EnvTrade>() == 64);

impl EnvTrade {
    /// The trade as the device writes it.
    pub fn of(trade: &Trade) -> Self {
        let reason = EXITS.iter().position(|&(_, reason)| reason == trade.exit);
        Self {
            units: trade.units,
            entry_price: trade.entry_price,
            exit_price: trade.exit_price,
            pnl: trade.pnl,
            trade_return: trade.trade_return,
            entry_bar: trade.entry_bar as u32,
            exit_bar: trade.exit_bar as u32,
            bars_held: trade.bars_held as u32,
            side: i32::from(trade.side),
            exit: reason.map_or(u32::MAX, |place| place as u32),
            unused: 0,
        }
    }

    /// The trade as the CPU writes it; `None` if `exit` is no reason.
    pub fn trade(&self) -> Option<Trade> {
        Some(Trade {
            side: if self.side > 0 { 1 } else { -1 },
            entry_bar: self.entry_bar as usize,
            exit_bar: self.exit_bar as usize,
            units: self.units,
            entry_price: self.entry_price,
            exit_price: self.exit_price,
            pnl: self.pnl,
            trade_return: self.trade_return,
            bars_held: self.bars_held as usize,
            exit: EXITS.get(self.exit as usize)?.1,
        })
    }
}

/// A window of bars on the device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct EnvWindow {
    /// Row of its first bar in the bar columns.
    pub row: i64,
    /// Bars.
    pub n_bars: u32,
    /// Index of its first bar in the data set, for trades.
    pub first_bar: u32,
    /// Index of its rules.
    pub rules: u32,
    /// Padding.
    pub unused: u32,
}
const _: () = assert!(size_of::<EnvWindow>() == 24);

/// One policy over one window.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct RolloutPair {
    /// Its first element in the path columns.
    pub path: i64,
    /// Index of the window.
    pub window: u32,
    /// Index of the policy.
    pub policy: u32,
}
const _: () = assert!(size_of::<RolloutPair>() == 16);

/// What one bar did: [`Step`](crate::cpu::account::Step) on the device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct EnvStep {
    pub ret: f64,
    pub equity: f64,
    pub turnover: f64,
    pub drawdown_rise: f64,
    pub sigma: f64,
    pub ruined: u32,
    pub unused: u32,
}
const _: () = assert!(size_of::<EnvStep>() == 48);

/// `unsafe impl Plain`, in one place.
#[allow(unsafe_code)]
mod plain {
    use super::{EnvAccount, EnvBar, EnvRules, EnvTrade, EnvWindow, Plain, RolloutPair};
    // SAFETY (all): repr(C) structs of numbers; env_state.cuh asserts the same sizes.
    unsafe impl Plain for EnvBar {}
    unsafe impl Plain for EnvRules {}
    unsafe impl Plain for EnvAccount {}
    unsafe impl Plain for EnvTrade {}
    unsafe impl Plain for EnvWindow {}
    unsafe impl Plain for RolloutPair {}
}
