//! Bars with volume 0 in a file that has volume: they fill no order, and that is said.

use std::fmt::Write;

use serde_json::Value;

use crate::support::{Bench, shown};

const HEADER: &str = "ts,open,high,low,close,volume\n";
const HINT: &str = "leave the volume out: --columns ts,open,high,low,close,- (`-` skips a column)";

/// 400 bars whose price swings; those for which `silent` holds have volume 0.
fn swings(silent: impl Fn(usize) -> bool) -> String {
    let mut out = HEADER.to_owned();
    for bar in 0..400 {
        let price = 100.0 + 10.0 * (bar as f64 / 9.0).sin();
        let (high, low) = (price + 1.0, price - 1.0);
        let volume = if silent(bar) { 0 } else { 7 };
        let (hour, day, month) = (bar % 10 + 8, bar / 10 % 20 + 1, bar / 200 + 1);
        let ts = format!("2024-{month:02}-{day:02}T{hour:02}:00:00Z");
        writeln!(out, "{ts},{price:.4},{high:.4},{low:.4},{price:.4},{volume}").unwrap();
    }
    out
}

fn said(bench: &Bench, words: &str) -> String {
    let output = bench.run(words);
    assert!(output.status.success(), "{words}\n{}", shown(&output));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn rejected_orders_are_told_with_their_cause_and_a_way_out() {
    let bench = Bench::new();
    let rows = "2024-01-01,10,10,10,10,0\n2024-01-02,10,10,10,10,0\n2024-01-03,10,20,10,20,0\n\
                2024-01-04,20,20,20,20,5\n2024-01-05,20,20,20,20,5\n";
    bench.write("zmin.csv", &format!("{HEADER}{rows}"));
    let text = said(&bench, "backtest zmin.csv --strategy buy-and-hold");
    let want = "warning: 2 orders were rejected: 3 of 5 bars have volume 0, and such a bar fills none \
                (docs/simulation.md); to trade them too, ";
    assert!(text.contains(&format!("{want}{HINT}\n")), "{text}");
    // What the hint says is a way out.
    let all = bench.run("backtest zmin.csv --strategy buy-and-hold --columns ts,open,high,low,close,-");
    assert!(shown(&all).contains("100.00 %  ") && !shown(&all).contains("rejected"), "{}", shown(&all));
    // A file without any volume is traded.
    bench.write("none.csv", &swings(|_| true));
    assert!(!said(&bench, "backtest none.csv --strategy buy-and-hold").contains("rejected"));
    // Bars without volume in which nobody wanted to trade are no reason for a word.
    bench.write("late.csv", &swings(|bar| bar > 200));
    assert!(!said(&bench, "backtest late.csv --strategy buy-and-hold").contains("rejected"));
}

#[test]
fn a_rule_whose_every_order_was_rejected_is_not_said_to_have_waited() {
    let bench = Bench::new();
    bench.write("bars.csv", &swings(|bar| bar > 0));
    let text = said(&bench, "backtest bars.csv --strategy buy-and-hold --out run");
    let want = "399 orders were rejected: 399 of 400 bars have volume 0";
    assert!(text.contains(want), "{text}");
    assert!(text.contains("buy-and-hold never traded: no order was filled in 399 bars\n"), "{text}");
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains(want), "the report says so too");
    let run: Value = serde_json::from_slice(&std::fs::read(bench.path("run/report.json")).unwrap()).unwrap();
    assert_eq!((&run["data"]["n_silent"], &run["report"]["pooled"]["rejected_orders"]), (&399.into(), &399.into()));
    // A stored report is told the same way.
    assert!(said(&bench, "report run").contains(want));
}

#[test]
fn every_command_that_trades_says_it_once() {
    let bench = Bench::new();
    bench.write("bars.csv", &swings(|bar| bar % 2 == 1));
    let levels = |header: &str, row: &dyn Fn(usize) -> String| {
        format!("{header}\n{}", (0..400).map(|bar| format!("{}\n", row(bar))).collect::<String>())
    };
    bench.write("one.csv", &levels("level", &|bar| (bar % 3).to_string()));
    bench.write("two.csv", &levels("up\tdown", &|bar| format!("1\t{}", -((bar / 2 % 2) as i32))));
    let small = "--set dqn.epochs=1 --set dqn.steps_per_epoch=128 --set dqn.hidden=[4] --set dqn.learning_starts=64";
    let windows = "--set window.n_windows=2 --set window.test_bars=100 --set window.train_bars=200";
    for words in [
        "backtest bars.csv --strategy sma-cross:fast=2,slow=5",
        "backtest bars.csv --strategy sma-cross:fast=2..4,slow=5..9 --windows 2",
        "backtest bars.csv --signals one.csv --json",
        "backtest bars.csv --signals two.csv",
        &format!("walkforward bars.csv --strategy sma-cross:fast=2..3,slow=5..7 {windows} --out walk"),
        &format!("train dqn bars.csv --out run {small}"),
        "evaluate run bars.csv",
    ] {
        let text = said(&bench, &format!("{words} --quiet"));
        assert_eq!(text.matches("rejected: 200 of 400 bars have volume 0").count(), 1, "{words}\n{text}");
    }
    let table = shown(&bench.run("backtest bars.csv --signals two.csv --quiet"));
    assert!(table.contains("orders rejected by bars with volume 0: ") && table.contains("down ("), "{table}");
}
