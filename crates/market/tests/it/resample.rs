//! Cutting, resampling, adjusting: against pandas, over both changes of the clocks, and by hand.

use std::collections::HashMap;

use gigabar_market::load::{LoadOptions, load};
use gigabar_market::time::iso;

use super::load_formats::file;
use super::load_texts::load_with;

fn options(resample: &str, tz: &str) -> LoadOptions {
    LoadOptions { resample: Some(resample.into()), tz: Some(tz.into()), ..LoadOptions::default() }
}

/// Stamp and the five numbers of every bar, by rule.
fn golden() -> HashMap<String, Vec<(String, [f64; 5])>> {
    let mut reader = csv::Reader::from_path(file("resampled.csv")).unwrap();
    let mut rules: HashMap<String, Vec<(String, [f64; 5])>> = HashMap::new();
    for record in reader.records() {
        let record = record.unwrap();
        let numbers = [2, 3, 4, 5, 6].map(|i| record[i].parse().unwrap());
        rules.entry(record[1].to_owned()).or_default().push((record[0].to_owned(), numbers));
    }
    rules
}

#[test]
fn longer_bars_are_those_of_pandas_also_where_days_have_23_and_25_hours() {
    for (rule, want) in golden() {
        let made = load(&file("quarters.csv"), &options(&rule, "America/New_York")).unwrap();
        let b = &made.bars;
        let got: Vec<(String, [f64; 5])> = (0..b.len())
            .map(|t| (iso(b.ts()[t]), [b.open()[t], b.high()[t], b.low()[t], b.close()[t], b.volume()[t]]))
            .collect();
        assert_eq!(got.len(), want.len(), "{rule}");
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got, want, "{rule}");
        }
    }
}

#[test]
fn a_partial_bar_is_named() {
    let hours: String = (0..30).map(|h| format!("2024-01-{:02} {:02}:00,{}\n", 1 + h / 24, h % 24, 10 + h)).collect();
    let text = format!("ts,close\n{hours}");
    let made = load_with(&text, &options("4h", "UTC")).unwrap();
    assert_eq!(made.bars.len(), 8);
    assert_eq!(
        made.notes[1..],
        ["30 bars of 1 h made into 8, UTC", "the last bar is of 2 bars, the median is 4: it may be partial"]
    );
    assert_eq!(made.lines, [2, 6, 10, 14, 18, 22, 26, 30]);
    let error = |rule: &str| load_with(&text, &options(rule, "UTC")).unwrap_err().to_string();
    assert_eq!(error("15min"), "option resample: bars of 1 h cannot be made shorter");
    assert_eq!(error("7h"), "option resample: \"7h\" does not divide a day");
    assert_eq!(error("2d"), "option resample: \"2d\": days, weeks and months are made one at a time");
    assert_eq!(error("soon"), "option resample: \"soon\" is not a length of bars");
    assert_eq!(error("0h"), "option resample: \"0h\" is not a length of bars");
    assert_eq!(error("1d@25:00"), "option resample: \"25:00\" is not a time of day");
}

#[test]
fn both_ends_of_a_cut_belong_to_it() {
    let days: String = (1..=9).map(|d| format!("2024-01-{d:02},{d}\n")).collect();
    let text = format!("date,close\n{days}2024-01-10,-5\n2024-01-11,later\n");
    let cut = |from: &str, to: &str| {
        let bound = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
        load_with(&text, &LoadOptions { from: bound(from), to: bound(to), ..LoadOptions::default() })
    };
    assert_eq!(cut("2024-01-03", "2024-01-05").unwrap().bars.close(), [3.0, 4.0, 5.0]);
    assert_eq!(cut("2024-01-03T00:00:00.5Z", "2024-01-05 00:00").unwrap().bars.close(), [4.0, 5.0]);
    // What is wrong outside the cut does not matter.
    assert_eq!(cut("", "2024-01-09").unwrap().bars.len(), 9);
    assert!(
        cut("2024-01-03", "").unwrap_err().to_string().ends_with("line 12, column close: \"later\" is not a number")
    );
    let error = |from: &str, to: &str| cut(from, to).unwrap_err().to_string();
    assert_eq!(error("2024-01-05", "2024-01-04"), "option from: 2024-01-05 lies after to 2024-01-04");
    assert_eq!(error("", "tomorrow"), "option to: \"tomorrow\" is neither a date nor a time stamp");
}

#[test]
fn adjusting_scales_all_prices_to_the_adjusted_close() {
    let text = "Date,Open,High,Low,Close,Adj Close,Volume\n\
                2024-01-02,100,110,90,104,26,10\n2024-01-03,104,108,100,106,26.5,10\n\
                2024-01-04,26,28,25,27,27,40\n";
    let adjust = LoadOptions { adjust: true, ..LoadOptions::default() };
    let made = load_with(text, &adjust).unwrap();
    assert_eq!(made.bars.open(), [25.0, 26.0, 26.0]);
    assert_eq!(made.bars.high(), [27.5, 27.0, 28.0]);
    assert_eq!(made.bars.close(), [26.0, 26.5, 27.0]);
    assert_eq!(made.bars.volume(), [10.0, 10.0, 40.0]);
    let note = "Adj Close differs from close in 2 of 3 rows (splits or dividends); ";
    assert_eq!(made.notes, [format!("{note}all prices are scaled to it, volume is as it was")]);
    let plain = load_with(text, &LoadOptions::default()).unwrap();
    assert_eq!(plain.notes[0], format!("{note}close is used (--adjust scales to it)"));
    let without = load_with("Date,Close\n2024-01-02,1\n2024-01-03,2\n", &adjust).unwrap_err();
    assert!(without.to_string().ends_with("has no column of adjusted closes to adjust by"));
    let broken = load_with(text.replace(",26.5,", ",null,"), &adjust).unwrap_err();
    assert!(broken.to_string().ends_with("line 3, column Adj Close: NaN is not a price to adjust by"));
}

#[test]
fn real_splits_are_named_and_a_crash_is_not() {
    let Some(folder) = super::load_manifest::folder() else { return };
    let notes = |file: &str| load(&folder.join(file), &LoadOptions::default()).unwrap().notes;
    assert_eq!(
        notes("lean/equity-usa-daily-aapl.zip")[1],
        "prices jump as at splits: 2000-06-21 (2:1), 2005-02-28 (2:1), 2014-06-09 (7:1), 2020-08-31 (4:1); nothing is adjusted"
    );
    let oracle = notes("pyalgotrade/orcl-2000-yahoofinance.csv");
    assert!(oracle.iter().any(|n| n.contains("2000-01-19 (2:1), 2000-10-13 (2:1)")), "{oracle:?}");
    for file in ["backtesting.py/GOOG.csv", "backtrader/yhoo-1996-2014.txt", "gym-trading-env/BTC_USD-Hourly.csv"] {
        assert!(!notes(file).iter().any(|note| note.contains("splits") && note.contains("jump")), "{file}");
    }
}
