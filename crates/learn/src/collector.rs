//! Experience from a vector of environments, all on the simulator of [`gigabar_backtest::cpu::engine`].
//!
//! An episode starts flat at a random bar of the train range and lasts `episode_bars`. Its end is a truncation: nothing
//! is closed, and the bootstrap observation is the one before the reset. Only ruin terminates. Random numbers are
//! functions of (seed, environment, step), so they do not depend on the number of threads or on where a run was
//! resumed.

use std::collections::VecDeque;
use std::ops::Range;

use gigabar_backtest::cpu::account::{Account, Step};
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::cpu::reward::RewardState;
use gigabar_backtest::rules::RewardConfig;
use gigabar_market::rng::unit_f64;
use gigabar_market::scale::ScaledFeatures;
use serde::{Deserialize, Serialize};

use crate::dqn::summary::Moments;
use crate::replay::Transition;
use crate::stream;

/// What environments lose when an epoch begins. By default nothing: an epoch is a stretch of one training, and an
/// episode may reach over its end. (σ has nothing to lose: it is a function of the bars alone.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpochReset {
    /// Positions, cash and n-step returns not yet complete: every account begins again, flat, on the bar where it
    /// stands.
    pub portfolio: bool,
    /// The moving mean and variance of returns behind the differential Sharpe ratio.
    pub dsr: bool,
}

impl EpochReset {
    /// Whether there is anything to do.
    pub fn is_some(self) -> bool {
        self.portfolio || self.dsr
    }
}

/// What an environment lives in.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) market: Market<'a>,
    pub(crate) features: &'a ScaledFeatures,
    pub(crate) reward: &'a RewardConfig,
    pub(crate) levels: &'a [f64],
    /// The train range.
    pub(crate) range: &'a Range<usize>,
    /// Decisions per episode; fits the train range.
    pub(crate) episode_bars: usize,
    pub(crate) n_step: usize,
    pub(crate) gamma: f64,
    pub(crate) reward_scale: f64,
    pub(crate) seed: u64,
}

/// A step whose n-step return is not complete yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) bar: u32,
    #[serde(with = "bits")]
    pub(crate) portfolio: [f32; N_PORTFOLIO],
    pub(crate) action: u32,
    pub(crate) reward: f64,
}

/// f32 by their bits: exact in JSON, whatever they hold.
mod bits {
    use super::N_PORTFOLIO;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(x: &[f32; N_PORTFOLIO], s: S) -> Result<S::Ok, S::Error> {
        x.map(f32::to_bits).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<[f32; N_PORTFOLIO], D::Error> {
        Ok(<[u32; N_PORTFOLIO]>::deserialize(d)?.map(f32::from_bits))
    }
}

/// One environment: an account somewhere in the train range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Env {
    pub(crate) account: Account,
    pub(crate) reward: RewardState,
    /// The bar that has just closed.
    pub(crate) bar: usize,
    /// The bar at whose close the episode is truncated.
    pub(crate) end: usize,
    /// Decisions made since the start of training.
    pub(crate) steps: u64,
    /// Episodes begun.
    pub(crate) episodes: u64,
    pub(crate) pending: VecDeque<Pending>,
}

/// The environments, as a checkpoint stores them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Collector {
    pub(crate) envs: Vec<Env>,
}

/// What a stretch of collection did.
#[derive(Debug, Clone, Default)]
pub(crate) struct CollectStats {
    pub(crate) reward: Moments,
    pub(crate) returns: Moments,
    pub(crate) action_counts: Vec<u64>,
    pub(crate) ruins: u64,
}

impl Collector {
    /// `n_envs` environments at the start of their first episodes.
    pub(crate) fn new(n_envs: usize, world: &World<'_>) -> Self {
        let start = |e: usize| {
            let mut env = Env {
                account: Account::new(world.rules),
                reward: RewardState::new(&world.market.sigma[world.range.clone()]),
                bar: 0,
                end: 0,
                steps: 0,
                episodes: 0,
                pending: VecDeque::with_capacity(world.n_step),
            };
            env.reset(e, world);
            env
        };
        Self { envs: (0..n_envs).map(start).collect() }
    }

    /// The bars the environments stand on; a checkpoint must not place one outside the train range.
    pub(crate) fn is_within(&self, range: &Range<usize>) -> bool {
        self.envs.iter().all(|env| range.contains(&env.bar) && env.bar < env.end && env.end < range.end)
    }

    /// Number of environments.
    pub(crate) fn len(&self) -> usize {
        self.envs.len()
    }

    /// What an epoch begins with.
    pub(crate) fn begin_epoch(&mut self, world: &World<'_>, reset: EpochReset) {
        for env in &mut self.envs {
            if reset.portfolio {
                env.account = Account::new(world.rules);
                env.pending.clear();
            }
            if reset.dsr {
                (env.reward.dsr_mean, env.reward.dsr_var) = (0.0, 0.0);
            }
        }
    }

    /// Observations of all environments, row-major `[n_env, n_input]`.
    pub(crate) fn observe(&self, world: &World<'_>) -> Vec<f32> {
        let width = world.features.n_feature() + N_PORTFOLIO;
        let mut out = Vec::with_capacity(self.envs.len() * width);
        for env in &self.envs {
            out.extend_from_slice(world.features.row(env.bar));
            out.extend_from_slice(&env.account.observation(&world.market, env.bar));
        }
        out
    }

    /// Every environment acts ε-greedily on its row of `q` (`[n_env, n_action]`) and lives one bar; finished
    /// transitions go to `sink`.
    pub(crate) fn step(
        &mut self,
        world: &World<'_>,
        q: &[f32],
        epsilon: f64,
        stats: &mut CollectStats,
        sink: &mut impl FnMut(&Transition),
    ) {
        let n_action = world.levels.len();
        stats.action_counts.resize(n_action, 0);
        for (e, (env, q)) in self.envs.iter_mut().zip(q.chunks_exact(n_action)).enumerate() {
            let action = env.choose(e, q, epsilon, world.seed);
            env.live(e, action, world, stats, sink);
        }
    }
}

impl Env {
    fn choose(&mut self, e: usize, q: &[f32], epsilon: f64, seed: u64) -> usize {
        let words = stream::block(seed, stream::EXPLORE | e as u64, self.steps);
        self.steps += 1;
        if unit_f64(words[0], words[1]) < epsilon { below(words[2], q.len()) } else { crate::policy::argmax(q) }
    }

    fn live(
        &mut self,
        e: usize,
        action: usize,
        world: &World<'_>,
        stats: &mut CollectStats,
        sink: &mut impl FnMut(&Transition),
    ) {
        let portfolio = self.account.observation(&world.market, self.bar);
        let level = world.levels[action];
        let step = self.account.step(world.rules, &world.market, self.bar, level, false, &mut |_| {});
        let reward = self.reward.reward(world.reward, &step);
        let pending = Pending { bar: self.bar as u32, portfolio, action: action as u32, reward };
        self.pending.push_back(pending);
        self.bar += 1;
        count(stats, action, reward, &step);

        let over = step.ruined || self.bar >= self.end;
        while self.pending.len() >= world.n_step || (over && !self.pending.is_empty()) {
            sink(&self.transition(world, step.ruined));
            self.pending.pop_front();
        }
        if over {
            self.reset(e, world);
        }
    }

    /// The n-step transition from the oldest pending step to now.
    fn transition(&self, world: &World<'_>, done: bool) -> Transition {
        let first = &self.pending[0];
        let (mut sum, mut discount) = (0.0, 1.0);
        for step in &self.pending {
            sum += discount * step.reward;
            discount *= world.gamma;
        }
        Transition {
            bar: first.bar,
            portfolio: first.portfolio,
            action: first.action,
            reward: (sum * world.reward_scale) as f32,
            discount: discount as f32,
            done,
            next_bar: self.bar as u32,
            next_portfolio: self.account.observation(&world.market, self.bar),
        }
    }

    /// A new flat account at a random start; the reward's moving averages live on.
    fn reset(&mut self, e: usize, world: &World<'_>) {
        let n_start = world.range.len() - world.episode_bars;
        let words = stream::block(world.seed, stream::EPISODE | e as u64, self.episodes);
        self.episodes += 1;
        self.account = Account::new(world.rules);
        self.bar = world.range.start + below(words[0], n_start);
        self.end = self.bar + world.episode_bars;
    }
}

fn count(stats: &mut CollectStats, action: usize, reward: f64, step: &Step) {
    stats.reward.add(reward);
    stats.returns.add(step.ret);
    stats.action_counts[action] += 1;
    stats.ruins += u64::from(step.ruined);
}

/// An index below `n` from one word (multiply-shift).
fn below(word: u32, n: usize) -> usize {
    ((u64::from(word) * n as u64) >> 32) as usize
}

#[cfg(test)]
mod tests;
