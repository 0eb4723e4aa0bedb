//! Several checkpoints as one policy.

use serde_json::Value;

use crate::support::{Bench, shown};

const TINY: &str = "--set dqn.epochs=1 --set dqn.steps_per_epoch=256 --set dqn.hidden=[8] --set dqn.learning_starts=64";

fn json(bench: &Bench, words: &str) -> Value {
    let output = bench.run(&format!("{words} --json --quiet"));
    assert_eq!(output.status.code(), Some(0), "{words}\n{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn checkpoints_vote_as_one_policy() {
    let bench = Bench::new();
    bench.bars("bars.csv", 900);
    let trained =
        bench.run(&format!("walkforward bars.csv --agent dqn --out run --quiet --set window.n_windows=3 {TINY}"));
    assert!(trained.status.success(), "{}", shown(&trained));
    let costly = format!("train dqn bars.csv --out costly --quiet --set sim.commission_bps=5 {TINY}");
    assert!(bench.run(&costly).status.success());

    let alone = json(&bench, "evaluate run bars.csv --windows 2");
    assert_eq!(alone.as_array().map(Vec::len), Some(3));
    for one in alone.as_array().unwrap() {
        assert_eq!(one["report"]["n_trials"], 3, "whoever judges three takes the best");
        let [psr, dsr] = ["psr", "dsr"].map(|key| one["report"][key].as_f64());
        assert!(psr.zip(dsr).is_none_or(|(psr, dsr)| dsr < psr), "{psr:?} {dsr:?}");
    }
    for vote in ["mean-q", "majority", "confidence", "agreement:0.6"] {
        let list = json(&bench, &format!("evaluate run bars.csv --windows 2 --ensemble {vote}"));
        assert_eq!(list.as_array().map(Vec::len), Some(1), "one policy, one report");
        assert_eq!(list[0]["report"]["policy"], format!("ensemble of 3 ({vote})"));
        assert_eq!(list[0]["report"]["windows"].as_array().map(Vec::len), Some(2));
        // A model that votes with itself decides what it decides alone.
        let fold = "run/checkpoints/fold-1";
        let same = json(&bench, &format!("evaluate {fold} {fold} bars.csv --windows 2 --ensemble {vote}"));
        assert_eq!(same[0]["report"]["pooled"], alone[1]["report"]["pooled"], "{vote}");
        assert_eq!(same[0]["report"]["n_trials"], 1, "together they are one policy");
    }
    // A copy under another name is the same policy.
    std::fs::create_dir(bench.path("copy")).unwrap();
    for entry in std::fs::read_dir(bench.path("run/checkpoints/fold-1")).unwrap().flatten() {
        std::fs::copy(entry.path(), bench.path("copy").join(entry.file_name())).unwrap();
    }
    let said = shown(&bench.run("evaluate run copy bars.csv --quiet --ensemble majority"));
    assert!(
        said.contains("warning: copy holds the same policy as run/checkpoints/fold-1: it votes more than once"),
        "{said}"
    );
    let said = shown(&bench.run("evaluate run bars.csv --quiet --ensemble majority"));
    assert!(!said.contains("the same policy"), "{said}");
    let said = shown(&bench.run("evaluate copy copy bars.csv"));
    assert!(
        said.contains("it is counted as another trial") && said.contains("(counting the best of 2 trials)"),
        "{said}"
    );
    let split = json(&bench, "evaluate run bars.csv --windows 2 --ensemble agreement:1");
    let exposure = |report: &Value| report["report"]["pooled"]["exposure"].as_f64().unwrap();
    assert!(alone.as_array().unwrap().iter().any(|one| exposure(one) > exposure(&split[0])), "dissent holds back");

    let written = bench.run("evaluate run bars.csv --ensemble majority --out out");
    assert_eq!(written.status.code(), Some(0), "{}", shown(&written));
    assert!(shown(&written).contains("ensemble of 3 (majority)") && bench.path("out/report.html").exists());

    for (words, message) in [
        ("run bars.csv --ensemble median", "error: --ensemble: unknown vote `median`; known: mean-q, majority"),
        ("run bars.csv --ensemble agreement", "expected agreement:SHARE"),
        ("run costly bars.csv --ensemble majority --trained-costs", "was trained under other rules than run/"),
    ] {
        let output = bench.run(&format!("evaluate {words} --quiet"));
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(message), "{}", shown(&output));
    }
}
