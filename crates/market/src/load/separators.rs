//! Whether commas and points in a file's numbers are decimal or part thousands.

use super::columns::PRICES;
use super::csv::{cell, for_each_record};
use super::dialect::Layout;
use super::number::{Comma, Evidence, evidence};

/// Decides from the whole file: the first price that reads one way only rules, else the first such volume. With it a
/// note, where nothing in the file shows it.
pub(crate) fn decide(text: &[u8], layout: &Layout) -> (Comma, Option<String>) {
    let mut seen = Seen::default();
    for_each_record(text, layout, |_, record| {
        layout.roles.price.iter().flatten().for_each(|&column| seen.price(cell(record, column)));
        layout.roles.volumes.iter().for_each(|&column| seen.volume(cell(record, column)));
        seen.by_price.is_none()
    });
    if let Some(comma) = seen.by_price.or(seen.by_volume) {
        return (comma, None);
    }
    match seen.open {
        // A decimal comma is why a file avoids the comma as delimiter.
        Some((b',', example)) if layout.delimiter != b',' => {
            (Comma::Decimal, Some(note("comma", &example, "decimals", "0.001")))
        }
        Some((b',', example)) => (Comma::Thousands, Some(note("comma", &example, "thousands", "1000"))),
        // Three decimals are common, and a semicolon is what files with decimal commas, and thousands behind points,
        // are delimited with.
        Some((_, example)) if layout.delimiter == b';' && seen.all_open() => {
            (Comma::Thousands, Some(note("point", &example, "decimals", "0.001")))
        }
        _ => (Comma::Thousands, None),
    }
}

#[derive(Default)]
struct Seen {
    by_price: Option<Comma>,
    by_volume: Option<Comma>,
    /// Separator and text of the first price that reads both ways.
    open: Option<(u8, String)>,
    n_open: usize,
    n_price: usize,
}

impl Seen {
    fn price(&mut self, text: &[u8]) {
        self.n_price += usize::from(text.iter().any(u8::is_ascii_digit));
        match evidence(text) {
            Evidence::Shows(comma) => self.by_price = self.by_price.or(Some(comma)),
            Evidence::Open(separator) => {
                self.n_open += 1;
                if self.open.as_ref().is_none_or(|&(known, _)| known == b'.' && separator == b',') {
                    self.open = Some((separator, String::from_utf8_lossy(text).into_owned()));
                }
            }
            Evidence::None => {}
        }
    }

    fn volume(&mut self, text: &[u8]) {
        if let (None, Evidence::Shows(comma)) = (self.by_volume, evidence(text)) {
            self.by_volume = Some(comma);
        }
    }

    /// Whether there are bars' worth of prices and every one reads both ways.
    fn all_open(&self) -> bool {
        self.n_open == self.n_price && self.n_price > PRICES.len()
    }
}

fn note(separator: &str, example: &str, taken_as: &str, divisor: &str) -> String {
    format!(
        "every {separator} in prices stands before three digits ({example}) and is read as that of {taken_as} (if it \
         is not, pass --price-divisor {divisor})"
    )
}
