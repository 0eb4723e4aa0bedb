//! `adjust`: prices as if splits and dividends had not been.

use super::LoadError;
use super::rows::Rows;
use super::table::Table;

/// In how many rows adjusted closes differ from closes, and what comes of it.
pub(crate) fn note(table: &Table, rows: &Rows, adjust: bool) -> Option<String> {
    let adjusted = rows.adjusted.as_ref()?;
    let differs = |(a, c): (&f64, &f64)| (a - c).abs() > 1e-6 * c.abs();
    let count = adjusted.iter().zip(&rows.columns.close).filter(|pair| differs(*pair)).count();
    let name = name(table);
    let use_of = match (count, adjust) {
        (0, true) => return Some(format!("{name} equals close throughout: there is nothing to adjust")),
        (0, false) => return None,
        (_, true) => "all prices are scaled to it, volume is as it was",
        (_, false) => "close is used (--adjust scales to it)",
    };
    let all = adjusted.len();
    Some(format!("{name} differs from close in {count} of {all} rows (splits or dividends); {use_of}"))
}

fn name(table: &Table) -> String {
    table.layout.name(table.layout.roles.adj_close.unwrap_or(0))
}

/// Scales open, high and low by adjusted close / close, and sets close to the adjusted close. Volume stays: vendors
/// adjust it for splits or not, and none says which.
pub(crate) fn adjust(table: &Table, rows: &mut Rows) -> Result<(), LoadError> {
    let Some(adjusted) = &rows.adjusted else { return Err(LoadError::NoAdjusted { path: table.path.clone() }) };
    let c = &mut rows.columns;
    for (row, &close) in adjusted.iter().enumerate() {
        if !(close.is_finite() && close > 0.0) {
            return Err(LoadError::Adjusted {
                path: table.path.clone(),
                at: (table.place)(rows.lines[row]),
                column: name(table),
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
    Ok(())
}
