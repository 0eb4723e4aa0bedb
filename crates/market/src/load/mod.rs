//! Reads bars from files as vendors write them.
//!
//! [`load`] finds the dialect by itself: delimiter (comma, semicolon, tab, bar, blanks), preamble, header names and
//! their synonyms or the usual columns where there is no header, dates, epochs and their unit, decimal commas, gzip,
//! UTF-16. What it decides it says in [`Loaded::dialect`] and [`Loaded::notes`]; what it cannot decide is an error that
//! names file, line and column and carries a [`LoadError::hint`].

mod clock;
mod columns;
pub(crate) mod csv;
mod dialect;
mod error;
mod number;
pub(crate) mod order;
mod repair;
pub(crate) mod rows;
mod source;
mod time;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use error::LoadError;
pub use time::DateOrder;

use self::csv::Table;
use self::rows::Rows;
use crate::bars::Bars;

/// How to read a file; everything unset is found from the data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoadOptions {
    /// Columns in file order (`ts,open,close,high,low,volume`, `-` skips one) or by header name
    /// (`close=Adj Close,volume=Volume USD`).
    pub columns: Option<String>,
    /// Instrument to take from a file that holds several; elsewhere, the name the bars get.
    pub symbol: Option<String>,
    /// IANA time zone of stamps without an offset. UTC when unset.
    pub tz: Option<String>,
    /// Order of day and month in dates like `01/02/2024`.
    pub date_order: Option<DateOrder>,
    /// Drop, sort and widen rows until they are bars, noting each step, instead of refusing the file.
    pub repair: bool,
    /// Bars per year, instead of what the stamps show.
    pub periods_per_year: Option<f64>,
}

/// Bars and what was decided on the way.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The bars, ascending.
    pub bars: Bars,
    /// What a reader of results should know: reversals, choices between columns, repairs.
    pub notes: Vec<String>,
    /// Line of the (decompressed) file each bar stands on, counted from 1. `[n_bars]`
    pub lines: Vec<u64>,
    /// How the file is laid out, for people.
    pub dialect: String,
    /// Hex SHA-256 of the file's bytes as stored.
    pub sha256: String,
}

/// Reads a file of bars.
///
/// # Errors
/// [`LoadError`]: the first thing found that is not as bars should be, with its line and column.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Loaded, LoadError> {
    let table = csv::read(path, options)?;
    finish(path, &table, options)
}

/// From rows as read to bars.
pub(crate) fn finish(path: &Path, table: &Table, options: &LoadOptions) -> Result<Loaded, LoadError> {
    let mut rows = Rows::choose(path, table, options)?;
    if let Some(error) = order::suspicion(path, table) {
        return Err(error);
    }
    let mut notes = table.notes.clone();
    rows.ascend(&mut notes);
    if options.repair {
        repair::repair(table, &mut rows, &mut notes);
    } else if let Some(fault) =
        table.faults.iter().find(|f| rows.symbol_index.is_none_or(|s| s == f.symbol || f.symbol == csv::UNKNOWN))
    {
        return Err(fault.error(path, &table.layout));
    }
    let periods_per_year = checked_periods(options)?;
    let mut bars = Bars::new(rows.columns.clone()).map_err(|e| rows.error(path, &table.layout, &e))?;
    if let Some(symbol) = &rows.symbol {
        bars = bars.with_symbol(symbol);
    }
    if let Some(periods) = periods_per_year {
        bars = bars.with_periods_per_year(periods);
    }
    Ok(Loaded { bars, notes, lines: rows.lines, dialect: table.dialect.clone(), sha256: table.sha256.clone() })
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
