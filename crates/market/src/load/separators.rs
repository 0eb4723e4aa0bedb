//! Whether commas and points in a file's numbers are decimal or part thousands.

use std::collections::HashMap;

use super::columns::PRICES;
use super::csv::{cell, for_each_record};
use super::dialect::Layout;
use super::number::{self, Comma, Evidence, Number, evidence};

/// Decides from the whole file: the first price that reads one way only rules, else how prices move, else the first such
/// volume. With it a note, where no price shows it.
pub(crate) fn decide(text: &[u8], layout: &Layout) -> (Comma, Option<String>) {
    let mut seen = Seen::default();
    for_each_record(text, layout, |_, record| {
        layout.roles.price.iter().flatten().for_each(|&column| seen.price(cell(record, column)));
        layout.roles.volumes.iter().for_each(|&column| seen.volume(cell(record, column)));
        if seen.by_price.is_none() {
            let symbol = layout.roles.symbol.map_or(&b""[..], |column| cell(record, column));
            layout.roles.price.iter().flatten().for_each(|&column| seen.moved(symbol, cell(record, column)));
        }
        seen.by_price.is_none()
    });
    if let Some(comma) = seen.by_price {
        return (comma, None);
    }
    if let (Some((separator, example)), Some(comma)) = (&seen.open, seen.smoother()) {
        return (comma, Some(shown(*separator, example, comma, "prices would jump by a thousand otherwise")));
    }
    if let Some(comma) = seen.by_volume {
        let note = seen.open.map(|(separator, example)| shown(separator, &example, comma, "as volumes show"));
        return (comma, note);
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
    /// Of each symbol the last price, and of all the greatest move from price to price, read with a comma for thousands
    /// and for decimals.
    last: HashMap<Vec<u8>, [f64; 2]>,
    moves: [f64; 2],
}

/// Moves of a logarithm of prices that the right reading does not make, and that the wrong one does.
const SMOOTH: f64 = 3.0;
const TORN: f64 = 5.0;

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

    fn moved(&mut self, symbol: &[u8], text: &[u8]) {
        let read = |comma| match number::parse(text, comma) {
            Number::Value(value) if value > 0.0 => Some(value.ln()),
            _ => None,
        };
        let (Some(a), Some(b)) = (read(Comma::Thousands), read(Comma::Decimal)) else { return };
        let now = [a, b];
        match self.last.get_mut(symbol) {
            Some(last) => {
                (0..2).for_each(|i| self.moves[i] = self.moves[i].max((now[i] - last[i]).abs()));
                *last = now;
            }
            None => drop(self.last.insert(symbol.to_owned(), now)),
        }
    }

    /// The reading under which prices move as prices do, where the other makes them jump by a thousand.
    fn smoother(&self) -> Option<Comma> {
        match self.moves {
            [thousands, decimal] if thousands < SMOOTH && decimal > TORN => Some(Comma::Thousands),
            [thousands, decimal] if decimal < SMOOTH && thousands > TORN => Some(Comma::Decimal),
            _ => None,
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

fn shown(separator: u8, example: &str, comma: Comma, why: &str) -> String {
    let (name, is_comma) = if separator == b',' { ("comma", true) } else { ("point", false) };
    let taken_as = if is_comma == (comma == Comma::Thousands) { "thousands" } else { "decimals" };
    format!("every {name} in prices stands before three digits ({example}) and is read as that of {taken_as}: {why}")
}

fn note(separator: &str, example: &str, taken_as: &str, divisor: &str) -> String {
    format!(
        "every {separator} in prices stands before three digits ({example}) and is read as that of {taken_as} (if it \
         is not, pass --price-divisor {divisor})"
    )
}
