//! Delimited text as a table of named columns: which delimiter, where the header stands, what its columns are.

use std::path::Path;

use super::super::columns::Roles;
use super::super::container::Part;
use super::super::csv::for_each_record;
use super::super::dialect::{self, Layout};
use super::super::time::DateOrder;
use super::super::{LoadError, LoadOptions, Place, date_order, quotes, source};

/// What may separate columns; of equals the first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A text whose first line that is neither empty nor a comment names its columns.
pub(super) struct Lines {
    text: Vec<u8>,
    layout: Layout,
    order: Option<DateOrder>,
}

impl Lines {
    /// With the names of its columns and what they say of themselves.
    pub(super) fn open(mut part: Part, options: &LoadOptions) -> Result<(Self, Vec<String>, Roles), LoadError> {
        let text = source::text(&mut part)?;
        let layout = layout(&text);
        quotes::check(&part.path, &text, layout.delimiter)?;
        // Its columns are found by name: an order of dates needs one of them.
        let order =
            if layout.roles.time.is_some() { date_order::of_text(&part.path, &text, &layout, options)? } else { None };
        let names = layout.header.as_ref().map(|(_, names)| names.clone()).unwrap_or_default();
        let roles = layout.roles.clone();
        Ok((Self { text, layout, order }, names, roles))
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn order(&self) -> Option<DateOrder> {
        self.order
    }

    /// The header's line.
    pub(super) fn header(&self) -> Option<u64> {
        self.layout.header.as_ref().map(|(line, _)| *line)
    }

    pub(super) fn comma_is_decimal(&self) -> bool {
        self.layout.delimiter != b','
    }

    /// Every record below the header with its line.
    pub(super) fn for_each<E: From<LoadError>>(
        &self,
        path: &Path,
        mut visit: impl FnMut(u64, &csv::ByteRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let expected = self.layout.width;
        let mut result = Ok(());
        for_each_record(&self.text, &self.layout, |line, record| {
            let got = record.len();
            result = if got == expected {
                visit(line, record)
            } else {
                Err(LoadError::Fields { path: path.to_owned(), at: Place::Line(line), expected, got }.into())
            };
            result.is_ok()
        });
        result
    }
}

/// With the delimiter under which the first row has as many fields as the header, a column names time, and there are
/// most columns, in this order.
fn layout(text: &[u8]) -> Layout {
    let mut best: Option<((bool, bool, usize), Layout)> = None;
    for delimiter in DELIMITERS {
        let layout = dialect::named_columns(text, delimiter);
        let (fits, layout) = layout;
        let score = (fits, layout.roles.time.is_some(), layout.width);
        // A single column is separated by nothing; a comma in it is no part of a number then.
        if best.as_ref().is_none_or(|(known, _)| layout.width > 1 && score > *known) {
            best = Some((score, layout));
        }
    }
    best.map_or_else(|| dialect::named_columns(text, DELIMITERS[0]).1, |(_, layout)| layout)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_delimiter_is_the_one_that_fits() {
        let found = |text: &str| {
            let layout = layout(text.as_bytes());
            (char::from(layout.delimiter), layout.width)
        };
        assert_eq!(found("ts,a,b\n2024-01-02,1,0\n"), (',', 3));
        assert_eq!(found("ts;sma(10,20);rsi\n2024-01-02;0,5;1\n"), (';', 3));
        assert_eq!(found("ts|sma(10,20)\n2024-01-02|1\n"), ('|', 2));
        assert_eq!(found("a\tb\n0,5\t1\n"), ('\t', 2));
        assert_eq!(found("level\n1\n"), (',', 1));
        assert_eq!(found("level\n0,5\n"), (',', 1), "a comma without need is no decimal one");
        assert_eq!(found("ts;level\n"), (';', 2));
    }

    #[test]
    fn comments_and_a_preamble_stand_above_the_names() {
        let found = |text: &str| {
            let layout = layout(text.as_bytes());
            let (line, names) = layout.header.unwrap();
            (line, names.join("|"), layout.first_byte)
        };
        for (above, rows) in [
            ("# made by hand\n", "ts,level\n2024-01-02,1\n"),
            ("# one, two, three\n# four\n", "ts,level\n2024-01-02,1\n"),
            ("# a, b\n", "ts,level\n2024-01-02,1\n"),
            ("My model\n\nversion,3,beta\n", "Date;x;y\n2024-01-02;1;0,5\n"),
            ("# levels\n", "level\n1\n"),
            ("# levels, by bar\n", "a,b\n1,0\n"),
            ("", "#ts,level\n2024-01-02,1\n"),
            ("", "a,b\n1,0\n"),
            ("", "strategy,level\ntime,1\n"),
        ] {
            let text = format!("{above}{rows}");
            let (line, names, first) = found(&text);
            let (header, data) = rows.split_once('\n').unwrap();
            assert_eq!(line as usize, above.lines().count() + 1, "{text}");
            assert_eq!(names, header.replace([',', ';'], "|"), "{text}");
            assert_eq!(&text[first..], data, "{text}");
        }
    }
}
