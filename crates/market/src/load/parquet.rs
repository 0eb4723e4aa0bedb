//! Reads Parquet: columns by name and type, nulls and all, through the same checks as text.

pub(crate) mod column;
mod kind;
mod sheet;
pub(crate) mod stamp;

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::clock::Clock;
use super::columns::{self, Choice, Role, Roles};
use super::container::Part;
use super::csv::{time_zone, undone};
use super::dialect::{Layout, yfinance};
use super::guard::guarded;
use super::number::{Comma, Number};
use super::table::{Fault, FaultKind, Origin, Raw, Table};
use super::time::DateOrder;
use super::{LoadError, LoadOptions, Place, ticks, time};
use crate::time::DAY_NS;
use column::{Cell, Column};
use kind::Kind;
pub(crate) use sheet::Sheet;
use stamp::Stamp;

/// Rows any file may have, and how many more for each of its bytes: constant columns pack to almost nothing.
const ROWS: usize = 4_000_000;
const ROWS_PER_BYTE: usize = 64;

/// Reads a part's rows.
pub(crate) fn read(part: Part, options: &LoadOptions) -> Result<Table, LoadError> {
    let Part { path, bytes, wrapping, .. } = part;
    let max_rows = most_rows(bytes.len());
    let clock = Clock::new(options.tz.as_deref().map(time_zone).transpose()?);
    // The reader trusts some of what a file says about itself, and panics where that is wrong.
    let table = guarded(|| {
        let file = SerializedFileReader::new(Bytes::from(bytes)).map_err(|e| broken(&path, &e))?;
        let layout = layout(&path, &file, options)?;
        Reader { path: &path, file: &file, layout, clock, max_rows }.table(&wrapping, options)
    });
    table.unwrap_or_else(|| Err(contradictory(&path)))
}

/// What made the reader panic.
fn contradictory(path: &Path) -> LoadError {
    let detail = "its metadata and its pages contradict each other".to_owned();
    LoadError::Broken { path: path.to_owned(), format: "Parquet", detail }
}

fn most_rows(n_bytes: usize) -> usize {
    ROWS + n_bytes.saturating_mul(ROWS_PER_BYTE)
}

fn broken(path: &Path, error: &ParquetError) -> LoadError {
    match error {
        ParquetError::NYI(what) => LoadError::NotBarFile {
            path: path.to_owned(),
            what: format!("what cannot be read ({what})"),
            remedy: "write it with snappy, zstd, gzip, lz4 or no compression",
        },
        error => {
            let (path, detail) = (path.to_owned(), error.to_string());
            match detail.split_once("Disabled feature at compile time: ") {
                Some((_, codec)) => LoadError::Codec { path, codec: codec.to_owned() },
                None => LoadError::Broken { path, format: "Parquet", detail },
            }
        }
    }
}

type File = SerializedFileReader<Bytes>;

/// Which column is what, by name, then by type, or as the option says.
fn layout(path: &Path, file: &File, options: &LoadOptions) -> Result<Layout, LoadError> {
    let schema = file.metadata().file_metadata().schema_descr();
    let (names, mut roles, mut notes) = by_name(file);
    let paired = yfinance::paired(path, &names, options).transpose()?;
    let (names, symbol) = match paired {
        Some((short, ticker)) => {
            let stamp = roles.time;
            roles = columns::by_name(&short, |_| None);
            roles.time = roles.time.or(stamp);
            (short, Some(ticker))
        }
        None => (names, None),
    };
    let close_chosen = choose(path, &names, &mut roles, options)?;
    let missing = roles.missing();
    if !missing.is_empty() {
        let described = |c: &ColumnDescriptor| format!("{} ({})", c.path().string(), Kind::describe(c));
        let found = schema.columns().iter().map(|c| described(c)).collect();
        return Err(LoadError::Schema { path: path.to_owned(), missing, found });
    }
    if let Some(clock) = roles.clock {
        notes.push(format!("{} is the time of day beside {}", names[clock], names[roles.time.unwrap_or(0)]));
    }
    if !close_chosen && !roles.time.is_some_and(|time| one_a_day(file, time)) {
        ticks::check(path, None, &names, &roles)?;
    }
    if roles.close_only() {
        let close = roles.price[3].unwrap_or(0);
        notes.push(format!("{} is the only price: open, high and low are set to it", names[close]));
    }
    notes.extend(columns::rivals(&names, &roles));
    Ok(Layout { symbol, ..Layout::of_columns(names, roles, notes) })
}

/// The columns' names and what they, or else their types, say of them; and what was decided.
fn by_name(file: &File) -> (Vec<String>, Roles, Vec<String>) {
    let schema = file.metadata().file_metadata().schema_descr();
    let names: Vec<String> = schema.columns().iter().map(|c| c.path().string()).collect();
    let flat = |i: &usize| schema.columns()[*i].max_rep_level() == 0;
    let mut roles = columns::by_name(&names, |_| None);
    roles.keep(flat);
    let mut notes = Vec::new();
    let stamps: Vec<usize> =
        (0..names.len()).filter(flat).filter(|&i| Kind::of(&schema.columns()[i]).is_stamp()).collect();
    if let (None, [only]) = (roles.time, stamps.as_slice()) {
        notes.push(format!("{} is the only column of time stamps", names[*only]));
        roles.time = Some(*only);
    }
    let unnamed = names.iter().position(|name| name == "__index_level_0__");
    if let (None, Some(index)) = (roles.time, unnamed.filter(|&i| Kind::of(&schema.columns()[i]) == Kind::Text)) {
        roles.time = Some(index);
    }
    time_of_day(file, &mut roles);
    (names, roles, notes)
}

/// Of a date and a "time" beside it, the latter alone where it is a whole stamp; neither where it is none of both. Of a
/// date without one, the only column of times of day.
fn time_of_day(file: &File, roles: &mut Roles) {
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let kind = |i: usize| Kind::of(&columns[i]);
    match roles.clock {
        Some(clock) if kind(clock).is_stamp() || roles.time.is_some_and(|date| is_whole(file, date, clock)) => {
            (roles.time, roles.clock) = (Some(clock), None);
        }
        Some(clock) if !kind(clock).is_clock_like() => roles.clock = None,
        None if roles.time.is_some_and(|time| kind(time) == Kind::Date) => {
            let mut clocks = (0..columns.len()).filter(|&i| matches!(kind(i), Kind::TimeOfDay { .. }));
            roles.clock = clocks.next().filter(|_| clocks.next().is_none());
        }
        _ => {}
    }
}

/// Whether the first values of a column, of text or of whole numbers, are stamps with the date that stands beside.
fn is_whole(file: &File, date: usize, column: usize) -> bool {
    let kind = Kind::of(&file.metadata().file_metadata().schema_descr().columns()[column]);
    if !matches!(kind, Kind::Text | Kind::Integer { .. }) {
        return false;
    }
    let clock = first_values(file, column);
    match clock.first_text() {
        Some(text) if kind == Kind::Text => !time::is_clock(text.as_bytes()) && text.len() > 6,
        Some(_) => {
            let near = |a: i64, b: i64| a.abs_diff(b) <= 2 * DAY_NS as u64;
            let [stamp, day] = [&clock, &first_values(file, date)].map(first_moment);
            stamp.zip(day).is_some_and(|(stamp, day)| near(stamp, day))
        }
        None => false,
    }
}

/// Some thousand values of a column, from the first on; none where they cannot be read.
fn first_values(file: &File, column: usize) -> Column {
    let mut cells = Vec::new();
    let mut read = || {
        (0..file.num_row_groups().min(1))
            .try_for_each(|group| column::Stream::open(file, group, column)?.next(&mut cells).map(drop))
    };
    if read().is_err() {
        cells.clear();
    }
    Column::of(file, column, cells)
}

fn first_moment(column: &Column) -> Option<i64> {
    moments(column).next()
}

/// What a column's values are taken as, wall clocks as UTC, day before month.
fn moments(column: &Column) -> impl Iterator<Item = i64> {
    let mut clock = Clock::new(None);
    (0..column.len()).filter_map(move |row| clock.instant(column.moment(row, DateOrder::Dmy).ok()?))
}

/// Whether no date follows itself: one row a day.
fn one_a_day(file: &File, time: usize) -> bool {
    let column = first_values(file, time);
    let days: Vec<i64> = moments(&column).map(|ts| ts.div_euclid(DAY_NS)).collect();
    days.len() > 1 && days.windows(2).all(|pair| pair[0] != pair[1])
}

/// Applies `--columns`; whether it says what the close is.
fn choose(path: &Path, names: &[String], roles: &mut Roles, options: &LoadOptions) -> Result<bool, LoadError> {
    let Some(given) = &options.columns else { return Ok(false) };
    let error = |reason: String| LoadError::Columns { path: path.to_owned(), given: given.clone(), reason };
    match columns::parse_choice(given).map_err(error)? {
        Choice::Names(pairs) => {
            let close = pairs.iter().any(|(role, _)| *role == Role::Close);
            for (role, name) in pairs {
                let Some(at) = names.iter().position(|n| n.eq_ignore_ascii_case(&name)) else {
                    return Err(error(format!(
                        "the file has no column {name:?}; its columns are {}",
                        names.join(", ")
                    )));
                };
                roles.assign(role, at);
            }
            Ok(close)
        }
        Choice::Positions(positions) => {
            if positions.len() > names.len() {
                return Err(error(format!("the file has only {} columns: {}", names.len(), names.join(", "))));
            }
            *roles = Roles::default();
            let named = positions.iter().enumerate().filter_map(|(i, role)| role.map(|role| (i, role)));
            named.for_each(|(i, role)| roles.assign(role, i));
            Ok(true)
        }
    }
}

fn wrong_type(path: &Path, file: &File, column: usize, wanted: &'static str) -> LoadError {
    let descriptor = &file.metadata().file_metadata().schema_descr().columns()[column];
    let (column, found) = (descriptor.path().string(), Kind::describe(descriptor));
    LoadError::ColumnType { path: path.to_owned(), column, found, wanted }
}

struct Reader<'a> {
    path: &'a Path,
    file: &'a File,
    layout: Layout,
    clock: Clock,
    max_rows: usize,
}

impl Reader<'_> {
    fn table(mut self, wrapping: &[&str], options: &LoadOptions) -> Result<Table, LoadError> {
        let roles = self.layout.roles.clone();
        let stamps = self.stamps(&roles, options)?;
        let n = stamps.len();
        let mut raw = Raw { rows: n, ..Raw::default() };
        let kept: Vec<bool> = stamps.iter().map(Result::is_ok).collect();
        raw.lines = (1..=n as u64).zip(&kept).filter(|(_, kept)| **kept).map(|(line, _)| line).collect();
        raw.symbol_of = self.symbols(roles.symbol, &kept, &mut raw.symbols)?;
        for (row, stamp) in stamps.into_iter().enumerate() {
            match stamp {
                Ok(ts) => raw.columns.ts.push(ts),
                Err(text) => raw.faults.push(Fault {
                    line: row as u64 + 1,
                    kind: FaultKind::Time,
                    column: roles.time.unwrap_or(0),
                    text,
                    symbol: super::table::UNKNOWN,
                }),
            }
        }
        let mut prices = [const { Vec::new() }; 4];
        for (values, column) in prices.iter_mut().zip(roles.price) {
            if let Some(column) = column {
                *values = self.numbers(column, &kept, &mut raw)?;
            }
        }
        let [open, high, low, close] = prices;
        let c = &mut raw.columns;
        (c.open, c.high, c.low) =
            if roles.close_only() { (close.clone(), close.clone(), close.clone()) } else { (open, high, low) };
        c.close = close;
        for &column in &roles.volumes {
            let volume = self.numbers(column, &kept, &mut raw)?;
            raw.volumes.push(volume);
        }
        if let Some(column) = roles.adj_close {
            let mut aside = Raw { symbol_of: Vec::new(), ..Raw::default() };
            raw.adjusted = self.numbers(column, &kept, &mut aside)?;
        }
        raw.faults.sort_by_key(|fault| fault.line);
        let zone = self.clock.describe(options.tz.as_deref());
        let groups = self.file.metadata().num_row_groups();
        let dialect = format!("{}Parquet, row groups {groups}, {}, {zone}", undone(wrapping), self.layout.listed());
        let origin = Origin { path: self.path.to_owned(), place: Place::Row, dialect };
        let notes = self.layout.notes.clone();
        Ok(raw.finish(self.layout, origin, notes).with_skipped(self.clock.skipped))
    }

    fn column(&self, column: usize) -> Result<Column, LoadError> {
        Column::read(self.file, column, self.max_rows).map_err(|e| broken(self.path, &e))
    }

    fn wrong_type(&self, column: usize, wanted: &'static str) -> LoadError {
        wrong_type(self.path, self.file, column, wanted)
    }

    /// Every row's instant, or what stands there instead.
    fn stamps(&mut self, roles: &Roles, options: &LoadOptions) -> Result<Vec<Result<i64, String>>, LoadError> {
        let column = roles.time.unwrap_or(0);
        let time = self.column(column)?;
        if !time.kind.is_stamp_like() {
            return Err(self.wrong_type(column, "time stamps"));
        }
        let clock = roles.clock.map(|column| self.column(column)).transpose()?;
        if let (Some(column), Some(clock)) = (roles.clock, &clock) {
            self.same_length(clock.len(), time.len())?;
            if !clock.kind.is_clock_like() {
                return Err(self.wrong_type(column, "times of day"));
            }
        }
        let stamp = Stamp { time: &time, clock: clock.as_ref() };
        let order = column::date_order(self.path, &self.layout.name(column), stamp, options)?;
        let clock = &mut self.clock;
        let read = |row| {
            let moment = stamp.moment(row, order)?;
            clock.instant(moment).ok_or_else(|| stamp.text(row))
        };
        Ok((0..time.len()).map(read).collect())
    }

    /// The kept rows' numbers; NaN and a fault where there is none.
    fn numbers(&self, column: usize, kept: &[bool], raw: &mut Raw) -> Result<Vec<f64>, LoadError> {
        let cells = self.column(column)?;
        if !cells.kind.is_number_like() {
            return Err(self.wrong_type(column, "numbers"));
        }
        self.same_length(cells.len(), kept.len())?;
        let mut out = Vec::with_capacity(raw.lines.len());
        for row in (0..kept.len()).filter(|&row| kept[row]) {
            let kind = match cells.number(row, Comma::Thousands) {
                Number::Value(value) => {
                    out.push(value);
                    continue;
                }
                Number::Missing => FaultKind::Missing,
                Number::Bad => FaultKind::NotANumber,
            };
            let symbol = raw.symbol_of.get(out.len()).copied().unwrap_or(0);
            raw.faults.push(Fault { line: row as u64 + 1, kind, column, text: cells.text(row), symbol });
            out.push(f64::NAN);
        }
        Ok(out)
    }

    fn symbols(&self, column: Option<usize>, kept: &[bool], names: &mut Vec<String>) -> Result<Vec<u32>, LoadError> {
        let Some(column) = column else { return Ok(vec![0; kept.iter().filter(|k| **k).count()]) };
        let cells = self.column(column)?;
        self.same_length(cells.len(), kept.len())?;
        let mut index: HashMap<String, u32> = HashMap::new();
        let mut out = Vec::new();
        for row in (0..kept.len()).filter(|&row| kept[row]) {
            let name = match cells.cell(row) {
                Cell::Null => String::new(),
                _ => cells.text(row),
            };
            let next = index.len() as u32;
            out.push(*index.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                next
            }));
        }
        Ok(out)
    }

    fn same_length(&self, got: usize, expected: usize) -> Result<(), LoadError> {
        if got == expected {
            return Ok(());
        }
        let detail = format!("a column of {got} values beside one of {expected}");
        Err(LoadError::Broken { path: self.path.to_owned(), format: "Parquet", detail })
    }
}

impl Roles {
    /// Drops columns that hold lists.
    fn keep(&mut self, usable: impl Fn(&usize) -> bool) {
        let single = [&mut self.time, &mut self.clock, &mut self.adj_close, &mut self.symbol];
        for role in single.into_iter().chain(&mut self.price) {
            *role = role.filter(&usable);
        }
        self.volumes.retain(&usable);
    }
}
