//! `gigabar data`, and the flags that say which bars of which files are taken.

use crate::support::{Bench, bytes, shown};

/// The first `n` rows of a file, and the rest, under the same header.
fn split(bench: &Bench, name: &str, n: usize) {
    let text = std::fs::read_to_string(bench.path(name)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let part = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    bench.write("first.csv", &part(&lines[1..=n])).write("second.csv", &part(&lines[n + 1..]));
}

fn good(bench: &Bench, words: &str) -> String {
    let output = bench.run(words);
    assert!(output.status.success(), "{words}\n{}", shown(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn converting_there_and_back_gives_the_same_bytes() {
    let bench = Bench::new();
    bench.bars("bars.csv", 300);
    split(&bench, "bars.csv", 120);
    good(&bench, "data convert second.csv first.csv --out all.parquet");
    good(&bench, "data convert all.parquet --out all.csv.gz");
    good(&bench, "data convert all.csv.gz --out again.csv");
    assert_eq!(bytes(&bench.path("again.csv")), bytes(&bench.path("bars.csv")));
    let refused = bench.run("data convert bars.csv --out again.csv");
    assert!(shown(&refused).contains("exit 2") && shown(&refused).contains("error: again.csv: exists already"));
    let unnamed = bench.run("data convert bars.csv --out again.xlsx");
    assert!(shown(&unnamed).contains("its name ends in none of .csv, .csv.gz and .parquet"), "{}", shown(&unnamed));
    assert!(!bench.path("again.xlsx").exists());
}

#[test]
fn several_files_trade_as_the_one_they_make_and_are_recorded() {
    let bench = Bench::new();
    bench.bars("bars.csv", 300);
    split(&bench, "bars.csv", 120);
    let flags = "--strategy sma-cross:fast=3,slow=9 --quiet --resample 4h --from 2020-01-02 --to 2020-01-10";
    let one = good(&bench, &format!("backtest bars.csv {flags}"));
    let two = good(&bench, &format!("backtest first.csv second.csv {flags} --out run"));
    assert_eq!(one.lines().take(6).collect::<Vec<_>>(), two.lines().take(6).collect::<Vec<_>>());
    assert!(one.contains("2020-01-02") && one.contains("2020-01-10") && one.contains(" 54 "), "{one}");
    let settings = std::fs::read_to_string(bench.path("run/run.toml")).unwrap();
    for line in ["resample = \"4h\"", "from = \"2020-01-02\"", "path = \"first.csv\"", "path = \"second.csv\""] {
        assert!(settings.contains(line), "{settings}");
    }
    // The settings of a run are a configuration: the same bars without a flag.
    let again =
        good(&bench, "backtest first.csv second.csv --strategy sma-cross:fast=3,slow=9 --quiet --config run/run.toml");
    assert_eq!(again.lines().take(6).collect::<Vec<_>>(), two.lines().take(6).collect::<Vec<_>>());
    let overlap = bench.run("backtest bars.csv first.csv --strategy flat --quiet");
    assert!(shown(&overlap).contains("both have bars at 2020-01-01T00:00:00Z"), "{}", shown(&overlap));
}

#[test]
fn a_training_on_several_files_finds_them_again() {
    let bench = Bench::new();
    bench.bars("bars.csv", 700);
    split(&bench, "bars.csv", 350);
    let small = "--set dqn.epochs=1 --set dqn.hidden=[8] --set dqn.steps_per_epoch=256 --set dqn.learning_starts=64 \
                 --set dqn.replay_capacity=500 --quiet";
    let trained = bench.run(&format!("train dqn first.csv second.csv --out run {small}"));
    assert!(trained.status.success(), "{}", shown(&trained));
    let resumed = bench.run("train dqn --resume run --quiet");
    assert!(resumed.status.success(), "{}", shown(&resumed));
    let evaluated = bench.run("evaluate run first.csv second.csv --quiet");
    assert!(evaluated.status.success(), "{}", shown(&evaluated));
    let other = bench.run("train dqn first.csv --resume run --quiet");
    assert!(shown(&other).contains("the data has changed"), "{}", shown(&other));
}

#[test]
fn check_of_several_files_and_its_page() {
    let bench = Bench::new();
    good(&bench, "data synth market --session us --interval 30min --bars 2000 --seed 5 --out us.parquet");
    good(&bench, "data synth market --bars 500 --seed 5 --out always.csv");
    let report = good(&bench, "data check us.parquet --html page.html");
    assert!(report.contains("try         --tz America/New_York"), "{report}");
    let clocked = good(&bench, "data check us.parquet --tz America/New_York");
    assert!(
        clocked.contains("hours       09:30 to 16:00 America/New_York: 0 bars missing inside them, 0 days"),
        "{clocked}"
    );
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 5);
    let again = bench.run("data check us.parquet --html page.html");
    let want = "error: page.html: exists already\n\nhint: give another name, or move the file away\n";
    assert!(shown(&again).contains(want), "{}", shown(&again));
    let both = bench.run("data check us.parquet always.csv --json");
    assert!(
        shown(&both).contains("exit 2") && shown(&both).contains("both have bars at 2020-01-01T14:30:00Z"),
        "{}",
        shown(&both)
    );
    let wrong = bench.run("data synth planted --session us");
    assert!(shown(&wrong).contains("--session, --interval and --config are of `market`"));
    bench.write("calm.toml", "vol_of_vol = 0\njumps_a_year = 0\n[[regimes]]\ndrift = 0\nvolatility = 0.01\ndays = 9\n");
    good(&bench, "data synth market --bars 100 --config calm.toml --out calm.csv");
    bench.write("odd.toml", "jumps = 5\n");
    let odd = shown(&bench.run("data synth market --config odd.toml"));
    assert!(odd.contains("odd.toml") && odd.contains("unknown field `jumps`"), "{odd}");
    // The page lists every parameter with its default.
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/data.md")).unwrap();
    let listed = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    bench.write("defaults.toml", listed);
    good(&bench, "data synth market --bars 300 --config defaults.toml --out listed.csv");
    good(&bench, "data synth market --bars 300 --out defaults.csv");
    assert_eq!(bytes(&bench.path("listed.csv")), bytes(&bench.path("defaults.csv")));
}

/// A panic inside a decoder is not the program's, and not shown as one.
#[test]
fn a_file_that_makes_its_decoder_panic_is_a_broken_file() {
    let bench = Bench::new();
    let lies = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/market/tests/it/files/lies.parquet");
    std::fs::copy(lies, bench.path("lies.parquet")).unwrap();
    let text = shown(&bench.run("backtest lies.parquet --strategy flat"));
    let want = "error: lies.parquet: is broken Parquet: its metadata and its pages contradict each other";
    assert!(text.starts_with("exit 2") && text.contains(want) && !text.contains("panicked"), "{text}");
}

/// A place that cannot be written is known before a file is read: the inputs here do not even exist.
#[test]
fn an_impossible_place_is_refused_before_anything_is_read() {
    let bench = Bench::new();
    bench.write("there.csv", "mine").write("there.html", "mine");
    for (words, want) in [
        ("data convert none.csv --out there.csv", "there.csv: exists already"),
        ("data convert none.csv --out nowhere/x.csv", "nowhere/x.csv: cannot be written"),
        ("data convert none.csv --out there.csv/x.parquet", "there.csv/x.parquet: cannot be written"),
        ("data synth market --config none.toml --out there.csv", "there.csv: exists already"),
        ("data check none.csv --html there.html", "there.html: exists already"),
        ("data check none.csv --html nowhere/x.html", "nowhere/x.html: cannot be written"),
    ] {
        let text = shown(&bench.run(words));
        assert!(text.starts_with("exit 2") && text.contains(want) && !text.contains("none."), "{words}\n{text}");
    }
    let failed = bench.run("data convert none.csv --out new.csv");
    assert!(!failed.status.success() && !bench.path("new.csv").exists() && !bench.path("new.csv.tmp").exists());
    assert_eq!(bytes(&bench.path("there.csv")), b"mine");
}

/// Stopped while it writes: nothing under the final name, and nothing beside it but after a kill that cannot be heard.
#[cfg(unix)]
#[test]
fn a_stopped_conversion_leaves_no_file_and_can_be_run_again() {
    let bench = Bench::new();
    good(&bench, "data synth market --bars 400000 --interval 1min --out bars.parquet");
    for name in ["out.csv", "out.csv.gz", "out.parquet"] {
        for signal in ["-INT", "-TERM", "-KILL"] {
            let words = format!("data convert bars.parquet --out {name} --quiet");
            let mut child = bench.command(&words).stderr(std::process::Stdio::null()).spawn().unwrap();
            let beside = bench.path(&format!("{name}.tmp"));
            while !beside.exists() && child.try_wait().unwrap().is_none() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
            assert!(kill.success());
            assert!(!child.wait().unwrap().success(), "{name} {signal}");
            assert!(!bench.path(name).exists(), "{name} {signal}");
            assert_eq!(beside.exists(), signal == "-KILL", "{name} {signal}");
        }
        good(&bench, &format!("data convert bars.parquet --out {name}"));
        assert!(!bench.path(&format!("{name}.tmp")).exists());
    }
}

fn json(output: &std::process::Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{}", shown(output)))
}

/// Whatever goes wrong, and whatever is written: with --json, stdout is JSON.
#[test]
fn json_is_never_empty() {
    let bench = Bench::new();
    bench.bars("bars.csv", 300);
    split(&bench, "bars.csv", 120);
    bench.write("empty.csv", "").write("rubbish.csv", "what\never\n").write("header.csv", "date,close\n");
    for (words, want) in [
        ("none.csv", "none.csv: cannot be read: "),
        ("empty.csv", "empty.csv: is empty"),
        ("rubbish.csv", "rubbish.csv"),
        ("header.csv", "header.csv"),
        ("bars.csv --tz Mars", "Mars"),
        ("bars.csv --from soon", "soon"),
        ("bars.csv --resample 7h", "7h"),
    ] {
        let output = bench.run(&format!("data check {words} --json"));
        let report = json(&output);
        assert!(report["refusal"].as_str().unwrap().contains(want), "{words}: {report}");
        assert_eq!((output.status.code(), &report["loads"]), (Some(2), &serde_json::Value::Bool(false)), "{words}");
    }
    let mixed = json(&bench.run("data check bars.csv none.csv --json"));
    assert_eq!(
        (&mixed[0]["loads"], &mixed[1]["loads"], &mixed[1]["path"]),
        (&true.into(), &false.into(), &"none.csv".into())
    );
    let apart = json(&bench.run("data check bars.csv first.csv --json"));
    assert!(apart[0]["series_refusal"].as_str().unwrap().contains("both have bars at"), "{apart}");
    for words in ["data check bars.csv --html no/where.html", "data convert none.csv --out x.csv", "data synth market"]
    {
        let failed = bench.run(&format!("{words} --json"));
        assert!(json(&failed)["error"].is_string() && failed.status.code() == Some(2), "{}", shown(&failed));
    }
    let written = json(&bench.run("data convert first.csv second.csv --out x.parquet --resample 2h --json"));
    assert_eq!(
        (&written["path"], &written["bars"], &written["interval_ns"]),
        (&"x.parquet".into(), &150.into(), &7_200_000_000_000i64.into())
    );
    assert_eq!((&written["first"], written["notes"].as_array().unwrap().len()), (&"2020-01-01T00:00:00Z".into(), 1));
    assert_eq!(json(&bench.run("data synth planted --bars 9 --out y.csv --json"))["bars"], 9);
}

/// The repaired file comes clean, the days of the page are those of --tz.
#[test]
fn what_a_flag_mends_is_no_longer_found() {
    let bench = Bench::new();
    let row = |i: usize| {
        let wave = 100.0 + (1.7 * i as f64).sin();
        let adjusted = wave / 4.0;
        let close = if i < 120 { wave } else { adjusted };
        format!("2024-{:02}-{:02},{close},{close},{close},{close},{adjusted},10\n", 1 + i / 28, 1 + i % 28)
    };
    let rows: String = (0..200).map(row).collect();
    bench.write("split.csv", &format!("date,open,high,low,close,adj close,volume\n{rows}"));
    let raw = good(&bench, "data check split.csv");
    assert!(
        raw.contains("       1  jumps of 15")
            && raw.contains("like a 4:1 split")
            && raw.contains("try         --adjust takes the splits out"),
        "{raw}"
    );
    let adjusted = good(&bench, "data check split.csv --adjust");
    assert!(adjusted.contains("       0  jumps of 15") && !adjusted.contains("try "), "{adjusted}");
    let repaired = good(&bench, "data check split.csv --repair");
    assert!(repaired.contains("as it stands in the file, before --repair"), "{repaired}");
}
