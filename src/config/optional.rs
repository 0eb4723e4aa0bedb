//! Tables that are off until one of their settings is given: what came along with that one.

use toml::Value;

use super::{ConfigError, Override, RunConfig, keys, leaves, starts_below};

/// One line for every optional table that `overrides` turned on without saying all of it: what it is on with by
/// default, and which of its settings it is without. Tables under `unread` change nothing and are passed over.
pub(crate) fn turned_on(
    overrides: &[Override],
    config: &RunConfig,
    unread: &[&str],
) -> Result<Vec<String>, ConfigError> {
    let typed: Vec<String> = overrides.iter().flat_map(typed_keys).collect();
    let (in_force, defaults) = (leaves(&config.table()?), leaves(&RunConfig::default().table()?));
    let known = keys::known_keys();
    let mut lines = Vec::new();
    for table in optional_tables(&known, &defaults) {
        let read = !unread.iter().any(|idle| table == *idle || starts_below(&table, idle));
        let below = |key: &str| starts_below(key, &table);
        let own: Vec<&(String, Value)> = in_force.iter().filter(|(key, _)| below(key)).collect();
        let is_default = own.iter().all(|leaf| defaults.contains(leaf));
        if !read || is_default || !typed.iter().any(|key| below(key)) {
            continue;
        }
        let name = |key: &str| key[table.len() + 1..].to_owned();
        let with = own.iter().filter(|(key, _)| !typed.contains(key));
        let with: Vec<String> = with.map(|(key, value)| format!("{} {value}", name(key))).collect();
        // The settings of a choice not taken are not missing.
        let is_choice = known.iter().any(|key| *key == format!("{table}.{}", keys::MODEL));
        let absent = |key: &&String| !is_choice && below(key) && !own.iter().any(|(leaf, _)| leaf == *key);
        let without: Vec<String> = known.iter().filter(absent).map(|key| name(key)).collect();
        let parts = [("with", with), ("without", without)];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts.map(|(word, names)| format!("{word} {}", joined(names))).collect();
        if !parts.is_empty() {
            lines.push(format!("{table} is on {}", parts.join(", ")));
        }
    }
    Ok(lines)
}

/// Tables that the defaults do not hold, or of which they hold one choice.
fn optional_tables(known: &[String], defaults: &[(String, Value)]) -> Vec<String> {
    let parents = known.iter().filter_map(|key| key.rsplit_once('.').map(|(table, _)| table));
    let optional = |table: &&str| {
        let choice = format!("{table}.{}", keys::MODEL);
        known.contains(&choice) || !defaults.iter().any(|(key, _)| starts_below(key, table))
    };
    let mut tables: Vec<String> = parents.filter(optional).map(str::to_owned).collect();
    tables.dedup();
    tables
}

/// The keys that an override gives, one by one where its value is a table.
pub(super) fn typed_keys(change: &Override) -> Vec<String> {
    match &change.value {
        Value::Table(table) if !table.is_empty() => {
            leaves(table).into_iter().map(|(key, _)| format!("{}.{key}", change.key)).collect()
        }
        _ => vec![change.key.clone()],
    }
}

/// `a, b and c`
fn joined(names: &[String]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::set;
    use super::*;

    #[test]
    fn what_comes_along_with_a_detail_is_said() {
        let of = |texts: &[&str]| {
            let overrides: Vec<Override> = texts.iter().map(|text| set(text).unwrap()).collect();
            turned_on(&overrides, &RunConfig::resolve(&overrides).unwrap(), &["dqn"]).unwrap()
        };
        assert_eq!(of(&["sim.kelly.min_trades=5"]), ["sim.kelly is on with cap 1.0 and fraction 0.5"]);
        assert_eq!(of(&["sim.kelly={fraction=0.2,cap=1,min_trades=9}"]), [""; 0]);
        assert_eq!(of(&["sim.barrier.max_hold=5"]), ["sim.barrier is on without k_stop and k_take"]);
        let impact = ["sim.slippage is on with eta 1.0 and max_impact 0.1"];
        assert_eq!(of(&["sim.slippage.model=volume_impact"]), impact);
        assert_eq!(of(&["sim.slippage.model=fixed", "sim.slippage.bps=2"]), [""; 0]);
        assert_eq!(of(&["sim.slippage.model=none", "window.train_bars=500", "data.symbol=X"]), [""; 0]);
        let overrides = [set("sim.kelly.cap=2").unwrap()];
        let idle = turned_on(&overrides, &RunConfig::resolve(&overrides).unwrap(), &["sim"]).unwrap();
        assert_eq!(idle, [""; 0], "a table that is not read");
    }
}
