//! Training from several seeds, and a guard that is told to stop it.

use serde_json::Value;

use crate::support::{Bench, bytes, shown};

/// Two folds, as small as can be.
const SMALL: &str = "walkforward bars.csv --agent dqn --quiet --set window.n_windows=2 --set dqn.epochs=2 --set dqn.hidden=[8] \
                     --set dqn.steps_per_epoch=256 --set dqn.learning_starts=64 --set dqn.replay_capacity=500 --seed 5";

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn metrics(bench: &Bench, run: &str) -> Vec<Value> {
    let text = String::from_utf8(bytes(&bench.path(run).join("metrics.jsonl"))).unwrap();
    text.lines().map(|line| json(line.as_bytes())).collect()
}

#[test]
fn several_seeds_spread_around_the_first() {
    let bench = Bench::new();
    bench.bars("bars.csv", 700);
    let one = bench.run(&format!("{SMALL} --out one"));
    assert!(one.status.success(), "{}", shown(&one));
    let three = bench.run(&format!("{SMALL} --out three --seeds 3"));
    assert!(three.status.success(), "{}", shown(&three));
    let text = shown(&three);
    for row in ["seed", "0 (reported)", "2", "mean", "std", "least", "largest"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(row)), "no row {row}:\n{text}");
    }
    assert!(!shown(&one).contains("(reported)") && text.contains("counting this run as the only trial"), "{text}");

    // What is reported is what one seed reports.
    let [one, three] = ["one", "three"].map(|run| json(&bytes(&bench.path(run).join("report.json"))));
    assert_eq!(one["report"], three["report"]);
    assert_eq!((one.get("seeds"), three["training"].as_array().map(Vec::len)), (None, Some(2)));
    let seeds = &three["seeds"];
    assert_eq!(seeds["seeds"][0]["sharpe"], three["report"]["pooled"]["sharpe"]);
    let sharpes: Vec<f64> = (0..3).map(|s| seeds["seeds"][s]["sharpe"].as_f64().unwrap()).collect();
    assert!(sharpes[0] != sharpes[1] && sharpes[1] != sharpes[2], "{sharpes:?}");
    let mean = sharpes.iter().sum::<f64>() / 3.0;
    assert!((seeds["mean"]["sharpe"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert!(String::from_utf8(bytes(&bench.path("three/report.html"))).unwrap().contains("<h2>3 seeds</h2>"));

    // Every learner has its checkpoint and its lines, and only where there are several do lines name them.
    assert!(metrics(&bench, "one").iter().all(|row| row.get("seed").is_none()));
    let rows = metrics(&bench, "three");
    let places: Vec<[u64; 3]> =
        rows.iter().map(|r| ["fold", "seed", "epoch"].map(|k| r[k].as_u64().unwrap())).collect();
    let want: Vec<[u64; 3]> = (0..12).map(|i| [i / 6, i / 2 % 3, i % 2]).collect();
    assert_eq!(places, want);
    for name in ["fold-0", "fold-1-seed-1", "fold-1-seed-2"] {
        assert!(bench.path("three/checkpoints").join(name).join("policy.json").is_file(), "{name}");
    }

    // A run knows its seeds: it goes on with them, and with no other number.
    std::fs::remove_file(bench.path("three/report.json")).unwrap();
    std::fs::remove_dir_all(bench.path("three/checkpoints/fold-1-seed-1")).unwrap();
    let resumed = bench.run("walkforward --resume three --quiet");
    assert!(resumed.status.success(), "{}", shown(&resumed));
    let again = json(&bytes(&bench.path("three/report.json")));
    assert_eq!((&again["report"], &again["seeds"]), (&three["report"], &three["seeds"]));
    let other = shown(&bench.run("walkforward --resume three --quiet --seeds 2"));
    assert!(other.starts_with("exit 2") && other.contains("started with seeds = 3, now seeds = 2"), "{other}");
    let none = shown(&bench.run(&format!("{SMALL} --seeds 0")));
    assert!(none.starts_with("exit 2") && none.contains("seeds is 0; it must be 1 to 1000"), "{none}");
    // Other seeds are traded where they are named.
    let named = bench.run("evaluate three/checkpoints/fold-1-seed-2 bars.csv --quiet");
    assert!(named.status.success(), "{}", shown(&named));
}

#[test]
fn a_guard_that_is_to_stop_the_run_does() {
    let bench = Bench::new();
    bench.bars("bars.csv", 700);
    let absurd = "--set dqn.guard.max_q=1e-6";
    let stopped = bench.run(&format!("{SMALL} --out run {absurd} --set dqn.guard.stop=true"));
    let text = shown(&stopped);
    assert_eq!(stopped.status.code(), Some(1), "{text}");
    assert!(text.contains("error: the training guard stopped the run: fold "), "{text}");
    assert!(text.contains("bad gradient steps (q divergence "), "{text}");
    assert!(text.contains("hint: ") && text.contains("gigabar walkforward --resume run"), "{text}");
    assert!(bench.path("run/checkpoints/fold-0/training.safetensors").is_file());
    assert!(!bench.path("run/report.json").exists());
    let rows = metrics(&bench, "run");
    assert!(rows.iter().all(|row| row["epoch"] == 0), "it went on after the epoch");
    assert!(rows.iter().any(|row| row["guard_q_divergence"].as_f64() > Some(0.0) && row["loss"].is_null()));
    assert!(rows.iter().all(|row| row["loss_ema"].is_f64()));

    // It goes on an epoch at a time.
    assert_eq!(bench.run("walkforward --resume run --quiet").status.code(), Some(1));
    assert!(metrics(&bench, "run").iter().any(|row| row["epoch"] == 1));

    // Without the order to stop it says at the end what it did.
    let finished = bench.run(&format!("{SMALL} {absurd}"));
    let text = shown(&finished);
    assert!(finished.status.success(), "{text}");
    assert!(text.contains("warning: the training guard skipped ") && text.contains("(q divergence "), "{text}");
}
