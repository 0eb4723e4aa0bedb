//! Which columns of a file of signals are levels, and whose.

use std::collections::HashMap;

use gigabar_market::load::Frame;

use super::error::{SignalsError, Spot};

/// Names of a column of levels, in any case.
const LEVEL: [&str; 3] = ["level", "signal", "position"];
/// What pandas calls the index of a Parquet file, and a column of CSV whose name it did not find.
const UNNAMED: [&str; 2] = ["__index_level_", "unnamed: "];

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

impl Layout {
    /// Of the names of columns; with a note where some are left aside.
    pub(super) fn find(frame: &Frame) -> Result<(Self, Vec<String>), SignalsError> {
        let names = frame.names();
        if frame.begins_with_data() {
            return Err(SignalsError::NoHeader { spot: Spot::of_name(frame, 0) });
        }
        let position = |wanted: &&str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
        let others = || (0..names.len()).filter(|&i| !frame.is_time(i));
        let layout = match (LEVEL.iter().find_map(position), position(&"strategy")) {
            (Some(level), Some(strategy)) => Self::Long { strategy, level },
            (None, Some(_)) => return Err(SignalsError::no_column(frame, "levels beside `strategy`")),
            (Some(level), None) => {
                let more: Vec<String> =
                    others().filter(|&i| i != level && !frame.is_of_bars(i)).map(|i| names[i].clone()).collect();
                if !names[level].eq_ignore_ascii_case(LEVEL[0]) && !more.is_empty() {
                    return Err(SignalsError::Ambiguous { spot: Spot::of_name(frame, level), more });
                }
                Self::Single { level }
            }
            (None, None) => Self::Wide { columns: strategies(frame)? },
        };
        let aside = others().filter(|i| !layout.uses(*i)).map(|i| names[i].as_str());
        let aside: Vec<&str> = aside.filter(|name| !name.is_empty() && !name.starts_with(UNNAMED[0])).collect();
        let note = format!("{}: columns left aside: {}", frame.path().display(), listed(&aside));
        Ok((layout, if aside.is_empty() { vec![] } else { vec![note] }))
    }

    fn uses(&self, column: usize) -> bool {
        match self {
            Self::Single { level } => column == *level,
            Self::Wide { columns } => columns.contains(&column),
            Self::Long { strategy, level } => [*strategy, *level].contains(&column),
        }
    }
}

/// Every column that is neither time nor part of a bar, each with a name of its own.
fn strategies(frame: &Frame) -> Result<Vec<usize>, SignalsError> {
    let names = frame.names();
    let is_one = |i: &usize| !(frame.is_time(*i) || frame.has_bars() && frame.is_of_bars(*i));
    let columns: Vec<usize> = (0..names.len()).filter(is_one).filter(|&i| !names[i].starts_with(UNNAMED[0])).collect();
    if columns.is_empty() {
        return Err(SignalsError::no_column(frame, "levels"));
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for &column in &columns {
        let name = names[column].as_str();
        if name.is_empty() || name.to_lowercase().starts_with(UNNAMED[1]) {
            return Err(SignalsError::NoNameInHeader { spot: Spot::of_name(frame, column), column: column + 1 });
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
    let shown = names.iter().take(SHOWN).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
