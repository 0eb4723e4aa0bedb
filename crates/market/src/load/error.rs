//! [`LoadError`]: why a file is not a table of bars, where, and how to mend it.

use std::path::PathBuf;

use thiserror::Error;

use super::Place;

/// Why a file cannot be read as bars. Lines count from 1, in the unpacked text.
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
    #[error("{}: is {kind}, which is not read", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What its first bytes say it is.
        kind: &'static str,
        /// How to turn it into text.
        remedy: &'static str,
    },
    /// Bytes that are not text.
    #[error("{}, {at}: is not text ({detail})", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// First offending line.
        at: Place,
        /// What was found.
        detail: &'static str,
    },
    /// A quoted field that runs on over the end of its line.
    #[error("{}, {at}: {}", path.display(), running_on(*until))]
    Quote {
        /// The file.
        path: PathBuf,
        /// Where the field begins.
        at: Place,
        /// The line on which it ends; none where it never does.
        until: Option<u64>,
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
    #[error("{}, {at}: the header has no column for {}; its columns are {}", path.display(), missing.join(", "), names.join(", "))]
    Header {
        /// The file.
        path: PathBuf,
        /// The header's line.
        at: Place,
        /// Roles without a column.
        missing: Vec<String>,
        /// The header's names.
        names: Vec<String>,
    },
    /// Rows that hold too few numbers to be bars.
    #[error("{}, {at}: {fields} fields, {numbers} of them numbers after the time stamp; a bar without a header needs open, high, low and close", path.display())]
    NotBars {
        /// The file.
        path: PathBuf,
        /// First row.
        at: Place,
        /// Fields in the row.
        fields: usize,
        /// Numbers after the time stamp.
        numbers: usize,
    },
    /// A table of single trades or quotes.
    #[error("{}{}: prices in {price} beside {beside}: single trades or quotes, not bars", path.display(), on(*at))]
    Ticks {
        /// The file.
        path: PathBuf,
        /// The header's line; Parquet has none.
        at: Option<Place>,
        /// The column of times.
        time: String,
        /// The column of prices.
        price: String,
        /// A column that only trades and quotes have.
        beside: String,
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
    /// Bars that do not make the longer ones wanted.
    #[error("option resample: {reason}")]
    Resample {
        /// Why.
        reason: String,
        /// What fits.
        remedy: Option<String>,
    },
    /// A file without header whose columns are evidently in another order.
    #[error("{}, {at}: {bad} of {rows} bars have open or close outside low to high; looks like columns {looks_like}", path.display())]
    ColumnOrder {
        /// The file.
        path: PathBuf,
        /// First violation under the usual order.
        at: Place,
        /// Violations.
        bad: usize,
        /// Rows.
        rows: usize,
        /// Order under which none is left.
        looks_like: String,
    },
    /// Dates that can be read day first and month first.
    #[error("{}, {at}, column {column}: {text:?} and every other date can be read day first or month first", path.display())]
    DateOrder {
        /// The file.
        path: PathBuf,
        /// First row.
        at: Place,
        /// Column name.
        column: String,
        /// The cell.
        text: String,
    },
    /// Dates of both orders.
    #[error("{}: {text:?} on {at} is day first, {other:?} on {other_at} month first", path.display())]
    DateConflict {
        /// The file.
        path: PathBuf,
        /// The first row that is day first.
        at: Place,
        /// Its date.
        text: String,
        /// The first row that is month first.
        other_at: Place,
        /// Its date.
        other: String,
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
    #[error("{}, {at}: {got} fields, expected {expected}", path.display())]
    Fields {
        /// The file.
        path: PathBuf,
        /// The row.
        at: Place,
        /// Fields of the first row.
        expected: usize,
        /// Fields of this one.
        got: usize,
    },
    /// A time stamp that is none.
    #[error("{}, {at}, column {column}: {text:?} is not a time stamp", path.display())]
    Time {
        /// The file.
        path: PathBuf,
        /// The row.
        at: Place,
        /// Column name.
        column: String,
        /// The cell.
        text: String,
    },
    /// A cell without a value.
    #[error("{}, {at}, column {column}: value missing ({text:?})", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The row.
        at: Place,
        /// Column name.
        column: String,
        /// The cell.
        text: String,
    },
    /// A cell that is not a number.
    #[error("{}, {at}, column {column}: {text:?} is not a number", path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// The row.
        at: Place,
        /// Column name.
        column: String,
        /// The cell.
        text: String,
    },
    /// A price of zero or below.
    #[error("{}, {at}, column {column}: price {value} is not above zero", path.display())]
    Price {
        /// The file.
        path: PathBuf,
        /// The row.
        at: Place,
        /// Column name.
        column: String,
        /// The price.
        value: f64,
    },
    /// A volume below zero.
    #[error("{}, {at}, column volume: {value} is negative", path.display())]
    Volume {
        /// The file.
        path: PathBuf,
        /// The row.
        at: Place,
        /// The volume.
        value: f64,
    },
    /// high < low, or open or close outside them.
    #[error("{}, {at}, column {column}: {}", path.display(), outside(*value, *low, *high))]
    Range {
        /// The file.
        path: PathBuf,
        /// The row.
        at: Place,
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
    #[error("{}, {at}: time stamp {stamp} is already on {earlier}", path.display())]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The later row.
        at: Place,
        /// The stamp, UTC.
        stamp: String,
        /// The row that has it first.
        earlier: Place,
        /// An unused column that tells such rows apart.
        apart: Option<String>,
        /// How many rows repeat a stamp, where they are a large part of the file.
        many: Option<usize>,
    },
    /// Rows of equal prices that share stamps.
    #[error("{}, {at}: has the stamp of {earlier}, and in each of {rows} rows open, high, low and close are equal: single trades, not bars", path.display())]
    FlatTicks {
        /// The file.
        path: PathBuf,
        /// The later row.
        at: Place,
        /// The row that has its stamp first.
        earlier: Place,
        /// Rows.
        rows: usize,
    },
    /// A time that clocks skip, which would be that of another row.
    #[error("{}, {at} and {other}: {stamp} does not exist in {zone}, whose clocks went forward over it", path.display())]
    Skipped {
        /// The file.
        path: PathBuf,
        /// The first row of the moment it would be taken as.
        at: Place,
        /// The other.
        other: Place,
        /// The time, as in the file.
        stamp: String,
        /// The zone.
        zone: String,
    },
    /// Time runs backwards.
    #[error("{}, {at}: time stamp {stamp} is earlier than {before} on {before_at}", path.display())]
    Unsorted {
        /// The file.
        path: PathBuf,
        /// The row.
        at: Place,
        /// Its stamp, UTC.
        stamp: String,
        /// The stamp before it, UTC.
        before: String,
        /// That row's line.
        before_at: Place,
    },
    /// Fewer bars than a return needs.
    #[error("{}: holds {rows} usable bars; at least 2 are needed", path.display())]
    TooFew {
        /// The file.
        path: PathBuf,
        /// Bars found.
        rows: usize,
    },
    /// A container or a format whose bytes are not as they should be.
    #[error("{}: is broken {format}: {detail}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What it should be.
        format: &'static str,
        /// What is wrong.
        detail: String,
    },
    /// Something that unpacks to more than any table of bars of its size would.
    #[error("{}: unpacks to more than {limit_mb} MB, which no file of bars of its size does", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What packs it.
        format: &'static str,
        /// The limit, megabytes.
        limit_mb: u64,
    },
    /// A device or pipe that gives more than any file of bars holds.
    #[error("{}: gives more than {limit_mb} MB, and perhaps no end", path.display())]
    Endless {
        /// The device or pipe.
        path: PathBuf,
        /// The limit, megabytes.
        limit_mb: u64,
    },
    /// Compression of Parquet that is not read.
    #[error("{}: is Parquet compressed with {codec}, which is not read", path.display())]
    Codec {
        /// The file.
        path: PathBuf,
        /// Its name.
        codec: String,
    },
    /// An archive with two members of one name.
    #[error("{}: the archive holds two members named {name}", path.display())]
    TwoMembers {
        /// The archive.
        path: PathBuf,
        /// Their name.
        name: String,
    },
    /// A member that an archive does not hold.
    #[error("{}: the archive holds no such member, but {}", path.display(), listed(found))]
    NoMember {
        /// The archive and the member.
        path: PathBuf,
        /// Its members.
        found: Vec<String>,
    },
    /// Several tables where one is wanted.
    #[error("{}: holds {} tables: {}", path.display(), found.len(), listed(found))]
    Members {
        /// The archive.
        path: PathBuf,
        /// Its members.
        found: Vec<String>,
    },
    /// A format that holds something other than bars.
    #[error("{}: holds {what}, not bars", path.display())]
    NotBarFile {
        /// The file.
        path: PathBuf,
        /// What it holds.
        what: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// Named columns, some of which a bar needs and are not there.
    #[error("{}: has no column for {}; its columns are {}", path.display(), missing.join(", "), found.join(", "))]
    Schema {
        /// The file.
        path: PathBuf,
        /// Roles without a column.
        missing: Vec<String>,
        /// Names and types.
        found: Vec<String>,
    },
    /// A column of a type that cannot hold what is wanted of it.
    #[error("{}, column {column}: is of type {found}, which holds no {wanted}", path.display())]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// Column name.
        column: String,
        /// Its type.
        found: String,
        /// `time stamps`, `numbers`, `symbols`.
        wanted: &'static str,
    },
    /// A wish for adjusted prices of a file that has none.
    #[error("{}: has no column of adjusted closes to adjust by", path.display())]
    NoAdjusted {
        /// The file.
        path: PathBuf,
    },
    /// An adjusted close that is no price.
    #[error("{}, {at}, column {column}: {value} is not a price to adjust by", path.display())]
    Adjusted {
        /// The file.
        path: PathBuf,
        /// The row.
        at: Place,
        /// Column name.
        column: String,
        /// The value.
        value: f64,
    },
    /// Fewer than two bars between `from` and `to`.
    #[error("{}: {rows} of its bars lie within {range}; it runs from {first} to {last}", path.display())]
    Cut {
        /// The file, or the first of several.
        path: PathBuf,
        /// Bars left.
        rows: usize,
        /// The bounds as given.
        range: String,
        /// First stamp, UTC.
        first: String,
        /// Last stamp, UTC.
        last: String,
    },
    /// Two files (or members of an archive) that cover the same time.
    #[error("{} and {}: both have bars at {stamp}", earlier.display(), later.display())]
    Overlap {
        /// The file that begins first.
        earlier: PathBuf,
        /// The other.
        later: PathBuf,
        /// A stamp that lies in both, UTC.
        stamp: String,
    },
    /// Two files that are not of one series.
    #[error("{} has {what} {this}, {} has {that}", path.display(), other.display())]
    Differ {
        /// A file.
        path: PathBuf,
        /// Another.
        other: PathBuf,
        /// `interval` or `symbol`.
        what: &'static str,
        /// The first one's.
        this: String,
        /// The other's.
        that: String,
    },
}

fn outside(value: f64, low: f64, high: f64) -> String {
    if high < low {
        return format!("the bar's high {high} lies below its low {low}");
    }
    format!("{value} lies outside the bar's low {low} to high {high}")
}

fn on(at: Option<Place>) -> String {
    at.map_or_else(String::new, |at| format!(", {at}"))
}

fn running_on(until: Option<u64>) -> String {
    match until {
        Some(line) => format!("a quoted field that begins here runs on to line {line}"),
        None => "a quote is opened here and never closed".to_owned(),
    }
}

/// The first dozen names, and how many more.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
