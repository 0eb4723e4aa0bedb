//! Signals of several strategies: each is the backtest it would be alone, and all are compared.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Bench, shown, snapshot};

const NAMES: [&str; 4] = ["steady", "fast & short", "never", "half"];
const N_BARS: usize = 700;

/// Levels that have nothing to do with prices, some of them missing.
fn level(strategy: usize, bar: usize) -> String {
    match strategy {
        0 => "1".into(),
        1 => ["-1", "1", "0", ""][bar / 7 % 4].into(),
        2 => "0".into(),
        _ => ["0.5", "-0.25"][bar / 50 % 2].into(),
    }
}

/// Bars, and the same strategies in every layout.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.bars("bars.csv", N_BARS);
    let bars = std::fs::read_to_string(bench.path("bars.csv")).unwrap();
    let stamps: Vec<&str> = bars.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    let levels = |bar: usize, by: &str| (0..4).map(|s| level(s, bar)).collect::<Vec<_>>().join(by);
    let mut wide = format!("ts,{}\n", NAMES.join(","));
    let mut tabs = format!("{}\n", NAMES.join("\t"));
    let mut turns = "Timestamp;Strategy;Level\n".to_owned();
    for (bar, ts) in stamps.iter().enumerate() {
        writeln!(wide, "{ts},{}", levels(bar, ",")).unwrap();
        writeln!(tabs, "{}", levels(bar, "\t").replace('.', ",")).unwrap();
        for (strategy, name) in NAMES.iter().enumerate() {
            writeln!(turns, "{ts};{name};{}", level(strategy, bar).replace('.', ",")).unwrap();
        }
    }
    let mut blocks = "ts,strategy,level\n".to_owned();
    for (strategy, name) in NAMES.iter().enumerate() {
        let mut single = "ts,level\n".to_owned();
        for (bar, ts) in stamps.iter().enumerate() {
            writeln!(blocks, "{ts},{name},{}", level(strategy, bar)).unwrap();
            writeln!(single, "{ts},{}", level(strategy, bar)).unwrap();
        }
        bench.write(&format!("single-{strategy}.csv"), &single);
    }
    bench.write("wide.csv", &wide).write("tabs.tsv", &tabs).write("turns.csv", &turns).write("blocks.csv", &blocks);
    bench
}

fn json(bench: &Bench, words: &str) -> Value {
    let output = bench.run(&format!("{words} --json --quiet"));
    assert_eq!(output.status.code(), Some(0), "{words}\n{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The strategies of a comparison without their names.
fn metrics(compared: &Value) -> Vec<Value> {
    let strategies = compared["comparison"]["strategies"].as_array().unwrap().iter();
    let unnamed = |strategy: &Value| {
        let mut metrics = strategy.clone();
        metrics.as_object_mut().unwrap().remove("name");
        metrics
    };
    strategies.map(unnamed).collect()
}

#[test]
fn every_strategy_is_the_backtest_of_its_own_file() {
    let bench = bench();
    for more in
        ["--set sim.commission_bps=3", "--windows 3 --set sim.half_spread_bps=1", "--from 2020-01-05 --to 2020-01-20"]
    {
        let alone = |strategy: usize| {
            json(&bench, &format!("backtest bars.csv --signals single-{strategy}.csv {more}"))["report"]["pooled"]
                .clone()
        };
        let want: Vec<Value> = (0..4).map(alone).collect();
        for file in ["wide.csv", "turns.csv", "blocks.csv", "tabs.tsv"] {
            if file == "tabs.tsv" && more.contains("--from") {
                continue;
            }
            let compared = json(&bench, &format!("backtest bars.csv --signals {file} {more}"));
            assert_eq!(metrics(&compared), want, "{file} {more}");
            let best = compared["comparison"]["best"].as_u64().unwrap() as usize;
            assert_eq!(compared["report"]["pooled"], want[best]);
            assert_eq!(compared["report"]["policy"], NAMES[best]);
            assert_eq!(compared["report"]["n_trials"], 4);
            let sharpe = |i: usize| want[i]["sharpe"].as_f64().unwrap_or(f64::NEG_INFINITY);
            assert!((0..4).all(|i| sharpe(i) <= sharpe(best)), "{want:?}");
        }
    }
}

#[test]
fn several_strategies_as_they_are_shown_and_written() {
    let bench = bench();
    let words = "backtest bars.csv --signals wide.csv --sort max_drawdown --set sim.commission_bps=3 --out run";
    let output = bench.run(words);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    snapshot!("signals", format!("$ gigabar {words}\n{}", shown(&output)));
    let csv = std::fs::read_to_string(bench.path("run/strategies.csv")).unwrap();
    let header =
        "strategy,sharpe,total_return,max_drawdown,win_rate,n_trades,exposure,costs,total_pnl,final_equity,ruined";
    assert_eq!(csv.lines().next(), Some(header));
    let names: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(names, NAMES, "in the order of the file");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(bench.path("run/report.json")).unwrap()).unwrap();
    let compared = json(&bench, &words.replace(" --out run", ""));
    for ranked in report["sweep"]["best"].as_array().unwrap() {
        let at = NAMES.iter().position(|name| *name == ranked["name"]).unwrap();
        assert_eq!(ranked["metrics"], metrics(&compared)[at]);
        assert!(ranked["growth"]["ts"].as_array().unwrap().len() > 100);
    }
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    for part in
        ["4 strategies", "Equity of the best strategy", "fast &amp; short", "id=\"strategies\"", "\"strategies\":[{"]
    {
        assert!(page.contains(part), "no {part}");
    }
    let again = bench.run("report run");
    assert_eq!(again.stdout, output.stdout, "{}", shown(&again));
    assert_eq!(std::fs::read_to_string(bench.path("run/report.html")).unwrap(), page);
}

#[test]
fn a_file_of_one_named_strategy_is_no_comparison() {
    let bench = bench();
    let wide = std::fs::read_to_string(bench.path("wide.csv")).unwrap();
    let first: String = wide.lines().map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",") + "\n").collect();
    bench.write("one.csv", &first);
    let one = json(&bench, "backtest bars.csv --signals one.csv");
    assert_eq!(one["report"]["policy"], "steady");
    assert_eq!((&one["report"]["n_trials"], one.get("comparison")), (&1.into(), None));
    let single = json(&bench, "backtest bars.csv --signals single-0.csv");
    assert_eq!(single["report"]["policy"], "signals:single-0.csv");
    assert_eq!(one["report"]["pooled"], single["report"]["pooled"]);
    let said = shown(&bench.run("backtest bars.csv --signals one.csv --sort sharpe --quiet"));
    assert!(said.contains("warning: --sort has no effect without a grid or several strategies"), "{said}");
}

#[test]
fn a_gpu_gives_the_same_numbers() {
    if gigabar::gpu::Device::open(0).is_err() {
        println!("skipped: this machine has no GPU");
        return;
    }
    let bench = bench();
    let words = "backtest bars.csv --signals wide.csv --windows 3 --set sim.commission_bps=3 --device";
    let [cpu, gpu] = ["cpu", "cuda:0"].map(|device| json(&bench, &format!("{words} {device}")));
    assert_eq!(metrics(&gpu), metrics(&cpu));
    assert_eq!(gpu["report"], cpu["report"]);
}

#[test]
fn strategies_are_warned_of_by_name() {
    let bench = Bench::new();
    bench.bars("bars.csv", 60);
    let rows: String = (0..60).map(|_| "1,3,5,1\n").collect();
    bench.write("levels.csv", &format!("a,b,c,comment\n{rows}"));
    let said = shown(&bench.run("backtest bars.csv --signals levels.csv --quiet"));
    for (name, level) in [("b", 3), ("c", 5)] {
        let warning = format!("warning: levels.csv, strategy {name}: levels up to {level}: exposure of {level} times");
        assert!(said.contains(&warning), "{said}");
    }
    assert!(!said.contains("strategy a: levels"), "{said}");
    let header = "a,b,c,d,e,f,g\n";
    let rows: String = (0..60).map(|_| "2,2,2,2,2,2,2\n").collect();
    bench.write("many.csv", &format!("{header}{rows}"));
    let said = shown(&bench.run("backtest bars.csv --signals many.csv --quiet"));
    assert!(said.contains("many.csv: so have 2 more strategies levels beyond ±1"), "{said}");
}

#[test]
fn signals_that_make_no_comparison() {
    let bench = Bench::new();
    bench.write("bars.csv", &format!("ts,open,high,low,close\n{}", days(1..7, "10,11,9,10")));
    for (name, text) in [
        ("same", "ts,a,b,a\n".to_owned()),
        ("unnamed", ",ts,a\n0,2024-01-01,1\n".to_owned()),
        ("index", format!(",a\n{}", (0..6).map(|i| format!("{i},1\n")).collect::<String>())),
        ("bare", days(1..7, "1")),
        ("gap", format!("ts,a,b\n{}{}", days(1..3, "1,0"), days(4..7, "1,0"))),
        ("late", format!("ts,a,b\n{}", days(1..8, "1,0"))),
        ("word", format!("ts,a,b\n{}{}", days(1..3, "1,0"), days(3..7, "1,hold"))),
        ("infinite", format!("ts,strategy,level\n{}", days(1..7, "a,inf"))),
        ("ends", format!("ts,strategy,level\n{}{}", days(1..7, "a,1"), days(1..5, "b,1"))),
        ("short", "a,b\n1,0\n1,0\n".to_owned()),
        ("either", format!("ts,signal,trend\n{}", days(1..7, "1,0"))),
        ("fields", format!("ts,a,b\n{}", days(1..7, "1"))),
    ] {
        bench.write(&format!("{name}.csv"), &text);
    }
    let mut said = String::new();
    let all = "same unnamed index bare gap late word infinite ends short either fields";
    let cut = "--from 2024-01-04";
    for (name, more) in all.split(' ').map(|name| (name, "")).chain([("gap", cut), ("late", cut), ("short", cut)]) {
        let words = format!("backtest bars.csv --signals {name}.csv --quiet {more}");
        let output = bench.run(words.trim_end());
        let refused = (name, more) != ("gap", cut);
        assert_eq!(output.status.code(), Some(if refused { 2 } else { 0 }), "{words}\n{}", shown(&output));
        if refused {
            writeln!(said, "$ gigabar {}\n{}", words.trim_end(), shown(&output)).unwrap();
        }
    }
    snapshot!("bad_signals", said);
}

#[test]
fn rows_without_stamps_are_refused_beside_bars_of_another_order() {
    let bench = Bench::new();
    let row = |day: usize| format!("2024-01-{day:02},{},{0},{0},{0}\n", 100 + day);
    let file = |days: &mut dyn Iterator<Item = usize>| {
        format!("ts,open,high,low,close\n{}", days.map(row).collect::<String>())
    };
    bench.write("up.csv", &file(&mut (1..9))).write("down.csv", &file(&mut (1..9).rev()));
    bench.write("first.csv", &file(&mut (1..5))).write("last.csv", &file(&mut (5..9)));
    bench.write("mixed.csv", &file(&mut [1, 2, 4, 3, 5, 6, 7, 8].into_iter()));
    bench.write("bare.csv", "level\n1\n1\n1\n0\n0\n0\n-1\n-1\n");
    bench.write("stamped.csv", &format!("ts,level\n{}", days(1..9, "1")));
    let code = |bars: &str, signals: &str| bench.run(&format!("backtest {bars} --signals {signals}")).status.code();
    for bars in ["down.csv", "down.csv --from 2024-01-01", "last.csv first.csv", "mixed.csv --repair"] {
        let said = shown(&bench.run(&format!("backtest {bars} --signals bare.csv")));
        assert!(said.contains("bare.csv: its rows have no time stamps"), "{said}");
        assert!(said.contains("hint: give it a column `ts`"), "{said}");
    }
    assert_eq!((code("down.csv", "stamped.csv"), code("last.csv first.csv", "stamped.csv")), (Some(0), Some(0)));
    assert_eq!((code("up.csv", "bare.csv"), code("first.csv last.csv", "bare.csv")), (Some(0), Some(0)));
}

#[test]
fn strategies_are_ranked_by_any_metric() {
    let bench = bench();
    let compared = json(&bench, "backtest bars.csv --signals wide.csv --sort sortino");
    let best = &compared["comparison"]["strategies"][compared["comparison"]["best"].as_u64().unwrap() as usize];
    let sortino = |one: &Value| one["sortino"].as_f64().unwrap_or(f64::NEG_INFINITY);
    let all = compared["comparison"]["strategies"].as_array().unwrap();
    assert!(all.iter().all(|one| sortino(one) <= sortino(best)));
    let said = shown(&bench.run("backtest bars.csv --signals wide.csv --sort calmar --out run"));
    assert!(said.contains("strategy      calmar  sharpe"), "{said}");
    assert!(said.contains("median calmar of the others"), "{said}");
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains("Ranked by the highest calmar"), "the page");
    let said = shown(&bench.run("backtest bars.csv --signals wide.csv --sort exposure"));
    assert!(said.contains("error: strategies cannot be sorted by `exposure`"), "{said}");
    assert!(said.contains("hint: use one of total_return,") && said.contains("calmar"), "{said}");
}

#[test]
fn cells_left_empty_are_flat_without_a_warning() {
    let bench = Bench::new();
    bench.write("bars.csv", &format!("ts,open,high,low,close\n{}", days(1..7, "10,11,9,10")));
    bench.write("empty.csv", "a,b\n1,\n,1\n1,1\n,\n1,1\n,0\n");
    bench.write("nan.csv", "a,b\n1,NaN\n1,1\n1,1\n1,1\n1,1\n1,0\n");
    bench.write("round.csv", "level\n1.0000000000000002\n1\n1\n1\n1\n1\n");
    let said = |file: &str| shown(&bench.run(&format!("backtest bars.csv --signals {file}")));
    for file in ["empty.csv", "round.csv"] {
        let said = said(file);
        assert!(said.starts_with("exit 0") && !said.contains("not finite") && !said.contains("missing"), "{said}");
        assert!(!said.contains("exposure of"), "{said}");
    }
    assert!(said("nan.csv").contains("taken as flat: b (1)"), "{}", said("nan.csv"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_named() {
    let bench = bench();
    for more in ["", " --json"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let words = format!("backtest bars.csv --signals wide.csv --quiet{more}");
        let output = bench.command(&words).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(shown(&output).contains("error: stdout: No space left on device"), "{}", shown(&output));
    }
}

fn days(days: std::ops::Range<usize>, rest: &str) -> String {
    days.map(|day| format!("2024-01-{day:02},{rest}\n")).collect()
}

#[cfg(unix)]
#[test]
fn an_interrupted_comparison_says_so_and_leaves() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let bench = Bench::new();
    bench.bars("bars.csv", 20_000);
    let row = (0..150).map(|i| if i % 2 == 0 { "1" } else { "-1" }).collect::<Vec<_>>().join(",") + "\n";
    let names = (0..150).map(|i| format!("s{i}")).collect::<Vec<_>>().join(",");
    bench.write("many.csv", &format!("{names}\n{}", row.repeat(20_000)));
    let words = "backtest bars.csv --signals many.csv --windows 9000 --device cpu";
    let mut child = bench.command(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("signals: ") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it was interrupted");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let (mut rest, status) = (String::new(), child.wait().unwrap());
    said.read_to_string(&mut rest).unwrap();
    assert_eq!((status.code(), rest.trim()), (Some(130), "interrupted"));
}
