//! [`RunInfo`]: where a run came from.

use std::path::PathBuf;

use gigabar::report::DataFile;
use serde::{Deserialize, Serialize};

/// Where a run came from: table `run` of `run.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunInfo {
    /// The verb: `walkforward`, `train`, `backtest`, `evaluate`.
    pub(crate) verb: String,
    /// The command line.
    pub(crate) command: String,
    /// The algorithm or policy.
    pub(crate) policy: String,
    pub(crate) version: String,
    /// UTC, ISO 8601.
    pub(crate) created: String,
    /// What computed it.
    pub(crate) device: String,
    /// What went on with it since, where that was something else each time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resumed_on: Vec<String>,
    /// The file, or all of them, for people.
    pub(crate) data: String,
    /// Its hash, or all of theirs.
    pub(crate) data_sha256: String,
    /// The files, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) data_files: Vec<DataFile>,
    /// Bars trained on, where the command named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) train_bars: Option<[usize; 2]>,
}

impl RunInfo {
    /// The files of bars.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match self.data_files.as_slice() {
            [] => vec![PathBuf::from(&self.data)],
            several => several.iter().map(|file| PathBuf::from(&file.path)).collect(),
        }
    }

    /// What computed it last.
    pub(crate) fn last_device(&self) -> &str {
        self.resumed_on.last().unwrap_or(&self.device)
    }

    /// Everything that computed it, in order.
    pub(crate) fn devices(&self) -> String {
        std::iter::once(&self.device).chain(&self.resumed_on).cloned().collect::<Vec<_>>().join(", then ")
    }
}
