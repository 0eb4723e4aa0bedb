//! A run that is killed or stopped goes on to the same end as one that was left alone.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Bench, bytes, shown};

/// Three folds, long enough to be caught in the middle, small enough for a test.
const SMALL: &str = "--agent dqn --set window.n_windows=3 --set dqn.epochs=12 --set dqn.steps_per_epoch=512 \
                     --set dqn.hidden=[16] --set dqn.learning_starts=256 --set dqn.replay_capacity=3000 \
                     --set checkpoint_secs=0 --seed 5";
const N_FOLDS: usize = 3;

fn start(bench: &Bench, out: &str) -> Child {
    let words = format!("walkforward bars.csv --out {out} {SMALL}");
    bench.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the first fold has been saved at least once.
fn wait_for_checkpoint(bench: &Bench, child: &mut Child, out: &str) {
    let path = bench.path(out).join("checkpoints/fold-0/training.safetensors");
    let since = Instant::now();
    while !path.exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "no checkpoint in a minute");
        assert!(child.try_wait().unwrap().is_none(), "the run ended before its first checkpoint");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// `report.json` without what tells the time.
fn timeless_report(run: &Path) -> Value {
    let mut report: Value = serde_json::from_slice(&bytes(&run.join("report.json"))).unwrap();
    report["created"] = Value::Null;
    report["command"] = Value::Null;
    for curve in report["training"].as_array_mut().unwrap() {
        curve["series"]["steps_per_second"] = Value::Null;
    }
    report
}

/// `metrics.jsonl` without what tells the time.
fn timeless_metrics(run: &Path) -> Vec<Value> {
    let text = String::from_utf8(bytes(&run.join("metrics.jsonl"))).unwrap();
    let line = |line: &str| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row["time"] = Value::Null;
        row["steps_per_second"] = Value::Null;
        row
    };
    text.lines().map(line).collect()
}

/// A fold's weights, as the file holds them.
fn weights(run: &Path, fold: usize) -> Vec<u8> {
    let dir = run.join(format!("checkpoints/fold-{fold}"));
    let policy: Value = serde_json::from_slice(&bytes(&dir.join("policy.json"))).unwrap();
    bytes(&dir.join(policy["weights"].as_str().unwrap()))
}

fn assert_same_end(a: &Path, b: &Path) {
    for fold in 0..N_FOLDS {
        assert!(weights(a, fold) == weights(b, fold), "fold {fold}: other weights");
    }
    assert_eq!(timeless_metrics(a), timeless_metrics(b));
    assert_eq!(timeless_metrics(a).len(), N_FOLDS * 12);
    assert_eq!(timeless_report(a), timeless_report(b));
    assert_eq!(bytes(&a.join("fold-1/equity.csv")), bytes(&b.join("fold-1/equity.csv")));
}

#[test]
fn killed_at_once_and_resumed_it_ends_the_same() {
    let bench = Bench::new();
    bench.bars("bars.csv", 900);
    let whole = start(&bench, "whole").wait_with_output().unwrap();
    assert!(whole.status.success(), "{}", shown(&whole));

    let mut child = start(&bench, "killed");
    wait_for_checkpoint(&bench, &mut child, "killed");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!bench.path("killed/report.json").exists(), "killed too late to show anything");

    let resumed = bench.run("walkforward --resume killed");
    assert!(resumed.status.success(), "{}", shown(&resumed));
    assert_same_end(&bench.path("whole"), &bench.path("killed"));

    let other = bench.run("walkforward --resume killed --seed 6 --quiet");
    assert_eq!(other.status.code(), Some(2), "{}", shown(&other));
    assert!(shown(&other).contains("started with seed = 5, now seed = 6"), "{}", shown(&other));
    std::fs::remove_file(bench.path("bars.csv")).unwrap();
    bench.bars("bars.csv", 901);
    let other = bench.run("walkforward --resume killed --quiet");
    assert_eq!(other.status.code(), Some(2), "{}", shown(&other));
    assert!(shown(&other).contains("the data has changed"), "{}", shown(&other));
}

#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_and_tells_how_to_go_on() {
    let bench = Bench::new();
    bench.bars("bars.csv", 900);
    let whole = start(&bench, "whole").wait_with_output().unwrap();
    assert!(whole.status.success(), "{}", shown(&whole));
    for name in ["INT", "TERM"] {
        let mut child = start(&bench, name);
        wait_for_checkpoint(&bench, &mut child, name);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(130), "{text}");
        assert!(text.contains(&format!("gigabar walkforward --resume {name}")), "{text}");
        let resumed = bench.run(&format!("walkforward --resume {name} --quiet"));
        assert!(resumed.status.success(), "{}", shown(&resumed));
        assert_same_end(&bench.path("whole"), &bench.path(name));
    }
}
