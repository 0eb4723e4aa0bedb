//! What QuantConnect's LEAN leaves unsaid in its zip archives: the date of intraday bars, and the scale of prices.
//!
//! Daily and hourly members hold `YYYYMMDD HH:MM,open,high,low,close,volume`; minute and second members
//! (`20131007_spy_minute_trade.csv`) hold milliseconds since midnight for the first. Prices of equities and options are
//! whole numbers of a ten-thousandth.

use std::path::Path;

use jiff::civil::Date;

use super::LoadError;
use super::dialect::Layout;
use super::table::Table;

/// LEAN's unit of equity prices.
const DIVISOR: f64 = 10_000.0;
const DAY_MS: u32 = 86_400_000;

/// What the name of an intraday member says.
#[derive(Debug, PartialEq)]
pub(crate) struct Member {
    date: Date,
    /// `minute`, `second`, `tick`
    resolution: String,
    /// `trade`, `quote`, `openinterest`
    kind: String,
}

impl Member {
    /// Reads `20131007_spy_minute_trade.csv`, with or without what options and futures append.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let base = name.rsplit('/').next()?.strip_suffix(".csv")?.to_lowercase();
        let words: Vec<&str> = base.split('_').collect();
        let digits = words.first().filter(|w| w.len() == 8 && w.bytes().all(|b| b.is_ascii_digit()))?;
        let date = Date::strptime("%Y%m%d", digits).ok()?;
        let at = words.iter().position(|w| matches!(*w, "minute" | "second" | "tick"))?;
        let kind = words.get(at + 1).filter(|w| matches!(**w, "trade" | "quote" | "openinterest"))?;
        Some(Self { date, resolution: words[at].to_owned(), kind: (*kind).to_owned() })
    }

    pub(crate) fn describe(&self) -> String {
        format!("{} bars of {}", self.resolution, self.date)
    }

    /// The text with a date before every line's milliseconds.
    ///
    /// # Errors
    /// [`LoadError::NotBarFile`] for ticks, quotes and open interest.
    pub(crate) fn dated(&self, path: &Path, text: &[u8]) -> Result<Vec<u8>, LoadError> {
        if self.resolution == "tick" || self.kind != "trade" {
            return Err(LoadError::NotBarFile {
                path: path.to_owned(),
                what: format!("LEAN's {} {}s", self.resolution, self.kind.trim_end_matches('s')),
                remedy: "give a trade archive of minutes or seconds: its bars have one price at a time",
            });
        }
        let day = self.date.strftime("%Y%m%d").to_string();
        let mut out = Vec::with_capacity(text.len() + text.len() / 2);
        for line in text.split_inclusive(|&b| b == b'\n') {
            let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
            let ms = std::str::from_utf8(&line[..digits]).ok().and_then(|t| t.parse::<u32>().ok());
            match ms.filter(|&ms| ms < DAY_MS && line.get(digits) == Some(&b',')) {
                Some(ms) => {
                    let (h, m, s) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
                    out.extend(format!("{day} {h:02}:{m:02}:{s:02}.{:03}", ms % 1000).bytes());
                    out.extend(&line[digits..]);
                }
                // Left as it is, for the reader to name with its line.
                None => out.extend(line),
            }
        }
        Ok(out)
    }
}

/// Divides the prices of a table in LEAN's layout, if all of them are whole numbers, and says so.
pub(crate) fn scale(table: &mut Table, text: &[u8]) {
    let whole = |price: &f64| price.fract() == 0.0 || price.is_nan();
    let c = &table.columns;
    let prices = [&c.open, &c.high, &c.low, &c.close];
    if is_layout(&table.layout, text) && prices.iter().all(|column| column.iter().all(whole)) {
        table.divide_prices(DIVISOR);
        table.notes.push(
            "whole numbers in LEAN's layout: prices are ten-thousandths (--price-divisor 1 takes them as they are)"
                .to_owned(),
        );
    }
}

/// `YYYYMMDD HH:MM…,open,high,low,close,volume` without a header.
fn is_layout(layout: &Layout, text: &[u8]) -> bool {
    let first = text.get(layout.first_byte..).unwrap_or_default();
    let stamp = first.split(|&b| b == b',').next().unwrap_or_default();
    let dated = stamp.len() >= 14 && stamp[..8].iter().all(u8::is_ascii_digit) && stamp[8] == b' ' && stamp[11] == b':';
    layout.guessed && layout.delimiter == b',' && layout.width == 6 && layout.roles.time == Some(0) && dated
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_of_members() {
        let member = Member::named("20131007_spy_minute_trade.csv").unwrap();
        assert_eq!(member.describe(), "minute bars of 2013-10-07");
        assert!(Member::named("spy.csv").is_none() && Member::named("20139907_spy_minute_trade.csv").is_none());
        let dated = member.dated(Path::new("x"), b"34200000,1,2\n90000000,1,2\nx\n").unwrap();
        assert_eq!(dated, b"20131007 09:30:00.000,1,2\n90000000,1,2\nx\n");
        let quote = Member::named("20131007_spy_minute_quote.csv").unwrap();
        let error = quote.dated(Path::new("a.zip/q.csv"), b"").unwrap_err();
        assert_eq!(error.to_string(), "a.zip/q.csv: holds LEAN's minute quotes, not bars");
    }
}
