//! A column of times of day beside one of dates, whatever it is called.

use jiff::civil::Time;

use super::super::columns::{self, Roles};
use super::super::time::{self, DateOrder, Moment};
use super::Row;
use crate::time::day;

/// First words of names that say time of day.
const NAMES: [&str; 9] = ["time", "hour", "hr", "clock", "tod", "timeofday", "uhrzeit", "hora", "godzina"];
/// Words of names that say the time of something else than the bar.
const OTHERS: [&str; 9] = ["high", "low", "close", "last", "end", "trade", "update", "updated", "settle"];

/// Sets the clock beside a column of dates without time: the column named so whose cells are times of day (or hours),
/// or, where dates repeat, the only one that holds nothing else.
pub(super) fn find(roles: &mut Roles, names: &[String], below: &[Row], notes: &mut Vec<String>) {
    let Some(date) = roles.time.filter(|_| roles.clock.is_none() && !below.is_empty()) else { return };
    let cells = |column: usize| below.iter().filter_map(move |row| row.fields.get(column)).map(Vec::as_slice);
    if !cells(date).all(is_day) {
        return;
    }
    let unused: Vec<usize> = (0..names.len()).filter(|&i| !roles.uses(i)).collect();
    let first_word = |i: usize| columns::normalise(&names[i]).split(' ').next().unwrap_or_default().to_owned();
    let other = |i: usize| columns::normalise(&names[i]).split(' ').any(|word| OTHERS.contains(&word));
    let mut named = unused.iter().copied().filter(|&i| NAMES.contains(&first_word(i).as_str()) && !other(i));
    let is_hours =
        |i: usize| ["hour", "hr", "hora", "godzina"].contains(&first_word(i).as_str()) && cells(i).all(is_hour);
    let digits = |cell: &[u8]| (3..=6).contains(&cell.len()) && cell.iter().all(u8::is_ascii_digit);
    let found = named.find(|&i| is_hours(i) || cells(i).all(|c| time::is_clock(c) || digits(c)));
    let repeats = || below.windows(2).any(|w| w[0].fields.get(date) == w[1].fields.get(date));
    let mut clocks = unused.iter().copied().filter(|&i| !other(i) && cells(i).all(time::is_clock));
    let Some(clock) = found.or_else(|| clocks.next().filter(|_| clocks.next().is_none() && repeats())) else { return };
    roles.clock = Some(clock);
    roles.hours = is_hours(clock);
    notes.push(format!("{} is the time of day beside {}", names[clock], names[date]));
}

/// Whether no date follows itself in a column of stamps or dates: one row a day.
pub(super) fn one_a_day(below: &[Row], column: usize) -> bool {
    let date = |row: &Row| match time::parse(row.fields.get(column)?, DateOrder::Dmy)
        .or_else(|| time::parse(row.fields.get(column)?, DateOrder::Mdy))?
    {
        Moment::Civil(at) | Moment::Zoned(at, _) => Some(at.date().to_string()),
        Moment::Instant(ns) => Some(day(ns)),
    };
    below.len() > 1 && below.windows(2).all(|pair| date(&pair[0]) != date(&pair[1]))
}

/// A date and nothing more.
fn is_day(cell: &[u8]) -> bool {
    let midnight = |order| matches!(time::parse(cell, order), Some(Moment::Civil(t)) if t.time() == Time::midnight());
    !cell.contains(&b':') && cell.len() < 19 && (midnight(DateOrder::Dmy) || midnight(DateOrder::Mdy))
}

fn is_hour(cell: &[u8]) -> bool {
    std::str::from_utf8(cell).ok().and_then(|text| text.parse::<u8>().ok()).is_some_and(|hour| hour < 24)
}
