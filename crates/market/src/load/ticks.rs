//! Tables of single trades and quotes, which columns of their own give away.

use std::path::Path;

use super::columns::{Roles, normalise};
use super::{LoadError, Place};

/// Names of a price that a trade has as a bar's close has.
const TRADED: [&str; 6] = ["price", "last", "last price", "trade price", "traded price", "p"];
/// Columns of single trades, and of quotes.
const TRADE: [&str; 32] = [
    "size",
    "trade size",
    "last size",
    "qty",
    "quantity",
    "trade qty",
    "base qty",
    "quote qty",
    "trade id",
    "tradeid",
    "tid",
    "trdmatchid",
    "side",
    "taker side",
    "aggressor",
    "aggressor side",
    "maker",
    "is buyer maker",
    "isbuyermaker",
    "buyer maker",
    "is best match",
    "isbestmatch",
    "tick direction",
    "tickdirection",
    "tick type",
    "cond",
    "condition",
    "conditions",
    "sale condition",
    "trade condition",
    "sip timestamp",
    "participant timestamp",
];
const BID: [&str; 3] = ["bid", "bid price", "bidprice"];
const ASK: [&str; 4] = ["ask", "ask price", "askprice", "offer"];

/// Refuses a table whose only price is one of single trades or quotes.
///
/// # Errors
/// [`LoadError::Ticks`] with the column that says so.
pub(crate) fn check(path: &Path, at: Option<Place>, names: &[String], roles: &Roles) -> Result<(), LoadError> {
    let Some(beside) = marked(names, roles) else { return Ok(()) };
    let [time, price] = [roles.time, roles.price[3]].map(|column| names[column.unwrap_or(0)].clone());
    Err(LoadError::Ticks { path: path.to_owned(), at, time, price, beside: names[beside].clone() })
}

/// A column that says that the only price is one of single trades or quotes.
fn marked(names: &[String], roles: &Roles) -> Option<usize> {
    let plain: Vec<String> = names.iter().map(|name| normalise(name)).collect();
    let close = roles.price[3].filter(|_| roles.close_only())?;
    if !TRADED.contains(&plain[close].as_str()) {
        return None;
    }
    let find = |known: &[&str]| plain.iter().position(|name| known.contains(&name.as_str()));
    find(&TRADE).or_else(|| find(&BID).filter(|_| find(&ASK).is_some()))
}

#[cfg(test)]
mod tests {
    use super::super::columns::by_name;
    use super::*;

    #[test]
    fn names_of_trades_and_quotes() {
        let found = |header: &str| {
            let names: Vec<String> = header.split(',').map(str::to_owned).collect();
            marked(&names, &by_name(&names, |_| None)).map(|i| names[i].clone())
        };
        assert_eq!(found("Time,Price,Size").as_deref(), Some("Size"));
        assert_eq!(found("ts_event,side,price,size").as_deref(), Some("side"));
        assert_eq!(found("id,price,qty,quote_qty,time,is_buyer_maker").as_deref(), Some("qty"));
        assert_eq!(found("<DATE>,<TIME>,<BID>,<ASK>,<LAST>,<VOLUME>,<FLAGS>").as_deref(), Some("<BID>"));
        for closes in ["Date,Price", "Date,Close,Quantity", "Date,Price,Volume", "Date,Open,High,Low,Last,Quantity"] {
            assert_eq!(found(closes), None, "{closes}");
        }
    }
}
