//! From wall-clock time to UTC, through a time zone's summer and winter.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::time::{Moment, in_bounds, instant};

/// A wall-clock time that clocks skip.
#[derive(Debug, Clone)]
pub(crate) struct Skipped {
    /// What it is taken as, UTC nanoseconds.
    pub(crate) ts: i64,
    pub(crate) civil: DateTime,
    pub(crate) zone: String,
}

/// Turns wall-clock times into instants.
pub(crate) struct Clock {
    zone: Option<TimeZone>,
    previous: Option<i64>,
    descending: bool,
    /// Whether any stamp came without offset.
    saw_civil: bool,
    /// Times that the zone has not.
    pub(crate) skipped: Vec<Skipped>,
}

impl Clock {
    /// Without a zone, wall-clock times are UTC.
    pub(crate) fn new(zone: Option<TimeZone>) -> Self {
        Self { zone, previous: None, descending: false, saw_civil: false, skipped: Vec::new() }
    }

    /// UTC nanoseconds of a moment. A wall-clock hour that occurs twice when summer time ends is read as the occurrence
    /// that keeps time running the way the file runs.
    pub(crate) fn instant(&mut self, moment: Moment) -> Option<i64> {
        let ns = match moment {
            Moment::Instant(ns) => ns,
            Moment::Civil(civil) => {
                self.saw_civil = true;
                match self.zone.clone() {
                    None => instant(civil, Offset::UTC)?,
                    Some(zone) => in_bounds(self.zoned(&zone, civil)?)?,
                }
            }
            Moment::Zoned(civil, zone) => in_bounds(self.zoned(&zone, civil)?)?,
        };
        if let Some(previous) = self.previous.filter(|&p| p != ns) {
            self.descending = ns < previous;
        }
        self.previous = Some(ns);
        Some(ns)
    }

    /// How stamps were read, for people.
    pub(crate) fn describe(&self, tz: Option<&str>) -> String {
        match (self.saw_civil, tz) {
            (false, _) => "stamps are UTC instants".to_owned(),
            (true, None) => "stamps without zone read as UTC".to_owned(),
            (true, Some(tz)) => format!("stamps without zone read as {tz}"),
        }
    }

    fn zoned(&mut self, zone: &TimeZone, civil: DateTime) -> Option<i128> {
        let ambiguous = zone.to_ambiguous_timestamp(civil);
        if let AmbiguousOffset::Fold { before, after } = ambiguous.offset() {
            let early = before.to_timestamp(civil).ok()?.as_nanosecond();
            let late = after.to_timestamp(civil).ok()?.as_nanosecond();
            let repeats =
                self.previous.map(i128::from).is_some_and(|p| if self.descending { p > late } else { p >= early });
            return Some(if repeats { late } else { early });
        }
        let gap = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
        let ns = ambiguous.compatible().ok()?.as_nanosecond();
        if let (true, Some(ts)) = (gap, in_bounds(ns)) {
            let zone = zone.iana_name().unwrap_or("the zone").to_owned();
            self.skipped.push(Skipped { ts, civil, zone });
        }
        Some(ns)
    }
}
