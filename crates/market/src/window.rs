//! Walk-forward windows: train on the past, test on what follows, move on.
//!
//! ```text
//! rolling    warm-up | train ────── |purge| test |
//!                           train ────── |embargo|purge| test |
//!                                  train ────── |embargo|purge| test |  end of data
//! anchored   warm-up | train ────── |purge| test |
//!                    | train ───────────── |embargo|purge| test | …
//! ```
//!
//! Tests are equally long, contiguous, in order, and end with the data. A train range ends before its test:
//! - `purge_bars` are dropped between every train and its test, so that what the last train bars look ahead to (n-step
//!   returns, forecast targets) does not lie in the test.
//! - `embargo_bars` is about bars that were tested. In cross-validation it drops the bars *after* a test from the train;
//!   here those bars are the next test and no train holds them anyway. What remains of the idea, and what is done: bars
//!   spent in a test rest before a train may use them. Every train that follows a test ends `embargo_bars` earlier
//!   still, so that the newest `embargo_bars` bars of the test before it, whose outcome is most entangled with the test
//!   that comes, are left out. The first window has no test before it and no embargo.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A part shorter than this holds no decision with an outcome.
const MIN_PART_BARS: usize = 2;

/// Train bars per test bar when neither length is given.
const TRAIN_PER_TEST: usize = 4;

/// How the train range moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WalkForwardMode {
    /// Always equally long: forgets the distant past.
    #[default]
    Rolling,
    /// Always from the same first bar: grows.
    Anchored,
}

/// How to cut the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WalkForwardConfig {
    /// Number of windows. Default 5.
    pub n_windows: usize,
    /// How the train range moves. Default rolling.
    pub mode: WalkForwardMode,
    /// Bars of a train range (of the first one when anchored). Default: all that the tests leave.
    pub train_bars: Option<usize>,
    /// Bars of a test range. Default: all that `train_bars` leaves, in equal parts; without `train_bars`, a quarter of
    /// a train range or a little less.
    pub test_bars: Option<usize>,
    /// Bars dropped between a train range and its test. Default 0.
    pub purge_bars: usize,
    /// Tested bars dropped from the end of the train ranges that follow; at most a test's length. Default 0.
    pub embargo_bars: usize,
}

impl Default for WalkForwardConfig {
    fn default() -> Self {
        Self {
            n_windows: 5,
            mode: WalkForwardMode::Rolling,
            train_bars: None,
            test_bars: None,
            purge_bars: 0,
            embargo_bars: 0,
        }
    }
}

/// One train range and the unseen test range after it, in bar indices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkForwardWindow {
    /// Place in the sequence, from 0.
    pub index: usize,
    /// Bars to learn from.
    pub train: Range<usize>,
    /// Bars to be judged on, all later than those of `train`.
    pub test: Range<usize>,
}

/// Why the data cannot be cut as asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WindowError {
    /// `n_windows` is 0.
    #[error("n_windows is 0; a walk-forward test needs at least one window")]
    NoWindows,
    /// A given length cannot hold a decision and its outcome.
    #[error("{field} is {got}; it must be at least {MIN_PART_BARS}")]
    TooSmall {
        /// `train_bars` or `test_bars`.
        field: &'static str,
        /// Its value.
        got: usize,
    },
    /// The embargo is longer than the test it follows.
    #[error("embargo_bars {embargo_bars} is longer than a test of {test_bars} bars")]
    Embargo {
        /// Bars of embargo.
        embargo_bars: usize,
        /// Bars of a test.
        test_bars: usize,
    },
    /// The data are too short.
    #[error(
        "needs {needed} bars, has {n_bars}: warm-up {warmup_bars} + train {train_bars} + purge {purge_bars} + \
         {n_windows} x test {test_bars}"
    )]
    TooShort {
        /// Bars needed.
        needed: usize,
        /// Bars there are.
        n_bars: usize,
        /// Bars of warm-up.
        warmup_bars: usize,
        /// Bars of the first train range.
        train_bars: usize,
        /// Bars between train and test.
        purge_bars: usize,
        /// Number of tests.
        n_windows: usize,
        /// Bars of a test.
        test_bars: usize,
    },
}

impl WindowError {
    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        Some(match *self {
            Self::NoWindows => "set n_windows to 1 or more".to_owned(),
            Self::TooSmall { field, .. } => format!("give {field} more bars, or leave it out to use all data"),
            Self::Embargo { test_bars, .. } => format!("set embargo_bars to {test_bars} or less, or test_bars higher"),
            Self::TooShort { n_bars, warmup_bars, train_bars, purge_bars, test_bars, .. } => {
                let before = [train_bars, purge_bars].iter().fold(warmup_bars, |a, &b| a.saturating_add(b));
                match n_bars.saturating_sub(before) / test_bars {
                    0 => "give more bars, or lower train_bars, test_bars or purge_bars".to_owned(),
                    fit => format!("set n_windows to {fit} or less, lower train_bars or test_bars, or give more bars"),
                }
            }
        })
    }
}

/// Cuts bars `warmup_bars..n_bars` into train and test ranges; see the module for what purge and embargo do.
///
/// # Errors
/// [`WindowError`] when the configuration makes no sense or the data are too short for it.
pub fn walk_forward(
    n_bars: usize,
    warmup_bars: usize,
    config: &WalkForwardConfig,
) -> Result<Vec<WalkForwardWindow>, WindowError> {
    let (train_bars, test_bars) = lengths(n_bars, warmup_bars, config)?;
    if config.embargo_bars > test_bars && config.n_windows > 1 {
        return Err(WindowError::Embargo { embargo_bars: config.embargo_bars, test_bars });
    }
    let first_test = n_bars - config.n_windows * test_bars;
    let anchor = first_test - config.purge_bars - train_bars;
    let window = |index: usize| {
        let start = first_test + index * test_bars;
        let embargo_bars = if index == 0 { 0 } else { config.embargo_bars };
        let end = start - config.purge_bars - embargo_bars;
        let train_start = match config.mode {
            WalkForwardMode::Rolling => end - train_bars,
            WalkForwardMode::Anchored => anchor,
        };
        WalkForwardWindow { index, train: train_start..end, test: start..start + test_bars }
    };
    Ok((0..config.n_windows).map(window).collect())
}

/// Bars of (the first) train range and of every test range.
fn lengths(n_bars: usize, warmup_bars: usize, config: &WalkForwardConfig) -> Result<(usize, usize), WindowError> {
    let (n_windows, purge_bars) = (config.n_windows, config.purge_bars);
    if n_windows == 0 {
        return Err(WindowError::NoWindows);
    }
    for (field, given) in [("train_bars", config.train_bars), ("test_bars", config.test_bars)] {
        if let Some(got) = given.filter(|&bars| bars < MIN_PART_BARS) {
            return Err(WindowError::TooSmall { field, got });
        }
    }
    let usable = n_bars.saturating_sub(warmup_bars).saturating_sub(purge_bars);
    let test_bars = config.test_bars.unwrap_or_else(|| match config.train_bars {
        Some(train_bars) => usable.saturating_sub(train_bars) / n_windows,
        None => usable / n_windows.saturating_add(TRAIN_PER_TEST),
    });
    let test_bars = test_bars.max(MIN_PART_BARS);
    let tested = n_windows.saturating_mul(test_bars);
    let train_bars = config.train_bars.unwrap_or_else(|| usable.saturating_sub(tested).max(MIN_PART_BARS));
    let needed = [train_bars, purge_bars, tested].iter().fold(warmup_bars, |a, &b| a.saturating_add(b));
    if needed > n_bars {
        return Err(WindowError::TooShort {
            needed,
            n_bars,
            warmup_bars,
            train_bars,
            purge_bars,
            n_windows,
            test_bars,
        });
    }
    Ok((train_bars, test_bars))
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
