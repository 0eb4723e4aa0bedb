//! Trains every fold, from one seed or several: side by side on the CPU's threads, or all at once on a GPU; with
//! checkpoints, a log and a way to stop.

mod cpu;
mod population;
mod recorder;

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_learn::checkpoint::save_policy;
use gigabar_learn::dqn::{DqnConfig, TrainData, Trainer};
use gigabar_learn::policy::NetPolicy;
use gigabar_market::feature::FeatureTable;
use gigabar_market::rng::philox4x32;
use gigabar_market::scale::Scaler;

use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::device::{Compute, Work};
use crate::metrics_log::MetricsLog;
use crate::printer::Printer;
use crate::run_folder::RunFolder;

/// The file that [`Trainer::save`] writes.
const CHECKPOINT: &str = "training.safetensors";

/// Everything training needs.
pub(crate) struct Job<'a> {
    pub(crate) config: &'a RunConfig,
    pub(crate) dataset: &'a Dataset,
    pub(crate) features: &'a FeatureTable,
    /// The bars each fold trains on.
    pub(crate) train: Vec<Range<usize>>,
    /// Trainings per fold, each from a seed of its own.
    pub(crate) n_seeds: usize,
    pub(crate) folder: &'a RunFolder,
    pub(crate) printer: Printer,
    /// Continue from the checkpoints in the folder.
    pub(crate) resume: bool,
}

/// How training ended.
pub(crate) enum Trained {
    /// Policies `[n_seeds][n_folds]`, and the log.
    All(Vec<Vec<NetPolicy>>, MetricsLog),
    /// Somebody asked to stop; everything begun is checkpointed.
    Stopped,
    /// The guard was told to stop and did, for this reason; everything begun is checkpointed.
    Tripped(String),
}

/// Which learner: its fold, and which of the fold's seeds it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) fold: usize,
    /// From 0; none where a fold has one seed only.
    pub(crate) seed: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed {
            None => write!(f, "fold {}", self.fold),
            Some(seed) => write!(f, "fold {}, seed {seed}", self.fold),
        }
    }
}

/// A trainer and what belongs to it.
struct Learner {
    /// Its place among all learners of the run: fold by fold.
    index: usize,
    trainer: Trainer,
    scaler: Arc<Scaler>,
}

impl Job<'_> {
    /// Trains all learners to their end. A GPU that nobody asked for and that cannot begin gives way to the CPU; once
    /// begun, its failure is the run's.
    pub(crate) fn run(&self, compute: &mut Compute) -> anyhow::Result<Trained> {
        let name = compute.name();
        if let Compute::Cuda { device, named } = compute {
            match population::train(self, device, &name) {
                Err(error) if !*named && error.is::<population::NotBegun>() => compute.give_way(&error, self.printer),
                result => return result,
            }
        }
        cpu::train(self)
    }

    /// Whether any learner can be continued.
    pub(crate) fn has_checkpoint(&self) -> bool {
        (0..self.n_learners()).any(|index| self.checkpoint(index).join(CHECKPOINT).exists())
    }

    fn n_learners(&self) -> usize {
        self.train.len() * self.n_seeds
    }

    fn place(&self, index: usize) -> Place {
        let seed = (self.n_seeds > 1).then_some(index % self.n_seeds);
        Place { fold: index / self.n_seeds, seed }
    }

    fn checkpoint(&self, index: usize) -> PathBuf {
        let Place { fold, seed } = self.place(index);
        self.folder.checkpoint(fold, seed.unwrap_or(0))
    }

    /// All learners, new or from their checkpoints. `[n_folds × n_seeds]`
    fn learners(&self) -> anyhow::Result<Vec<Learner>> {
        let mut learners = Vec::with_capacity(self.n_learners());
        for (fold, range) in self.train.iter().enumerate() {
            let scaler = Arc::new(Scaler::fit(self.features, range.clone())?);
            let data = TrainData {
                bars: Arc::clone(&self.dataset.bars),
                sigma: Arc::clone(&self.dataset.sigma),
                features: Arc::new(scaler.transform(self.features)?),
                range: range.clone(),
            };
            for index in fold * self.n_seeds..(fold + 1) * self.n_seeds {
                let trainer = self.trainer(index, data.clone())?;
                learners.push(Learner { index, trainer, scaler: Arc::clone(&scaler) });
            }
        }
        Ok(learners)
    }

    /// A new trainer, or the one in the checkpoint.
    fn trainer(&self, index: usize, data: TrainData) -> anyhow::Result<Trainer> {
        let (config, dir) = (self.config, self.checkpoint(index));
        if self.resume && dir.join(CHECKPOINT).exists() {
            return Ok(Trainer::resume(&dir, &config.dqn, &config.sim, &config.reward, data)?);
        }
        std::fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be created", dir.display()))?;
        let Place { fold, seed } = self.place(index);
        let seed = derived_seed(config.seed, fold, seed.unwrap_or(0));
        Ok(Trainer::new(&config.dqn, &config.sim, &config.reward, data, seed)?)
    }

    /// Writes the policy of a trainer that has come to its end.
    fn finish(&self, index: usize, trainer: &Trainer, scaler: &Scaler) -> anyhow::Result<NetPolicy> {
        let policy = trainer.policy();
        let (ts, range) = (self.dataset.bars.ts(), &self.train[self.place(index).fold]);
        let trained_ts = [ts[range.start], ts[range.end - 1]];
        save_policy(&self.checkpoint(index), &policy, scaler, &self.config.sim, trained_ts)?;
        Ok(policy)
    }

    fn label(&self, fold: usize) -> String {
        let day = |bar: usize| gigabar_market::time::day(self.dataset.bars.ts()[bar]);
        let range = &self.train[fold];
        format!("fold {fold} {}…{}", day(range.start), day(range.end - 1))
    }
}

/// What training `n_learners` comes to.
pub(crate) fn work(config: &DqnConfig, n_feature: usize, n_learners: usize) -> Work {
    let widths: Vec<f64> = std::iter::once(n_feature + N_PORTFOLIO)
        .chain(config.hidden.iter().copied())
        .chain(std::iter::once(config.levels.len()))
        .map(|width| width as f64)
        .collect();
    let weights: f64 = widths.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let env_steps = (config.epochs as u64).saturating_mul(config.steps_per_epoch as u64);
    let rows = config.gradient_steps_due(env_steps) as f64 * config.batch as f64;
    // A decision is one pass through the network. A gradient step is three passes forward, two of them to value the
    // next observations, and one backward that costs as much as two.
    let multiply_adds = n_learners as f64 * weights * (env_steps as f64 + 5.0 * rows);
    Work::Training { env_steps: env_steps.saturating_mul(n_learners as u64), multiply_adds }
}

/// An own seed per fold and training, so that they share no random numbers.
fn derived_seed(seed: u64, fold: usize, training: usize) -> u64 {
    let counter = [fold as u32, training as u32, 0, 0x666f_6c64];
    let words = philox4x32([seed as u32, (seed >> 32) as u32], counter);
    u64::from(words[0]) << 32 | u64::from(words[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_by_hand() {
        let config = DqnConfig { hidden: vec![10], levels: vec![-1.0, 1.0], ..DqnConfig::default() };
        let Work::Training { env_steps, multiply_adds } = work(&config, 12 - N_PORTFOLIO, 3) else { panic!() };
        assert_eq!(env_steps, 240_000);
        assert_eq!(multiply_adds, 3.0 * 140.0 * (80_000.0 + 5.0 * 64.0 * 19_750.0));
    }

    #[test]
    fn derived_seeds_differ_and_the_first_of_a_fold_stays() {
        // What runs were trained from before folds had several.
        assert_eq!(derived_seed(5, 2, 0), 12_043_683_523_186_215_217);
        let all: std::collections::BTreeSet<u64> =
            (0..12).map(|i| derived_seed(1 + i % 2, (i / 2 % 2) as usize, (i / 4) as usize)).collect();
        assert_eq!(all.len(), 12);
    }
}
