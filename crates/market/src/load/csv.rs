//! Reads every row of a delimited text, keeping going over faults: loading refuses at the first one, checking counts all.

use std::collections::HashMap;
use std::path::Path;

use jiff::tz::TimeZone;

use super::clock::Clock;
use super::columns::PRICES;
use super::dialect::{self, BLANKS, Layout};
use super::number::{self, Number};
use super::time::{self, DateOrder, Moment};
use super::{LoadError, LoadOptions, source};
use crate::bars::BarColumns;

/// What is wrong with one cell or row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The stamp is none; the row is not in the table.
    Time,
    /// The row has other than the expected number of fields; it is not in the table.
    Fields { expected: usize, got: usize },
    /// No value; NaN in the table.
    Missing,
    /// Not a number; NaN in the table.
    NotANumber,
}

/// Symbol of a row that could not be split into its fields.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// A fault and its place.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) line: u64,
    pub(crate) kind: FaultKind,
    /// Column index.
    pub(crate) column: usize,
    /// The cell, cut short.
    pub(crate) text: String,
    /// Index of the row's symbol, or [`UNKNOWN`].
    pub(crate) symbol: u32,
}

/// Every row that has a time stamp, in file order, unvalidated; and what was wrong with the others.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: BarColumns,
    /// Source line of each row.
    pub(crate) lines: Vec<u64>,
    /// Index into `symbols` of each row.
    pub(crate) symbol_of: Vec<u32>,
    /// Symbols in file order; empty when the file has no such column.
    pub(crate) symbols: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    /// Rows in the file, faulty ones included.
    pub(crate) rows: usize,
    pub(crate) layout: Layout,
    pub(crate) has_volume_column: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) dialect: String,
    pub(crate) sha256: String,
}

/// Reads a file's rows.
pub(crate) fn read(path: &Path, options: &LoadOptions) -> Result<Table, LoadError> {
    let zone = options.tz.as_deref().map(time_zone).transpose()?;
    let source = source::read(path)?;
    let (layout, rewritten) = dialect::detect(path, &source.text, options)?;
    let text: &[u8] = if layout.delimiter == BLANKS { &rewritten } else { &source.text };
    let order = super::order::date_order(path, text, &layout, options)?;
    let mut reader = Reader::new(&layout, order, Clock::new(zone));
    reader.read(text);
    Ok(reader.finish(source.sha256, &source.wrapping, options.tz.as_deref()))
}

fn time_zone(name: &str) -> Result<TimeZone, LoadError> {
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
    columns: BarColumns,
    /// One per volume candidate.
    volumes: Vec<Vec<f64>>,
    /// Rows whose adjusted close differs from the close.
    adjusted: u64,
    lines: Vec<u64>,
    symbol_of: Vec<u32>,
    symbols: Vec<String>,
    symbol_index: HashMap<Vec<u8>, u32>,
    faults: Vec<Fault>,
    rows: usize,
}

impl<'a> Reader<'a> {
    fn new(layout: &'a Layout, order: Option<DateOrder>, clock: Clock) -> Self {
        Self {
            layout,
            order,
            clock,
            columns: BarColumns::default(),
            volumes: vec![Vec::new(); layout.roles.volumes.len()],
            adjusted: 0,
            lines: Vec::new(),
            symbol_of: Vec::new(),
            symbols: Vec::new(),
            symbol_index: HashMap::new(),
            faults: Vec::new(),
            rows: 0,
        }
    }

    fn read(&mut self, text: &[u8]) {
        for_each_record(text, self.layout, |line, record| {
            self.row(line, record);
            true
        });
    }

    fn row(&mut self, line: u64, record: &csv::ByteRecord) {
        self.rows += 1;
        let width = self.layout.width;
        let extra_empty = record.len() > width && (width..record.len()).all(|i| cell(record, i).is_empty());
        if record.len() != width && !extra_empty {
            let kind = FaultKind::Fields { expected: width, got: record.len() };
            self.faults.push(Fault { line, kind, column: 0, text: String::new(), symbol: UNKNOWN });
            return;
        }
        let symbol = self.layout.roles.symbol.map_or(0, |column| self.symbol(cell(record, column)));
        let Some(ts) = self.stamp(record) else {
            let column = self.layout.roles.time.unwrap_or(0);
            let pair = self.layout.roles.clock.map(|c| [cell(record, column), cell(record, c)].join(&b' '));
            let text = shortened(pair.as_deref().unwrap_or_else(|| cell(record, column)));
            self.faults.push(Fault { line, kind: FaultKind::Time, column, text, symbol });
            return;
        };
        self.columns.ts.push(ts);
        self.lines.push(line);
        self.symbol_of.push(symbol);
        self.prices(line, symbol, record);
        for i in 0..self.volumes.len() {
            let column = self.layout.roles.volumes[i];
            let value = self.number(line, symbol, column, record);
            self.volumes[i].push(value);
        }
    }

    fn symbol(&mut self, text: &[u8]) -> u32 {
        if let Some(&known) = self.symbol_index.get(text) {
            return known;
        }
        let index = self.symbols.len() as u32;
        self.symbols.push(String::from_utf8_lossy(text).into_owned());
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
        self.columns.open.push(open);
        self.columns.high.push(high);
        self.columns.low.push(low);
        self.columns.close.push(close);
        if let Some(column) = self.layout.roles.adj_close
            && let Number::Value(adjusted) = number::parse(cell(record, column), self.layout.comma)
        {
            self.adjusted += u64::from((adjusted - close).abs() > 1e-6 * close.abs());
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
        self.faults.push(Fault { line, kind, column, text: shortened(text), symbol });
        f64::NAN
    }

    fn finish(mut self, sha256: String, wrapping: &[&str], tz: Option<&str>) -> Table {
        let mut notes = self.layout.notes.clone();
        if self.adjusted > 0 {
            let (name, n) = (self.layout.name(self.layout.roles.adj_close.unwrap_or(0)), self.adjusted);
            notes.push(format!(
                "{name} differs from close in {n} of {} rows (splits or dividends); close is used",
                self.lines.len()
            ));
        }
        self.choose_volume(&mut notes);
        let zone = match (self.clock.saw_civil, tz) {
            (false, _) => "stamps are UTC instants".to_owned(),
            (true, None) => "stamps without zone read as UTC".to_owned(),
            (true, Some(tz)) => format!("stamps without zone read as {tz}"),
        };
        let wrapping: String = wrapping.iter().map(|w| format!("{w}, ")).collect();
        Table {
            has_volume_column: !self.layout.roles.volumes.is_empty(),
            dialect: format!("{wrapping}{}, {zone}", self.layout.describe()),
            columns: self.columns,
            lines: self.lines,
            symbol_of: self.symbol_of,
            symbols: self.symbols,
            faults: self.faults,
            rows: self.rows,
            layout: self.layout.clone(),
            notes,
            sha256,
        }
    }

    /// The first candidate with any volume; faults of the others don't matter, nor do those of a column without a value.
    fn choose_volume(&mut self, notes: &mut Vec<String>) {
        let candidates = self.layout.roles.volumes.clone();
        let rows = self.lines.len();
        let traded = self.volumes.iter().position(|v| v.iter().any(|&x| x > 0.0));
        let chosen = traded.unwrap_or(0);
        let mut volume = if self.volumes.is_empty() { vec![0.0; rows] } else { self.volumes.swap_remove(chosen) };
        if chosen > 0 {
            let (empty, used) = (self.layout.name(candidates[0]), self.layout.name(candidates[chosen]));
            notes.push(format!("{empty} is zero throughout; volume is {used}"));
        } else if candidates.len() > 1 {
            let (used, other) = (self.layout.name(candidates[0]), self.layout.name(candidates[1]));
            notes.push(format!("volume is {used}; {other} is left aside"));
        }
        let valueless = rows > 0 && volume.iter().all(|v| v.is_nan());
        if valueless {
            notes.push(format!(
                "{} has no value in any row: the bars have no volume",
                self.layout.name(candidates[chosen])
            ));
            volume.fill(0.0);
        }
        let kept = candidates.get(chosen).copied().filter(|_| !valueless);
        let prices = self.layout.roles.price;
        self.faults.retain(|f| {
            let cell = matches!(f.kind, FaultKind::Missing | FaultKind::NotANumber);
            !cell || Some(f.column) == kept || prices.contains(&Some(f.column))
        });
        self.columns.volume = volume;
    }
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
        Some(clock) => time::parse_pair(stamp, cell(record, clock), order),
        None => time::parse(stamp, order),
    }
}

pub(crate) fn cell(record: &csv::ByteRecord, column: usize) -> &[u8] {
    record.get(column).unwrap_or_default().trim_ascii()
}

/// At most 40 characters of a cell.
fn shortened(text: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(text);
    if text.chars().count() > SHOWN { text.chars().take(SHOWN).chain(['…']).collect() } else { text.into_owned() }
}

impl Fault {
    /// The error a strict reader stops with.
    pub(crate) fn error(&self, path: &Path, layout: &Layout) -> LoadError {
        let (path, line, text) = (path.to_owned(), self.line, self.text.clone());
        let column = layout.name(self.column);
        match self.kind {
            FaultKind::Time => LoadError::Time { path, line, column, text },
            FaultKind::Fields { expected, got } => LoadError::Fields { path, line, expected, got },
            FaultKind::Missing => LoadError::Missing { path, line, column, text },
            FaultKind::NotANumber => LoadError::Number { path, line, column, text },
        }
    }
}

impl Table {
    /// Prices of a row: open, high, low, close.
    pub(crate) fn prices(&self, row: usize) -> [f64; PRICES.len()] {
        let c = &self.columns;
        [c.open[row], c.high[row], c.low[row], c.close[row]]
    }
}
