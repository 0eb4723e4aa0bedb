//! Signals files that fit their bars, and every way in which they may not.

use std::io::Write;

use gigabar_backtest::policy::Signals;
use gigabar_market::{BarColumns, Bars};

fn bars() -> Bars {
    let price = vec![10.0, 11.0, 12.0];
    let ts = (0..3).map(|t| t * 86_400_000_000_000).collect();
    let volume = vec![0.0; 3];
    Bars::new(BarColumns { ts, open: price.clone(), high: price.clone(), low: price.clone(), close: price, volume })
        .unwrap()
}

/// The levels, or the error without the file's folder.
fn read(text: &str) -> Result<Vec<f64>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signals.csv");
    std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    let strip = |message: String| message.replace(&format!("{}/", folder.path().display()), "");
    Signals::read(&path, &bars()).map(|s| s.levels().to_vec()).map_err(|e| strip(e.to_string()))
}

#[test]
fn levels_alone_or_with_time_stamps() {
    assert_eq!(read("level\n1\n-0.5\n0\n"), Ok(vec![1.0, -0.5, 0.0]));
    assert_eq!(
        read("ts,level\n1970-01-01,1\n1970-01-02T00:00:00Z,0.25\n172800000000000,0\n"),
        Ok(vec![1.0, 0.25, 0.0])
    );
    let gap = read("ts,level\n1970-01-01,1\n1970-01-02,\n1970-01-03,NaN\n").unwrap();
    assert!(gap[1].is_nan() && gap[2].is_nan());
}

#[test]
fn columns_may_stand_apart_by_semicolons_or_tabs() {
    assert_eq!(read("ts;level\n1970-01-01;1\n1970-01-02;-0,5\n1970-01-03;0.25\n"), Ok(vec![1.0, -0.5, 0.25]));
    assert_eq!(read("level\tts\n1\t1970-01-01\n0,5\t1970-01-02\n0\t1970-01-03\n"), Ok(vec![1.0, 0.5, 0.0]));
    assert_eq!(
        read("ts;level\n1970-01-01;1\n1970-01-02;1,5,0\n"),
        Err("signals.csv:3:12: level `1,5,0` is not a number".to_owned())
    );
}

#[test]
fn mistakes_name_the_line() {
    let fails = |text: &str, message: &str| assert_eq!(read(text), Err(message.to_owned()));
    fails("ts,lvl\n1,2\n", "signals.csv: line 1: no column `level` (found: ts, lvl)");
    fails("level\n1\nlong\n0\n", "signals.csv:3:1: level `long` is not a number");
    fails("level\n1\n 1e999\n0\n", "signals.csv:3:2: level `1e999` is not a finite number");
    fails("ts,level\n1970-01-01,-inf\n", "signals.csv:2:12: level `-inf` is not a finite number");
    fails(
        "ts,level\n1970-01-01,1\n1970-01-05,1\n1970-01-03,1\n",
        "signals.csv: line 3: ts `1970-01-05` is not the time stamp of bar 1, 1970-01-02T00:00:00Z",
    );
    fails("level\n1\n0\n", "signals.csv: 2 levels for 3 bars; the file ends before bar 2 (1970-01-03T00:00:00Z)");
    fails("level\n1\n0\n1\n0\n1\n", "signals.csv: 5 levels for 3 bars; line 5 is the first without a bar");
    fails("ts,level\n1970-01-01\n", "signals.csv: line 2: not a CSV record");
    assert!(Signals::read(std::path::Path::new("/nowhere/s.csv"), &bars()).is_err());
}
