//! When the market trades, as its bars show it, and the bars that lack inside those hours.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::time::DAY_NS;

/// Share of a weekday's occurrences that must have a bar at a time of day for it to be one of trading.
const USUAL: f64 = 0.5;
/// Days needed to know the hours of trading.
const MIN_DAYS: usize = 10;
const SECOND_NS: i64 = 1_000_000_000;

/// Hours of trading as the bars show them, and what lacks inside them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hours {
    /// First usual bar of a day and the end of the last, `HH:MM` in `zone`; of a market around the clock `00:00` and
    /// `24:00`.
    pub from: String,
    /// See `from`.
    pub to: String,
    /// The zone the hours are told in.
    pub zone: String,
    /// Bars lacking at usual times of days that have bars.
    pub missing_bars: usize,
    /// Usual days of trading without any bar, holidays among them.
    pub days_without_bars: usize,
    /// The first of them, at most [`MAX_DAYS`](super::MAX_DAYS).
    pub empty_days: Vec<String>,
    /// Bars at unusual times.
    pub unusual_bars: usize,
    /// The days that lack most: date and number, at most five.
    pub worst_days: Vec<(String, usize)>,
}

/// Usual times per weekday, from the bars of at least two weeks; `None` for bars
/// of a day or more, of less than a second, and of what divides no day.
pub(super) fn hours(ts: &[i64], interval: i64, zone: &TimeZone) -> Option<Hours> {
    if !(SECOND_NS..DAY_NS).contains(&interval) || DAY_NS % interval != 0 {
        return None;
    }
    let mut days: BTreeMap<jiff::civil::Date, Vec<u32>> = BTreeMap::new();
    for &t in ts {
        let local = zone.to_datetime(Timestamp::from_nanosecond(i128::from(t)).ok()?);
        let of_day = local.time().duration_since(jiff::civil::Time::midnight()).as_nanos();
        let slot = (of_day / i128::from(interval)) as u32;
        days.entry(local.date()).or_default().push(slot);
    }
    if days.len() < MIN_DAYS {
        return None;
    }
    let n_slots = (DAY_NS / interval) as usize;
    let weekday = |date: &jiff::civil::Date| date.weekday().to_monday_zero_offset() as usize;
    let (first, last) = (*days.keys().next()?, *days.keys().next_back()?);
    let span: Vec<jiff::civil::Date> = first.series(jiff::Span::new().days(1)).take_while(|d| *d <= last).collect();
    let mut dates = [0usize; 7];
    span.iter().for_each(|date| dates[weekday(date)] += 1);
    let mut seen = vec![0u32; 7 * n_slots];
    for (date, slots) in &mut days {
        slots.sort_unstable();
        slots.dedup();
        slots.iter().for_each(|&slot| seen[weekday(date) * n_slots + slot as usize] += 1);
    }
    let usual = |day: usize, slot: usize| f64::from(seen[day * n_slots + slot]) >= USUAL * dates[day].max(1) as f64;
    let expected: Vec<usize> = (0..7).map(|day| (0..n_slots).filter(|&slot| usual(day, slot)).count()).collect();
    let used: Vec<usize> = (0..n_slots).filter(|&slot| (0..7).any(|day| usual(day, slot))).collect();
    let (from, to) = (*used.first()?, used.last()? + 1);
    let mut lacking: Vec<(String, usize)> = Vec::new();
    let mut unusual_bars = 0;
    for (date, slots) in &days {
        let day = weekday(date);
        let present = slots.iter().filter(|&&slot| usual(day, slot as usize)).count();
        unusual_bars += slots.len() - present;
        // The first and the last day of a file may begin or end anywhere.
        if expected[day] > present && *date != first && *date != last {
            lacking.push((date.to_string(), expected[day] - present));
        }
    }
    let is_empty = |date: &&jiff::civil::Date| expected[weekday(date)] > 0 && !days.contains_key(*date);
    let empty: Vec<String> = span.iter().filter(is_empty).map(ToString::to_string).collect();
    let missing_bars = lacking.iter().map(|(_, n)| n).sum();
    lacking.sort_by_key(|(date, n)| (std::cmp::Reverse(*n), date.clone()));
    lacking.truncate(super::MAX_EXAMPLES);
    let clock = |slot: usize| {
        let minutes = slot as i64 * interval / 60_000_000_000;
        format!("{:02}:{:02}", minutes / 60, minutes % 60)
    };
    Some(Hours {
        from: clock(from),
        to: clock(to),
        zone: zone.iana_name().unwrap_or("UTC").to_owned(),
        missing_bars,
        days_without_bars: empty.len(),
        empty_days: empty.into_iter().take(super::MAX_DAYS).collect(),
        unusual_bars,
        worst_days: lacking,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn missing_bars_are_told_from_nights_and_holidays() {
        const HOUR: i64 = 3_600_000_000_000;
        // 2024-01-01 was a Monday; ten weeks of 09:00 to 17:00 on weekdays.
        let monday = 19_723 * DAY_NS;
        let mut ts: Vec<i64> = (0..70)
            .filter(|day| day % 7 < 5)
            .flat_map(|day| (9..17).map(move |hour| monday + day * DAY_NS + hour * HOUR))
            .collect();
        // A holiday, three bars lacking on another day, one bar at night.
        ts.retain(|t| (t - monday) / DAY_NS != 9);
        ts.retain(|t| !((t - monday) / DAY_NS == 15 && (t % DAY_NS) / HOUR >= 14));
        ts.push(monday + 16 * DAY_NS + 3 * HOUR);
        ts.sort_unstable();
        let hours = hours(&ts, HOUR, &TimeZone::UTC).unwrap();
        assert_eq!((hours.from.as_str(), hours.to.as_str()), ("09:00", "17:00"));
        assert_eq!((hours.missing_bars, hours.days_without_bars, hours.unusual_bars), (3, 1, 1));
        assert_eq!(hours.empty_days, ["2024-01-10"]);
        assert_eq!(hours.worst_days, [("2024-01-16".to_owned(), 3)]);
    }
}
