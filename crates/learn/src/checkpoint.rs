//! Trained policies on disk: `policy.json` and the network's weights as safetensors.
//!
//! `policy.json` names its weights file, which is named by its checksum. It is replaced last, so a crash while saving
//! leaves the old policy whole. Training checkpoints are one file, see [`crate::dqn::Trainer::save`].

pub(crate) mod archive;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::rules::SimConfig;
use gigabar_market::feature::FeatureTable;
use gigabar_market::scale::Scaler;
use serde::{Deserialize, Serialize};

use crate::error::LearnError;
use crate::net::NetShape;
use crate::policy::NetPolicy;
use archive::{Archive, write_durably};

/// Version of `policy.json`; a file of another version is refused.
pub const POLICY_FORMAT: u32 = 1;

/// Name of the description beside the weights.
pub const POLICY_FILE: &str = "policy.json";

/// Everything about a trained policy but its weights: what `policy.json` holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// [`POLICY_FORMAT`].
    pub format: u32,
    /// The algorithm that trained it.
    pub agent: String,
    /// Exposure levels, one per action.
    pub levels: Vec<f64>,
    /// The network: inputs, hidden layers, activation, head.
    pub net: NetShape,
    /// Names of the market features, in order; the portfolio observation follows them.
    pub features: Vec<String>,
    /// Means and deviations fitted on the train range.
    pub scaler: Scaler,
    /// The rules it was trained under.
    pub sim: SimConfig,
    /// Open of the first bar trained on, UTC nanoseconds.
    pub trained_first_ts: i64,
    /// Open of the last bar trained on, UTC nanoseconds.
    pub trained_last_ts: i64,
    /// File of the weights, in the same folder.
    pub weights: String,
}

/// Saves `policy` with the scaler its features were made by, the rules it was trained under and the time stamps of the
/// first and the last bar it was trained on.
///
/// # Errors
/// [`LearnError::Io`] when a file cannot be written; the policy saved before, if any, is then still whole.
pub fn save_policy(
    dir: &Path,
    policy: &NetPolicy,
    scaler: &Scaler,
    sim: &SimConfig,
    trained_ts: [i64; 2],
) -> Result<(), LearnError> {
    let shape = policy.shape();
    let mut archive = Archive::default();
    for (parameter, weights) in shape.parameters().iter().zip(policy.weights()) {
        archive.put(&parameter.name, &parameter.dims, weights);
    }
    let weights = weights_name(&archive);
    archive.write(&dir.join(&weights))?;
    let file = PolicyFile {
        format: POLICY_FORMAT,
        agent: "dqn".into(),
        levels: policy.levels().to_vec(),
        net: shape.clone(),
        features: scaler.names.clone(),
        scaler: scaler.clone(),
        sim: sim.clone(),
        trained_first_ts: trained_ts[0],
        trained_last_ts: trained_ts[1],
        weights,
    };
    let path = dir.join(POLICY_FILE);
    let json = serde_json::to_vec_pretty(&file).map_err(|e| LearnError::corrupt(&path, e))?;
    write_durably(&path, &json)?;
    remove_other_weights(dir, &file.weights)
}

/// The name of a weights file: its contents' checksum, so that a file can't stand in for another.
fn weights_name(archive: &Archive) -> String {
    format!("net-{:08x}.safetensors", archive.checksum())
}

/// Weights of policies that `policy.json` no longer names.
fn remove_other_weights(dir: &Path, keep: &str) -> Result<(), LearnError> {
    for entry in fs::read_dir(dir).map_err(LearnError::io("list", dir))? {
        let entry = entry.map_err(LearnError::io("list", dir))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("net-") && name.ends_with(".safetensors") && name != keep {
            fs::remove_file(entry.path()).map_err(LearnError::io("remove", &entry.path()))?;
        }
    }
    Ok(())
}

/// Reads a policy's description.
///
/// # Errors
/// [`LearnError::Io`] when it is not there, [`LearnError::Corrupt`] when it is not one of ours.
pub fn read_policy_file(dir: &Path) -> Result<PolicyFile, LearnError> {
    let path = dir.join(POLICY_FILE);
    let bytes = fs::read(&path).map_err(LearnError::io("read", &path))?;
    let file: PolicyFile = serde_json::from_slice(&bytes).map_err(|e| LearnError::corrupt(&path, e))?;
    let wrong = |reason: String| Err(LearnError::corrupt(&path, reason));
    if file.format != POLICY_FORMAT {
        return wrong(format!("its format is {}, this version reads {POLICY_FORMAT}", file.format));
    }
    if file.net.n_input != file.features.len() + N_PORTFOLIO {
        return wrong(format!("a network of {} inputs for {} features", file.net.n_input, file.features.len()));
    }
    if file.net.n_action != file.levels.len() || file.levels.is_empty() {
        return wrong(format!("a network of {} actions for {} levels", file.net.n_action, file.levels.len()));
    }
    if file.net.hidden.contains(&0) {
        return wrong("a hidden layer of width 0".into());
    }
    if file.features != file.scaler.names {
        return wrong("its scaler is for other features than it names".into());
    }
    Ok(file)
}

/// Loads a policy to trade the data set that `table` describes.
///
/// # Errors
/// [`LearnError::Io`], [`LearnError::Corrupt`], and [`LearnError::Features`] naming the features that differ.
pub fn load_policy(dir: &Path, table: &FeatureTable) -> Result<NetPolicy, LearnError> {
    let file = read_policy_file(dir)?;
    check_features(&dir.join(POLICY_FILE), &file.features, table.names())?;
    let path = weights_path(dir, &file)?;
    let archive = Archive::read(&path)?;
    if weights_name(&archive) != file.weights {
        return Err(LearnError::corrupt(&path, "it holds the weights of another policy"));
    }
    let mut weights = Vec::new();
    for parameter in file.net.parameters() {
        let values = archive.get(&parameter.name, Some(&parameter.dims));
        weights.push(values.map_err(|reason| LearnError::corrupt(&path, reason))?);
    }
    let scaled = file.scaler.transform(table);
    let scaled = scaled.map_err(|e| LearnError::Features { path: dir.join(POLICY_FILE), reason: e.to_string() })?;
    NetPolicy::new(file.net, weights, file.levels, Arc::new(scaled))
}

/// The weights file must be a plain name: a policy folder never reaches outside itself.
fn weights_path(dir: &Path, file: &PolicyFile) -> Result<PathBuf, LearnError> {
    if Path::new(&file.weights).file_name().is_none_or(|name| name != file.weights.as_str()) {
        let reason = format!("its weights file `{}` is not a name in the same folder", file.weights);
        return Err(LearnError::corrupt(&dir.join(POLICY_FILE), reason));
    }
    Ok(dir.join(&file.weights))
}

fn check_features(path: &Path, wanted: &[String], offered: &[String]) -> Result<(), LearnError> {
    if wanted == offered {
        return Ok(());
    }
    let missing: Vec<&str> = wanted.iter().filter(|n| !offered.contains(n)).map(String::as_str).collect();
    let unknown: Vec<&str> = offered.iter().filter(|n| !wanted.contains(n)).map(String::as_str).collect();
    let mut parts = Vec::new();
    if !missing.is_empty() {
        parts.push(format!("the data set lacks {}", missing.join(", ")));
    }
    if !unknown.is_empty() {
        parts.push(format!("the policy does not know {}", unknown.join(", ")));
    }
    if parts.is_empty() {
        let first = wanted.iter().zip(offered).find(|(a, b)| a != b);
        parts.push(first.map(|(a, b)| format!("the order differs, {a} against {b}")).unwrap_or_default());
    }
    Err(LearnError::Features { path: path.to_path_buf(), reason: parts.join("; ") })
}
