//! Levels made elsewhere: one per bar, from a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use gigabar_market::Bars;
use thiserror::Error;

use super::{Observation, Policy};

/// Given levels, one per bar of the data set; NaN means flat and is counted by the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Signals {
    name: String,
    levels: Vec<f64>,
}

/// Why a signals file does not fit the bars.
#[derive(Debug, Error)]
pub enum SignalsError {
    /// The file cannot be read.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A line is not CSV.
    #[error("{}: line {line}: not a CSV record", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// The reader's reason.
        source: csv::Error,
    },
    /// The header has no column of levels.
    #[error("{}: line 1: no column `level` (found: {found})", path.display())]
    NoLevel {
        /// The file.
        path: PathBuf,
        /// The header.
        found: String,
    },
    /// A level is not a number, or one too large to be held.
    #[error("{}:{line}:{column}: level `{text}` is not a {}number", path.display(), if *infinite { "finite " } else { "" })]
    Level {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Character in the line, from 1.
        column: usize,
        /// The text.
        text: String,
        /// Whether it reads as infinity: `inf`, `1e999`.
        infinite: bool,
    },
    /// A time stamp does not parse or is not that of its bar.
    #[error("{}: line {line}: ts `{text}` is not the time stamp of bar {bar}, {expected}", path.display())]
    Timestamp {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// The text.
        text: String,
        /// Index of the bar the line stands for.
        bar: usize,
        /// Its time stamp.
        expected: String,
    },
    /// Fewer or more levels than bars.
    #[error("{}: {got} levels for {expected} bars; {where_}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bars in the data.
        expected: usize,
        /// Levels in the file.
        got: usize,
        /// The line where they part.
        where_: String,
    },
}

impl SignalsError {
    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Read { .. } | Self::Csv { .. } => None,
            Self::NoLevel { .. } => Some("give a header `ts,level` or `level`".into()),
            Self::Level { .. } => Some("write a number such as -1, 0 or 0.5; NaN (or nothing) means flat".into()),
            Self::Timestamp { .. } | Self::Length { .. } => {
                Some("a signals file has one row per bar of the data file, in time order".into())
            }
        }
    }
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

    /// Reads a CSV file with a column `level` and, optionally, a column `ts` (ISO 8601 or epoch nanoseconds) that must
    /// equal the bars' own. An empty level is NaN. Columns are separated by comma, semicolon or tab, as the header shows;
    /// beside the latter two, numbers may have decimal commas.
    ///
    /// # Errors
    /// [`SignalsError`] naming file and line.
    pub fn read(path: &Path, bars: &Bars) -> Result<Self, SignalsError> {
        let unreadable = |source| SignalsError::Read { path: path.into(), source };
        let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
        let separator = separator_of(file.fill_buf().map_err(unreadable)?);
        let mut reader = csv::ReaderBuilder::new().delimiter(separator).trim(csv::Trim::Headers).from_reader(file);
        let columns = Columns::find(path, &mut reader)?;
        let mut levels = Vec::with_capacity(bars.len());
        let mut record = csv::StringRecord::new();
        loop {
            let line = reader.position().line();
            let more = reader.read_record(&mut record).map_err(|source| SignalsError::Csv {
                path: path.into(),
                line,
                source,
            })?;
            if !more {
                break;
            }
            let line = record.position().map_or(line, csv::Position::line);
            let bar = levels.len();
            if bar >= bars.len() {
                return Err(too_long(path, line, bars.len(), reader.records().count() + bar + 1));
            }
            if let Some(column) = columns.ts {
                check_ts(path, line, record.get(column).unwrap_or("").trim(), bar, bars.ts()[bar])?;
            }
            let level = parse_level(record.get(columns.level).unwrap_or("").trim(), separator);
            levels.push(level.map_err(|(text, infinite)| SignalsError::Level {
                path: path.into(),
                line,
                column: column_of(&record, columns.level),
                text,
                infinite,
            })?);
        }
        if levels.len() < bars.len() {
            let where_ = format!("the file ends before bar {} ({})", levels.len(), iso(bars.ts()[levels.len()]));
            return Err(SignalsError::Length { path: path.into(), expected: bars.len(), got: levels.len(), where_ });
        }
        Ok(Self { name: format!("signals:{}", path.display()), levels })
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

struct Columns {
    ts: Option<usize>,
    level: usize,
}

impl Columns {
    fn find(path: &Path, reader: &mut csv::Reader<impl Read>) -> Result<Self, SignalsError> {
        let header = reader.headers().map_err(|source| SignalsError::Csv { path: path.into(), line: 1, source })?;
        let find = |names: &[&str]| header.iter().position(|h| names.contains(&h.to_ascii_lowercase().as_str()));
        let level = find(&["level", "signal", "position"]).ok_or_else(|| SignalsError::NoLevel {
            path: path.into(),
            found: header.iter().collect::<Vec<_>>().join(", "),
        })?;
        Ok(Self { ts: find(&["ts", "timestamp", "time", "date", "datetime"]), level })
    }
}

/// What separates the columns of the first line.
fn separator_of(text: &[u8]) -> u8 {
    let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    [b'\t', b';'].into_iter().find(|separator| header.contains(separator)).unwrap_or(b',')
}

/// A level; nothing is NaN. What is none comes back, with whether it is infinite.
fn parse_level(text: &str, separator: u8) -> Result<f64, (String, bool)> {
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    let number = if separator == b',' { text.to_owned() } else { text.replace(',', ".") };
    match number.parse::<f64>() {
        Ok(level) if !level.is_infinite() => Ok(level),
        parsed => Err((text.to_owned(), parsed.is_ok())),
    }
}

/// The character of its line at which a field's text begins, from 1, where no field is quoted.
fn column_of(record: &csv::StringRecord, field: usize) -> usize {
    let before: usize = record.iter().take(field).map(|text| text.chars().count() + 1).sum();
    let blanks = record.get(field).map_or(0, |text| text.chars().take_while(|c| c.is_whitespace()).count());
    before + blanks + 1
}

fn check_ts(path: &Path, line: u64, text: &str, bar: usize, ts: i64) -> Result<(), SignalsError> {
    let given = text.parse::<i64>().ok().or_else(|| gigabar_market::time::parse_iso(text));
    if given == Some(ts) {
        return Ok(());
    }
    Err(SignalsError::Timestamp { path: path.into(), line, text: text.into(), bar, expected: iso(ts) })
}

fn iso(ts: i64) -> String {
    gigabar_market::time::iso(ts)
}

fn too_long(path: &Path, line: u64, expected: usize, got: usize) -> SignalsError {
    let where_ = format!("line {line} is the first without a bar");
    SignalsError::Length { path: path.into(), expected, got, where_ }
}
