//! What a learning agent is paid for one bar.

use serde::{Deserialize, Serialize};

use super::account::Step;
use crate::rules::{RewardConfig, RewardKind};

/// A ruined account's log return is ln of this floor, not −∞.
pub const LOG_FLOOR: f64 = 1e-3;

/// Running state of the rewards that have one; one per environment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RewardState {
    /// Median of sigma over the training window, for `vol_scaled`.
    pub median_vol: f64,
    /// Moving average A of the returns, for `dsr`.
    pub dsr_mean: f64,
    /// Moving variance B − A² of the returns, for `dsr`.
    pub dsr_var: f64,
}

impl RewardState {
    /// A fresh state; `sigma` is the volatility over the training window, its median the scale of `vol_scaled`.
    pub fn new(sigma: &[f64]) -> Self {
        Self { median_vol: median(sigma), dsr_mean: 0.0, dsr_var: 0.0 }
    }

    /// Base reward minus penalties for the bar `step`.
    pub fn reward(&mut self, config: &RewardConfig, step: &Step) -> f64 {
        let base = match config.kind {
            RewardKind::Log => (1.0 + step.ret).max(LOG_FLOOR).ln(),
            RewardKind::Simple => step.ret,
            RewardKind::Dsr => self.differential_sharpe(config.dsr_rate, step.ret),
            RewardKind::VolScaled => self.vol_scaled(step),
        };
        let ruin = if step.ruined { config.ruin_penalty } else { 0.0 };
        base - config.turnover_penalty * step.turnover - config.drawdown_penalty * step.drawdown_rise - ruin
    }

    /// D_t = (B·ΔA − A·ΔB/2)/(B − A²)^{3/2} with ΔA = r − A, ΔB = r² − B (Moody & Saffell 1998); 0 while the variance
    /// is.
    fn differential_sharpe(&mut self, rate: f64, r: f64) -> f64 {
        let mean = self.dsr_mean;
        let second = self.dsr_var + mean * mean;
        let (d_mean, d_second) = (r - mean, r * r - second);
        let reward = if self.dsr_var > 0.0 {
            (second * d_mean - 0.5 * mean * d_second) / (self.dsr_var * self.dsr_var.sqrt())
        } else {
            0.0
        };
        self.dsr_mean = mean + rate * d_mean;
        let second = second + rate * d_second;
        self.dsr_var = (second - self.dsr_mean * self.dsr_mean).max(0.0);
        reward
    }

    /// r·median_vol/max(vol, 0.1·median_vol), vol = sigma once the bar has closed.
    fn vol_scaled(&self, step: &Step) -> f64 {
        let vol = step.sigma.max(0.1 * self.median_vol);
        if vol > 0.0 { step.ret * (self.median_vol / vol) } else { step.ret }
    }
}

fn median(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mut sorted = values.to_vec();
    let middle = sorted.len() / 2;
    *sorted.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(ret: f64) -> Step {
        Step { ret, equity: 1.0, turnover: 0.5, drawdown_rise: 0.02, sigma: 0.02, ruined: false }
    }

    #[test]
    fn penalties_are_subtracted() {
        let mut state = RewardState::new(&[0.01]);
        let config = RewardConfig {
            kind: RewardKind::Simple,
            turnover_penalty: 0.1,
            drawdown_penalty: 2.0,
            ..RewardConfig::default()
        };
        assert!((state.reward(&config, &step(0.1)) - (0.1 - 0.05 - 0.04)).abs() < 1e-15);
    }

    #[test]
    fn vol_scaled_halves_at_twice_the_median() {
        let mut state = RewardState::new(&[0.01, 0.01, 0.02]);
        let config = RewardConfig { kind: RewardKind::VolScaled, ..RewardConfig::default() };
        assert!((state.reward(&config, &step(0.1)) - 0.05).abs() < 1e-15);
    }

    /// The differential Sharpe ratio is the derivative of the moving Sharpe ratio with respect to the rate at 0.
    #[test]
    fn dsr_is_the_derivative_of_the_moving_sharpe() {
        let mut state = RewardState { median_vol: 0.0, dsr_mean: 0.01, dsr_var: 0.0004 };
        let r = 0.03;
        let (a, b) = (0.01, 0.0004 + 0.01 * 0.01);
        let sharpe = |eta: f64| {
            let (a, b) = (a + eta * (r - a), b + eta * (r * r - b));
            a / (b - a * a).sqrt()
        };
        let slope = (sharpe(1e-6) - sharpe(-1e-6)) / 2e-6;
        let config = RewardConfig { kind: RewardKind::Dsr, ..RewardConfig::default() };
        let got = state.reward(&config, &Step { turnover: 0.0, drawdown_rise: 0.0, ..step(r) });
        assert!((got - slope).abs() < 1e-6, "{got} against {slope}");
    }
}
