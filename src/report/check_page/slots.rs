//! The axis of time: stretches in which the market usually trades, so that nights and weekends take no room and what is
//! empty on it is missing.

use std::collections::{BTreeMap, BTreeSet};

use gigabar_market::Bars;
use gigabar_market::time::DAY_NS;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan};

/// Columns of a plot over time, at most.
const COLUMNS: usize = 480;
/// Stretches of a day, at most.
const PARTS: i64 = 96;
/// A stretch belongs to the axis where this share of the days has bars in it.
const USUAL: f64 = 0.2;
/// Weeks from which on every weekday has hours of its own.
const MIN_WEEKS: usize = 3;

/// Which column every bar falls into.
pub(super) struct Slots {
    /// `[n_bars]`
    pub(super) columns: Vec<usize>,
    /// Number of columns.
    pub(super) n: usize,
    /// First day of each column.
    days: Vec<Date>,
}

/// A stamp on the clock of a zone; beyond the calendar, the epoch.
pub(super) fn local(ts: i64, zone: &TimeZone) -> DateTime {
    zone.to_datetime(Timestamp::from_nanosecond(i128::from(ts)).unwrap_or_default())
}

/// Nanoseconds since midnight.
pub(super) fn of_day_ns(at: &DateTime) -> i64 {
    at.time().duration_since(Time::midnight()).as_nanos() as i64
}

impl Slots {
    /// The axis of bars, with the days and hours of a zone.
    pub(super) fn new(bars: &Bars, zone: &TimeZone) -> Self {
        let unit = bars.interval_ns().max(DAY_NS / PARTS);
        let of = |&ts: &i64| {
            let at = local(ts, zone);
            (at.date(), of_day_ns(&at) / unit)
        };
        let places: Vec<(Date, i64)> = bars.ts().iter().map(of).collect();
        let axis = if unit > DAY_NS { apart(bars, zone) } else { usual(&places, unit, zone) };
        let slot = |place: &(Date, i64)| axis.partition_point(|slot| slot <= place).saturating_sub(1);
        let slots: Vec<usize> = places.iter().map(slot).collect();
        // The axis begins and ends with the bars, though their first day began before.
        let first = slots.first().copied().unwrap_or_default();
        let n_slots = slots.last().map_or(1, |last| last - first + 1);
        let width = n_slots.div_ceil(COLUMNS);
        let n = n_slots.div_ceil(width);
        let day = |column: usize| axis.get(first + column * width).map_or(Date::ZERO, |(date, _)| *date);
        Self { columns: slots.iter().map(|slot| (slot - first) / width).collect(), n, days: (0..n).map(day).collect() }
    }

    /// The day at a place of the axis, 0 to 1.
    pub(super) fn day(&self, place: f64) -> Date {
        let column = ((self.n as f64 * place) as usize).min(self.n - 1);
        self.days.get(column).copied().unwrap_or_default()
    }
}

/// The stretches in which there usually are bars, of every day from the first to the last, but those that clocks skip.
fn usual(places: &[(Date, i64)], unit: i64, zone: &TimeZone) -> Vec<(Date, i64)> {
    let (Some(&(first, _)), Some(&(last, _))) = (places.first(), places.last()) else { return Vec::new() };
    let dates: Vec<Date> = first.series(1.day()).take_while(|date| *date <= last).collect();
    let of_week = |date: Date| date.weekday().to_monday_zero_offset();
    // In a short file the weekdays show together when they are open.
    let kind = |date: Date| if dates.len() < 7 * MIN_WEEKS && of_week(date) < 5 { 0 } else { of_week(date) };
    let mut of_kind: BTreeMap<i8, usize> = BTreeMap::new();
    dates.iter().for_each(|date| *of_kind.entry(kind(*date)).or_default() += 1);
    let mut seen: BTreeMap<(i8, i64), usize> = BTreeMap::new();
    let distinct: BTreeSet<(Date, i64)> = places.iter().copied().collect();
    distinct.iter().for_each(|(date, part)| *seen.entry((kind(*date), *part)).or_default() += 1);
    let is_usual = |&(&(kind, _), &n): &(&(i8, i64), &usize)| {
        n as f64 >= USUAL * of_kind.get(&kind).copied().unwrap_or_default() as f64
    };
    let mut parts: BTreeMap<i8, Vec<i64>> = BTreeMap::new();
    seen.iter().filter(is_usual).for_each(|(&(kind, part), _)| parts.entry(kind).or_default().push(part));
    let of_date = |date: &Date| {
        let parts = parts.get(&kind(*date)).cloned().unwrap_or_default();
        let date = *date;
        parts.into_iter().map(move |part| (date, part))
    };
    let is_skipped = |&(date, part): &(Date, i64)| {
        let begin = date.to_datetime(Time::midnight()).checked_add(SignedDuration::from_nanos(part * unit));
        begin.is_ok_and(|begin| matches!(zone.to_ambiguous_timestamp(begin).offset(), AmbiguousOffset::Gap { .. }))
    };
    dates.iter().flat_map(of_date).filter(|slot| unit == DAY_NS || !is_skipped(slot)).collect()
}

/// For bars longer than a day: one stretch for every interval.
fn apart(bars: &Bars, zone: &TimeZone) -> Vec<(Date, i64)> {
    let (interval, ts) = (bars.interval_ns().max(1), bars.ts());
    let (Some(&first), Some(&last)) = (ts.first(), ts.last()) else { return Vec::new() };
    // Months differ in length: a stretch begins half of one before its bar.
    let starts = (0..=(last - first + interval / 2) / interval).map(|i| first + i * interval - interval / 2);
    starts.map(|start| (local(start, zone).date(), 0)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gigabar_market::BarColumns;

    use super::*;

    const HOUR: i64 = 3_600_000_000_000;
    /// 2024-01-01 00:00 in New York, a Monday.
    const MONDAY: i64 = 19_723 * DAY_NS + 5 * HOUR;

    fn bars(ts: Vec<i64>) -> Bars {
        let one = vec![1.0; ts.len()];
        let columns =
            BarColumns { open: one.clone(), high: one.clone(), low: one.clone(), close: one.clone(), volume: one, ts };
        Bars::new(columns).unwrap()
    }

    /// Bars of each column.
    fn counts(ts: Vec<i64>) -> Vec<usize> {
        let slots = Slots::new(&bars(ts), &TimeZone::get("America/New_York").unwrap());
        let mut counts = vec![0; slots.n];
        slots.columns.iter().for_each(|&column| counts[column] += 1);
        counts
    }

    /// Seven hours a day from nine on, Monday to Friday.
    fn sessions(days: i64) -> Vec<i64> {
        let days = (0..days).filter(|day| day % 7 < 5);
        days.flat_map(|day| (9..16).map(move |hour| MONDAY + day * DAY_NS + hour * HOUR)).collect()
    }

    #[test]
    fn nights_and_weekends_take_no_room_and_a_missing_day_does() {
        for days in [5, 12, 60] {
            let whole = sessions(days);
            assert_eq!(counts(whole.clone()), vec![1; whole.len()], "{days}");
            let tuesday = (MONDAY + DAY_NS)..(MONDAY + 2 * DAY_NS);
            let holed = counts(whole.into_iter().filter(|ts| !tuesday.contains(ts)).collect());
            assert_eq!(holed.iter().filter(|n| **n == 0).count(), 7, "{days}");
            assert_eq!(holed[7..14], [0; 7], "{days}");
        }
    }

    #[test]
    fn complete_bars_of_any_length_fill_every_column() {
        for (n, step) in
            [(48, HOUR / 2), (48, HOUR), (3000, HOUR), (20_000, HOUR / 60), (900, DAY_NS), (200, 7 * DAY_NS)]
        {
            let counts = counts((0..n).map(|i| MONDAY + i * step).collect());
            let full = counts.first().copied().unwrap();
            assert!(counts[..counts.len() - 1].iter().all(|n| *n == full), "{n} of {step}: {counts:?}");
        }
        let months: Vec<i64> = (0..120).map(|i| MONDAY + (f64::from(i) * 30.4375) as i64 * DAY_NS).collect();
        assert!(counts(months).iter().filter(|n| **n == 0).count() < 4);
    }
}
