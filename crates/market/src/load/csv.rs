//! Reads every row of a delimited text, keeping going over faults.

use std::collections::HashMap;
use std::path::Path;

use jiff::tz::TimeZone;

use super::clock::Clock;
use super::container::Part;
use super::dialect::{self, BLANKS, Layout};
use super::number::{self, Number};
use super::table::{Fault, FaultKind, Origin, Raw, Table, UNKNOWN};
use super::time::{self, DateOrder, Moment};
use super::{LoadError, LoadOptions, Place, apart, databento, date_order, lean, quotes, separators, source};

/// Reads a part's rows.
pub(crate) fn read(mut part: Part, options: &LoadOptions) -> Result<Table, LoadError> {
    let zone = options.tz.as_deref().map(time_zone).transpose()?;
    let mut text = source::text(&mut part)?;
    let mut notes = Vec::new();
    if let Some(member) = part.member.as_deref().and_then(lean::Member::named) {
        text = member.dated(&part.path, &text)?;
        notes.push(format!("{} in LEAN's layout: the date is that of its name", member.describe()));
    }
    let found = dialect::detect(&part.path, &text, options);
    if found.is_err() {
        quotes::check_any(&part.path, &text)?;
    }
    let (mut layout, rewritten) = found?;
    let text: &[u8] = if layout.delimiter == BLANKS { &rewritten } else { &text };
    quotes::check(&part.path, text, layout.delimiter)?;
    let (comma, doubt) = separators::decide(text, &layout);
    layout.comma = comma;
    layout.notes.extend(doubt);
    let order = date_order::of_text(&part.path, text, &layout, options)?;
    let mut reader = Reader::new(&layout, order, Clock::new(zone));
    reader.read(text);
    let mut table = reader.finish(&part.path, &part.wrapping, options.tz.as_deref(), notes);
    if options.price_divisor.is_none() {
        databento::scale(&mut table);
    }
    table.apart = apart::column(text, &layout, &table);
    if part.member.is_some() && options.price_divisor.is_none() {
        lean::scale(&mut table, text);
    }
    Ok(table)
}

pub(crate) fn time_zone(name: &str) -> Result<TimeZone, LoadError> {
    TimeZone::get(name).map_err(|_| LoadError::Setting {
        option: "tz",
        reason: format!("{name:?} is not a time zone this machine knows"),
    })
}

/// Calls `row` with line and fields of every record of the bars, until it returns false.
pub(crate) fn for_each_record(text: &[u8], layout: &Layout, mut row: impl FnMut(u64, &csv::ByteRecord) -> bool) {
    let start = layout.first_byte.min(text.len());
    let before = 1 + text[..start].iter().filter(|&&b| b == b'\n').count() as u64;
    let body = &text[start..];
    let mut reader = dialect::reader(body, layout.delimiter);
    let mut record = csv::ByteRecord::new();
    // Reading bytes from memory into byte records has no failing case.
    while matches!(reader.read_byte_record(&mut record), Ok(true)) {
        let (byte, line) = record.position().map_or((0, 1), |p| (p.byte() as usize, p.line()));
        if !row(before + line - 1 + dialect::skipped(body, byte).1, &record) {
            return;
        }
    }
}

struct Reader<'a> {
    layout: &'a Layout,
    order: Option<DateOrder>,
    clock: Clock,
    raw: Raw,
    symbol_index: HashMap<Vec<u8>, u32>,
}

impl<'a> Reader<'a> {
    fn new(layout: &'a Layout, order: Option<DateOrder>, clock: Clock) -> Self {
        let raw = Raw { volumes: vec![Vec::new(); layout.roles.volumes.len()], ..Raw::default() };
        Self { layout, order, clock, raw, symbol_index: HashMap::new() }
    }

    fn read(&mut self, text: &[u8]) {
        for_each_record(text, self.layout, |line, record| {
            self.row(line, record);
            true
        });
    }

    fn row(&mut self, line: u64, record: &csv::ByteRecord) {
        let width = self.layout.width;
        if record.len() == 1 && width > 1 && cell(record, 0).is_empty() {
            // A line of blanks.
            return;
        }
        self.raw.rows += 1;
        let extra_empty = record.len() > width && (width..record.len()).all(|i| cell(record, i).is_empty());
        if record.len() != width && !extra_empty {
            let kind = FaultKind::Fields { expected: width, got: record.len() };
            self.raw.faults.push(Fault { line, kind, column: 0, text: String::new(), symbol: UNKNOWN });
            return;
        }
        let symbol = self.layout.roles.symbol.map_or(0, |column| self.symbol(cell(record, column)));
        let Some(ts) = self.stamp(record) else {
            let column = self.layout.roles.time.unwrap_or(0);
            let pair = self.layout.roles.clock.map(|c| [cell(record, column), cell(record, c)].join(&b' '));
            let text = shortened(pair.as_deref().unwrap_or_else(|| cell(record, column)));
            self.raw.faults.push(Fault { line, kind: FaultKind::Time, column, text, symbol });
            return;
        };
        self.raw.columns.ts.push(ts);
        self.raw.lines.push(line);
        self.raw.symbol_of.push(symbol);
        self.prices(line, symbol, record);
        for i in 0..self.raw.volumes.len() {
            let column = self.layout.roles.volumes[i];
            let value = self.number(line, symbol, column, record);
            self.raw.volumes[i].push(value);
        }
    }

    fn symbol(&mut self, text: &[u8]) -> u32 {
        if let Some(&known) = self.symbol_index.get(text) {
            return known;
        }
        let index = self.raw.symbols.len() as u32;
        self.raw.symbols.push(String::from_utf8_lossy(text).into_owned());
        self.symbol_index.insert(text.to_owned(), index);
        index
    }

    fn stamp(&mut self, record: &csv::ByteRecord) -> Option<i64> {
        let moment = moment(self.layout, self.order, record)?;
        self.clock.instant(moment)
    }

    fn prices(&mut self, line: u64, symbol: u32, record: &csv::ByteRecord) {
        let mut values = [f64::NAN; 4];
        for (value, column) in values.iter_mut().zip(self.layout.roles.price) {
            if let Some(column) = column {
                *value = self.number(line, symbol, column, record);
            }
        }
        if self.layout.roles.close_only() {
            values = [values[3]; 4];
        }
        let [open, high, low, close] = values;
        self.raw.columns.open.push(open);
        self.raw.columns.high.push(high);
        self.raw.columns.low.push(low);
        self.raw.columns.close.push(close);
        if let Some(column) = self.layout.roles.adj_close {
            let adjusted = match number::parse(cell(record, column), self.layout.comma) {
                Number::Value(value) => value,
                _ => f64::NAN,
            };
            self.raw.adjusted.push(adjusted);
        }
    }

    /// NaN and a fault when the cell is not a number.
    fn number(&mut self, line: u64, symbol: u32, column: usize, record: &csv::ByteRecord) -> f64 {
        let text = cell(record, column);
        let kind = match number::parse(text, self.layout.comma) {
            Number::Value(value) => return value,
            Number::Missing => FaultKind::Missing,
            Number::Bad => FaultKind::NotANumber,
        };
        self.raw.faults.push(Fault { line, kind, column, text: shortened(text), symbol });
        f64::NAN
    }

    fn finish(self, path: &Path, wrapping: &[&str], tz: Option<&str>, mut notes: Vec<String>) -> Table {
        notes.extend(self.layout.notes.iter().cloned());
        let zone = self.clock.describe(tz);
        let dialect = format!("{}{}, {zone}", undone(wrapping), self.layout.describe());
        let origin = Origin { path: path.to_owned(), place: Place::Line, dialect };
        self.raw.finish(self.layout.clone(), origin, notes).with_skipped(self.clock.skipped)
    }
}

/// `gzip, ` before what a layout is called.
pub(crate) fn undone(wrapping: &[&str]) -> String {
    wrapping.iter().map(|w| format!("{w}, ")).collect()
}

/// The row's moment, from one cell or two. Without an order, dates that need one are none.
pub(crate) fn moment(layout: &Layout, order: Option<DateOrder>, record: &csv::ByteRecord) -> Option<Moment> {
    let stamp = cell(record, layout.roles.time?);
    let order = match order {
        Some(order) => order,
        None if time::open_pair(stamp).is_some() => return None,
        None => DateOrder::Dmy,
    };
    match layout.roles.clock {
        Some(clock) if layout.roles.hours => time::parse_pair(stamp, &[cell(record, clock), b":00"].concat(), order),
        Some(clock) => time::parse_pair(stamp, cell(record, clock), order),
        None => time::parse(stamp, order),
    }
}

pub(crate) fn cell(record: &csv::ByteRecord, column: usize) -> &[u8] {
    record.get(column).unwrap_or_default().trim_ascii()
}

/// At most 40 characters of a cell.
pub(crate) fn shortened(text: &[u8]) -> String {
    const SHOWN: usize = 40;
    // A character has four bytes at most.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN + 4)]);
    if text.chars().count() > SHOWN { text.chars().take(SHOWN).chain(['…']).collect() } else { text.into_owned() }
}
