//! [`Table`]: what every set of a sweep reads over one stretch of bars: indicators, and how far prices went.

use std::ops::Range;

use rayon::prelude::*;

use super::columns::Columns;
use super::word::WORD_BARS;
use crate::cpu::engine::Market;
use crate::policy::indicator::{Prices, Stream};
use crate::policy::strategy::MAX_INPUTS;

/// Bytes of indicators at a time. More than a second-level cache: columns are read in order and come early enough, and
/// the longer a stretch, the seldomer the accounts of all sets are fetched.
const TABLE_BYTES: usize = 1 << 23;
/// Bars of a stretch at least and at most, whole words. Fewer than the least would be spent on setting out.
const STRETCH_BARS: (usize, usize) = (512, 8192);
/// Bars of a stretch where even the least would take gigabytes.
const MANY_COLUMNS: usize = 1 << 14;

/// The columns of one stretch.
#[derive(Debug)]
pub(super) struct Table {
    streams: Vec<Stream>,
    /// `[n_column][stretch]`
    values: Vec<Vec<f64>>,
    /// First decision of the stretch.
    start: usize,
    /// Lowest low and highest high of the bars lived through after each word of decisions.
    extremes: Vec<(f64, f64)>,
}

impl Table {
    /// Of these columns, at the start of a series.
    pub(super) fn new(columns: &Columns) -> Self {
        let streams: Vec<_> = columns.indicators().iter().copied().map(Stream::new).collect();
        Self { values: vec![Vec::new(); streams.len()], streams, start: 0, extremes: Vec::new() }
    }

    /// Bars of a stretch: as many as the table has room for, whole words.
    pub(super) fn stretch_bars(&self) -> usize {
        let (least, most) = STRETCH_BARS;
        if self.values.len() > MANY_COLUMNS {
            return WORD_BARS;
        }
        let fit = TABLE_BYTES / (size_of::<f64>() * self.values.len().max(1));
        (fit / WORD_BARS * WORD_BARS).clamp(least, most)
    }

    /// Computes the columns at the closes of `decisions`, which follow those before.
    pub(super) fn fill(&mut self, market: &Market<'_>, decisions: Range<usize>) {
        let prices = Prices { high: market.high, low: market.low, close: market.close };
        self.streams.par_iter_mut().zip(&mut self.values).for_each(|(stream, values)| {
            values.clear();
            stream.fill(prices, decisions.clone(), values);
        });
        self.start = decisions.start;
        self.extremes.clear();
        self.extremes.extend(decisions.clone().step_by(WORD_BARS).map(|first| {
            let bars = first + 1..=decisions.end.min(first + WORD_BARS);
            let low = market.low[bars.clone()].iter().copied().fold(f64::INFINITY, f64::min);
            (low, market.high[bars].iter().copied().fold(0.0, f64::max))
        }));
    }

    /// Columns `columns` at the decisions `span` of the stretch.
    #[inline(always)]
    pub(super) fn inputs(&self, columns: [u32; MAX_INPUTS], span: Range<usize>) -> [&[f64]; MAX_INPUTS] {
        columns.map(|column| &self.values[column as usize][span.clone()])
    }

    /// Lowest low and highest high of the bars lived through after the word of decisions that begins at bar `first`.
    #[inline]
    pub(super) fn extremes(&self, first: usize) -> (f64, f64) {
        self.extremes[(first - self.start) / WORD_BARS]
    }
}
