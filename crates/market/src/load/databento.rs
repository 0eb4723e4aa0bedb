//! Databento's CSV with raw prices (`pretty_px=false`): whole numbers of 1e-9.

use super::dialect::Layout;
use super::table::{Fault, FaultKind, Table};

/// Prices to one unit.
const DIVISOR: f64 = 1e9;
/// The columns that open every such file.
const HEAD: [&str; 4] = ["rtype", "publisher_id", "instrument_id", "ts_event"];

/// Divides the prices of a table in Databento's layout, if all of them are whole numbers, and says so. With pretty
/// prices all of them have nine decimals.
pub(crate) fn scale(table: &mut Table) {
    let whole = |price: &f64| price.is_nan() || (price.fract() == 0.0 && price.abs() >= 1000.0);
    let c = &table.columns;
    if !is_layout(&table.layout) || ![&c.open, &c.high, &c.low, &c.close].iter().all(|p| p.iter().all(whole)) {
        return;
    }
    let prices = table.layout.roles.price;
    let c = &mut table.columns;
    for (column, values) in prices.into_iter().zip([&mut c.open, &mut c.high, &mut c.low, &mut c.close]) {
        for (row, price) in values.iter_mut().enumerate().filter(|(_, price)| **price >= i64::MAX as f64) {
            *price = f64::NAN;
            let (line, symbol) = (table.lines[row], table.symbol_of[row]);
            let text = "undefined".to_owned();
            table.faults.push(Fault { line, kind: FaultKind::Missing, column: column.unwrap_or(0), text, symbol });
        }
    }
    table.faults.sort_by_key(|fault| fault.line);
    table.divide_prices(DIVISOR);
    let note =
        "whole numbers in Databento's layout: prices are units of 1e-9 (--price-divisor 1 takes them as they are)";
    table.notes.push(note.to_owned());
}

fn is_layout(layout: &Layout) -> bool {
    layout.header.as_ref().is_some_and(|(_, names)| HEAD.iter().all(|head| names.iter().any(|name| name == head)))
}
