//! What no single row shows: jumps, runs of equal bars, hours of trading and the bars that lack inside them; and what
//! to do.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::{DataReport, Finding};
use crate::jumps::{SUSPICIOUS_Z, jumps};
use crate::load::LoadOptions;
use crate::load::table::Table;
use crate::time::{DAY_NS, iso};

/// Equal bars in a row that make a run stale.
const STALE_BARS: usize = 5;
/// Share of a weekday's occurrences that must have a bar at a time of day for it to be one of trading.
const USUAL: f64 = 0.5;
/// Days needed to know the hours of trading.
const MIN_DAYS: usize = 10;
/// How the layout of files ends whose stamps are instants.
const INSTANTS: &str = "stamps are UTC instants";
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
    /// Bars at unusual times.
    pub unusual_bars: usize,
    /// The days that lack most: date and number, at most five.
    pub worst_days: Vec<(String, usize)>,
}

/// Adds to the report what the rows of one symbol show together.
pub(super) fn find(table: &Table, options: &LoadOptions, report: &mut DataReport) {
    if table.symbols.len() > 1 && options.symbol.is_none() {
        return;
    }
    let mut order: Vec<usize> = (0..table.lines.len()).collect();
    order.sort_by_key(|&row| table.columns.ts[row]);
    let of = |column: &[f64]| order.iter().map(|&row| column[row]).collect::<Vec<f64>>();
    let (open, close) = (of(&table.columns.open), of(&table.columns.close));
    for jump in jumps(&open, &close, SUSPICIOUS_Z) {
        let row = order[jump.row];
        if let Some((new, old)) = jump.split {
            report.likely_splits.push(format!("{} {new}:{old}", crate::time::day(table.columns.ts[row])));
        }
        report.jumps.add(table.lines[row], || {
            let split = jump.split.map(|(new, old)| format!(", like a {new}:{old} split")).unwrap_or_default();
            let stamp = iso(table.columns.ts[row]);
            format!("{stamp} close {} after {}, z {:.0}{split}", jump.close, jump.before, jump.z)
        });
    }
    stale(table, &order, report);
    let zone = options.tz.as_deref().and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    let ts: Vec<i64> = order.iter().map(|&row| table.columns.ts[row]).collect();
    report.hours = hours(&ts, report.interval_ns, &zone);
    // Stamps without a zone would be read anew in one; instants only get another clock.
    if options.tz.is_none() && report.dialect.ends_with(INSTANTS) {
        report.suggestions.extend(better_clock(&ts, report));
    }
}

/// A zone in whose clock the hours of trading are far more regular than in UTC: they move with its summer time.
fn better_clock(ts: &[i64], report: &DataReport) -> Option<String> {
    let irregular = |hours: &Hours| hours.missing_bars + hours.unusual_bars;
    let now = irregular(report.hours.as_ref()?);
    let of = |name: &'static str| {
        let zone = TimeZone::get(name).ok()?;
        Some((irregular(&hours(ts, report.interval_ns, &zone)?), name))
    };
    let (best, name) = ["America/New_York", "Europe/Berlin"].into_iter().filter_map(of).min()?;
    (now > 0 && 4 * best < now)
        .then(|| format!("--tz {name}: hours of trading move with its summer time; --resample and --from follow --tz"))
}

fn stale(table: &Table, order: &[usize], report: &mut DataReport) {
    let same = |a: &usize, b: &usize| table.prices(*a) == table.prices(*b);
    for run in order.chunk_by(same).filter(|run| run.len() >= STALE_BARS) {
        let (first, last) = (table.columns.ts[run[0]], table.columns.ts[run[run.len() - 1]]);
        report.longest_stale_run = report.longest_stale_run.max(run.len());
        report.stale.add(table.lines[run[0]], || format!("{} equal bars, {} to {}", run.len(), iso(first), iso(last)));
    }
}

/// Usual times per weekday, from the bars of at least two weeks; `None` for bars
/// of a day or more, of less than a second, and of what divides no day.
fn hours(ts: &[i64], interval: i64, zone: &TimeZone) -> Option<Hours> {
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
    let days_without_bars = span.iter().filter(|d| expected[weekday(d)] > 0 && !days.contains_key(d)).count();
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
        days_without_bars,
        unusual_bars,
        worst_days: lacking,
    })
}

/// The flags that would mend what was found.
pub(super) fn suggestions(table: &Table, options: &LoadOptions, report: &DataReport) -> Vec<String> {
    let mut out = report.suggestions.clone();
    let count = |f: &Finding| f.count;
    if table.symbols.len() > 1 && options.symbol.is_none() {
        out.push("--symbol NAME takes one of the symbols".to_owned());
    }
    let mendable = [
        (count(&report.unreadable), "drops rows that cannot be read"),
        (count(&report.missing_prices) + count(&report.non_positive_prices), "drops rows without a price above zero"),
        (count(&report.missing_volumes) + count(&report.negative_volumes), "sets such volumes to 0"),
        (count(&report.unsorted), "sorts by time"),
        (count(&report.duplicates), "keeps the last row of each stamp"),
        (count(&report.ohlc_violations), "widens high and low to contain open and close"),
    ];
    let does: Vec<&str> = mendable.iter().filter(|(n, _)| *n > 0).map(|(_, does)| *does).collect();
    if !does.is_empty() && !options.repair {
        out.push(format!("--repair {}", does.join(", ")));
    }
    if !report.likely_splits.is_empty() && !options.adjust {
        out.push(match table.adjusted {
            Some(_) => "--adjust takes the splits out, with the file's adjusted closes".to_owned(),
            None => {
                "prices carry splits and the file has no adjusted closes: fetch adjusted prices, or cut at the splits \
                     with --from and --to"
                    .to_owned()
            }
        });
    }
    let intraday = report.interval_ns > 0 && report.interval_ns < DAY_NS;
    if intraday && options.tz.is_none() && report.dialect.ends_with("read as UTC") {
        out.push("--tz ZONE, if the stamps are not UTC: the file does not say".to_owned());
    }
    let c = &table.columns;
    let whole = |p: &f64| p.fract() == 0.0 && *p >= 10_000.0;
    if options.price_divisor.is_none() && !c.close.is_empty() && c.close.iter().chain(&c.open).all(whole) {
        out.push("--price-divisor 10000, if the prices are whole numbers of a ten-thousandth".to_owned());
    }
    out
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
        assert_eq!(hours.worst_days, [("2024-01-16".to_owned(), 3)]);
    }
}
