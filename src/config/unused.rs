//! Settings that were given and change nothing: the verb does not read them, or another setting makes them idle.

use super::{ConfigError, Origin, Override, RunConfig, leaves, starts_below};

/// One line for every such setting. `unread` are the keys and tables that `verb` does not read; those count only where
/// they were typed for this command, for a file or the environment may serve several verbs.
pub(crate) fn without_effect(
    overrides: &[Override],
    config: &RunConfig,
    verb: &str,
    unread: &[&str],
) -> Result<Vec<String>, ConfigError> {
    let leaves = leaves(&config.table()?);
    let line = |change: &Override| {
        let (key, origin) = (change.key.as_str(), &change.origin);
        let typed = matches!(origin, Origin::Set(_) | Origin::Flag(_));
        if typed && unread.iter().any(|idle| key == *idle || starts_below(key, idle)) {
            return Some(match origin {
                Origin::Flag(name) => format!("{name} has no effect on {verb}"),
                _ => format!("{origin}: `{key}` has no effect on {verb}"),
            });
        }
        // What no choice has room for is dropped in silence: it is absent from the settings in force.
        if leaves.iter().any(|(leaf, _)| leaf == key || starts_below(leaf, key) || starts_below(key, leaf)) {
            return None;
        }
        let choice = key.rsplit_once('.').map(|(table, _)| format!("{table}.model")).unwrap_or_default();
        let with = leaves.iter().find(|(leaf, _)| *leaf == choice);
        let with = with.map(|(leaf, value)| format!(" with {leaf} = {value}")).unwrap_or_default();
        Some(format!("{origin}: `{key}` has no effect{with}"))
    };
    Ok(overrides.iter().filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{environment, flag, set};
    use super::*;

    fn lines(overrides: &[Override]) -> Vec<String> {
        let config = RunConfig::resolve(overrides).unwrap();
        without_effect(overrides, &config, "backtest", &["seed", "dqn"]).unwrap()
    }

    #[test]
    fn idle_settings_are_named_with_the_reason() {
        let of = |texts: &[&str]| lines(&texts.iter().map(|text| set(text).unwrap()).collect::<Vec<_>>());
        assert_eq!(of(&["dqn.hidden=[8]"]), ["--set dqn.hidden=[8]: `dqn.hidden` has no effect on backtest"]);
        assert_eq!(
            of(&["sim.slippage.bps=3"]),
            ["--set sim.slippage.bps=3: `sim.slippage.bps` has no effect with sim.slippage.model = \"none\""]
        );
        let effective = ["sim.slippage.model=fixed", "sim.slippage.bps=3", "sim.barrier.k_stop=2", "data.symbol=X"];
        assert_eq!(of(&effective), [""; 0]);
        assert_eq!(of(&["sim.slippage={model=\"fixed\",bps=2}"]), [""; 0]);
        assert_eq!(lines(&[flag("--seed", "seed", 3_i64)]), ["--seed has no effect on backtest"]);
        assert_eq!(lines(&environment([("GIGABAR__DQN__BATCH".into(), "8".into())])), [""; 0]);
    }
}
