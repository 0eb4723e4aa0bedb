//! [`EpochSummary`]: what an epoch did, for logs, curves and the eye.

use serde::Serialize;

use crate::guard::GuardCounts;

/// Every logged quantity of one epoch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpochSummary {
    /// Epoch, from 0.
    pub epoch: usize,
    /// Environment steps since the start of training.
    pub env_steps: u64,
    /// Gradient steps since the start of training, skipped ones included.
    pub grad_steps: u64,
    /// Gradient steps of this epoch that the guard found bad, so that they changed nothing.
    pub skipped_steps: u64,
    /// Why it did: how many were bad in which way.
    pub guard: GuardCounts,
    /// Mean of the weighted Huber loss over this epoch's gradient steps (NaN when all were skipped).
    pub loss: f64,
    /// The guard's running mean of the loss at the epoch's end, bad steps included (NaN before the first step).
    pub loss_ema: f64,
    /// Mean global norm of the gradient before clipping.
    pub grad_norm: f64,
    /// Mean of Q over the minibatches, all actions, in scaled reward units.
    pub q_mean: f64,
    /// Standard deviation of Q.
    pub q_std: f64,
    /// Least Q.
    pub q_min: f64,
    /// Largest Q.
    pub q_max: f64,
    /// Share of random actions at the epoch's end.
    pub epsilon: f64,
    /// Learning rate at the epoch's end.
    pub learning_rate: f64,
    /// Mean reward per environment step, before `reward_scale`.
    pub mean_reward: f64,
    /// Standard deviation of the reward.
    pub reward_std: f64,
    /// Least reward.
    pub min_reward: f64,
    /// Largest reward.
    pub max_reward: f64,
    /// Mean over standard deviation of the account's per-bar returns while exploring, times √periods_per_year; 0 when
    /// the deviation is.
    pub sharpe_estimate: f64,
    /// How often each level was chosen. `[n_action]`
    pub action_counts: Vec<u64>,
    /// Episodes ended by ruin.
    pub ruins: u64,
    /// Transitions in the replay ring.
    pub replay_len: usize,
    /// Environment steps per second of wall time, learning included.
    pub steps_per_second: f64,
}

impl EpochSummary {
    /// The scalars by name, as curves show them; `action_counts` becomes one share per action.
    pub fn series(&self) -> Vec<(String, f64)> {
        let named = [
            ("loss", self.loss),
            ("loss_ema", self.loss_ema),
            ("grad_norm", self.grad_norm),
            ("q_mean", self.q_mean),
            ("q_std", self.q_std),
            ("q_min", self.q_min),
            ("q_max", self.q_max),
            ("epsilon", self.epsilon),
            ("learning_rate", self.learning_rate),
            ("mean_reward", self.mean_reward),
            ("reward_std", self.reward_std),
            ("min_reward", self.min_reward),
            ("max_reward", self.max_reward),
            ("sharpe_estimate", self.sharpe_estimate),
            ("skipped_steps", self.skipped_steps as f64),
            ("ruins", self.ruins as f64),
            ("steps_per_second", self.steps_per_second),
        ];
        let total = self.action_counts.iter().sum::<u64>().max(1) as f64;
        let share = |(a, &n): (usize, &u64)| (format!("action_share_{a}"), n as f64 / total);
        let scalars = named.into_iter().map(|(name, value)| (name.to_string(), value));
        let guard = self.guard.named().map(|(name, n)| (format!("guard_{name}"), n as f64));
        scalars.chain(guard).chain(self.action_counts.iter().enumerate().map(share)).collect()
    }
}

/// Count, mean, spread and range of a stream of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moments {
    pub(crate) n: u64,
    mean: f64,
    /// Σ(x − mean)², by Welford's update.
    m2: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { n: 0, mean: 0.0, m2: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Moments {
    pub(crate) fn add(&mut self, x: f64) {
        self.n += 1;
        let delta = x - self.mean;
        self.mean += delta / self.n as f64;
        self.m2 += delta * (x - self.mean);
        self.min = self.min.min(x);
        self.max = self.max.max(x);
    }

    /// NaN when empty.
    pub(crate) fn mean(&self) -> f64 {
        if self.n == 0 { f64::NAN } else { self.mean }
    }

    /// Of the population; NaN when empty.
    pub(crate) fn std(&self) -> f64 {
        (self.m2 / self.n as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_by_hand() {
        let mut m = Moments::default();
        assert!(m.mean().is_nan() && m.std().is_nan());
        [1.0, 2.0, 6.0].into_iter().for_each(|x| m.add(x));
        assert!((m.mean() - 3.0).abs() < 1e-15);
        assert!((m.std() - (14.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!((m.min, m.max), (1.0, 6.0));
    }
}
