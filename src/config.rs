//! [`RunConfig`]: every setting of a run, from layers: defaults, then a TOML file, then the environment, then `--set`
//! and the flags that stand for settings. A later layer wins key by key; a key nobody knows is an error.

mod keys;
mod layer;
mod optional;
mod unused;
mod words;

use gigabar_backtest::metric::MetricConfig;
use gigabar_backtest::{RewardConfig, SimConfig};
use gigabar_learn::dqn::DqnConfig;
use gigabar_market::load::LoadOptions;
use gigabar_market::window::WalkForwardConfig;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use toml::{Table, Value};

pub(crate) use keys::known_keys;
pub(crate) use layer::{ENV_PREFIX, Origin, Override, environment, file, flag, set};
pub(crate) use optional::turned_on;
pub(crate) use unused::without_effect;

/// Trainings per fold at most.
const MAX_SEEDS: usize = 1_000;

/// Every setting of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RunConfig {
    /// All randomness derives from it.
    pub(crate) seed: u64,
    /// `walkforward`: trainings per fold, each from a seed of its own that derives from `seed`. The report is of the first.
    pub(crate) seeds: usize,
    /// `train`: share of the bars after the features' warm-up that is trained on, from the front.
    pub(crate) train_share: f64,
    /// Least time between two checkpoints of a fold, seconds; the first and the last epoch are always saved.
    pub(crate) checkpoint_secs: f64,
    /// How the file is read.
    pub(crate) data: LoadOptions,
    /// Folds of the walk-forward test.
    pub(crate) window: WalkForwardConfig,
    /// The rules of a bar.
    pub(crate) sim: SimConfig,
    /// What a learning agent is paid.
    pub(crate) reward: RewardConfig,
    /// What the metrics are measured against.
    pub(crate) metric: MetricConfig,
    /// The DQN agent.
    pub(crate) dqn: DqnConfig,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            seeds: 1,
            train_share: 0.8,
            checkpoint_secs: 5.0,
            data: LoadOptions::default(),
            window: WalkForwardConfig::default(),
            sim: SimConfig::default(),
            reward: RewardConfig::default(),
            metric: MetricConfig::default(),
            dqn: DqnConfig::default(),
        }
    }
}

/// A layer that is not a configuration.
#[derive(Debug, Error)]
pub(crate) enum ConfigError {
    #[error("{path}: cannot be read")]
    Read { path: String, source: std::io::Error },
    #[error("{path}:{line}: {message}")]
    Syntax { path: String, line: usize, message: String },
    #[error("{origin}: unknown key `{key}`; the nearest is `{nearest}`")]
    Unknown { key: String, nearest: String, origin: Origin },
    #[error("{origin}: `{key}`: {message}")]
    Value { key: String, message: String, origin: Origin },
    #[error("--set {text}: expected KEY=VALUE")]
    Set { text: String },
    #[error("the settings cannot be written as TOML: {0}")]
    Write(String),
    #[error("{key} is {value}; it must be {rule}")]
    Range { key: &'static str, value: f64, rule: &'static str },
}

impl ConfigError {
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest, .. } => Some(format!("did you mean `{nearest}`?")),
            Self::Set { .. } => Some("for example --set sim.commission_bps=5".into()),
            _ => None,
        }
    }
}

impl RunConfig {
    /// The defaults, overridden in the order given.
    pub(crate) fn resolve(overrides: &[Override]) -> Result<Self, ConfigError> {
        Self::default().overridden(overrides)
    }

    /// `self`, overridden in the order given.
    pub(crate) fn overridden(&self, overrides: &[Override]) -> Result<Self, ConfigError> {
        let mut tree = self.table()?;
        for change in overrides {
            insert(&mut tree, &change.key, change.value.clone());
        }
        for _ in 0..=overrides.len() {
            let error = match serde_path_to_error::deserialize::<_, Self>(Value::Table(tree.clone())) {
                Ok(config) => {
                    all_known(overrides)?;
                    return config.checked();
                }
                Err(error) => error,
            };
            // `--set data.symbol=700` reads as a number where a string is wanted: take the text as it was typed.
            let path = error.path().to_string();
            let message = error.inner().to_string();
            let typed = overrides.iter().rev().find(|change| change.key == path).and_then(|c| c.raw.clone());
            match typed {
                Some(text) if wants_string(&message) => insert(&mut tree, &path, Value::String(text)),
                _ => return Err(explain(&path, message.trim(), overrides)),
            }
        }
        Err(ConfigError::Write("a setting stays unreadable".into()))
    }

    /// As TOML text.
    pub(crate) fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string(self).map_err(|e| ConfigError::Write(e.to_string()))
    }

    /// The first key whose value differs from `other`'s, with both values.
    pub(crate) fn first_difference(&self, other: &Self) -> Result<Option<(String, String, String)>, ConfigError> {
        let (mine, theirs) = (leaves(&self.table()?), leaves(&other.table()?));
        let value = |leaves: &[(String, Value)], key: &str| {
            leaves.iter().find(|(k, _)| k == key).map_or_else(|| "absent".to_owned(), |(_, v)| v.to_string())
        };
        let keys = mine.iter().chain(&theirs).map(|(key, _)| key);
        Ok(keys.map(|key| (key.clone(), value(&mine, key), value(&theirs, key))).find(|(_, a, b)| a != b))
    }

    fn table(&self) -> Result<Table, ConfigError> {
        Table::try_from(self).map_err(|e| ConfigError::Write(e.to_string()))
    }

    fn checked(self) -> Result<Self, ConfigError> {
        if !(self.train_share > 0.0 && self.train_share <= 1.0) {
            let rule = "above 0 and at most 1";
            return Err(ConfigError::Range { key: "train_share", value: self.train_share, rule });
        }
        if !(1..=MAX_SEEDS).contains(&self.seeds) {
            return Err(ConfigError::Range { key: "seeds", value: self.seeds as f64, rule: "1 to 1000" });
        }
        if !(0.0..=1e9).contains(&self.checkpoint_secs) {
            let rule = "0 to 1e9";
            return Err(ConfigError::Range { key: "checkpoint_secs", value: self.checkpoint_secs, rule });
        }
        Ok(self)
    }
}

/// A table of which one of several choices is taken lets pass what none of them has: refused here.
fn all_known(overrides: &[Override]) -> Result<(), ConfigError> {
    let known = known_keys();
    for change in overrides {
        let is_known = |key: &String| known.iter().any(|one| one == key || starts_below(one, key));
        if let Some(key) = optional::typed_keys(change).into_iter().find(|key| !is_known(key)) {
            return Err(ConfigError::Unknown { nearest: keys::nearest(&key), key, origin: change.origin.clone() });
        }
    }
    Ok(())
}

fn wants_string(message: &str) -> bool {
    let number = ["invalid type: integer", "invalid type: floating", "invalid type: boolean"];
    number.iter().any(|start| message.starts_with(start)) && message.contains("expected a string")
}

/// Sets a dotted key, making the tables on the way; a value in the way gives way to a table.
fn insert(tree: &mut Table, key: &str, value: Value) {
    let Some((head, rest)) = key.split_once('.') else {
        tree.insert(key.to_owned(), value);
        return;
    };
    let entry = tree.entry(head.to_owned()).or_insert_with(|| Value::Table(Table::new()));
    if !entry.is_table() {
        *entry = Value::Table(Table::new());
    }
    if let Value::Table(table) = entry {
        insert(table, rest, value);
    }
}

/// Dotted keys and their values, in order.
fn leaves(tree: &Table) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for (key, value) in tree {
        match value {
            Value::Table(table) if !table.is_empty() => {
                out.extend(leaves(table).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            value => out.push((key.clone(), value.clone())),
        }
    }
    out
}

/// Which override is to blame, and for what.
fn explain(path: &str, message: &str, overrides: &[Override]) -> ConfigError {
    if let Some(unknown) = quoted_after(message, "unknown field `") {
        let blamed = overrides.iter().rev().find_map(|change| Some((change, key_up_to(&change.key, unknown)?)));
        if let Some((change, key)) = blamed {
            return ConfigError::Unknown { nearest: keys::nearest(&key), key, origin: change.origin.clone() };
        }
    }
    // An element of a list is `dqn.hidden[1]`.
    let place = path.split('[').next().unwrap_or(path);
    let touches = |key: &str| key == place || starts_below(key, place) || starts_below(place, key);
    let blamed = overrides.iter().rev().find(|change| touches(&change.key));
    let origin = blamed.map_or(Origin::Defaults, |change| change.origin.clone());
    // toml adds a line that names the key once more.
    let message = words::plain(message.lines().next().unwrap_or_default());
    ConfigError::Value { key: path.into(), message, origin }
}

fn starts_below(key: &str, parent: &str) -> bool {
    key.strip_prefix(parent).is_some_and(|rest| rest.starts_with('.'))
}

fn quoted_after<'a>(message: &'a str, start: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(start)?;
    rest.split_once('`').map(|(word, _)| word)
}

/// The part of a dotted key that ends with `segment`.
fn key_up_to(key: &str, segment: &str) -> Option<String> {
    let segments: Vec<&str> = key.split('.').collect();
    let at = segments.iter().position(|s| *s == segment)?;
    Some(segments[..=at].join("."))
}

#[cfg(test)]
mod tests;
