//! Texts that go wrong elsewhere: read right, or refused with the place.

use gigabar_market::load::{LoadOptions, load};
use gigabar_market::time::iso;

use super::load_texts::{file, load_with};

fn read(text: impl AsRef<[u8]>) -> Vec<(String, f64)> {
    let bars = load_with(text, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}")).bars;
    bars.ts().iter().map(|&ts| iso(ts)).zip(bars.close().iter().copied()).collect()
}

fn refused(text: impl AsRef<[u8]>) -> String {
    let message = load_with(text, &LoadOptions::default()).unwrap_err().to_string();
    message.split_once("bars.csv").map_or(message.clone(), |(_, after)| after.to_owned())
}

#[test]
fn days_of_23_and_25_hours_have_as_many_hours() {
    let hours = |hours: &[&str]| -> Vec<String> {
        let rows: String = hours.iter().map(|h| format!("2024-{h}:00,1\n")).collect();
        let options = LoadOptions { tz: Some("America/New_York".into()), ..LoadOptions::default() };
        let bars = load_with(format!("time,close\n{rows}"), &options).unwrap().bars;
        bars.ts().iter().map(|&ts| iso(ts)[11..13].to_owned()).collect()
    };
    assert_eq!(hours(&["03-10 00", "03-10 01", "03-10 03", "03-10 04"]), ["05", "06", "07", "08"]);
    assert_eq!(hours(&["11-03 00", "11-03 01", "11-03 01", "11-03 02"]), ["04", "05", "06", "07"]);
    assert_eq!(hours(&["11-03 02", "11-03 01", "11-03 01", "11-03 00"]), ["04", "05", "06", "07"]);
}

#[test]
fn the_leap_second_is_the_next_one() {
    let text = "time,close\n2016-12-31 23:59:59,1\n2016-12-31 23:59:60,2\n2017-01-01 00:00:01,3\n";
    assert_eq!(read(text)[1].0, "2017-01-01T00:00:00Z");
    let wrong = refused(text.replace("59:60", "58:60"));
    assert_eq!(wrong, ", line 3, column time: \"2016-12-31 23:58:60\" is not a time stamp");
}

#[test]
fn line_ends_may_be_mixed_and_lines_are_counted_all_the_same() {
    let good = read("date,close\r\n2024-01-01,1\r2024-01-02,2\n2024-01-03,3\n\r\n2024-01-04,4");
    assert_eq!(good.iter().map(|(_, close)| *close).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(
        refused("date,close\r2024-01-01,1\r2024-01-02,x\r2024-01-03,3"),
        ", line 3, column close: \"x\" is not a number"
    );
    assert_eq!(
        refused("date,close\r\n2024-01-01,1\n2024-01-02,2\r2024-01-03,x\r\n"),
        ", line 4, column close: \"x\" is not a number"
    );
}

#[test]
fn marks_of_encodings() {
    let text = "date,close\n2024-01-01,1\n2024-01-02,2\n";
    let want = read(text);
    let utf16 = |to: fn(u16) -> [u8; 2], mark: [u8; 2]| {
        mark.into_iter().chain(text.encode_utf16().flat_map(to)).collect::<Vec<u8>>()
    };
    assert_eq!(read(format!("\u{feff}{text}")), want);
    assert_eq!(read(utf16(u16::to_le_bytes, [0xff, 0xfe])), want);
    assert_eq!(read(utf16(u16::to_be_bytes, [0xfe, 0xff])), want);
    let odd = [&utf16(u16::to_le_bytes, [0xff, 0xfe])[..], b"x"].concat();
    assert_eq!(refused(odd), ", line 1: is not text (broken UTF-16)");
    assert_eq!(refused(text.replace("-02,", "-02,\0")), ", line 3: is not text (a zero byte)");
}

#[test]
fn separators_and_decimal_commas() {
    let quoted = "date,close,volume\n2024-01-01,\"1,234.5\",\"12,345,678\"\n2024-01-02,\"1,235.5\",\"1,000\"\n";
    assert_eq!(read(quoted).iter().map(|(_, c)| *c).collect::<Vec<_>>(), [1234.5, 1235.5]);
    for (german, want) in [("1.234,5", 1234.5), ("1 234,5", 1234.5), ("0,00001234", 1.234e-5), ("1'234,5", 1234.5)] {
        let text = format!("date;close\n2024-01-01;{german}\n2024-01-02;{german}\n");
        assert_eq!(read(text)[0].1, want, "{german}");
    }
    assert_eq!(
        refused("date,close\n2024-01-01,1.5\n2024-01-02,\"1,5\"\n"),
        ", line 3, column close: \"1,5\" is not a number"
    );
}

#[test]
fn prices_of_any_size() {
    let text = |a: &str, b: &str| {
        format!("date,open,high,low,close\n2024-01-01,{a},{b},{a},{b}\n2024-01-02,{b},{b},{a},{a}\n")
    };
    assert_eq!(read(text("0.00000001", "0.00000002"))[0].1, 2e-8);
    assert_eq!(read(text("1e-8", "2E-08"))[1].1, 1e-8);
    assert_eq!(read(text("100000000.25", "123456789.12345678"))[0].1, 123_456_789.123_456_78);
    for (word, want) in [
        ("NaN", "value missing (\"NaN\")"),
        ("inf", "\"inf\" is not a number"),
        ("-Infinity", "\"-Infinity\" is not a number"),
        ("1e999", "\"1e999\" is not a number"),
        ("#VALUE!", "\"#VALUE!\" is not a number"),
    ] {
        assert_eq!(
            refused(text("1", "2").replacen(",2\n", &format!(",{word}\n"), 1)),
            format!(", line 2, column close: {want}")
        );
    }
}

#[test]
fn a_field_of_megabytes_is_named_by_its_beginning() {
    let huge = "9x".repeat(4 << 20);
    let message = refused(format!("date,close\n2024-01-01,1\n2024-01-02,{huge}\n"));
    assert_eq!(message, format!(", line 3, column close: \"{}…\" is not a number", &huge[..40]));
    let open = format!("date,close\n2024-01-01,\"1\n{}", "2024-01-02,2\n".repeat(1000));
    assert_eq!(refused(open), ", line 2: a quote is opened here and never closed");
}

#[test]
fn a_name_says_nothing() {
    let (folder, path) = file(b"date,close\n2024-01-01,1\n2024-01-02,2\n");
    for name in ["bars.parquet", "bars.dbn", "bars.zip", "bars"] {
        let renamed = folder.path().join(name);
        std::fs::copy(&path, &renamed).unwrap();
        assert_eq!(load(&renamed, &LoadOptions::default()).unwrap().bars.len(), 2, "{name}");
    }
}
