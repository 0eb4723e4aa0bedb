//! [`LearnError`]: everything that can go wrong between a configuration and a trained policy.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why training, saving or loading failed.
#[derive(Debug, Error)]
pub enum LearnError {
    /// A setting outside its range.
    #[error("dqn.{field} is {value}; it must be {rule}")]
    Config {
        /// Path of the field below `dqn`.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        rule: &'static str,
    },
    /// A simulation setting that cannot be simulated.
    #[error(transparent)]
    Rules(#[from] gigabar_backtest::rules::RulesError),
    /// The training range does not fit the data.
    #[error("training range {first}..{end} of {n_bars} bars: {rule}")]
    Range {
        /// First bar.
        first: usize,
        /// One past the last bar.
        end: usize,
        /// Bars in the data set.
        n_bars: usize,
        /// What is wrong with it.
        rule: String,
    },
    /// More memory than the system gives.
    #[error("training needs about {total} of memory ({parts}), more than there is")]
    Memory {
        /// All of it.
        total: String,
        /// What needs how much.
        parts: String,
    },
    /// More memory than the GPU has free.
    #[error("training {n_learner} learners needs about {total} of the GPU's memory ({parts}); {free} are free")]
    DeviceMemory {
        /// Learners side by side.
        n_learner: usize,
        /// All of it.
        total: String,
        /// What there is.
        free: String,
        /// What needs how much.
        parts: String,
    },
    /// Trainers that cannot train side by side.
    #[error("these learners cannot train together: {reason}")]
    Population {
        /// What is wrong with them.
        reason: String,
    },
    /// The GPU could not do it.
    #[error(transparent)]
    Gpu(#[from] gigabar_gpu::GpuError),
    /// Tensor arithmetic failed: a wrong shape, no memory.
    #[error("tensor operation failed")]
    Tensor(#[from] candle_core::Error),
    /// A file could not be read or written.
    #[error("cannot {action} {path}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// A checkpoint that is not whole, or not one of ours.
    #[error("{path} is not a usable checkpoint: {reason}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A checkpoint made under other settings or data.
    #[error("{path} was made with {what} {saved}, this run has {given}")]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The setting that differs.
        what: String,
        /// Its value in the checkpoint.
        saved: String,
        /// Its value now.
        given: String,
    },
    /// A policy that reads features this data set does not have, or has in another order.
    #[error("{path} reads other features than this data set offers: {reason}")]
    Features {
        /// The policy file.
        path: PathBuf,
        /// The features that differ.
        reason: String,
    },
    /// A vote that cannot be taken among the policies' levels.
    #[error(transparent)]
    Vote(#[from] gigabar_backtest::ensemble::NoFlatLevel),
    /// Models that cannot decide together.
    #[error("the ensemble cannot vote: {reason}")]
    Ensemble {
        /// What is wrong with them.
        reason: String,
    },
}

impl LearnError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_path_buf(), source }
    }

    pub(crate) fn corrupt(path: &Path, reason: impl ToString) -> Self {
        Self::Corrupt { path: path.to_path_buf(), reason: reason.to_string() }
    }

    /// How to mend it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Range { .. } => Some("use more bars, fewer windows, or a longer train range".into()),
            Self::Memory { .. } => {
                Some("lower dqn.replay_capacity, dqn.n_envs, dqn.batch or dqn.hidden, whichever is largest".into())
            }
            Self::Corrupt { path, .. } => {
                Some(format!("delete {} and train again, or restore it from a backup", path.display()))
            }
            Self::Mismatch { what, saved, .. } => {
                Some(format!("resume with {what} = {saved}, or start a new run in another folder"))
            }
            Self::Features { .. } => Some(
                "evaluate on data whose features were computed by the same version of gigabar, or train again".into(),
            ),
            Self::Ensemble { .. } => Some("join policies that were trained with the same action levels".into()),
            Self::DeviceMemory { .. } => Some(
                "lower dqn.replay_capacity, dqn.n_envs, dqn.batch or dqn.hidden, whichever is largest, or train fewer folds or \
                 seeds at once"
                    .into(),
            ),
            Self::Gpu(gigabar_gpu::GpuError::Driver { message, .. }) if message.contains("OUT_OF_MEMORY") => Some(
                "free device memory, train fewer seeds at once, or lower dqn.replay_capacity, dqn.n_envs or dqn.batch"
                    .into(),
            ),
            Self::Vote(error) => error.hint(),
            Self::Gpu(error) => error.hint(),
            Self::Config { .. } | Self::Population { .. } | Self::Rules(_) | Self::Tensor(_) | Self::Io { .. } => None,
        }
    }
}
