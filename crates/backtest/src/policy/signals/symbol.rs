//! [`Symbols`]: which rows of a file of signals are of the bars' instrument.

use gigabar_market::load::{Frame, Row, symbol_named};

use super::error::{SignalsError, Spot};
use super::layout::listed;

/// The instrument whose rows are taken.
pub(super) struct Symbols {
    column: usize,
    /// As the file writes it.
    name: String,
}

impl Symbols {
    /// Of the names in `column`, that of the bars: as [`symbol_named`] finds it. Bars without a symbol
    /// take the only one there is. With what to say of it; none where the column is empty.
    ///
    /// # Errors
    /// [`SignalsError`] where rows have no symbol, none has the bars', or one of several has to be chosen.
    pub(super) fn choose(
        frame: &Frame,
        column: usize,
        of_bars: Option<&str>,
    ) -> Result<Option<(Self, Option<String>)>, SignalsError> {
        let (mut found, blank) = names(frame, column)?;
        if found.is_empty() {
            return Ok(None);
        }
        if let Some(spot) = blank {
            return Err(SignalsError::NoSymbol { spot });
        }
        let path = || frame.path().into();
        let at = match of_bars {
            Some(wanted) => symbol_named(&found, wanted),
            None if found.len() == 1 => Some(0),
            None => return Err(SignalsError::Symbols { path: path(), found }),
        };
        let Some(at) = at else {
            let wanted = of_bars.unwrap_or_default().into();
            return Err(SignalsError::UnknownSymbol { path: path(), wanted, found });
        };
        let name = found.swap_remove(at);
        let shown = listed(std::slice::from_ref(&name));
        let file = frame.path().display();
        let note = match (of_bars, found.len()) {
            (None, _) => Some(format!("{file}: its levels are those of {shown}; the bars have no symbol")),
            (Some(_), 0) => None,
            (Some(_), 1) => Some(format!("{file}: the rows of {shown} are taken, those of another symbol passed over")),
            (Some(_), n) => Some(format!("{file}: the rows of {shown} are taken, those of {n} others passed over")),
        };
        Ok(Some((Self { column, name }, note)))
    }

    /// The column of symbols.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Whether a row is of the instrument.
    pub(super) fn has(&self, row: &Row<'_>) -> bool {
        row.text(self.column) == self.name.as_str()
    }
}

/// Every symbol, in order of its first row; and the first row without.
fn names(frame: &Frame, column: usize) -> Result<(Vec<String>, Option<Box<Spot>>), SignalsError> {
    let mut found: Vec<String> = Vec::new();
    let mut index = std::collections::HashSet::new();
    let mut blank = None;
    frame.for_each(&[], &[column], |row| {
        let name = row.text(column);
        if name.is_empty() {
            blank.get_or_insert_with(|| Spot::of(frame, &row, column, None));
        } else if found.last().is_none_or(|last| *last != name) && index.insert(name.to_string()) {
            found.push(name.into_owned());
        }
        Ok::<_, SignalsError>(())
    })?;
    Ok((found, blank))
}
