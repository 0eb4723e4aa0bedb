//! Walk-forward of a rule's parameters: a fold is the backtest of its set over its test part, and no fold sees the
//! future.

use std::fmt::Write;

use serde_json::Value;

use crate::support::{Bench, shown};

const COSTS: &str = "--set sim.commission_bps=5";
/// Tests are bars 200 to 400 and 400 to 600, as two of three windows of a backtest.
const WINDOWS: &str = "--set window.n_windows=2 --set window.test_bars=200 --set window.train_bars=200";

fn json(bench: &Bench, words: &str) -> Value {
    let output = bench.run(&format!("{words} --json --quiet"));
    assert_eq!(output.status.code(), Some(0), "{words}\n{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_fold_is_the_backtest_of_its_set_over_its_test_part() {
    let bench = Bench::new();
    bench.bars("bars.csv", 600);
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    for (i, strategy) in
        ["sma-cross:fast=2..8:2,slow=10..40:5", "macd:fast=5,slow=20", "buy-and-hold"].iter().enumerate()
    {
        let walked =
            json(&bench, &format!("walkforward bars.csv --strategy {strategy} {WINDOWS} {COSTS} --out walk-{i}"));
        let folds = walked["choices"]["folds"].as_array().unwrap();
        assert_eq!(folds.len(), 2);
        for (k, fold) in folds.iter().enumerate() {
            let (name, out) = (fold["name"].as_str().unwrap(), format!("alone-{i}-{k}"));
            let alone = json(&bench, &format!("backtest bars.csv --strategy {name} --windows 3 {COSTS} --out {out}"));
            for file in ["equity.csv", "trades.csv"] {
                let (own, other) = (format!("walk-{i}/fold-{k}/{file}"), format!("{out}/fold-{}/{file}", k + 1));
                assert_eq!(read(&own), read(&other), "{name}: {own}");
            }
            // The first train part is the first window.
            if k == 0 {
                let first = &alone["report"]["windows"][0]["metrics"];
                assert_eq!(fold["in_sample"]["metric"], first["sharpe"], "{name}");
            }
        }
        let sets = walked["choices"]["n_sets"].as_u64().unwrap();
        assert_eq!(walked["report"]["n_trials"].as_u64(), Some(sets));
    }
}

#[test]
fn the_chosen_set_is_the_best_of_a_sweep_of_the_train_part() {
    let bench = Bench::new();
    bench.bars("bars.csv", 600);
    let text = std::fs::read_to_string(bench.path("bars.csv")).unwrap();
    bench.write("head.csv", &text.lines().take(201).fold(String::new(), |all, line| all + line + "\n"));
    let grid = "sma-cross:fast=2..8:2,slow=10..40:5";
    for sort in ["sharpe", "max_drawdown"] {
        let walked = json(&bench, &format!("walkforward bars.csv --strategy {grid} --sort {sort} {WINDOWS} {COSTS}"));
        let swept = json(&bench, &format!("backtest head.csv --strategy {grid} --sort {sort} {COSTS}"));
        assert_eq!(walked["choices"]["folds"][0]["name"], swept["report"]["policy"], "{sort}");
    }
}

#[test]
fn later_bars_change_no_choice() {
    let bench = Bench::new();
    bench.bars("bars.csv", 700);
    let text = std::fs::read_to_string(bench.path("bars.csv")).unwrap();
    let words = "--strategy sma-cross:fast=2..12,slow=14..60:4 --set window.n_windows=3 --set window.test_bars=100 \
                 --set window.purge_bars=5 --set window.embargo_bars=10";
    let names = |file: &str| -> Vec<String> {
        let walked = json(&bench, &format!("walkforward {file} {words}"));
        let folds = walked["choices"]["folds"].as_array().unwrap();
        folds.iter().map(|fold| fold["name"].as_str().unwrap().to_owned()).collect()
    };
    let before = names("bars.csv");
    let mut changed = 0;
    for fold in 0..3 {
        // Prices from the fold's test part on swing by a tenth; the header is line 0.
        let from = 400 + 100 * fold + 1;
        let mut other = String::new();
        for (i, line) in text.lines().enumerate() {
            let cells: Vec<&str> = line.split(',').collect();
            if i < from {
                writeln!(other, "{line}").unwrap();
                continue;
            }
            let factor = 1.0 + 0.1 * (i as f64 / 7.0).sin();
            let price = |cell: &str| (cell.parse::<f64>().unwrap() * factor).to_string();
            let prices: Vec<String> = cells[1..5].iter().map(|cell| price(cell)).collect();
            writeln!(other, "{},{},{}", cells[0], prices.join(","), cells[5]).unwrap();
        }
        bench.write("other.csv", &other);
        let after = names("other.csv");
        assert_eq!(after[..=fold], before[..=fold], "bars from line {from} on");
        changed += usize::from(after != before);
    }
    assert!(changed > 0, "no later choice changed: nothing tested");
}

#[test]
fn mistakes_end_before_anything_is_written() {
    let bench = Bench::new();
    bench.bars("bars.csv", 60);
    for (words, said) in [
        ("--strategy sma-cross:quick=3..5", "has no parameter `quick`"),
        ("--strategy sma-cross:fast=50..5", "expected a range that rises"),
        ("--strategy sma-cross:fast=30..40,slow=10..20", "none of the 121 combinations is allowed"),
        ("--strategy sma-cross --set window.train_bars=500", "needs "),
        ("--strategy sma-cross:fast=2..4 --sort n_trades", "a sweep cannot be sorted by `n_trades`"),
        ("--strategy sma-cross --agent dqn", "cannot be used with"),
        ("--strategy sma-cross --seeds 3", "cannot be used with"),
    ] {
        let output = bench.run(&format!("walkforward bars.csv {words} --quiet"));
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(2), "{words}\n{text}");
        assert!(text.contains(said), "{words}\n{text}");
    }
    assert!(!bench.path("runs").exists());
    let output = bench.run("walkforward bars.csv --strategy sma-cross:fast=2..4,slow=90..99 --quiet --out idle");
    assert!(shown(&output).contains("fold 0: no set traded on its train part"), "{}", shown(&output));
    let output = bench.run("walkforward bars.csv --strategy sma-cross:fast=2..4 --quiet --out idle");
    assert!(shown(&output).contains("idle already holds a finished run"), "{}", shown(&output));
}
