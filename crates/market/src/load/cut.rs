//! `from` and `to`: which rows are taken. Both ends belong to the range; a date stands for its whole day in the zone of the
//! file, as in pandas' `.loc["2020-01-01":"2020-12-31"]`.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use super::rows::Rows;
use super::{LoadError, LoadOptions};
use crate::time::skipped_at;

/// A range of stamps, both ends inside.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    from: Option<i64>,
    to: Option<i64>,
    /// As given, for people.
    pub(crate) given: String,
}

impl Cut {
    pub(crate) fn new(options: &LoadOptions) -> Result<Self, LoadError> {
        let zone = options.zone()?;
        let bound = |option: &'static str, text: &Option<String>, end: bool| {
            let reason = |text: &String| format!("{text:?} is neither a date nor a time stamp");
            let parsed = text.as_ref().map(|text| parse(text, &zone, end).ok_or_else(|| reason(text))).transpose();
            parsed.map_err(|reason| LoadError::Setting { option, reason })
        };
        let (from, to) = (bound("from", &options.from, false)?, bound("to", &options.to, true)?);
        if let (Some(a), Some(b)) = (from, to)
            && a > b
        {
            let reason = format!("{} lies after {}", shown(&options.from), shown(&options.to));
            return Err(LoadError::Setting { option: "from and to", reason });
        }
        let named = [("from", &options.from), ("to", &options.to)];
        let given =
            named.iter().filter(|(_, text)| text.is_some()).map(|(name, text)| format!("{name} {}", shown(text)));
        Ok(Self { from, to, given: given.collect::<Vec<_>>().join(" ") })
    }

    pub(crate) fn is_none(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    pub(crate) fn holds(&self, ts: i64) -> bool {
        self.from.is_none_or(|from| ts >= from) && self.to.is_none_or(|to| ts <= to)
    }

    /// Keeps the rows inside.
    pub(crate) fn apply(&self, rows: &mut Rows) {
        if !self.is_none() {
            let kept: Vec<usize> = (0..rows.lines.len()).filter(|&row| self.holds(rows.columns.ts[row])).collect();
            rows.select(&kept);
        }
    }
}

fn shown(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

/// UTC nanoseconds of a date (its first, or for an `end` its last) or a time stamp.
fn parse(text: &str, zone: &TimeZone, end: bool) -> Option<i64> {
    let text = text.trim();
    let stamp = if text.len() <= 10 {
        let date: Date = text.parse().ok()?;
        // The first moment of a day, which where the clocks go forward at midnight is not 00:00.
        let start = |date: Date| {
            Some(date.to_zoned_datetime(zone.clone()).ok()?.start_of_day().ok()?.timestamp().as_nanosecond())
        };
        if end { start(date.tomorrow().ok()?)? - 1 } else { start(date)? }
    } else if let Ok(stamp) = text.parse::<Timestamp>() {
        stamp.as_nanosecond()
    } else {
        let civil: DateTime = text.parse().ok()?;
        if let Some(change) = skipped_at(zone, civil) {
            let change = change.as_nanosecond();
            return i64::try_from(if end { change - 1 } else { change }).ok();
        }
        let moment = zone.to_ambiguous_timestamp(civil);
        // Of an hour that occurs twice the range takes both.
        if end { moment.later() } else { moment.earlier() }.ok()?.as_nanosecond()
    };
    i64::try_from(stamp).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::time::iso;

    #[test]
    fn days_are_whole_also_where_they_have_23_hours() {
        let zone = TimeZone::get("America/New_York").unwrap();
        let at = |text: &str, end| parse(text, &zone, end).map(iso).unwrap_or_default();
        assert_eq!(at("2024-03-10", false), "2024-03-10T05:00:00Z");
        assert_eq!(at("2024-03-10", true), "2024-03-11T03:59:59.999999999Z");
        assert_eq!(at("2024-03-10 09:30", true), "2024-03-10T13:30:00Z");
        assert_eq!(at("2024-11-03 01:30", false), "2024-11-03T05:30:00Z");
        assert_eq!(at("2024-11-03 01:30", true), "2024-11-03T06:30:00Z");
        assert_eq!(at("2024-03-10T09:30:00+01:00", true), "2024-03-10T08:30:00Z");
        assert_eq!(at("2024-03-10 02:30", false), "2024-03-10T07:00:00Z");
        assert_eq!(at("2024-03-10 02:30", true), "2024-03-10T06:59:59.999999999Z");
        for wrong in ["yesterday", "2024", "2024-02-30", "2024-01-01 25:00"] {
            assert_eq!(at(wrong, false), "", "{wrong}");
        }
    }
}
