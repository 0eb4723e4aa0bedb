//! The three header lines of yfinance's `download(…).to_csv(…)`: prices, tickers, and the name of the stamps.
//!
//! ```text
//! Price,Close,High,Low,Open,Volume
//! Ticker,AAPL,AAPL,AAPL,AAPL,AAPL
//! Date,,,,,
//! ```

use std::path::Path;

use super::super::{columns, symbol_named};
use super::{Layout, LoadError, LoadOptions, Row, with_header};

/// Lines of the header.
const HEADER_LINES: usize = 3;

/// The layout, where the text begins so. Of several tickers side by side the wanted one's columns are named.
pub(super) fn layout(path: &Path, rows: &[Row], options: &LoadOptions) -> Option<Result<Layout, LoadError>> {
    let [first, second, third, below @ ..] = rows else { return None };
    let (prices, tickers) = match (first_word(first).as_str(), first_word(second).as_str()) {
        ("price", "ticker") => (first, second),
        ("ticker", "price") => (second, first),
        _ => return None,
    };
    let same_width = [second, third].iter().all(|row| row.fields.len() == first.fields.len());
    if !same_width || first_word(third).is_empty() || third.fields[1..].iter().any(|field| !field.is_empty()) {
        return None;
    }
    let ticker = match ticker(path, &tickers.names()[1..], options) {
        Ok(ticker) => ticker,
        Err(error) => return Some(Err(error)),
    };
    let mut names = prices.names();
    names[0] = third.names().swap_remove(0);
    for (name, of) in names.iter_mut().zip(tickers.names()).skip(1) {
        if of != ticker {
            *name = format!("{name} of {of}");
        }
    }
    let roles = columns::by_name(&names, |column| below.first()?.names().get(column).cloned());
    Some(with_header(path, &rows[HEADER_LINES - 1], roles, below, names))
}

fn first_word(row: &Row) -> String {
    row.names().first().map(|name| name.to_ascii_lowercase()).unwrap_or_default()
}

/// The one wanted, or the only one.
fn ticker(path: &Path, names: &[String], options: &LoadOptions) -> Result<String, LoadError> {
    let mut found: Vec<String> = Vec::new();
    names.iter().for_each(|name| {
        if !found.contains(name) {
            found.push(name.clone());
        }
    });
    let path = path.to_owned();
    match &options.symbol {
        None if found.len() == 1 => Ok(found.swap_remove(0)),
        None => Err(LoadError::Symbols { path, found }),
        Some(wanted) => match symbol_named(&found, wanted) {
            Some(at) => Ok(found.swap_remove(at)),
            None => Err(LoadError::UnknownSymbol { path, wanted: wanted.clone(), found }),
        },
    }
}
