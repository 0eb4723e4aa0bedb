//! The 48 causal features of a bar: what a policy sees of the market.
//!
//! Every feature of bar t reads bars up to t only, is a pure number without a unit (multiplying all prices, or all
//! volumes, by a constant changes none of them) and is finite. A feature is 0 up to its warm-up; rows before
//! [`WARMUP_BARS`] are not to be used.
//!
//! | names | definition | flat market, or no volume |
//! |---|---|---|
//! | `log_return_{1,2,3,5,10,20,60}` | ln(cₜ/cₜ₋ₕ) | 0 |
//! | `open_gap_1` | ln(oₜ/cₜ₋₁) | 0 |
//! | `realised_vol_{20,60}` | √ mean r² of the last bars' log returns | 0 |
//! | `parkinson_vol_20` | √(mean ln²(h/l)/(4 ln 2)) | 0 |
//! | `garman_klass_vol_20` | √ mean(½ ln²(h/l) − (2 ln 2 − 1) ln²(c/o)) | 0 |
//! | `atr_ratio_14` | ATR/close | 0 |
//! | `bollinger_percent_b_20`, `bollinger_width_20` | (c − lower)/(upper − lower), (upper − lower)/middle; 2 std | ½, 0 |
//! | `range_1`, `close_location_1` | ln(h/l); (2c − h − l)/(h − l) | 0, 0 |
//! | `skew_60`, `kurtosis_60` | of the log returns (kurtosis in excess of 3) | 0 |
//! | `autocorrelation_60` | correlation of 60 log returns with those one bar earlier | 0 |
//! | `rsi_14` | `[0, 100]` | 50 |
//! | `macd_12_26`, `macd_signal_12_26_9`, `macd_histogram_12_26_9` | each divided by the close | 0 |
//! | `stoch_k_14_3`, `stoch_d_14_3_3` | `[0, 100]` | 50 |
//! | `cci_20`, `willr_14` | unbounded; `[−100, 0]` | 0, −50 |
//! | `adx_14`, `plus_di_14`, `minus_di_14` | `[0, 100]` | 0 |
//! | `aroon_up_25`, `aroon_down_25`, `aroon_oscillator_25` | `[0, 100]`, `[−100, 100]` | 100, 100, 0 |
//! | `donchian_position_{20,55}` | (c − lowest low)/(highest high − lowest low) | ½ |
//! | `ema_distance_{10,20,50,100}` | ln(c/EMA) | 0 |
//! | `volume_z_{20,60}` | (v − mean)/std of the last bars' volumes | 0 |
//! | `mfi_14` | `[0, 100]` | no flow in the window: 50; no volume since the start: 0 |
//! | `obv_slope_20` | least-squares slope of on-balance volume per bar/mean volume | 0 |
//! | `hour_sin`, `hour_cos` | UTC time of day of the bar's open, as an angle | |
//! | `weekday_sin`, `weekday_cos` | UTC weekday of the bar's open (Monday 0) of 7, as an angle | |

pub mod indicator;

mod calendar;
mod momentum;
mod returns;
mod rolling;
mod shape;
mod trend;
mod volatility;
mod volume;

use rayon::prelude::*;
use thiserror::Error;

use crate::Bars;

/// Number of features.
pub const N_FEATURE: usize = 48;

/// The longest warm-up of any feature: row 99 is the first that may be used.
pub const WARMUP_BARS: usize = 99;

/// Why features could not be computed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FeatureError {
    /// No bar lies after the warm-up.
    #[error("features need more than {warmup_bars} bars of warm-up, the data have {n_bars} bars")]
    TooShort {
        /// Rows that may not be used.
        warmup_bars: usize,
        /// Bars given.
        n_bars: usize,
    },
    /// Prices or volumes so large or small that f64 overflows.
    #[error("feature {name} is {value} at bar {bar}: the prices or volumes around it overflow")]
    NotFinite {
        /// The feature.
        name: String,
        /// The bar, from 0.
        bar: usize,
        /// What came out.
        value: f64,
    },
}

impl FeatureError {
    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::TooShort { warmup_bars, .. } => {
                format!("give at least {} bars, and more for training and testing", warmup_bars + 1)
            }
            Self::NotFinite { .. } => "look at the data around that bar, or express them in another unit".to_owned(),
        })
    }
}

/// One feature over all bars.
struct Column {
    name: String,
    /// Bars before the first defined value.
    warmup_bars: usize,
    /// NaN before the first defined value. `[n_bars]`
    values: Vec<f64>,
}

impl Column {
    fn new(name: impl Into<String>, warmup_bars: usize, values: Vec<f64>) -> Self {
        Self { name: name.into(), warmup_bars, values }
    }
}

/// Features that share work; run in parallel with the others.
type Job = fn(&Bars) -> Vec<Column>;

/// All features, in the table's order.
const FAMILIES: [&[Job]; 7] =
    [returns::JOBS, volatility::JOBS, shape::JOBS, momentum::JOBS, trend::JOBS, volume::JOBS, calendar::JOBS];

/// The features of every bar, unscaled.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureTable {
    names: Vec<String>,
    /// Bars before each feature's first defined value. `[n_feature]`
    warmups: Vec<usize>,
    n_bars: usize,
    /// Row-major. `[n_bars, n_feature]`
    values: Vec<f64>,
}

impl FeatureTable {
    /// Computes all [`N_FEATURE`] features of all bars, in parallel over features. O(n_bars).
    ///
    /// # Errors
    /// [`FeatureError::TooShort`] when no bar lies after the warm-up; [`FeatureError::NotFinite`] when prices or
    /// volumes overflow.
    pub fn compute(bars: &Bars) -> Result<Self, FeatureError> {
        let n_bars = bars.len();
        if n_bars <= WARMUP_BARS {
            return Err(FeatureError::TooShort { warmup_bars: WARMUP_BARS, n_bars });
        }
        let jobs = FAMILIES.concat();
        let groups: Vec<Vec<Column>> = jobs.par_iter().with_max_len(1).map(|job| job(bars)).collect();
        let columns: Vec<Column> = groups.into_iter().flatten().collect();
        if let Some((column, bar)) = first_not_finite(&columns) {
            return Err(FeatureError::NotFinite { name: column.name.clone(), bar, value: column.values[bar] });
        }
        let values = interleave(&columns, n_bars);
        let warmups = columns.iter().map(|c| c.warmup_bars).collect();
        Ok(Self { names: columns.into_iter().map(|c| c.name).collect(), warmups, n_bars, values })
    }

    /// The features' names, in the order of a row. `[n_feature]`
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Rows before this one may not be used.
    pub fn warmup_bars(&self) -> usize {
        self.warmups.iter().copied().max().unwrap_or(0)
    }

    /// Bars before each feature's first defined value. `[n_feature]`
    pub fn warmups(&self) -> &[usize] {
        &self.warmups
    }

    /// Features per bar.
    pub fn n_feature(&self) -> usize {
        self.names.len()
    }

    /// Number of rows, that of the bars.
    pub fn n_bars(&self) -> usize {
        self.n_bars
    }

    /// The features of bar t. `[n_feature]`
    ///
    /// # Panics
    /// When there is no bar t.
    pub fn row(&self, t: usize) -> &[f64] {
        let width = self.names.len();
        &self.values[t * width..(t + 1) * width]
    }

    /// All rows, row-major. `[n_bars, n_feature]`
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The position of a feature in a row, by name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }
}

/// The earliest value behind its warm-up that is not a finite number.
fn first_not_finite(columns: &[Column]) -> Option<(&Column, usize)> {
    let first = |column: &Column| {
        let usable = &column.values[column.warmup_bars..];
        usable.iter().position(|v| !v.is_finite()).map(|i| i + column.warmup_bars)
    };
    let bars: Vec<Option<usize>> = columns.par_iter().map(first).collect();
    let found = columns.iter().zip(bars).filter_map(|(column, bar)| bar.map(|bar| (column, bar)));
    found.min_by_key(|&(_, bar)| bar)
}

/// Columns to rows; 0 up to each column's warm-up.
fn interleave(columns: &[Column], n_bars: usize) -> Vec<f64> {
    // a block of rows stays in the first-level cache while the columns are dealt into it
    const BLOCK_BARS: usize = 64;
    let width = columns.len();
    let mut values = vec![0.0; n_bars * width];
    values.par_chunks_mut(BLOCK_BARS * width).enumerate().for_each(|(block, rows)| {
        let start = block * BLOCK_BARS;
        for (j, column) in columns.iter().enumerate() {
            let first = column.warmup_bars.saturating_sub(start);
            for (row, &value) in rows.chunks_exact_mut(width).zip(&column.values[start..]).skip(first) {
                row[j] = value;
            }
        }
    });
    values
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::synth::{RandomWalkConfig, random_walk};

    #[test]
    fn the_table_has_the_stated_shape() {
        let table = FeatureTable::compute(&random_walk(300, 1, &RandomWalkConfig::default()).unwrap()).unwrap();
        assert_eq!((table.n_feature(), table.warmup_bars(), table.n_bars()), (N_FEATURE, WARMUP_BARS, 300));
        let mut names = table.names().to_vec();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), N_FEATURE);
        assert_eq!(table.row(7).len(), N_FEATURE);
    }

    /// The declared warm-up is the number of undefined values, no more and no less.
    #[test]
    fn warmups_are_exact() {
        let bars = random_walk(300, 2, &RandomWalkConfig::default()).unwrap();
        for column in FAMILIES.concat().iter().flat_map(|job| job(&bars)) {
            let first = column.values.iter().position(|v| v.is_finite());
            assert_eq!(first, Some(column.warmup_bars), "{}", column.name);
            assert!(column.values[column.warmup_bars..].iter().all(|v| v.is_finite()), "{}", column.name);
        }
    }

    #[test]
    fn too_short_says_how_many() {
        let bars = random_walk(99, 1, &RandomWalkConfig::default()).unwrap();
        let error = FeatureTable::compute(&bars).unwrap_err();
        assert_eq!(error.to_string(), "features need more than 99 bars of warm-up, the data have 99 bars");
        assert!(error.hint().unwrap().contains("100 bars"));
    }

    #[test]
    fn overflow_is_named_not_hidden() {
        let mut columns = random_walk(300, 1, &RandomWalkConfig::default()).unwrap().into_columns();
        columns.volume[150] = 1e300;
        let error = FeatureTable::compute(&Bars::new(columns).unwrap()).err().unwrap();
        assert!(matches!(&error, FeatureError::NotFinite { bar: 150, .. }), "{error}");
    }
}
