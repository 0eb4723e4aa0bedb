//! The layout of a table that is not one of bars: its columns are found by name, whatever they are.

use super::super::columns;
use super::{Layout, PREAMBLE_LINES, Row, new_layout, sample, whole_stamp};

/// The first line that is not empty, nor above the names as comments are, as names of columns, whatever they are; and
/// whether the row below has as many fields.
pub(crate) fn named_columns(text: &[u8], delimiter: u8) -> (bool, Layout) {
    let end = text.len().min(1 << 16);
    let rows = sample(&text[..end], delimiter);
    let preamble = preamble(&rows);
    let mut rows = rows.into_iter().skip(preamble);
    let (header, data) = (rows.next(), rows.next());
    let names = header.as_ref().map(Row::names).unwrap_or_default();
    let mut roles = columns::by_name(&names, |_| None);
    whole_stamp(&mut roles, data.as_ref());
    let mut layout = new_layout(data.as_ref(), roles);
    let fits = layout.width == names.len();
    (layout.delimiter, layout.width) = (delimiter, names.len());
    layout.header = header.map(|row| (row.line, names));
    (fits, layout)
}

/// Lines above the names of columns: comments, and lines of another width above names of which one is of time.
fn preamble(rows: &[Row]) -> usize {
    let is_comment = |row: &Row| row.fields.first().is_some_and(|field| field.starts_with(b"#"));
    let names_time = |i: &usize| {
        let (row, width) = (&rows[*i], rows[*i].fields.len());
        let fits = rows.get(i + 1).is_none_or(|data| data.fields.len() == width);
        let apart = rows[..*i].iter().all(|above| is_comment(above) || above.fields.len() != width);
        let is_name = |column: usize| !row.is_number(column) && !row.is_time(column);
        fits && apart && (0..width).all(is_name) && columns::by_name(&row.names(), |_| None).time.is_some()
    };
    let end = rows.len().min(PREAMBLE_LINES);
    // A header may begin with the mark of a comment itself.
    (0..end).find(names_time).or_else(|| (0..end).find(|&i| !is_comment(&rows[i]))).unwrap_or(0)
}
