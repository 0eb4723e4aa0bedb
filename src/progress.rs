//! How long work is shown. Training: a bar per fold on a terminal, a plain line every few seconds elsewhere.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::metrics_log::EpochRow;
use crate::printer::Printer;

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The progress of all folds.
pub(crate) struct Progress {
    printer: Printer,
    bars: Vec<ProgressBar>,
    n_epochs: usize,
    /// Epochs done, over all folds.
    done: AtomicUsize,
    started: Instant,
    last_line: Mutex<Instant>,
}

impl Progress {
    /// Of `labels.len()` folds with `n_epochs` epochs each, over all their learners.
    pub(crate) fn new(printer: Printer, labels: &[String], n_epochs: usize) -> Self {
        let target = if printer.draws_bars() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let group = MultiProgress::with_draw_target(target);
        let bar = |label: &String| {
            let bar = group.add(ProgressBar::new(n_epochs as u64));
            bar.set_style(style());
            bar.set_prefix(label.clone());
            bar
        };
        let bars = labels.iter().map(bar).collect();
        let now = Instant::now();
        Self { printer, bars, n_epochs, done: AtomicUsize::new(0), started: now, last_line: Mutex::new(now) }
    }

    /// A learner of a fold begins, `epochs` already done.
    pub(crate) fn begin(&self, fold: usize, epochs: usize) {
        self.done.fetch_add(epochs, Ordering::Relaxed);
        if let Some(bar) = self.bars.get(fold) {
            bar.inc(epochs as u64);
            bar.reset_eta();
            bar.tick();
        }
    }

    /// An epoch is done.
    pub(crate) fn epoch(&self, row: &EpochRow) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let shown = |name: &str| row.series.get(name).copied().flatten();
        if let Some(bar) = self.bars.get(row.fold) {
            bar.set_message(format!(
                "loss {} Sharpe {} ε {}",
                short(shown("loss"), 4),
                short(shown("sharpe_estimate"), 2),
                short(shown("epsilon"), 2)
            ));
            bar.inc(1);
            if bar.position() >= self.n_epochs as u64 {
                bar.abandon();
            }
        }
        if !self.printer.draws_bars() {
            self.line(row, done, short(shown("loss"), 4));
        }
    }

    fn line(&self, row: &EpochRow, done: usize, loss: String) {
        let total = self.bars.len() * self.n_epochs;
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() < LINE_EVERY && done != total {
            return;
        }
        *last = Instant::now();
        let seconds = self.started.elapsed().as_secs();
        let (fold, epoch) = (row.fold, row.epoch + 1);
        let seed = row.seed.map(|seed| format!(" seed {seed}")).unwrap_or_default();
        self.printer
            .say(format_args!("[{seconds:>4} s] {done}/{total} epochs; fold {fold}{seed} epoch {epoch}, loss {loss}"));
    }

    /// All is done, or stopped.
    pub(crate) fn end(&self) {
        self.bars.iter().for_each(ProgressBar::abandon);
    }
}

/// The progress of one long computation: nothing for two seconds, then a bar, or a plain line every few seconds.
pub(crate) struct Quiet {
    printer: Printer,
    label: &'static str,
    started: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

/// What is done sooner needs no bar.
const QUIET: Duration = Duration::from_secs(2);

impl Quiet {
    pub(crate) fn new(printer: Printer, label: &'static str) -> Self {
        let now = Instant::now();
        Self { printer, label, started: now, last_line: now, bar: None }
    }

    /// `done` of `total` steps are done.
    pub(crate) fn update(&mut self, done: u64, total: u64) {
        if self.started.elapsed() < QUIET || total == 0 {
            return;
        }
        let share = done as f64 / total as f64;
        if self.printer.draws_bars() {
            let bar = self.bar.get_or_insert_with(|| {
                let bar = ProgressBar::new(1000).with_elapsed(self.started.elapsed());
                bar.set_style(percent_style());
                bar.set_prefix(self.label);
                bar
            });
            bar.set_position((share * 1000.0) as u64);
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let seconds = self.started.elapsed().as_secs();
            self.printer.say(format_args!("[{seconds:>4} s] {}: {:.0} % done", self.label, 100.0 * share));
        }
    }

    /// Takes the bar away and returns the time it took.
    pub(crate) fn end(self) -> Duration {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.started.elapsed()
    }
}

fn percent_style() -> ProgressStyle {
    ProgressStyle::with_template("{prefix} {bar:40} {percent:>3} % {eta:>4}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn short(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{prefix:<28} {bar:24} {pos:>3}/{len} {eta:>4}  {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
