//! Saving a trainer and continuing it bit for bit.
//!
//! One safetensors file: both networks, the optimizer's moments, the replay ring and its priorities as arrays;
//! counters, accounts, generator and settings as JSON in its header. One file is one atomic rename.

use std::path::{Path, PathBuf};

use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::rules::{RewardConfig, SimConfig};
use gigabar_market::rng::Philox;
use serde::{Deserialize, Serialize};

use super::{DqnConfig, Progress, TrainData, Trainer};
use crate::checkpoint::archive::Archive;
use crate::collector::Collector;
use crate::error::LearnError;
use crate::guard::Guard;
use crate::replay::SamplerState;

/// Version of the training checkpoint; a file of another version is refused.
const FORMAT: u32 = 2;

/// Name of the checkpoint in its folder.
pub(super) const FILE: &str = "training.safetensors";

/// What must be the same when training goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Settings {
    dqn: DqnConfig,
    sim: SimConfig,
    reward: RewardConfig,
    first_bar: usize,
    end_bar: usize,
    /// CRC-32C of prices, volumes and scaled features in the train range.
    data: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct State {
    format: u32,
    seed: u64,
    settings: Settings,
    progress: Progress,
    guard: Guard,
    sample_rng: Philox,
    adam_step: u64,
    ring_written: u64,
    /// The bits of [`SamplerState::scalars`].
    sampler_scalars: [u64; 2],
    collector: Collector,
}

impl Trainer {
    /// Writes `dir/training.safetensors`. A crash at any moment leaves the previous checkpoint or the new one.
    ///
    /// # Errors
    /// [`LearnError::Io`] when it cannot be written.
    pub fn save(&self, dir: &Path) -> Result<(), LearnError> {
        let path = dir.join(FILE);
        let sampler = self.sampler.state();
        let state = State {
            format: FORMAT,
            seed: self.seed,
            settings: self.settings(),
            progress: self.progress,
            guard: self.guard,
            sample_rng: self.sample_rng.clone(),
            adam_step: self.adam.step,
            ring_written: self.ring.written(),
            sampler_scalars: sampler.scalars.map(f64::to_bits),
            collector: self.collector.clone(),
        };
        let json = serde_json::to_string(&state).map_err(|e| LearnError::corrupt(&path, e))?;
        let mut archive = Archive::new(json);
        self.put_networks(&mut archive);
        self.put_replay(&mut archive, &sampler);
        archive.write(&path)
    }

    /// Continues a run saved in `dir` under the same settings and data: the same weights as if it had never stopped.
    /// The seed is the saved one.
    ///
    /// # Errors
    /// [`LearnError::Io`] when there is no checkpoint, [`LearnError::Corrupt`] when it is damaged,
    /// [`LearnError::Mismatch`] naming the setting that differs, and the errors of [`Trainer::new`].
    pub fn resume(
        dir: &Path,
        config: &DqnConfig,
        sim: &SimConfig,
        reward: &RewardConfig,
        data: TrainData,
    ) -> Result<Self, LearnError> {
        let path = dir.join(FILE);
        let archive = Archive::read(&path)?;
        let corrupt = |reason: String| LearnError::corrupt(&path, reason);
        let state: State = serde_json::from_str(&archive.json).map_err(|e| corrupt(e.to_string()))?;
        if state.format != FORMAT {
            return Err(corrupt(format!("its format is {}, this version reads {FORMAT}", state.format)));
        }
        let mut trainer = Self::new(config, sim, reward, data, state.seed)?;
        check_settings(&path, &state.settings, &trainer.settings())?;
        trainer.get_networks(&archive, &path)?;
        trainer.get_replay(&archive, &state).map_err(corrupt)?;
        if state.collector.len() != config.n_envs || !state.collector.is_within(&trainer.data.range) {
            return Err(corrupt("its environments stand outside the train range".into()));
        }
        trainer.adam.step = state.adam_step;
        trainer.progress = state.progress;
        trainer.guard = state.guard;
        trainer.sample_rng = state.sample_rng;
        trainer.collector = state.collector;
        Ok(trainer)
    }

    fn settings(&self) -> Settings {
        Settings {
            dqn: self.config.clone(),
            sim: self.sim.clone(),
            reward: self.reward,
            first_bar: self.data.range.start,
            end_bar: self.data.range.end,
            data: format!("{:08x}", fingerprint(&self.data)),
        }
    }

    fn put_networks(&self, archive: &mut Archive) {
        let sets = [
            ("online", &self.nets.weights),
            ("target", &self.nets.target_weights),
            ("adam.m", &self.adam.m),
            ("adam.v", &self.adam.v),
        ];
        for (set, values) in sets {
            for (parameter, values) in self.nets.online.shape().parameters().iter().zip(values) {
                archive.put(&format!("{set}.{}", parameter.name), &parameter.dims, values);
            }
        }
    }

    fn get_networks(&mut self, archive: &Archive, path: &Path) -> Result<(), LearnError> {
        let parameters = self.nets.online.shape().parameters();
        let sets = [
            ("online", &mut self.nets.weights),
            ("target", &mut self.nets.target_weights),
            ("adam.m", &mut self.adam.m),
            ("adam.v", &mut self.adam.v),
        ];
        for (set, values) in sets {
            for (parameter, values) in parameters.iter().zip(values) {
                let array = archive.get(&format!("{set}.{}", parameter.name), Some(&parameter.dims));
                *values = array.map_err(|reason| LearnError::corrupt(path, reason))?;
            }
        }
        self.nets.online.set_weights(&self.nets.weights)?;
        self.nets.target.set_weights(&self.nets.target_weights)
    }

    fn put_replay(&self, archive: &mut Archive, sampler: &SamplerState) {
        let (ring, n) = (&self.ring, self.ring.len());
        archive.put("replay.bar", &[n], &ring.bar);
        archive.put("replay.portfolio", &[n, N_PORTFOLIO], &ring.portfolio);
        archive.put("replay.action", &[n], &ring.action);
        archive.put("replay.reward", &[n], &ring.reward);
        archive.put("replay.discount", &[n], &ring.discount);
        archive.put("replay.done", &[n], &ring.done);
        archive.put("replay.next_bar", &[n], &ring.next_bar);
        archive.put("replay.next_portfolio", &[n, N_PORTFOLIO], &ring.next_portfolio);
        archive.put("replay.priority", &[sampler.priorities.len()], &sampler.priorities);
        archive.put("replay.order", &[sampler.order.len()], &sampler.order);
    }

    fn get_replay(&mut self, archive: &Archive, state: &State) -> Result<(), String> {
        let ring = &mut self.ring;
        ring.bar = archive.get("replay.bar", None)?;
        let n = ring.bar.len();
        ring.portfolio = archive.get("replay.portfolio", Some(&[n, N_PORTFOLIO]))?;
        ring.action = archive.get("replay.action", Some(&[n]))?;
        ring.reward = archive.get("replay.reward", Some(&[n]))?;
        ring.discount = archive.get("replay.discount", Some(&[n]))?;
        ring.done = archive.get("replay.done", Some(&[n]))?;
        ring.next_bar = archive.get("replay.next_bar", Some(&[n]))?;
        ring.next_portfolio = archive.get("replay.next_portfolio", Some(&[n, N_PORTFOLIO]))?;
        ring.set_written(state.ring_written);
        if n as u64 != state.ring_written.min(self.config.replay_capacity as u64) {
            return Err(format!("{n} transitions of {} written", state.ring_written));
        }
        let is_bar = |bar: &u32| self.data.range.contains(&(*bar as usize));
        let is_action = |action: &u32| (*action as usize) < self.config.levels.len();
        if !(ring.bar.iter().chain(&ring.next_bar).all(is_bar) && ring.action.iter().all(is_action)) {
            return Err("a transition lies outside the train range or the levels".into());
        }
        let priorities = archive.get("replay.priority", None)?;
        let order = archive.get("replay.order", None)?;
        let scalars = state.sampler_scalars.map(f64::from_bits);
        self.sampler.restore(&SamplerState { priorities, order, scalars }, n)
    }
}

/// CRC-32C of everything a trainer reads of its data.
fn fingerprint(data: &TrainData) -> u32 {
    let (bars, range) = (&data.bars, data.range.clone());
    let columns = [bars.open(), bars.high(), bars.low(), bars.close(), bars.volume()];
    let prices = columns.into_iter().flat_map(|c| &c[range.clone()]).flat_map(|x| x.to_le_bytes());
    let features = range.clone().flat_map(|t| data.features.row(t)).flat_map(|x| x.to_le_bytes());
    let bytes: Vec<u8> = prices.chain(features).chain(bars.periods_per_year().to_le_bytes()).collect();
    crc32c::crc32c(&bytes)
}

/// Names the first setting that differs.
fn check_settings(path: &Path, saved: &Settings, given: &Settings) -> Result<(), LearnError> {
    if saved == given {
        return Ok(());
    }
    let to_value = |s: &Settings| serde_json::to_value(s).unwrap_or_default();
    let (what, saved, given) = first_difference("", &to_value(saved), &to_value(given)).unwrap_or_default();
    Err(LearnError::Mismatch { path: PathBuf::from(path), what, saved, given })
}

type Difference = (String, String, String);

fn first_difference(at: &str, a: &serde_json::Value, b: &serde_json::Value) -> Option<Difference> {
    if a == b {
        return None;
    }
    let (Some(left), Some(right)) = (a.as_object(), b.as_object()) else {
        return Some((at.to_string(), a.to_string(), b.to_string()));
    };
    let null = serde_json::Value::Null;
    let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
    keys.sort();
    keys.into_iter().find_map(|key| {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        first_difference(&path, left.get(key).unwrap_or(&null), right.get(key).unwrap_or(&null))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::{bits, config, data, sim};
    use super::*;
    use crate::replay::ReplayKind;

    fn start(config: &DqnConfig, sim: &SimConfig, reward: &RewardConfig) -> Trainer {
        Trainer::new(config, sim, reward, data(1), 9).unwrap()
    }

    /// Six epochs straight against three, save, resume, three: every array and counter equal.
    fn assert_resumes(config: &DqnConfig, sim: &SimConfig, reward: &RewardConfig) {
        let dir = tempfile::tempdir().unwrap();
        let mut straight = start(config, sim, reward);
        let mut first = start(config, sim, reward);
        (0..6).for_each(|_| drop(straight.run_epoch().unwrap()));
        (0..3).for_each(|_| drop(first.run_epoch().unwrap()));
        first.save(dir.path()).unwrap();
        drop(first);
        let mut resumed = Trainer::resume(dir.path(), config, sim, reward, data(1)).unwrap();
        assert_eq!((resumed.epochs_done(), resumed.seed()), (3, 9));
        (0..3).for_each(|_| drop(resumed.run_epoch().unwrap()));
        assert_eq!(bits(resumed.weights()), bits(straight.weights()));
        assert_eq!(bits(&resumed.nets.target_weights), bits(&straight.nets.target_weights));
        assert_eq!(bits(&resumed.nets.online.weights().unwrap()), bits(straight.weights()));
        assert!(resumed.adam == straight.adam && resumed.ring == straight.ring);
        assert_eq!(resumed.sampler.state(), straight.sampler.state());
        assert!(resumed.collector == straight.collector && resumed.progress == straight.progress);
        assert_eq!(resumed.guard, straight.guard);
        assert_eq!(resumed.sample_rng, straight.sample_rng);
    }

    #[test]
    fn resumes_bit_for_bit_with_every_replay() {
        for kind in [ReplayKind::Uniform, ReplayKind::Proportional, ReplayKind::Rank] {
            assert_resumes(&config(kind), &sim(), &RewardConfig::default());
        }
    }

    #[test]
    fn resumes_bit_for_bit_with_stateful_rewards_and_barriers() {
        let barrier =
            gigabar_backtest::rules::TripleBarrier { k_stop: Some(1.5), k_take: Some(3.0), max_hold: Some(9) };
        let sim = SimConfig { barrier: Some(barrier), ..sim() };
        let reward = RewardConfig { kind: gigabar_backtest::rules::RewardKind::Dsr, ..RewardConfig::default() };
        assert_resumes(&config(ReplayKind::Proportional), &sim, &reward);
    }

    #[test]
    fn other_settings_data_and_damage_are_named() {
        let (dir, config, reward) = (tempfile::tempdir().unwrap(), config(ReplayKind::Rank), RewardConfig::default());
        let resume = |c: &DqnConfig, s: &SimConfig, d: TrainData| {
            Trainer::resume(dir.path(), c, s, &reward, d).map(drop).unwrap_err().to_string()
        };
        let missing = resume(&config, &sim(), data(1));
        assert!(missing.contains("cannot read") && missing.contains(FILE), "{missing}");
        let mut trainer = start(&config, &sim(), &reward);
        trainer.run_epoch().unwrap();
        trainer.save(dir.path()).unwrap();
        let gamma = resume(&DqnConfig { gamma: 0.5, ..config.clone() }, &sim(), data(1));
        assert!(gamma.contains("dqn.gamma 0.95, this run has 0.5"), "{gamma}");
        let cash = resume(&config, &SimConfig { initial_cash: 5.0, ..sim() }, data(1));
        assert!(cash.contains("sim.initial_cash"), "{cash}");
        assert!(resume(&config, &sim(), data(2)).contains(" data "));
        let range = resume(&config, &sim(), TrainData { range: 100..390, ..data(1) });
        assert!(range.contains("data") || range.contains("end_bar"), "{range}");
        let path = dir.path().join(FILE);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let cut = resume(&config, &sim(), data(1));
        assert!(cut.contains(FILE) && cut.contains("not a usable checkpoint"), "{cut}");
    }
}
