//! Reads bars from files as vendors write them.
//!
//! [`load`] finds container (gzip, zstd, zip) and format (delimited text, Parquet, DBN) from the first bytes, and the
//! dialect of text by itself: delimiter (comma, semicolon, tab, bar, blanks), preamble, header names and their synonyms
//! or the usual columns where there is no header, dates, epochs and their unit, decimal commas, UTF-16. What it decides
//! it says in [`Loaded::dialect`] and [`Loaded::notes`]; what it cannot decide is an error that names file, line and
//! column and carries a [`LoadError::hint`].

mod adjust;
mod apart;
mod clock;
mod columns;
pub(crate) mod container;
mod csv;
pub(crate) mod cut;
mod databento;
mod date_order;
mod dbn;
mod dialect;
mod error;
mod frame;
mod guard;
mod hint;
mod join;
mod lean;
mod members;
mod number;
pub(crate) mod order;
mod parquet;
mod place;
mod quotes;
mod repair;
pub(crate) mod rows;
mod separators;
mod source;
mod symbol;
pub(crate) mod table;
mod ticks;
mod time;

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

pub use error::LoadError;
pub use frame::{Frame, Row, Stamps};
pub use guard::is_decoding;
pub use number::Number;
pub use place::Place;
pub use symbol::symbol_named;
pub use time::DateOrder;

use self::cut::Cut;
use self::join::Series;
use self::rows::Rows;
use self::table::Table;
use crate::bars::{Bars, BarsError};
use crate::resample::{Refusal, Resample};
use crate::time::iso;
use crate::{jumps, resample};

/// How to read a file; everything unset is found from the data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoadOptions {
    /// Columns in file order (`ts,open,close,high,low,volume`, `-` skips one) or by header name
    /// (`close=Adj Close,volume=Volume USD`).
    pub columns: Option<String>,
    /// Instrument to take from a file that holds several; elsewhere, the name the bars get.
    pub symbol: Option<String>,
    /// IANA time zone of stamps without an offset, of `from` and `to`, and of the days of `resample`. UTC when unset.
    pub tz: Option<String>,
    /// Order of day and month in dates like `01/02/2024`.
    pub date_order: Option<DateOrder>,
    /// Drop, sort and widen rows until they are bars, noting each step, instead of refusing the file.
    pub repair: bool,
    /// What prices are divided by: 10000 for whole numbers of ten-thousandths.
    pub price_divisor: Option<f64>,
    /// Scale prices by adjusted close / close, where the file has adjusted closes.
    pub adjust: bool,
    /// First day or moment taken.
    pub from: Option<String>,
    /// Last day or moment taken; a day is taken whole.
    pub to: Option<String>,
    /// Longer bars to make of those read: `15min`, `1h`, `1h@09:30`, `1d`, `1w`, `1mo`, `1d@17:00`.
    pub resample: Option<String>,
    /// Bars per year, instead of what the stamps show.
    pub periods_per_year: Option<f64>,
}

impl LoadOptions {
    /// The zone of `tz`.
    fn zone(&self) -> Result<TimeZone, LoadError> {
        self.tz.as_deref().map_or(Ok(TimeZone::UTC), csv::time_zone)
    }
}

/// Bars and what was decided on the way.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The bars, ascending.
    pub bars: Bars,
    /// What a reader of results should know: reversals, choices between columns, repairs.
    pub notes: Vec<String>,
    /// Line of the unpacked text (row, record) each bar stands on, or begins on, counted from 1 in its file. `[n_bars]`
    pub lines: Vec<u64>,
    /// Whether bars were put in another order than that of their rows: of a file that is newest first, of files given so.
    pub reordered: bool,
    /// How the (first) file is laid out, for people.
    pub dialect: String,
    /// The files, in the order given.
    pub files: Vec<LoadedFile>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedFile {
    /// The path as given.
    pub path: PathBuf,
    /// Hex SHA-256 of its bytes as stored.
    pub sha256: String,
}

/// Reads a file of bars.
///
/// # Errors
/// [`LoadError`]: the first thing found that is not as bars should be, with its line and column.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Loaded, LoadError> {
    load_files(&[path], options)
}

/// Reads several files of one series, in any order; an archive of several members counts as as many files.
///
/// # Errors
/// As [`load`]; besides, files that cover the same time or differ in interval or symbol.
pub fn load_files<P: AsRef<Path>>(paths: &[P], options: &LoadOptions) -> Result<Loaded, LoadError> {
    let (mut tables, mut files) = (Vec::new(), Vec::new());
    for path in paths.iter().map(AsRef::as_ref) {
        let stored = container::read(path)?;
        files.push(LoadedFile { path: path.to_owned(), sha256: stored.sha256 });
        for part in stored.parts {
            tables.push(table::read(part, options)?);
        }
    }
    let loaded = finish(&tables, options)?;
    Ok(Loaded { files, ..loaded })
}

/// From tables as read to bars; the files are for the caller to name.
pub(crate) fn finish(tables: &[Table], options: &LoadOptions) -> Result<Loaded, LoadError> {
    let cut = Cut::new(options)?;
    let resample = options.resample.as_deref().map(|text| resampling(text, options)).transpose()?;
    let periods_per_year = checked_periods(options)?;
    let series = tables.iter().map(|table| series(table, options, &cut)).collect::<Result<Vec<_>, _>>()?;
    let joined = join::join(series, &cut)?;
    let mut notes = joined.notes;
    let path = &joined.path;
    let mut bars = Bars::new(joined.columns).map_err(|e| (joined.blame)(&e))?;
    let mut lines = joined.lines;
    if !options.adjust {
        notes.extend(jumps::split_note(&bars));
    }
    if let Some(resample) = resample {
        let made =
            resample.apply(&bars).map_err(|Refusal { reason, remedy }| LoadError::Resample { reason, remedy })?;
        lines = made.first_row.iter().map(|&row| lines[row]).collect();
        notes.extend(made.notes);
        let stamps = made.columns.ts.clone();
        bars = Bars::new(made.columns).map_err(|error| unmade(path, &stamps, &error))?;
    }
    if let Some(symbol) = &joined.symbol {
        bars = bars.with_symbol(symbol);
    }
    if let Some(periods) = periods_per_year {
        bars = bars.with_periods_per_year(periods);
    }
    let dialect = tables.first().map(|table| table.dialect.clone()).unwrap_or_default();
    Ok(Loaded { bars, notes, lines, reordered: joined.reordered, dialect, files: Vec::new() })
}

fn resampling(text: &str, options: &LoadOptions) -> Result<Resample, LoadError> {
    resample::parse(text, options.zone()?).map_err(|reason| LoadError::Setting { option: "resample", reason })
}

/// Of bars that are right, longer ones can be too few, or hold more volume than a number.
fn unmade(path: &Path, stamps: &[i64], error: &BarsError) -> LoadError {
    let stamp = error.row().and_then(|row| stamps.get(row)).map(|&ts| iso(ts));
    match stamp {
        None => LoadError::Resample {
            reason: format!(
                "{}: its bars make {} of the length wanted; at least 2 are needed",
                path.display(),
                stamps.len()
            ),
            remedy: Some("make shorter bars, or give more of them".to_owned()),
        },
        Some(stamp) => LoadError::Resample {
            reason: format!("the volumes of the bar of {stamp} sum to more than a number holds"),
            remedy: Some("mend the volumes, or make shorter bars".to_owned()),
        },
    }
}

/// The rows of one table that are wanted, checked for all that a strict reader refuses but the rules of [`Bars`].
fn series<'a>(table: &'a Table, options: &LoadOptions, cut: &Cut) -> Result<Series<'a>, LoadError> {
    let mut rows = Rows::choose(table, options)?;
    if let Some(error) = order::suspicion(table) {
        return Err(error);
    }
    let mut notes = table.notes.clone();
    let nameless = table.symbols.is_empty() && table.layout.symbol.is_none();
    if let (Some(name), true) = (&options.symbol, nameless) {
        notes.push(format!("the file names no symbol: its bars are taken to be those of {name}"));
    }
    notes.extend(adjust::note(table, &rows, options.adjust));
    notes.extend(rows.tick_note(table));
    rows.ascend(&mut notes);
    let whole = rows.span();
    cut.apply(&mut rows);
    if options.adjust {
        adjust::adjust(table, &mut rows)?;
    }
    if let Some(error) = rows.skipped_hour(table) {
        return Err(error);
    }
    if options.repair {
        repair::repair(table, &mut rows, &mut notes);
    } else if let Some(fault) = rows.first_fault(table, cut) {
        return Err(fault.error(table));
    }
    Ok(Series { table, rows, notes, whole })
}

fn checked_periods(options: &LoadOptions) -> Result<Option<f64>, LoadError> {
    match options.periods_per_year {
        Some(value) if !(value.is_finite() && value > 0.0) => Err(LoadError::Setting {
            option: "periods_per_year",
            reason: format!("{value} is not a number above zero"),
        }),
        value => Ok(value),
    }
}
