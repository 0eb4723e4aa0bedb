//! What the program shows when all is well.

use std::process::Stdio;

use crate::support::{Bench, shown, snapshot};

/// Thirty days, with a hole and two bars without volume.
fn bars(bench: &Bench) {
    let mut text = "ts,open,high,low,close,volume\n".to_owned();
    for day in (1..=31).filter(|day| *day != 17) {
        let close = 100.0 + f64::from(day % 7) - 0.5 * f64::from(day % 3);
        let volume = if day == 5 || day == 6 { 0 } else { 1000 + day };
        text.push_str(&format!(
            "2024-01-{day:02},{:.2},{:.2},{:.2},{close:.2},{volume}\n",
            close - 0.4,
            close + 1.0,
            close - 1.5
        ));
    }
    bench.write("bars.csv", &text);
}

fn fine(bench: &Bench, words: &str) -> String {
    let output = bench.run(words);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    format!("$ gigabar {words}\n{}\n", shown(&output))
}

#[test]
fn help() {
    let bench = Bench::new();
    let verbs =
        ["", "walkforward", "train dqn", "evaluate", "backtest", "data check", "data synth", "report", "doctor"];
    let texts: Vec<String> = verbs.iter().map(|verb| fine(&bench, &format!("{verb} --help"))).collect();
    snapshot!("help", texts.join("\n"));
}

#[test]
fn data_check() {
    let bench = Bench::new();
    bars(&bench);
    snapshot!("data_check", fine(&bench, "data check bars.csv"));
    snapshot!("data_check_json", fine(&bench, "data check bars.csv --json"));
}

#[test]
fn a_file_that_does_not_load_is_checked_all_the_same() {
    let bench = Bench::new();
    bench.write("bad.csv", "ts,open,high,low,close\n2024-01-01,1,2,1,2\n2024-01-02,1,2,1,3\n2024-01-02,1,2,1,2\n");
    let output = bench.run("data check bad.csv");
    assert_eq!(output.status.code(), Some(2));
    snapshot!("data_check_bad", shown(&output));
}

#[test]
fn backtest() {
    let bench = Bench::new();
    bars(&bench);
    let words = "backtest bars.csv --strategy sma-cross:fast=2,slow=5 --set sim.commission_bps=5 --windows 2";
    snapshot!("backtest", fine(&bench, &format!("{words} --verbose")));
    snapshot!("backtest_json", fine(&bench, &format!("{words} --json --quiet")));
    let missed = bench.run(&format!("{words} --quiet --fail-below sharpe=1000"));
    assert_eq!(missed.status.code(), Some(1), "{}", shown(&missed));
    assert!(String::from_utf8_lossy(&missed.stderr).contains("pooled sharpe is "));
    for (key, code) in [("psr=0.5", 1), ("deflated_sharpe=0.5", 1), ("deflated_sharpe=0", 0)] {
        let output = bench.run(&format!("{words} --quiet --fail-below {key}"));
        assert_eq!(output.status.code(), Some(code), "{}", shown(&output));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said.contains(&format!("pooled {} is ", key.split('=').next().unwrap())), code == 1, "{said}");
    }
}

#[test]
fn signals_equal_the_rule_they_restate() {
    let bench = Bench::new();
    bars(&bench);
    bench.write("ones.csv", &format!("level\n{}", "1\n".repeat(30)));
    let pooled = |words: &str| {
        let output = bench.run(&format!("{words} --json --quiet"));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["report"]["pooled"].clone()
    };
    let rule = pooled("backtest bars.csv --strategy buy-and-hold");
    assert!(rule["final_equity"].as_f64().unwrap() > 0.0, "{rule}");
    assert_eq!(pooled("backtest bars.csv --signals ones.csv"), rule);
}

#[test]
fn a_run_folder_holds_what_it_should() {
    let bench = Bench::new();
    bars(&bench);
    fine(&bench, "backtest bars.csv --strategy sma-cross:fast=2,slow=5 --out run --quiet");
    let read = |name: &str| std::fs::read_to_string(bench.path("run").join(name)).unwrap();
    let equity = read("fold-0/equity.csv");
    let mut lines = equity.lines();
    assert_eq!(lines.next(), Some("ts,equity,return,units,cash,level"));
    assert_eq!(lines.next(), Some("2024-01-01T00:00:00Z,100000,,0,100000,0"));
    assert_eq!(equity.lines().count(), 31);
    assert!(read("fold-0/trades.csv").starts_with("side,entry_ts,exit_ts,units,entry_price,"));
    assert!(read("report.html").contains("</html>"));
    let report: gigabar::report::RunReport = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!((report.curves.len(), report.curves[0].ts.len(), report.data.n_bars), (1, 30, 30));
    let before = read("report.html");
    std::fs::remove_file(bench.path("run/report.html")).unwrap();
    fine(&bench, "report run --quiet");
    assert_eq!(read("report.html"), before);
    // The settings of a run are a configuration file.
    fine(&bench, "backtest bars.csv --strategy flat --config run/run.toml --quiet");
}

#[test]
fn doctor_never_fails() {
    let bench = Bench::new();
    let output = bench.command("doctor").env("GIGABAR__NONSENSE", "1").output().unwrap();
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("GIGABAR__NONSENSE sets nonsense = 1") && text.contains("unknown key `nonsense`"), "{text}");
    assert!(text.contains("gpu          --device auto: "), "{text}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let bench = Bench::new();
    bench.bars("bars.csv", 400);
    let grid = "backtest bars.csv --strategy sma-cross:fast=2..30,slow=40..60 --quiet";
    for words in [
        "data synth random-walk --bars 20000",
        "doctor --json",
        "data check bars.csv --json",
        grid,
        &format!("{grid} --json"),
    ] {
        let mut child = bench.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), [].as_slice()), "{}", shown(&output));
    }
}
