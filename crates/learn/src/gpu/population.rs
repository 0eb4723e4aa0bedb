//! Stand-in for the population on a device: its learners train on the CPU, one after the other.

use std::collections::VecDeque;

use gigabar_gpu::Device;

use crate::dqn::{EpochSummary, Trainer};
use crate::error::LearnError;

/// Learners that train side by side.
#[derive(Debug)]
pub struct Population {
    trainers: Vec<Trainer>,
    /// Epochs whose summaries have been returned.
    done: usize,
    /// Summaries of epochs that ran ahead.
    queued: VecDeque<Vec<EpochSummary>>,
}

impl Population {
    /// Of trainers that share everything but seed and range.
    ///
    /// # Errors
    /// None.
    pub fn new(_device: &Device, trainers: Vec<Trainer>) -> Result<Self, LearnError> {
        let done = trainers.first().map_or(0, Trainer::epochs_done);
        Ok(Self { trainers, done, queued: VecDeque::new() })
    }

    /// Epochs finished, as far as their summaries were returned.
    pub fn epochs_done(&self) -> usize {
        self.done
    }

    /// Epochs in all.
    pub fn n_epochs(&self) -> usize {
        self.trainers.first().map_or(0, Trainer::n_epochs)
    }

    /// Runs an epoch of every learner; with `ahead` the next one begins before this one's summaries are read.
    ///
    /// # Errors
    /// As [`Trainer::run_epoch`].
    pub fn run_epoch(&mut self, ahead: bool) -> Result<Vec<EpochSummary>, LearnError> {
        let wanted = if ahead && self.done + 1 < self.n_epochs() { 2 } else { 1 };
        while self.queued.len() < wanted {
            let epoch = self.trainers.iter_mut().map(Trainer::run_epoch).collect::<Result<_, _>>()?;
            self.queued.push_back(epoch);
        }
        self.done += 1;
        Ok(self.queued.pop_front().unwrap_or_default())
    }

    /// The learners at the epoch's boundary.
    ///
    /// # Errors
    /// None.
    pub fn trainers(&mut self) -> Result<&[Trainer], LearnError> {
        Ok(&self.trainers)
    }
}
