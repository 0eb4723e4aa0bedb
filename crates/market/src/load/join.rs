//! Several tables as one series: in order of time, without overlap, of one interval and one symbol.

use std::path::PathBuf;

use super::LoadError;
use super::cut::Cut;
use super::rows::Rows;
use super::table::Table;
use crate::bars::{BarColumns, BarsError};
use crate::calendar;
use crate::time::iso;

/// Intervals of one series may differ by this factor: months are not of one length.
const ALIKE: f64 = 1.2;
/// Move of a price's logarithm that no night makes.
const TORN: f64 = 3.0;

/// The wanted rows of one table.
pub(crate) struct Series<'a> {
    pub(crate) table: &'a Table,
    pub(crate) rows: Rows,
    pub(crate) notes: Vec<String>,
    /// First and last stamp before the cut.
    pub(crate) whole: Option<(i64, i64)>,
}

/// All rows.
pub(crate) struct Joined<'a> {
    pub(crate) path: PathBuf,
    pub(crate) columns: BarColumns,
    pub(crate) lines: Vec<u64>,
    pub(crate) reordered: bool,
    pub(crate) symbol: Option<String>,
    pub(crate) notes: Vec<String>,
    /// What a broken rule of bars is in terms of the file it stands in.
    pub(crate) blame: Box<dyn Fn(&BarsError) -> LoadError + 'a>,
}

/// Puts series one after the other.
pub(crate) fn join<'a>(mut series: Vec<Series<'a>>, cut: &Cut) -> Result<Joined<'a>, LoadError> {
    let path = series.first().map(|s| s.table.path.clone()).unwrap_or_default();
    let rows = series.iter().map(|s| s.rows.lines.len()).sum();
    if !cut.is_none() && rows < 2 {
        let spans = || series.iter().filter_map(|s| s.whole);
        let first = spans().map(|(first, _)| first).min().map(iso).unwrap_or_default();
        let last = spans().map(|(_, last)| last).max().map(iso).unwrap_or_default();
        return Err(LoadError::Cut { path, rows, range: cut.given.clone(), first, last });
    }
    let mut notes = notes(&series);
    notes.extend(nameless(&series));
    notes.extend(one_volume(&mut series));
    let mut reordered = series.iter().any(|s| !s.rows.lines.is_sorted());
    if series.len() > 1 {
        series.retain(|s| !s.rows.lines.is_empty());
        series.iter().try_for_each(sorted)?;
        let first = |s: &Series<'_>| s.rows.columns.ts.first().copied();
        reordered |= !series.is_sorted_by_key(first);
        series.sort_by_key(first);
        series.windows(2).try_for_each(|pair| compatible(&pair[0], &pair[1]))?;
        notes.extend(series.windows(2).filter_map(|pair| torn(&pair[0], &pair[1])));
    }
    let mut columns = BarColumns::default();
    let mut lines = Vec::with_capacity(rows);
    for s in &mut series {
        append(&mut columns, &mut s.rows.columns);
        lines.extend(&s.rows.lines);
    }
    let symbol = series.iter().find_map(|s| s.rows.symbol.clone());
    let (stamps, blamed) = (columns.ts.clone(), path.clone());
    let blame = Box::new(move |error: &BarsError| {
        let mut before = 0;
        for s in &series {
            let n = s.rows.lines.len();
            if error.row().is_none_or(|row| row < before + n) {
                return s.rows.error(s.table, &stamps[before..], &error.earlier_by(before));
            }
            before += n;
        }
        LoadError::TooFew { path: blamed.clone(), rows: stamps.len() }
    });
    Ok(Joined { path, columns, lines, reordered, symbol, notes, blame })
}

/// What files without a symbol are taken for beside those with one.
fn nameless(series: &[Series<'_>]) -> Option<String> {
    let symbol = series.iter().find_map(|s| s.rows.symbol.as_ref())?;
    let names: Vec<String> = series.iter().filter(|s| s.rows.symbol.is_none()).map(file_name).collect();
    let (names, verb) = (names.join(", "), if names.len() == 1 { "names" } else { "name" });
    (!names.is_empty()).then(|| format!("{names} {verb} no symbol: the bars are taken to be those of {symbol}"))
}

/// That prices of one file and the next are of different sizes.
fn torn(a: &Series<'_>, b: &Series<'_>) -> Option<String> {
    let (last, first) = (*a.rows.columns.close.last()?, *b.rows.columns.open.first()?);
    let torn = (first / last).ln().abs() > TORN;
    torn.then(|| {
        format!(
            "from {} to {} the price jumps from {last} to {first}: units or separators may differ (--price-divisor, or \
             convert one of them)",
            file_name(a),
            file_name(b)
        )
    })
}

/// Leaves the volumes out where a file has none: its bars would be taken for bars without trades, and fill no order.
fn one_volume(series: &mut [Series<'_>]) -> Option<String> {
    let has = |s: &Series<'_>| s.rows.columns.volume.iter().any(|&v| v != 0.0);
    let without: Vec<String> = series.iter().filter(|s| !s.rows.lines.is_empty() && !has(s)).map(file_name).collect();
    if without.is_empty() || !series.iter().any(has) {
        return None;
    }
    series.iter_mut().for_each(|s| s.rows.columns.volume.fill(0.0));
    let (names, verb) = (without.join(", "), if without.len() == 1 { "has" } else { "have" });
    Some(format!("{names} {verb} no volume: that of the other files is left out"))
}

fn file_name(series: &Series<'_>) -> String {
    series.table.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The notes of every series, with its file where there are several.
fn notes(series: &[Series<'_>]) -> Vec<String> {
    let named = |s: &Series<'_>, note: &String| match series.len() {
        1 => note.clone(),
        _ => format!("{}: {note}", file_name(s)),
    };
    series.iter().flat_map(|s| s.notes.iter().map(move |note| named(s, note))).collect()
}

/// Refuses what would make an overlap look like the neighbour's.
fn sorted(s: &Series<'_>) -> Result<(), LoadError> {
    let ts = &s.rows.columns.ts;
    let Some(row) = (1..ts.len()).find(|&row| ts[row] <= ts[row - 1]) else { return Ok(()) };
    let error = if ts[row] == ts[row - 1] {
        BarsError::DuplicateTimestamp { row }
    } else {
        BarsError::UnsortedTimestamp { row }
    };
    Err(s.rows.error(s.table, ts, &error))
}

fn compatible(a: &Series<'_>, b: &Series<'_>) -> Result<(), LoadError> {
    let (path, other) = (a.table.path.clone(), b.table.path.clone());
    let (Some(&last), Some(&first)) = (a.rows.columns.ts.last(), b.rows.columns.ts.first()) else { return Ok(()) };
    if first <= last {
        return Err(LoadError::Overlap { earlier: path, later: other, stamp: iso(first) });
    }
    if let (Some(this), Some(that)) = (&a.rows.symbol, &b.rows.symbol)
        && this != that
    {
        return Err(LoadError::Differ { path, other, what: "symbol", this: this.clone(), that: that.clone() });
    }
    let interval = |s: &Series<'_>| calendar::interval_ns(&s.rows.columns.ts);
    let (this, that) = (interval(a), interval(b));
    let factor = this.max(that) as f64 / this.min(that).max(1) as f64;
    if this > 0 && that > 0 && factor > ALIKE {
        let shown = crate::time::interval;
        return Err(LoadError::Differ { path, other, what: "interval", this: shown(this), that: shown(that) });
    }
    Ok(())
}

fn append(all: &mut BarColumns, more: &mut BarColumns) {
    all.ts.append(&mut more.ts);
    let pairs = [
        (&mut all.open, &mut more.open),
        (&mut all.high, &mut more.high),
        (&mut all.low, &mut more.low),
        (&mut all.close, &mut more.close),
        (&mut all.volume, &mut more.volume),
    ];
    pairs.into_iter().for_each(|(all, more)| all.append(more));
}
