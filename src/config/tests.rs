#![allow(clippy::unwrap_used)]

use super::layer::text_overrides;
use super::*;

fn env(name: &str, value: &str) -> Vec<Override> {
    environment([(name.into(), value.into())])
}

#[test]
fn later_layers_win() {
    let toml = text_overrides("c.toml", "seed = 3\n[sim]\ncommission_bps = 1\nhalf_spread_bps = 2.5\n").unwrap();
    let layers =
        [toml, env("GIGABAR__SIM__COMMISSION_BPS", "2"), vec![set("sim.commission_bps = 5").unwrap()]].concat();
    let config = RunConfig::resolve(&layers).unwrap();
    assert_eq!((config.seed, config.sim.commission_bps, config.sim.half_spread_bps), (3, 5.0, 2.5));
    let config = RunConfig::resolve(&layers[..4]).unwrap();
    assert_eq!(config.sim.commission_bps, 2.0);
}

#[test]
fn unknown_keys_name_the_nearest_and_the_place() {
    let error = |layers: Vec<Override>| RunConfig::resolve(&layers).unwrap_err().to_string();
    assert_eq!(
        error(text_overrides("c.toml", "seed = 3\n\n[sim]\ncomission_bps = 1\n").unwrap()),
        "c.toml:4: unknown key `sim.comission_bps`; the nearest is `sim.commission_bps`"
    );
    assert_eq!(
        error(env("GIGABAR__DQN__HIDEN", "[4]")),
        "environment variable GIGABAR__DQN__HIDEN: unknown key `dqn.hiden`; the nearest is `dqn.hidden`"
    );
    assert_eq!(
        error(vec![set("commission_bps=1").unwrap()]),
        "--set commission_bps=1: unknown key `commission_bps`; the nearest is `sim.commission_bps`"
    );
    assert_eq!(
        error(vec![set("sim.barrier.k_stp=1").unwrap()]),
        "--set sim.barrier.k_stp=1: unknown key `sim.barrier.k_stp`; the nearest is `sim.barrier.k_stop`"
    );
    // Under every choice, the one in force or not.
    for choice in ["none", "fixed", "volume_impact"] {
        let model = set(&format!("sim.slippage.model={choice}")).unwrap();
        let message = error(vec![model, set("sim.slippage.bps=1").unwrap(), set("sim.slippage.et=1").unwrap()]);
        let want = "--set sim.slippage.et=1: unknown key `sim.slippage.et`; the nearest is `sim.slippage.eta`";
        assert!(
            message == want || choice == "volume_impact" && message.contains("unknown key `sim.slippage."),
            "{message}"
        );
    }
    assert_eq!(
        error(vec![set("sim.slippage={model='none',foo=1}").unwrap()]),
        "--set sim.slippage={model='none',foo=1}: unknown key `sim.slippage.foo`; the nearest is `sim.slippage.bps`"
    );
    assert_eq!(error(vec![set("smi.x=1").unwrap()]), "--set smi.x=1: unknown key `smi`; the nearest is `sim`");
}

#[test]
fn type_errors_name_the_key() {
    let error = |text: &str| RunConfig::resolve(&[set(text).unwrap()]).unwrap_err().to_string();
    let message = error("sim.commission_bps=many");
    assert!(
        message.starts_with("--set sim.commission_bps=many: `sim.commission_bps`: expected a number, got \"many\""),
        "{message}"
    );
    let message = error("sim.fill=sometimes");
    assert!(message.contains("`sim.fill`") && message.contains("next_open"), "{message}");
}

#[test]
fn choices_and_optional_tables() {
    let layers = ["sim.slippage.model=fixed", "sim.slippage.bps=3", "sim.barrier.k_stop=2", "dqn.hidden=[8, 4]"];
    let layers: Vec<Override> = layers.iter().map(|text| set(text).unwrap()).collect();
    let config = RunConfig::resolve(&layers).unwrap();
    assert_eq!(config.sim.slippage, gigabar_backtest::rules::Slippage::Fixed { bps: 3.0 });
    assert_eq!(config.sim.barrier.unwrap().k_stop, Some(2.0));
    assert_eq!(config.dqn.hidden, [8, 4]);
}

#[test]
fn text_that_looks_like_a_number_is_a_string_where_one_is_wanted() {
    let config = RunConfig::resolve(&[set("data.symbol=700").unwrap()]).unwrap();
    assert_eq!(config.data.symbol.as_deref(), Some("700"));
}

#[test]
fn one_underscore_is_not_a_setting() {
    assert!(env("GIGABAR_DATA", "/data").is_empty());
}

#[test]
fn written_settings_read_back_the_same() {
    let config =
        RunConfig::resolve(&[set("sim.kelly.fraction=0.3").unwrap(), set("window.n_windows=3").unwrap()]).unwrap();
    let text = format!("{}\n[run]\ncommand = \"x\"\n", config.to_toml().unwrap());
    let back = RunConfig::resolve(&text_overrides("run.toml", &text).unwrap()).unwrap();
    assert_eq!(config.first_difference(&back).unwrap(), None);
    let other = RunConfig::resolve(&[set("sim.kelly.fraction=0.3").unwrap()]).unwrap();
    assert_eq!(config.first_difference(&other).unwrap().unwrap().0, "window.n_windows");
}

#[test]
fn keys_of_optional_tables_and_of_every_choice_are_known() {
    let known = known_keys();
    for key in [
        "sim.slippage.model",
        "sim.slippage.bps",
        "sim.slippage.eta",
        "sim.slippage.max_impact",
        "sim.kelly.fraction",
        "sim.kelly.cap",
        "sim.kelly.min_trades",
        "sim.barrier.k_stop",
        "dqn.guard.max_q",
    ] {
        assert_eq!(known.iter().filter(|one| *one == key).count(), 1, "{key} in {known:?}");
    }
    assert!(!known.iter().any(|key| key == "sim.slippage" || key.contains('?')), "{known:?}");
}

#[test]
fn syntax_errors_name_the_line() {
    let error = text_overrides("c.toml", "seed = 1\nsim = [\n").unwrap_err().to_string();
    assert!(error.starts_with("c.toml:"), "{error}");
    assert!(known_keys().contains(&"sim.commission_bps".to_owned()));
}
