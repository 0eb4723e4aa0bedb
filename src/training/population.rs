//! All learners at once on a GPU.
//!
//! The device runs ahead of the host: the next epoch is queued before this one's summaries are read. Only at rest can
//! the learners be read back, so whether an epoch is to be followed by a checkpoint is decided before it begins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gigabar_gpu::Device;
use gigabar_learn::dqn::{EpochSummary, Trainer};
use gigabar_learn::error::LearnError;
use gigabar_learn::gpu::Population;
use gigabar_learn::policy::NetPolicy;
use gigabar_market::scale::Scaler;
use thiserror::Error;

use super::recorder::Recorder;
use super::{Job, Learner, Trained};

/// The learners do not fit on the device, or it cannot take them; nothing has been trained.
#[derive(Debug, Error)]
#[error("training cannot begin on {device}")]
pub(super) struct NotBegun {
    device: String,
    source: LearnError,
}

/// What the loop asks of a population; the tests train on the CPU in its place.
trait Resident: Sized {
    fn epochs_done(&self) -> usize;
    fn n_epochs(&self) -> usize;
    fn run_epoch(&mut self, ahead: bool) -> Result<Vec<EpochSummary>, LearnError>;
    fn trainers(&mut self) -> Result<&[Trainer], LearnError>;
}

impl Resident for Population {
    fn epochs_done(&self) -> usize {
        self.epochs_done()
    }

    fn n_epochs(&self) -> usize {
        self.n_epochs()
    }

    fn run_epoch(&mut self, ahead: bool) -> Result<Vec<EpochSummary>, LearnError> {
        self.run_epoch(ahead)
    }

    fn trainers(&mut self) -> Result<&[Trainer], LearnError> {
        self.trainers()
    }
}

/// Trains all learners to their end.
///
/// # Errors
/// [`NotBegun`] when the device does not take the first of them; what fails later is an error of the run.
pub(super) fn train(job: &Job<'_>, device: &Device, name: &str) -> anyhow::Result<Trained> {
    train_with(job, name, |trainers| Population::new(device, trainers))
}

fn train_with<P: Resident>(
    job: &Job<'_>,
    device: &str,
    settle: impl Fn(Vec<Trainer>) -> Result<P, LearnError>,
) -> anyhow::Result<Trained> {
    let learners = job.learners()?;
    let done: Vec<usize> = learners.iter().map(|learner| learner.trainer.epochs_done()).collect();
    let mut groups = groups(learners).into_iter();
    let mut begin = || groups.next().map(|group| Group::new(group, &settle)).transpose();
    let first = begin().map_err(|source| NotBegun { device: device.to_owned(), source })?;
    let recorder = Recorder::new(job, &done, device)?;
    let mut policies: Vec<Option<NetPolicy>> = vec![None; done.len()];
    let all = || -> anyhow::Result<()> {
        let mut next = first;
        while let Some(group) = next {
            for (index, policy) in group.train(job, &recorder)? {
                policies[index] = Some(policy);
            }
            next = if recorder.is_stopping() { None } else { begin()? };
        }
        Ok(())
    };
    let ended = all();
    recorder.close()?;
    ended?;
    recorder.conclude(policies)
}

/// Learners that have come equally far, for a population is in step. They differ after a run on the CPU, which ends one
/// learner after the other.
fn groups(mut learners: Vec<Learner>) -> Vec<Vec<Learner>> {
    learners.sort_by_key(|learner| (learner.trainer.epochs_done(), learner.index));
    let mut groups: Vec<Vec<Learner>> = Vec::new();
    for learner in learners {
        let done = learner.trainer.epochs_done();
        match groups.last_mut().filter(|group| group.iter().all(|other| other.trainer.epochs_done() == done)) {
            Some(group) => group.push(learner),
            None => groups.push(vec![learner]),
        }
    }
    groups
}

/// A learner apart from its trainer.
struct Member {
    index: usize,
    scaler: Arc<Scaler>,
}

/// Learners in step.
struct Group<P> {
    members: Vec<Member>,
    state: State<P>,
}

enum State<P> {
    Training(P),
    /// At their end already: they need no device.
    Finished(Vec<Trainer>),
}

impl<P: Resident> Group<P> {
    fn new(learners: Vec<Learner>, settle: impl Fn(Vec<Trainer>) -> Result<P, LearnError>) -> Result<Self, LearnError> {
        let apart = |Learner { index, trainer, scaler }| (Member { index, scaler }, trainer);
        let (members, trainers): (Vec<Member>, Vec<Trainer>) = learners.into_iter().map(apart).unzip();
        let finished = trainers.iter().all(|trainer| trainer.epochs_done() >= trainer.n_epochs());
        let state = if finished { State::Finished(trainers) } else { State::Training(settle(trainers)?) };
        Ok(Self { members, state })
    }

    /// The policies of all members at their end; none when they stopped before.
    fn train(self, job: &Job<'_>, recorder: &Recorder<'_>) -> anyhow::Result<Vec<(usize, NetPolicy)>> {
        let members = &self.members;
        let finish = |trainers: &[Trainer]| {
            let one = |(member, trainer): (&Member, &Trainer)| {
                Ok((member.index, job.finish(member.index, trainer, &member.scaler)?))
            };
            members.iter().zip(trainers).map(one).collect()
        };
        match self.state {
            State::Finished(trainers) => {
                let done = trainers.first().map_or(0, Trainer::epochs_done);
                members.iter().for_each(|member| recorder.begin(member.index, done));
                finish(&trainers)
            }
            State::Training(mut population) => {
                members.iter().for_each(|member| recorder.begin(member.index, population.epochs_done()));
                let at_end = run(&mut population, members, job, recorder)?;
                if at_end { finish(population.trainers()?) } else { Ok(Vec::new()) }
            }
        }
    }
}

/// Epoch after epoch; false when it was stopped before the last.
fn run(
    population: &mut impl Resident,
    members: &[Member],
    job: &Job<'_>,
    recorder: &Recorder<'_>,
) -> anyhow::Result<bool> {
    let every = Duration::from_secs_f64(job.config.checkpoint_secs);
    let (mut saved, mut unsaved, mut ahead) = (None::<Instant>, false, false);
    while population.epochs_done() < population.n_epochs() {
        // An epoch that has begun ahead goes to its end first.
        if !ahead && recorder.is_stopping() {
            if unsaved {
                save(population, members, job)?;
            }
            return Ok(false);
        }
        let is_last = population.epochs_done() + 1 == population.n_epochs();
        let to_save = is_last || recorder.is_stopping() || saved.is_none_or(|at| at.elapsed() >= every);
        // A guard that may stop the run must have spoken before the next epoch begins.
        ahead = !to_save && !job.config.dqn.guard.stop;
        let summaries = population.run_epoch(ahead)?;
        let named: Vec<_> = members.iter().map(|member| member.index).zip(summaries).collect();
        recorder.epoch(&named)?;
        unsaved = !to_save;
        if to_save {
            save(population, members, job)?;
            saved = Some(Instant::now());
        }
    }
    Ok(true)
}

fn save(population: &mut impl Resident, members: &[Member], job: &Job<'_>) -> anyhow::Result<()> {
    for (member, trainer) in members.iter().zip(population.trainers()?) {
        trainer.save(&job.checkpoint(member.index))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
