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
    assert_eq!(error("1M"), "option resample: \"1M\" may mean minutes or months: write 1min or 1mo");
    assert_eq!(error("15M"), "option resample: \"15M\" may mean minutes or months: write 15min or 15mo");
    assert_eq!(error("1d@25:00"), "option resample: \"25:00\" is not a time of day");
}

/// Closes 1, 2, 3 … at these stamps.
fn closes<T: std::fmt::Display>(stamps: impl IntoIterator<Item = T>) -> String {
    let rows: String = stamps.into_iter().enumerate().map(|(i, stamp)| format!("{stamp},{}\n", i + 1)).collect();
    format!("ts,close\n{rows}")
}

/// Stamps and closes of what is made, and the notes but the first, which is of the closes.
fn made(text: &str, rule: &str, tz: &str) -> (Vec<String>, Vec<f64>, Vec<String>) {
    let made = load_with(text, &options(rule, tz)).unwrap_or_else(|error| panic!("{rule}: {error}"));
    (made.bars.ts().iter().map(|&ts| iso(ts)).collect(), made.bars.close().to_vec(), made.notes[1..].to_vec())
}

/// What is said, and the hint.
fn refused(text: &str, rule: &str, tz: &str) -> String {
    let error = load_with(text, &options(rule, tz)).unwrap_err();
    format!("{error} | {}", error.hint().unwrap_or_default())
}

/// Stamped 09:30, 10:30 … 15:30, as Yahoo stamps the hours of a session: six whole ones and a half.
#[test]
fn hours_that_begin_at_half_past_are_not_put_into_hours_that_begin_at_the_full() {
    let days = [2, 3, 4, 5, 8, 9].map(|day| (9..16).map(move |hour| format!("2024-01-{day:02} {hour:02}:30")));
    let text = closes(days.into_iter().flatten());
    let zone = "America/New_York";
    let (stamps, closes, notes) = made(&text, "1h", zone);
    assert_eq!((stamps.len(), stamps[0].as_str()), (42, "2024-01-02T14:30:00Z"));
    assert_eq!(
        (closes[41], notes),
        (42.0, vec!["the bars are of 1 h already, beginning at times of their own: they stay".to_owned()])
    );
    for rule in ["2h", "4h"] {
        assert_eq!(
            refused(&text, rule, zone),
            format!(
                "option resample: bars of 1 h that begin at 09:30 {zone} do not fit into {rule}: buckets would begin inside \
             of bars | pass --resample {rule}@09:30"
            )
        );
    }
    let (stamps, closes, _) = made(&text, "2h@09:30", zone);
    assert_eq!(
        stamps[..5],
        ["14", "16", "18", "20"]
            .map(|h| format!("2024-01-02T{h}:30:00Z"))
            .into_iter()
            .chain(["2024-01-03T14:30:00Z".to_owned()])
            .collect::<Vec<_>>()
    );
    assert_eq!(closes[..5], [2.0, 4.0, 6.0, 7.0, 9.0]);
    assert_eq!(made(&text, "1h@09:30", zone).0.len(), 42);
    // The nights between leave the days whole.
    assert_eq!(made(&text, "1d", zone).1, [7.0, 14.0, 21.0, 28.0, 35.0, 42.0]);
    assert_eq!(made(&text, "1d@17:00", zone).1.len(), 6);
}

#[test]
fn a_bucket_that_begins_inside_of_bars_is_refused_with_what_fits() {
    let days = closes((1..=28).map(|day| format!("2024-01-{day:02}")));
    let at = |rule: &str, tz: &str| refused(&days, rule, tz);
    assert!(at("1d@17:00", "UTC").ends_with("| pass --resample 1d"), "{}", at("1d@17:00", "UTC"));
    assert_eq!(made(&days, "1d", "UTC").1.len(), 28);
    // Days stamped as instants at midnight of UTC are not those of New York.
    let instants = closes((1..=28).map(|day| format!("2024-01-{day:02}T00:00:00Z")));
    let text = refused(&instants, "1w", "America/New_York");
    assert!(text.ends_with("| pass --resample 1w --tz UTC, or without --tz"), "{text}");
    // Days of New York as instants, a summer and a winter of them.
    let york = closes((0..300_i64).map(|day| {
        let civil = jiff::civil::date(2023, 6, 1) + jiff::Span::new().days(day);
        civil.in_tz("America/New_York").unwrap().timestamp().to_string()
    }));
    let text = refused(&york, "1mo", "UTC");
    assert!(
        text.ends_with("| pass the zone in which these days begin at midnight, such as --tz America/New_York"),
        "{text}"
    );
    assert_eq!(made(&york, "1mo", "America/New_York").1.len(), 10);
    // Five minutes at two past.
    let minutes = |step: usize, from: usize, n: usize| {
        closes(
            (0..n)
                .map(|i| from + i * step)
                .map(|m| format!("2024-01-{:02} {:02}:{:02}", 1 + m / 1440, m / 60 % 24, m % 60)),
        )
    };
    let off = minutes(5, 2, 900);
    assert!(refused(&off, "15min", "UTC").ends_with("| pass --resample 15min@00:02"));
    let (stamps, closes, notes) = made(&off, "15min@00:02", "UTC");
    assert_eq!((stamps[1].as_str(), closes[1]), ("2024-01-01T00:17:00Z", 6.0));
    assert!(!notes.iter().any(|note| note.contains("a bucket begins inside")), "{notes:?}");
    let sevens = refused(&minutes(7, 0, 300), "15min", "UTC");
    assert!(sevens.ends_with("do not fit into 15min: buckets would begin inside of bars | "), "{sevens}");
    let long = refused(&minutes(45, 0, 100), "1h", "UTC");
    assert!(long.ends_with("| a length that holds whole bars and divides a day fits, such as 90min"), "{long}");
}

#[test]
fn odd_rows_and_bars_without_a_grid_count_where_they_open() {
    let stamp =
        |s: usize| format!("2024-01-{:02} {:02}:{:02}:{:02}", 1 + s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60);
    let odd: Vec<usize> = (0..600).map(|m| if m == 121 { 121 * 60 - 30 } else { m * 60 }).collect();
    assert_eq!(made(&closes(odd.into_iter().map(stamp)), "15min", "UTC").0.len(), 40);
    // Bars of as many trades each come when they come.
    let free = (0..2000usize).map(|i| i * 97 + i * i % 61);
    let (stamps, _, notes) = made(&closes(free.map(stamp)), "1h", "UTC");
    assert_eq!(stamps.len(), 54);
    assert!(notes.iter().any(|note| note.starts_with("the bars are of no regular length; ")), "{notes:?}");
    // Minutes without trades are no bars: what is there lies on the grid of minutes.
    let sparse = (0..3000usize).filter(|m| m * m % 7 < 2).map(|m| m * 60);
    let (_, _, notes) = made(&closes(sparse.map(stamp)), "1h", "UTC");
    assert!(!notes.iter().any(|note| note.contains("a bucket begins inside")), "{notes:?}");
}

#[test]
fn months_stamped_at_their_ends_stay() {
    let ends =
        (2020..2024).flat_map(|year| (1..=12).map(move |month| jiff::civil::date(year, month, 1).last_of_month()));
    let (stamps, _, notes) = made(&closes(ends), "1mo", "UTC");
    assert_eq!((stamps.len(), stamps[1].as_str()), (48, "2020-02-29T00:00:00Z"));
    assert_eq!(notes, ["the bars are of 31 d already, beginning at times of their own: they stay"]);
}

#[test]
fn volume_beyond_all_numbers_is_named() {
    let rows: String = (0..6).map(|h| format!("2024-01-01 {:02}:00,1,2,1,2,1.7e308\n", 4 * h)).collect();
    let text = format!("ts,open,high,low,close,volume\n{rows}");
    assert_eq!(
        refused(&format!("{text}2024-01-02 00:00,1,2,1,2,5\n"), "1d", "UTC"),
        "option resample: the volumes of the bar of 2024-01-01T00:00:00Z sum to more than a number holds | mend the \
         volumes, or make shorter bars"
    );
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
    assert_eq!(error("2024-01-05", "2024-01-04"), "option from and to: 2024-01-05 lies after 2024-01-04");
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
