//! Day or month first in dates like `01/02/2024`: what a file must show by its data.

use std::path::Path;

use super::clock::Clock;
use super::csv::{cell, for_each_record, moment};
use super::dialect::Layout;
use super::time::{self, DateOrder, Moment};
use super::{LoadError, LoadOptions, Place};

/// Rows looked at for dates whose day and month could change places.
const OPEN_DATE_ROWS: usize = 60;

/// A line (row) and its date.
type Seen = (u64, String);

/// The first dates whose day and month could change places, and the first that show which is which.
#[derive(Default)]
pub(crate) struct OpenDates {
    first: Option<Seen>,
    day_first: Option<Seen>,
    month_first: Option<Seen>,
}

impl OpenDates {
    /// Looks at a cell.
    pub(crate) fn see(&mut self, line: u64, cell: &[u8]) {
        let Some((a, b)) = time::open_pair(cell) else { return };
        let seen = || (line, String::from_utf8_lossy(cell.trim_ascii()).into_owned());
        self.first.get_or_insert_with(seen);
        if a > 12 && b <= 12 {
            self.day_first.get_or_insert_with(seen);
        }
        if b > 12 && a <= 12 {
            self.month_first.get_or_insert_with(seen);
        }
    }

    /// As a number above 12 shows, else as keeps the file sorted. `None` where there was no such date.
    pub(crate) fn decide(
        self,
        path: &Path,
        column: &str,
        place: fn(u64) -> Place,
        sorted: impl Fn(DateOrder) -> bool,
    ) -> Result<Option<DateOrder>, LoadError> {
        let Some((line, text)) = self.first else { return Ok(None) };
        let (path, column) = (path.to_owned(), column.to_owned());
        match (self.day_first, self.month_first) {
            (Some((day, text)), Some((month, other))) => {
                Err(LoadError::DateConflict { path, at: place(day), text, other_at: place(month), other })
            }
            (Some(_), None) => Ok(Some(DateOrder::Dmy)),
            (None, Some(_)) => Ok(Some(DateOrder::Mdy)),
            (None, None) => match (sorted(DateOrder::Dmy), sorted(DateOrder::Mdy)) {
                (true, false) => Ok(Some(DateOrder::Dmy)),
                (false, true) => Ok(Some(DateOrder::Mdy)),
                _ => Err(LoadError::DateOrder { path, at: place(line), column, text }),
            },
        }
    }
}

/// How the dates of a text are read: as the option says, else as they show. `None` when the first rows hold none whose
/// day and month could change places; then none is taken for a stamp further down.
pub(crate) fn of_text(
    path: &Path,
    text: &[u8],
    layout: &Layout,
    options: &LoadOptions,
) -> Result<Option<DateOrder>, LoadError> {
    if options.date_order.is_some() {
        return Ok(options.date_order);
    }
    let column = layout.roles.time.unwrap_or(0);
    let (mut dates, mut rows) = (OpenDates::default(), 0);
    for_each_record(text, layout, |line, record| {
        rows += 1;
        dates.see(line, cell(record, column));
        dates.first.is_some() || rows < OPEN_DATE_ROWS
    });
    dates.decide(path, &layout.name(column), Place::Line, |order| {
        let mut run = Run::default();
        for_each_record(text, layout, |_, record| run.goes_on(moment(layout, Some(order), record)));
        run.is_sorted()
    })
}

/// Whether moments run up or down.
pub(crate) struct Run {
    clock: Clock,
    previous: Option<i64>,
    up: bool,
    down: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self { clock: Clock::new(None), previous: None, up: true, down: true }
    }
}

impl Run {
    /// Takes the next; false once they neither rise nor fall.
    pub(crate) fn goes_on(&mut self, moment: Option<Moment>) -> bool {
        let ts = moment.and_then(|m| self.clock.instant(m));
        if let (Some(before), Some(now)) = (self.previous, ts) {
            self.up &= before <= now;
            self.down &= before >= now;
        }
        self.previous = ts.or(self.previous);
        self.is_sorted()
    }

    pub(crate) fn is_sorted(&self) -> bool {
        self.up || self.down
    }
}
