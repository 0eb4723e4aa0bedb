//! Levels made elsewhere: one per bar and strategy, from a file.

mod align;
mod error;
mod layout;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use gigabar_market::Bars;
use gigabar_market::load::{Frame, LoadOptions, Number, Row};

use super::{Observation, Policy};
use align::Cursor;
pub use error::{Misfit, SignalsError, Spot};
use layout::Layout;

/// Given levels, one per bar of the data set; NaN means flat and is counted by the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Signals {
    name: String,
    levels: Vec<f64>,
}

impl Signals {
    /// Levels in memory. `[n_bars]`
    pub fn new(name: impl Into<String>, levels: Vec<f64>) -> Self {
        Self { name: name.into(), levels }
    }

    /// The levels. `[n_bars]`
    pub fn levels(&self) -> &[f64] {
        &self.levels
    }
}

impl Policy for Signals {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn reset(&mut self, _window: Range<usize>) {}

    fn level(&mut self, observation: &Observation<'_>) -> f64 {
        self.levels.get(observation.t()).copied().unwrap_or(f64::NAN)
    }

    fn levels_ahead(&mut self, _bars: &Bars, span: Range<usize>, to: &mut Vec<f64>) -> bool {
        to.extend(span.map(|t| self.levels.get(t).copied().unwrap_or(f64::NAN)));
        true
    }
}

/// A file of signals: one strategy, or several by name.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalsFile {
    /// In the order of the file's columns, or of each one's first row.
    pub strategies: Vec<Signals>,
    /// What a reader of results should know: columns left aside.
    pub notes: Vec<String>,
    /// Whether rows have time stamps; without, a row's place alone says which bar is its own.
    pub stamped: bool,
}

impl SignalsFile {
    /// Reads delimited text or Parquet, plain or packed, in one of three layouts: a column `level`; a column per
    /// strategy;
    /// or rows of `strategy` and `level`. A column of time stamps, called and written as in files of bars, must equal
    /// the bars' own; rows before the first bar or after the last are passed over where `from` or `to` cut the bars
    /// there.
    /// Without stamps there is one row per bar. A level that is missing is NaN.
    ///
    /// # Errors
    /// [`SignalsError`] naming the file and the place in it.
    pub fn read(path: &Path, bars: &Bars, options: &LoadOptions) -> Result<Self, SignalsError> {
        let frame = Frame::open(path, options)?;
        let (layout, notes) = Layout::find(&frame)?;
        let reader = Reader { frame: &frame, bars, cut: [options.from.is_some(), options.to.is_some()] };
        let strategies = match layout {
            Layout::Single { level } => {
                let levels = reader.columns(&[level], false)?;
                levels.into_iter().map(|levels| Signals::new(format!("signals:{}", path.display()), levels)).collect()
            }
            Layout::Wide { columns } => {
                let names = columns.iter().map(|&column| frame.names()[column].clone());
                names.zip(reader.columns(&columns, true)?).map(|(name, levels)| Signals::new(name, levels)).collect()
            }
            Layout::Long { strategy, level } => reader.rows(strategy, level)?,
        };
        Ok(Self { strategies, notes, stamped: frame.time().is_some() })
    }
}

/// What reads the rows of a file beside the bars.
struct Reader<'a> {
    frame: &'a Frame,
    bars: &'a Bars,
    /// Whether the bars are cut before their first, after their last.
    cut: [bool; 2],
}

impl<'a> Reader<'a> {
    /// The levels of columns that share their rows. `named`: their names are strategies'.
    fn columns(&self, columns: &[usize], named: bool) -> Result<Vec<Vec<f64>>, SignalsError> {
        let mut levels: Vec<Vec<f64>> = columns.iter().map(|_| Vec::with_capacity(self.bars.len())).collect();
        let mut cursor = self.cursor();
        self.frame.for_each(columns, &[], |row| {
            if cursor.take(&row, None)? {
                for (&column, levels) in columns.iter().zip(&mut levels) {
                    let strategy = named.then(|| self.frame.names()[column].as_str());
                    levels.push(self.level(&row, column, strategy)?);
                }
            }
            Ok::<_, SignalsError>(())
        })?;
        cursor.end(None)?;
        Ok(levels)
    }

    /// The levels of strategies that have their own rows.
    fn rows(&self, strategy: usize, level: usize) -> Result<Vec<Signals>, SignalsError> {
        let mut strategies: Vec<(Signals, Cursor<'a>)> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        let mut at = 0;
        self.frame.for_each(&[level], &[strategy], |row| {
            let name = row.text(strategy);
            // Rows come one strategy after the other, or in turns.
            let known = |i: &usize| strategies.get(*i).is_some_and(|(own, _)| own.name == name);
            let next = if at + 1 < strategies.len() { at + 1 } else { 0 };
            at = match [at, next].into_iter().find(known).or_else(|| index.get(&*name).copied()) {
                Some(known) => known,
                None if name.is_empty() => {
                    return Err(SignalsError::NoName { spot: Spot::of(self.frame, &row, strategy, None) });
                }
                None => {
                    index.insert(name.to_string(), strategies.len());
                    strategies.push((Signals::new(name, Vec::new()), self.cursor()));
                    strategies.len() - 1
                }
            };
            let (own, cursor) = &mut strategies[at];
            if cursor.take(&row, Some(&own.name))? {
                let value = self.level(&row, level, Some(&own.name))?;
                own.levels.push(value);
            }
            Ok(())
        })?;
        if strategies.is_empty() {
            self.cursor().end(None)?;
        }
        let ended = |(own, cursor): (Signals, Cursor<'_>)| cursor.end(Some(&own.name)).map(|()| own);
        strategies.into_iter().map(ended).collect()
    }

    fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.frame, self.bars.ts(), self.cut)
    }

    fn level(&self, row: &Row<'_>, column: usize, strategy: Option<&str>) -> Result<f64, SignalsError> {
        match row.number(column) {
            Number::Value(level) => Ok(level),
            Number::Missing => Ok(f64::NAN),
            Number::Bad => {
                let text = row.text(column).into_owned();
                let infinite = text.parse().is_ok_and(f64::is_infinite);
                Err(SignalsError::Level {
                    spot: Spot::of(self.frame, row, column, strategy),
                    text: error::shortened(&text),
                    infinite,
                })
            }
        }
    }
}
