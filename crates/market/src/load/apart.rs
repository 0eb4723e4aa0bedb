//! Rows of one time stamp: what an unused column of theirs says about why.

use std::collections::HashMap;

use super::csv::{cell, for_each_record};
use super::dialect::Layout;
use super::table::Table;

/// Pairs looked at.
const PAIRS: usize = 1000;

/// The first unused column that differs on every pair of neighbouring rows with one stamp: perhaps a time of day.
pub(crate) fn column(text: &[u8], layout: &Layout, table: &Table) -> Option<String> {
    let ts = &table.columns.ts;
    let same = |row: usize| ts[row] == ts[row - 1] && table.symbol_of[row] == table.symbol_of[row - 1];
    let pairs: Vec<(u64, u64)> = (1..ts.len())
        .filter(|&row| same(row))
        .map(|row| (table.lines[row - 1], table.lines[row]))
        .take(PAIRS)
        .collect();
    let last = pairs.last()?.1;
    let unused: Vec<usize> = (0..layout.width).filter(|&i| !layout.roles.uses(i)).collect();
    let mut cells: HashMap<u64, Vec<Vec<u8>>> = pairs.iter().flat_map(|&(a, b)| [a, b]).map(|l| (l, vec![])).collect();
    for_each_record(text, layout, |line, record| {
        if let Some(found) = cells.get_mut(&line) {
            *found = unused.iter().map(|&i| cell(record, i).to_vec()).collect();
        }
        line < last
    });
    let differs = |i: usize| pairs.iter().all(|(a, b)| cells[a].get(i) != cells[b].get(i));
    (0..unused.len()).find(|&i| differs(i)).map(|i| layout.name(unused[i]))
}
