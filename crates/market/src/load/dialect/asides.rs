//! What is said of columns that could have been read, and are not.

use super::super::columns::{self, Roles};
use super::Row;

/// What a column of time zones says, which is not read.
pub(super) fn zone(names: &[String], data: Option<&Row>) -> Option<String> {
    let is_zone = |name: &String| ["timezone", "time zone", "tz"].contains(&columns::normalise(name).as_str());
    let (column, zone) = names.iter().position(is_zone).and_then(|i| Some((&names[i], data?.fields.get(i)?)))?;
    let zone = String::from_utf8_lossy(zone);
    (!zone.is_empty())
        .then(|| format!("{column} says {zone} and is not read: the stamps are UTC, or of the zone of --tz"))
}

/// Which of two prices is taken, where a file has those of buyers and of sellers.
pub(super) fn side(names: &[String], roles: &Roles) -> Option<String> {
    let close = &names[roles.price[3]?];
    let side = |name: &str| ["bid", "ask"].into_iter().find(|side| name.to_lowercase().contains(side));
    let (taken, other) = match side(close)? {
        "bid" => ("bid", "ask"),
        taken => (taken, "bid"),
    };
    let both = names.iter().any(|name| side(name) == Some(other));
    both.then(|| format!("prices are those of the {taken} ({close}); those of the {other} are left aside"))
}
