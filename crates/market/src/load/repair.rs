//! What `repair` does, each step with a note: nothing is mended silently.

use super::Place;
use super::rows::Rows;
use super::table::{Fault, Table};

/// Drops, sorts and widens until the rows are bars, in this order: rows that could not be read, prices missing or not
/// above zero, volumes missing or negative (set to 0), time order, duplicate stamps (the last in the file stays),
/// ranges.
pub(crate) fn repair(table: &Table, rows: &mut Rows, notes: &mut Vec<String>) {
    let unread = table.faults.iter().filter(|f: &&Fault| f.is_unreadable());
    let lines: Vec<u64> = unread.map(|f| f.line).collect();
    let mut notes = Notes { notes, place: table.place };
    notes.add(&lines, "dropped, not readable");
    drop_bad_prices(rows, &mut notes);
    mend_volume(rows, &mut notes);
    sort(rows, &mut notes);
    drop_duplicates(rows, &mut notes);
    widen(rows, &mut notes);
}

struct Notes<'a> {
    notes: &'a mut Vec<String>,
    place: fn(u64) -> Place,
}

impl Notes<'_> {
    fn add(&mut self, lines: &[u64], what: &str) {
        if let Some(first) = lines.first() {
            let rows = if lines.len() == 1 { "row" } else { "rows" };
            let first = (self.place)(*first);
            self.notes.push(format!("repair: {} {rows} {what} (first on {first})", lines.len()));
        }
    }
}

fn drop_bad_prices(rows: &mut Rows, notes: &mut Notes<'_>) {
    let c = &rows.columns;
    let good =
        |row: usize| [c.open[row], c.high[row], c.low[row], c.close[row]].iter().all(|&p| p > 0.0 && p.is_finite());
    let kept: Vec<usize> = (0..rows.lines.len()).filter(|&row| good(row)).collect();
    if kept.len() < rows.lines.len() {
        let dropped: Vec<u64> = (0..rows.lines.len()).filter(|&row| !good(row)).map(|row| rows.lines[row]).collect();
        notes.add(&dropped, "dropped, a price missing or not above zero");
        rows.select(&kept);
    }
}

fn mend_volume(rows: &mut Rows, notes: &mut Notes<'_>) {
    let mut lines = Vec::new();
    for (volume, &line) in rows.columns.volume.iter_mut().zip(&rows.lines) {
        if !(volume.is_finite() && *volume >= 0.0) {
            *volume = 0.0;
            lines.push(line);
        }
    }
    notes.add(&lines, "with volume missing or negative, set to 0");
}

fn sort(rows: &mut Rows, notes: &mut Notes<'_>) {
    let ts = &rows.columns.ts;
    let late: Vec<u64> = (1..ts.len()).filter(|&i| ts[i] < ts[i - 1]).map(|i| rows.lines[i]).collect();
    if !late.is_empty() {
        notes.add(&late, "earlier than the row before, sorted by time");
    }
    // Equal stamps in file order, so that the last of them is the file's last.
    let mut order: Vec<usize> = (0..ts.len()).collect();
    order.sort_by_key(|&i| (ts[i], rows.lines[i]));
    rows.select(&order);
}

fn drop_duplicates(rows: &mut Rows, notes: &mut Notes<'_>) {
    let ts = &rows.columns.ts;
    let repeated = |i: usize| i + 1 < ts.len() && ts[i] == ts[i + 1];
    let kept: Vec<usize> = (0..ts.len()).filter(|&i| !repeated(i)).collect();
    let dropped: Vec<u64> = (0..ts.len()).filter(|&i| repeated(i)).map(|i| rows.lines[i]).collect();
    notes.add(&dropped, "dropped, a later row has the same time stamp");
    if !dropped.is_empty() {
        rows.select(&kept);
    }
}

fn widen(rows: &mut Rows, notes: &mut Notes<'_>) {
    let mut lines = Vec::new();
    let c = &mut rows.columns;
    for row in 0..c.ts.len() {
        let all = [c.open[row], c.high[row], c.low[row], c.close[row]];
        let high = all.into_iter().fold(f64::MIN, f64::max);
        let low = all.into_iter().fold(f64::MAX, f64::min);
        if high != c.high[row] || low != c.low[row] {
            (c.high[row], c.low[row]) = (high, low);
            lines.push(rows.lines[row]);
        }
    }
    notes.add(&lines, "with high and low widened to contain open and close");
}
