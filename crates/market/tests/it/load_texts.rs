//! The loader on texts written here: dialects, errors to the letter, repairs.

use std::io::Write;
use std::path::PathBuf;

use gigabar_market::check::check;
use gigabar_market::load::{DateOrder, LoadError, LoadOptions, Loaded, load};
use gigabar_market::time::{iso, parse_iso};
use tempfile::TempDir;

/// A file in a folder of its own, gone with the guard.
pub(super) fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bars.csv");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

pub(super) fn load_with(bytes: impl AsRef<[u8]>, options: &LoadOptions) -> Result<Loaded, LoadError> {
    let (_folder, path) = file(bytes.as_ref());
    load(&path, options)
}

fn good(text: impl AsRef<[u8]>) -> Loaded {
    load_with(text, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// The message after the path, and the hint.
fn refused_with(text: impl AsRef<[u8]>, options: &LoadOptions) -> (String, String) {
    let error = load_with(text, options).unwrap_err();
    let message = error.to_string();
    let after = message.split_once("bars.csv").map_or(message.as_str(), |(_, after)| after).to_owned();
    (after, error.hint().unwrap_or_default())
}

fn refused(text: impl AsRef<[u8]>) -> (String, String) {
    refused_with(text, &LoadOptions::default())
}

fn repaired(text: &str) -> Loaded {
    load_with(text, &LoadOptions { repair: true, ..LoadOptions::default() }).unwrap_or_else(|e| panic!("{e}"))
}

fn columns(given: &str) -> LoadOptions {
    LoadOptions { columns: Some(given.to_owned()), ..LoadOptions::default() }
}

fn stamps(loaded: &Loaded) -> Vec<String> {
    loaded.bars.ts().iter().map(|&ts| iso(ts)).collect()
}

/// Two bars in many hands: the same table whatever the dialect.
#[test]
fn one_table_in_many_dialects() {
    let dialects: [(&str, &str); 24] = [
        (
            "plain",
            "timestamp,open,high,low,close,volume\n2024-01-15 09:30:00,10,12,9,11,100\n2024-01-15 09:31:00,11,13,10,12,200\n",
        ),
        ("iso Z", "Time,O,H,L,C,V\n2024-01-15T09:30:00Z,10,12,9,11,100\n2024-01-15T09:31:00.000Z,11,13,10,12,200\n"),
        (
            "offset",
            "datetime,open,high,low,close,volume\n2024-01-15T10:30:00+01:00,10,12,9,11,100\n2024-01-15 04:31:00-0500,11,13,10,12,200\n",
        ),
        (
            "metatrader 5",
            "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n2024.01.15\t09:30:00\t10\t12\t9\t11\t100\t0\t1\n2024.01.15\t09:31:00\t11\t13\t10\t12\t200\t0\t1\n",
        ),
        ("metatrader 4", "2024.01.15,09:30,10,12,9,11,100\n2024.01.15,09:31,11,13,10,12,200\n"),
        ("histdata", "20240115 093000;10;12;9;11;100\n20240115 093100;11;13;10;12;200\n"),
        (
            "stooq",
            "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\nX.US,1,20240115,093000,10,12,9,11,100,0\nX.US,1,20240115,93100,11,13,10,12,200,0\n",
        ),
        (
            "binance ms",
            "1705311000000,10,12,9,11,100,1705311059999,1,2,3,4,0\n1705311060000,11,13,10,12,200,1705311119999,1,2,3,4,0\n",
        ),
        (
            "binance us",
            "1705311000000000,10,12,9,11,100,1705311059999999,1,2,3,4,0\n1705311060000000,11,13,10,12,200,1705311119999999,1,2,3,4,0\n",
        ),
        (
            "binance header",
            "open_time,open,high,low,close,volume,close_time,quote_volume,count\n1705311000000,10,12,9,11,100,1705311059999,1,2\n1705311060000,11,13,10,12,200,1705311119999,1,2\n",
        ),
        (
            "alpha vantage",
            "timestamp,1. open,2. high,3. low,4. close,5. volume\n2024-01-15 09:31:00,11,13,10,12,200\n2024-01-15 09:30:00,10,12,9,11,100\n",
        ),
        (
            "polygon",
            "open,high,low,close,volume,vwap,timestamp,transactions,otc\n10,12,9,11,100,10,2024-01-15 09:30:00,3,\n11,13,10,12,200,10,2024-01-15 09:31:00,3,\n",
        ),
        (
            "polygon flat file",
            "ticker,volume,open,close,high,low,window_start,transactions\nX,100,10,11,12,9,1705311000000000000,3\nX,200,11,12,13,10,1705311060000000000,3\n",
        ),
        (
            "tradingview",
            "time,open,high,low,close,Volume,Volume MA\n1705311000,10,12,9,11,100,7\n1705311060,11,13,10,12,200,7\n",
        ),
        (
            "cryptodatadownload",
            "https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,Volume USD\n1705311060,2024-01-15 09:31:00,BTC/USD,11,13,10,12,200,2400\n1705311000,2024-01-15 09:30:00,BTC/USD,10,12,9,11,100,1100\n",
        ),
        (
            "am pm",
            "date,open,high,low,close,volume\n2024-01-15 09:30 AM,10,12,9,11,100\n2024-01-15 9:31 AM,11,13,10,12,200\n",
        ),
        (
            "month first",
            "Date,Open,High,Low,Close,Volume\n01/15/2024 09:30,10,12,9,11,100\n01/15/2024 09:31,11,13,10,12,200\n",
        ),
        (
            "day first",
            "Date,Open,High,Low,Close,Volume\n15/01/2024 09:30,10,12,9,11,100\n15/01/2024 09:31,11,13,10,12,200\n",
        ),
        (
            "dukascopy",
            "Gmt time,Open,High,Low,Close,Volume\n15.01.2024 09:30:00.000,10,12,9,11,100\n15.01.2024 09:31:00.000,11,13,10,12,200\n",
        ),
        (
            "month names",
            "Date,Open,High,Low,Close,Volume\n\"Jan 15, 2024 09:30\",10,12,9,11,100\n15-Jan-24 09:31,11,13,10,12,200\n",
        ),
        (
            "index column",
            ",Open,High,Low,Close,Volume\n2024-01-15 09:30,10,12,9,11,100\n2024-01-15 09:31,11,13,10,12,200\n",
        ),
        (
            "decimal comma",
            "Date;Open;High;Low;Close;Volume\n15.01.2024 09:30;10,0;12,0;9,0;11,0;100\n15.01.2024 09:31;11,0;13,0;10,0;12,0;200\n",
        ),
        (
            "bars and quotes",
            "\"Date\"|\"Open\"|\"High\"|\"Low\"|\"Close\"|\"Volume\"\r\n\"20240115 0930\"|\"10.0\"|$12|9|1.1e1|0.1K\r\n20240115 0931|11|13|10|12|200\r\n",
        ),
        (
            "blanks",
            "  Date       Time   Open  High  Low  Close  Volume\n2024/01/15   09:30   10   12   9   11   100\n2024/01/15   09:31   11   13   10   12   200\n",
        ),
    ];
    let plain = good(dialects[0].1).bars.into_columns();
    assert_eq!(plain.ts[0], parse_iso("2024-01-15T09:30:00Z").unwrap());
    assert_eq!((plain.low[1], plain.volume[1]), (10.0, 200.0));
    for (name, text) in dialects {
        assert_eq!(good(text).bars.into_columns(), plain, "{name}");
    }
}

#[test]
fn wrappings_are_undone() {
    let text = "date,open,high,low,close\n2024-01-01,1,2,1,2\n2024-01-02,1,2,1,2\n";
    let plain = good(text);
    let marked = [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat();
    let mut little = vec![0xff, 0xfe];
    text.encode_utf16().for_each(|unit| little.extend(unit.to_le_bytes()));
    let mut big = vec![0xfe, 0xff];
    text.encode_utf16().for_each(|unit| big.extend(unit.to_be_bytes()));
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zipped.write_all(text.as_bytes()).unwrap();
    for bytes in [marked, little.clone(), big, zipped.finish().unwrap()] {
        assert_eq!(good(&bytes).bars, plain.bars);
    }
    assert!(good(&little).dialect.starts_with("UTF-16, comma separated, header on line 1"));
    assert!(!plain.bars.has_volume());
    little.pop();
    assert_eq!(refused(&little).0, ", line 1: is not text (broken UTF-16)");
}

const HEAD: &str = "date,open,high,low,close,volume\n2024-01-01,10,12,9,11,5\n";

#[test]
fn bad_rows_are_named_by_line_and_column() {
    let cases = [
        ("2024-01-02,10,12,,11,5\n", ", line 3, column low: value missing (\"\")"),
        ("2024-01-02,10,12,NaN,11,5\n", ", line 3, column low: value missing (\"NaN\")"),
        ("2024-01-02,10,12,9,eleven,5\n", ", line 3, column close: \"eleven\" is not a number"),
        ("2024-01-02,10,inf,9,11,5\n", ", line 3, column high: \"inf\" is not a number"),
        ("2024-01-02,10,12,9,11,lots\n", ", line 3, column volume: \"lots\" is not a number"),
        ("2024-01-02,10,12,9,11,-5\n", ", line 3, column volume: -5 is negative"),
        ("2024-01-02,10,12,0,11,5\n", ", line 3, column low: price 0 is not above zero"),
        ("2024-01-02,-10,12,9,11,5\n", ", line 3, column open: price -10 is not above zero"),
        ("2024-01-02,10,8,9,11,5\n", ", line 3, column high: the bar's high 8 lies below its low 9"),
        ("2024-01-02,10,12,9,12.5,5\n", ", line 3, column close: 12.5 lies outside the bar's low 9 to high 12"),
        ("\r\n\n2024-01-01,10,12,9,11,5\n", ", line 5: time stamp 2024-01-01T00:00:00Z is already on line 2"),
        ("2024-01-02,10,12,9,11\n", ", line 3: 5 fields, expected 6"),
        ("2024-01-02,10,12,9,11,5,6\n", ", line 3: 7 fields, expected 6"),
        ("2024-13-02,10,12,9,11,5\n", ", line 3, column date: \"2024-13-02\" is not a time stamp"),
        ("2024-02-30,10,12,9,11,5\n", ", line 3, column date: \"2024-02-30\" is not a time stamp"),
        ("date,open,high,low,close,volume\n", ", line 3, column date: \"date\" is not a time stamp"),
    ];
    for (row, want) in cases {
        let (message, hint) = refused(format!("{HEAD}{row}2024-01-03,10,12,9,11,5\n"));
        assert_eq!(message, want, "{row:?}");
        assert!(hint.contains("--repair"), "{row:?}: {hint}");
    }
    let text = format!("{HEAD}2024-01-03,10,12,9,11,5\n2024-01-02,10,12,9,11,5\n2024-01-04,10,12,9,11,5\n");
    let want = ", line 4: time stamp 2024-01-02T00:00:00Z is earlier than 2024-01-03T00:00:00Z on line 3";
    assert_eq!(refused(text).0, want);
}

#[test]
fn files_without_bars_say_what_they_lack() {
    let cases = [
        ("", ": is empty"),
        ("\n \r\n", ": is empty"),
        ("date,open,high,low,close\n", ": holds 0 usable bars; at least 2 are needed"),
        (HEAD, ": holds 1 usable bars; at least 2 are needed"),
        ("to be\nor not to be\n", ": none of the first 2 lines is a header with a time and a price column, or a bar"),
        ("a,b\0\n", ", line 1: is not text (a zero byte)"),
        (
            "date,open,high,close\n2024-01-01,1,2,1\n",
            ", line 1: the header has no column for low; its columns are date, open, high, close",
        ),
        (
            "day0,first_x,top,bottom,final\n2024-01-01,1,2,1,2\n",
            ", line 1: the header has no column for time, open, high, low, close; its columns are day0, first_x, top, bottom, final",
        ),
        ("date,open,high,low,close\n2024-01-01,1,2,1,2,7,8\n", ", line 2: 7 fields, expected 5"),
        (
            "1705311000,10.5,3\n1705311001,10.6,4\n",
            ", line 1: 3 fields, 2 of them numbers after the time stamp; a bar without a header needs open, high, low and close",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(refused(text).0, want, "{text:?}");
    }
    for (bytes, want) in [
        (b"PK\x03\x04....".as_slice(), ": is broken zip: "),
        (b"PAR1....", ": is broken Parquet: "),
        (b"\x28\xb5\x2f\xfd....", ": is broken zstd: "),
        (b"DBN\x02....", ": is broken DBN: "),
        (b"\x1f\x8b\x08broken", ": is broken gzip: "),
        (b"BZh91AY", ": is a bzip2-compressed file, which is not read"),
    ] {
        let message = refused(bytes).0;
        assert!(message.starts_with(want), "{message}");
    }
}

#[test]
fn dates_that_read_both_ways_are_settled_by_order_or_by_asking() {
    let text = |days: [&str; 3]| {
        let rows: String = days.iter().map(|d| format!("{d},1,2,1,2\n")).collect();
        format!("Date,Open,High,Low,Close\n{rows}")
    };
    let ambiguous = text(["01/02/2024", "02/02/2024", "03/03/2024"]);
    let (message, hint) = refused(&ambiguous);
    let want = ", line 2, column Date: \"01/02/2024\" and every other date can be read day first or month first";
    assert_eq!((message.as_str(), hint.as_str()), (want, "say which: --date-order dmy or --date-order mdy"));
    let ordered = |date_order| {
        load_with(&ambiguous, &LoadOptions { date_order: Some(date_order), ..LoadOptions::default() }).unwrap()
    };
    assert_eq!(stamps(&ordered(DateOrder::Dmy))[0], "2024-02-01T00:00:00Z");
    assert_eq!(stamps(&ordered(DateOrder::Mdy))[0], "2024-01-02T00:00:00Z");
    // Only day first keeps these sorted.
    let sorted = good(text(["11/01/2024", "12/01/2024", "01/02/2024"]));
    assert_eq!(stamps(&sorted)[2], "2024-02-01T00:00:00Z");
    let (message, _) = refused(text(["01/13/2024", "13/01/2024", "02/03/2024"]));
    assert_eq!(message, ": \"13/01/2024\" on line 3 is day first, \"01/13/2024\" on line 2 month first");
    // A date of another kind far down is not read on a guess.
    let hours: String = (0..100).map(|i| format!("2024-01-{:02} {:02}:00,1,2,1,2\n", 1 + i / 24, i % 24)).collect();
    let (message, _) = refused(format!("Date,Open,High,Low,Close\n{hours}01/06/2024,1,2,1,2\n"));
    assert_eq!(message, ", line 102, column Date: \"01/06/2024\" is not a time stamp");
}

#[test]
fn time_zones_apply_to_stamps_without_offset_and_both_hours_of_the_fold_are_kept() {
    let tz = |name: &str| LoadOptions { tz: Some(name.to_owned()), ..LoadOptions::default() };
    let hours = ["00:00", "00:30", "01:00", "01:30", "01:00", "01:30", "02:00", "02:30"];
    let row = |hour: &&str| format!("2024-11-03 {hour},1,2,1,2\n");
    let rows: Vec<String> = hours.iter().map(row).collect();
    let head = "time,open,high,low,close\n".to_owned();
    let up = load_with(head.clone() + &rows.concat(), &tz("America/New_York")).unwrap();
    assert_eq!(stamps(&up)[0], "2024-11-03T04:00:00Z");
    assert!(up.bars.ts().windows(2).all(|w| w[1] - w[0] == 1_800_000_000_000), "{:?}", stamps(&up));
    let down: String = rows.iter().rev().map(String::as_str).collect();
    let down = load_with(head.clone() + &down, &tz("America/New_York")).unwrap();
    assert_eq!(down.bars, up.bars);
    assert!(up.dialect.ends_with("stamps without zone read as America/New_York"));
    let aware =
        load_with(head + "2024-11-03T00:00Z,1,2,1,2\n2024-11-03T01:00Z,1,2,1,2\n", &tz("America/New_York")).unwrap();
    assert_eq!(stamps(&aware)[0], "2024-11-03T00:00:00Z");
    let (message, hint) = refused_with(HEAD, &tz("Mars/Olympus"));
    assert_eq!(message, "option tz: \"Mars/Olympus\" is not a time zone this machine knows");
    assert_eq!(hint, "time zones have IANA names, e.g. UTC, America/New_York or Europe/Berlin");
}

#[test]
fn columns_can_be_named() {
    let closes = "1705311000,10.5,3\n1705311060,10.6,4\n";
    let series = load_with(closes, &columns("ts,close,volume")).unwrap();
    assert_eq!((series.bars.high(), series.bars.volume()), ([10.5, 10.6].as_slice(), [3.0, 4.0].as_slice()));
    let adjusted = "Date,Open,High,Low,Close,Adj Close\n2024-01-01,4,6,3,5,2\n2024-01-02,4,6,3,5,3\n";
    let all = "open=Adj Close,high=Adj Close,low=Adj Close,close=adj close";
    assert_eq!(load_with(adjusted, &columns(all)).unwrap().bars.open(), [2.0, 3.0]);
    let unknown = "Tag;Erster;Hoch;Tief;Schluss\n01.02.2024;1;2;1;2\n02.02.2024;1;2;1;2\n";
    assert_eq!(load_with(unknown, &columns("date,open,high,low,close")).unwrap().bars.len(), 2);
    let names = "time=Tag,open=Erster,high=Hoch,low=Tief,close=Schluss";
    assert_eq!(load_with(unknown, &columns(names)).unwrap().bars.len(), 2);
    for (given, want) in [
        ("ts,opne", ": columns \"ts,opne\": \"opne\" is no column"),
        ("ts,open,close", ": columns \"ts,open,close\": high, low missing"),
        (
            "open,close,ts,high,low",
            ": columns \"open,close,ts,high,low\": column 3 holds no time stamp in the first lines",
        ),
        (
            "ts,open,high,low,close,volume,symbol",
            ": columns \"ts,open,high,low,close,volume,symbol\": line 2 has only 6 fields",
        ),
        ("close=Last", ": columns \"close=Last\": the header (line 1) has no \"Last\""),
    ] {
        assert_eq!(refused_with(format!("{HEAD}2024-01-02,10,12,9,11,5\n"), &columns(given)).0, want);
    }
}

#[test]
fn swapped_columns_without_header_are_named() {
    let row = |i: i64| format!("{},10,11,12,9,{i}\n", 1_705_311_000 + 60 * i);
    let text: String = (0..20).map(row).collect();
    let (message, hint) = refused(text);
    let want = ", line 1: 20 of 20 bars have open or close outside low to high; looks like columns \
                ts,open,close,high,low,volume";
    assert_eq!((message.as_str(), hint.as_str()), (want, "pass --columns ts,open,close,high,low,volume"));
}

#[test]
fn symbols_are_listed_and_chosen() {
    let text = "Symbol,Date,Open,High,Low,Close\nA,2024-01-01,1,2,1,2\nB,2024-01-01,5,x,5,6\nA,2024-01-02,1,2,1,2\n";
    let (message, hint) = refused(text);
    assert_eq!((message.as_str(), hint.as_str()), (": holds 2 symbols: A, B", "choose one, e.g. --symbol A"));
    let symbol = |name: &str| LoadOptions { symbol: Some(name.to_owned()), ..LoadOptions::default() };
    let chosen = load_with(text, &symbol("a")).unwrap();
    assert_eq!((chosen.bars.symbol(), chosen.lines.as_slice()), (Some("A"), [2, 4].as_slice()));
    assert_eq!(refused_with(text, &symbol("B")).0, ", line 3, column High: \"x\" is not a number");
    assert_eq!(refused_with(text, &symbol("C")).0, ": no rows of symbol \"C\"; the file holds A, B");
}

#[test]
fn repair_mends_and_notes_each_step() {
    let text = "date,open,high,low,close,volume\n\
                2024-01-03,10,12,9,11,5\n\
                2024-01-04,10,12,9,11,-5\n\
                2024-01-02,10,11,9,13,5\n\
                2024-01-05,10,,9,11,5\n\
                2024-01-03,20,22,19,21,5\n\
                soon,10,12,9,11,5\n\
                2024-01-06,10,12,0,11,5\n";
    let loaded = repaired(text);
    assert_eq!(stamps(&loaded).join(" "), "2024-01-02T00:00:00Z 2024-01-03T00:00:00Z 2024-01-04T00:00:00Z");
    assert_eq!(loaded.lines, [4, 6, 3]);
    assert_eq!(loaded.bars.open(), [10.0, 20.0, 10.0]);
    assert_eq!((loaded.bars.high()[0], loaded.bars.volume()[2]), (13.0, 0.0));
    assert_eq!(
        loaded.notes,
        [
            "repair: 1 row dropped, not readable (first on line 7)",
            "repair: 2 rows dropped, a price missing or not above zero (first on line 5)",
            "repair: 1 row with volume missing or negative, set to 0 (first on line 3)",
            "repair: 1 row earlier than the row before, sorted by time (first on line 4)",
            "repair: 1 row dropped, a later row has the same time stamp (first on line 2)",
            "repair: 1 row with high and low widened to contain open and close (first on line 4)",
        ]
    );
}

#[test]
fn the_factor_can_be_overridden_by_a_number_above_zero() {
    let text = format!("{HEAD}2024-01-02,10,12,9,11,5\n");
    let with = |value| LoadOptions { periods_per_year: Some(value), ..LoadOptions::default() };
    assert_eq!(load_with(&text, &with(100.0)).unwrap().bars.periods_per_year(), 100.0);
    assert_eq!(refused_with(&text, &with(0.0)).0, "option periods_per_year: 0 is not a number above zero");
}

#[test]
fn check_counts_in_files_that_do_not_load() {
    let text = "date,open,high,low,close,volume\n\
                2024-01-01,10,12,9,11,0\n\
                2024-01-01,10,12,11,9,5\n\
                2024-01-02,nan,,9,11,5\n\
                2024-01-05,-1,12,-1,11,\n\
                2024-01-03,10,12,9,11,-5\n\
                later,7,7,7,7,5\n\
                2024-01-06,7,7,7,7,5,6\n\
                2024-01-06,7,7,7,7,5\n";
    let (_folder, path) = file(text.as_bytes());
    let report = check(&path, &LoadOptions::default()).unwrap().remove(0);
    let found = |f: &gigabar_market::check::Finding| (f.count, f.examples.first().map_or(0, |e| e.line));
    assert!(!report.loads);
    assert!(report.refusal.unwrap().ends_with("bars.csv, line 4, column open: value missing (\"nan\")"));
    assert_eq!((report.rows, report.interval_ns), (8, 86_400_000_000_000));
    assert_eq!(found(&report.zero_volume), (1, 2));
    assert_eq!(found(&report.duplicates), (1, 3));
    assert_eq!(report.duplicates.examples[0].text, "2024-01-01T00:00:00Z is already on line 2");
    assert_eq!(found(&report.ohlc_violations), (1, 3));
    assert_eq!(found(&report.missing_prices), (1, 4));
    assert_eq!(found(&report.non_positive_prices), (1, 5));
    assert_eq!(found(&report.missing_volumes), (1, 5));
    assert_eq!(found(&report.negative_volumes), (1, 6));
    assert_eq!(found(&report.unsorted), (1, 6));
    assert_eq!(found(&report.unreadable), (2, 7));
    assert_eq!(found(&report.flat), (1, 9));
    assert_eq!((report.gaps.count, report.gaps.missing_bars, report.gaps.examples[0].line), (1, 1, 5));
    assert!(serde_json::to_string(&report.gaps).unwrap().contains("\"missing_bars\":1"));
}
