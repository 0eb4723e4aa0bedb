//! Deep Q-learning, in the order of the papers.
//!
//! Mnih et al. 2015 (replay, target network, ε-greedy), van Hasselt, Guez & Silver 2016 (double), Wang et al. 2016
//! (dueling), Schaul et al. 2016 (prioritised replay), Sutton 1988 (n-step returns), as combined by Hessel et al. 2018.
//!
//! Departures from Mnih et al.: (1) Adam with clipping by global norm instead of RMSProp; (2) a soft target update by
//! default; (3) several environments step together; (4) episodes end by truncation, which bootstraps.
//!
//! A trainer computes on its own thread, so folds run side by side in a pool and give the same bits as alone. One
//! exception that costs time, not bits: Candle adds gradients of 65,536 values and more (a 256 × 256 layer) on a
//! spinning pool of the whole process, which `CANDLE_NUM_THREADS=1` in the environment turns off.

pub(crate) mod batch;
pub mod config;
mod data;
mod memory;
mod resume;
pub mod summary;

use std::sync::Arc;
use std::time::Instant;

use candle_core::Tensor;
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::rules::{RewardConfig, SimConfig};
use gigabar_market::rng::Philox;
use serde::{Deserialize, Serialize};

pub use config::{DqnConfig, TargetUpdate};
pub use data::TrainData;
pub use summary::EpochSummary;

use crate::collector::{CollectStats, Collector, World};
use crate::error::LearnError;
use crate::guard::{Guard, GuardCounts};
use crate::net::{NetShape, Pass, QNet};
use crate::optim::{Adam, AdamConfig, clip_by_norm, global_norm};
use crate::policy::{NetPolicy, argmax};
use crate::replay::{Draw, PriorityConfig, Ring, Sampler, Transition};
use crate::stream;
use summary::Moments;

/// How far training has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub(crate) epochs: usize,
    pub(crate) env_steps: u64,
    /// Skipped ones included.
    pub(crate) grad_steps: u64,
    pub(crate) skipped_steps: u64,
    /// Random blocks used for feature noise.
    pub(crate) noise_blocks: u64,
}

/// A network and its target, with the host's copy of both.
#[derive(Debug)]
pub(crate) struct Networks {
    pub(crate) online: QNet,
    pub(crate) target: QNet,
    /// The online weights, the copy the optimizer works on.
    pub(crate) weights: Vec<Vec<f32>>,
    pub(crate) target_weights: Vec<Vec<f32>>,
}

/// DQN on one train range. See the module's head for the algorithm.
#[derive(Debug)]
pub struct Trainer {
    pub(crate) config: DqnConfig,
    pub(crate) sim: SimConfig,
    pub(crate) reward: RewardConfig,
    pub(crate) data: TrainData,
    pub(crate) seed: u64,
    pub(crate) rules: Rules,
    pub(crate) reward_scale: f64,
    pub(crate) nets: Networks,
    pub(crate) adam: Adam,
    pub(crate) collector: Collector,
    pub(crate) ring: Ring,
    pub(crate) sampler: Sampler,
    pub(crate) sample_rng: Philox,
    pub(crate) progress: Progress,
    pub(crate) guard: Guard,
    /// Scratch: the minibatch drawn, and transitions on their way into the ring.
    pub(crate) draw: Draw,
    pub(crate) finished: Vec<Transition>,
}

/// What the gradient steps of an epoch did.
#[derive(Debug, Clone, Default)]
pub(crate) struct LearnStats {
    pub(crate) loss: Moments,
    pub(crate) grad_norm: Moments,
    pub(crate) q: Moments,
    pub(crate) skipped: u64,
    pub(crate) guard: GuardCounts,
}

impl Trainer {
    /// A trainer before its first step.
    ///
    /// # Errors
    /// [`LearnError::Config`], [`LearnError::Rules`] for settings, [`LearnError::Range`] when `data.range` is too short
    /// or outside the data.
    pub fn new(
        config: &DqnConfig,
        sim: &SimConfig,
        reward: &RewardConfig,
        data: TrainData,
        seed: u64,
    ) -> Result<Self, LearnError> {
        config.validate()?;
        data.check(config)?;
        memory::check(config, data.features.n_feature())?;
        let rules = Rules::new(sim, &Market::new(&data.bars, &data.sigma))?;
        let shape = NetShape {
            n_input: data.features.n_feature() + N_PORTFOLIO,
            hidden: config.hidden.clone(),
            n_action: config.levels.len(),
            activation: config.activation,
            dueling: config.dueling,
        };
        let weights = shape.initial(seed);
        let lengths: Vec<usize> = weights.iter().map(Vec::len).collect();
        let adam = AdamConfig { weight_decay: config.weight_decay, eps: config.adam_eps, ..AdamConfig::default() };
        let priority = PriorityConfig { alpha: config.alpha, eps: config.priority_eps };
        let mut trainer = Self {
            reward_scale: data.reward_scale(config, reward),
            nets: Networks {
                online: QNet::new(shape.clone(), &weights)?,
                target: QNet::new(shape, &weights)?,
                target_weights: weights.clone(),
                weights,
            },
            adam: Adam::new(adam, &lengths),
            collector: Collector::default(),
            ring: Ring::new(config.replay_capacity),
            sampler: Sampler::new(config.replay, config.replay_capacity, priority),
            sample_rng: Philox::new(seed, stream::SAMPLE),
            progress: Progress::default(),
            guard: Guard::default(),
            draw: Draw::default(),
            finished: Vec::new(),
            config: config.clone(),
            sim: sim.clone(),
            reward: *reward,
            data,
            seed,
            rules,
        };
        trainer.collector = Collector::new(config.n_envs, &trainer.world());
        Ok(trainer)
    }

    /// Epochs finished.
    pub fn epochs_done(&self) -> usize {
        self.progress.epochs
    }

    /// Epochs in all.
    pub fn n_epochs(&self) -> usize {
        self.config.epochs
    }

    /// Gradient steps skipped so far because the guard found them bad.
    pub fn skipped_steps(&self) -> u64 {
        self.progress.skipped_steps
    }

    /// The seed all randomness derives from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The online weights, in the order of [`NetShape::parameters`].
    pub fn weights(&self) -> &[Vec<f32>] {
        &self.nets.weights
    }

    /// The greedy policy of the online network.
    pub fn policy(&self) -> NetPolicy {
        let (shape, features) = (self.nets.online.shape().clone(), Arc::clone(&self.data.features));
        NetPolicy::of_trained(shape, self.nets.weights.clone(), self.config.levels.clone(), features)
    }

    /// `steps_per_epoch` environment steps, with a gradient step after every `train_every` of them.
    ///
    /// # Errors
    /// [`LearnError::Tensor`] as Candle reports it.
    pub fn run_epoch(&mut self) -> Result<EpochSummary, LearnError> {
        let started = Instant::now();
        let (mut collect, mut learn) = (CollectStats::default(), LearnStats::default());
        let end = (self.progress.epochs as u64 + 1) * self.config.steps_per_epoch as u64;
        if self.progress.epochs > 0 {
            let mut collector = std::mem::take(&mut self.collector);
            collector.begin_epoch(&self.world(), self.config.epoch_reset);
            self.collector = collector;
        }
        while self.progress.env_steps < end {
            self.collect(&mut collect)?;
            while self.progress.grad_steps < self.config.gradient_steps_due(self.progress.env_steps) {
                self.learn(&mut learn)?;
            }
        }
        self.progress.epochs += 1;
        Ok(self.summary(&collect, &learn, started.elapsed().as_secs_f64()))
    }

    fn world(&self) -> World<'_> {
        World {
            rules: &self.rules,
            market: Market::new(&self.data.bars, &self.data.sigma),
            features: &self.data.features,
            reward: &self.reward,
            levels: &self.config.levels,
            range: &self.data.range,
            episode_bars: self.config.episode_bars.min(self.data.range.len() - 1),
            n_step: self.config.n_step,
            gamma: self.config.gamma,
            reward_scale: self.reward_scale,
            seed: self.seed,
        }
    }

    /// One bar of every environment, ε-greedy (Mnih et al. 2015, algorithm 1: act, observe, store).
    fn collect(&mut self, stats: &mut CollectStats) -> Result<(), LearnError> {
        let mut collector = std::mem::take(&mut self.collector);
        let observations = self.nets.online.input(collector.observe(&self.world()))?;
        let q = self.nets.online.infer(&observations)?;
        let epsilon = self.config.epsilon(self.progress.env_steps);
        let mut finished = std::mem::take(&mut self.finished);
        collector.step(&self.world(), &q, epsilon, stats, &mut |transition| finished.push(*transition));
        for transition in finished.drain(..) {
            self.sampler.insert(self.ring.push(&transition));
        }
        self.finished = finished;
        self.progress.env_steps += collector.len() as u64;
        self.collector = collector;
        Ok(())
    }

    /// One gradient step: sample, target, loss, gradient, guard, update, priorities, target network.
    pub(crate) fn learn(&mut self, stats: &mut LearnStats) -> Result<(), LearnError> {
        let beta = self.config.beta(self.progress.env_steps);
        self.progress.grad_steps += 1;
        self.sampler.draw(self.config.batch, beta, &mut self.sample_rng, &mut self.draw);
        let (observations, next_observations) = self.gather()?;
        let targets = self.targets(&next_observations)?;

        let q = self.nets.online.forward(&observations, Pass::Train)?;
        let values: Vec<f32> = q.flatten_all()?.to_vec1()?;
        let step = self.loss(&values, &targets);
        let mut grads = self.gradients(&q, step.dloss_dq)?;
        let norm = global_norm(&grads);
        let verdict = self.guard.judge(&self.config.guard, step.loss, norm, largest(&values));
        if verdict != 0 {
            stats.guard.add(verdict);
            self.skip(&step.td_abs, stats);
            return Ok(());
        }

        clip_by_norm(&mut grads, norm, self.config.max_grad_norm);
        let lr = self.config.learning_rate(self.progress.env_steps);
        self.adam.update(lr, &grads, &mut self.nets.weights);
        self.nets.online.set_weights(&self.nets.weights)?;
        self.sampler.update(&self.draw.slots, &step.td_abs);
        self.update_target()?;

        stats.loss.add(step.loss);
        stats.grad_norm.add(norm);
        values.iter().for_each(|&q| stats.q.add(f64::from(q)));
        Ok(())
    }

    /// y = R + γⁿ·Q(s′), nothing after a termination. Q(s′) is the target network's value of the action that the online
    /// network prefers (double), or of its own best. `[batch]`
    pub(crate) fn targets(&self, next_observations: &Tensor) -> Result<Vec<f32>, LearnError> {
        let n_action = self.config.levels.len();
        let target_q = self.nets.target.infer(next_observations)?;
        let online_q = if self.config.double { Some(self.nets.online.infer(next_observations)?) } else { None };
        let chooser = online_q.as_ref().unwrap_or(&target_q);
        let rows = target_q.chunks_exact(n_action).zip(chooser.chunks_exact(n_action));
        let target = |(&slot, (value, preference)): (&usize, (&[f32], &[f32]))| {
            let bootstrap = self.ring.discount[slot] * value[argmax(preference)];
            self.ring.reward[slot] + if self.ring.done[slot] != 0 { 0.0 } else { bootstrap }
        };
        Ok(self.draw.slots.iter().zip(rows).map(target).collect())
    }

    /// L = mean of w·Huber(δ), δ = Q(s, a) − y, and ∂L/∂Q, which is w·clamp(δ, ±κ)/batch at the action taken, 0
    /// elsewhere.
    pub(crate) fn loss(&self, q: &[f32], targets: &[f32]) -> Loss {
        let (n_action, kappa) = (self.config.levels.len(), self.config.huber_delta as f32);
        let n = targets.len() as f32;
        let mut out = Loss { loss: 0.0, dloss_dq: vec![0.0; q.len()], td_abs: Vec::with_capacity(targets.len()) };
        for (i, (&slot, &y)) in self.draw.slots.iter().zip(targets).enumerate() {
            let at = i * n_action + self.ring.action[slot] as usize;
            let (td, weight) = (q[at] - y, self.draw.weights[i]);
            let slope = td.clamp(-kappa, kappa);
            out.loss += f64::from(weight * slope * (td - 0.5 * slope) / n);
            out.dloss_dq[at] = weight * slope / n;
            out.td_abs.push(td.abs());
        }
        out
    }

    /// ∂L/∂θ by Candle: the gradient of Σ Q·(∂L/∂Q), the second factor held constant. One vector per parameter.
    pub(crate) fn gradients(&self, q: &Tensor, dloss_dq: Vec<f32>) -> Result<Vec<Vec<f32>>, LearnError> {
        let seed = Tensor::from_vec(dloss_dq, q.shape(), q.device())?;
        let grads = (q * seed)?.sum_all()?.backward()?;
        let of = |var: &candle_core::Var| match grads.get(var) {
            Some(grad) => grad.flatten_all()?.to_vec1(),
            None => candle_core::bail!("a parameter of the network has no gradient"),
        };
        Ok(self.nets.online.vars().iter().map(of).collect::<Result<_, _>>()?)
    }

    /// A bad step changes nothing but the counters, and transitions whose δ is not finite lose their priority, so that
    /// they are not drawn again and again.
    fn skip(&mut self, td_abs: &[f32], stats: &mut LearnStats) {
        stats.skipped += 1;
        self.progress.skipped_steps += 1;
        let drawn = self.draw.slots.iter().zip(td_abs);
        let bad: Vec<usize> = drawn.filter(|(_, td)| !td.is_finite()).map(|(&slot, _)| slot).collect();
        self.sampler.update(&bad, &vec![0.0; bad.len()]);
    }

    fn update_target(&mut self) -> Result<(), LearnError> {
        let (nets, period) = (&mut self.nets, self.config.target_period as u64);
        match self.config.target {
            TargetUpdate::Soft => {
                let tau = self.config.tau as f32;
                let pairs = nets.target_weights.iter_mut().flatten().zip(nets.weights.iter().flatten());
                pairs.for_each(|(target, &online)| *target += tau * (online - *target));
            }
            TargetUpdate::Periodic if !self.progress.grad_steps.is_multiple_of(period) => return Ok(()),
            TargetUpdate::Periodic => nets.target_weights.clone_from(&nets.weights),
        }
        nets.target.set_weights(&nets.target_weights)
    }

    fn summary(&self, collect: &CollectStats, learn: &LearnStats, seconds: f64) -> EpochSummary {
        let returns = &collect.returns;
        let annual = self.data.bars.periods_per_year().sqrt();
        EpochSummary {
            epoch: self.progress.epochs - 1,
            env_steps: self.progress.env_steps,
            grad_steps: self.progress.grad_steps,
            skipped_steps: learn.skipped,
            guard: learn.guard,
            loss: learn.loss.mean(),
            loss_ema: self.guard.loss_ema(),
            grad_norm: learn.grad_norm.mean(),
            q_mean: learn.q.mean(),
            q_std: learn.q.std(),
            q_min: learn.q.min,
            q_max: learn.q.max,
            epsilon: self.config.epsilon(self.progress.env_steps),
            learning_rate: self.config.learning_rate(self.progress.env_steps),
            mean_reward: collect.reward.mean(),
            reward_std: collect.reward.std(),
            min_reward: collect.reward.min,
            max_reward: collect.reward.max,
            sharpe_estimate: if returns.std() > 0.0 { returns.mean() / returns.std() * annual } else { 0.0 },
            action_counts: collect.action_counts.clone(),
            ruins: collect.ruins,
            replay_len: self.ring.len(),
            steps_per_second: returns.n as f64 / seconds,
        }
    }
}

/// The largest |Q|; NaN when any is NaN.
fn largest(q: &[f32]) -> f64 {
    f64::from(q.iter().fold(0.0_f32, |most, q| if q.is_nan() || most.is_nan() { f32::NAN } else { most.max(q.abs()) }))
}

/// A minibatch's loss and what follows from it.
pub(crate) struct Loss {
    pub(crate) loss: f64,
    /// `[batch × n_action]`
    pub(crate) dloss_dq: Vec<f32>,
    /// |δ|. `[batch]`
    pub(crate) td_abs: Vec<f32>,
}

#[cfg(test)]
pub(crate) mod tests;
