//! Time stamps as text: ISO 8601 in UTC.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// Nanoseconds of a day of 24 hours.
pub const DAY_NS: i64 = 86_400_000_000_000;

/// UTC nanoseconds as ISO 8601 with a `Z`, fractional seconds only where there are any.
pub fn iso(ts: i64) -> String {
    Timestamp::from_nanosecond(i128::from(ts)).map_or_else(|_| ts.to_string(), |t| t.to_string())
}

/// The UTC day of a stamp, `2020-01-31`.
pub fn day(ts: i64) -> String {
    iso(ts).chars().take(10).collect()
}

/// A length of time in its largest whole unit: `1 d`, `15 min`, `250 ms`.
pub fn interval(ns: i64) -> String {
    let units = [("d", DAY_NS), ("h", 3_600_000_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000)];
    match units.into_iter().find(|(_, unit)| ns >= *unit && ns % unit == 0) {
        Some((name, unit)) => format!("{} {name}", ns / unit),
        None => format!("{} ms", ns as f64 / 1e6),
    }
}

/// The moment clocks go forward over a wall-clock time; `None` where the zone has that time.
pub(crate) fn skipped_at(zone: &TimeZone, civil: DateTime) -> Option<Timestamp> {
    let moment = zone.to_ambiguous_timestamp(civil);
    if !matches!(moment.offset(), AmbiguousOffset::Gap { .. }) {
        return None;
    }
    zone.following(moment.earlier().ok()?).next().map(|change| change.timestamp())
}

/// Reads ISO 8601 (`2020-01-31`, `2020-01-31 09:30`, `2020-01-31T09:30:00Z`, with any offset); a stamp without offset
/// is UTC. `None` where the text is no such stamp or lies outside the years 1677 to 2262.
pub fn parse_iso(text: &str) -> Option<i64> {
    let stamp = text.parse::<Timestamp>().ok().or_else(|| {
        let civil = text.parse::<DateTime>().ok()?;
        TimeZone::UTC.to_timestamp(civil).ok()
    })?;
    i64::try_from(stamp.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_in_their_largest_unit() {
        let second = 1_000_000_000;
        assert_eq!(interval(86_400 * second), "1 d");
        assert_eq!(interval(5 * 60 * second), "5 min");
        assert_eq!(interval(90 * second), "90 s");
        assert_eq!(interval(second / 4), "250 ms");
    }

    #[test]
    fn both_ways() {
        for text in ["2020-01-31T09:30:00Z", "1970-01-01T00:00:00Z", "2021-11-28T00:00:00.5Z"] {
            assert_eq!(parse_iso(text).map(iso).as_deref(), Some(text));
        }
        assert_eq!(parse_iso("2020-01-31"), parse_iso("2020-01-31T00:00:00Z"));
        assert_eq!(parse_iso("2020-01-31 09:30"), parse_iso("2020-01-31T10:30:00+01:00"));
        assert_eq!(parse_iso("yesterday"), None);
        assert_eq!(parse_iso("2020-01-31T23:59:59Z").map(day).as_deref(), Some("2020-01-31"));
    }
}
