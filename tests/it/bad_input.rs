//! Whatever is wrong with what the user gave: exit 2, and words that say what, where and how to mend it.

use std::fmt::Write;

use crate::support::{Bench, shown, snapshot};

const HEADER: &str = "ts,open,high,low,close,volume\n";

/// Runs `words` and returns what it showed, having made sure it failed as an error of the user's.
fn refused(bench: &Bench, words: &str) -> String {
    let output = bench.run(words);
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(2), "{words}\n{text}");
    assert!(text.contains("error: "), "{words}\n{text}");
    format!("$ gigabar {words}\n{text}\n")
}

fn row(day: usize, numbers: &str) -> String {
    format!("2024-01-{day:02},{numbers}\n")
}

fn good(days: impl IntoIterator<Item = usize>) -> String {
    days.into_iter().map(|day| row(day, "10,11,9,10.5,100")).collect()
}

#[test]
fn broken_files() {
    let bench = Bench::new();
    let cases = [
        ("unsorted.csv", format!("{HEADER}{}{}{}", good([2, 3, 4]), good([1]), good(5..9))),
        ("duplicate.csv", format!("{HEADER}{}{}", good([2, 3]), good([3, 4, 5]))),
        ("nan.csv", format!("{HEADER}{}{}{}", good([2, 3]), row(4, "10,NaN,9,10.5,100"), good([5]))),
        ("negative.csv", format!("{HEADER}{}{}{}", good([2, 3]), row(4, "10,11,-9,10.5,100"), good([5]))),
        ("zero.csv", format!("{HEADER}{}{}{}", good([2, 3]), row(4, "0,11,0,10.5,100"), good([5]))),
        ("high_below_low.csv", format!("{HEADER}{}{}{}", good([2, 3]), row(4, "10,8,9,10.5,100"), good([5]))),
        ("words.csv", format!("{HEADER}{}{}", good([2, 3]), row(4, "10,eleven,9,10.5,100"))),
        ("empty.csv", String::new()),
        ("header_only.csv", HEADER.to_owned()),
        ("one_row.csv", format!("{HEADER}{}", good([2]))),
    ];
    let mut said = String::new();
    for (name, text) in cases {
        bench.write(name, &text);
        said.push_str(&refused(&bench, &format!("backtest {name} --strategy buy-and-hold --quiet")));
    }
    said.push_str(&refused(&bench, "backtest nowhere.csv --strategy flat --quiet"));
    snapshot!("broken_files", said);
}

#[test]
fn files_too_short() {
    let bench = Bench::new();
    bench.bars("short.csv", 50).bars("bars.csv", 400);
    let mut said = refused(&bench, "walkforward short.csv --agent dqn --quiet");
    said.push_str(&refused(&bench, "walkforward bars.csv --agent dqn --quiet --set window.n_windows=400"));
    said.push_str(&refused(&bench, "walkforward bars.csv --agent dqn --quiet --set window.train_bars=5000"));
    said.push_str(&refused(&bench, "backtest bars.csv --strategy flat --windows 300 --quiet"));
    said.push_str(&refused(&bench, "train dqn bars.csv --from-bar 3 --quiet"));
    said.push_str(&refused(&bench, "train dqn bars.csv --to-bar 500 --quiet"));
    assert!(!bench.path("runs").exists(), "a run that cannot begin leaves nothing behind");
    snapshot!("files_too_short", said);
}

#[test]
fn signals_that_do_not_fit() {
    let bench = Bench::new();
    bench.write("bars.csv", &format!("{HEADER}{}", good(1..6)));
    bench.write("few.csv", "level\n1\n0\n1\n").write("many.csv", "level\n1\n0\n1\n0\n1\n0\n");
    bench.write("shifted.csv", "ts,level\n2024-01-01,1\n2024-01-02,1\n2024-01-04,0\n2024-01-05,1\n2024-01-06,1\n");
    bench.write("words.csv", "level\n1\nbuy\n1\n0\n1\n").write("columns.csv", "ts\n2024-01-01\n");
    let mut said = String::new();
    for name in ["few", "many", "shifted", "words", "columns", "absent"] {
        said.push_str(&refused(&bench, &format!("backtest bars.csv --signals {name}.csv --quiet")));
    }
    snapshot!("signals_that_do_not_fit", said);
}

#[test]
fn levels_that_are_no_numbers_are_counted() {
    let bench = Bench::new();
    bench.write("bars.csv", &format!("{HEADER}{}", good(1..11)));
    // An empty cell is meant to be flat; the level of the last bar decides nothing.
    bench
        .write("gaps.csv", "level\n1\n\"\"\nNaN\n1\n1\n1\n0\n0\nnan\nNaN\n")
        .write("whole.csv", &format!("level\n{}", "1\n".repeat(10)));
    for (words, said) in [("gaps.csv", true), ("gaps.csv --windows 2", true), ("whole.csv", false)] {
        let text = shown(&bench.run(&format!("backtest bars.csv --quiet --signals {words}")));
        let n = if words.contains("windows") { 8 } else { 9 };
        let warning = format!("warning: 2 of {n} levels are not finite and were taken as flat");
        assert_eq!(text.contains(&warning), said, "{text}");
        assert!(said || !text.contains("not finite"), "{text}");
    }
}

#[test]
fn levels_beyond_one_are_warned_of_wherever_they_come_from() {
    let bench = Bench::new();
    bench.bars("bars.csv", 400);
    bench.write("five.csv", &format!("level\n{}", "5\n".repeat(400)));
    let warns = |words: &str, source: &str| {
        let text = shown(&bench.run(&format!("{words} --quiet")));
        let warning = format!("warning: {source}: levels up to 5: exposure of 5 times the equity");
        assert!(text.starts_with("exit 0") && text.contains(&warning), "{text}");
    };
    warns("backtest bars.csv --signals five.csv", "five.csv");
    let small = "--set dqn.epochs=1 --set dqn.steps_per_epoch=128 --set dqn.hidden=[4] --set dqn.learning_starts=64";
    warns(&format!("train dqn bars.csv --out run {small} --set dqn.levels=[-1,0,5]"), "dqn.levels");
    warns("evaluate run bars.csv", "run/checkpoints/fold-0");
}

#[test]
fn settings_nobody_knows_or_can_use() {
    let bench = Bench::new();
    bench.write("bars.csv", &format!("{HEADER}{}", good(1..9)));
    bench.write("typo.toml", "seed = 2\n\n[sim]\ncomission_bps = 5\n").write("broken.toml", "seed = 2\n[sim\n");
    bench.write("kind.toml", "[sim]\nfill = \"later\"\n");
    let backtest = "backtest bars.csv --strategy flat --quiet";
    let mut said = String::new();
    for more in [
        "--config typo.toml",
        "--config broken.toml",
        "--config kind.toml",
        "--config absent.toml",
        "--set sim.comission_bps=5",
        "--set sim.commission_bps=cheap",
        "--set sim.commission_bps=-1",
        "--set commission",
        "--set metric.var_level=2",
        "--device gpu",
        "--set dqn.hidden=[8,\"a\"]",
        "--set window.train_bars=-1",
        "--set sim.barrier=2",
        "--fail-below sharp=1",
        "--fail-below deflated_sharp=1",
    ] {
        said.push_str(&refused(&bench, &format!("{backtest} {more}")));
    }
    said.push_str(&refused(&bench, "backtest bars.csv --quiet --strategy sma-cros:fast=2"));
    said.push_str(&refused(&bench, "backtest bars.csv --quiet --strategy sma-cross:quick=2"));
    said.push_str(&refused(&bench, "backtest bars.csv --quiet --strategy flat --set sim.barriers.k_stop=2"));
    said.push_str(&refused(&bench, "walkforward bars.csv --quiet --agent dqn --fail-below sharpe=nan"));
    said.push_str(&refused(&bench, "walkforward bars.csv --quiet --agent dqn --set dqn.n_envs=400000000000000"));
    said.push_str(&refused(&bench, "walkforward bars.csv --quiet --agent dqn --set dqn.train_every=0"));
    let output = bench.command(backtest).env("GIGABAR__SIM__COMISSION_BPS", "5").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    write!(said, "$ GIGABAR__SIM__COMISSION_BPS=5 gigabar {backtest}\n{}", shown(&output)).unwrap();
    let output = bench.command(backtest).env("GIGABAR_DATA", "anything").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "one underscore is no setting");
    snapshot!("settings", said);
}

/// A machine with a GPU is another test's business.
#[test]
fn a_gpu_that_is_not_there() {
    if gigabar::gpu::Device::open(0).is_ok() {
        println!("skipped: this machine has a GPU");
        return;
    }
    let bench = Bench::new();
    bench.bars("bars.csv", 400);
    let all = [
        "backtest bars.csv --strategy flat",
        "evaluate nowhere bars.csv",
        "walkforward bars.csv --agent dqn",
        "walkforward --resume nowhere",
        "train dqn bars.csv",
    ];
    for words in all {
        let said = refused(&bench, &format!("{words} --quiet --device cuda:0"));
        assert!(said.contains("error: --device cuda:0: no CUDA "), "{said}");
        assert!(said.contains("hint: ") && said.contains("--device cpu"), "{said}");
    }
    assert!(!bench.path("runs").exists(), "a run that cannot begin leaves nothing behind");
    // All that is missing is named at once: nobody should install one thing to be told of the next.
    let missing: Vec<String> = gigabar::gpu::probe().problems.into_iter().map(|(problem, _)| problem).collect();
    let said = refused(&bench, "backtest bars.csv --strategy flat --quiet --device cuda:0");
    assert!(missing.iter().all(|problem| said.contains(problem)), "{missing:?}: {said}");
    let worthy = shown(&bench.run("backtest bars.csv --strategy sma-cross:fast=2..500,slow=501..1100"));
    assert!(worthy.contains(" threads (worth a GPU, but no CUDA "), "{worthy}");
    let auto = shown(&bench.run("backtest bars.csv --strategy flat --device auto"));
    assert!(auto.contains("device: cpu, "), "{auto}");
}

#[test]
fn settings_without_effect_are_warned_of() {
    let bench = Bench::new();
    bench.write("bars.csv", &format!("{HEADER}{}", good(1..9)));
    let warned = |words: &str, warning: &str| {
        let said = shown(&bench.run(&format!("backtest bars.csv --strategy flat --quiet {words}")));
        assert_eq!(said.contains("has no effect"), !warning.is_empty(), "{said}");
        assert!(said.starts_with("exit 0") && said.contains(warning), "{said}");
    };
    warned("--set dqn.hidden=[8]", "warning: --set dqn.hidden=[8]: `dqn.hidden` has no effect on backtest");
    warned("--sort max_drawdown", "warning: --sort has no effect without a grid");
    warned("--seed 4", "warning: --seed has no effect on backtest");
    warned("--set sim.slippage.bps=5", "`sim.slippage.bps` has no effect with sim.slippage.model = \"none\"");
    warned("--set sim.slippage.model=fixed --set sim.slippage.bps=5", "");
}

#[test]
fn a_run_that_fails_at_once_leaves_nothing_behind() {
    let bench = Bench::new();
    bench.bars("bars.csv", 400);
    let said = refused(&bench, "walkforward bars.csv --agent dqn --quiet --set dqn.replay_capacity=4000000000");
    assert!(said.contains("memory"), "{said}");
    assert!(!bench.path("runs").exists());
    std::fs::create_dir(bench.path("mine")).unwrap();
    let words = "train dqn bars.csv --quiet --out mine/run --set dqn.replay_capacity=4000000000";
    refused(&bench, words);
    assert!(bench.path("mine").exists() && !bench.path("mine/run").exists());
}

#[test]
fn folders_that_are_no_runs() {
    let bench = Bench::new();
    bench.bars("bars.csv", 60);
    bench.write("notes.txt", "").write("here.csv", "");
    let mut said = String::new();
    assert!(bench.run("backtest bars.csv --strategy flat --quiet --out run").status.success());
    for words in [
        "backtest bars.csv --strategy flat --quiet --out run",
        "backtest bars.csv --strategy flat --quiet --out .",
        "walkforward --resume nowhere --quiet",
        "walkforward --resume run --quiet",
        "evaluate run bars.csv --quiet",
        "evaluate nosuch bars.csv --quiet",
        "evaluate bars.csv run --quiet",
        "evaluate run/run.toml bars.csv --quiet",
        "report nowhere --quiet",
    ] {
        said.push_str(&refused(&bench, words));
    }
    snapshot!("folders_that_are_no_runs", said);
}

#[test]
fn a_checkpoint_for_other_features() {
    let bench = Bench::new();
    bench.bars("bars.csv", 400);
    let small = "--set dqn.epochs=1 --set dqn.steps_per_epoch=128 --set dqn.hidden=[4] --set dqn.learning_starts=64";
    let trained = bench.run(&format!("train dqn bars.csv --out run --quiet {small}"));
    assert!(trained.status.success(), "{}", shown(&trained));
    let evaluated = bench.run("evaluate run run bars.csv --quiet --json");
    let list: serde_json::Value = serde_json::from_slice(&evaluated.stdout).unwrap();
    assert_eq!(list.as_array().map(Vec::len), Some(2), "one entry per checkpoint");
    assert_eq!(list[0]["report"], list[1]["report"]);
    let said = shown(&bench.run("evaluate run/checkpoints/fold-0 bars.csv --quiet --set sim.commission_bps=1"));
    assert!(said.contains("is not out of sample") && said.contains("--trained-costs takes its own"), "{said}");
    let own = bench.run("evaluate run bars.csv --quiet --json --trained-costs --set sim.commission_bps=1");
    let list_own: serde_json::Value = serde_json::from_slice(&own.stdout).unwrap();
    assert_eq!(list_own[0]["report"]["pooled"], list[0]["report"]["pooled"], "it was trained without costs");
    let said = shown(&own);
    assert!(said.contains("`sim.commission_bps` has no effect on evaluate") && !said.contains("other costs"), "{said}");
    let path = bench.path("run/checkpoints/fold-0/policy.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let name = serde_json::from_str::<serde_json::Value>(&text).unwrap()["features"][0].as_str().unwrap().to_owned();
    std::fs::write(&path, text.replace(&format!("\"{name}\""), "\"moon_phase\"")).unwrap();
    snapshot!("other_features", refused(&bench, "evaluate run bars.csv --quiet"));
}

#[test]
fn what_a_walk_trades_is_asked_for() {
    let bench = Bench::new();
    bench.run("data synth random-walk --bars 300 --seed 1 --out bars.csv");
    let said = refused(&bench, "walkforward bars.csv");
    assert!(said.contains("--agent <AGENT>|--strategy"), "{said}");
    let said = refused(&bench, "walkforward bars.csv --agent dqn --sort sharpe");
    assert!(said.contains("'--agent <AGENT>' cannot be used with '--sort <METRIC>'"), "{said}");
    let said = refused(&bench, "backtest bars.csv --strategy flat --set sim.max_position=1e308");
    assert!(said.contains("sim.max_position") && said.contains("at most 1000000"), "{said}");
    let said = shown(&bench.run("backtest bars.csv --strategy sma-cross:slow=5000"));
    assert!(said.contains("sma-cross:fast=20,slow=5000 never traded: no order was filled in 299 bars"), "{said}");
}

/// A run folder as a kill leaves it: everything but the report.
fn break_off(bench: &Bench, run: &str) {
    for name in ["report.json", "report.html"] {
        std::fs::remove_file(bench.path(run).join(name)).unwrap();
    }
    bench.write(&format!("{run}/fold-0/trades.csv.tmp"), "half").write(&format!("{run}/fold-7.csv"), "mine");
}

#[test]
fn a_run_that_broke_off_does_not_block_the_next() {
    let bench = Bench::new();
    bench.bars("bars.csv", 400);
    let words = "backtest bars.csv --strategy sma-cross:fast=3..4,slow=9 --windows 2 --out run";
    assert!(bench.run(words).status.success());
    let said = refused(&bench, words);
    assert!(
        said.contains("error: run already holds a finished run of `backtest`\n\nhint: choose another --out\n"),
        "{said}"
    );
    break_off(&bench, "run");
    bench.write("run/fold-1/mine.txt", "kept");
    let said = shown(&bench.run("backtest bars.csv --strategy flat --out run"));
    assert!(
        said.starts_with("exit 0") && said.contains("note: run is used again: its run of `backtest` did not"),
        "{said}"
    );
    let there = |name: &str| bench.path("run").join(name).exists();
    assert!(there("report.json") && there("fold-0/equity.csv"));
    assert!(!there("sweep.csv") && !there("fold-0/trades.csv.tmp") && !there("fold-1/equity.csv"), "of the run before");
    assert!(there("fold-1/mine.txt") && there("fold-7.csv"), "not ours to remove");
    // Killed before it was a run at all.
    std::fs::create_dir(bench.path("early")).unwrap();
    bench.write("early/.lock", "").write("early/run.toml.tmp", "seed =");
    assert!(bench.run("backtest bars.csv --strategy flat --quiet --out early").status.success());
}

#[test]
fn an_evaluation_of_several_that_broke_off_is_done_again() {
    let bench = Bench::new();
    bench.bars("bars.csv", 400);
    let small = "--set dqn.epochs=1 --set dqn.steps_per_epoch=128 --set dqn.hidden=[4] --set dqn.learning_starts=64";
    assert!(bench.run(&format!("train dqn bars.csv --out a --quiet {small}")).status.success());
    assert!(bench.run(&format!("train dqn bars.csv --out b --quiet --seed 2 {small}")).status.success());
    let said = refused(&bench, "backtest bars.csv --strategy flat --quiet --out a");
    assert!(said.contains("a already holds a run") && said.contains("gigabar train dqn --resume a"), "{said}");
    let words = "evaluate a b bars.csv --out both";
    assert!(bench.run(words).status.success());
    let said = refused(&bench, words);
    assert!(said.contains("both/checkpoint-0 already holds a finished run of `evaluate`"), "{said}");
    break_off(&bench, "both/checkpoint-1");
    let said = refused(&bench, "evaluate b a bars.csv --out both");
    assert!(said.contains("both/checkpoint-0 already holds a finished run"), "another command: {said}");
    let said = shown(&bench.run(words));
    assert!(said.starts_with("exit 0") && said.contains("both/checkpoint-0 is used again"), "{said}");
    assert!(bench.path("both/checkpoint-1/report.json").exists());
}
