//! What a file holds and what is wrong with it, counted: also for files that [`load`](crate::load::load) refuses.
//!
//! Rows are counted as they stand in the file. What bars show together (jumps, spikes, hours) is that of the bars as
//! `adjust` and `repair` leave them, where they do.

mod hours;
mod oddities;
mod report;
mod series;
mod suggest;
mod weekdays;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use self::series::Series;
use crate::Bars;
use crate::calendar;
use crate::load::cut::Cut;
use crate::load::table::{self, FaultKind, Table, UNKNOWN};
use crate::load::{LoadError, LoadOptions, container, finish, order};
use crate::time::iso;

pub use hours::Hours;
pub use report::{DataReport, Example, Finding, Gaps, MAX_DAYS, MAX_EXAMPLES, Named, Order};

/// A file (or a member of an archive) and the bars it loads as.
#[derive(Debug)]
pub struct Checked {
    /// What was found.
    pub report: DataReport,
    /// The bars, where it loads.
    pub bars: Option<Bars>,
}

/// Reads a file leniently and counts what it holds: one report, or of an archive one for each member.
///
/// # Errors
/// [`LoadError`] when the file holds no rows at all: it cannot be read, is no text, or its columns cannot be told.
pub fn check(path: &Path, options: &LoadOptions) -> Result<Vec<DataReport>, LoadError> {
    let (tables, sha256) = tables(path, options)?;
    Ok(tables.into_iter().map(|table| of_table(table, &sha256, options).report).collect())
}

/// Reads files that are to make one series. One that cannot be read has a report that says why; the error is that of
/// the files together, where each of them loads.
pub fn check_files<P: AsRef<Path>>(paths: &[P], options: &LoadOptions) -> (Vec<Checked>, Option<LoadError>) {
    let read: Vec<_> = paths.iter().map(|path| (path.as_ref(), tables(path.as_ref(), options))).collect();
    let n_tables: usize = read.iter().filter_map(|(_, read)| read.as_ref().ok()).map(|(tables, _)| tables.len()).sum();
    let mut all: Vec<Table> = Vec::new();
    let mut out: Vec<Checked> = Vec::new();
    for (path, read) in read {
        match read {
            Ok((tables, sha256)) => {
                // Kept for the series they make together.
                all.extend(tables.iter().filter(|_| n_tables > 1).cloned());
                out.extend(tables.into_iter().map(|table| of_table(table, &sha256, options)));
            }
            Err(error) => out.push(Checked { report: DataReport::refused(path, &error), bars: None }),
        }
    }
    let each_loads = out.iter().all(|checked| checked.report.loads);
    let apart = if each_loads && n_tables > 1 { finish(&all, options).err() } else { None };
    if let Some(error) = &apart {
        out.iter_mut().for_each(|checked| checked.report.series_refusal = Some(error.to_string()));
    }
    (out, apart)
}

fn tables(path: &Path, options: &LoadOptions) -> Result<(Vec<Table>, String), LoadError> {
    let stored = container::read(path)?;
    let tables = stored.parts.into_iter().map(|part| table::read(part, options)).collect::<Result<_, _>>()?;
    Ok((tables, stored.sha256))
}

fn of_table(mut table: Table, sha256: &str, options: &LoadOptions) -> Checked {
    let verdict = finish(std::slice::from_ref(&table), options);
    inside(&mut table, options);
    if let Some(name) = &options.symbol
        && !table.symbols.is_empty()
    {
        only(&mut table, name);
    }
    let series = Series::new(&table, options);
    let mut report = empty(&table, sha256);
    report.before_repair = options.repair;
    let mut bars = None;
    match verdict {
        Ok(loaded) => (report.loads, report.notes, bars) = (true, loaded.notes, Some(loaded.bars)),
        Err(error) => {
            report.hint = error.hint();
            if matches!(error, LoadError::Range { .. })
                && let Some(columns) = order::better(&table)
            {
                report.hint = Some(format!("the columns look like {columns}: pass --columns {columns}"));
            }
            report.refusal = Some(error.to_string());
        }
    }
    range(&table, options, &mut report);
    sequence(&table, &mut report);
    faults(&table, &mut report);
    values(&table, &mut report);
    report.one_series = series.is_some();
    if let Some(series) = series {
        oddities::find(&series, options, &mut report);
    }
    report.suggestions.extend(suggest::suggestions(&table, options, &report));
    Checked { report, bars }
}

/// The rows of one symbol; those that could not be split into fields belong to any.
fn only(table: &mut Table, name: &str) {
    let Some(index) = table.symbol_named(name) else { return };
    let index = index as u32;
    let keep: Vec<bool> = table.symbol_of.iter().map(|&s| s == index).collect();
    table.faults.retain(|f| f.symbol == index || f.symbol == UNKNOWN);
    keep_rows(table, &keep);
}

/// The rows from `from` to `to`; those without a stamp belong to any range. One that is none is the verdict's to tell.
fn inside(table: &mut Table, options: &LoadOptions) {
    let Some(cut) = Cut::new(options).ok().filter(|cut| !cut.is_none()) else { return };
    let keep: Vec<bool> = table.columns.ts.iter().map(|&ts| cut.holds(ts)).collect();
    let outside: HashSet<u64> =
        table.lines.iter().zip(&keep).filter(|(_, keep)| !**keep).map(|(line, _)| *line).collect();
    table.faults.retain(|fault| fault.is_unreadable() || !outside.contains(&fault.line));
    keep_rows(table, &keep);
}

fn keep_rows(table: &mut Table, keep: &[bool]) {
    table.retain(keep);
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
    gaps(&stamped, interval, &mut report.gaps);
}

fn gaps(stamped: &[(i64, u64)], interval: i64, gaps: &mut Gaps) {
    let mut found = Vec::new();
    for pair in stamped.windows(2) {
        let distance = pair[1].0 - pair[0].0;
        gaps.longest_ns = gaps.longest_ns.max(distance);
        let intervals = distance as f64 / interval as f64;
        if intervals > 1.5 {
            let missing = intervals.round() as u64 - 1;
            gaps.count += 1;
            gaps.missing_bars += missing;
            found.push((distance, pair, missing));
        }
    }
    found.sort_by_key(|&(distance, pair, _)| (std::cmp::Reverse(distance), pair[0].0));
    let example = |(_, pair, missing): &(i64, &[(i64, u64)], u64)| Example {
        line: pair[1].1,
        text: format!("{missing} missing between {} and {}", iso(pair[0].0), iso(pair[1].0)),
    };
    gaps.examples = found.iter().take(MAX_EXAMPLES).map(example).collect();
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
