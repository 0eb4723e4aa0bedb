//! Signals files that fit their bars, in every layout and format, and every way in which they may not.

use std::path::{Path, PathBuf};

use gigabar_backtest::policy::{Policy, SignalsError, SignalsFile};
use gigabar_market::load::LoadOptions;
use gigabar_market::time::{DAY_NS, parse_iso};
use gigabar_market::{BarColumns, Bars};

fn bars_from(first: &str, n: usize, step_ns: i64) -> Bars {
    let first = parse_iso(first).unwrap();
    let price = vec![10.0; n];
    let ts = (0..n as i64).map(|t| first + t * step_ns).collect();
    let volume = vec![0.0; n];
    Bars::new(BarColumns { ts, open: price.clone(), high: price.clone(), low: price.clone(), close: price, volume })
        .unwrap()
}

/// 2, 3 and 4 January 2024.
pub(crate) fn bars() -> Bars {
    bars_from("2024-01-02", 3, DAY_NS)
}

/// A file in a folder that goes away.
pub(crate) struct Given {
    folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn given(name: &str, bytes: &[u8]) -> Given {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    Given { folder, path }
}

/// What was read, or the error without the file's folder.
pub(crate) fn outcome(given: &Given, bars: &Bars, options: &LoadOptions) -> Result<SignalsFile, String> {
    SignalsFile::read(&given.path, bars, options)
        .map_err(|e| e.to_string().replace(&format!("{}/", given.folder.path().display()), ""))
}

fn strategies(file: &SignalsFile) -> Vec<(String, Vec<f64>)> {
    file.strategies.iter().map(|one| (one.name(), one.levels().to_vec())).collect()
}

/// NaN equals NaN here.
pub(crate) fn same(got: &SignalsFile, want: &[(&str, &[f64])]) {
    let want: Vec<(String, Vec<f64>)> = want.iter().map(|(name, levels)| ((*name).into(), levels.to_vec())).collect();
    assert_eq!(format!("{:?}", strategies(got)), format!("{want:?}"));
}

/// The levels of a file of one strategy.
fn read(text: &str) -> Result<Vec<f64>, String> {
    let file = outcome(&given("signals.csv", text.as_bytes()), &bars(), &LoadOptions::default())?;
    assert_eq!(file.strategies.len(), 1);
    Ok(file.strategies[0].levels().to_vec())
}

pub(crate) fn several(text: &str) -> Result<SignalsFile, String> {
    outcome(&given("signals.csv", text.as_bytes()), &bars(), &LoadOptions::default())
}

#[test]
fn levels_alone_or_with_time_stamps() {
    assert_eq!(read("level\n1\n-0.5\n0\n"), Ok(vec![1.0, -0.5, 0.0]));
    assert_eq!(
        read("ts,level\n2024-01-02,1\n2024-01-03T00:00:00Z,0.25\n1704326400000000000,0\n"),
        Ok(vec![1.0, 0.25, 0.0])
    );
    let gap = read("ts,level\n2024-01-02,1\n2024-01-03,\n2024-01-04,NaN\n").unwrap();
    assert!(gap[1] == 0.0 && gap[2].is_nan(), "nothing is flat, NaN went wrong where it was computed");
    let path = given("signals.csv", b"level\n1\n0\n1\n");
    let file = SignalsFile::read(&path.path, &bars(), &LoadOptions::default()).unwrap();
    assert_eq!(file.strategies[0].name(), format!("signals:{}", path.path.display()));
}

#[test]
fn columns_may_stand_apart_by_semicolons_tabs_or_bars() {
    assert_eq!(read("ts;level\n2024-01-02;1\n2024-01-03;-0,5\n2024-01-04;0.25\n"), Ok(vec![1.0, -0.5, 0.25]));
    assert_eq!(read("level\tts\n1\t2024-01-02\n0,5\t2024-01-03\n0\t2024-01-04\n"), Ok(vec![1.0, 0.5, 0.0]));
    assert_eq!(read("Date|Level\r\n2024-01-02|1\r\n2024-01-03|0\r\n2024-01-04|1\r\n"), Ok(vec![1.0, 0.0, 1.0]));
    assert_eq!(
        read("ts;level\n2024-01-02;1\n2024-01-03;1,5,0\n"),
        Err("signals.csv:3:12: level `1,5,0` is not a number".to_owned())
    );
    assert_eq!(
        read("level\n0,5\n1\n0\n"),
        Err("signals.csv, line 2: 2 fields, expected 1".to_owned()),
        "a comma that separates nothing else may be a decimal one or a second field"
    );
}

#[test]
fn a_column_per_strategy() {
    let file = several("ts,slow,Fast RSI\n2024-01-02,1,-1\n2024-01-03,,0.5\n2024-01-04,null,0\n").unwrap();
    same(&file, &[("slow", &[1.0, 0.0, 0.0]), ("Fast RSI", &[-1.0, 0.5, 0.0])]);
    assert_eq!(file.notes, Vec::<String>::new());
    same(
        &several("slow\tfast\n1\t0,5\n0\t0\n1\t1\n").unwrap(),
        &[("slow", &[1.0, 0.0, 1.0]), ("fast", &[0.5, 0.0, 1.0])],
    );
    same(
        &several("TIMESTAMP,only\n2024-01-02,1\n2024-01-03,1\n2024-01-04,0\n").unwrap(),
        &[("only", &[1.0, 1.0, 0.0])],
    );
    // As pandas writes an index without a name, and a number for a name.
    same(
        &several(",0,1\n2024-01-02,1,0\n2024-01-03,1,0\n2024-01-04,0,1\n").unwrap(),
        &[("0", &[1.0, 1.0, 0.0]), ("1", &[0.0, 0.0, 1.0])],
    );
    let rule = "ts;\"sma(10;20)\";rsi\n2024-01-02;0,5;1\n2024-01-03;0;1\n2024-01-04;0;1\n";
    same(&several(rule).unwrap(), &[("sma(10;20)", &[0.5, 0.0, 0.0]), ("rsi", &[1.0, 1.0, 1.0])]);
}

#[test]
fn rows_per_strategy_in_turns_or_one_after_the_other() {
    let want: [(&str, &[f64]); 2] = [("b", &[1.0, 0.0, 0.5]), ("a", &[-1.0, 0.0, 0.0])];
    let turns = "ts,strategy,level\n2024-01-02,b,1\n2024-01-02,a,-1\n2024-01-03,b,0\n2024-01-03,a,\n2024-01-04,a,0\n\
                 2024-01-04,b,0.5\n";
    same(&several(turns).unwrap(), &want);
    let blocks = "Strategy,Level,Date\nb,1,2024-01-02\nb,0,2024-01-03\nb,0.5,2024-01-04\na,-1,2024-01-02\na,,2024-01-03\n\
                  a,0,2024-01-04\n";
    same(&several(blocks).unwrap(), &want);
    let without_stamps = "strategy,level\nb,1\na,-1\nb,0\na,null\nb,0.5\na,0\n";
    same(&several(without_stamps).unwrap(), &want);
}

#[test]
fn what_belongs_to_bars_is_left_aside_with_a_note() {
    let header = "ts,open,high,low,close,volume";
    let rows = |levels: [&str; 3]| -> String {
        (2..5).zip(levels).map(|(day, level)| format!("2024-01-0{day},1,1,1,1,5,{level}\n")).collect()
    };
    let file = several(&format!("{header},position\n{}", rows(["1", "0", "1"]))).unwrap();
    assert_eq!(file.strategies[0].levels(), [1.0, 0.0, 1.0]);
    assert!(file.notes[0].ends_with("columns left aside: open, high, low, close, volume"), "{:?}", file.notes);
    let file = several(&format!("{header},a,b\n{}", rows(["1,0", "0,1", "1,1"]))).unwrap();
    same(&file, &[("a", &[1.0, 0.0, 1.0]), ("b", &[0.0, 1.0, 1.0])]);
    // Neither a whole bar: they are strategies.
    same(&several("low,high\n1,0\n1,0\n1,0\n").unwrap(), &[("low", &[1.0; 3]), ("high", &[0.0; 3])]);
    let file = several("ts,level,comment\n2024-01-02,1,x\n2024-01-03,1,y\n2024-01-04,0,z\n").unwrap();
    assert!(file.notes[0].ends_with("columns left aside: comment"));
    let message = "signals.csv:1:4: `signal` is the level of one strategy, or one of several beside trend";
    assert_eq!(several("ts,signal,trend\n2024-01-02,1,1\n").unwrap_err(), message);
}

#[test]
fn stamps_are_read_in_the_zone_of_the_bars() {
    let given = given("signals.csv", b"ts,a,b\n2024-01-02,1,0\n2024-01-03,0,0\n2024-01-04 00:00,1,1\n");
    let bars = bars_from("2024-01-02T05:00:00Z", 3, DAY_NS);
    let options = LoadOptions { tz: Some("America/New_York".into()), ..LoadOptions::default() };
    assert_eq!(outcome(&given, &bars, &options).unwrap().strategies.len(), 2);
    let message = "signals.csv:2:1: ts `2024-01-02` is not the time stamp of bar 0, 2024-01-02T05:00:00Z; it lies before \
                   the first bar";
    assert_eq!(outcome(&given, &bars, &LoadOptions::default()).unwrap_err(), message);
}

#[test]
fn the_hour_that_occurs_twice_is_told_for_each_strategy() {
    // Clocks go back at 06:00 UTC.
    let bars = bars_from("2024-11-03T04:00:00Z", 4, DAY_NS / 24);
    let hours = ["00:00", "01:00", "01:00", "02:00"];
    let row = |hour: &str, name: &str| format!("2024-11-03 {hour},{name},1\n");
    let options = LoadOptions { tz: Some("America/New_York".into()), ..LoadOptions::default() };
    let turns: String = hours.iter().map(|hour| row(hour, "a") + &row(hour, "b")).collect();
    let blocks: String = ["a", "b"].iter().flat_map(|name| hours.iter().map(|hour| row(hour, name))).collect();
    for rows in [turns, blocks] {
        let given = given("signals.csv", format!("ts,strategy,level\n{rows}").as_bytes());
        assert_eq!(outcome(&given, &bars, &options).map(|file| file.strategies.len()), Ok(2), "{rows}");
    }
}

#[test]
fn rows_where_the_bars_were_cut_are_passed_over() {
    let day = |day: usize| format!("2024-01-{day:02},{day},-1\n");
    let text = |days: &[usize]| format!("ts,a,b\n{}", days.iter().map(|&d| day(d)).collect::<String>());
    let cut = |from: bool, to: bool| LoadOptions {
        from: from.then(|| "2024-01-02".into()),
        to: to.then(|| "2024-01-04".into()),
        ..LoadOptions::default()
    };
    let read = |days: &[usize], options| outcome(&given("s.csv", text(days).as_bytes()), &bars(), &options);
    let file = read(&[1, 2, 3, 4, 5, 6], cut(true, true)).unwrap();
    same(&file, &[("a", &[2.0, 3.0, 4.0]), ("b", &[-1.0; 3])]);
    assert!(read(&[1, 2, 3, 4], cut(true, false)).is_ok() && read(&[2, 3, 4, 5], cut(false, true)).is_ok());
    for (days, options, line, why) in [
        (
            &[1, 2, 3, 4][..],
            cut(false, true),
            2,
            "not the time stamp of bar 0, 2024-01-02T00:00:00Z; it lies before the first bar",
        ),
        (&[2, 3, 4, 5][..], cut(true, false), 5, "not that of a bar: all 3 have their row; it lies after the last bar"),
        (
            &[1, 2, 4, 5][..],
            cut(true, true),
            4,
            "not the time stamp of bar 1, 2024-01-03T00:00:00Z; one bar has no row",
        ),
        (
            &[1, 2, 3, 5][..],
            cut(true, true),
            5,
            "not the time stamp of bar 2, 2024-01-04T00:00:00Z; it lies after the last bar",
        ),
        (
            &[2, 3, 1, 4][..],
            cut(true, true),
            4,
            "not the time stamp of bar 2, 2024-01-04T00:00:00Z; it lies before the first bar",
        ),
    ] {
        let day = days[line - 2];
        let want = format!("s.csv:{line}:1: ts `2024-01-{day:02}` is {why}");
        assert_eq!(read(days, options).unwrap_err(), want, "{days:?}");
    }
    // What is wrong outside does not matter.
    let broken = given("s.csv", b"ts,a\n2023-12-01,?\n2024-01-02,1\n2024-01-03,1\n2024-01-04,1\n");
    assert!(outcome(&broken, &bars(), &cut(true, false)).is_ok());
}

#[test]
fn mistakes_name_the_place() {
    let fails = |text: &str, message: &str| assert_eq!(several(text).unwrap_err(), message);
    fails("ts\n2024-01-02\n", "signals.csv:1:1: no column of levels (found: ts)");
    fails(
        "ts,strategy\n2024-01-02,a\n",
        "signals.csv:1:1: no column of levels beside `strategy` (found: ts, strategy)",
    );
    fails(
        "2024-01-02,1\n2024-01-03,1\n2024-01-04,1\n",
        "signals.csv:1:1: `2024-01-02` is a time stamp, where the names of the columns should be",
    );
    fails("ts,a,a\n", "signals.csv:1:6: columns 2 and 3 are both called `a`");
    fails("ts,a, \n", "signals.csv:1:6: column 3 has no name");
    fails(",ts,a\n0,2024-01-02,1\n", "signals.csv:1:1: column 1 has no name");
    fails(",a\n0,1\n1,1\n2,0\n", "signals.csv:2:1: `0` is not a time stamp");
    fails("level\n1\nlong\n0\n", "signals.csv:3:1: level `long` is not a number");
    fails("level\n1\n 1e999\n0\n", "signals.csv:3:2: level `1e999` is not a finite number");
    fails("ts,level\n2024-01-02,-inf\n", "signals.csv:2:12: level `-inf` is not a finite number");
    fails("ts,a,b\n2024-01-02,1,long\n", "signals.csv:2:14, strategy b: level `long` is not a number");
    fails("strategy,level\na,1\na,inf\n", "signals.csv:3:3, strategy a: level `inf` is not a finite number");
    fails("strategy,level\na,1\n,1\n", "signals.csv:3:1: the strategy has no name");
    fails("ts,level\n2024-01-02,1\nlater,1\n", "signals.csv:3:1: `later` is not a time stamp");
    fails(
        "ts,level\n2024-01-02,1\n2024-01-05,1\n2024-01-03,1\n",
        "signals.csv:3:1: ts `2024-01-05` is not the time stamp of bar 1, 2024-01-03T00:00:00Z; it lies after the last bar",
    );
    fails(
        "ts,strategy,level\n2024-01-02,a,1\n2024-01-02,b,1\n2024-01-03,a,1\n2024-01-02,b,1\n",
        "signals.csv:5:1, strategy b: ts `2024-01-02` is not the time stamp of bar 1, 2024-01-03T00:00:00Z; it is that of \
         bar 0, which had its row before",
    );
    fails(
        "ts,a,b\n2024-01-02 12:00,1,0\n",
        "signals.csv:2:1: ts `2024-01-02 12:00` is not the time stamp of bar 0, 2024-01-02T00:00:00Z; no bar has it",
    );
    fails("level\n1\n0\n", "signals.csv: 2 levels for 3 bars; the file ends before bar 2 (2024-01-04T00:00:00Z)");
    fails("level\n1\n0\n1\n0\n1\n", "signals.csv: 5 levels for 3 bars; line 5 is the first without a bar");
    fails(
        "strategy,level\na,1\na,0\na,1\nb,0\n",
        "signals.csv, strategy b: 1 levels for 3 bars; its rows end before bar 1 (2024-01-03T00:00:00Z)",
    );
    fails("ts,level\n2024-01-02\n", "signals.csv, line 2: 1 fields, expected 2");
    fails("ts,strategy,level\n", "signals.csv: 0 levels for 3 bars; the file ends before bar 0 (2024-01-02T00:00:00Z)");
    assert!(SignalsFile::read(Path::new("/nowhere/s.csv"), &bars(), &LoadOptions::default()).is_err());
}

/// What to do is said wherever something can be done.
#[test]
fn every_mistake_has_a_hint() {
    let hint = |text: &str| {
        let given = given("signals.csv", text.as_bytes());
        let error: SignalsError = SignalsFile::read(&given.path, &bars(), &LoadOptions::default()).unwrap_err();
        error.hint().unwrap()
    };
    assert!(hint("ts\n2024-01-02\n").contains("`ts,strategy,level`"));
    assert!(hint(",ts,a\n0,2024-01-02,1\n").contains("index=False"));
    assert!(hint(",a\n0,1\n").contains("index=False"));
    assert!(hint("level\nbuy\n").contains("NaN (or nothing) means flat"));
    assert!(hint("level\n1\n").contains("below a line of names"));
    assert!(hint("ts,level\n2024-01-02\n").contains("a field for every name"));
    assert!(hint("ts,level\n2024-01-03,1\n").contains("a row without a level is flat"));
    assert!(hint("ts,level\n2024-01-02 12:00,1\n").contains("--tz"));
    assert!(hint("ts,level\n2023-01-02,1\n").contains("--from or --to"));
    assert!(hint("ts,signal,trend\n2024-01-02,1,1\n").contains("leave out what is not"));
}

#[test]
fn packed_files_are_unpacked() {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(b"ts,a,b\n2024-01-02,1,0\n2024-01-03,1,0\n2024-01-04,1,0\n").unwrap();
    let given = given("signals.csv.gz", &packer.finish().unwrap());
    let file = outcome(&given, &bars(), &LoadOptions::default()).unwrap();
    same(&file, &[("a", &[1.0; 3]), ("b", &[0.0; 3])]);
}

/// A file that pandas or polars wrote, see files/make_signals.py.
fn parquet(name: &str) -> Result<SignalsFile, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/files").join(name);
    let error = |e: SignalsError| e.to_string().replace(&format!("{}/", path.parent().unwrap().display()), "");
    SignalsFile::read(&path, &bars(), &LoadOptions::default()).map_err(error)
}

#[test]
fn parquet_as_pandas_and_polars_write_it() {
    let want: [(&str, &[f64]); 2] = [("slow", &[1.0, 0.0, 0.0]), ("fast", &[-1.0, 0.5, 0.25])];
    for name in ["pandas_wide", "pandas_zone", "pandas_long", "polars_wide", "polars_long"] {
        let file = parquet(&format!("{name}.parquet")).unwrap();
        same(&file, &want);
        assert_eq!(file.notes, Vec::<String>::new(), "{name}");
    }
    let types: [(&str, &[f64]); 5] = [
        ("d256", &[1.0, -0.5, 0.0]),
        ("d128", &[1.0, -0.5, 0.0]),
        ("half", &[1.0, -0.5, 0.0]),
        ("f32", &[1.0, -0.5, 0.0]),
        ("none", &[0.0; 3]),
    ];
    same(&parquet("types.parquet").unwrap(), &types);
    same(&parquet("polars_null.parquet").unwrap(), &[("a", &[1.0, 1.0, 0.0]), ("none", &[0.0; 3])]);
    let positions: [(&str, &[f64]); 2] = [("slow", &[1.0, 0.0, 0.0]), ("fast", &[1.0, 0.0, 1.0])];
    same(&parquet("booleans.parquet").unwrap(), &positions);
    let fails = |name: &str, message: &str| assert_eq!(parquet(name).unwrap_err(), message);
    fails(
        "infinite.parquet",
        "infinite.parquet, row 2, column fast, strategy fast: level `inf` is not a finite number",
    );
    fails("large.parquet", "large.parquet, row 2, column a, strategy a: level `1234567.5` is beyond ±1000000");
    fails(
        "gap.parquet",
        "gap.parquet, row 2, column __index_level_0__: ts `2024-01-04T00:00:00` is not the time stamp of bar 1, \
         2024-01-03T00:00:00Z; one bar has no row",
    );
    fails(
        "twice.parquet",
        "twice.parquet, row 5, column ts, strategy fast: ts `2024-01-02T00:00:00` is not the time stamp of bar 1, \
         2024-01-03T00:00:00Z; it is that of bar 0, which had its row before",
    );
}
