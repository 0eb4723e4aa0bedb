//! Settings that were given and change nothing: the verb does not read them, or another setting makes them idle.

use gigabar_backtest::rules::{Rebalance, RewardKind};
use gigabar_learn::dqn::TargetUpdate;
use gigabar_learn::replay::ReplayKind;
use toml::Value;

use super::{ConfigError, Origin, Override, RunConfig, leaves, starts_below};

/// Settings that another setting makes idle: the key, whether it is idle, and the key of the other.
type Idle = (&'static str, fn(&RunConfig) -> bool, &'static str);

const IDLE: [Idle; 8] = [
    ("sim.rebalance_threshold", |c| c.sim.rebalance != Rebalance::EveryBar, "sim.rebalance"),
    ("reward.dsr_rate", |c| c.reward.kind != RewardKind::Dsr, "reward.kind"),
    ("dqn.tau", |c| c.dqn.target != TargetUpdate::Soft, "dqn.target"),
    ("dqn.target_period", |c| c.dqn.target != TargetUpdate::Periodic, "dqn.target"),
    ("dqn.alpha", |c| c.dqn.replay == ReplayKind::Uniform, "dqn.replay"),
    ("dqn.beta_start", |c| c.dqn.replay == ReplayKind::Uniform, "dqn.replay"),
    ("dqn.beta_end", |c| c.dqn.replay == ReplayKind::Uniform, "dqn.replay"),
    ("dqn.priority_eps", |c| c.dqn.replay != ReplayKind::Proportional, "dqn.replay"),
];

/// One line for every such setting. `unread` are the keys and tables that `verb` does not read; those count only where
/// they were typed for this command, for a file or the environment may serve several verbs.
pub(crate) fn without_effect(
    overrides: &[Override],
    config: &RunConfig,
    verb: &str,
    unread: &[&str],
) -> Result<Vec<String>, ConfigError> {
    let leaves = leaves(&config.table()?);
    let defaults = super::leaves(&RunConfig::default().table()?);
    let value = |key: &str| leaves.iter().find(|(leaf, _)| leaf == key).map(|(_, value)| value);
    let line = |change: &Override| {
        let (key, origin) = (change.key.as_str(), &change.origin);
        let typed = matches!(origin, Origin::Set(_) | Origin::Flag(_));
        if unread.iter().any(|idle| key == *idle || starts_below(key, idle)) {
            return typed.then(|| match origin {
                Origin::Flag(name) => format!("{name} has no effect on {verb}"),
                _ => format!("{origin}: `{key}` has no effect on {verb}"),
            });
        }
        let with = |other: &str, value: &Value| format!(" with {other} = {value}");
        if let Some((_, _, other)) = IDLE.iter().find(|(idle, is_idle, _)| key == *idle && is_idle(config)) {
            // A file may hold every setting there is: only what was changed was meant.
            let changed = typed || !defaults.iter().any(|(leaf, default)| leaf == key && Some(default) == value(key));
            let with = value(other).map(|value| with(other, value)).unwrap_or_default();
            return changed.then(|| format!("{origin}: `{key}` has no effect{with}"));
        }
        // What no choice has room for is dropped in silence: it is absent from the settings in force.
        if leaves.iter().any(|(leaf, _)| leaf == key || starts_below(leaf, key) || starts_below(key, leaf)) {
            return None;
        }
        let choice = key.rsplit_once('.').map(|(table, _)| format!("{table}.model")).unwrap_or_default();
        let with = value(&choice).map(|value| with(&choice, value)).unwrap_or_default();
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
        assert_eq!(
            of(&["sim.rebalance_threshold=0.1"]),
            [
                "--set sim.rebalance_threshold=0.1: `sim.rebalance_threshold` has no effect with sim.rebalance = \"on_change\""
            ]
        );
        assert_eq!(of(&["sim.rebalance_threshold=0.1", "sim.rebalance=every_bar"]), [""; 0]);
        assert_eq!(lines(&environment([("GIGABAR__DQN__BATCH".into(), "8".into())])), [""; 0]);
    }

    #[test]
    fn a_file_of_every_setting_is_passed_over_where_it_holds_the_default() {
        let read = |text: &str| super::super::layer::text_overrides("run.toml", text).unwrap();
        let of = |overrides: &[Override]| {
            let config = RunConfig::resolve(overrides).unwrap();
            without_effect(overrides, &config, "walkforward", &[]).unwrap()
        };
        assert_eq!(of(&read(&RunConfig::default().to_toml().unwrap())), [""; 0]);
        let changed = of(&read("[dqn]\ntarget_period = 9\ntau = 0.1\n"));
        assert_eq!(changed, ["run.toml:2: `dqn.target_period` has no effect with dqn.target = \"soft\""]);
    }
}
