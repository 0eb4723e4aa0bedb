//! Two orders a file must show by its data: day or month first in dates, and the columns of a file without header.

use std::path::Path;

use super::clock::Clock;
use super::columns::PRICES;
use super::csv::{cell, for_each_record, moment};
use super::dialect::Layout;
use super::table::Table;
use super::time::{self, DateOrder};
use super::{LoadError, LoadOptions, Place};

/// Rows looked at for dates whose day and month could change places.
const OPEN_DATE_ROWS: usize = 60;
/// Share of bars that may violate the usual column order before another is suspected.
const SUSPICIOUS: f64 = 0.05;
/// Bars that may contradict a header.
const ENOUGH: usize = 20;

/// A line and its date.
type Seen = (u64, String);

/// How dates like `01/02/2024` are read: as the option says, else as a number above 12 shows, else as keeps the file
/// sorted. `None` when the first rows hold no such date; then none is taken for a stamp further down.
pub(crate) fn date_order(
    path: &Path,
    text: &[u8],
    layout: &Layout,
    options: &LoadOptions,
) -> Result<Option<DateOrder>, LoadError> {
    if options.date_order.is_some() {
        return Ok(options.date_order);
    }
    let column = layout.roles.time.unwrap_or(0);
    let text_of = |record: &csv::ByteRecord| String::from_utf8_lossy(cell(record, column)).into_owned();
    let (mut first, mut day_first, mut month_first): (Option<Seen>, Option<Seen>, Option<Seen>) = (None, None, None);
    let mut rows = 0;
    for_each_record(text, layout, |line, record| {
        rows += 1;
        if let Some((a, b)) = time::open_pair(cell(record, column)) {
            first.get_or_insert_with(|| (line, text_of(record)));
            if a > 12 && b <= 12 {
                day_first.get_or_insert_with(|| (line, text_of(record)));
            }
            if b > 12 && a <= 12 {
                month_first.get_or_insert_with(|| (line, text_of(record)));
            }
        }
        first.is_some() || rows < OPEN_DATE_ROWS
    });
    let Some((line, text_of_first)) = first else { return Ok(None) };
    match (day_first, month_first) {
        (Some((day, text)), Some((month, other))) => {
            let (at, other_at) = (Place::Line(day), Place::Line(month));
            return Err(LoadError::DateConflict { path: path.to_owned(), at, text, other_at, other });
        }
        (Some(_), None) => return Ok(Some(DateOrder::Dmy)),
        (None, Some(_)) => return Ok(Some(DateOrder::Mdy)),
        (None, None) => {}
    }
    let sorted = |order| is_sorted(text, layout, order);
    match (sorted(DateOrder::Dmy), sorted(DateOrder::Mdy)) {
        (true, false) => Ok(Some(DateOrder::Dmy)),
        (false, true) => Ok(Some(DateOrder::Mdy)),
        _ => {
            let column = layout.name(column);
            Err(LoadError::DateOrder { path: path.to_owned(), at: Place::Line(line), column, text: text_of_first })
        }
    }
}

fn is_sorted(text: &[u8], layout: &Layout, order: DateOrder) -> bool {
    let mut clock = Clock::new(None);
    let (mut previous, mut up, mut down) = (None, true, true);
    for_each_record(text, layout, |_, record| {
        let ts = moment(layout, Some(order), record).and_then(|m| clock.instant(m));
        if let (Some(before), Some(now)) = (previous, ts) {
            up &= before <= now;
            down &= before >= now;
        }
        previous = ts.or(previous);
        up || down
    });
    up || down
}

/// Whether open or close lies outside low to high, or high under low. NaN violates nothing.
pub(crate) fn violates([open, high, low, close]: [f64; PRICES.len()]) -> bool {
    high < low || open > high || close > high || open < low || close < low
}

/// For a file without header: the order of columns its bars speak for, when it is not open, high, low, close. Bitfinex
/// writes open, close, high, low.
pub(crate) fn suspicion(table: &Table) -> Option<LoadError> {
    if !table.layout.guessed {
        return None;
    }
    let (first, bad, order) = misplaced(table)?;
    let (path, at, rows) = (table.path.clone(), (table.place)(table.lines[first]), table.lines.len());
    Some(LoadError::ColumnOrder { path, at, bad, rows, looks_like: described(&table.layout, order) })
}

/// The order of columns, as the option wants it, that the bars of a file speak for, whatever its header says, when they
/// contradict the one it is read in. A few rows speak for nothing against a header.
pub(crate) fn better(table: &Table) -> Option<String> {
    misplaced(table)
        .filter(|_| table.layout.guessed || table.lines.len() >= ENOUGH)
        .map(|(_, _, order)| described(&table.layout, order))
}

/// The first bar that violates the order of columns, the number of them where they are many, and the order that fits.
fn misplaced(table: &Table) -> Option<(usize, usize, [usize; 4])> {
    let rows = table.lines.len();
    let mut bad = (0..rows).filter(|&row| violates(table.prices(row)));
    let first = bad.next()?;
    let bad = 1 + bad.count();
    if (bad as f64) < SUSPICIOUS * rows as f64 {
        return None;
    }
    Some((first, bad, best_order(table)?))
}

/// `order[i]` is the meaning (0 open … 3 close) of the i-th price column. Of the orders that (nearly) no bar violates,
/// the one whose opens lie nearest to the closes before them.
fn best_order(table: &Table) -> Option<[usize; 4]> {
    let rows = table.lines.len();
    let arranged = |row: usize, order: [usize; 4]| {
        let written = table.prices(row);
        let mut bar = [0.0; 4];
        (0..4).for_each(|i| bar[order[i]] = written[i]);
        bar
    };
    let fits = |order: &[usize; 4]| {
        let bad = (0..rows).filter(|&row| violates(arranged(row, *order))).count();
        (bad as f64) < 0.1 * SUSPICIOUS * rows as f64
    };
    let newest_first = table.columns.ts.first() > table.columns.ts.last();
    let jump = |order: [usize; 4]| -> f64 {
        (1..rows)
            .map(|row| if newest_first { (row, row - 1) } else { (row - 1, row) })
            .map(|(before, after)| (arranged(after, order)[0] - arranged(before, order)[3]).abs())
            .filter(|d| d.is_finite())
            .sum()
    };
    // Where neither order of open and close fits better, open comes first, as everywhere.
    let close_first = |order: &[usize; 4]| order.iter().position(|&m| m == 3) < order.iter().position(|&m| m == 0);
    let rank = |a: &[usize; 4], b: &[usize; 4]| jump(*a).total_cmp(&jump(*b)).then(close_first(a).cmp(&close_first(b)));
    permutations().filter(fits).min_by(rank)
}

fn permutations() -> impl Iterator<Item = [usize; 4]> {
    (0..256usize)
        .map(|code| [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6])
        .filter(|p| (0..4).all(|i| p.contains(&i)))
}

/// As the `columns` option wants it.
fn described(layout: &Layout, order: [usize; 4]) -> String {
    let roles = &layout.roles;
    let mut names = vec!["-"; roles.last() + 1];
    let time_name = if roles.clock.is_some() { "date" } else { "ts" };
    let fixed = [(roles.time, time_name), (roles.clock, "time"), (roles.symbol, "symbol")];
    let prices = roles.price.iter().zip(order).map(|(&column, meaning)| (column, PRICES[meaning]));
    let volume = (roles.volumes.first().copied(), "volume");
    for (column, name) in fixed.into_iter().chain(prices).chain([volume]) {
        if let Some(column) = column {
            names[column] = name;
        }
    }
    names.join(",")
}
