//! [`Frame`]: a table of named columns that is not one of bars, read row by row: levels of strategies, for one.
//!
//! Containers, dialects, time columns and time stamps are those of bars ([`load`](super::load)). Nothing but the file's
//! bytes is kept: a row is gone when the next one is read, so that memory is bounded by what the caller keeps.

mod text;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

use super::clock::Clock;
use super::columns::Roles;
use super::container::{self, Form};
use super::csv::{cell, moment, time_zone};
use super::number::{self, Number};
use super::parquet::Sheet;
use super::parquet::column::{Cell, Column};
use super::parquet::stamp::Stamp;
use super::time::{self, DateOrder};
use super::{LoadError, LoadOptions, Place};
use text::Lines;

/// A table with a header, its columns known and its rows still to be read.
pub struct Frame {
    path: PathBuf,
    names: Vec<String>,
    roles: Roles,
    zone: Option<TimeZone>,
    rows: Rows,
}

enum Rows {
    Text(Box<Lines>),
    Parquet(Sheet),
}

/// One row of a [`Frame`]. Columns are counted from 0.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    roles: &'a Roles,
    place: Place,
    cells: Cells<'a>,
}

#[derive(Clone, Copy)]
enum Cells<'a> {
    Text {
        record: &'a csv::ByteRecord,
        lines: &'a Lines,
    },
    /// `row` counts from the first that `columns` hold; columns not asked for are none.
    Parquet {
        columns: &'a [Option<Column>],
        row: usize,
        order: DateOrder,
    },
}

/// From the stamps of one series of rows to instants: which of the two hours is meant when clocks go back depends on
/// the row before.
pub struct Stamps(Clock);

impl Frame {
    /// Reads a file's header; of the options the zone and the order of dates count. `archive.zip/member.csv` is one
    /// member.
    ///
    /// # Errors
    /// [`LoadError`] for a file that cannot be read, holds several tables, or is no table of named columns.
    pub fn open(path: &Path, options: &LoadOptions) -> Result<Self, LoadError> {
        let zone = options.tz.as_deref().map(time_zone).transpose()?;
        let mut parts = container::read(path)?.parts;
        if parts.len() > 1 {
            let found = parts.into_iter().filter_map(|part| part.member).collect();
            return Err(LoadError::Members { path: path.to_owned(), found });
        }
        let Some(part) = parts.pop() else { return Err(LoadError::Empty { path: path.to_owned() }) };
        let path = part.path.clone();
        let (names, roles, rows) = match part.form {
            Form::Text => {
                let (lines, names, roles) = Lines::open(part, options)?;
                (names, roles, Rows::Text(Box::new(lines)))
            }
            Form::Parquet => {
                let (sheet, names, roles) = Sheet::open(part, options)?;
                (names, roles, Rows::Parquet(sheet))
            }
            Form::Dbn => {
                let remedy = "write it as CSV or Parquet";
                return Err(LoadError::Format { path, kind: "a DBN file, which holds bars", remedy });
            }
        };
        Ok(Self { path, names, roles, zone, rows })
    }

    /// The file; of a member of an archive, `archive/member`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The columns' names as written, without the blanks around them. `[n_column]`
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Where the names stand; a Parquet file has none such.
    pub fn header(&self) -> Option<Place> {
        match &self.rows {
            Rows::Text(lines) => lines.header().map(Place::Line),
            Rows::Parquet(_) => None,
        }
    }

    /// Character of the header's line at which a column's name begins, from 1.
    pub fn header_character(&self, column: usize) -> Option<usize> {
        match &self.rows {
            Rows::Text(_) => {
                Some(1 + self.names.iter().take(column).map(|name| name.chars().count() + 1).sum::<usize>())
            }
            Rows::Parquet(_) => None,
        }
    }

    /// The column of time stamps, where there is one.
    pub fn time(&self) -> Option<usize> {
        self.roles.time
    }

    /// Whether a column is (part of) the time stamp.
    pub fn is_time(&self, column: usize) -> bool {
        [self.roles.time, self.roles.clock].contains(&Some(column))
    }

    /// The column of symbols, where one is called so.
    pub fn symbol(&self) -> Option<usize> {
        self.roles.symbol
    }

    /// Whether a column is called as one of bars: a price, a volume, a symbol.
    pub fn is_of_bars(&self, column: usize) -> bool {
        let Roles { price, adj_close, symbol, volumes, .. } = &self.roles;
        price.contains(&Some(column)) || [*adj_close, *symbol].contains(&Some(column)) || volumes.contains(&column)
    }

    /// Whether open, high, low and close are all there: a table of bars, with or without more.
    pub fn has_bars(&self) -> bool {
        self.roles.price.iter().all(Option::is_some)
    }

    /// Whether the header is none, but a first row of data: it begins with a time stamp.
    pub fn begins_with_data(&self) -> bool {
        let first = self.names.first().map(String::as_bytes).unwrap_or_default();
        self.roles.time.is_none() && time::parse(first, DateOrder::Dmy).or(time::parse(first, DateOrder::Mdy)).is_some()
    }

    /// Which of `columns` hold nothing but bare numbers and empty cells, and one number at least.
    ///
    /// # Errors
    /// [`LoadError`] as [`Self::for_each`].
    pub fn numeric(&self, columns: &[usize]) -> Result<Vec<bool>, LoadError> {
        let mut seen: Vec<Option<bool>> = vec![None; columns.len()];
        self.for_each(&[], columns, |row| {
            for (&column, seen) in columns.iter().zip(&mut seen) {
                match row.number(column) {
                    Number::Value(_) => *seen = seen.or(Some(true)),
                    Number::Missing => {}
                    Number::Bad => *seen = Some(false),
                }
            }
            Ok::<_, LoadError>(())
        })?;
        let typed = columns.iter().map(|&column| self.may_hold_numbers(column));
        Ok(typed.zip(seen).map(|(may, seen)| may && seen == Some(true)).collect())
    }

    /// Whether a column's type allows for numbers.
    fn may_hold_numbers(&self, column: usize) -> bool {
        match &self.rows {
            Rows::Text(_) => true,
            Rows::Parquet(sheet) => sheet.may_hold_numbers(column),
        }
    }

    /// What reads the stamps of one series of rows.
    pub fn stamps(&self) -> Stamps {
        Stamps(Clock::new(self.zone.clone()))
    }

    /// Shows `visit` every row in file order, until it fails. Besides the stamp a row has the columns `numbers` and
    /// `texts`.
    ///
    /// # Errors
    /// What `visit` returns; [`LoadError`] for a row of another number of fields, for a column of a type that holds
    /// no such values, and for a broken file.
    pub fn for_each<E: From<LoadError>>(
        &self,
        numbers: &[usize],
        texts: &[usize],
        mut visit: impl FnMut(Row<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let roles = &self.roles;
        match &self.rows {
            Rows::Text(lines) => lines.for_each(&self.path, |line, record| {
                visit(Row { roles, place: Place::Line(line), cells: Cells::Text { record, lines } })
            }),
            Rows::Parquet(sheet) => {
                let order = sheet.order();
                sheet.for_each(roles, numbers, texts, |first, columns, n| {
                    (0..n).try_for_each(|row| {
                        let cells = Cells::Parquet { columns, row, order };
                        visit(Row { roles, place: Place::Row(first + row as u64), cells })
                    })
                })
            }
        }
    }
}

impl Row<'_> {
    /// Its line, or its row.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Character of its line at which a column's text begins, from 1, where no field is quoted. None in Parquet.
    pub fn character(&self, column: usize) -> Option<usize> {
        let Cells::Text { record, .. } = self.cells else { return None };
        let length = |text: &[u8]| String::from_utf8_lossy(text).chars().count();
        let before: usize = record.iter().take(column).map(|text| length(text) + 1).sum();
        let blanks = record.get(column).map_or(0, |text| length(text) - length(text.trim_ascii_start()));
        Some(before + blanks + 1)
    }

    /// What stands in a column, without the blanks around it; nothing for a null.
    pub fn text(&self, column: usize) -> Cow<'_, str> {
        match self.cells {
            Cells::Text { record, .. } => String::from_utf8_lossy(cell(record, column)),
            Cells::Parquet { columns, row, .. } => match columns.get(column).and_then(Option::as_ref) {
                Some(values) => match values.cell(row) {
                    Cell::Null => Cow::Borrowed(""),
                    Cell::Bytes(bytes) if !values.is_decimal() => String::from_utf8_lossy(bytes.trim_ascii()),
                    _ => Cow::Owned(values.text(row)),
                },
                None => Cow::Borrowed(""),
            },
        }
    }

    /// The row's stamp, UTC nanoseconds; none where what stands there is no stamp, or there is no column of them.
    pub fn instant(&self, stamps: &mut Stamps) -> Option<i64> {
        let moment = match self.cells {
            Cells::Text { record, lines } => moment(lines.layout(), lines.order(), record)?,
            Cells::Parquet { columns, row, order } => self.parquet_stamp(columns)?.moment(row, order).ok()?,
        };
        stamps.0.instant(moment)
    }

    fn parquet_stamp<'c>(&self, columns: &'c [Option<Column>]) -> Option<Stamp<'c>> {
        let of = |column: usize| columns.get(column).and_then(Option::as_ref);
        Some(Stamp { time: of(self.roles.time?)?, clock: self.roles.clock.and_then(of) })
    }

    /// What stands in the row's time column, or columns.
    pub fn stamp_text(&self) -> String {
        if let Cells::Parquet { columns, row, .. } = self.cells {
            return self.parquet_stamp(columns).map_or_else(String::new, |stamp| stamp.text(row));
        }
        let columns = [self.roles.time, self.roles.clock].into_iter().flatten();
        columns.map(|column| self.text(column).into_owned()).collect::<Vec<_>>().join(" ")
    }

    /// A column's number, written bare: a comma in it is decimal where it does not separate the columns.
    pub fn number(&self, column: usize) -> Number {
        match self.cells {
            Cells::Text { record, lines } => number::bare(cell(record, column), lines.comma_is_decimal()),
            Cells::Parquet { columns, row, .. } => {
                columns.get(column).and_then(Option::as_ref).map_or(Number::Missing, |values| values.bare_number(row))
            }
        }
    }
}
