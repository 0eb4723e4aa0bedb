//! Grids of parameters: every set is the backtest it would be alone, and what cannot be swept is refused.

use serde_json::Value;

use crate::support::{Bench, shown, snapshot};

fn json(bench: &Bench, words: &str) -> Value {
    let output = bench.run(&format!("{words} --json --quiet"));
    assert_eq!(output.status.code(), Some(0), "{words}\n{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn close(what: &str, got: &Value, want: &Value) {
    match (got.as_f64(), want.as_f64()) {
        (Some(got), Some(want)) => assert!((got - want).abs() <= 1e-9 * want.abs().max(1e-3), "{what}: {got}, {want}"),
        _ => assert_eq!(got, want, "{what}"),
    }
}

/// Each set of `grid` beside a backtest of that set alone; `name` makes a strategy of a set.
fn sets_equal_backtests(bench: &Bench, grid: &str, more: &str, name: impl Fn(&Value) -> String) {
    let swept = json(bench, &format!("backtest bars.csv --strategy {grid} {more}"));
    let sets = swept["sweep"]["sets"].as_array().unwrap();
    assert!(sets.len() > 3, "{} sets", sets.len());
    for set in sets {
        let name = name(set);
        let alone = json(bench, &format!("backtest bars.csv --strategy {name} {more}"));
        let pooled = &alone["report"]["pooled"];
        let several = alone["report"]["windows"].as_array().unwrap().len() > 1;
        for key in ["total_return", "total_pnl", "final_equity", "costs", "win_rate", "exposure", "n_trades", "ruined"]
        {
            close(&format!("{name} {key}"), &set[key], &pooled[key]);
        }
        if several {
            let windows = alone["report"]["windows"].as_array().unwrap().iter();
            // A window without a trade counts as 0.
            let of = |key: &str| -> Vec<f64> {
                windows.clone().map(|window| window["metrics"][key].as_f64().unwrap_or(0.0)).collect()
            };
            let sharpes = of("sharpe");
            let mean = sharpes.iter().sum::<f64>() / sharpes.len() as f64;
            let idle = pooled["exposure"] == 0.0;
            let mean = if idle { Value::Null } else { mean.into() };
            close(&format!("{name} sharpe"), &set["sharpe"], &mean);
            close(
                &format!("{name} drawdown"),
                &set["max_drawdown"],
                &of("max_drawdown").into_iter().fold(0.0, f64::max).into(),
            );
        } else {
            close(&format!("{name} sharpe"), &set["sharpe"], &pooled["sharpe"]);
            close(&format!("{name} drawdown"), &set["max_drawdown"], &pooled["max_drawdown"]);
        }
    }
    let best = &sets[swept["sweep"]["best"].as_u64().unwrap() as usize];
    assert!(sets.iter().all(|set| set["sharpe"].as_f64() <= best["sharpe"].as_f64()));
    assert_eq!(swept["report"]["policy"], name(best).as_str());
    assert_eq!(swept["report"]["n_trials"], sets.len());
}

#[test]
fn every_set_is_a_backtest() {
    let bench = Bench::new();
    bench.bars("bars.csv", 700);
    let cross = |set: &Value| format!("sma-cross:fast={},slow={}", set["fast"], set["slow"]);
    let costs = "--set sim.commission_bps=5 --set sim.half_spread_bps=2";
    sets_equal_backtests(&bench, "sma-cross:fast=3..4,slow=4..24:10", costs, cross);
    let rsi = |set: &Value| {
        let long_only = if set["long_only"] == true { ",long_only=true" } else { "" };
        format!("rsi:period={},low=30,high=70{long_only}", set["period"])
    };
    sets_equal_backtests(&bench, "rsi:period=5|9,long_only=true|false", "--windows 3", rsi);
    // Of periods this long some windows never see a signal.
    sets_equal_backtests(&bench, "rsi:period=9|20|30|40,long_only=false", "--windows 12", rsi);
}

#[test]
fn a_grid_as_it_is_shown_and_written() {
    let bench = Bench::new();
    bench.bars("bars.csv", 700);
    let words = "backtest bars.csv --strategy sma-cross:fast=3..9:3,slow=6..30:6 --set sim.commission_bps=5 --out run";
    let output = bench.run(words);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    snapshot!("grid", format!("$ gigabar {words}\n{}", shown(&output)));
    let csv = std::fs::read_to_string(bench.path("run/sweep.csv")).unwrap();
    let mut lines = csv.lines();
    let header = "fast,slow,long_only,sharpe,total_return,max_drawdown,win_rate,n_trades,exposure,costs,total_pnl,final_equity,ruined";
    assert_eq!(lines.next(), Some(header));
    assert!(lines.next().unwrap().starts_with("3,6,false,"));
    assert_eq!(csv.lines().count(), 1 + 13, "slow 6 is not above fast 6 or 9");
    let words = "backtest bars.csv --strategy rsi:period=5|9,low=20 --out fixed --quiet";
    assert_eq!(bench.run(words).status.code(), Some(0));
    let fixed = std::fs::read_to_string(bench.path("fixed/sweep.csv")).unwrap();
    let mut rows = fixed.lines();
    assert!(rows.next().unwrap().starts_with("period,low,high,long_only,sharpe,"), "every parameter is there");
    assert!(rows.next().unwrap().starts_with("5,20,70,false,"), "{fixed}");
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains("The best of 13 parameter sets") && page.contains("id=\"sweep-map\""));
    assert!(page.contains("\"sweep\":{\"label\":\"Sharpe\""), "the map's values");
    let again = bench.run("report run");
    assert_eq!(again.stdout, output.stdout, "{}", shown(&again));
    assert_eq!(std::fs::read_to_string(bench.path("run/report.html")).unwrap(), page);
}

#[test]
fn the_metric_that_ranks_can_be_chosen() {
    let bench = Bench::new();
    bench.bars("bars.csv", 700);
    let words = "backtest bars.csv --strategy bollinger:period=5..20:5,width=1|2";
    let lowest = json(&bench, &format!("{words} --sort max_drawdown"));
    let sets = lowest["sweep"]["sets"].as_array().unwrap();
    let of = |set: &Value| set["max_drawdown"].as_f64().unwrap();
    let best = of(&sets[lowest["sweep"]["best"].as_u64().unwrap() as usize]);
    assert!(sets.iter().all(|set| of(set) >= best || set["exposure"] == 0.0));
    assert!((lowest["report"]["pooled"]["max_drawdown"].as_f64().unwrap() - best).abs() < 1e-12);
}

#[test]
fn grids_that_make_no_sense() {
    let bench = Bench::new();
    bench.bars("bars.csv", 60);
    let mut said = String::new();
    for words in [
        "--strategy sma-cross:fast=5..,slow=20..400",
        "--strategy sma-cross:fast=50..5",
        "--strategy sma-cross:fast=5...10",
        "--strategy sma-cross:fast=30..40,slow=10..20",
        "--strategy sma-cross:fast=1..10000,slow=1..10000",
        "--strategy random:seed=1..9",
        "--strategy sma-cross:fast=5..9 --sort n_trades",
        "--strategy sma-cross:fast=5..9 --sort sharp",
    ] {
        let output = bench.run(&format!("backtest bars.csv --quiet {words}"));
        assert_eq!(output.status.code(), Some(2), "{words}\n{}", shown(&output));
        said.push_str(&format!("$ gigabar backtest bars.csv --quiet {words}\n{}\n", shown(&output)));
    }
    snapshot!("bad_grids", said);
}

#[cfg(unix)]
#[test]
fn an_interrupted_grid_says_so_and_leaves() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let bench = Bench::new();
    bench.bars("bars.csv", 20_000);
    let words = "backtest bars.csv --strategy sma-cross:fast=2..200,slow=300..900 --device cpu";
    let mut child = bench.command(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("grid: ") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it was interrupted");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let (mut rest, status) = (String::new(), child.wait().unwrap());
    said.read_to_string(&mut rest).unwrap();
    assert_eq!((status.code(), rest.trim()), (Some(130), "interrupted"));
}
