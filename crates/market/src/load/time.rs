//! Time stamps as files write them: ISO and its relatives, day- or month-first dates, compact digits, epochs.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};

/// How a date whose year comes last is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DateOrder {
    /// `31/12/2024`
    Dmy,
    /// `12/31/2024`
    Mdy,
}

/// A cell's moment: an instant, or a wall-clock time whose zone the file leaves open.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Moment {
    /// UTC nanoseconds.
    Instant(i64),
    /// Local time.
    Civil(DateTime),
    /// Local time of a zone the cell names.
    Zoned(DateTime, TimeZone),
}

/// 1900-01-01 and 2150-01-01, UTC nanoseconds: stamps outside are no market data, and differences inside fit an i64.
const BOUNDS_NS: std::ops::Range<i128> = -2_208_988_800_000_000_000..5_680_281_600_000_000_000;

/// Reads a cell; dates like `01/02/2024` by `order` (with points always day first).
pub(crate) fn parse(cell: &[u8], order: DateOrder) -> Option<Moment> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.bytes().filter(|&b| b == b'.').count() <= 1 {
        return digits_only(text);
    }
    let mut cursor = Cursor { rest: text };
    let date = cursor.date(order)?;
    if cursor.rest.is_empty() {
        return Some(Moment::Civil(date.to_datetime(Time::midnight())));
    }
    if !cursor.eat(&['T', 't', ' ']) {
        return None;
    }
    let (time, leap) = cursor.time()?;
    let civil = date.to_datetime(time).checked_add(SignedDuration::from_secs(leap)).ok()?;
    if let Some(zone) = cursor.zone() {
        return Some(Moment::Zoned(civil, zone));
    }
    match cursor.offset()? {
        Some(offset) => instant(civil, offset).map(Moment::Instant),
        None => Some(Moment::Civil(civil)),
    }
}

/// Reads a date and a time of day from two cells.
pub(crate) fn parse_pair(date: &[u8], clock: &[u8], order: DateOrder) -> Option<Moment> {
    let mut joined = Vec::with_capacity(date.len() + 1 + clock.len().max(6));
    joined.extend_from_slice(date.trim_ascii());
    joined.push(b' ');
    let clock = clock.trim_ascii();
    if clock.iter().all(u8::is_ascii_digit) {
        // HHMM, HHMMSS, either without its leading zero; 0 is midnight.
        let width = if clock.len() <= 4 { 4 } else { 6 };
        joined.resize(joined.len() + width - clock.len().min(width), b'0');
    }
    joined.extend_from_slice(clock);
    parse(&joined, order)
}

/// The two numbers before the year of a numeric date with `/` or `-`: the ones whose order a file must show.
pub(crate) fn open_pair(cell: &[u8]) -> Option<(u8, u8)> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    let mut cursor = Cursor { rest: text };
    let first = cursor.number(1..=2)?;
    if !cursor.eat(&['/', '-']) {
        return None;
    }
    let second = cursor.number(1..=2)?;
    cursor.eat(&['/', '-']).then_some((first as u8, second as u8))
}

/// Whether a cell is a time of day alone.
pub(crate) fn is_clock(cell: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(cell.trim_ascii()) else { return false };
    let mut cursor = Cursor { rest: text };
    text.contains(':') && cursor.time().is_some() && cursor.offset().is_some()
}

/// UTC nanoseconds, within what counts as market data.
pub(crate) fn instant(civil: DateTime, offset: Offset) -> Option<i64> {
    in_bounds(offset.to_timestamp(civil).ok()?.as_nanosecond())
}

/// The nanoseconds, if they lie within what counts as market data.
pub(crate) fn in_bounds(ns: i128) -> Option<i64> {
    BOUNDS_NS.contains(&ns).then_some(ns as i64)
}

/// `YYYYMMDD`, `YYYYMMDDHHMM`, `YYYYMMDDHHMMSS[mmm]`, or an epoch whose unit its size tells.
fn digits_only(text: &str) -> Option<Moment> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let compact = |width: usize| {
        let date = compact_date(whole.get(..8)?)?;
        let mut cursor = Cursor { rest: whole.get(8..width)? };
        let (time, leap) = if width == 8 { (Time::midnight(), 0) } else { cursor.time()? };
        date.to_datetime(time).checked_add(SignedDuration::from_secs(leap)).ok().map(Moment::Civil)
    };
    match whole.len() {
        8 | 14 => return if fraction.is_empty() { compact(whole.len()) } else { None },
        12 => {
            if let Some(moment) = compact(12) {
                return Some(moment);
            }
        }
        17 => {
            let Some(Moment::Civil(civil)) = compact(14) else { return None };
            let millis = SignedDuration::from_millis(whole.get(14..)?.parse().ok()?);
            return civil.checked_add(millis).ok().map(Moment::Civil);
        }
        _ => {}
    }
    let value: i128 = whole.parse().ok()?;
    let unit_digits = match whole.len() {
        9 | 10 => 9,
        11..=13 => 6,
        15 | 16 => 3,
        18 | 19 => 0,
        _ => return None,
    };
    let kept = &fraction[..fraction.len().min(unit_digits)];
    let part: i128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    let scale = |digits: usize| 10i128.pow(digits as u32);
    in_bounds(value * scale(unit_digits) + part * scale(unit_digits - kept.len())).map(Moment::Instant)
}

fn compact_date(digits: &str) -> Option<Date> {
    let number = |range: std::ops::Range<usize>| digits.get(range)?.parse::<i16>().ok();
    Date::new(number(0..4)?, number(4..6)? as i8, number(6..8)? as i8).ok()
}

struct Cursor<'a> {
    rest: &'a str,
}

impl Cursor<'_> {
    fn eat(&mut self, any: &[char]) -> bool {
        match self.rest.strip_prefix(any) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn digits(&self) -> usize {
        self.rest.bytes().take_while(u8::is_ascii_digit).count()
    }

    fn number(&mut self, width: std::ops::RangeInclusive<usize>) -> Option<i32> {
        let n = self.digits();
        if !width.contains(&n) {
            return None;
        }
        let value = self.rest[..n].parse().ok()?;
        self.rest = &self.rest[n..];
        Some(value)
    }

    fn month_name(&mut self) -> Option<i32> {
        const NAMES: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        let n = self.rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let word = self.rest.get(..3).filter(|_| n >= 3)?.to_ascii_lowercase();
        let month = NAMES.iter().position(|name| *name == word)?;
        self.rest = &self.rest[n..];
        Some(month as i32 + 1)
    }

    fn year(&mut self) -> Option<i32> {
        match self.digits() {
            4 => self.number(4..=4),
            2 => self.number(2..=2).map(|y| if y < 70 { 2000 + y } else { 1900 + y }),
            _ => None,
        }
    }

    fn date(&mut self, order: DateOrder) -> Option<Date> {
        let (year, month, day) = match self.digits() {
            8 => {
                let date = compact_date(&self.rest[..8]);
                self.rest = &self.rest[8..];
                return date;
            }
            4 => self.year_first()?,
            1 | 2 => self.year_last(order)?,
            _ => self.named_month_first()?,
        };
        Date::new(year as i16, month as i8, day as i8).ok()
    }

    fn year_first(&mut self) -> Option<(i32, i32, i32)> {
        let year = self.number(4..=4)?;
        let separator = self.rest.chars().next().filter(|c| matches!(c, '-' | '/' | '.'))?;
        self.eat(&[separator]);
        let month = self.number(1..=2)?;
        if !self.eat(&[separator]) {
            return None;
        }
        Some((year, month, self.number(1..=2)?))
    }

    fn year_last(&mut self, order: DateOrder) -> Option<(i32, i32, i32)> {
        let first = self.number(1..=2)?;
        let separator = self.rest.chars().next().filter(|c| matches!(c, '-' | '/' | '.' | ' '))?;
        self.eat(&[separator]);
        if self.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let month = self.month_name()?;
            self.eat(&['-', '/', '.', ' ', ',']);
            return Some((self.year()?, month, first));
        }
        let second = self.number(1..=2)?;
        if !self.eat(&[separator]) || separator == ' ' {
            return None;
        }
        let year = self.year()?;
        let day_first = separator == '.' || order == DateOrder::Dmy;
        Some(if day_first { (year, second, first) } else { (year, first, second) })
    }

    fn named_month_first(&mut self) -> Option<(i32, i32, i32)> {
        let month = self.month_name()?;
        self.eat(&[' ', '-', '.']);
        let day = self.number(1..=2)?;
        self.eat(&[',']);
        self.eat(&[' ', '-']);
        Some((self.year()?, month, day))
    }

    /// A time of day, and one second to add where it is the leap second `:59:60`, which Unix time does not count.
    fn time(&mut self) -> Option<(Time, i64)> {
        while self.eat(&[' ']) {}
        let (mut minute, mut second, mut nanos) = (0, 0, 0);
        let hour;
        match self.digits() {
            4 | 6 => {
                hour = self.pair()?;
                minute = self.pair()?;
                if self.digits() == 2 {
                    second = self.pair()?;
                }
            }
            1 | 2 => {
                hour = self.number(1..=2)?;
                if self.eat(&[':']) {
                    minute = self.number(2..=2)?;
                    if self.eat(&[':']) {
                        second = self.number(2..=2)?;
                    }
                } else if !self.rest.trim_start_matches([' ', '-']).to_ascii_uppercase().ends_with('M') {
                    return None;
                }
            }
            _ => return None,
        }
        if self.rest.starts_with(['.', ',']) {
            self.eat(&['.', ',']);
            let n = self.digits().min(9);
            nanos = self.rest[..n].parse::<i32>().ok()? * 10i32.pow(9 - n as u32);
            self.rest = &self.rest[self.digits()..];
        }
        let hour = self.half_day(hour)?;
        let leap = i64::from(minute == 59 && second == 60);
        Some((Time::new(hour as i8, minute as i8, second as i8 - leap as i8, nanos).ok()?, leap))
    }

    fn pair(&mut self) -> Option<i32> {
        let value = self.rest.get(..2)?.parse().ok()?;
        self.rest = &self.rest[2..];
        Some(value)
    }

    /// `07-AM`, `7:30 PM`: hour on the 24-hour clock.
    fn half_day(&mut self, hour: i32) -> Option<i32> {
        let tail = self.rest.trim_start_matches([' ', '-']);
        let Some(half) = tail.get(..2) else { return Some(hour) };
        let shift = match half.to_ascii_uppercase().as_str() {
            "AM" => 0,
            "PM" => 12,
            _ => return Some(hour),
        };
        if tail[2..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            // The zone America/New_York, for one.
            return Some(hour);
        }
        self.rest = &tail[2..];
        (1..=12).contains(&hour).then_some(hour % 12 + shift)
    }

    /// An IANA name with a slash, ` US/Eastern`, as the rest of the cell.
    fn zone(&self) -> Option<TimeZone> {
        let name = self.rest.trim();
        let first = name.bytes().next()?;
        if !first.is_ascii_alphabetic() || !name.contains('/') || name.len() > 64 {
            return None;
        }
        TimeZone::get(name).ok()
    }

    /// Rest of the cell as an offset from UTC: `Some(None)` when nothing is left, `None` when it is something else.
    fn offset(&mut self) -> Option<Option<Offset>> {
        let mut rest = self.rest.trim();
        if rest.is_empty() {
            return Some(None);
        }
        let named = ["Z", "z", "UTC", "GMT"].iter().find_map(|name| rest.strip_prefix(name));
        if let Some(after) = named {
            if after.is_empty() {
                return Some(Some(Offset::UTC));
            }
            rest = after;
        }
        let sign = match rest.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return None,
        };
        let (hours, minutes) = match rest[1..].split_once(':') {
            Some((h, m)) => (h, m),
            None => rest[1..].split_at_checked(2)?,
        };
        let number = |s: &str| if s.is_empty() { Some(0) } else { s.parse::<u16>().ok().map(i32::from) };
        let seconds = sign * (number(hours)? * 3600 + number(minutes)?.checked_mul(60)?);
        Offset::from_seconds(seconds).ok().map(Some)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::clock::Clock;
    use super::*;

    fn utc(text: &str, order: DateOrder) -> Option<String> {
        let ns = Clock::new(None).instant(parse(text.as_bytes(), order)?)?;
        Some(crate::time::iso(ns))
    }

    #[test]
    fn stamps_as_vendors_write_them() {
        let noon = "2024-01-02T12:30:00Z";
        for text in [
            "2024-01-02 12:30",
            "2024-1-2T12:30:00.000",
            "2024/01/02 12:30",
            "20240102 1230",
            "202401021230",
            "20240102123000000",
            "1704198600",
            "1704198600.0",
            "1704198600000",
            "1704198600000000",
            "1704198600000000000",
            "02.01.2024 12:30",
            "2024-01-02T14:30:00+02:00",
            "2024-01-02 07:30:00-0500",
            "2024-01-02 12:30 UTC",
            "02.01.2024 13:30:00 GMT+0100",
            "02-Jan-2024 12:30",
            "Jan 2, 2024 12:30 PM",
            "2 January 2024 12:30",
        ] {
            assert_eq!(utc(text, DateOrder::Mdy).as_deref(), Some(noon), "{text}");
        }
        assert_eq!(utc("20240102 07:30:00 America/New_York", DateOrder::Mdy).as_deref(), Some(noon));
        assert_eq!(utc("2024-01-02 07:30 America/Argentina/Ushuaia", DateOrder::Mdy).unwrap(), "2024-01-02T10:30:00Z");
        assert_eq!(utc("01/02/24", DateOrder::Mdy).unwrap(), "2024-01-02T00:00:00Z");
        assert_eq!(utc("01/02/1999", DateOrder::Dmy).unwrap(), "1999-02-01T00:00:00Z");
        assert_eq!(utc("2024-01-02 07-PM", DateOrder::Dmy).unwrap(), "2024-01-02T19:00:00Z");
        assert_eq!(utc("2024-01-02 12-AM", DateOrder::Dmy).unwrap(), "2024-01-02T00:00:00Z");
    }

    #[test]
    fn what_is_no_stamp() {
        for text in [
            "",
            "abc",
            "12.5",
            "100",
            "20241301",
            "2024-02-30",
            "2024-01-02 25:00",
            "2024-01-02x",
            "1/2",
            "2024-01/02",
            "13/13/2024",
            "99999999999999999999",
            "2024-01-02 12:30 CET",
            "1800-01-01",
            "2024-01-02 7",
            "5/6.7",
        ] {
            assert_eq!(utc(text, DateOrder::Dmy), None, "{text}");
        }
    }
}
