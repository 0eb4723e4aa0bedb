//! A row's moment: of one column, or of a date in one and a time of day in another.

use super::column::{Cell, Column};
use super::kind::Kind;
use crate::load::csv::shortened;
use crate::load::time::{self, DateOrder, Moment};
use crate::time::DAY_NS;

/// The column of stamps or dates, and that of times of day.
#[derive(Clone, Copy)]
pub(crate) struct Stamp<'a> {
    pub(crate) time: &'a Column,
    pub(crate) clock: Option<&'a Column>,
}

impl Stamp<'_> {
    /// A row's moment, or what stands there instead.
    pub(crate) fn moment(&self, row: usize, order: DateOrder) -> Result<Moment, String> {
        let Some(clock) = self.clock else {
            return self.time.moment(row, order).map_err(|text| shortened(text.as_bytes()));
        };
        let moment = date_text(self.time, row)
            .zip(clock_text(clock, row))
            .and_then(|((date, zone), clock)| time::parse_pair(&date, &[&clock, zone].concat(), order));
        moment.ok_or_else(|| shortened(self.text(row).as_bytes()))
    }

    /// What stands in the column, or in both, for people.
    pub(crate) fn text(&self, row: usize) -> String {
        let Some(clock) = self.clock else { return self.time.stamp_text(row) };
        let of_day = clock_text(clock, row).map(|text| String::from_utf8_lossy(&text).into_owned());
        let date = date_text(self.time, row).map(|(text, _)| String::from_utf8_lossy(&text).into_owned());
        let [date, of_day] =
            [date.unwrap_or_else(|| self.time.stamp_text(row)), of_day.unwrap_or_else(|| clock.text(row))];
        format!("{date} {of_day}")
    }
}

/// A date as text, and the mark of UTC where it is that of an instant; none for a stamp with a time of its own.
fn date_text(column: &Column, row: usize) -> Option<(Vec<u8>, &'static [u8])> {
    let midnight = |at: jiff::civil::DateTime| (at.time() == jiff::civil::Time::midnight()).then(|| at.date());
    match (column.kind.is_stamp(), column.cell(row)) {
        (_, Cell::Null) => None,
        (false, Cell::Bytes(bytes)) => Some((bytes.trim_ascii().to_vec(), b"")),
        (false, _) => Some((column.text(row).into_bytes(), b"")),
        (true, _) => match column.moment(row, DateOrder::Dmy).ok()? {
            Moment::Civil(at) => midnight(at).map(|date| (date.to_string().into_bytes(), b"".as_slice())),
            Moment::Instant(ns) if ns % DAY_NS == 0 => Some((crate::time::day(ns).into_bytes(), b"Z")),
            Moment::Instant(_) | Moment::Zoned(..) => None,
        },
    }
}

/// A time of day as text: `09:30:00.000000000`, `930`, or as it is written.
fn clock_text(column: &Column, row: usize) -> Option<Vec<u8>> {
    match (column.kind, column.cell(row)) {
        (Kind::TimeOfDay { unit_ns }, Cell::Int(value)) => {
            let ns = value.checked_mul(unit_ns).filter(|ns| (0..DAY_NS).contains(ns))?;
            let (seconds, nanos) = (ns / 1_000_000_000, ns % 1_000_000_000);
            let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            Some(format!("{hour:02}:{minute:02}:{second:02}.{nanos:09}").into_bytes())
        }
        (Kind::Integer { .. }, Cell::Int(_)) => Some(column.text(row).into_bytes()),
        (_, Cell::Bytes(bytes)) => Some(bytes.trim_ascii().to_vec()).filter(|text| !text.is_empty()),
        _ => None,
    }
}
