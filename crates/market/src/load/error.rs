//! [`LoadError`]: why a file is not a table of bars, where, and how to mend it.

use std::path::PathBuf;

use thiserror::Error;

/// Why a file cannot be read as bars. Lines count from 1, in the decompressed text.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A format other than delimited text.
    #[error("{}: is {kind}, not delimited text", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What its first bytes say it is.
        kind: &'static str,
        /// How to turn it into text.
        remedy: &'static str,
    },
    /// Bytes that are not text.
    #[error("{}, line {line}: is not text ({detail})", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// First offending line.
        line: u64,
        /// What was found.
        detail: &'static str,
    },
    /// No data at all.
    #[error("{}: is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// No line that could be a header or a bar.
    #[error("{}: none of the first {lines} lines is a header with a time and a price column, or a bar", path.display())]
    NoTable {
        /// The file.
        path: PathBuf,
        /// Lines looked at.
        lines: usize,
    },
    /// A header whose names say nothing, or not enough.
    #[error("{}, line {line}: the header has no column for {}; its columns are {}", path.display(), missing.join(", "), names.join(", "))]
    Header {
        /// The file.
        path: PathBuf,
        /// The header's line.
        line: u64,
        /// Roles without a column.
        missing: Vec<String>,
        /// The header's names.
        names: Vec<String>,
    },
    /// Rows that hold too few numbers to be bars.
    #[error("{}, line {line}: {fields} fields, {numbers} of them numbers after the time stamp; a bar without a header needs open, high, low and close", path.display())]
    NotBars {
        /// The file.
        path: PathBuf,
        /// First row.
        line: u64,
        /// Fields in the row.
        fields: usize,
        /// Numbers after the time stamp.
        numbers: usize,
    },
    /// The `columns` option cannot be used.
    #[error("{}: columns {given:?}: {reason}", path.display())]
    Columns {
        /// The file.
        path: PathBuf,
        /// The option.
        given: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another option cannot be used.
    #[error("option {option}: {reason}")]
    Setting {
        /// The option.
        option: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A file without header whose columns are evidently in another order.
    #[error("{}, line {line}: {bad} of {rows} bars have open or close outside low to high; looks like columns {looks_like}", path.display())]
    ColumnOrder {
        /// The file.
        path: PathBuf,
        /// First violation under the usual order.
        line: u64,
        /// Violations.
        bad: usize,
        /// Rows.
        rows: usize,
        /// Order under which none is left.
        looks_like: String,
    },
    /// Dates that can be read day first and month first.
    #[error("{}, line {line}, column {column}: {text:?} and every other date can be read day first or month first", path.display())]
    DateOrder {
        /// The file.
        path: PathBuf,
        /// First row.
        line: u64,
        /// Column name.
        column: String,
        /// The cell.
        text: String,
    },
    /// Several instruments and no choice.
    #[error("{}: holds {} symbols: {}", path.display(), found.len(), listed(found))]
    Symbols {
        /// The file.
        path: PathBuf,
        /// The symbols, in file order.
        found: Vec<String>,
    },
    /// The chosen instrument is not there.
    #[error("{}: no rows of symbol {wanted:?}; the file holds {}", path.display(), listed(found))]
    UnknownSymbol {
        /// The file.
        path: PathBuf,
        /// The choice.
        wanted: String,
        /// The symbols, in file order.
        found: Vec<String>,
    },
    /// A row with more or fewer fields than the others.
    #[error("{}, line {line}: {got} fields, expected {expected}", path.display())]
    Fields {
        /// The file.
        path: PathBuf,
        /// The row.
        line: u64,
        /// Fields of the first row.
        expected: usize,
        /// Fields of this one.
        got: usize,
    },
    /// A time stamp that is none.
    #[error("{}, line {line}, column {column}: {text:?} is not a time stamp", path.display())]
    Time {
        /// The file.
        path: PathBuf,
        /// The row.
        line: u64,
        /// Column name.
        column: String,
        /// The cell.
        text: String,
    },
    /// A cell without a value.
    #[error("{}, line {line}, column {column}: value missing ({text:?})", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The row.
        line: u64,
        /// Column name.
        column: String,
        /// The cell.
        text: String,
    },
    /// A cell that is not a number.
    #[error("{}, line {line}, column {column}: {text:?} is not a number", path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// The row.
        line: u64,
        /// Column name.
        column: String,
        /// The cell.
        text: String,
    },
    /// A price of zero or below.
    #[error("{}, line {line}, column {column}: price {value} is not above zero", path.display())]
    Price {
        /// The file.
        path: PathBuf,
        /// The row.
        line: u64,
        /// Column name.
        column: String,
        /// The price.
        value: f64,
    },
    /// A volume below zero.
    #[error("{}, line {line}, column volume: {value} is negative", path.display())]
    Volume {
        /// The file.
        path: PathBuf,
        /// The row.
        line: u64,
        /// The volume.
        value: f64,
    },
    /// high < low, or open or close outside them.
    #[error("{}, line {line}, column {column}: {value} lies outside the bar's low {low} to high {high}", path.display())]
    Range {
        /// The file.
        path: PathBuf,
        /// The row.
        line: u64,
        /// Column name.
        column: String,
        /// Its value.
        value: f64,
        /// The bar's low.
        low: f64,
        /// The bar's high.
        high: f64,
    },
    /// The same time stamp twice.
    #[error("{}, line {line}: time stamp {stamp} is already on line {earlier_line}", path.display())]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The later row.
        line: u64,
        /// The stamp, UTC.
        stamp: String,
        /// The row that has it first.
        earlier_line: u64,
    },
    /// Time runs backwards.
    #[error("{}, line {line}: time stamp {stamp} is earlier than {before} on line {before_line}", path.display())]
    Unsorted {
        /// The file.
        path: PathBuf,
        /// The row.
        line: u64,
        /// Its stamp, UTC.
        stamp: String,
        /// The stamp before it, UTC.
        before: String,
        /// That row's line.
        before_line: u64,
    },
    /// Fewer bars than a return needs.
    #[error("{}: holds {rows} usable bars; at least 2 are needed", path.display())]
    TooFew {
        /// The file.
        path: PathBuf,
        /// Bars found.
        rows: usize,
    },
}

/// The first dozen names, and how many more.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

impl LoadError {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Read { .. } | Self::NotText { .. } | Self::Empty { .. } | Self::TooFew { .. } => return None,
            Self::Format { remedy, .. } => remedy,
            Self::NoTable { .. } | Self::Header { .. } => {
                "name the columns in file order, e.g. --columns ts,open,high,low,close,volume (- skips one), or by header, e.g. --columns \"close=Last,time=Day\""
            }
            Self::NotBars { .. } => {
                "trades and event lists are not bars: resample them first; a series of closes loads with --columns ts,close"
            }
            Self::Columns { .. } => {
                "names are ts, date, time, open, high, low, close, volume, symbol and - for a column to skip"
            }
            Self::Setting { option: "tz", .. } => {
                "time zones have IANA names, e.g. UTC, America/New_York or Europe/Berlin"
            }
            Self::Setting { .. } => return None,
            Self::ColumnOrder { looks_like, .. } => return Some(format!("pass --columns {looks_like}")),
            Self::DateOrder { .. } => "say which: --date-order dmy or --date-order mdy",
            Self::Symbols { found, .. } | Self::UnknownSymbol { found, .. } => {
                let first = found.first().map_or("NAME", String::as_str);
                return Some(format!("choose one, e.g. --symbol {first}"));
            }
            Self::Fields { .. } | Self::Time { .. } | Self::Missing { .. } | Self::Number { .. } => {
                "mend the line, or pass --repair to drop rows that cannot be read"
            }
            Self::Price { .. } => {
                "returns need prices above zero: cut the file before or after, or pass --repair to drop such rows"
            }
            Self::Volume { .. } => "pass --repair to count such a volume as 0",
            Self::Range { .. } => "mend the line, or pass --repair to widen high and low to contain open and close",
            Self::Duplicate { .. } => "pass --repair to keep the last row of each time stamp",
            Self::Unsorted { .. } => "sort the file by time, or pass --repair to have it sorted",
        };
        Some(text.to_owned())
    }
}
