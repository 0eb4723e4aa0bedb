//! The rows of a part of a file as read, unvalidated, with what was wrong: loading refuses at the first fault, checking
//! counts all. Every format ends here.

use std::path::PathBuf;

use super::clock::Skipped;
use super::columns::PRICES;
use super::container::{Form, Part};
use super::dialect::Layout;
use super::symbol_named;
use super::{LoadError, LoadOptions, Place, csv, dbn, parquet};
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

/// What Interactive Brokers writes for the volume of what has none: currencies, indices.
const NO_VOLUME: f64 = -1.0;

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
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) path: PathBuf,
    pub(crate) columns: BarColumns,
    /// Adjusted closes, where the file has any. `[n_rows]`
    pub(crate) adjusted: Option<Vec<f64>>,
    /// Line (row, record) of each row.
    pub(crate) lines: Vec<u64>,
    /// What such a number counts.
    pub(crate) place: fn(u64) -> Place,
    /// Index into `symbols` of each row.
    pub(crate) symbol_of: Vec<u32>,
    /// Symbols in file order; empty when the file has no such column.
    pub(crate) symbols: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    /// Rows in the file, faulty ones included.
    pub(crate) rows: usize,
    pub(crate) layout: Layout,
    pub(crate) has_volume_column: bool,
    /// Wall-clock times that the zone's clocks skip.
    pub(crate) skipped: Vec<Skipped>,
    /// An unused column that tells neighbouring rows of one stamp apart.
    pub(crate) apart: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) dialect: String,
}

/// A table in the making: volumes still to be chosen among.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    /// All but the volume.
    pub(crate) columns: BarColumns,
    /// One per volume candidate of the layout. `[n_candidates][n_rows]`
    pub(crate) volumes: Vec<Vec<f64>>,
    /// NaN where there is none; empty without such a column. `[n_rows]`
    pub(crate) adjusted: Vec<f64>,
    pub(crate) lines: Vec<u64>,
    pub(crate) symbol_of: Vec<u32>,
    pub(crate) symbols: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) rows: usize,
}

/// What a table is told about where it comes from.
pub(crate) struct Origin {
    pub(crate) path: PathBuf,
    pub(crate) place: fn(u64) -> Place,
    /// How it is laid out, for people.
    pub(crate) dialect: String,
}

/// Reads a part's rows.
pub(crate) fn read(part: Part, options: &LoadOptions) -> Result<Table, LoadError> {
    let mut table = match part.form {
        Form::Text => csv::read(part, options)?,
        Form::Parquet => parquet::read(part, options)?,
        Form::Dbn => dbn::read(part, options)?,
    };
    if let Some(divisor) = options.price_divisor {
        if !(divisor.is_finite() && divisor > 0.0) {
            let reason = format!("{divisor} is not a number above zero");
            return Err(LoadError::Setting { option: "price_divisor", reason });
        }
        table.divide_prices(divisor);
    }
    Ok(table)
}

impl Raw {
    /// Chooses the volume, and notes what a reader should know.
    pub(crate) fn finish(mut self, layout: Layout, origin: Origin, mut notes: Vec<String>) -> Table {
        self.choose_volume(&layout, &mut notes);
        Table {
            path: origin.path,
            columns: self.columns,
            adjusted: (!self.adjusted.is_empty()).then_some(self.adjusted),
            lines: self.lines,
            place: origin.place,
            symbol_of: self.symbol_of,
            symbols: self.symbols,
            faults: self.faults,
            rows: self.rows,
            skipped: Vec::new(),
            apart: None,
            has_volume_column: !layout.roles.volumes.is_empty(),
            layout,
            notes,
            dialect: origin.dialect,
        }
    }

    /// The first candidate with any volume; faults of the others don't matter, nor do those of a column without a
    /// value.
    fn choose_volume(&mut self, layout: &Layout, notes: &mut Vec<String>) {
        let candidates = &layout.roles.volumes;
        let rows = self.lines.len();
        let traded = self.volumes.iter().position(|v| v.iter().any(|&x| x > 0.0));
        let chosen = traded.unwrap_or(0);
        let mut volume = if self.volumes.is_empty() { vec![0.0; rows] } else { self.volumes.swap_remove(chosen) };
        let wrong = |column: usize| self.faults.iter().any(|f| f.column == column && f.kind == FaultKind::NotANumber);
        if chosen > 0 {
            let (empty, used) = (layout.name(candidates[0]), layout.name(candidates[chosen]));
            let why = if wrong(candidates[0]) { "holds no numbers above zero" } else { "is zero throughout" };
            notes.push(format!("{empty} {why}; volume is {used}"));
        } else if candidates.len() > 1 {
            let (used, other) = (layout.name(candidates[0]), layout.name(candidates[1]));
            notes.push(format!("volume is {used}; {other} is left aside"));
        }
        // Text that is no number is a fault however many rows have it: only what says "no value" is none.
        let none = |v: &f64| v.is_nan() || *v == NO_VOLUME;
        let valueless =
            rows > 0 && volume.iter().all(none) && candidates.get(chosen).is_some_and(|&column| !wrong(column));
        if valueless {
            let says = if volume.contains(&NO_VOLUME) { "is -1 throughout" } else { "has no value in any row" };
            notes.push(format!("{} {says}: the bars have no volume", layout.name(candidates[chosen])));
            volume.fill(0.0);
        }
        let kept = candidates.get(chosen).copied().filter(|_| !valueless);
        let prices = layout.roles.price;
        self.faults.retain(|f| {
            let cell = matches!(f.kind, FaultKind::Missing | FaultKind::NotANumber);
            !cell || Some(f.column) == kept || prices.contains(&Some(f.column))
        });
        self.columns.volume = volume;
    }
}

impl Table {
    /// Prices of a row: open, high, low, close.
    pub(crate) fn prices(&self, row: usize) -> [f64; PRICES.len()] {
        let c = &self.columns;
        [c.open[row], c.high[row], c.low[row], c.close[row]]
    }

    /// Whether the four prices of every row are equal, though each has a column.
    pub(crate) fn is_flat(&self) -> bool {
        let flat = |row| self.prices(row).windows(2).all(|pair| pair[0] == pair[1]);
        !self.layout.roles.close_only() && self.lines.len() > 1 && (0..self.lines.len()).all(flat)
    }

    /// With the stamps that no clock of the zone showed, and a note of them.
    pub(crate) fn with_skipped(mut self, skipped: Vec<Skipped>) -> Self {
        if let Some(first) = skipped.first() {
            self.notes.push(format!(
                "{} of {} stamps do not exist in {} (first {}), where clocks went forward over them, and are taken as the \
                 moment after",
                skipped.len(),
                self.lines.len(),
                first.zone,
                first.civil
            ));
        }
        self.skipped = skipped;
        self
    }

    /// Which of its symbols a name means.
    pub(crate) fn symbol_named(&self, name: &str) -> Option<usize> {
        symbol_named(&self.symbols, name)
    }

    /// Makes prices of whole numbers of small units. The quotient is the f64 nearest to the decimal meant.
    pub(crate) fn divide_prices(&mut self, divisor: f64) {
        let c = &mut self.columns;
        for column in [&mut c.open, &mut c.high, &mut c.low, &mut c.close].into_iter().chain(&mut self.adjusted) {
            column.iter_mut().for_each(|price| *price /= divisor);
        }
    }

    /// Keeps the rows for which `keep` is true. `[n_rows]`
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        fn only<T>(column: &mut Vec<T>, keep: &[bool]) {
            let mut kept = keep.iter();
            column.retain(|_| kept.next().is_some_and(|&k| k));
        }
        let c = &mut self.columns;
        let numbers = [&mut c.open, &mut c.high, &mut c.low, &mut c.close, &mut c.volume];
        numbers.into_iter().chain(&mut self.adjusted).for_each(|column| only(column, keep));
        only(&mut c.ts, keep);
        only(&mut self.lines, keep);
        only(&mut self.symbol_of, keep);
    }
}

impl Fault {
    /// Whether the row it stands in is not in the table.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.kind, FaultKind::Time | FaultKind::Fields { .. })
    }

    /// The error a strict reader stops with.
    pub(crate) fn error(&self, table: &Table) -> LoadError {
        let (path, at, text) = (table.path.clone(), (table.place)(self.line), self.text.clone());
        let column = table.layout.name(self.column);
        match self.kind {
            FaultKind::Time => LoadError::Time { path, at, column, text },
            FaultKind::Fields { expected, got } => LoadError::Fields { path, at, expected, got },
            FaultKind::Missing => LoadError::Missing { path, at, column, text },
            FaultKind::NotANumber => LoadError::Number { path, at, column, text },
        }
    }
}
