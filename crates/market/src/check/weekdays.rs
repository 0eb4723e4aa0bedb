//! Weekdays that lack in daily bars: holidays recur, holes in the data do not.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::series::Series;
use super::{DataReport, Example, MAX_DAYS};
use crate::time::DAY_NS;

/// Adds the runs of weekdays without a bar, but those that lack in other years too.
pub(super) fn find(series: &Series, zone: &TimeZone, report: &mut DataReport) {
    if report.interval_ns != DAY_NS || report.always_open {
        return;
    }
    let dates = dates(&series.columns.ts, zone);
    let (Some(&first), Some(&last)) = (dates.first(), dates.last()) else { return };
    let present: BTreeSet<Date> = dates.iter().copied().collect();
    let days = first.series(1.day()).take_while(|day| *day <= last).filter(|day| is_weekday(*day));
    let weekdays: Vec<Date> = days.collect();
    let lacking: BTreeSet<Date> = weekdays.iter().copied().filter(|day| !present.contains(day)).collect();
    let year = (first, last);
    let odd = |day: &Date| lacking.contains(day) && !recurs(*day, &lacking, year);
    let mut runs: Vec<&[Date]> =
        weekdays.chunk_by(|a, b| odd(a) == odd(b)).filter(|run| run.first().is_some_and(odd)).collect();
    report.likely_holidays = lacking.len() - runs.iter().map(|run| run.len()).sum::<usize>();
    report.missing_weekdays.count = runs.len();
    runs.sort_by_key(|run| (Reverse(run.len()), run[0]));
    let example = |run: &&[Date]| {
        let after = dates.partition_point(|date| *date < run[0]);
        let text = match run {
            [day] => format!("{day} ({:?}) is missing", day.weekday()),
            [from, .., to] => format!("{} weekdays missing, {from} to {to}", run.len()),
            [] => String::new(),
        };
        Example { line: series.lines[after], text }
    };
    report.missing_weekdays.examples = runs.iter().take(MAX_DAYS).map(example).collect();
}

/// The date of each bar: in the zone where most bars open at its midnight, else in UTC.
fn dates(ts: &[i64], zone: &TimeZone) -> Vec<Date> {
    let of = |zone: &TimeZone| -> Vec<jiff::civil::DateTime> {
        let local = |&t: &i64| Some(zone.to_datetime(Timestamp::from_nanosecond(i128::from(t)).ok()?));
        ts.iter().filter_map(local).collect()
    };
    let local = of(zone);
    let at_midnight = local.iter().filter(|local| local.time() == Time::midnight()).count();
    let chosen = if 2 * at_midnight > ts.len() { local } else { of(&TimeZone::UTC) };
    chosen.into_iter().map(|local| local.date()).collect()
}

fn is_weekday(day: Date) -> bool {
    !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// Whether the same day of at least half the other years lacks: the same date (or, of a date at a weekend, the Friday
/// before or the Monday after), the same weekday of a month counted from its begin or its end, or from Easter.
fn recurs(day: Date, lacking: &BTreeSet<Date>, (first, last): (Date, Date)) -> bool {
    let fixed = [day, day.tomorrow().unwrap_or(day), day.yesterday().unwrap_or(day)];
    let stands_for: Vec<Date> = fixed.into_iter().filter(|date| observed(*date) == Some(day)).collect();
    let from_easter = easter(day.year()).map(|easter| (day - easter).get_days());
    let same = |year: i16| -> Vec<Option<Date>> {
        let nth = (day.day() - 1) / 7 + 1;
        let from_end = (day.days_in_month() - day.day()) / 7 + 1;
        let month = Date::new(year, day.month(), 1).ok();
        let mut out: Vec<Option<Date>> = vec![
            month.and_then(|month| month.nth_weekday_of_month(nth, day.weekday()).ok()),
            month.and_then(|month| month.nth_weekday_of_month(-from_end, day.weekday()).ok()),
            easter(year).zip(from_easter).and_then(|(easter, days)| easter.checked_add(days.days()).ok()),
        ];
        out.extend(stands_for.iter().map(|date| observed(Date::new(year, date.month(), date.day()).ok()?)));
        out
    };
    let years: Vec<Vec<Option<Date>>> =
        (first.year()..=last.year()).filter(|year| *year != day.year()).map(same).collect();
    (0..3 + stands_for.len()).any(|family| {
        let days = years.iter().filter_map(|of_year| of_year[family]);
        let known: Vec<Date> = days.filter(|day| (first..=last).contains(day) && is_weekday(*day)).collect();
        let lack = known.iter().filter(|day| lacking.contains(day)).count();
        lack > 0 && 2 * lack >= known.len()
    })
}

/// The weekday on which a holiday of a date is kept.
fn observed(date: Date) -> Option<Date> {
    match date.weekday() {
        Weekday::Saturday => date.yesterday().ok(),
        Weekday::Sunday => date.tomorrow().ok(),
        _ => Some(date),
    }
}

/// Easter Sunday (Meeus, "Astronomical Algorithms", 1991: the anonymous Gregorian algorithm).
fn easter(year: i16) -> Option<Date> {
    let y = i32::from(year);
    let (a, b, c) = (y % 19, y / 100, y % 100);
    let h = (19 * a + b - b / 4 - (b - (b + 8) / 25 + 1) / 3 + 15) % 30;
    let l = (32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7;
    let m = (a + 11 * h + 22 * l) / 451;
    let days = h + l - 7 * m + 114;
    Date::new(year, i8::try_from(days / 31).ok()?, i8::try_from(days % 31 + 1).ok()?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn easter_is_where_the_almanac_says() {
        for (year, month, day) in [(1961, 4, 2), (2000, 4, 23), (2008, 3, 23), (2024, 3, 31), (2038, 4, 25)] {
            assert_eq!(easter(year), Date::new(year, month, day).ok());
        }
    }

    #[test]
    fn holidays_recur_and_a_hole_does_not() {
        let date = |y, m, d| Date::new(y, m, d).unwrap();
        let year = (date(2018, 1, 1), date(2023, 12, 31));
        // Independence Day (a Saturday in 2020, a Sunday in 2021), Thanksgiving, Good Friday.
        let holidays = [(2018, 7, 4), (2019, 7, 4), (2020, 7, 3), (2021, 7, 5), (2022, 7, 4), (2023, 7, 4)];
        let thanks = [(2018, 11, 22), (2019, 11, 28), (2020, 11, 26), (2021, 11, 25), (2022, 11, 24), (2023, 11, 23)];
        let friday = [(2018, 3, 30), (2019, 4, 19), (2020, 4, 10), (2021, 4, 2), (2022, 4, 15), (2023, 4, 7)];
        let all = [holidays, thanks, friday].concat().into_iter().map(|(y, m, d)| date(y, m, d));
        let mut lacking: BTreeSet<Date> = all.collect();
        assert!(lacking.iter().all(|day| recurs(*day, &lacking, year)));
        lacking.insert(date(2021, 8, 18));
        assert!(!recurs(date(2021, 8, 18), &lacking, year));
    }
}
