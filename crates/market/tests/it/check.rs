//! What a check finds in bars with one thing wrong, and how little in real ones.

use std::fmt::Write;

use gigabar_market::check::{DataReport, check};
use gigabar_market::load::LoadOptions;

use super::load_texts::file;

/// Date, open, high, low, close, volume.
type Row = (jiff::civil::Date, [f64; 4], f64);

/// Five hundred weekdays of a quiet market from 2020-01-01 on.
fn days() -> Vec<Row> {
    let start = jiff::civil::date(2020, 1, 1);
    let weekdays =
        start.series(jiff::Span::new().days(1)).filter(|d| d.weekday().to_monday_zero_offset() < 5).take(500);
    let mut rng = gigabar_market::rng::Philox::new(3, 0);
    let mut last = 100.0f64;
    weekdays
        .map(|date| {
            let (open, close) = (last, last * (0.02 * (rng.uniform() - 0.5)).exp());
            last = close;
            (date, [open, open.max(close) * 1.003, open.min(close) * 0.997, close], 1000.0 + 100.0 * rng.uniform())
        })
        .collect()
}

fn checked(rows: &[Row], options: &LoadOptions) -> DataReport {
    let mut text = "date,open,high,low,close,volume\n".to_owned();
    for (date, [open, high, low, close], volume) in rows {
        writeln!(text, "{date},{open},{high},{low},{close},{volume}").unwrap();
    }
    let (_folder, path) = file(text.as_bytes());
    check(&path, options).unwrap().remove(0)
}

fn of(change: impl FnOnce(&mut Vec<Row>)) -> DataReport {
    let mut rows = days();
    change(&mut rows);
    checked(&rows, &LoadOptions::default())
}

#[test]
fn clean_bars_are_clean() {
    let clean = of(|_| ());
    let counts = [&clean.jumps, &clean.spikes, &clean.stale, &clean.frozen, &clean.missing_weekdays].map(|f| f.count);
    assert_eq!((counts, clean.likely_splits.len(), clean.suggestions.len()), ([0; 5], 0, 0), "{clean:?}");
}

#[test]
fn a_wrong_digit_in_high_or_low_alone_is_found() {
    let high = of(|rows| rows[250].1[1] *= 10.0);
    assert_eq!((high.spikes.count, high.spikes.examples[0].line), (1, 252));
    assert!(high.spikes.examples[0].text.starts_with("2020-12-16T00:00:00Z high 1"), "{:?}", high.spikes);
    let low = of(|rows| rows[250].1[2] /= 10.0);
    assert!(low.spikes.count == 1 && low.spikes.examples[0].text.contains(" low "), "{:?}", low.spikes);
}

#[test]
fn odd_bars_come_with_what_to_do() {
    let first = |report: &DataReport| report.suggestions.first().cloned().unwrap_or_default();
    let spike = of(|rows| rows[250].1[1] *= 10.0);
    assert!(first(&spike).starts_with("spikes (line 252 first): compare the high or low"), "{:?}", spike.suggestions);
    // A split, then a wrong digit: the split is not among what to mend.
    let jumps = of(|rows| {
        for (_, prices, volume) in &mut rows[100..] {
            prices.iter_mut().for_each(|price| *price /= 2.0);
            *volume *= 2.0;
        }
        rows[300].1.iter_mut().for_each(|price| *price *= 7.3);
    });
    assert_eq!(jumps.likely_splits.len(), 1, "{:?}", jumps.jumps);
    let found = jumps.suggestions.iter().find(|text| text.starts_with("jumps that are no splits"));
    assert!(found.unwrap().starts_with("jumps that are no splits (line 302 first): "), "{:?}", jumps.suggestions);
}

#[test]
fn a_close_that_stands_while_opens_move_is_found() {
    let frozen = of(|rows| {
        let close = rows[249].1[3];
        for (_, [open, high, low, of_row], _) in &mut rows[250..=270] {
            *of_row = close;
            (*high, *low) = (high.max(*open).max(close), low.min(*open).min(close));
        }
    });
    assert_eq!((frozen.frozen.count, frozen.frozen.examples[0].line, frozen.stale.count), (1, 251, 0));
    assert!(frozen.frozen.examples[0].text.ends_with("2020-12-15T00:00:00Z to 2021-01-13T00:00:00Z"));
}

#[test]
fn days_that_lack_are_named_and_the_longest_gaps_come_first() {
    let one = of(|rows| {
        rows.remove(250);
    });
    assert_eq!((one.missing_weekdays.count, one.missing_weekdays.examples[0].line), (1, 252));
    assert_eq!(one.missing_weekdays.examples[0].text, "2020-12-16 (Wednesday) is missing");
    let ten = of(|rows| {
        rows.drain(250..260);
    });
    assert_eq!(ten.missing_weekdays.examples[0].text, "10 weekdays missing, 2020-12-16 to 2020-12-29");
    assert_eq!(ten.gaps.examples[0].text, "14 missing between 2020-12-15T00:00:00Z and 2020-12-30T00:00:00Z");
    assert_eq!(ten.gaps.examples[0].line, 252);
    // Independence Day, kept on a Friday in one year and a Monday in the other, is no hole.
    let kept = [jiff::civil::date(2020, 7, 3), jiff::civil::date(2021, 7, 5)];
    let holidays = of(|rows| rows.retain(|(date, ..)| !kept.contains(date)));
    assert_eq!((holidays.missing_weekdays.count, holidays.likely_holidays), (0, 2), "{:?}", holidays.missing_weekdays);
}

#[test]
fn columns_in_another_order_are_named_and_not_widened() {
    let swapped = of(|rows| rows.iter_mut().for_each(|(_, bar, _)| *bar = [bar[0], bar[3], bar[1], bar[2]]));
    assert!(
        swapped.suggestions[0].starts_with("--columns ts,open,close,high,low,volume: "),
        "{:?}",
        swapped.suggestions
    );
    assert!(!swapped.suggestions.iter().any(|text| text.contains("widens")), "{:?}", swapped.suggestions);
    assert!(swapped.hint.is_some_and(|hint| hint.ends_with("pass --columns ts,open,close,high,low,volume")));
}

#[test]
fn real_files_have_few_of_what_is_odd() {
    let Some(folder) = super::load_manifest::folder() else { return };
    let of = |file: &str| check(&folder.join(file), &LoadOptions::default()).unwrap().remove(0);
    // A bid for the company, and oil a day after it was paid for to be taken away.
    for file in ["backtrader/yhoo-1996-2014.txt", "eia-datahub/wti-daily.csv", "backtesting.py/GOOG.csv"] {
        let report = of(file);
        assert_eq!(report.likely_splits, [""; 0], "{file}");
        assert!(report.spikes.count + report.frozen.count <= 2, "{file}: {:?} {:?}", report.spikes, report.frozen);
    }
    let aapl = of("lean/equity-usa-daily-aapl.zip");
    assert_eq!(aapl.likely_splits, ["2000-06-21 2:1", "2005-02-28 2:1", "2014-06-09 7:1", "2020-08-31 4:1"]);
    let dbn = std::fs::read_dir(folder.join("databento-dbn")).unwrap().flatten();
    for path in dbn.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("ohlcv")) {
        for report in check(&path, &LoadOptions::default()).unwrap_or_default() {
            assert!(!report.suggestions.iter().any(|text| text.contains("--price-divisor")), "{}", path.display());
        }
    }
}

/// Twenty for one after 250 days, with adjusted closes that know of it or not.
#[test]
fn adjusting_is_suggested_where_it_helps() {
    let rows = days();
    let text = |adjust: bool| {
        let mut text = "date,open,high,low,close,adj close,volume\n".to_owned();
        for (i, (date, prices, volume)) in rows.iter().enumerate() {
            let after = i >= 250;
            let [open, high, low, close] = prices.map(|price| if after { price / 20.0 } else { price });
            let adjusted = if adjust && !after { close / 20.0 } else { close };
            writeln!(text, "{date},{open},{high},{low},{close},{adjusted},{volume}").unwrap();
        }
        text
    };
    let suggested = |adjust, options: &LoadOptions| {
        let (_folder, path) = file(text(adjust).as_bytes());
        let report = check(&path, options).unwrap().remove(0);
        (report.likely_splits.len(), report.suggestions)
    };
    let plain = LoadOptions::default();
    let (splits, knows) = suggested(true, &plain);
    assert!(splits == 1 && knows[0].starts_with("--adjust takes the splits out"), "{knows:?}");
    let (splits, not) = suggested(false, &plain);
    assert!(splits == 1 && not[0].starts_with("prices carry splits, and so do the file's adjusted closes"), "{not:?}");
    assert_eq!(suggested(true, &LoadOptions { adjust: true, ..plain }), (0, vec![]));
}

#[test]
fn what_lies_outside_the_range_is_not_looked_at() {
    let mut rows = days();
    rows[100].1[3] = -5.0;
    rows[400].1[1] *= 10.0;
    let within = |from: &str, to: &str| {
        let day = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        checked(&rows, &LoadOptions { from: day(from), to: day(to), ..LoadOptions::default() })
    };
    let (all, later, middle) = (within("", ""), within("2021-01-01", ""), within("2021-01-01", "2021-06-01"));
    let found =
        |report: &DataReport| (report.rows, report.loads, report.non_positive_prices.count, report.spikes.count);
    assert_eq!(found(&all), (500, false, 1, 1));
    assert_eq!(found(&later), (500 - 262, true, 0, 1));
    assert_eq!(found(&middle), (108, true, 0, 0));
    assert_eq!(middle.first.as_deref(), Some("2021-01-01T00:00:00Z"));
}

#[test]
fn a_symbol_is_not_looked_at_together_with_another_case_of_it() {
    let mut text = "date,symbol,open,high,low,close,volume\n".to_owned();
    for (row, (date, [open, high, low, close], volume)) in days().iter().enumerate() {
        let wrong = if row == 200 { 10.0 } else { 1.0 };
        writeln!(text, "{date},A,{open},{high},{low},{close},{volume}").unwrap();
        writeln!(text, "{date},a,{open},{},{low},{close},{volume}", high * wrong).unwrap();
    }
    let (_folder, path) = file(text.as_bytes());
    let of = |name: &str| {
        let options = LoadOptions { symbol: Some(name.into()), ..LoadOptions::default() };
        let report = check(&path, &options).unwrap().remove(0);
        (report.rows, report.loads, report.spikes.count, report.stale.count)
    };
    assert_eq!([of("A"), of("a")], [(500, true, 0, 0), (500, true, 1, 0)]);
    // Of both together no spike is counted, and none is denied.
    let both = check(&path, &LoadOptions::default()).unwrap().remove(0);
    let named = |report: &DataReport| report.of_bars().iter().map(|n| n.name.clone()).collect::<Vec<_>>().join("\n");
    assert!(!both.one_series && !named(&both).contains("jumps"), "{}", named(&both));
    assert!(both.left_out().unwrap().contains("--symbol"), "{:?}", both.left_out());
}
