//! Which columns of a file of signals are levels, and whose.

use std::collections::HashMap;

use gigabar_market::load::Frame;

use super::error::{SignalsError, Spot};
use super::name::{self, shortened};

/// Names of a column of levels, in any case.
const LEVEL: [&str; 3] = ["level", "signal", "position"];
/// What pandas calls the index of a Parquet file, and a column of CSV whose name it did not find.
const UNNAMED: [&str; 2] = ["__index_level_", "unnamed: "];
/// What pandas calls an index that has become a column.
const INDEX: &str = "index";
/// Names of symbols and of nothing else; other names of them may be a strategy's.
const SYMBOL: [&str; 5] = ["symbol", "ticker", "tic", "sym", "instrument"];
/// Columns that often come along with levels and are no levels, with blanks for what joins their words.
const OF_BARS: [&str; 9] =
    ["open", "high", "low", "close", "volume", "price", "adj close", "adjclose", "adjusted close"];

/// Which of the three it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One strategy, without a name.
    Single { level: usize },
    /// A column per strategy, which is its header.
    Wide { columns: Vec<usize> },
    /// Rows of a strategy's name and its level.
    Long { strategy: usize, level: usize },
}

/// What the columns are.
pub(super) struct Found {
    pub(super) layout: Layout,
    /// The column of symbols.
    pub(super) symbol: Option<usize>,
    /// Where columns are left aside.
    pub(super) notes: Vec<String>,
}

impl Found {
    /// Of the names of columns, and of what stands in those that are no levels.
    pub(super) fn of(frame: &Frame) -> Result<Self, SignalsError> {
        let names = frame.names();
        if frame.begins_with_data() {
            return Err(SignalsError::NoHeader { spot: Spot::of_name(frame, 0) });
        }
        let position = |wanted: &&str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
        let level = LEVEL.iter().find_map(position);
        let strategy = position(&"strategy");
        let symbol = symbol(frame, level.is_none())?;
        let layout = match (level, strategy) {
            (Some(level), Some(strategy)) => Layout::Long { strategy, level },
            (None, Some(_)) => return Err(SignalsError::no_column(frame, "levels beside `strategy`")),
            (Some(level), None) => Layout::Single { level },
            (None, None) => Layout::Wide { columns: strategies(frame, symbol)? },
        };
        let aside: Vec<usize> =
            (0..names.len()).filter(|&i| !frame.is_time(i) && !layout.uses(i) && symbol != Some(i)).collect();
        layout.check_alone(frame, &aside)?;
        // Such a column could have been a strategy's, were it not for its name.
        let by_name = |name: &str| matches!(layout, Layout::Wide { .. }) && !frame.has_bars() && is_named_of_bars(name);
        let shown = aside.iter().map(|&i| names[i].as_str());
        let shown = shown.filter(|name| !name.is_empty() && !name.starts_with(UNNAMED[0]));
        let (named, shown): (Vec<&str>, Vec<&str>) = shown.partition(|name| by_name(name));
        let path = frame.path().display();
        let mut notes = Vec::new();
        if !shown.is_empty() {
            notes.push(format!("{path}: columns left aside: {}", listed(&shown)));
        }
        if !named.is_empty() {
            let are = if named.len() == 1 { "is named as one" } else { "are named as those" };
            let aside = "of bars and left aside; a strategy needs another name";
            notes.push(format!("{path}: {} {are} {aside}", listed(&named)));
        }
        Ok(Self { layout, symbol, notes })
    }
}

impl Layout {
    fn uses(&self, column: usize) -> bool {
        match self {
            Self::Single { level } => column == *level,
            Self::Wide { columns } => columns.contains(&column),
            Self::Long { strategy, level } => [*strategy, *level].contains(&column),
        }
    }

    /// Numbers beside a column of levels could be levels too: to leave them aside would lose a strategy.
    fn check_alone(&self, frame: &Frame, aside: &[usize]) -> Result<(), SignalsError> {
        let names = frame.names();
        let (level, own) = match self {
            Self::Wide { .. } => return Ok(()),
            Self::Single { level } => (*level, vec![*level]),
            Self::Long { strategy, level } => (*level, vec![*strategy, *level]),
        };
        for used in own {
            let same = |i: &&usize| names[**i].eq_ignore_ascii_case(&names[used]);
            if let Some(&later) = aside.iter().find(same) {
                let columns = [used + 1, later + 1];
                return Err(SignalsError::SameName { spot: Spot::of_name(frame, later), columns });
            }
        }
        let doubtful: Vec<usize> = aside.iter().copied().filter(|&i| !is_known_aside(frame, i)).collect();
        if doubtful.is_empty() {
            return Ok(());
        }
        let numeric = frame.numeric(&doubtful)?;
        let more = doubtful.iter().zip(numeric).filter(|(_, numeric)| *numeric).map(|(&i, _)| shortened(&names[i]));
        let more: Vec<String> = more.collect();
        let spot = Spot::of_name(frame, level);
        match self {
            _ if more.is_empty() => Ok(()),
            Self::Long { .. } => Err(SignalsError::Beside { spot, more }),
            _ => Err(SignalsError::Ambiguous { spot, more }),
        }
    }
}

/// Whether a column that is no level says so by its name: part of a bar, an index.
fn is_known_aside(frame: &Frame, column: usize) -> bool {
    let name = frame.names()[column].to_lowercase();
    let of_bars = frame.is_of_bars(column) && frame.has_bars() || is_named_of_bars(&name);
    of_bars || name.is_empty() || name == INDEX || UNNAMED.iter().any(|unnamed| name.starts_with(unnamed))
}

/// Whether a name is one of a bar's parts and of hardly anything else.
fn is_named_of_bars(name: &str) -> bool {
    let name = name.trim_matches(['<', '>']).to_lowercase().replace(['_', '.'], " ");
    OF_BARS.contains(&name.split_whitespace().collect::<Vec<_>>().join(" ").as_str())
}

/// The column of symbols. A name that may be a strategy's as well is one of symbols where text stands below it; numbers
/// below it leave it open in a file of a column per strategy (`wide`).
fn symbol(frame: &Frame, wide: bool) -> Result<Option<usize>, SignalsError> {
    let Some(column) = frame.symbol() else { return Ok(None) };
    let name = frame.names()[column].trim_matches(['<', '>', '"', '\'', '#']);
    if SYMBOL.iter().any(|known| name.eq_ignore_ascii_case(known)) || !frame.numeric(&[column])?[0] {
        return Ok(Some(column));
    }
    if wide { Err(SignalsError::SymbolOrStrategy { spot: Spot::of_name(frame, column) }) } else { Ok(None) }
}

/// Every column that is neither time nor symbol nor part of a bar, each with a name of its own. Columns that are named
/// as parts of a bar are strategies where there are no others.
fn strategies(frame: &Frame, symbol: Option<usize>) -> Result<Vec<usize>, SignalsError> {
    let names = frame.names();
    let is_index =
        |name: &str| name.starts_with(UNNAMED[0]) || frame.time().is_some() && name.eq_ignore_ascii_case(INDEX);
    // Of two columns of symbols one counts.
    let is_symbol = |name: &str| SYMBOL.iter().any(|known| name.eq_ignore_ascii_case(known));
    let is_other = |i: usize| frame.is_time(i) || symbol == Some(i) || frame.has_bars() && frame.is_of_bars(i);
    let is_one = |i: &usize| !(is_other(*i) || is_symbol(&names[*i]) || is_index(&names[*i]));
    let mut columns: Vec<usize> = (0..names.len()).filter(is_one).collect();
    if !columns.iter().all(|&i| is_named_of_bars(&names[i])) {
        columns.retain(|&i| !is_named_of_bars(&names[i]));
    }
    if columns.is_empty() {
        return Err(SignalsError::no_column(frame, "levels"));
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for &column in &columns {
        let name = names[column].as_str();
        if name.is_empty() || name.to_lowercase().starts_with(UNNAMED[1]) {
            return Err(SignalsError::NoNameInHeader { spot: Spot::of_name(frame, column), column: column + 1 });
        }
        if let Some(reason) = name::refused(name) {
            return Err(SignalsError::Name { spot: Spot::of_name(frame, column), reason });
        }
        if let Some(first) = seen.insert(name, column) {
            let columns = [first + 1, column + 1];
            return Err(SignalsError::SameName { spot: Spot::of_name(frame, column), columns });
        }
    }
    Ok(columns)
}

/// The first dozen names, and how many more.
pub(super) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 12;
    let shown = names.iter().take(SHOWN).map(|name| shortened(name.as_ref())).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
