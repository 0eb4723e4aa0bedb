//! [`DqnConfig`]: every setting of the learner, with the defaults of `gigabar walkforward --agent dqn`.

use serde::{Deserialize, Serialize};

use crate::collector::EpochReset;
use crate::error::LearnError;
use crate::guard::GuardConfig;
use crate::net::Activation;
use crate::replay::ReplayKind;
use crate::schedule::Decay;

/// How the target network follows the online network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetUpdate {
    /// θ⁻ ← θ⁻ + τ·(θ − θ⁻) after every gradient step (Lillicrap et al. 2016).
    Soft,
    /// θ⁻ ← θ every `target_period` gradient steps (Mnih et al. 2015).
    Periodic,
}

/// Settings of [`super::Trainer`]. Counts of steps are environment steps unless they say gradient steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DqnConfig {
    /// The actions: exposure levels, as a share of `sim.max_position`.
    pub levels: Vec<f64>,
    /// Width of each hidden layer.
    pub hidden: Vec<usize>,
    /// Between the layers: `relu`, `tanh`, `silu`.
    pub activation: Activation,
    /// Dueling head (Wang et al. 2016).
    pub dueling: bool,
    /// Double Q-learning (van Hasselt, Guez & Silver 2016): the online network chooses, the target network values.
    pub double: bool,
    /// Bars of reward before the bootstrap (Sutton 1988).
    pub n_step: usize,
    /// γ, discount per bar.
    pub gamma: f64,
    /// Factor on every reward the network sees. 0: one over the standard deviation of the train range's log returns, so
    /// that a bar's reward is of order 1 at any interval (1 for the `dsr` reward, which is of that order by itself).
    pub reward_scale: f64,
    /// Learning rate at the start.
    pub lr: f64,
    /// Learning rate at the end, as a share of `lr`.
    pub lr_end_share: f64,
    /// How the learning rate falls: `linear`, `exponential`.
    pub lr_decay: Decay,
    /// Decoupled weight decay (AdamW); 0 is Adam.
    pub weight_decay: f64,
    /// ε of Adam.
    pub adam_eps: f64,
    /// Standard deviation of the noise added to every market feature of a minibatch (scaled features have deviation 1).
    /// A train range has few bars and each is replayed many times: without noise the network learns them by heart
    /// (Bishop 1995 shows the noise to be a Tikhonov regulariser). 0: none.
    pub feature_noise: f64,
    /// Gradients are scaled down to this global norm; 0: never.
    pub max_grad_norm: f64,
    /// |δ| beyond which the Huber loss is linear.
    pub huber_delta: f64,
    /// Transitions per gradient step.
    pub batch: usize,
    /// Environment steps per gradient step.
    pub train_every: usize,
    /// Environment steps before the first gradient step.
    pub learning_starts: usize,
    /// Draws of minibatches: `uniform`, `proportional`, `rank`.
    pub replay: ReplayKind,
    /// Transitions kept.
    pub replay_capacity: usize,
    /// α of prioritised replay.
    pub alpha: f64,
    /// ε added to |δ| in proportional replay.
    pub priority_eps: f64,
    /// β of the importance weights at the start.
    pub beta_start: f64,
    /// β at the end.
    pub beta_end: f64,
    /// Share of random actions at the start.
    pub epsilon_start: f64,
    /// Share of random actions at the end.
    pub epsilon_end: f64,
    /// How ε falls: `linear`, `exponential`.
    pub epsilon_decay: Decay,
    /// Share of the training over which ε falls.
    pub epsilon_fraction: f64,
    /// `soft` or `periodic`.
    pub target: TargetUpdate,
    /// τ of the soft update.
    pub tau: f64,
    /// Gradient steps between periodic updates.
    pub target_period: usize,
    /// Environments stepped together.
    pub n_envs: usize,
    /// Bars per episode; cut to the train range.
    pub episode_bars: usize,
    /// Epochs; a summary and a chance to save after each.
    pub epochs: usize,
    /// Environment steps per epoch, over all environments.
    pub steps_per_epoch: usize,
    /// What environments lose when an epoch begins.
    pub epoch_reset: EpochReset,
    /// Which gradient steps are bad: they change nothing, are counted, and may end the run.
    pub guard: GuardConfig,
}

impl Default for DqnConfig {
    fn default() -> Self {
        Self {
            levels: vec![-1.0, -0.5, 0.0, 0.5, 1.0],
            hidden: vec![64, 64],
            activation: Activation::Relu,
            dueling: true,
            double: true,
            n_step: 3,
            gamma: 0.95,
            reward_scale: 0.0,
            lr: 5e-4,
            lr_end_share: 0.1,
            lr_decay: Decay::Linear,
            weight_decay: 1e-2,
            adam_eps: 1e-8,
            feature_noise: 2.0,
            max_grad_norm: 10.0,
            huber_delta: 1.0,
            batch: 64,
            train_every: 4,
            learning_starts: 1_000,
            replay: ReplayKind::Proportional,
            replay_capacity: 100_000,
            alpha: 0.6,
            priority_eps: 1e-2,
            beta_start: 0.4,
            beta_end: 1.0,
            epsilon_start: 1.0,
            epsilon_end: 0.05,
            epsilon_decay: Decay::Linear,
            epsilon_fraction: 0.5,
            target: TargetUpdate::Soft,
            tau: 0.005,
            target_period: 500,
            n_envs: 16,
            episode_bars: 252,
            epochs: 20,
            steps_per_epoch: 4_000,
            epoch_reset: EpochReset::default(),
            guard: GuardConfig::default(),
        }
    }
}

/// A field, its value and whether it is what the rule says.
type Check = (&'static str, String, bool, &'static str);

impl DqnConfig {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`LearnError::Config`] naming the first field outside its range.
    pub fn validate(&self) -> Result<(), LearnError> {
        let wrong = self
            .network_checks()
            .into_iter()
            .chain(self.replay_checks())
            .chain(self.loop_checks())
            .chain(self.guard_checks());
        match wrong.into_iter().find(|check| !check.2) {
            Some((field, value, _, rule)) => Err(LearnError::Config { field, value, rule }),
            None => Ok(()),
        }
    }

    fn network_checks(&self) -> Vec<Check> {
        let distinct = (1..self.levels.len()).all(|i| !self.levels[..i].contains(&self.levels[i]));
        let levels_ok =
            (2..=256).contains(&self.levels.len()) && distinct && self.levels.iter().all(|level| level.is_finite());
        vec![
            ("levels", format!("{:?}", self.levels), levels_ok, "2 to 256 finite numbers, no two the same"),
            ("hidden", format!("{:?}", self.hidden), self.hidden.iter().all(|&h| h > 0), "widths above 0"),
            at_least("n_step", self.n_step, 1, "at least 1"),
            within("gamma", self.gamma, 0.0, 1.0, "in [0, 1]"),
            within("reward_scale", self.reward_scale, 0.0, f64::MAX, "0 (automatic) or above"),
            above("lr", self.lr),
            ("lr_end_share", self.lr_end_share.to_string(), in_unit_open(self.lr_end_share), "in (0, 1]"),
            within("weight_decay", self.weight_decay, 0.0, f64::MAX, "0 or above"),
            above("adam_eps", self.adam_eps),
            within("feature_noise", self.feature_noise, 0.0, f64::MAX, "0 or above"),
            within("max_grad_norm", self.max_grad_norm, 0.0, f64::MAX, "0 (no clipping) or above"),
            above("huber_delta", self.huber_delta),
            ("tau", self.tau.to_string(), in_unit_open(self.tau), "in (0, 1]"),
            at_least("target_period", self.target_period, 1, "at least 1"),
        ]
    }

    fn replay_checks(&self) -> Vec<Check> {
        let Self { batch, replay_capacity, learning_starts, steps_per_epoch, .. } = *self;
        let capacity_ok = (batch..=u32::MAX as usize).contains(&replay_capacity);
        let capacity = format!("{replay_capacity} beside a batch of {batch}");
        let learning_ok = (batch..steps_per_epoch).contains(&learning_starts);
        let learning = format!("{learning_starts} beside a batch of {batch} and {steps_per_epoch} steps an epoch");
        vec![
            at_least("batch", batch, 1, "at least 1"),
            at_least("steps_per_epoch", steps_per_epoch, 2, "at least 2"),
            ("replay_capacity", capacity, capacity_ok, "at least `batch` and below 2^32"),
            at_least("train_every", self.train_every, 1, "at least 1"),
            ("learning_starts", learning, learning_ok, "at least `batch` and below `steps_per_epoch`"),
            within("alpha", self.alpha, 0.0, 1.0, "in [0, 1]"),
            above("priority_eps", self.priority_eps),
            within("beta_start", self.beta_start, 0.0, 1.0, "in [0, 1]"),
            within("beta_end", self.beta_end, 0.0, 1.0, "in [0, 1]"),
        ]
    }

    fn loop_checks(&self) -> Vec<Check> {
        // An exponential decay never reaches, and cannot leave, 0.
        let least = if self.epsilon_decay == Decay::Exponential { f64::MIN_POSITIVE } else { 0.0 };
        let rule = "in [0, 1], and above 0 for an exponential decay";
        let fraction = self.epsilon_fraction;
        vec![
            within("epsilon_start", self.epsilon_start, least, 1.0, rule),
            within("epsilon_end", self.epsilon_end, least, 1.0, rule),
            ("epsilon_fraction", fraction.to_string(), in_unit_open(fraction), "in (0, 1]"),
            at_least("n_envs", self.n_envs, 1, "at least 1"),
            at_least("episode_bars", self.episode_bars, 2, "at least 2"),
            at_least("epochs", self.epochs, 1, "at least 1"),
        ]
    }

    fn guard_checks(&self) -> [Check; 3] {
        let GuardConfig { loss_spike, min_grad_norm, max_q, .. } = self.guard;
        // The mean would sink below every loss.
        let spike_ok = loss_spike == 0.0 || (loss_spike > 1.0 && loss_spike.is_finite());
        [
            ("guard.loss_spike", loss_spike.to_string(), spike_ok, "0 (not asked), or above 1 and finite"),
            within("guard.min_grad_norm", min_grad_norm, 0.0, f64::MAX, "0 (not asked) or above"),
            within("guard.max_q", max_q, 0.0, f64::MAX, "0 (not asked) or above"),
        ]
    }

    /// Gradient steps due in all when `env_steps` environment steps have been made: one per `train_every` after the
    /// first `learning_starts`, and none before the ring is sure to hold a minibatch. Every environment keeps back at
    /// most n_step − 1 steps, whose returns are not complete yet. A function of counters alone: whoever steps a device
    /// need not ask it.
    pub fn gradient_steps_due(&self, env_steps: u64) -> u64 {
        let kept_back = (self.n_envs as u64).saturating_mul(self.n_step as u64 - 1);
        if env_steps < kept_back.saturating_add(self.batch as u64) {
            return 0;
        }
        env_steps.saturating_sub(self.learning_starts as u64) / self.train_every as u64
    }

    /// Share of the training done after `env_steps` steps.
    pub(super) fn progress(&self, env_steps: u64) -> f64 {
        env_steps as f64 / (self.epochs * self.steps_per_epoch) as f64
    }

    /// Share of random actions after `env_steps` steps.
    pub fn epsilon(&self, env_steps: u64) -> f64 {
        let progress = self.progress(env_steps) / self.epsilon_fraction;
        self.epsilon_decay.at(self.epsilon_start, self.epsilon_end, progress)
    }

    /// Learning rate after `env_steps` steps.
    pub fn learning_rate(&self, env_steps: u64) -> f64 {
        self.lr_decay.at(self.lr, self.lr * self.lr_end_share, self.progress(env_steps))
    }

    /// β of the importance weights after `env_steps` steps: linear.
    pub fn beta(&self, env_steps: u64) -> f64 {
        Decay::Linear.at(self.beta_start, self.beta_end, self.progress(env_steps))
    }
}

fn in_unit_open(x: f64) -> bool {
    x > 0.0 && x <= 1.0
}

fn within(field: &'static str, x: f64, low: f64, high: f64, rule: &'static str) -> Check {
    (field, x.to_string(), x >= low && x <= high, rule)
}

fn above(field: &'static str, x: f64) -> Check {
    (field, x.to_string(), x > 0.0 && x.is_finite(), "above 0 and finite")
}

fn at_least(field: &'static str, x: usize, least: usize, rule: &'static str) -> Check {
    (field, x.to_string(), x >= least, rule)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn defaults_are_valid() {
        DqnConfig::default().validate().unwrap();
    }

    #[test]
    fn each_wrong_setting_is_named() {
        type Break = fn(&mut DqnConfig);
        let cases: [(&str, Break); 17] = [
            ("levels", |c| c.levels = vec![1.0]),
            ("levels", |c| c.levels = vec![0.0, 1.0, -0.0]),
            ("steps_per_epoch", |c| c.steps_per_epoch = 0),
            ("levels", |c| c.levels[0] = f64::NAN),
            ("hidden", |c| c.hidden = vec![8, 0]),
            ("gamma", |c| c.gamma = 1.5),
            ("gamma", |c| c.gamma = f64::NAN),
            ("lr", |c| c.lr = 0.0),
            ("tau", |c| c.tau = 0.0),
            ("replay_capacity", |c| c.replay_capacity = 3),
            ("learning_starts", |c| c.learning_starts = c.steps_per_epoch),
            ("epsilon_end", |c| (c.epsilon_decay, c.epsilon_end) = (Decay::Exponential, 0.0)),
            ("n_envs", |c| c.n_envs = 0),
            ("epochs", |c| c.epochs = 0),
            ("guard.loss_spike", |c| c.guard.loss_spike = 0.5),
            ("guard.min_grad_norm", |c| c.guard.min_grad_norm = -1.0),
            ("guard.max_q", |c| c.guard.max_q = f64::NAN),
        ];
        for (field, break_it) in cases {
            let mut config = DqnConfig::default();
            break_it(&mut config);
            let message = config.validate().unwrap_err().to_string();
            assert!(message.starts_with(&format!("dqn.{field} is ")), "{message}");
        }
    }

    #[test]
    fn unknown_settings_are_refused() {
        let error = serde_json::from_str::<DqnConfig>(r#"{"gama": 0.9}"#).unwrap_err().to_string();
        assert!(error.contains("gama"), "{error}");
    }

    #[test]
    fn gradient_steps_wait_for_a_minibatch() {
        let config = DqnConfig { batch: 64, n_envs: 16, n_step: 3, learning_starts: 70, ..DqnConfig::default() };
        assert_eq!([0, 80, 95].map(|n| config.gradient_steps_due(n)), [0; 3]);
        assert_eq!([96, 100, 110].map(|n| config.gradient_steps_due(n)), [(96 - 70) / 4, 7, 10]);
    }

    #[test]
    fn schedules_reach_their_ends() {
        let config = DqnConfig::default();
        let total = (config.epochs * config.steps_per_epoch) as u64;
        assert_eq!(config.epsilon(0), 1.0);
        assert_eq!(config.epsilon(total / 2), config.epsilon_end);
        assert_eq!(config.learning_rate(total), config.lr * config.lr_end_share);
        assert_eq!(config.beta(total), 1.0);
    }
}
