//! What training leaves behind while it goes on, wherever it computes: the log, the progress shown, the guard's word.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gigabar_learn::EpochSummary;
use gigabar_learn::policy::NetPolicy;

use super::{Job, Trained};
use crate::metrics_log::{EpochRow, MetricsLog};
use crate::progress::Progress;
use crate::stop;

/// Time between two writings of the event file.
const EVENTS_EVERY: Duration = Duration::from_secs(10);

/// The records of one training.
pub(super) struct Recorder<'a> {
    job: &'a Job<'a>,
    log: MetricsLog,
    progress: Progress,
    /// When the event file was written.
    events: Mutex<Instant>,
    /// Why the guard stops the run: a reason for every learner that tripped.
    tripped: Mutex<Vec<String>>,
}

impl<'a> Recorder<'a> {
    /// Before the first epoch on `device`; `done` are the epochs done of all learners. `[n_folds × n_seeds]`
    pub(super) fn new(job: &'a Job<'a>, done: &[usize], device: &str) -> anyhow::Result<Self> {
        if job.resume {
            job.printer.say(format_args!("resuming after {} epochs", done.iter().sum::<usize>()));
        }
        let n_epochs = job.config.dqn.epochs;
        if done.iter().any(|done| *done < n_epochs)
            && let Some(before) = job.folder.record_device(device, job.resume)?
        {
            job.printer.say(format_args!("started on {before}, going on on {device}"));
        }
        let log = MetricsLog::open(job.folder, done, job.n_seeds)?;
        let labels: Vec<String> = (0..job.train.len()).map(|fold| job.label(fold)).collect();
        let progress = Progress::new(job.printer, &labels, n_epochs * job.n_seeds);
        Ok(Self { job, log, progress, events: Mutex::new(Instant::now()), tripped: Mutex::new(Vec::new()) })
    }

    /// A learner begins, `epochs` already done.
    pub(super) fn begin(&self, index: usize, epochs: usize) {
        self.progress.begin(self.job.place(index).fold, epochs);
    }

    /// Learners have finished an epoch each.
    pub(super) fn epoch(&self, summaries: &[(usize, EpochSummary)]) -> anyhow::Result<()> {
        let row = |(index, summary): &(usize, EpochSummary)| EpochRow::new(self.job.place(*index), summary);
        let rows: Vec<EpochRow> = summaries.iter().map(row).collect();
        rows.iter().for_each(|row| self.progress.epoch(row));
        self.log.add(rows)?;
        if self.job.config.dqn.guard.stop {
            summaries.iter().for_each(|(index, summary)| self.judge(*index, summary));
        }
        // Whoever finds the time has come writes; nobody waits for it.
        if let Ok(mut events) = self.events.try_lock()
            && events.elapsed() >= EVENTS_EVERY
        {
            self.log.write_events()?;
            *events = Instant::now();
        }
        Ok(())
    }

    fn judge(&self, index: usize, summary: &EpochSummary) {
        if summary.guard.any() {
            let (place, epoch, n) = (self.job.place(index), summary.epoch, summary.skipped_steps);
            let kinds = counts(summary.guard.named().map(|(name, n)| (name, n as f64)));
            let mut tripped = self.tripped.lock().unwrap_or_else(PoisonError::into_inner);
            tripped.push(format!("{place}, epoch {epoch}: {n} bad gradient steps ({kinds})"));
        }
    }

    /// Whether training is to end before its end.
    pub(super) fn is_stopping(&self) -> bool {
        stop::is_wanted() || !self.tripped.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Brings everything written up to date, however training ended.
    pub(super) fn close(&self) -> anyhow::Result<()> {
        self.progress.end();
        self.log.finish()
    }

    /// After training: a policy for every learner that has come to its end. `[n_folds × n_seeds]`
    pub(super) fn conclude(self, policies: Vec<Option<NetPolicy>>) -> anyhow::Result<Trained> {
        let tripped = self.tripped.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !tripped.is_empty() {
            return Ok(Trained::Tripped(tripped.join("; ")));
        }
        let Some(policies) = policies.into_iter().collect::<Option<Vec<NetPolicy>>>() else {
            return Ok(Trained::Stopped);
        };
        let skipped = self.log.total("skipped_steps");
        if skipped > 0.0 {
            let kinds = ["not_finite", "loss_spike", "gradient_collapse", "q_divergence"];
            let kinds = counts(kinds.map(|kind| (kind, self.log.total(&format!("guard_{kind}")))));
            self.job.printer.warn(format_args!("the training guard skipped {skipped} gradient steps ({kinds})"));
        }
        let mut by_seed: Vec<Vec<NetPolicy>> = vec![Vec::new(); self.job.n_seeds];
        policies.into_iter().enumerate().for_each(|(index, policy)| by_seed[index % self.job.n_seeds].push(policy));
        Ok(Trained::All(by_seed, self.log))
    }
}

/// `not finite 3, loss spike 1`.
fn counts(kinds: [(&str, f64); 4]) -> String {
    let some = kinds.into_iter().filter(|(_, n)| *n > 0.0);
    some.map(|(name, n)| format!("{} {n}", name.replace('_', " "))).collect::<Vec<_>>().join(", ")
}
