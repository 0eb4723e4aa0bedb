//! `metrics.jsonl`, one line per learner (fold, and seed where there are several) and epoch, and the event file derived from it.
//!
//! A line is written before the checkpoint of its epoch, so a line may be newer than the checkpoint, never older: a
//! resume cuts the lines its checkpoints don't know and trains those epochs again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use gigabar::report::TrainingCurve;
use gigabar_learn::dqn::EpochSummary;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::events::{Scalar, event_file};
use crate::run_folder::RunFolder;
use crate::training::Place;

const FILE: &str = "metrics.jsonl";
const EVENTS: &str = "events.out.tfevents.";

/// One epoch of one learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EpochRow {
    pub(crate) fold: usize,
    /// Which of the fold's seeds, from 0; absent where there is one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<usize>,
    pub(crate) epoch: usize,
    /// Seconds since the Unix epoch.
    pub(crate) time: f64,
    /// Environment steps since the start of training.
    pub(crate) env_steps: u64,
    /// Gradient steps since the start of training.
    pub(crate) grad_steps: u64,
    /// Loss, Q, reward, …; `null` where undefined.
    #[serde(flatten)]
    pub(crate) series: BTreeMap<String, Option<f64>>,
}

impl EpochRow {
    /// Of what a trainer reports.
    pub(crate) fn new(Place { fold, seed }: Place, summary: &EpochSummary) -> Self {
        let defined = |(name, value): (String, f64)| (name, value.is_finite().then_some(value));
        Self {
            fold,
            seed,
            epoch: summary.epoch,
            time: Timestamp::now().as_millisecond() as f64 / 1e3,
            env_steps: summary.env_steps,
            grad_steps: summary.grad_steps,
            series: summary.series().into_iter().map(defined).collect(),
        }
    }

    /// `fold-3`, `fold-3-seed-1`; the first seed is the one that everything else shows.
    fn learner(&self) -> String {
        match self.seed {
            None | Some(0) => format!("fold-{}", self.fold),
            Some(seed) => format!("fold-{}-seed-{seed}", self.fold),
        }
    }
}

/// The log of a run; threads write to it.
pub(crate) struct MetricsLog {
    folder: RunFolder,
    inner: Mutex<Inner>,
}

struct Inner {
    file: File,
    rows: Vec<EpochRow>,
}

impl MetricsLog {
    /// An empty log, or the lines of epochs before those done of the log that is there. `epochs_done`: `[n_folds ×
    /// n_seeds]`.
    pub(crate) fn open(folder: &RunFolder, epochs_done: &[usize], n_seeds: usize) -> anyhow::Result<Self> {
        let learner = |row: &EpochRow| row.fold * n_seeds + row.seed.unwrap_or(0);
        let known = |row: &EpochRow| epochs_done.get(learner(row)).is_some_and(|done| row.epoch < *done);
        let rows: Vec<EpochRow> = read(folder)?.into_iter().filter(known).collect();
        folder.write(FILE, lines(&rows)?.as_bytes())?;
        let path = folder.path().join(FILE);
        let file = OpenOptions::new().append(true).open(&path).with_context(|| path.display().to_string())?;
        let log = Self { folder: folder.clone(), inner: Mutex::new(Inner { file, rows }) };
        log.write_events()?;
        Ok(log)
    }

    /// Adds lines and flushes them to the disk.
    pub(crate) fn add(&self, rows: Vec<EpochRow>) -> anyhow::Result<()> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.file.write_all(lines(&rows)?.as_bytes()).and_then(|()| inner.file.sync_data()).context(FILE)?;
        inner.rows.extend(rows);
        Ok(())
    }

    /// The sum of a series over all learners and epochs.
    pub(crate) fn total(&self, name: &str) -> f64 {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.rows.iter().filter_map(|row| row.series.get(name).copied().flatten()).sum()
    }

    /// Brings the event file up to date.
    pub(crate) fn write_events(&self) -> anyhow::Result<()> {
        let mut scalars = Vec::new();
        for row in self.sorted() {
            for (name, value) in row.series.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
                let tag = format!("{name}/{}", row.learner());
                scalars.push(Scalar { wall_time_secs: row.time, step: row.epoch as i64, tag, value: value as f32 });
            }
        }
        let name = event_name(&self.folder)?;
        let start = scalars.first().map_or(0.0, |scalar| scalar.wall_time_secs);
        self.folder.write(&name, &event_file(start, &scalars))
    }

    /// Puts the lines in order of fold, seed and epoch, whatever order the threads came in, and writes the events.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        self.folder.write(FILE, lines(&self.sorted())?.as_bytes())?;
        self.write_events()
    }

    /// The training curves of all folds, each from its first seed.
    pub(crate) fn curves(&self) -> Vec<TrainingCurve> {
        let mut curves: Vec<TrainingCurve> = Vec::new();
        for row in self.sorted().into_iter().filter(|row| row.seed.unwrap_or(0) == 0) {
            if curves.last().is_none_or(|curve| curve.fold != row.fold) {
                curves.push(TrainingCurve { fold: row.fold, ..TrainingCurve::default() });
            }
            let Some(curve) = curves.last_mut() else { continue };
            curve.epoch.push(row.epoch);
            for (name, value) in row.series {
                curve.series.entry(name).or_default().push(value.unwrap_or(f64::NAN));
            }
        }
        curves
    }

    fn sorted(&self) -> Vec<EpochRow> {
        let mut rows = self.inner.lock().unwrap_or_else(PoisonError::into_inner).rows.clone();
        rows.sort_by_key(|row| (row.fold, row.seed, row.epoch));
        rows
    }
}

fn lines(rows: &[EpochRow]) -> anyhow::Result<String> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&serde_json::to_string(row)?);
        text.push('\n');
    }
    Ok(text)
}

/// The whole lines of the log; the last one may have been cut by a crash.
fn read(folder: &RunFolder) -> anyhow::Result<Vec<EpochRow>> {
    let path = folder.path().join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("{}: cannot be read", path.display())),
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let row = |(i, line)| serde_json::from_str(line).with_context(|| format!("{}:{}", path.display(), i + 1));
    whole.lines().enumerate().map(row).collect()
}

/// The event file of a run keeps its name, so that TensorBoard sees one file whatever the number of resumes.
fn event_name(folder: &RunFolder) -> anyhow::Result<String> {
    for entry in fs::read_dir(folder.path()).with_context(|| folder.path().display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(EVENTS) && !name.ends_with(".tmp") {
            return Ok(name);
        }
    }
    Ok(format!("{EVENTS}{}.gigabar", Timestamp::now().as_second()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::RunConfig;
    use crate::run_folder::RunInfo;

    fn row(fold: usize, epoch: usize) -> EpochRow {
        let series = [("loss".to_owned(), Some(0.1 * epoch as f64)), ("q_mean".to_owned(), None)].into();
        EpochRow { fold, seed: None, epoch, time: 1.5, env_steps: 1, grad_steps: 2, series }
    }

    fn folder(dir: &tempfile::TempDir) -> RunFolder {
        let info: RunInfo = toml::from_str(
            "verb='v'\ncommand='c'\npolicy='p'\nversion='0'\ncreated='t'\ndevice='cpu'\ndata='d'\ndata_sha256='0'",
        )
        .unwrap();
        RunFolder::create(Some(&dir.path().join("run")), "x", &RunConfig::default(), &info).unwrap()
    }

    #[test]
    fn a_resume_cuts_what_the_checkpoints_do_not_know_and_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(&dir);
        let log = MetricsLog::open(&folder, &[0, 0], 1).unwrap();
        for (fold, epoch) in [(1, 0), (0, 0), (0, 1), (1, 1), (0, 2)] {
            log.add(vec![row(fold, epoch)]).unwrap();
        }
        let path = folder.path().join(FILE);
        let mut torn = fs::read_to_string(&path).unwrap();
        torn.push_str("{\"fold\":1,\"ep");
        fs::write(&path, torn).unwrap();

        let log = MetricsLog::open(&folder, &[2, 1], 1).unwrap();
        log.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), lines(&[row(0, 0), row(0, 1), row(1, 0)]).unwrap());
        let curves = log.curves();
        assert_eq!((curves.len(), curves[0].epoch.as_slice()), (2, [0, 1].as_slice()));
        assert!(curves[0].series["q_mean"][0].is_nan());
        let events = fs::read_dir(folder.path()).unwrap().flatten();
        let events = events.filter(|entry| entry.file_name().to_string_lossy().starts_with(EVENTS));
        assert_eq!(events.count(), 1);
    }

    #[test]
    fn a_fold_of_several_seeds_has_a_log_of_each_and_a_curve_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let log = MetricsLog::open(&folder(&dir), &[0; 4], 2).unwrap();
        let of = |fold, seed, epoch| EpochRow { seed: Some(seed), ..row(fold, epoch) };
        log.add(vec![of(1, 1, 0), of(1, 0, 0), of(0, 1, 0), of(0, 0, 0), of(0, 1, 1), of(1, 1, 1)]).unwrap();
        log.finish().unwrap();
        assert!((log.total("loss") - 0.2).abs() < 1e-12 && log.total("nothing") == 0.0);
        assert_eq!(
            log.curves().iter().map(|curve| (curve.fold, curve.epoch.len())).collect::<Vec<_>>(),
            [(0, 1), (1, 1)]
        );
        let learners = [of(0, 0, 0).learner(), of(2, 1, 0).learner(), row(3, 0).learner()];
        assert_eq!(learners, ["fold-0", "fold-2-seed-1", "fold-3"]);
        let path = log.folder.path().join(FILE);
        assert!(fs::read_to_string(&path).unwrap().starts_with("{\"fold\":0,\"seed\":0,\"epoch\":0,"));
        MetricsLog::open(&log.folder, &[0, 1, 1, 1], 2).unwrap().finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), lines(&[of(0, 1, 0), of(1, 0, 0), of(1, 1, 0)]).unwrap());
    }
}
