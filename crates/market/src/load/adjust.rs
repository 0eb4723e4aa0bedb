//! `adjust`: prices as if splits and dividends had not been.

use super::LoadError;
use super::rows::Rows;
use super::table::Table;

/// Scales open, high and low by adjusted close / close, and sets close to the adjusted close. Volume stays: vendors
/// adjust it for splits or not, and none says which.
pub(crate) fn adjust(table: &Table, rows: &mut Rows, notes: &mut Vec<String>) -> Result<(), LoadError> {
    let Some(adjusted) = &rows.adjusted else { return Err(LoadError::NoAdjusted { path: table.path.clone() }) };
    let name = table.layout.name(table.layout.roles.adj_close.unwrap_or(0));
    let c = &mut rows.columns;
    for (row, &close) in adjusted.iter().enumerate() {
        if !(close.is_finite() && close > 0.0) {
            return Err(LoadError::Adjusted {
                path: table.path.clone(),
                at: (table.place)(rows.lines[row]),
                column: name,
                value: close,
            });
        }
        let factor = close / c.close[row];
        let inside = !super::order::violates([c.open[row], c.high[row], c.low[row], c.close[row]]);
        for price in [&mut c.open[row], &mut c.high[row], &mut c.low[row]] {
            *price *= factor;
        }
        c.close[row] = close;
        if inside {
            // A product is rounded, so that a high that was the close may miss the adjusted close by a bit.
            c.high[row] = c.high[row].max(c.open[row]).max(close);
            c.low[row] = c.low[row].min(c.open[row]).min(close);
        }
    }
    let used = "; close is used (--adjust scales to it)";
    match notes.iter_mut().find(|note| note.starts_with(&name) && note.ends_with(used)) {
        Some(note) => {
            note.truncate(note.len() - used.len());
            note.push_str("; all prices are scaled to it, volume is as it was");
        }
        None => notes.push(format!("{name} equals close throughout: there is nothing to adjust")),
    }
    Ok(())
}
