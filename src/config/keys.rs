//! The names of all settings, asked of the types themselves: a made-up key makes serde list the ones it knows.

use serde::Deserialize;
use toml::{Table, Value};

use super::{RunConfig, insert};

/// A key no struct has.
const NONE: &str = "?";

/// Every setting's dotted key. Settings inside a choice (such as `sim.slippage.bps`) are not listed.
pub(crate) fn known_keys() -> Vec<String> {
    let mut keys = Vec::new();
    collect("", &mut keys);
    keys
}

fn collect(prefix: &str, keys: &mut Vec<String>) {
    let path = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
    for name in fields(&path(NONE)) {
        let key = path(&name);
        if fields(&format!("{key}.{NONE}")).is_empty() {
            keys.push(key);
        } else {
            collect(&key, keys);
        }
    }
}

/// The fields serde offers in place of the made-up last segment of `probe`; none where that is no struct.
fn fields(probe: &str) -> Vec<String> {
    let mut tree = Table::new();
    insert(&mut tree, probe, Value::Boolean(true));
    let Err(error) = RunConfig::deserialize(Value::Table(tree)) else { return Vec::new() };
    let message = error.to_string();
    match message.split_once(&format!("unknown field `{NONE}`")) {
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
