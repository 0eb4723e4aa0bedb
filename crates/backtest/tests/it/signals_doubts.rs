//! Signals files that could be read in two ways: what is chosen, what is said, what is refused.

use gigabar_backtest::policy::SignalsFile;
use gigabar_market::load::LoadOptions;

use super::signals::{bars, given, outcome, same, several};

/// The error of a text beside bars of `symbol`, and its hint.
fn refused(text: &str, symbol: Option<&str>) -> (String, String) {
    let given = given("signals.csv", text.as_bytes());
    let bars = symbol.map_or_else(bars, |symbol| bars().with_symbol(symbol));
    let error = SignalsFile::read(&given.path, &bars, &LoadOptions::default()).unwrap_err();
    let folder = format!("{}/", given.path.parent().unwrap().display());
    (error.to_string().replace(&folder, ""), error.hint().unwrap())
}

fn of(symbol: &str, text: &str) -> SignalsFile {
    outcome(&given("signals.csv", text.as_bytes()), &bars().with_symbol(symbol), &LoadOptions::default()).unwrap()
}

const TWO: &str = "ts,level,symbol\n2024-01-02,1,AAA\n2024-01-02,-1,BBB\n2024-01-03,0.5,AAA\n2024-01-03,-0.5,BBB\n\
                   2024-01-04,0,AAA\n2024-01-04,word,BBB\n";

#[test]
fn rows_of_the_bars_symbol_are_taken() {
    for symbol in ["AAA", "aaa"] {
        let file = of(symbol, TWO);
        assert_eq!(file.strategies[0].levels(), [1.0, 0.5, 0.0]);
        assert!(file.notes[0].ends_with("the rows of AAA are taken, those of another symbol passed over"));
    }
    // As it is written goes before another case of it.
    let cases = "symbol,level\naaa,1\nAAA,0\naaa,1\nAAA,0\naaa,1\nAAA,0\n";
    assert_eq!(of("AAA", cases).strategies[0].levels(), [0.0; 3]);
    let wide = "ts,Ticker,a,b\n2024-01-02,X,1,0\n2024-01-02,Y,9,9\n2024-01-03,X,1,0\n2024-01-04,X,1,0\n";
    same(&of("X", wide), &[("a", &[1.0; 3]), ("b", &[0.0; 3])]);
    let both = "ts,ticker,symbol,a\n2024-01-02,7,X,1\n2024-01-03,7,X,1\n2024-01-04,7,X,0\n";
    same(&of("X", both), &[("a", &[1.0, 1.0, 0.0])]);
    let long = "symbol,strategy,level\nX,a,1\nY,a,2\nX,a,1\nX,b,0\nX,a,1\nX,b,0\nX,b,0\n";
    same(&of("X", long), &[("a", &[1.0; 3]), ("b", &[0.0; 3])]);
    // A word that may be a strategy's name as well.
    let asset = "ts,asset,a,b\n2024-01-02,X,1,0\n2024-01-03,X,1,0\n2024-01-04,X,1,0\n";
    same(&of("X", asset), &[("a", &[1.0; 3]), ("b", &[0.0; 3])]);
    assert_eq!(of("600519", "symbol,level\n600519,1\n600519,1\n600519,0\n").strategies[0].levels(), [1.0, 1.0, 0.0]);
}

#[test]
fn a_symbol_that_is_not_that_of_the_bars_is_told() {
    let (error, hint) = refused(TWO, Some("CCC"));
    assert_eq!(error, "signals.csv: no row has the bars' symbol CCC (found: AAA, BBB)");
    assert!(hint.contains("leave the column out"));
    let (error, hint) = refused(TWO, None);
    assert_eq!(error, "signals.csv: levels of 2 symbols (AAA, BBB), and the bars do not say which is theirs");
    assert!(hint.contains("--symbol AAA") && hint.contains("`strategy`"));
    let one = several("symbol,level\nAAA,1\nAAA,0\nAAA,1\n").unwrap();
    assert_eq!(one.strategies[0].levels(), [1.0, 0.0, 1.0]);
    assert!(one.notes[0].ends_with("its levels are those of AAA; the bars have no symbol"), "{:?}", one.notes);
    assert_eq!(refused("symbol,level\nA,1\n,0\nA,1\n", Some("A")).0, "signals.csv:3:1: the row has no symbol");
    let none = several("symbol,level\n,1\n,0\n,1\n").unwrap();
    assert_eq!((none.strategies[0].levels(), none.notes.len()), (&[1.0, 0.0, 1.0][..], 0));
    let (error, hint) = refused("ts,pair,a\n2024-01-02,1,0\n", None);
    assert_eq!(error, "signals.csv:1:4: `pair` holds numbers: a strategy's levels, or symbols");
    assert!(hint.contains("call symbols `symbol`"));
}

#[test]
fn numbers_beside_the_levels_are_not_dropped() {
    let day = |rest: &str| (2..5).map(|day| format!("2024-01-0{day},{rest}\n")).collect::<String>();
    let beside = |header: &str, rest: &str| refused(&format!("{header}\n{}", day(rest)), None);
    for (header, rest, column, more) in [
        ("ts,level,momentum", "1,0", "4: `level`", "momentum"),
        ("ts,signal,level", "1,0", "11: `level`", "signal"),
        ("ts,level,low vol", "1,0", "4: `level`", "low vol"),
        ("ts,level,max", "1,0", "4: `level`", "max"),
    ] {
        let (error, hint) = beside(header, rest);
        let want = format!("signals.csv:1:{column} is the level of one strategy, or one of several beside {more}");
        assert_eq!(error, want);
        assert!(hint.contains("leave out"), "{hint}");
    }
    let (error, _) = beside("ts,level,level", "1,0");
    assert_eq!(error, "signals.csv:1:10: columns 2 and 3 are both called `level`");
    let (error, hint) = beside("ts,strategy,level,weight", "a,1,2");
    assert_eq!(error, "signals.csv:1:13: beside `level` there are more numbers: weight");
    assert_eq!(hint, "leave out what is no level");
    for (header, rest) in [
        ("ts,level,comment", "1,x"),
        ("ts,level,empty", "1,"),
        ("index,ts,level", "1,1"),
        ("Unnamed: 0,ts,level", "1,1"),
        ("ts,close,level", "9,1"),
        ("ts,open,high,low,close,volume,level", "9,9,9,9,9,1"),
    ] {
        let rows = if header.starts_with("ts") {
            day(rest)
        } else {
            (2..5).map(|day| format!("{day},2024-01-0{day},1\n")).collect()
        };
        let file = several(&format!("{header}\n{rows}")).unwrap_or_else(|error| panic!("{header}: {error}"));
        assert_eq!(file.strategies[0].levels(), [1.0; 3], "{header}");
        assert_eq!(file.notes.len(), 1, "{header}");
    }
    let file = several("index,ts,a\n0,2024-01-02,1\n1,2024-01-03,1\n2,2024-01-04,1\n").unwrap();
    same(&file, &[("a", &[1.0; 3])]);
}

#[test]
fn a_column_named_as_one_of_bars_is_no_strategy_beside_others() {
    let day = |rest: &str| (2..5).map(|day| format!("2024-01-0{day},{rest}\n")).collect::<String>();
    for (header, rest, named) in [
        ("Date,Close,mystrat", "211.5,1", "Close is named as one"),
        ("Date,volume,mystrat", "9,1", "volume is named as one"),
        ("ts,mystrat,ADJ_CLOSE", "1,9", "ADJ_CLOSE is named as one"),
        ("ts,Adj. Close,mystrat,<VOL>,<VOLUME>", "9,1,0,7", "Adj. Close, <VOLUME> are named as those"),
        ("ts,open,mystrat,price", "9,1,9", "open, price are named as those"),
    ] {
        let file = several(&format!("{header}\n{}", day(rest))).unwrap_or_else(|error| panic!("{header}: {error}"));
        // `vol` may be a strategy's.
        let vol: &[(&str, &[f64])] = if header.contains("<VOL>") { &[("<VOL>", &[0.0; 3])] } else { &[] };
        same(&file, &[&[("mystrat", &[1.0; 3][..])], vol].concat());
        let want = format!("signals.csv: {named} of bars and left aside; a strategy needs another name");
        assert!(file.notes.len() == 1 && file.notes[0].ends_with(&want), "{:?}", file.notes);
    }
    // Where no column has another name, they are meant.
    let alone = several(&format!("Date,Close\n{}", day("1"))).unwrap();
    same(&alone, &[("Close", &[1.0; 3])]);
    let both = several(&format!("ts,open,close\n{}", day("1,0"))).unwrap();
    same(&both, &[("open", &[1.0; 3]), ("close", &[0.0; 3])]);
    assert!(alone.notes.is_empty() && both.notes.is_empty());
    // A name that only begins so is a strategy's.
    let more = several(&format!("ts,close to open,b\n{}", day("1,0"))).unwrap();
    same(&more, &[("close to open", &[1.0; 3]), ("b", &[0.0; 3])]);
}

#[test]
fn a_mark_for_a_missing_level_is_none() {
    for text in ["1.797e308", "-1.7976931348623157e308", "1e7", "-1000000.1", "999999999"] {
        let (error, hint) = refused(&format!("ts,a,b\n2024-01-02,1,0\n2024-01-03,1,{text}\n"), None);
        assert_eq!(error, format!("signals.csv:3:14, strategy b: level `{text}` is beyond ±1000000"));
        assert!(hint.contains("leave the cell empty"));
    }
    assert!(several("level\n1000000\n-1e6\n0\n").is_ok());
}

#[test]
fn names_move_no_cursor() {
    let long = "x".repeat(5000);
    for (name, why) in [
        ("a\u{1b}[2J", "holds the control character U+001B"),
        ("a\u{7}", "holds the control character U+0007"),
        ("a\u{202e}b", "holds the control character U+202E"),
        (&*long, "has 5000 characters, more than 200"),
    ] {
        let (error, hint) = refused(&format!("ts,{name}\n2024-01-02,1\n"), None);
        assert_eq!(error, format!("signals.csv:1:4: the strategy's name {why}"));
        assert!(hint.contains("200 characters"));
        let (error, _) = refused(&format!("strategy,level\n{name},1\n"), None);
        assert_eq!(error, format!("signals.csv:2:1: the strategy's name {why}"));
    }
    let (error, _) = refused("ts,a\n2024-01-02,\u{1b}[31mred\n", None);
    assert!(!error.contains('\u{1b}') && error.contains("\\u{1b}[31mred"), "{error}");
}

#[test]
fn names_in_latin_1_are_read() {
    for text in [
        &b"ts,niv\xe5\n2024-01-02,1\n2024-01-03,1\n2024-01-04,1\n"[..],
        b"ts,strategy,level\n2024-01-02,niv\xe5,1\n2024-01-03,niv\xe5,1\n2024-01-04,niv\xe5,1\n",
    ] {
        let file = outcome(&given("signals.csv", text), &bars(), &LoadOptions::default()).unwrap();
        same(&file, &[("nivå", &[1.0; 3])]);
    }
}

#[test]
fn true_is_long_and_false_is_flat() {
    let file = several("ts,a\n2024-01-02,True\n2024-01-03,False\n2024-01-04,true\n").unwrap();
    same(&file, &[("a", &[1.0, 0.0, 1.0])]);
}

#[test]
fn comments_above_the_names_are_passed_over() {
    let file =
        several("# made by hand\n# on Tuesday, late\nts,level\n2024-01-02,1\n2024-01-03,0\n2024-01-04,1\n").unwrap();
    assert_eq!(file.strategies[0].levels(), [1.0, 0.0, 1.0]);
    let (error, _) = refused("My model\n\nts;a;b\n2024-01-02;1;x\n", None);
    assert_eq!(error, "signals.csv:4:14, strategy b: level `x` is not a number");
}

#[test]
fn epochs_are_shown_with_their_date() {
    let (error, _) = refused("ts,level\n1704063600000,1\n", None);
    assert!(error.contains("ts `1704063600000 (2023-12-31T23:00:00Z)` is not the time stamp of bar 0"), "{error}");
}

#[test]
fn stamps_that_are_not_those_of_resampled_bars_say_so() {
    let options = LoadOptions { resample: Some("1w".into()), ..LoadOptions::default() };
    for text in ["ts,level\n2024-01-03,1\n", "level\n1\n1\n"] {
        let given = given("signals.csv", text.as_bytes());
        let hint = |options| SignalsFile::read(&given.path, &bars(), options).unwrap_err().hint().unwrap();
        assert!(hint(&options).contains("with --resample 1w those are the bars of 1w"), "{}", hint(&options));
        assert!(!hint(&LoadOptions::default()).contains("--resample"));
    }
}
