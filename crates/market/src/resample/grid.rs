//! Whether bars fit into longer ones: a bar that is still open when a bucket begins belongs to none.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::{Resample, Step};
use crate::Bars;
use crate::calendar::interval_ns;
use crate::time::{DAY_NS, interval};

/// Buckets may begin inside a bar in this share of the places where a bar follows a bar: files have odd rows, and
/// clocks change.
const TOLERATED: f64 = 0.1;
/// Share of stamps that the two commonest distances from the full length make up in regular bars; two, for summer and
/// winter.
const REGULAR: f64 = 0.9;

/// Why bars are not made longer, and what would fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// A sentence.
    pub reason: String,
    /// What to give instead, where there is something.
    pub remedy: Option<String>,
}

/// How buckets lie over bars.
pub(super) enum Fit {
    /// Every bucket begins where a bar does, or nearly all do; the number of bars that are cut all the same.
    Whole(usize),
    /// Bars without a grid of their own count where they open; the number of those cut.
    Irregular(usize),
    /// Buckets begin inside of bars.
    Cut,
}

/// The length of the bars: the commonest distance, which in sparse minutes is a minute, nanoseconds.
pub(crate) fn length(ts: &[i64]) -> i64 {
    let distances = ts.windows(2).map(|w| w[1] - w[0]);
    let commonest = counted(distances).into_iter().max_by_key(|&(distance, n)| (n, -distance));
    commonest.map_or(0, |(distance, _)| distance)
}

fn counted<T: Eq + std::hash::Hash>(values: impl Iterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts
}

/// Compares the buckets' begins with the bars that open them. Where a bar follows the one before without a hole and
/// opens later than its bucket begins, the one before was still open then.
pub(super) fn fit(ts: &[i64], length: i64, opens: impl Iterator<Item = (usize, i64)>) -> Fit {
    let regular = is_regular(ts, length);
    let reach = if regular { length } else { interval_ns(ts) };
    let follows = |row: usize| row > 0 && ts[row] - ts[row - 1] <= reach;
    let (mut places, mut cut) = (0usize, 0usize);
    for (row, start) in opens.filter(|(row, _)| follows(*row)) {
        places += 1;
        cut += usize::from(start < ts[row] && start > ts[row - 1]);
    }
    if !regular {
        Fit::Irregular(cut)
    } else if cut as f64 <= TOLERATED * places as f64 {
        Fit::Whole(cut)
    } else {
        Fit::Cut
    }
}

/// Whether nearly all stamps lie on two phases of the length.
pub(crate) fn is_regular(ts: &[i64], length: i64) -> bool {
    let mut phases: Vec<usize> = counted(ts.iter().map(|t| t.rem_euclid(length.max(1)))).into_values().collect();
    phases.sort_unstable_by_key(|&n| std::cmp::Reverse(n));
    phases.iter().take(2).sum::<usize>() as f64 >= REGULAR * ts.len() as f64
}

/// What to say of bars that are cut, with the anchor, the zone or the length that would cut none.
pub(super) fn refusal(wanted: &Resample, bars: &Bars, length: i64) -> Refusal {
    let (ts, zone) = (bars.ts(), wanted.zone.iana_name().unwrap_or("UTC"));
    let clock = first_of_day(ts, &wanted.zone);
    let shown = clock.map_or_else(String::new, |time| format!(" that begin at {}", hours_minutes(time)));
    let reason = format!(
        "bars of {}{shown} {zone} do not fit into {}: buckets would begin inside of bars",
        interval(length),
        wanted.text()
    );
    let fits = |other: &Resample| {
        let opens = other.opens(ts)?;
        Some(matches!(fit(ts, length, opens.into_iter()), Fit::Whole(_)))
    };
    let plain = Resample { anchor: None, ..wanted.clone() };
    let anchored = clock.map(|time| Resample { anchor: Some(time), ..wanted.clone() });
    let utc = Resample { zone: TimeZone::UTC, ..plain.clone() };
    let mut named = [(Some(plain), ""), (anchored, ""), (Some(utc), " --tz UTC, or without --tz")];
    if length >= DAY_NS {
        // Days of another zone are likelier than days that begin in the evening.
        named.swap(1, 2);
    }
    let remedy = named
        .into_iter()
        .filter_map(|(other, with)| Some((other?, with)))
        .find(|(other, _)| fits(other) == Some(true))
        .map(|(other, with)| format!("pass --resample {}{with}", other.text()))
        .or_else(|| longer(wanted, length))
        .or_else(|| elsewhere(wanted, length));
    Refusal { reason, remedy }
}

/// Days that begin at no one time in UTC begin at midnight somewhere else.
fn elsewhere(wanted: &Resample, length: i64) -> Option<String> {
    let is_utc = wanted.zone == TimeZone::UTC && length >= DAY_NS;
    is_utc.then(|| "pass the zone in which these days begin at midnight, such as --tz America/New_York".to_owned())
}

/// The next length that holds whole bars and divides a day.
fn longer(wanted: &Resample, length: i64) -> Option<String> {
    let Step::Within(ns) = wanted.step else { return None };
    let whole = |k: i64| k.checked_mul(length).filter(|of| *of >= ns && DAY_NS % of == 0);
    let found = (1..=DAY_NS / length.max(1)).find_map(whole).filter(|of| *of != ns)?;
    let text = interval(found).replace(' ', "");
    Some(format!("a length that holds whole bars and divides a day fits, such as {text}"))
}

/// The time of day at which most days' first bar opens.
fn first_of_day(ts: &[i64], zone: &TimeZone) -> Option<Time> {
    let local = |&t: &i64| Some(zone.to_datetime(Timestamp::from_nanosecond(i128::from(t)).ok()?));
    let mut last = None;
    let opening = |now: jiff::civil::DateTime| (last.replace(now.date()) != Some(now.date())).then(|| now.time());
    let counts = counted(ts.iter().filter_map(local).filter_map(opening));
    counts.into_iter().max_by_key(|&(time, n)| (n, std::cmp::Reverse(time))).map(|(time, _)| time)
}

/// `09:30`, with seconds where there are any.
pub(super) fn hours_minutes(time: Time) -> String {
    let text = time.to_string();
    text.strip_suffix(":00").unwrap_or(&text).to_owned()
}
