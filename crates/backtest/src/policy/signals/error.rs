//! [`SignalsError`]: why a file of signals does not fit the bars, where, and how to mend it.

use std::fmt;
use std::path::PathBuf;

use gigabar_market::load::{Frame, LoadError, Place, Row};
use thiserror::Error;

use super::layout::listed;
use super::name::{printable, shortened};

/// The largest level, either way. What is beyond is a mark for a missing one, and makes infinities of an account.
pub const MAX_LEVEL: f64 = 1e6;

/// A cell of a file: `file:line:character` of text, row and column of Parquet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The file.
    pub path: PathBuf,
    /// Line or row, from 1; none for the name of a Parquet column.
    pub place: Option<Place>,
    /// Character in the line, from 1.
    pub character: Option<usize>,
    /// The column's name.
    pub column: String,
    /// Whose row or level it is, where the file has several strategies.
    pub strategy: Option<String>,
}

impl Spot {
    pub(super) fn of(frame: &Frame, row: &Row<'_>, column: usize, strategy: Option<&str>) -> Box<Self> {
        Box::new(Self {
            strategy: strategy.map(Into::into),
            path: frame.path().into(),
            place: Some(row.place()),
            character: row.character(column),
            column: frame.names().get(column).cloned().unwrap_or_default(),
        })
    }

    /// The name of a column.
    pub(super) fn of_name(frame: &Frame, column: usize) -> Box<Self> {
        Box::new(Self {
            strategy: None,
            path: frame.path().into(),
            place: frame.header(),
            character: frame.header_character(column),
            column: frame.names().get(column).cloned().unwrap_or_default(),
        })
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match (self.place, self.character) {
            (Some(place), Some(character)) => write!(f, ":{}:{character}", place.number())?,
            (Some(place), None) => write!(f, ", {place}, column {}", printable(&self.column))?,
            (None, _) => {}
        }
        write!(f, "{}", of(&self.strategy))
    }
}

/// Why a row is not that of the bar it should stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// Bars before its own have no row.
    Gap {
        /// How many.
        bars: usize,
    },
    /// Its bar had its row before.
    Again {
        /// Index of the bar.
        bar: usize,
    },
    /// It lies before the first bar.
    Before,
    /// It lies after the last bar.
    After,
    /// It lies between two bars.
    NoBar,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap { bars: 1 } => write!(f, "one bar has no row"),
            Self::Gap { bars } => write!(f, "{bars} bars have no row"),
            Self::Again { bar } => write!(f, "it is that of bar {bar}, which had its row before"),
            Self::Before => write!(f, "it lies before the first bar"),
            Self::After => write!(f, "it lies after the last bar"),
            Self::NoBar => write!(f, "no bar has it"),
        }
    }
}

/// Why a signals file does not fit the bars. A strategy is named where the file has several.
#[derive(Debug, Error)]
pub enum SignalsError {
    /// The file cannot be read as a table.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The first line is no header.
    #[error("{spot}: `{}` is a time stamp, where the names of the columns should be", shortened(&spot.column))]
    NoHeader {
        /// The first field.
        spot: Box<Spot>,
    },
    /// The header has no column of levels.
    #[error("{spot}: no column of {wanted} (found: {found})")]
    NoColumn {
        /// The first name.
        spot: Box<Spot>,
        /// What is missing.
        wanted: &'static str,
        /// The header.
        found: String,
    },
    /// A column called as levels are, beside other numbers.
    #[error("{spot}: `{}` is the level of one strategy, or one of several beside {}", shortened(&spot.column), listed(more))]
    Ambiguous {
        /// The column.
        spot: Box<Spot>,
        /// The others.
        more: Vec<String>,
    },
    /// Numbers beside the columns `strategy` and `level`.
    #[error("{spot}: beside `{}` there are more numbers: {}", shortened(&spot.column), listed(more))]
    Beside {
        /// The column of levels.
        spot: Box<Spot>,
        /// The others.
        more: Vec<String>,
    },
    /// A column called as symbols may be, with numbers.
    #[error("{spot}: `{}` holds numbers: a strategy's levels, or symbols", shortened(&spot.column))]
    SymbolOrStrategy {
        /// The column.
        spot: Box<Spot>,
    },
    /// A row that names no symbol.
    #[error("{spot}: the row has no symbol")]
    NoSymbol {
        /// Where.
        spot: Box<Spot>,
    },
    /// Levels of several symbols, and bars that have none.
    #[error("{}: levels of {} symbols ({}), and the bars do not say which is theirs", path.display(), found.len(), listed(found))]
    Symbols {
        /// The file.
        path: PathBuf,
        /// Its symbols.
        found: Vec<String>,
    },
    /// No level of the bars' symbol.
    #[error("{}: no row has the bars' symbol {} (found: {})", path.display(), shortened(wanted), listed(found))]
    UnknownSymbol {
        /// The file.
        path: PathBuf,
        /// The bars'.
        wanted: String,
        /// Its symbols.
        found: Vec<String>,
    },
    /// A name that a strategy cannot have.
    #[error("{spot}: the strategy's name {reason}")]
    Name {
        /// Where.
        spot: Box<Spot>,
        /// What it has.
        reason: String,
    },
    /// A strategy's column has no name.
    #[error("{spot}: column {column} has no name")]
    NoNameInHeader {
        /// Where it should be.
        spot: Box<Spot>,
        /// The column, from 1.
        column: usize,
    },
    /// Two strategies of one name.
    #[error("{spot}: columns {} and {} are both called `{}`", columns[0], columns[1], shortened(&spot.column))]
    SameName {
        /// The later one.
        spot: Box<Spot>,
        /// The columns, from 1.
        columns: [usize; 2],
    },
    /// A row that names no strategy.
    #[error("{spot}: the strategy has no name")]
    NoName {
        /// Where.
        spot: Box<Spot>,
    },
    /// A level is not a number, or one too large to be held.
    #[error("{spot}: level `{text}` is not a {}number", if *infinite { "finite " } else { "" })]
    Level {
        /// Where.
        spot: Box<Spot>,
        /// The text.
        text: String,
        /// Whether it reads as infinity: `inf`, `1e999`.
        infinite: bool,
    },
    /// A level that no account can hold: a mark for a missing one.
    #[error("{spot}: level `{text}` is beyond ±{}", MAX_LEVEL)]
    Large {
        /// Where.
        spot: Box<Spot>,
        /// The text.
        text: String,
    },
    /// What stands in the time column is no time stamp.
    #[error("{spot}: `{text}` is not a time stamp")]
    Stamp {
        /// Where.
        spot: Box<Spot>,
        /// The text.
        text: String,
        /// Whether the column has no name.
        unnamed: bool,
    },
    /// A time stamp is not that of its bar.
    #[error("{spot}: ts `{text}` is not {}; {misfit}", wanted(*bar, expected))]
    Misaligned {
        /// Where.
        spot: Box<Spot>,
        /// The text.
        text: String,
        /// Index of the bar the row stands for.
        bar: usize,
        /// Its time stamp; none after the last bar.
        expected: Option<String>,
        /// What is wrong with it.
        misfit: Misfit,
        /// How the bars were resampled, where they were.
        resample: Option<String>,
    },
    /// Fewer or more levels than bars.
    #[error("{}{}: {got} levels for {expected} bars; {where_}", path.display(), of(strategy))]
    Length {
        /// The file.
        path: PathBuf,
        /// Whose.
        strategy: Option<String>,
        /// Bars in the data.
        expected: usize,
        /// Levels in the file.
        got: usize,
        /// The line where they part.
        where_: String,
        /// Whether the rows have time stamps.
        stamped: bool,
        /// Whether the bars were cut.
        cut: bool,
        /// How the bars were resampled, where they were.
        resample: Option<String>,
    },
}

fn of(strategy: &Option<String>) -> String {
    strategy.as_ref().map_or_else(String::new, |name| format!(", strategy {}", printable(name)))
}

fn wanted(bar: usize, expected: &Option<String>) -> String {
    match expected {
        Some(stamp) => format!("the time stamp of bar {bar}, {stamp}"),
        None => format!("that of a bar: all {bar} have their row"),
    }
}

impl SignalsError {
    pub(super) fn no_column(frame: &Frame, wanted: &'static str) -> Self {
        Self::NoColumn { spot: Spot::of_name(frame, 0), wanted, found: listed(frame.names()) }
    }

    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        const ONE_PER_BAR: &str = "a signals file has one row per bar, in time order";
        let text = match self {
            Self::Load(LoadError::Fields { .. }) => "every row has a field for every name of the header",
            Self::Load(error) => return error.hint(),
            Self::NoHeader { .. } | Self::NoColumn { .. } => {
                "give a header `ts,level` for one strategy, `ts,NAME,NAME,…` for several, or `ts,strategy,level`"
            }
            Self::Ambiguous { .. } => {
                "leave out what is not to be traded; or, where each is a strategy, give this one another name"
            }
            Self::Beside { .. } => "leave out what is no level",
            Self::SymbolOrStrategy { .. } => "call symbols `symbol`, and a strategy by another name",
            Self::NoSymbol { .. } => "every row names its symbol; or leave the column out",
            Self::Symbols { found, .. } => {
                let first = found.first().map_or("NAME", String::as_str);
                return Some(format!(
                    "choose one, e.g. --symbol {}; if these are strategies, call the column `strategy`",
                    shortened(first)
                ));
            }
            Self::UnknownSymbol { .. } => {
                "write the symbol as the bars do; or leave the column out where all rows are theirs"
            }
            Self::Name { .. } => "a name has up to 200 characters that are seen, in UTF-8",
            Self::Large { .. } => {
                "a level is a share of the equity, 1 for all of it; leave the cell empty where there is none"
            }
            Self::NoNameInHeader { .. } => {
                "every column but the time stamps is a strategy and needs a name; pandas leaves its index out with \
                 to_csv(…, index=False)"
            }
            Self::SameName { .. } => "rename one: a strategy is known by its name",
            Self::NoName { .. } => "every row names its strategy; leave out those that belong to none",
            Self::Level { .. } => "write a number such as -1, 0 or 0.5; NaN (or nothing) means flat",
            Self::Stamp { unnamed: true, .. } => {
                "the column without a name was taken for the time stamps; pandas leaves its index out with to_csv(…, \
                 index=False)"
            }
            Self::Stamp { .. } => "for example 2020-01-31, \"2020-01-31 09:30\", 2020-01-31T09:30:00Z or epoch seconds",
            Self::Misaligned { misfit, resample, .. } => {
                return Some(misfit.hint(ONE_PER_BAR) + &resampled(resample));
            }
            Self::Length { resample: resample @ Some(_), .. } => {
                return Some(format!("{ONE_PER_BAR}{}", resampled(resample)));
            }
            Self::Length { stamped: false, cut: true, .. } => {
                "without time stamps there is one row per bar that --from and --to keep; with a column `ts` the rest is \
                 passed over"
            }
            Self::Length { stamped: false, .. } => {
                "a signals file has one row per bar, in time order, below a line of names"
            }
            Self::Length { .. } => ONE_PER_BAR,
        };
        Some(text.to_owned())
    }
}

/// What to say of bars that are not those of the file.
fn resampled(resample: &Option<String>) -> String {
    let text = |to: &String| format!("; with --resample {to} those are the bars of {to}, at the stamps they open");
    resample.as_ref().map_or_else(String::new, text)
}

impl Misfit {
    fn hint(self, one_per_bar: &str) -> String {
        match self {
            Self::Gap { .. } => format!("{one_per_bar}; a row without a level is flat"),
            Self::Again { .. } => format!("{one_per_bar}; sort it and leave out what is there twice"),
            Self::Before | Self::After => {
                format!("{one_per_bar}; rows are passed over where --from or --to cut the bars")
            }
            Self::NoBar => {
                format!("{one_per_bar}; stamps without a zone are read in --tz, and a bar's stamp is its open")
            }
        }
    }
}
