//! [`SimConfig`]: every rule of a bar that can be set. The rules themselves live in [`crate::cpu::engine`] (f64) and,
//! independently, in [`crate::cpu::reference`] (Decimal).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How one bar is simulated. Defaults: next-open fills, no costs, no barriers, no leverage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimConfig {
    /// Cash at the first bar, in the quote currency.
    pub initial_cash: f64,
    /// Exposure at level 1, as a multiple of equity.
    pub max_position: f64,
    /// Smallest tradable quantity in units; targets round toward zero to a multiple of it. 0: any quantity.
    pub lot_size: f64,
    /// When an order exists.
    pub rebalance: Rebalance,
    /// With `every_bar`: the least |Δ|·close/equity that is worth an order.
    pub rebalance_threshold: f64,
    /// Where orders fill.
    pub fill: Fill,
    /// Half the bid-ask spread, in basis points of the price; paid on market and stop orders.
    pub half_spread_bps: f64,
    /// Commission per fill, in basis points of the traded value.
    pub commission_bps: f64,
    /// Commission per fill, in the quote currency.
    pub commission_fixed: f64,
    /// Price concession beyond the spread.
    pub slippage: Slippage,
    /// Largest share of the filling bar's volume an order may take; the rest is not filled and not chased. 0: no cap.
    pub max_participation: f64,
    /// Annual rate paid on long positions (negative: received), of |units|·close.
    pub carry_long: f64,
    /// Annual rate paid on short positions (negative: received), of |units|·close.
    pub carry_short: f64,
    /// Maintenance margin m: liquidation when equity falls to m·|units|·price.
    pub maintenance_margin: f64,
    /// Triple barrier (López de Prado 2018), set on entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barrier: Option<TripleBarrier>,
    /// Kelly sizing from the closed trades.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kelly: Option<Kelly>,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            initial_cash: 100_000.0,
            max_position: 1.0,
            lot_size: 0.0,
            rebalance: Rebalance::OnChange,
            rebalance_threshold: 0.0,
            fill: Fill::NextOpen,
            half_spread_bps: 0.0,
            commission_bps: 0.0,
            commission_fixed: 0.0,
            slippage: Slippage::None,
            max_participation: 0.0,
            carry_long: 0.0,
            carry_short: 0.0,
            maintenance_margin: 0.0,
            barrier: None,
            kelly: None,
        }
    }
}

/// When an order exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rebalance {
    /// When the level asked for differs from the level now held.
    OnChange,
    /// At every bar whose |Δ|·close/equity exceeds `rebalance_threshold`.
    EveryBar,
}

/// Where an order decided at the close of bar t fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// At the open of bar t+1.
    NextOpen,
    /// At the close of bar t.
    Close,
}

/// Price concession of a market or stop order beyond the half spread, as a fraction of the price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case", deny_unknown_fields)]
pub enum Slippage {
    /// 0.
    None,
    /// `bps`·1e-4.
    Fixed {
        /// Basis points of the price.
        bps: f64,
    },
    /// Square-root impact.
    VolumeImpact(VolumeImpactSlippage),
}

/// min(η·σ_t·√(|Δ|/V), max_impact): the square-root law of Almgren, Thum, Hauptmann & Li 2005 and Almgren–Chriss; V is
/// the volume of the bar that fills, σ_t the per-bar volatility of the last closed bar.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumeImpactSlippage {
    /// η, dimensionless; about 1 in the literature.
    pub eta: f64,
    /// Cap, as a fraction of the price.
    pub max_impact: f64,
}

impl Default for VolumeImpactSlippage {
    fn default() -> Self {
        Self { eta: 1.0, max_impact: 0.1 }
    }
}

/// Stop, take-profit and vertical barrier, set from the entry's fill price. Each may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TripleBarrier {
    /// Stop at p·(1 − side·k_stop·σ_h).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_stop: Option<f64>,
    /// Take-profit at p·(1 + side·k_take·σ_h).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_take: Option<f64>,
    /// Exit at the close of the `max_hold`-th bar lived through; also scales σ_h = σ_t·√max_hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hold: Option<u32>,
}

/// Position size as a fraction of the Kelly bet (Kelly 1956) estimated from closed trades.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kelly {
    /// Share of the full Kelly bet.
    pub fraction: f64,
    /// Upper bound of the scale.
    pub cap: f64,
    /// Closed trades before the estimate is used; the scale is 1 until then.
    pub min_trades: u32,
}

impl Default for Kelly {
    fn default() -> Self {
        Self { fraction: 0.5, cap: 1.0, min_trades: 30 }
    }
}

/// What a learning agent is paid for one bar.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RewardConfig {
    /// The base reward.
    pub kind: RewardKind,
    /// Rate η of the differential Sharpe ratio's moving averages.
    pub dsr_rate: f64,
    /// Subtracted per unit of |Δexposure| traded.
    pub turnover_penalty: f64,
    /// Subtracted per unit of rise in drawdown.
    pub drawdown_penalty: f64,
    /// Subtracted once, at ruin.
    pub ruin_penalty: f64,
}

impl Default for RewardConfig {
    fn default() -> Self {
        Self { kind: RewardKind::Log, dsr_rate: 0.01, turnover_penalty: 0.0, drawdown_penalty: 0.0, ruin_penalty: 1.0 }
    }
}

/// Base reward of a bar with simple return r.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewardKind {
    /// ln(equity_{t+1}/equity_t): sums to the log growth of the account.
    Log,
    /// r.
    Simple,
    /// Differential Sharpe ratio (Moody & Saffell 1998).
    Dsr,
    /// r·median_vol/max(vol_ema, 0.1·median_vol).
    VolScaled,
}

/// A setting of [`SimConfig`] or [`RewardConfig`] that cannot be simulated.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RulesError {
    /// A number outside its range.
    #[error("{field} is {value}; it must be {rule}")]
    OutOfRange {
        /// Path of the field in the configuration.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        rule: &'static str,
    },
    /// A volume-based model on a series that has no volume.
    #[error("{field} needs volume, and this series has none; use `none` or `fixed` slippage and no participation cap")]
    NeedsVolume {
        /// Path of the field in the configuration.
        field: &'static str,
    },
}

impl RulesError {
    /// How to mend it, where the message does not already say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OutOfRange { field, .. } => Some(format!("set it with --set {field}=… or in the config file")),
            Self::NeedsVolume { .. } => None,
        }
    }
}

/// Refuses `value` unless `ok`.
fn require(ok: bool, field: &'static str, value: f64, rule: &'static str) -> Result<(), RulesError> {
    if ok { Ok(()) } else { Err(RulesError::OutOfRange { field, value, rule }) }
}

fn positive(field: &'static str, value: f64) -> Result<(), RulesError> {
    require(value.is_finite() && value > 0.0, field, value, "finite and above 0")
}

fn not_negative(field: &'static str, value: f64) -> Result<(), RulesError> {
    require(value.is_finite() && value >= 0.0, field, value, "finite and not negative")
}

fn up_to(field: &'static str, value: f64, most: f64, rule: &'static str) -> Result<(), RulesError> {
    require(value > 0.0 && value <= most, field, value, rule)
}

fn within(field: &'static str, value: f64, end: f64, rule: &'static str) -> Result<(), RulesError> {
    require(value >= 0.0 && value < end, field, value, rule)
}

impl SimConfig {
    /// Checks every number's range.
    ///
    /// # Errors
    /// [`RulesError::OutOfRange`] naming the first field that is not.
    pub fn check(&self) -> Result<(), RulesError> {
        const BPS: &str = "at least 0 and below 10000";
        // Beyond these an equity could overflow.
        up_to("sim.initial_cash", self.initial_cash, 1e15, "above 0 and at most 1e15")?;
        up_to("sim.max_position", self.max_position, 1e6, "above 0 and at most 1000000")?;
        let lot = self.lot_size;
        require(lot == 0.0 || (1e-12..=1e15).contains(&lot), "sim.lot_size", lot, "0 (none), or 1e-12 to 1e15")?;
        not_negative("sim.rebalance_threshold", self.rebalance_threshold)?;
        within("sim.half_spread_bps", self.half_spread_bps, 10_000.0, BPS)?;
        within("sim.commission_bps", self.commission_bps, 10_000.0, BPS)?;
        not_negative("sim.commission_fixed", self.commission_fixed)?;
        self.check_slippage()?;
        let participation = self.max_participation;
        require((0.0..=1.0).contains(&participation), "sim.max_participation", participation, "between 0 and 1")?;
        require(self.carry_long.is_finite(), "sim.carry_long", self.carry_long, "finite")?;
        require(self.carry_short.is_finite(), "sim.carry_short", self.carry_short, "finite")?;
        within("sim.maintenance_margin", self.maintenance_margin, 1.0, "at least 0 and below 1")?;
        self.barrier.iter().try_for_each(TripleBarrier::check)?;
        self.kelly.iter().try_for_each(Kelly::check)
    }

    /// Spread and slippage together must leave a price above zero.
    fn check_slippage(&self) -> Result<(), RulesError> {
        const WHOLE: &str = "so small that with the half spread it stays below the whole price";
        let room = 1.0 - self.half_spread_bps * 1e-4;
        match self.slippage {
            Slippage::None => Ok(()),
            Slippage::Fixed { bps } => within("sim.slippage.bps", bps, room * 1e4, WHOLE),
            Slippage::VolumeImpact(m) => {
                not_negative("sim.slippage.eta", m.eta)?;
                within("sim.slippage.max_impact", m.max_impact, room, WHOLE)
            }
        }
    }

    /// Refuses volume-based models on a series without volume.
    ///
    /// # Errors
    /// [`RulesError::NeedsVolume`].
    pub fn check_volume(&self, has_volume: bool) -> Result<(), RulesError> {
        let field = match self.slippage {
            Slippage::VolumeImpact(_) => "sim.slippage",
            _ if self.max_participation > 0.0 => "sim.max_participation",
            _ => return Ok(()),
        };
        if has_volume { Ok(()) } else { Err(RulesError::NeedsVolume { field }) }
    }
}

impl TripleBarrier {
    fn check(&self) -> Result<(), RulesError> {
        self.k_stop.iter().try_for_each(|&k| positive("sim.barrier.k_stop", k))?;
        self.k_take.iter().try_for_each(|&k| positive("sim.barrier.k_take", k))?;
        self.max_hold.iter().try_for_each(|&h| require(h > 0, "sim.barrier.max_hold", f64::from(h), "at least 1 bar"))
    }
}

impl Kelly {
    fn check(&self) -> Result<(), RulesError> {
        up_to("sim.kelly.fraction", self.fraction, 1e6, "above 0 and at most 1000000")?;
        up_to("sim.kelly.cap", self.cap, 1e6, "above 0 and at most 1000000")
    }
}

impl RewardConfig {
    /// Checks every number's range.
    ///
    /// # Errors
    /// [`RulesError::OutOfRange`] naming the first field that is not.
    pub fn check(&self) -> Result<(), RulesError> {
        let rate = self.dsr_rate;
        require(rate > 0.0 && rate < 1.0, "reward.dsr_rate", rate, "above 0 and below 1")?;
        not_negative("reward.turnover_penalty", self.turnover_penalty)?;
        not_negative("reward.drawdown_penalty", self.drawdown_penalty)?;
        not_negative("reward.ruin_penalty", self.ruin_penalty)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_default_is_valid() {
        assert_eq!(SimConfig::default().check(), Ok(()));
        assert_eq!(RewardConfig::default().check(), Ok(()));
    }

    #[test]
    fn a_bad_field_is_named() {
        let config = SimConfig { commission_bps: -1.0, ..SimConfig::default() };
        let message = config.check().unwrap_err().to_string();
        assert_eq!(message, "sim.commission_bps is -1; it must be at least 0 and below 10000");
        let config = SimConfig { initial_cash: f64::NAN, ..SimConfig::default() };
        assert!(config.check().is_err());
    }

    #[test]
    fn impact_without_volume_is_refused() {
        let slippage = Slippage::VolumeImpact(VolumeImpactSlippage::default());
        let config = SimConfig { slippage, ..SimConfig::default() };
        assert_eq!(config.check_volume(false), Err(RulesError::NeedsVolume { field: "sim.slippage" }));
        assert_eq!(config.check_volume(true), Ok(()));
    }
}
