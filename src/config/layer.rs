//! The layers above the defaults, each a list of overrides that remember where they were written.

use std::fmt;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::ConfigError;

/// Environment variables that begin like this are settings: `GIGABAR__SIM__COMMISSION_BPS`.
pub(crate) const ENV_PREFIX: &str = "GIGABAR__";

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Defaults,
    File { path: String, line: usize },
    Env(String),
    Set(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defaults => f.write_str("settings"),
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Env(name) => write!(f, "environment variable {name}"),
            Self::Set(text) => write!(f, "--set {text}"),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// One key given a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Override {
    /// Dotted key.
    pub(crate) key: String,
    pub(crate) value: Value,
    /// The value as typed, where it was not in a file.
    pub(crate) raw: Option<String>,
    pub(crate) origin: Origin,
}

impl Override {
    /// The text is TOML where it can be, else a string.
    fn typed(key: String, text: &str, origin: Origin) -> Self {
        let parsed = format!("v = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
        let value = parsed.unwrap_or_else(|| Value::String(text.to_owned()));
        Self { key, value, raw: Some(text.to_owned()), origin }
    }
}

/// A TOML file. A table `run`, which `run.toml` of a run folder has, is passed over: such a file can be used again.
pub(crate) fn file(path: &Path) -> Result<Vec<Override>, ConfigError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: name.clone(), source })?;
    text_overrides(&name, &text)
}

/// The overrides in TOML text called `name`.
pub(super) fn text_overrides(name: &str, text: &str) -> Result<Vec<Override>, ConfigError> {
    let line_at = |byte: usize| text[..byte.min(text.len())].matches('\n').count() + 1;
    let syntax = |error: toml::de::Error| ConfigError::Syntax {
        path: name.into(),
        line: error.span().map_or(1, |span| line_at(span.start)),
        message: error.message().into(),
    };
    let mut values = text.parse::<Table>().map_err(syntax)?;
    values.remove("run");
    let spans = DeTable::parse(text).map_err(syntax)?;
    let mut out = Vec::new();
    let origin = |byte| Origin::File { path: name.into(), line: line_at(byte) };
    walk("", &values, spans.get_ref(), &origin, &mut out);
    Ok(out)
}

fn walk(prefix: &str, values: &Table, spans: &DeTable<'_>, origin: &dyn Fn(usize) -> Origin, out: &mut Vec<Override>) {
    for (name, span) in spans {
        let Some(value) = values.get(name.get_ref().as_ref()) else { continue };
        let key = if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
        match (value, span.get_ref()) {
            (Value::Table(values), DeValue::Table(spans)) if !values.is_empty() => {
                walk(&key, values, spans, origin, out);
            }
            _ => out.push(Override { key, value: value.clone(), raw: None, origin: origin(name.span().start) }),
        }
    }
}

/// The environment's settings, by name.
pub(crate) fn environment(
    variables: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
) -> Vec<Override> {
    let mut named: Vec<(String, String)> = variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| name.starts_with(ENV_PREFIX))
        .collect();
    named.sort();
    let key = |name: &str| name[ENV_PREFIX.len()..].to_lowercase().replace("__", ".");
    named.into_iter().map(|(name, value)| Override::typed(key(&name), &value, Origin::Env(name))).collect()
}

/// `--set KEY=VALUE`.
pub(crate) fn set(text: &str) -> Result<Override, ConfigError> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok(Override::typed(key.trim().to_owned(), value.trim(), Origin::Set(text.to_owned())))
        }
        _ => Err(ConfigError::Set { text: text.to_owned() }),
    }
}

/// A flag that stands for a setting.
pub(crate) fn flag(name: &'static str, key: &str, value: impl Into<Value>) -> Override {
    Override { key: key.to_owned(), value: value.into(), raw: None, origin: Origin::Flag(name) }
}
