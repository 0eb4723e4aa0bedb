//! The rows of one instrument, on their way from table to bars.

use std::collections::HashSet;

use super::clock::Skipped;
use super::cut::Cut;
use super::table::{Fault, Table, UNKNOWN};
use super::{LoadError, LoadOptions};
use crate::bars::{BarColumns, BarsError};
use crate::resample::grid;
use crate::time::iso;

/// Repeats of stamps, and their share of the rows, beyond which they are no slip.
const MANY: usize = 2;
const MANY_SHARE: f64 = 0.2;
/// Rows of equal prices that are no chance.
const ENOUGH: usize = 20;

/// Columns and the line each row stands on.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) columns: BarColumns,
    pub(crate) lines: Vec<u64>,
    /// Adjusted closes, where the file has any. `[n_rows]`
    pub(crate) adjusted: Option<Vec<f64>>,
    pub(crate) symbol: Option<String>,
    /// Index of the symbol in the table; `None` when the table knows only one.
    pub(crate) symbol_index: Option<u32>,
}

impl Rows {
    /// The rows of the chosen symbol, or of the only one.
    pub(crate) fn choose(table: &Table, options: &LoadOptions) -> Result<Self, LoadError> {
        let all = |symbol| Self {
            columns: table.columns.clone(),
            lines: table.lines.clone(),
            adjusted: table.adjusted.clone(),
            symbol,
            symbol_index: None,
        };
        let found = || table.symbols.clone();
        match (&options.symbol, table.symbols.as_slice()) {
            (None, []) => Ok(all(table.layout.symbol.clone())),
            (None, [only]) => Ok(all(Some(only.clone()).filter(|s| !s.is_empty()))),
            (None, _) => Err(LoadError::Symbols { path: table.path.clone(), found: found() }),
            (Some(name), []) => Ok(all(Some(table.layout.symbol.clone().unwrap_or_else(|| name.clone())))),
            (Some(name), symbols) => {
                let Some(index) = table.symbol_named(name) else {
                    return Err(LoadError::UnknownSymbol {
                        path: table.path.clone(),
                        wanted: name.clone(),
                        found: found(),
                    });
                };
                let mut rows = all(Some(symbols[index].clone()));
                rows.symbol_index = Some(index as u32);
                let of_symbol = |&row: &usize| table.symbol_of[row] == index as u32;
                rows.select(&(0..table.lines.len()).filter(of_symbol).collect::<Vec<_>>());
                Ok(rows)
            }
        }
    }

    /// Keeps the rows of `order`, in that order.
    pub(crate) fn select(&mut self, order: &[usize]) {
        fn pick<T: Copy>(column: &mut Vec<T>, order: &[usize]) {
            *column = order.iter().map(|&row| column[row]).collect();
        }
        let c = &mut self.columns;
        pick(&mut c.ts, order);
        pick(&mut self.lines, order);
        let numbers = [&mut c.open, &mut c.high, &mut c.low, &mut c.close, &mut c.volume];
        numbers.into_iter().chain(&mut self.adjusted).for_each(|column| pick(column, order));
    }

    /// That rows of equal prices at odd times may be single trades.
    pub(crate) fn tick_note(&self, table: &Table) -> Option<String> {
        let ts = &self.columns.ts;
        let ticks = ts.len() >= ENOUGH && table.is_flat() && !grid::is_regular(ts, grid::length(ts));
        ticks.then(|| {
            "open, high, low and close are equal in every row, and stamps are irregular: single trades, taken for bars"
                .to_owned()
        })
    }

    /// First and last stamp.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        let ts = &self.columns.ts;
        Some((*ts.iter().min()?, *ts.iter().max()?))
    }

    /// The first fault of these rows; of those that could not be read, any.
    pub(crate) fn first_fault<'a>(&self, table: &'a Table, cut: &Cut) -> Option<&'a Fault> {
        let of_symbol = |f: &&Fault| self.symbol_index.is_none_or(|s| s == f.symbol || f.symbol == UNKNOWN);
        let mut faults = table.faults.iter().filter(of_symbol);
        if cut.is_none() || table.faults.is_empty() {
            return faults.next();
        }
        let kept: HashSet<u64> = self.lines.iter().copied().collect();
        faults.find(|f| f.is_unreadable() || kept.contains(&f.line))
    }

    /// The error of two rows of one moment, or one ahead of the next, where one bears a time that clocks skip: neither is
    /// the other's repeat, nor is the file unsorted.
    pub(crate) fn skipped_hour(&self, table: &Table) -> Option<LoadError> {
        if table.skipped.is_empty() {
            return None;
        }
        let error = |skipped: &Skipped, at: u64, other: u64| {
            let (path, stamp) = (table.path.clone(), skipped.civil.to_string().replace('T', " "));
            let (at, other) = ((table.place)(at), (table.place)(other));
            LoadError::Skipped { path, at, other, stamp, zone: skipped.zone.clone() }
        };
        let ts = &self.columns.ts;
        let falls = (1..ts.len()).filter(|&row| ts[row] < ts[row - 1]);
        let ahead = falls.filter_map(|row| Some((table.skipped.iter().find(|s| s.ts == ts[row - 1])?, row))).next();
        if let Some((skipped, row)) = ahead {
            return Some(error(skipped, self.lines[row - 1], self.lines[row]));
        }
        let mut rows: Vec<(i64, u64)> = self.columns.ts.iter().copied().zip(self.lines.iter().copied()).collect();
        rows.sort_unstable();
        rows.windows(2).filter(|w| w[0].0 == w[1].0).find_map(|w| {
            let skipped = table.skipped.iter().find(|s| s.ts == w[0].0)?;
            Some(error(skipped, w[0].1, w[1].1))
        })
    }

    /// Turns a file whose stamps mostly fall over, newest first.
    pub(crate) fn ascend(&mut self, notes: &mut Vec<String>) {
        let steps =
            |falling: bool| self.columns.ts.windows(2).filter(|w| w[0] != w[1] && (w[1] < w[0]) == falling).count();
        if steps(true) > steps(false) {
            notes.push("newest row first: the order was reversed".to_owned());
            let order: Vec<usize> = (0..self.lines.len()).rev().collect();
            self.select(&order);
        }
    }

    /// What a broken rule of bars is in terms of the file; `stamps` are those of the rows.
    pub(crate) fn error(&self, table: &Table, stamps: &[i64], error: &BarsError) -> LoadError {
        let path = table.path.clone();
        let column = |name: &str| table.layout.price_name(name);
        let line = |row: usize| self.lines.get(row).copied().unwrap_or(0);
        let at = |row: usize| (table.place)(line(row));
        let stamp = |row: usize| stamps.get(row).map_or_else(String::new, |&ns| iso(ns));
        match *error {
            BarsError::Length { got, .. } | BarsError::TooFew { got, .. } => LoadError::TooFew { path, rows: got },
            BarsError::DuplicateTimestamp { row } => {
                let (a, b) = (line(row - 1), line(row));
                let (place, own) = (table.place, &stamps[..stamps.len().min(self.lines.len())]);
                let (at, earlier) = (place(a.max(b)), place(a.min(b)));
                let repeats = own.windows(2).filter(|w| w[0] == w[1]).count();
                let mut distinct = own.to_vec();
                distinct.dedup();
                if table.is_flat() && !grid::is_regular(&distinct, grid::length(&distinct)) {
                    return LoadError::FlatTicks { path, at, earlier, rows: own.len() };
                }
                let many = (repeats > MANY && repeats as f64 > MANY_SHARE * own.len() as f64).then_some(repeats);
                LoadError::Duplicate { path, at, stamp: stamp(row), earlier, apart: table.apart.clone(), many }
            }
            BarsError::UnsortedTimestamp { row } => LoadError::Unsorted {
                path,
                at: at(row),
                stamp: stamp(row),
                before: stamp(row - 1),
                before_at: at(row - 1),
            },
            BarsError::Price { row, column: name, value } => {
                LoadError::Price { path, at: at(row), column: column(name), value }
            }
            BarsError::Volume { row, value } => LoadError::Volume { path, at: at(row), value },
            BarsError::Range { row, column: name, value, low, high } => {
                LoadError::Range { path, at: at(row), column: column(name), value, low, high }
            }
        }
    }
}
