//! The names of all settings, asked of the types themselves: a made-up key makes serde list the ones it knows.

use serde::Deserialize;
use toml::{Table, Value};

use super::{RunConfig, insert};

/// A key no struct has.
const NONE: &str = "?";

/// Names the choice in a table that is one of several.
pub(super) const MODEL: &str = "model";

/// Every setting's dotted key, those of optional tables and of every choice (such as `sim.slippage.bps`) too.
pub(crate) fn known_keys() -> Vec<String> {
    let mut keys = Vec::new();
    collect("", &mut keys);
    keys
}

fn collect(prefix: &str, keys: &mut Vec<String>) {
    let path = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
    for name in offered(&[(&path(NONE), NONE)], "field") {
        let key = path(&name);
        let choices = offered(&[(&format!("{key}.{MODEL}"), NONE)], "variant");
        if !choices.is_empty() {
            keys.extend(choice_keys(&key, &choices));
        } else if offered(&[(&format!("{key}.{NONE}"), NONE)], "field").is_empty() {
            keys.push(key);
        } else {
            collect(&key, keys);
        }
    }
}

/// The keys of a table that is one of several, each of which has its own.
fn choice_keys(key: &str, choices: &[String]) -> Vec<String> {
    let mut keys = vec![format!("{key}.{MODEL}")];
    for choice in choices {
        let own = offered(&[(&format!("{key}.{MODEL}"), choice), (&format!("{key}.{NONE}"), NONE)], "field");
        keys.extend(own.into_iter().map(|name| format!("{key}.{name}")));
    }
    keys
}

/// The names serde offers in place of the made-up one, where settings are given as in `probe`: of fields, or of
/// variants.
fn offered(probe: &[(&str, &str)], what: &str) -> Vec<String> {
    let mut tree = Table::new();
    for (key, value) in probe {
        insert(&mut tree, key, Value::String((*value).to_owned()));
    }
    let Err(error) = RunConfig::deserialize(Value::Table(tree)) else { return Vec::new() };
    let message = error.to_string();
    match message.split_once(&format!("unknown {what} `{NONE}`")) {
        // The next line names the place, between backticks as well.
        Some((_, offered)) => {
            offered.lines().next().unwrap_or_default().split('`').skip(1).step_by(2).map(Into::into).collect()
        }
        None => Vec::new(),
    }
}

/// The known key nearest to `key`: by its last segment, and by the whole.
pub(crate) fn nearest(key: &str) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let distance = |known: &String| {
        let name = strsim::damerau_levenshtein(&last(key), &last(known));
        (name * 3 + strsim::damerau_levenshtein(key, known)).min(4 * strsim::damerau_levenshtein(key, known))
    };
    let mut known = known_keys();
    let above = |key: &String| key.match_indices('.').map(|(at, _)| key[..at].to_owned()).collect::<Vec<_>>();
    let sections: Vec<String> = known.iter().flat_map(above).collect();
    known.extend(sections);
    known.into_iter().min_by_key(distance).unwrap_or_default()
}
