//! What a file holds and what is wrong with it, counted: also for files that [`load`](crate::load::load) refuses.

mod oddities;

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use crate::calendar;
use crate::load::table::{self, FaultKind, Table, UNKNOWN};
use crate::load::{LoadError, LoadOptions, container, finish, order};
use crate::time::{interval, iso};

pub use oddities::Hours;

/// Examples kept of each finding.
pub const MAX_EXAMPLES: usize = 5;

/// Everything found in a file (or a member of an archive), from and to aside: what [`crate::load::load`] would cut off
/// is counted too.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DataReport {
    /// The file.
    pub path: String,
    /// Hex SHA-256 of its bytes as stored.
    pub sha256: String,
    /// How it is laid out.
    pub dialect: String,
    /// What the numbers of examples count, from 1: `line` of the unpacked text, `row` of Parquet, `record` of DBN.
    pub counted: &'static str,
    /// Whether it loads with the same options.
    pub loads: bool,
    /// Why not.
    pub refusal: Option<String>,
    /// What would mend that.
    pub hint: Option<String>,
    /// What loading notes; what reading notes, when the file doesn't load.
    pub notes: Vec<String>,
    /// Symbols in file order; empty where the file has no such column.
    pub symbols: Vec<String>,
    /// Rows of the file (of the chosen symbol), unreadable ones included.
    pub rows: usize,
    /// Earliest stamp, UTC.
    pub first: Option<String>,
    /// Latest stamp, UTC.
    pub last: Option<String>,
    /// Earliest stamp, UTC nanoseconds.
    pub first_ts: Option<i64>,
    /// Latest stamp, UTC nanoseconds.
    pub last_ts: Option<i64>,
    /// How the stamps run down the file.
    pub order: Order,
    /// Median distance of distinct stamps, nanoseconds; 0 where there is none.
    pub interval_ns: i64,
    /// Bars per year: the option's, else what the stamps show. `None` where there is no interval.
    pub periods_per_year: Option<f64>,
    /// Whether Saturdays show a market that never closes.
    pub always_open: bool,
    /// Whether any row has volume.
    pub has_volume: bool,
    /// Distances of more than one and a half intervals.
    pub gaps: Gaps,
    /// Rows whose stamp (of the same symbol) an earlier line has.
    pub duplicates: Finding,
    /// Rows earlier than the one before, against the order of the file.
    pub unsorted: Finding,
    /// Rows with a price missing or not a number.
    pub missing_prices: Finding,
    /// Rows with a volume missing or not a number.
    pub missing_volumes: Finding,
    /// Rows without a time stamp, or with too many or too few fields.
    pub unreadable: Finding,
    /// Rows with high < low, or open or close outside them.
    pub ohlc_violations: Finding,
    /// Rows with a price of zero or below.
    pub non_positive_prices: Finding,
    /// Rows with a volume below zero.
    pub negative_volumes: Finding,
    /// Rows with volume 0, where the file has a volume column.
    pub zero_volume: Finding,
    /// Rows whose high equals their low.
    pub flat: Finding,
    /// Closes 15 robust standard deviations or more from the one before, in order of time.
    pub jumps: Finding,
    /// Days and ratios of jumps that look like splits.
    pub likely_splits: Vec<String>,
    /// Runs of five or more bars with the same four prices.
    pub stale: Finding,
    /// Bars in the longest of them.
    pub longest_stale_run: usize,
    /// When the market trades, where the bars show it.
    pub hours: Option<Hours>,
    /// Flags that would mend what was found.
    pub suggestions: Vec<String>,
}

impl DataReport {
    /// The interval and how many bars make a year, for people: `1 d, 252 bars a year`.
    pub fn pace(&self) -> String {
        let a_year = self.periods_per_year.map_or_else(|| "–".into(), |n| format!("{}", (n * 100.0).round() / 100.0));
        format!("{}, {a_year} bars a year", interval(self.interval_ns))
    }
}

/// How stamps run down a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Oldest first.
    #[default]
    Ascending,
    /// Newest first.
    Descending,
    /// Ascending (or descending) within each symbol, one symbol after the other or mixed.
    Grouped,
    /// None of these.
    Unsorted,
}

/// How often something occurs, and where first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Finding {
    /// Occurrences, in rows.
    pub count: usize,
    /// The first [`MAX_EXAMPLES`].
    pub examples: Vec<Example>,
}

/// One occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Line (row, record) of the file.
    pub line: u64,
    /// What is there.
    pub text: String,
}

/// Distances between neighbouring distinct stamps (of all symbols together) longer than 1.5 intervals. A distance d
/// lacks round(d / interval) − 1 bars. Nights and weekends of a session market are gaps like any other.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Gaps {
    /// Number of gaps.
    pub count: usize,
    /// Bars lacking in all of them.
    pub missing_bars: u64,
    /// The longest distance between neighbours, gap or not, nanoseconds.
    pub longest_ns: i64,
    /// The first [`MAX_EXAMPLES`]: the line after the gap.
    pub examples: Vec<Example>,
}

impl Finding {
    fn add(&mut self, line: u64, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < MAX_EXAMPLES {
            self.examples.push(Example { line, text: text() });
        }
    }
}

/// Reads a file leniently and counts what it holds: one report, or of an archive one for each member.
///
/// # Errors
/// [`LoadError`] when the file holds no rows at all: it cannot be read, is no text, or its columns cannot be told.
pub fn check(path: &Path, options: &LoadOptions) -> Result<Vec<DataReport>, LoadError> {
    let stored = container::read(path)?;
    let report = |part| Ok(of_table(table::read(part, options)?, &stored.sha256, options));
    stored.parts.into_iter().map(report).collect()
}

fn of_table(mut table: Table, sha256: &str, options: &LoadOptions) -> DataReport {
    let verdict = finish(std::slice::from_ref(&table), options);
    if let Some(name) = &options.symbol
        && !table.symbols.is_empty()
    {
        only(&mut table, name);
    }
    let mut report = empty(&table, sha256);
    match verdict {
        Ok(loaded) => (report.loads, report.notes) = (true, loaded.notes),
        Err(error) => {
            report.hint = error.hint();
            report.refusal = Some(error.to_string());
        }
    }
    range(&table, options, &mut report);
    sequence(&table, &mut report);
    faults(&table, &mut report);
    values(&table, &mut report);
    oddities::find(&table, options, &mut report);
    report.suggestions = oddities::suggestions(&table, options, &report);
    report
}

/// The rows of one symbol; those that could not be split into fields belong to any.
fn only(table: &mut Table, name: &str) {
    let Some(index) = table.symbols.iter().position(|s| s.eq_ignore_ascii_case(name)) else { return };
    let index = index as u32;
    let keep: Vec<bool> = table.symbol_of.iter().map(|&s| s == index).collect();
    table.retain(&keep);
    table.faults.retain(|f| f.symbol == index || f.symbol == UNKNOWN);
    table.rows = table.lines.len() + table.faults.iter().filter(|f| f.is_unreadable()).count();
}

fn empty(table: &Table, sha256: &str) -> DataReport {
    DataReport {
        path: table.path.display().to_string(),
        sha256: sha256.to_owned(),
        dialect: table.dialect.clone(),
        counted: (table.place)(0).counted(),
        notes: table.notes.clone(),
        symbols: table.symbols.clone(),
        rows: table.rows,
        has_volume: table.columns.volume.iter().any(|&v| v > 0.0),
        ..DataReport::default()
    }
}

/// Range, interval and gaps, from the distinct stamps in order.
fn range(table: &Table, options: &LoadOptions, report: &mut DataReport) {
    let mut stamped: Vec<(i64, u64)> = table.columns.ts.iter().copied().zip(table.lines.iter().copied()).collect();
    stamped.sort_unstable();
    stamped.dedup_by_key(|(ts, _)| *ts);
    let ts: Vec<i64> = stamped.iter().map(|(ts, _)| *ts).collect();
    (report.first_ts, report.last_ts) = (ts.first().copied(), ts.last().copied());
    (report.first, report.last) = (report.first_ts.map(iso), report.last_ts.map(iso));
    let interval = calendar::interval_ns(&ts);
    report.interval_ns = interval;
    report.always_open = calendar::is_always_open(&ts, interval);
    let shown = Some(calendar::periods_per_year(&ts, interval)).filter(|p| p.is_finite());
    report.periods_per_year = options.periods_per_year.or(shown);
    for pair in stamped.windows(2) {
        gap(pair[0].0, pair[1], interval, &mut report.gaps);
    }
}

fn gap(before: i64, (after, line): (i64, u64), interval: i64, gaps: &mut Gaps) {
    let distance = after - before;
    gaps.longest_ns = gaps.longest_ns.max(distance);
    let intervals = distance as f64 / interval as f64;
    if intervals <= 1.5 {
        return;
    }
    let missing = intervals.round() as u64 - 1;
    gaps.count += 1;
    gaps.missing_bars += missing;
    if gaps.examples.len() < MAX_EXAMPLES {
        let text = format!("{missing} missing between {} and {}", iso(before), iso(after));
        gaps.examples.push(Example { line, text });
    }
}

/// Order and duplicates, per symbol.
fn sequence(table: &Table, report: &mut DataReport) {
    let ts = &table.columns.ts;
    let mut last_row: HashMap<u32, usize> = HashMap::new();
    let mut steps: Vec<(usize, usize)> = Vec::with_capacity(ts.len());
    for (row, symbol) in table.symbol_of.iter().enumerate() {
        if let Some(before) = last_row.insert(*symbol, row) {
            steps.push((before, row));
        }
    }
    let rises = steps.iter().filter(|(a, b)| ts[*b] > ts[*a]).count();
    let falls = steps.iter().filter(|(a, b)| ts[*b] < ts[*a]).count();
    let descending = falls > rises;
    let stamp = |row: usize| iso(ts[row]);
    for &(a, b) in steps.iter().filter(|(a, b)| if descending { ts[*b] > ts[*a] } else { ts[*b] < ts[*a] }) {
        report.unsorted.add(table.lines[b], || format!("{} after {}", stamp(b), stamp(a)));
    }
    report.order = match (report.unsorted.count, last_row.len() > 1, descending) {
        (1.., ..) => Order::Unsorted,
        (0, true, _) => Order::Grouped,
        (0, false, true) => Order::Descending,
        (0, false, false) => Order::Ascending,
    };
    duplicates(table, report);
}

fn duplicates(table: &Table, report: &mut DataReport) {
    let ts = &table.columns.ts;
    let key = |row: usize| (table.symbol_of[row], ts[row]);
    let mut rows: Vec<usize> = (0..ts.len()).collect();
    rows.sort_by_key(|&row| (key(row), row));
    let mut repeated: Vec<(usize, usize)> =
        rows.windows(2).filter(|w| key(w[0]) == key(w[1])).map(|w| (w[1], w[0])).collect();
    repeated.sort_unstable();
    for (row, earlier) in repeated {
        report.duplicates.add(table.lines[row], || {
            format!("{} is already on {}", iso(ts[row]), (table.place)(table.lines[earlier]))
        });
    }
}

fn faults(table: &Table, report: &mut DataReport) {
    let prices = table.layout.roles.price;
    let mut last_line = 0;
    for fault in &table.faults {
        let name = || format!("{} is {:?}", table.layout.name(fault.column), fault.text);
        match fault.kind {
            FaultKind::Fields { expected, got } => {
                report.unreadable.add(fault.line, || format!("{got} fields, expected {expected}"));
            }
            FaultKind::Time => report.unreadable.add(fault.line, name),
            // A row counts once, however many of its prices are missing.
            _ if prices.contains(&Some(fault.column)) => {
                if fault.line != last_line {
                    report.missing_prices.add(fault.line, name);
                }
                last_line = fault.line;
            }
            _ => report.missing_volumes.add(fault.line, name),
        }
    }
}

fn values(table: &Table, report: &mut DataReport) {
    for (row, &line) in table.lines.iter().enumerate() {
        let prices = table.prices(row);
        let [open, high, low, close] = prices;
        let shown = || format!("open {open}, high {high}, low {low}, close {close}");
        if order::violates(prices) {
            report.ohlc_violations.add(line, shown);
        }
        if prices.iter().any(|&p| p <= 0.0) {
            report.non_positive_prices.add(line, shown);
        }
        if high == low {
            report.flat.add(line, || iso(table.columns.ts[row]));
        }
        let volume = table.columns.volume[row];
        if volume < 0.0 {
            report.negative_volumes.add(line, || volume.to_string());
        }
        if table.has_volume_column && volume == 0.0 {
            report.zero_volume.add(line, || iso(table.columns.ts[row]));
        }
    }
}
