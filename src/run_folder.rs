//! The folder of a run: what it holds, and how it is written so that a crash never leaves half a file.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use gigabar::report::RunReport;
use gigabar_market::whole::{TEMPORARY, Unfinished};
use jiff::Timestamp;
use serde::Deserialize;

use crate::config::{self, RunConfig};
use crate::failure::hinted;
use crate::printer::Printer;

mod info;

pub(crate) use info::RunInfo;

/// The settings and the origin of a run; makes a folder a run.
const SETTINGS: &str = "run.toml";
/// A folder of weights for every fold.
const CHECKPOINTS: &str = "checkpoints";
/// Where runs go that were given no folder.
const RUNS: &str = "runs";
/// The result.
const REPORT: &str = "report.json";
/// Locked by whoever writes the run; the system lets go when the process ends, however it ends.
const LOCK: &str = ".lock";

/// A run's folder.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    path: PathBuf,
    /// Held while this process writes the run.
    _lock: Option<Arc<File>>,
}

#[derive(Deserialize)]
struct RunTable {
    run: RunInfo,
}

impl RunFolder {
    /// `out`, or `runs/<name>-<time>`, with `run.toml` inside.
    pub(crate) fn create(out: Option<&Path>, name: &str, config: &RunConfig, info: &RunInfo) -> anyhow::Result<Self> {
        let path = match out {
            Some(path) => path.to_owned(),
            None => fresh(&Path::new(RUNS).join(format!("{name}-{}", Timestamp::now().strftime("%Y%m%d-%H%M%S")))),
        };
        vacant(&path)?;
        Self::begin(path, config, info, None)
    }

    /// `out`, for a command that trains nothing. What an unfinished one of those left there is replaced, for it has nothing
    /// to continue; `again` replaces a finished run too, if it is of the very same command.
    pub(crate) fn create_for_result(
        out: &Path,
        config: &RunConfig,
        info: &RunInfo,
        again: bool,
        printer: Printer,
    ) -> anyhow::Result<Self> {
        let left = origin(out).filter(|left| !trains(&left.verb));
        let Some(left) = left.filter(|left| !is_finished(out) || (again && left.command == info.command)) else {
            vacant(out)?;
            return Self::begin(out.to_owned(), config, info, None);
        };
        // Held from here on: another process may be writing it yet.
        let held = lock(out)?;
        clear(out)?;
        printer.say(format_args!("note: {} is used again: its run of `{}` did not finish", out.display(), left.verb));
        Self::begin(out.to_owned(), config, info, Some(held))
    }

    /// Refuses what [`Self::create_for_result`] would refuse, before the work is done.
    pub(crate) fn check_for_result(out: &Path) -> anyhow::Result<()> {
        match origin(out) {
            Some(left) if !trains(&left.verb) && !is_finished(out) => Ok(()),
            _ => vacant(out),
        }
    }

    /// Writes `run.toml`, which makes the folder a run.
    fn begin(path: PathBuf, config: &RunConfig, info: &RunInfo, held: Option<Arc<File>>) -> anyhow::Result<Self> {
        fs::create_dir_all(&path).with_context(|| format!("{}: cannot be created", path.display()))?;
        let held = held.map_or_else(|| lock(&path), Ok)?;
        let folder = Self { _lock: Some(held), path };
        folder.write_settings(config, info)?;
        Ok(folder)
    }

    fn write_settings(&self, config: &RunConfig, info: &RunInfo) -> anyhow::Result<()> {
        let run = toml::to_string(&toml::Table::from_iter([("run".to_owned(), toml::Value::try_from(info)?)]))?;
        self.write(SETTINGS, format!("{}\n{run}", config.to_toml()?).as_bytes())
    }

    /// Records what computes the run from here on. Returns what a resumed run was computed on before, where that was
    /// something else.
    pub(crate) fn record_device(&self, device: &str, resumed: bool) -> anyhow::Result<Option<String>> {
        let (config, mut info) = self.settings()?;
        let before = info.last_device().to_owned();
        if before == device {
            return Ok(None);
        }
        if resumed {
            info.resumed_on.push(device.to_owned());
        } else {
            info.device = device.to_owned();
        }
        self.write_settings(&config, &info)?;
        Ok(Some(before).filter(|_| resumed))
    }

    /// Takes back a run that began and has nothing to keep. What is not of a run's beginning stays, and the folder with
    /// it.
    pub(crate) fn discard(&self) {
        let begun = |name: &str| name.starts_with("metrics.jsonl") || name.starts_with("events.out.tfevents.");
        let remove = |entry: fs::DirEntry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            if [SETTINGS, LOCK].contains(&name.as_str()) || begun(&name) {
                let _kept = fs::remove_file(entry.path());
            }
        };
        let within = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
        for folder in within(&self.path.join(CHECKPOINTS)) {
            // A checkpoint that a full disk cut short.
            let partial = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".partial");
            within(&folder.path()).filter(partial).for_each(|entry| drop(fs::remove_file(entry.path())));
            // Folders go only when they are empty.
            let _kept = fs::remove_dir(folder.path());
        }
        let _kept = fs::remove_dir(self.path.join(CHECKPOINTS));
        within(&self.path).for_each(remove);
        let _kept = fs::remove_dir(&self.path);
        if self.path.parent() == Some(Path::new(RUNS)) {
            let _kept = fs::remove_dir(RUNS);
        }
    }

    /// A folder made before.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        if !path.join(SETTINGS).is_file() {
            return Err(hinted(
                format!("{} is not a run: it has no {SETTINGS}", path.display()),
                "give the folder that a run printed at its start",
            ));
        }
        Ok(Self { path: path.to_owned(), _lock: None })
    }

    /// A folder made before, to go on writing it.
    pub(crate) fn open_to_write(path: &Path) -> anyhow::Result<Self> {
        let folder = Self::open(path)?;
        Ok(Self { _lock: Some(lock(path)?), ..folder })
    }

    /// The settings and origin it was made with.
    pub(crate) fn settings(&self) -> anyhow::Result<(RunConfig, RunInfo)> {
        let path = self.path.join(SETTINGS);
        let text = fs::read_to_string(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let info: RunTable = toml::from_str(&text).with_context(|| format!("{}: table `run`", path.display()))?;
        Ok((RunConfig::resolve(&config::file(&path)?)?, info.run))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a fold's weights; `seed` counts the seeds it was trained from.
    pub(crate) fn checkpoint(&self, fold: usize, seed: usize) -> PathBuf {
        let suffix = if seed == 0 { String::new() } else { format!("-seed-{seed}") };
        self.path.join(CHECKPOINTS).join(format!("fold-{fold}{suffix}"))
    }

    /// Writes a file whole: beside it, flushed to the disk, then renamed.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        self.stream(name, |file| Ok(file.write_all(bytes)?))
    }

    /// As [`Self::write`], for what is better not held in memory whole.
    pub(crate) fn stream(
        &self,
        name: &str,
        fill: impl FnOnce(&mut Unfinished) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let path = self.path.join(name);
        let write = || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = Unfinished::begin(&path)?;
            fill(&mut file)?;
            anyhow::Ok(file.replace()?)
        };
        write().with_context(|| format!("{}: cannot be written", path.display()))
    }

    /// The result of the run.
    pub(crate) fn report(&self) -> anyhow::Result<RunReport> {
        let path = self.path.join(REPORT);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!("{}: the run has no result yet", path.display())
            }
            Err(error) => return Err(error).with_context(|| format!("{}: cannot be read", path.display())),
        };
        serde_json::from_str(&text).with_context(|| format!("{}: not a report of this version", path.display()))
    }

    /// Writes `report.json` and `report.html`; returns the page's path.
    pub(crate) fn write_report(&self, report: &RunReport) -> anyhow::Result<PathBuf> {
        self.stream(REPORT, |file| Ok(serde_json::to_writer_pretty(file, &*report.on_disk())?))?;
        self.write_page(report)
    }

    /// Writes `report.html`.
    pub(crate) fn write_page(&self, report: &RunReport) -> anyhow::Result<PathBuf> {
        let page = gigabar::report::html::render(report).context("report.html")?;
        self.write("report.html", page.as_bytes())?;
        Ok(self.path.join("report.html"))
    }
}

/// Whether a run there came to its end: the report is written last.
pub(crate) fn is_finished(path: &Path) -> bool {
    path.join(SETTINGS).is_file() && path.join(REPORT).is_file()
}

/// Where the run in a folder came from, if there is one.
fn origin(path: &Path) -> Option<RunInfo> {
    let text = fs::read_to_string(path.join(SETTINGS)).ok()?;
    toml::from_str::<RunTable>(&text).ok().map(|table| table.run)
}

/// Whether a verb leaves checkpoints to continue from.
fn trains(verb: &str) -> bool {
    matches!(verb, "walkforward" | "train dqn")
}

/// Refuses a folder that holds a run, or anything else but the beginning of one that never became a run.
fn vacant(path: &Path) -> anyhow::Result<()> {
    if path.join(SETTINGS).exists() {
        let (left, path, another) = (origin(path), path.display(), "choose another --out");
        return Err(match left {
            Some(RunInfo { verb, .. }) if trains(&verb) => hinted(
                format!("{path} already holds a run"),
                format!("{another}, or continue it with gigabar {verb} --resume {path}"),
            ),
            Some(RunInfo { verb, .. }) => hinted(format!("{path} already holds a finished run of `{verb}`"), another),
            None => hinted(format!("{path} already holds a run"), another),
        });
    }
    if !path.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(path).with_context(|| path.display().to_string())? {
        let name = entry.with_context(|| path.display().to_string())?.file_name();
        if name != LOCK && name.to_str().is_none_or(|name| name.strip_suffix(TEMPORARY) != Some(SETTINGS)) {
            return Err(hinted(format!("{} is not empty", path.display()), "choose another --out"));
        }
    }
    Ok(())
}

/// Removes what a run without training writes, whole or begun, and nothing else. The settings go last: while they are
/// there the folder is known for an unfinished run.
fn clear(path: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(path).with_context(|| path.display().to_string())?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("fold-") && entry.path().is_dir() {
            remove(&entry.path(), &["equity.csv", "trades.csv"])?;
            // Kept where it holds anything else.
            let _kept = fs::remove_dir(entry.path());
        }
    }
    remove(path, &[REPORT, "report.html", "sweep.csv", "strategies.csv", SETTINGS])
}

/// Removes files, and those that were to become them, where they exist.
fn remove(folder: &Path, names: &[&str]) -> anyhow::Result<()> {
    for name in names.iter().flat_map(|name| [format!("{name}{TEMPORARY}"), (*name).to_owned()]) {
        match fs::remove_file(folder.join(&name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{}: cannot be replaced", folder.join(&name).display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses a run that another process is writing.
fn lock(path: &Path) -> anyhow::Result<Arc<File>> {
    let file = File::create(path.join(LOCK)).with_context(|| format!("{}: cannot be written", path.display()))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(hinted(
            format!("another gigabar is writing {}", path.display()),
            "wait for it to end, or choose another folder",
        )),
        // A file system without locks is no reason to refuse.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Arc::new(file)),
    }
}

/// `path`, or `path-2`, `path-3`, … where that exists.
fn fresh(path: &Path) -> PathBuf {
    let numbered = |n: usize| PathBuf::from(format!("{}-{n}", path.display()));
    let mut candidate = path.to_owned();
    for n in 2.. {
        if !candidate.exists() {
            break;
        }
        candidate = numbered(n);
    }
    candidate
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn info() -> RunInfo {
        RunInfo {
            verb: "walkforward".into(),
            command: "gigabar walkforward x.csv --agent dqn".into(),
            policy: "dqn".into(),
            version: "0".into(),
            created: "2026-01-01T00:00:00Z".into(),
            device: "cpu".into(),
            resumed_on: Vec::new(),
            data: "x.csv".into(),
            data_sha256: "00".into(),
            data_files: Vec::new(),
            train_bars: None,
        }
    }

    #[test]
    fn a_run_is_read_back_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("run");
        let config = RunConfig { seed: 9, ..RunConfig::default() };
        let folder = RunFolder::create(Some(&out), "x", &config, &info()).unwrap();
        assert_eq!(RunFolder::open(folder.path()).unwrap().settings().unwrap(), (config.clone(), info()));
        let error = RunFolder::create(Some(&out), "x", &config, &info()).unwrap_err();
        assert!(error.to_string().ends_with("already holds a run"), "{error}");
        assert!(RunFolder::open(dir.path()).is_err());
        let error = RunFolder::open_to_write(folder.path()).unwrap_err();
        assert!(error.to_string().starts_with("another gigabar is writing"), "{error}");
        let path = folder.path().to_owned();
        drop(folder);
        RunFolder::open_to_write(&path).unwrap();
    }

    #[test]
    fn a_discarded_run_leaves_nothing_half_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&dir.path().join("run")), "x", &RunConfig::default(), &info()).unwrap();
        let checkpoint = folder.checkpoint(0, 0);
        fs::create_dir_all(&checkpoint).unwrap();
        fs::write(checkpoint.join(".training.safetensors.partial"), b"half").unwrap();
        folder.discard();
        assert!(!folder.path().exists());
    }

    #[test]
    fn a_run_remembers_every_device() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&dir.path().join("run")), "x", &RunConfig::default(), &info()).unwrap();
        let written = fs::read_to_string(folder.path().join(SETTINGS)).unwrap();
        assert_eq!(folder.record_device("cpu", true).unwrap(), None);
        assert_eq!(fs::read_to_string(folder.path().join(SETTINGS)).unwrap(), written);
        assert_eq!(folder.record_device("cuda:0 X", false).unwrap(), None, "a new run gave way to another device");
        assert_eq!(folder.record_device("cpu", true).unwrap().as_deref(), Some("cuda:0 X"));
        assert_eq!(folder.record_device("cpu", true).unwrap(), None);
        let (config, info) = folder.settings().unwrap();
        assert_eq!((info.devices().as_str(), info.last_device()), ("cuda:0 X, then cpu", "cpu"));
        assert_eq!(config, RunConfig::default());
    }

    #[test]
    fn names_that_exist_get_a_number() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join("a");
        assert_eq!(fresh(&wanted), wanted);
        fs::create_dir(&wanted).unwrap();
        assert_eq!(fresh(&wanted), dir.path().join("a-2"));
    }
}
