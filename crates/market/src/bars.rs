//! [`Bars`]: validated OHLCV columns, the one input of everything downstream.

use thiserror::Error;

/// Raw columns of a bar table, not yet checked. All have the same length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarColumns {
    /// UTC nanoseconds since the Unix epoch of each bar's open. `[n_bars]`
    pub ts: Vec<i64>,
    /// First price of the bar. `[n_bars]`
    pub open: Vec<f64>,
    /// Highest price of the bar. `[n_bars]`
    pub high: Vec<f64>,
    /// Lowest price of the bar. `[n_bars]`
    pub low: Vec<f64>,
    /// Last price of the bar. `[n_bars]`
    pub close: Vec<f64>,
    /// Traded units; all zero when the source has none. `[n_bars]`
    pub volume: Vec<f64>,
}

/// Why columns are not a table of bars. `row` counts from 0; loaders translate it to a line of the file.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BarsError {
    /// A column is shorter or longer than `ts`.
    #[error("column {column}: expected {expected} rows, got {got}")]
    Length {
        /// Column name.
        column: &'static str,
        /// Rows in `ts`.
        expected: usize,
        /// Rows in the column.
        got: usize,
    },
    /// Fewer bars than a return needs.
    #[error("a table of bars needs at least {min} rows, got {got}")]
    TooFew {
        /// Rows needed.
        min: usize,
        /// Rows given.
        got: usize,
    },
    /// Two bars carry the same time stamp.
    #[error("row {row}: time stamp equals that of the row before")]
    DuplicateTimestamp {
        /// The later of the two rows.
        row: usize,
    },
    /// Time runs backwards.
    #[error("row {row}: time stamp is earlier than that of the row before")]
    UnsortedTimestamp {
        /// The later of the two rows.
        row: usize,
    },
    /// A price is NaN, infinite, zero or negative.
    #[error("row {row}: {column} is {value}; prices must be finite and above zero")]
    Price {
        /// Offending row.
        row: usize,
        /// Offending column.
        column: &'static str,
        /// Its value.
        value: f64,
    },
    /// A volume is NaN, infinite or negative.
    #[error("row {row}: volume is {value}; it must be finite and not negative")]
    Volume {
        /// Offending row.
        row: usize,
        /// Its value.
        value: f64,
    },
    /// high < low, or open or close outside `[low, high]`.
    #[error("row {row}: {column} {value} lies outside the bar's range, low {low} to high {high}")]
    Range {
        /// Offending row.
        row: usize,
        /// `high`, `open` or `close`.
        column: &'static str,
        /// Its value.
        value: f64,
        /// The row's low.
        low: f64,
        /// The row's high.
        high: f64,
    },
}

impl BarsError {
    /// The same error `rows` rows further up.
    #[must_use]
    pub(crate) fn earlier_by(&self, rows: usize) -> Self {
        let mut error = self.clone();
        match &mut error {
            Self::Length { .. } | Self::TooFew { .. } => {}
            Self::DuplicateTimestamp { row }
            | Self::UnsortedTimestamp { row }
            | Self::Price { row, .. }
            | Self::Volume { row, .. }
            | Self::Range { row, .. } => *row -= rows,
        }
        error
    }

    /// The offending row (from 0), where the error has one.
    pub fn row(&self) -> Option<usize> {
        match *self {
            Self::Length { .. } | Self::TooFew { .. } => None,
            Self::DuplicateTimestamp { row }
            | Self::UnsortedTimestamp { row }
            | Self::Price { row, .. }
            | Self::Volume { row, .. }
            | Self::Range { row, .. } => Some(row),
        }
    }
}

/// A validated table of bars: time strictly increases, prices are finite and positive, every open and close lies
/// inside its bar's range, volumes are finite and not negative.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    columns: BarColumns,
    symbol: Option<String>,
    has_volume: bool,
    interval_ns: i64,
    periods_per_year: f64,
}

impl Bars {
    /// Checks the columns and derives interval and periods per year from the time stamps.
    ///
    /// # Errors
    /// [`BarsError`] for the first row (in file order) that breaks a rule.
    pub fn new(columns: BarColumns) -> Result<Self, BarsError> {
        check(&columns)?;
        let interval_ns = crate::calendar::interval_ns(&columns.ts);
        let periods_per_year = crate::calendar::periods_per_year(&columns.ts, interval_ns);
        let has_volume = columns.volume.iter().any(|&v| v > 0.0);
        Ok(Self { columns, symbol: None, has_volume, interval_ns, periods_per_year })
    }

    /// Names the instrument.
    #[must_use]
    pub fn with_symbol(mut self, symbol: impl Into<String>) -> Self {
        self.symbol = Some(symbol.into());
        self
    }

    /// Overrides the periods per year derived from the time stamps.
    #[must_use]
    pub fn with_periods_per_year(mut self, periods_per_year: f64) -> Self {
        self.periods_per_year = periods_per_year;
        self
    }

    /// Number of bars.
    pub fn len(&self) -> usize {
        self.columns.ts.len()
    }

    /// Always false: a table of bars has at least two rows.
    pub fn is_empty(&self) -> bool {
        self.columns.ts.is_empty()
    }

    /// Bar opens, UTC nanoseconds. `[n_bars]`
    pub fn ts(&self) -> &[i64] {
        &self.columns.ts
    }

    /// Open prices. `[n_bars]`
    pub fn open(&self) -> &[f64] {
        &self.columns.open
    }

    /// High prices. `[n_bars]`
    pub fn high(&self) -> &[f64] {
        &self.columns.high
    }

    /// Low prices. `[n_bars]`
    pub fn low(&self) -> &[f64] {
        &self.columns.low
    }

    /// Close prices. `[n_bars]`
    pub fn close(&self) -> &[f64] {
        &self.columns.close
    }

    /// Traded units. `[n_bars]`
    pub fn volume(&self) -> &[f64] {
        &self.columns.volume
    }

    /// Whether any bar has volume; a series without any refuses volume-based cost models.
    pub fn has_volume(&self) -> bool {
        self.has_volume
    }

    /// The instrument's name, where known.
    pub fn symbol(&self) -> Option<&str> {
        self.symbol.as_deref()
    }

    /// The usual distance between two bars, nanoseconds.
    pub fn interval_ns(&self) -> i64 {
        self.interval_ns
    }

    /// Bars per year, the factor that annualises.
    pub fn periods_per_year(&self) -> f64 {
        self.periods_per_year
    }

    /// The columns.
    pub fn columns(&self) -> &BarColumns {
        &self.columns
    }

    /// The columns, to build another table from.
    pub fn into_columns(self) -> BarColumns {
        self.columns
    }
}

fn check(c: &BarColumns) -> Result<(), BarsError> {
    let n = c.ts.len();
    let named = [("open", &c.open), ("high", &c.high), ("low", &c.low), ("close", &c.close), ("volume", &c.volume)];
    for (column, values) in named {
        if values.len() != n {
            return Err(BarsError::Length { column, expected: n, got: values.len() });
        }
    }
    if n < 2 {
        return Err(BarsError::TooFew { min: 2, got: n });
    }
    (0..n).try_for_each(|row| check_row(c, row))
}

fn check_row(c: &BarColumns, row: usize) -> Result<(), BarsError> {
    if row > 0 && c.ts[row] == c.ts[row - 1] {
        return Err(BarsError::DuplicateTimestamp { row });
    }
    if row > 0 && c.ts[row] < c.ts[row - 1] {
        return Err(BarsError::UnsortedTimestamp { row });
    }
    let (open, high, low, close) = (c.open[row], c.high[row], c.low[row], c.close[row]);
    for (column, value) in [("open", open), ("high", high), ("low", low), ("close", close)] {
        if !(value.is_finite() && value > 0.0) {
            return Err(BarsError::Price { row, column, value });
        }
    }
    for (column, value) in [("high", high), ("open", open), ("close", close)] {
        if value < low || value > high {
            return Err(BarsError::Range { row, column, value, low, high });
        }
    }
    let value = c.volume[row];
    if !(value.is_finite() && value >= 0.0) {
        return Err(BarsError::Volume { row, value });
    }
    Ok(())
}
