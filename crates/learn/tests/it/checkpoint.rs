use std::fs;

use gigabar_backtest::cpu::engine::{Market, Rules, simulate};
use gigabar_backtest::rules::SimConfig;
use gigabar_learn::dqn::{DqnConfig, Trainer};
use gigabar_learn::{LearnError, load_policy, read_policy_file, save_policy};
use gigabar_market::synth::planted;

use super::Case;

fn case() -> Case {
    Case::new(planted(700, 4, &Default::default()).unwrap(), 500)
}

fn trained(case: &Case, epochs: usize) -> Trainer {
    let config = DqnConfig { hidden: vec![16], epochs: 3, steps_per_epoch: 1_500, ..DqnConfig::default() };
    let mut trainer = case.trainer(&config, &SimConfig::default(), 2);
    for _ in 0..epochs {
        trainer.run_epoch().unwrap();
    }
    trainer
}

#[test]
fn a_loaded_policy_trades_like_the_saved_one() {
    let (case, dir) = (case(), tempfile::tempdir().unwrap());
    let sim = SimConfig { commission_bps: 3.0, ..SimConfig::default() };
    let mut policy = trained(&case, 2).policy();
    save_policy(dir.path(), &policy, &case.scaler, &sim, [1, 2]).unwrap();
    let mut loaded = load_policy(dir.path(), &case.table).unwrap();
    assert_eq!(loaded.weights(), policy.weights());
    let market = Market::new(&case.bars, &case.sigma);
    let rules = Rules::new(&sim, &market).unwrap();
    let first = simulate(&rules, &case.bars, &market, case.test.clone(), &mut policy);
    let again = simulate(&rules, &case.bars, &market, case.test.clone(), &mut loaded);
    assert!(first == again && first.counts.fills > 0);
    let file = read_policy_file(dir.path()).unwrap();
    assert_eq!((&file.sim, &file.scaler, file.levels.len()), (&sim, &case.scaler, 5));
    assert_eq!(file.features, case.table.names());
}

#[test]
fn saving_again_replaces_and_leaves_no_litter() {
    let (case, dir) = (case(), tempfile::tempdir().unwrap());
    let sim = SimConfig::default();
    for epochs in [1, 2] {
        let policy = trained(&case, epochs).policy();
        save_policy(dir.path(), &policy, &case.scaler, &sim, [1, 2]).unwrap();
        assert_eq!(load_policy(dir.path(), &case.table).unwrap().weights(), policy.weights());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}

/// Applies `edit` to policy.json and returns the error that loading gives.
fn load_edited(case: &Case, edit: impl Fn(&str) -> String) -> LearnError {
    let dir = tempfile::tempdir().unwrap();
    save_policy(dir.path(), &trained(case, 1).policy(), &case.scaler, &SimConfig::default(), [1, 2]).unwrap();
    let path = dir.path().join("policy.json");
    let json = fs::read_to_string(&path).unwrap();
    let edited = edit(&json);
    assert_ne!(json, edited, "the edit does nothing");
    fs::write(&path, edited).unwrap();
    load_policy(dir.path(), &case.table).map(drop).unwrap_err()
}

#[test]
fn other_features_are_refused_by_name() {
    let case = case();
    let name = case.table.names()[3].clone();
    let renamed = load_edited(&case, |json| json.replace(&format!("\"{name}\""), "\"moon_phase\""));
    assert!(matches!(renamed, LearnError::Features { .. }) && renamed.hint().is_some());
    let message = renamed.to_string();
    assert!(message.contains("lacks moon_phase") && message.contains(&name), "{message}");
    let (a, b) = (&case.table.names()[0], &case.table.names()[1]);
    let swapped = load_edited(&case, |json| {
        json.replace(&format!("\"{a}\""), "\"x\"")
            .replace(&format!("\"{b}\""), &format!("\"{a}\""))
            .replace("\"x\"", &format!("\"{b}\""))
    });
    assert!(swapped.to_string().contains("order differs"), "{swapped}");
}

#[test]
fn damaged_policies_are_named() {
    let case = case();
    let cut = load_edited(&case, |json| json[..json.len() / 2].to_string()).to_string();
    assert!(cut.contains("policy.json is not a usable checkpoint"), "{cut}");
    let format = load_edited(&case, |json| json.replace("\"format\": 1", "\"format\": 9")).to_string();
    assert!(format.contains("format is 9"), "{format}");
    let outside = load_edited(&case, |json| json.replace("\"net-", "\"../net-")).to_string();
    assert!(outside.contains("not a name in the same folder"), "{outside}");
    let missing = load_edited(&case, |json| json.replace("\"net-", "\"net-other-"));
    assert!(matches!(missing, LearnError::Io { .. }) && missing.to_string().contains("net-other-"), "{missing}");
}
