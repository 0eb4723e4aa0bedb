//! One trainer per thread.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use gigabar_learn::policy::NetPolicy;

use super::recorder::Recorder;
use super::{Job, Learner, Trained};
use crate::device::Compute;

/// Trains all learners to their end.
pub(super) fn train(job: &Job<'_>) -> anyhow::Result<Trained> {
    let learners = job.learners()?;
    let done: Vec<usize> = learners.iter().map(|learner| learner.trainer.epochs_done()).collect();
    let recorder = Recorder::new(job, &done, &Compute::Cpu.name())?;
    let shared = Shared { job, recorder: &recorder, failed: AtomicBool::new(false) };
    let results = shared.train_all(learners);
    recorder.close()?;
    let named = |(index, result): (usize, LearnerResult)| result.with_context(|| job.place(index).to_string());
    let policies = results.into_iter().enumerate().map(named).collect::<anyhow::Result<_>>()?;
    recorder.conclude(policies)
}

/// What the threads share.
struct Shared<'a> {
    job: &'a Job<'a>,
    recorder: &'a Recorder<'a>,
    /// A learner failed: the others need not go on.
    failed: AtomicBool,
}

/// The policy of a learner that has come to its end; none when it stopped before.
type LearnerResult = anyhow::Result<Option<NetPolicy>>;

impl Shared<'_> {
    /// Threads take the next learner when they have finished one. Which thread takes which changes nothing: a trainer's
    /// numbers depend on its seed and data alone.
    fn train_all(&self, learners: Vec<Learner>) -> Vec<LearnerResult> {
        let n_threads = rayon::current_num_threads().clamp(1, learners.len().max(1));
        let queue: Vec<Mutex<Option<Learner>>> = learners.into_iter().map(|one| Mutex::new(Some(one))).collect();
        let results: Vec<Mutex<LearnerResult>> = queue.iter().map(|_| Mutex::new(Ok(None))).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..n_threads {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(slot) = queue.get(index) else { break };
                        let learner = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
                        let Some(learner) = learner else { continue };
                        let result = self.train(learner);
                        if result.is_err() {
                            self.failed.store(true, Ordering::Relaxed);
                        }
                        *results[index].lock().unwrap_or_else(PoisonError::into_inner) = result;
                    }
                });
            }
        });
        results.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    fn train(&self, Learner { index, mut trainer, scaler }: Learner) -> LearnerResult {
        let dir = self.job.checkpoint(index);
        let every = Duration::from_secs_f64(self.job.config.checkpoint_secs);
        self.recorder.begin(index, trainer.epochs_done());
        let (mut saved, mut unsaved) = (None::<Instant>, false);
        while trainer.epochs_done() < trainer.n_epochs() {
            if self.recorder.is_stopping() || self.failed.load(Ordering::Relaxed) {
                if unsaved {
                    trainer.save(&dir)?;
                }
                return Ok(None);
            }
            let summary = trainer.run_epoch()?;
            self.recorder.epoch(&[(index, summary)])?;
            let last = trainer.epochs_done() == trainer.n_epochs();
            unsaved = !(last || saved.is_none_or(|at| at.elapsed() >= every));
            if !unsaved {
                trainer.save(&dir)?;
                saved = Some(Instant::now());
            }
        }
        Ok(Some(self.job.finish(index, &trainer, &scaler)?))
    }
}
