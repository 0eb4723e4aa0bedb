//! What was found in a file, and how it is shown.

use std::path::Path;

use serde::Serialize;

use super::hours::Hours;
use crate::load::LoadError;
use crate::time::{DAY_NS, interval};

/// Examples kept of each finding.
pub const MAX_EXAMPLES: usize = 5;
/// Days named where each may be a holiday.
pub const MAX_DAYS: usize = 10;

/// Everything found in a file (or a member of an archive), from and to aside: what [`crate::load::load`] would cut off
/// is counted too.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DataReport {
    /// The file.
    pub path: String,
    /// Hex SHA-256 of its bytes as stored.
    pub sha256: String,
    /// How it is laid out.
    pub dialect: String,
    /// What the numbers of examples count, from 1: `line` of the unpacked text, `row` of Parquet, `record` of DBN.
    pub counted: &'static str,
    /// Whether it loads with the same options.
    pub loads: bool,
    /// Why not.
    pub refusal: Option<String>,
    /// Why the files that were given together do not make one series.
    pub series_refusal: Option<String>,
    /// What would mend that.
    pub hint: Option<String>,
    /// What loading notes; what reading notes, when the file doesn't load.
    pub notes: Vec<String>,
    /// Symbols in file order; empty where the file has no such column.
    pub symbols: Vec<String>,
    /// Rows of the file (of the chosen symbol), unreadable ones included.
    pub rows: usize,
    /// Earliest stamp, UTC.
    pub first: Option<String>,
    /// Latest stamp, UTC.
    pub last: Option<String>,
    /// Earliest stamp, UTC nanoseconds.
    pub first_ts: Option<i64>,
    /// Latest stamp, UTC nanoseconds.
    pub last_ts: Option<i64>,
    /// How the stamps run down the file.
    pub order: Order,
    /// Median distance of distinct stamps, nanoseconds; 0 where there is none.
    pub interval_ns: i64,
    /// Bars per year: the option's, else what the stamps show. `None` where there is no interval.
    pub periods_per_year: Option<f64>,
    /// Whether Saturdays show a market that never closes.
    pub always_open: bool,
    /// Whether any row has volume.
    pub has_volume: bool,
    /// Distances of more than one and a half intervals.
    pub gaps: Gaps,
    /// Of daily bars with sessions: runs of weekdays without a bar, but days that lack in other years too, as holidays
    /// do. The longest first, at most [`MAX_DAYS`].
    pub missing_weekdays: Finding,
    /// Weekdays without a bar that lack in other years too.
    pub likely_holidays: usize,
    /// Rows whose stamp (of the same symbol) an earlier line has.
    pub duplicates: Finding,
    /// Rows earlier than the one before, against the order of the file.
    pub unsorted: Finding,
    /// Rows with a price missing or not a number.
    pub missing_prices: Finding,
    /// Rows with a volume missing or not a number.
    pub missing_volumes: Finding,
    /// Rows without a time stamp, or with too many or too few fields.
    pub unreadable: Finding,
    /// Rows with high < low, or open or close outside them.
    pub ohlc_violations: Finding,
    /// Rows with a price of zero or below.
    pub non_positive_prices: Finding,
    /// Rows with a volume below zero.
    pub negative_volumes: Finding,
    /// Rows with volume 0, where the file has a volume column.
    pub zero_volume: Finding,
    /// Rows whose high equals their low.
    pub flat: Finding,
    /// Whether the rows are of one series. Rows of several symbols show no jumps, spikes, stale runs or hours together:
    /// those below are not looked for then, and their counts are 0.
    pub one_series: bool,
    /// Closes 15 robust standard deviations or more from the one before, in order of time.
    pub jumps: Finding,
    /// Days and ratios of jumps that look like splits.
    pub likely_splits: Vec<String>,
    /// Highs above, or lows below, both open and close by 15 usual ranges of a bar or more, in order of time.
    pub spikes: Finding,
    /// Runs of five or more bars with the same four prices.
    pub stale: Finding,
    /// Runs of ten or more bars with the same close while their opens move.
    pub frozen: Finding,
    /// Bars in the longest of them.
    pub longest_stale_run: usize,
    /// When the market trades, where the bars show it.
    pub hours: Option<Hours>,
    /// Whether rows are counted as they stand in the file, though they were repaired when it was loaded.
    pub before_repair: bool,
    /// Flags that would mend what was found.
    pub suggestions: Vec<String>,
}

impl DataReport {
    /// The interval and how many bars make a year, for people: `1 d, 252 bars a year`.
    pub fn pace(&self) -> String {
        let a_year = self.periods_per_year.map_or_else(|| "–".into(), |n| format!("{}", (n * 100.0).round() / 100.0));
        format!("{}, {a_year} bars a year", interval(self.interval_ns))
    }

    /// What bars show together, as it is shown: gaps, and of one series jumps and their like.
    pub fn of_bars(&self) -> Vec<Named<'_>> {
        let gaps = &self.gaps;
        let name = format!(
            "gaps (nights and weekends too), {} bar{} missing, the longest {}",
            gaps.missing_bars,
            if gaps.missing_bars == 1 { "" } else { "s" },
            interval(gaps.longest_ns)
        );
        let weekdays = match self.likely_holidays {
            0 => "runs of weekdays without a bar".to_owned(),
            n => {
                format!("runs of weekdays without a bar, besides {n} days that lack in other years too, as holidays do")
            }
        };
        let named = |name: &str, finding| Named::new(name.to_owned(), finding);
        let mut out = vec![Named { name, count: gaps.count, examples: &gaps.examples }];
        if !self.one_series {
            return out;
        }
        if self.interval_ns == DAY_NS && !self.always_open {
            out.push(Named::new(weekdays, &self.missing_weekdays));
        }
        out.extend([
            named("jumps of 15 robust deviations or more", &self.jumps),
            named("highs or lows 15 usual ranges or more beyond open and close", &self.spikes),
            named("runs of five or more equal bars", &self.stale),
            named("runs of ten or more equal closes while opens move", &self.frozen),
        ]);
        out
    }

    /// What is not looked for in rows of several symbols, for people.
    pub fn left_out(&self) -> Option<&'static str> {
        (!self.one_series)
            .then_some("jumps, spikes, stale runs and hours are those of one symbol: choose it with --symbol")
    }

    /// What single rows show, as it is shown.
    pub fn of_rows(&self) -> Vec<Named<'_>> {
        let named = |name: &str, finding| Named::new(name.to_owned(), finding);
        vec![
            named("duplicate stamps", &self.duplicates),
            named("rows out of order", &self.unsorted),
            named("rows without a price", &self.missing_prices),
            named("rows without a volume", &self.missing_volumes),
            named("rows that cannot be read", &self.unreadable),
            named("rows whose open or close lies outside low to high", &self.ohlc_violations),
            named("rows with a price of zero or below", &self.non_positive_prices),
            named("rows with a negative volume", &self.negative_volumes),
            named("rows without trades (volume 0)", &self.zero_volume),
            named("flat bars (open = high = low = close)", &self.flat),
        ]
    }

    /// Of a file that could not be read at all: nothing but why.
    pub(super) fn refused(path: &Path, error: &LoadError) -> Self {
        let path = path.display().to_string();
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self { path, refusal: Some(format!("{error}{cause}")), hint: error.hint(), ..Self::default() }
    }
}

impl<'a> Named<'a> {
    fn new(name: String, finding: &'a Finding) -> Self {
        Self { name, count: finding.count, examples: &finding.examples }
    }
}

/// A finding as it is shown.
#[derive(Debug)]
pub struct Named<'a> {
    /// What was counted: `duplicate stamps`.
    pub name: String,
    /// Occurrences.
    pub count: usize,
    /// Some of them.
    pub examples: &'a [Example],
}

/// How stamps run down a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Oldest first.
    #[default]
    Ascending,
    /// Newest first.
    Descending,
    /// Ascending (or descending) within each symbol, one symbol after the other or mixed.
    Grouped,
    /// None of these.
    Unsorted,
}

/// How often something occurs, and where first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Finding {
    /// Occurrences, in rows.
    pub count: usize,
    /// The first [`MAX_EXAMPLES`].
    pub examples: Vec<Example>,
}

/// One occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Line (row, record) of the file.
    pub line: u64,
    /// What is there.
    pub text: String,
}

/// Distances between neighbouring distinct stamps (of all symbols together) longer than 1.5 intervals. A distance d
/// lacks round(d / interval) − 1 bars. Nights and weekends of a session market are gaps like any other.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Gaps {
    /// Number of gaps.
    pub count: usize,
    /// Bars lacking in all of them.
    pub missing_bars: u64,
    /// The longest distance between neighbours, gap or not, nanoseconds.
    pub longest_ns: i64,
    /// The longest, at most [`MAX_EXAMPLES`]: the line after the gap.
    pub examples: Vec<Example>,
}

impl Finding {
    pub(super) fn add(&mut self, line: u64, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < MAX_EXAMPLES {
            self.examples.push(Example { line, text: text() });
        }
    }
}
