//! Levels made elsewhere: one per bar and strategy, from a file.

mod align;
mod error;
mod layout;
mod name;
mod symbol;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use gigabar_market::Bars;
use gigabar_market::load::{Frame, LoadOptions, Number, Row};

use super::{Observation, Policy};
use align::{Cursor, Made};
pub use error::{MAX_LEVEL, Misfit, SignalsError, Spot};
use layout::{Found, Layout};
use name::shortened;
use symbol::Symbols;

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
    /// Without stamps there is one row per bar. In a file of several symbols the rows of the bars' count. A level that is
    /// missing is 0, one that is not a number NaN.
    ///
    /// # Errors
    /// [`SignalsError`] naming the file and the place in it.
    pub fn read(path: &Path, bars: &Bars, options: &LoadOptions) -> Result<Self, SignalsError> {
        let frame = Frame::open(path, options)?;
        let Found { layout, symbol, mut notes } = Found::of(&frame)?;
        let chosen = symbol.map(|column| Symbols::choose(&frame, column, bars.symbol())).transpose()?.flatten();
        let (symbols, note) = chosen.map_or((None, None), |(symbols, note)| (Some(symbols), note));
        notes.extend(note);
        let cut = [options.from.is_some(), options.to.is_some()];
        let made = Made { cut, resample: options.resample.clone() };
        let reader = Reader { frame: &frame, bars, symbols, made };
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
    /// Whose rows are taken; none for all.
    symbols: Option<Symbols>,
    made: Made,
}

impl Reader<'_> {
    /// The levels of columns that share their rows. `named`: their names are strategies'.
    fn columns(&self, columns: &[usize], named: bool) -> Result<Vec<Vec<f64>>, SignalsError> {
        let mut levels: Vec<Vec<f64>> = columns.iter().map(|_| Vec::with_capacity(self.bars.len())).collect();
        let mut cursor = self.cursor();
        self.for_each(columns, &[], |row| {
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
        let mut strategies: Vec<(Signals, Cursor<'_>)> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        let mut at = 0;
        self.for_each(&[level], &[strategy], |row| {
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
                    if let Some(reason) = name::refused(&name) {
                        return Err(SignalsError::Name { spot: Spot::of(self.frame, &row, strategy, None), reason });
                    }
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

    /// Every row of the bars' symbol.
    fn for_each(
        &self,
        numbers: &[usize],
        texts: &[usize],
        mut visit: impl FnMut(Row<'_>) -> Result<(), SignalsError>,
    ) -> Result<(), SignalsError> {
        let Some(symbols) = &self.symbols else { return self.frame.for_each(numbers, texts, visit) };
        let texts: Vec<usize> = texts.iter().copied().chain([symbols.column()]).collect();
        self.frame.for_each(numbers, &texts, |row| if symbols.has(&row) { visit(row) } else { Ok(()) })
    }

    fn cursor(&self) -> Cursor<'_> {
        Cursor::new(self.frame, self.bars.ts(), &self.made)
    }

    fn level(&self, row: &Row<'_>, column: usize, strategy: Option<&str>) -> Result<f64, SignalsError> {
        match row.number(column) {
            Number::Value(level) if level.abs() <= MAX_LEVEL => Ok(level),
            Number::Value(_) => Err(SignalsError::Large {
                spot: Spot::of(self.frame, row, column, strategy),
                text: shortened(&row.text(column)),
            }),
            // What was computed and came out as NaN is told; a cell left empty is meant to be flat.
            Number::Missing if is_nan(&row.text(column)) => Ok(f64::NAN),
            Number::Missing => Ok(0.0),
            Number::Bad => {
                let text = row.text(column).into_owned();
                let infinite = text.parse().is_ok_and(f64::is_infinite);
                Err(SignalsError::Level {
                    spot: Spot::of(self.frame, row, column, strategy),
                    text: shortened(&text),
                    infinite,
                })
            }
        }
    }
}

/// Whether a cell that holds no number says so itself.
fn is_nan(text: &str) -> bool {
    text.trim_start_matches(['-', '+']).eq_ignore_ascii_case("nan")
}
