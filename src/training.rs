//! Trains folds side by side, one trainer per thread, with checkpoints, a log and a way to stop.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use gigabar_learn::checkpoint::save_policy;
use gigabar_learn::dqn::{TrainData, Trainer};
use gigabar_learn::policy::NetPolicy;
use gigabar_market::feature::FeatureTable;
use gigabar_market::rng::philox4x32;
use gigabar_market::scale::Scaler;

use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::metrics_log::{EpochRow, MetricsLog};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::run_folder::RunFolder;
use crate::stop;

/// The file that [`Trainer::save`] writes.
const CHECKPOINT: &str = "training.safetensors";

/// Time between two writings of the event file.
const EVENTS_EVERY: Duration = Duration::from_secs(10);

/// Everything training needs.
pub(crate) struct Job<'a> {
    pub(crate) config: &'a RunConfig,
    pub(crate) dataset: &'a Dataset,
    pub(crate) features: &'a FeatureTable,
    /// The bars each fold trains on.
    pub(crate) train: Vec<Range<usize>>,
    pub(crate) folder: &'a RunFolder,
    pub(crate) printer: Printer,
    /// Continue from the checkpoints in the folder.
    pub(crate) resume: bool,
}

/// How training ended.
pub(crate) enum Trained {
    /// One policy per fold, and the log.
    All(Vec<NetPolicy>, MetricsLog),
    /// Somebody asked to stop; every fold begun is checkpointed.
    Stopped,
}

/// One fold, ready to train.
struct Fold {
    trainer: Trainer,
    scaler: Scaler,
}

impl Job<'_> {
    /// Trains all folds to their end.
    pub(crate) fn run(&self) -> anyhow::Result<Trained> {
        let folds = self.train.iter().enumerate().map(|(i, range)| self.fold(i, range));
        let folds: Vec<Fold> = folds.collect::<anyhow::Result<_>>()?;
        let done: Vec<usize> = folds.iter().map(|fold| fold.trainer.epochs_done()).collect();
        if self.resume {
            self.printer.say(format_args!("resuming after {} epochs", done.iter().sum::<usize>()));
        }
        let log = MetricsLog::open(self.folder, &done)?;
        let labels: Vec<String> = self.train.iter().enumerate().map(|(i, range)| self.label(i, range)).collect();
        let progress = Progress::new(self.printer, &labels, self.config.dqn.epochs);
        let shared = Shared { job: self, log: &log, progress: &progress, failed: AtomicBool::new(false) };
        let results = shared.train_all(folds);
        log.finish()?;
        let mut policies = Vec::new();
        for (i, result) in results.into_iter().enumerate() {
            match result.with_context(|| format!("fold {i}"))? {
                Some(policy) => policies.push(policy),
                None => return Ok(Trained::Stopped),
            }
        }
        Ok(Trained::All(policies, log))
    }

    /// Whether any fold can be continued.
    pub(crate) fn has_checkpoint(&self) -> bool {
        (0..self.train.len()).any(|fold| self.folder.checkpoint(fold).join(CHECKPOINT).exists())
    }

    /// A new trainer, or the one in the checkpoint.
    fn fold(&self, index: usize, range: &Range<usize>) -> anyhow::Result<Fold> {
        let scaler = Scaler::fit(self.features, range.clone())?;
        let data = TrainData {
            bars: Arc::clone(&self.dataset.bars),
            sigma: Arc::clone(&self.dataset.sigma),
            features: Arc::new(scaler.transform(self.features)?),
            range: range.clone(),
        };
        let (config, dir) = (self.config, self.folder.checkpoint(index));
        let trainer = if self.resume && dir.join(CHECKPOINT).exists() {
            Trainer::resume(&dir, &config.dqn, &config.sim, &config.reward, data)?
        } else {
            std::fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be created", dir.display()))?;
            Trainer::new(&config.dqn, &config.sim, &config.reward, data, fold_seed(config.seed, index))?
        };
        Ok(Fold { trainer, scaler })
    }

    /// The first and the last bar a fold trains on.
    fn trained_ts(&self, index: usize) -> [i64; 2] {
        let (ts, range) = (self.dataset.bars.ts(), &self.train[index]);
        [ts[range.start], ts[range.end - 1]]
    }

    fn label(&self, index: usize, range: &Range<usize>) -> String {
        let day = |bar: usize| gigabar_market::time::day(self.dataset.bars.ts()[bar]);
        format!("fold {index} {}…{}", day(range.start), day(range.end - 1))
    }
}

/// What the threads share.
struct Shared<'a> {
    job: &'a Job<'a>,
    log: &'a MetricsLog,
    progress: &'a Progress,
    /// A fold failed: the others need not go on.
    failed: AtomicBool,
}

type FoldResult = anyhow::Result<Option<NetPolicy>>;

impl Shared<'_> {
    /// Threads take the next fold when they have finished one. Which thread takes which changes nothing: a trainer's
    /// numbers depend on its seed and data alone.
    fn train_all(&self, folds: Vec<Fold>) -> Vec<FoldResult> {
        let n_threads = rayon::current_num_threads().clamp(1, folds.len().max(1));
        let queue: Vec<Mutex<Option<Fold>>> = folds.into_iter().map(|fold| Mutex::new(Some(fold))).collect();
        let results: Vec<Mutex<FoldResult>> = queue.iter().map(|_| Mutex::new(Ok(None))).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..n_threads {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(slot) = queue.get(index) else { break };
                        let fold = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
                        let Some(fold) = fold else { continue };
                        let result = self.train(index, fold);
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

    /// One fold to its end; none when it stopped before.
    fn train(&self, index: usize, mut fold: Fold) -> FoldResult {
        let dir = self.job.folder.checkpoint(index);
        let every = Duration::from_secs_f64(self.job.config.checkpoint_secs);
        self.progress.begin(index, fold.trainer.epochs_done());
        let (mut saved, mut events) = (None::<Instant>, Instant::now());
        while fold.trainer.epochs_done() < fold.trainer.n_epochs() {
            if stop::is_wanted() || self.failed.load(Ordering::Relaxed) {
                self.progress.end(index);
                return Ok(None);
            }
            let row = EpochRow::new(index, &fold.trainer.run_epoch()?);
            self.progress.epoch(index, &row);
            self.log.add(row)?;
            let last = fold.trainer.epochs_done() == fold.trainer.n_epochs();
            if last || stop::is_wanted() || saved.is_none_or(|at| at.elapsed() >= every) {
                fold.trainer.save(&dir)?;
                saved = Some(Instant::now());
            }
            if index == 0 && events.elapsed() >= EVENTS_EVERY {
                self.log.write_events()?;
                events = Instant::now();
            }
        }
        let policy = fold.trainer.policy();
        save_policy(&dir, &policy, &fold.scaler, &self.job.config.sim, self.job.trained_ts(index))?;
        self.progress.end(index);
        Ok(Some(policy))
    }
}

/// An own seed per fold, so that folds share no random numbers.
fn fold_seed(seed: u64, fold: usize) -> u64 {
    let words = philox4x32([seed as u32, (seed >> 32) as u32], [fold as u32, 0, 0, 0x666f_6c64]);
    u64::from(words[0]) << 32 | u64::from(words[1])
}
