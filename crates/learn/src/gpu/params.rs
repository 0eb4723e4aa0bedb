//! From a trainer's settings to [`LearnerParams`].

use gigabar_backtest::cpu::engine::Market;
use gigabar_backtest::cpu::reward::RewardState;
use gigabar_backtest::gpu::layout::EnvRules;
use gigabar_backtest::rules::{RewardConfig, RewardKind};

use super::layout::{
    LearnerParams, PARAMS_EPSILON_EXPONENTIAL, PARAMS_RATE_EXPONENTIAL, REWARD_DSR, REWARD_LOG, REWARD_SIMPLE,
    REWARD_VOL_SCALED, RewardRules,
};
use crate::dqn::{TargetUpdate, Trainer};
use crate::error::LearnError;
use crate::schedule::Decay;

/// The settings of one learner; its feature table begins at element `features`.
///
/// # Errors
/// [`LearnError::Range`] for a data set longer than the device counts.
pub(super) fn params_of(trainer: &Trainer, features: i64) -> Result<LearnerParams, LearnError> {
    let (config, data) = (&trainer.config, &trainer.data);
    let market = Market::new(&data.bars, &data.sigma);
    let episode_bars = config.episode_bars.min(data.range.len() - 1);
    let too_long = |_| LearnError::Range {
        first: data.range.start,
        end: data.range.end,
        n_bars: data.bars.len(),
        rule: "a GPU counts bars up to 2^32".into(),
    };
    let count = |n: usize| u32::try_from(n).map_err(too_long);
    let exponential = |decay: Decay, bit: u32| if decay == Decay::Exponential { bit } else { 0 };
    Ok(LearnerParams {
        rules: EnvRules::new(&trainer.rules, &market),
        reward: reward_of(&trainer.reward, &data.sigma[data.range.clone()]),
        seed: trainer.seed,
        features,
        first_bar: count(data.range.start)?,
        n_start: count(data.range.len() - episode_bars)?,
        episode_bars: count(episode_bars)?,
        target_period: match config.target {
            TargetUpdate::Soft => 0,
            TargetUpdate::Periodic => u32::try_from(config.target_period).unwrap_or(u32::MAX),
        },
        gamma: config.gamma,
        reward_scale: trainer.reward_scale,
        total_steps: (config.epochs * config.steps_per_epoch) as f64,
        epsilon_start: config.epsilon_start,
        epsilon_end: config.epsilon_end,
        epsilon_fraction: config.epsilon_fraction,
        lr_start: config.lr,
        lr_end: config.lr * config.lr_end_share,
        beta_start: config.beta_start,
        beta_end: config.beta_end,
        alpha: config.alpha,
        priority_eps: config.priority_eps,
        weight_decay: config.weight_decay,
        adam_eps: config.adam_eps,
        max_grad_norm: config.max_grad_norm,
        huber_delta: config.huber_delta,
        tau: config.tau,
        noise: config.feature_noise * 3f64.sqrt(),
        loss_spike: config.guard.loss_spike,
        min_grad_norm: config.guard.min_grad_norm,
        max_q: config.guard.max_q,
        flags: exponential(config.epsilon_decay, PARAMS_EPSILON_EXPONENTIAL)
            | exponential(config.lr_decay, PARAMS_RATE_EXPONENTIAL),
        unused: [0; 3],
    })
}

/// A reward's settings; `sigma` is the volatility over the train range.
pub(super) fn reward_of(reward: &RewardConfig, sigma: &[f64]) -> RewardRules {
    RewardRules {
        dsr_rate: reward.dsr_rate,
        turnover_penalty: reward.turnover_penalty,
        drawdown_penalty: reward.drawdown_penalty,
        ruin_penalty: reward.ruin_penalty,
        median_vol: RewardState::new(sigma).median_vol,
        kind: match reward.kind {
            RewardKind::Log => REWARD_LOG,
            RewardKind::Simple => REWARD_SIMPLE,
            RewardKind::Dsr => REWARD_DSR,
            RewardKind::VolScaled => REWARD_VOL_SCALED,
        },
        unused: 0,
    }
}
