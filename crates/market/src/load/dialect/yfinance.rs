//! The three header lines of yfinance's `download(…).to_csv(…)`: prices, tickers, and the name of the stamps; and the names
//! of columns its `to_parquet(…)` writes.
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
        set_aside(name, &of, &ticker);
    }
    let roles = columns::by_name(&names, |column| below.first()?.names().get(column).cloned());
    let layout = with_header(path, &rows[HEADER_LINES - 1], roles, below, names);
    Some(layout.map(|layout| Layout { symbol: Some(ticker), ..layout }))
}

/// Names the column of another ticker as such.
fn set_aside(name: &mut String, of: &str, wanted: &str) {
    if of != wanted {
        *name = format!("{name} of {of}");
    }
}

/// Of Parquet, whose columns pandas names by pairs, `('Close', 'AAPL')`, the names that the wanted ticker's have in text;
/// and the ticker. `None` for other names.
pub(crate) fn paired(
    path: &Path,
    names: &[String],
    options: &LoadOptions,
) -> Option<Result<(Vec<String>, String), LoadError>> {
    let pairs: Vec<Option<(&str, &str)>> = names.iter().map(|name| pair(name)).collect();
    let known: Vec<(&str, &str)> = pairs.iter().copied().flatten().filter(|(_, second)| !second.is_empty()).collect();
    let closes = |of: fn(&(&str, &str)) -> bool| known.iter().any(of);
    let price_first = closes(|(first, _)| first.eq_ignore_ascii_case("close"));
    if known.is_empty() || !(price_first || closes(|(_, second)| second.eq_ignore_ascii_case("close"))) {
        return None;
    }
    let tickers: Vec<String> = known.iter().map(|&pair| by_price(pair, price_first).1.to_owned()).collect();
    let ticker = match ticker(path, &tickers, options) {
        Ok(ticker) => ticker,
        Err(error) => return Some(Err(error)),
    };
    let named = |(name, pair): (&String, &Option<(&str, &str)>)| match pair {
        None => name.clone(),
        Some((only, "")) => (*only).to_owned(),
        Some(pair) => {
            let (price, of) = by_price(*pair, price_first);
            let mut name = price.to_owned();
            set_aside(&mut name, of, &ticker);
            name
        }
    };
    let names = names.iter().zip(&pairs).map(named).collect();
    Some(Ok((names, ticker)))
}

/// The price before the ticker.
fn by_price<'a>((first, second): (&'a str, &'a str), price_first: bool) -> (&'a str, &'a str) {
    if price_first { (first, second) } else { (second, first) }
}

/// The two texts of `('Close', 'AAPL')`.
fn pair(name: &str) -> Option<(&str, &str)> {
    let (first, second) = name.strip_prefix('(')?.strip_suffix(')')?.split_once(", ")?;
    let bare = |text: &'_ str| text.len() >= 2 && text.starts_with('\'') && text.ends_with('\'');
    (bare(first) && bare(second)).then(|| (&first[1..first.len() - 1], &second[1..second.len() - 1]))
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
