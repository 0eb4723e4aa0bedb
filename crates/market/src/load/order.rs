//! The order a file without header must show by its data: that of its columns.

use super::LoadError;
use super::columns::PRICES;
use super::dialect::Layout;
use super::table::Table;

/// Share of bars that may violate the usual column order before another is suspected.
const SUSPICIOUS: f64 = 0.05;
/// Bars that may contradict a header.
const ENOUGH: usize = 20;

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
