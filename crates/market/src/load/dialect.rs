//! Finds out how a text is laid out: delimiter, preamble, header or none, which column is what.

mod asides;
mod named;
mod time_of_day;
pub(crate) mod yfinance;

use std::borrow::Cow;
use std::path::Path;

use super::columns::{self, Choice, PRICES, Role, Roles};
use super::number::{self, Comma, Number};
use super::time::{self, DateOrder};
use super::{LoadError, LoadOptions, Place, ticks};
pub(crate) use named::named_columns;

/// Lines looked at to find the layout.
const SAMPLE_LINES: usize = 60;
/// Lines before the header or the first bar at most.
const PREAMBLE_LINES: usize = 20;
/// Runs of blanks as delimiter; the text is rewritten to single blanks first.
pub(crate) const BLANKS: u8 = b' ';

/// How a text is laid out.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) delimiter: u8,
    /// Line and names of the header.
    pub(crate) header: Option<(u64, Vec<String>)>,
    /// Where the bars start in the text (after rewriting, for [`BLANKS`]).
    pub(crate) first_byte: usize,
    /// Fields per row.
    pub(crate) width: usize,
    pub(crate) roles: Roles,
    /// The instrument, where the header names it.
    pub(crate) symbol: Option<String>,
    pub(crate) comma: Comma,
    /// Whether the columns were guessed from their positions.
    pub(crate) guessed: bool,
    pub(crate) notes: Vec<String>,
}

/// One line of the sample.
struct Row {
    line: u64,
    byte: usize,
    fields: Vec<Vec<u8>>,
}

impl Row {
    fn names(&self) -> Vec<String> {
        self.fields.iter().map(|f| String::from_utf8_lossy(f).trim().to_owned()).collect()
    }

    fn is_number(&self, column: usize) -> bool {
        matches!(self.fields.get(column).map(|f| number_of(f)), Some(Number::Value(_)))
    }

    fn is_time(&self, column: usize) -> bool {
        self.fields.get(column).is_some_and(|f| is_stamp(f))
    }

    /// Index of the first field that is a time stamp, if a number follows: the mark of a bar.
    fn stamp_column(&self) -> Option<usize> {
        let at = (0..self.fields.len()).find(|&i| self.is_time(i))?;
        (at..self.fields.len()).any(|i| i != at && self.is_number(i)).then_some(at)
    }
}

fn number_of(field: &[u8]) -> Number {
    match number::parse(field, Comma::Thousands) {
        Number::Bad => number::parse(field, Comma::Decimal),
        value => value,
    }
}

fn is_stamp(field: &[u8]) -> bool {
    time::parse(field, DateOrder::Dmy).is_some() || time::parse(field, DateOrder::Mdy).is_some()
}

/// Tries each delimiter and keeps the layout that explains most columns.
pub(crate) fn detect(path: &Path, text: &[u8], options: &LoadOptions) -> Result<(Layout, Vec<u8>), LoadError> {
    let choice = match &options.columns {
        None => None,
        Some(given) => Some(columns::parse_choice(given).map_err(|reason| columns_error(path, given, reason))?),
    };
    let mut best: Option<(usize, Result<Layout, LoadError>)> = None;
    for delimiter in [b',', b';', b'\t', b'|', BLANKS] {
        let rows = sample(&delimited(text, delimiter, Some(1 << 16)), delimiter);
        let layout = layout(path, &rows, delimiter, choice.as_ref(), options);
        let columns = rows.iter().map(|r| r.fields.len()).max().unwrap_or(0);
        // Blanks also part a date from its time of day, so that they find more columns than there are.
        let width = |l: &Layout| if delimiter == BLANKS { 0 } else { l.width };
        let score = layout.as_ref().map_or(columns.min(99), |l| 100 + width(l));
        if columns > 1 && best.as_ref().is_none_or(|(known, _)| score > *known) {
            best = Some((score, layout));
        }
    }
    let lines = text.split_inclusive(|&b| b == b'\n').take(PREAMBLE_LINES).count();
    let layout = best.map_or_else(|| Err(LoadError::NoTable { path: path.to_owned(), lines }), |(_, layout)| layout)?;
    let rewritten = if layout.delimiter == BLANKS { delimited(text, BLANKS, None).into_owned() } else { Vec::new() };
    Ok((layout, rewritten))
}

/// The text, at most about `limit` bytes of it in whole lines, with runs of blanks made single for [`BLANKS`].
fn delimited(text: &[u8], delimiter: u8, limit: Option<usize>) -> Cow<'_, [u8]> {
    let end = limit.filter(|&l| l < text.len()).map(|l| text[..l].iter().rposition(|&b| b == b'\n').unwrap_or(l));
    let part = &text[..end.unwrap_or(text.len())];
    if delimiter != BLANKS {
        return Cow::Borrowed(part);
    }
    let mut out = Vec::with_capacity(part.len());
    for line in part.split_inclusive(|&b| b == b'\n') {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        out.extend_from_slice(words.next().unwrap_or_default());
        for word in words {
            out.push(b' ');
            out.extend_from_slice(word);
        }
        if line.ends_with(b"\n") {
            out.push(b'\n');
        }
    }
    Cow::Owned(out)
}

/// A reader over part of a text. Rows may differ in length: the caller decides what that means.
pub(crate) fn reader(text: &[u8], delimiter: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text)
}

/// Line ends before a record that its position does not count yet: the tail of a CRLF and blank lines.
pub(crate) fn skipped(text: &[u8], byte: usize) -> (usize, u64) {
    let ends = text[byte.min(text.len())..].iter().take_while(|b| matches!(b, b'\n' | b'\r'));
    ends.fold((0, 0), |(bytes, lines), &b| (bytes + 1, lines + u64::from(b == b'\n')))
}

fn sample(text: &[u8], delimiter: u8) -> Vec<Row> {
    let mut reader = reader(text, delimiter);
    let mut record = csv::ByteRecord::new();
    let mut rows = Vec::new();
    while rows.len() < SAMPLE_LINES && matches!(reader.read_byte_record(&mut record), Ok(true)) {
        let Some(position) = record.position() else { break };
        // A field of several lines is refused later on; what it swallowed says nothing of the layout.
        if record.as_slice().contains(&b'\n') {
            break;
        }
        let (bytes, lines) = skipped(text, position.byte() as usize);
        let fields: Vec<Vec<u8>> = record.iter().map(|f| f.trim_ascii().to_vec()).collect();
        if fields.len() == 1 && fields[0].is_empty() {
            continue;
        }
        rows.push(Row { line: position.line() + lines, byte: position.byte() as usize + bytes, fields });
    }
    rows
}

fn columns_error(path: &Path, given: &str, reason: impl Into<String>) -> LoadError {
    LoadError::Columns { path: path.to_owned(), given: given.to_owned(), reason: reason.into() }
}

fn layout(
    path: &Path,
    rows: &[Row],
    delimiter: u8,
    choice: Option<&Choice>,
    options: &LoadOptions,
) -> Result<Layout, LoadError> {
    let given = options.columns.as_deref().unwrap_or_default();
    let mut layout = match choice {
        Some(Choice::Positions(roles)) => by_position(path, rows, roles, given)?,
        Some(Choice::Names(pairs)) => by_header(path, rows, pairs, given)?,
        None => yfinance::layout(path, rows, options).unwrap_or_else(|| by_header(path, rows, &[], given))?,
    };
    layout.delimiter = delimiter;
    Ok(layout)
}

fn new_layout(first: Option<&Row>, roles: Roles) -> Layout {
    Layout {
        delimiter: b',',
        header: None,
        first_byte: first.map_or(usize::MAX, |row| row.byte),
        width: first.map_or(0, |row| row.fields.len()),
        roles,
        symbol: None,
        comma: Comma::Thousands,
        guessed: false,
        notes: Vec::new(),
    }
}

/// Columns named one by one in the option.
fn by_position(path: &Path, rows: &[Row], named: &[Option<Role>], given: &str) -> Result<Layout, LoadError> {
    let mut roles = Roles::default();
    named.iter().enumerate().filter_map(|(i, r)| r.map(|r| (i, r))).for_each(|(i, role)| roles.assign(role, i));
    let missing = roles.missing();
    if !missing.is_empty() {
        return Err(columns_error(path, given, format!("{} missing", missing.join(", "))));
    }
    let stamp = roles.time.unwrap_or(0);
    let Some(at) = rows.iter().take(PREAMBLE_LINES).position(|row| row.is_time(stamp)) else {
        let reason = format!("column {} holds no time stamp in the first lines", stamp + 1);
        return Err(columns_error(path, given, reason));
    };
    if rows[at].fields.len() <= roles.last() {
        let reason = format!("line {} has only {} fields", rows[at].line, rows[at].fields.len());
        return Err(columns_error(path, given, reason));
    }
    let mut layout = new_layout(Some(&rows[at]), roles);
    let above = at.checked_sub(1).map(|i| &rows[i]);
    layout.header = above.filter(|row| row.fields.len() == layout.width).map(|row| (row.line, row.names()));
    Ok(layout)
}

/// Columns found by header, with `pairs` overriding; without a header and without overrides, by the usual positions.
fn by_header(path: &Path, rows: &[Row], pairs: &[(Role, String)], given: &str) -> Result<Layout, LoadError> {
    for (i, row) in rows.iter().enumerate().take(PREAMBLE_LINES) {
        let names = row.names();
        let data = rows.get(i + 1);
        let mut roles = columns::by_name(&names, |c| data?.names().get(c).cloned());
        let named = |name: &str| names.iter().position(|n| n.eq_ignore_ascii_case(name));
        let all_named = pairs.iter().all(|(_, name)| named(name).is_some());
        if row.stamp_column().is_none() && (roles.looks_like_header() || (!pairs.is_empty() && all_named)) {
            if let Some((_, name)) = pairs.iter().find(|(_, name)| named(name).is_none()) {
                return Err(columns_error(path, given, format!("the header (line {}) has no {name:?}", row.line)));
            }
            pairs.iter().for_each(|(role, name)| roles.assign(*role, named(name).unwrap_or(0)));
            let chosen = pairs.iter().any(|(role, _)| *role == Role::Close);
            let below = &rows[i + 1..];
            let layout = with_header(path, row, roles, below, names)?;
            let daily = time_of_day::one_a_day(below, layout.roles.time.unwrap_or(0));
            if let Some((line, names)) = layout.header.as_ref().filter(|_| !chosen && !daily) {
                ticks::check(path, Some(Place::Line(*line)), names, &layout.roles)?;
            }
            return Ok(layout);
        }
        if let Some(stamp) = row.stamp_column() {
            if !pairs.is_empty() {
                return Err(columns_error(
                    path,
                    given,
                    "the file has no header to find names in; list the columns in file order",
                ));
            }
            let above = i.checked_sub(1).map(|i| &rows[i]).filter(|above| above.fields.len() == row.fields.len());
            return match above {
                Some(above) => {
                    let roles = columns::by_name(&above.names(), |column| names.get(column).cloned());
                    Err(header_error(path, above, &roles))
                }
                None => without_header(path, row, stamp),
            };
        }
    }
    Err(LoadError::NoTable { path: path.to_owned(), lines: rows.len().min(PREAMBLE_LINES) })
}

fn header_error(path: &Path, row: &Row, roles: &Roles) -> LoadError {
    LoadError::Header { path: path.to_owned(), at: Place::Line(row.line), missing: roles.missing(), names: row.names() }
}

fn with_header(
    path: &Path,
    row: &Row,
    mut roles: Roles,
    below: &[Row],
    mut names: Vec<String>,
) -> Result<Layout, LoadError> {
    if !roles.missing().is_empty() {
        return Err(header_error(path, row, &roles));
    }
    let (data, mut notes) = (below.first(), Vec::new());
    if let Some(data) = data.filter(|data| data.fields.len() != names.len()) {
        let (date, extra) = (roles.time.unwrap_or(0), data.fields.len().saturating_sub(names.len()));
        let clock = data.fields.get(date + 1).is_some_and(|f| time::is_clock(f));
        let trailing_empty = extra > 0 && data.fields[names.len()..].iter().all(Vec::is_empty);
        if extra == 1 && clock && roles.clock.is_none() {
            roles.shift_from(date + 1);
            roles.clock = Some(date + 1);
            names.insert(date + 1, "Time".to_owned());
            notes.push(format!(
                "line {}: the header has {} names for {} fields; the field after {} is a time of day and read as such",
                row.line,
                names.len() - 1,
                data.fields.len(),
                names[date]
            ));
        } else if !trailing_empty {
            let (expected, got) = (names.len(), data.fields.len());
            return Err(LoadError::Fields { path: path.to_owned(), at: Place::Line(data.line), expected, got });
        }
    }
    whole_stamp(&mut roles, data);
    notes.extend(asides::zone(&names, data));
    notes.extend(asides::side(&names, &roles));
    notes.extend(columns::rivals(&names, &roles));
    time_of_day::find(&mut roles, &names, below, &mut notes);
    if roles.close_only() {
        let close = roles.price[3].unwrap_or(0);
        notes.push(format!("{} is the only price: open, high and low are set to it", names[close]));
    }
    let mut layout = new_layout(data, roles);
    layout.width = names.len();
    layout.header = Some((row.line, names));
    layout.notes = notes;
    Ok(layout)
}

/// A "time" that is a full stamp beside a "date": the stamp says all.
fn whole_stamp(roles: &mut Roles, data: Option<&Row>) {
    if let Some(clock) = roles.clock
        && data.is_some_and(|data| data.fields.get(clock).is_some_and(|f| !time::is_clock(f) && f.len() > 6))
    {
        roles.time = Some(clock);
        roles.clock = None;
    }
}

/// `[symbol,] stamp or date,time, open, high, low, close [, volume, …]`: Binance klines, HistData, MetaTrader 4, LEAN.
fn without_header(path: &Path, row: &Row, stamp: usize) -> Result<Layout, LoadError> {
    let mut roles = Roles { time: Some(stamp), ..Roles::default() };
    if stamp == 1 && !row.is_number(0) {
        roles.symbol = Some(0);
    }
    let mut first_price = stamp + 1;
    if row.fields.get(first_price).is_some_and(|f| time::is_clock(f)) {
        roles.clock = Some(first_price);
        first_price += 1;
    }
    let numbers = (first_price..row.fields.len()).take_while(|&i| row.is_number(i)).count();
    if numbers < PRICES.len() || stamp > 1 {
        let fields = row.fields.len();
        return Err(LoadError::NotBars { path: path.to_owned(), at: Place::Line(row.line), fields, numbers });
    }
    roles.price = [0, 1, 2, 3].map(|i| Some(first_price + i));
    if numbers > PRICES.len() {
        roles.volumes = vec![first_price + PRICES.len()];
    }
    let mut layout = new_layout(Some(row), roles);
    layout.guessed = true;
    Ok(layout)
}

impl Layout {
    /// Of a format that has columns by itself.
    pub(crate) fn of_columns(names: Vec<String>, roles: Roles, notes: Vec<String>) -> Self {
        let width = names.len();
        Self { header: Some((0, names)), width, notes, ..new_layout(None, roles) }
    }

    /// The names of the columns.
    pub(crate) fn listed(&self) -> String {
        const SHOWN: usize = 12;
        match &self.header {
            Some((_, names)) if names.len() > SHOWN => {
                format!("{}, and {} more", names[..SHOWN].join(","), names.len() - SHOWN)
            }
            Some((_, names)) => names.join(","),
            None => String::new(),
        }
    }

    /// A column's name for messages: from the header, else its number and meaning.
    pub(crate) fn name(&self, column: usize) -> String {
        let named = self.header.as_ref().and_then(|(_, names)| names.get(column)).filter(|name| !name.is_empty());
        match named {
            Some(name) => name.clone(),
            None => format!("{} ({})", column + 1, self.meaning(column)),
        }
    }

    /// The name of the column a price (`open` …) is read from.
    pub(crate) fn price_name(&self, price: &str) -> String {
        let at = PRICES.iter().position(|name| *name == price).and_then(|i| self.roles.price[i]);
        at.or(self.roles.price[3]).map_or_else(|| price.to_owned(), |column| self.name(column))
    }

    fn meaning(&self, column: usize) -> &'static str {
        let roles = &self.roles;
        let price = PRICES.iter().zip(roles.price).find(|(_, at)| *at == Some(column)).map(|(name, _)| *name);
        price.unwrap_or(match column {
            c if roles.time == Some(c) => "time stamp",
            c if roles.clock == Some(c) => "time of day",
            c if roles.volumes.contains(&c) => "volume",
            c if roles.symbol == Some(c) => "symbol",
            _ => "unused",
        })
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let delimiter = match self.delimiter {
            b',' => "comma",
            b';' => "semicolon",
            b'\t' => "tab",
            b'|' => "bar",
            _ => "blank",
        };
        let decimal = if self.comma == Comma::Decimal { ", decimal comma" } else { "" };
        let header = match &self.header {
            Some((line, _)) => format!("header on line {line} ({})", self.listed()),
            None => "no header".to_owned(),
        };
        format!("{delimiter} separated{decimal}, {header}")
    }
}
