//! [`RunReport`]: everything a report shows, and what `report.json` holds ([`RunReport::on_disk`]).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use gigabar_backtest::{EvalReport, Path, Trade};
use gigabar_market::Bars;
use serde::{Deserialize, Serialize};

use super::{ChoicesReport, SeedsReport, SweepReport, decimate};

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// gigabar's version.
    pub version: String,
    /// The command that made it, as typed.
    pub command: String,
    /// When it was made, ISO 8601 in UTC.
    pub created: String,
    /// What it was made from.
    pub data: DataSummary,
    /// The device that computed it, or several in order.
    pub device: String,
    /// The seed all randomness derives from.
    pub seed: u64,
    /// Every setting, resolved, as TOML.
    pub settings_toml: String,
    /// The metrics.
    pub report: EvalReport,
    /// One curve per window, in the order of `report.windows`.
    pub curves: Vec<WindowCurve>,
    /// One curve per trained fold; empty for a backtest.
    pub training: Vec<TrainingCurve>,
    /// Why the bars traded may not be unseen ones, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// The sweep whose best set the rest of the report is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepReport>,
    /// What other seeds made of the same training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<SeedsReport>,
    /// Which parameters each fold of a rule's walk-forward chose on its train part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<ChoicesReport>,
}

/// The data a run read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSummary {
    /// The file, as given.
    pub path: String,
    /// SHA-256 of the file's bytes, hexadecimal.
    pub sha256: String,
    /// The instrument, where known.
    pub symbol: Option<String>,
    /// Number of bars.
    pub n_bars: usize,
    /// Opening time of the first bar, UTC nanoseconds.
    pub first_ts: i64,
    /// Opening time of the last bar, UTC nanoseconds.
    pub last_ts: i64,
    /// Usual distance between two bars, nanoseconds.
    pub interval_ns: i64,
    /// Bars a year, the factor that annualises.
    pub periods_per_year: f64,
    /// Bars with volume 0 in a series that has volume: they fill no order.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_silent: usize,
    /// What the loader noticed or mended.
    pub notes: Vec<String>,
    /// The files, where there are several; `path` and `sha256` then list theirs, separated by commas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DataFile>,
}

/// One of several files that make a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// The file, as given.
    pub path: String,
    /// SHA-256 of the file's bytes, hexadecimal.
    pub sha256: String,
}

impl DataSummary {
    /// Of bars read from several files, or one.
    pub fn of_files(files: Vec<DataFile>, bars: &Bars, notes: &[String]) -> Self {
        let joined = |of: fn(&DataFile) -> &str| files.iter().map(of).collect::<Vec<_>>().join(", ");
        let summary = Self::new(&joined(|file| &file.path), &joined(|file| &file.sha256), bars, notes);
        Self { files: if files.len() > 1 { files } else { Vec::new() }, ..summary }
    }

    /// Of bars read from the file `path` with that hash.
    pub fn new(path: &str, sha256: &str, bars: &Bars, notes: &[String]) -> Self {
        let ts = bars.ts();
        Self {
            files: Vec::new(),
            path: path.into(),
            sha256: sha256.into(),
            symbol: bars.symbol().map(Into::into),
            n_bars: bars.len(),
            first_ts: ts.first().copied().unwrap_or_default(),
            last_ts: ts.last().copied().unwrap_or_default(),
            interval_ns: bars.interval_ns(),
            periods_per_year: bars.periods_per_year(),
            n_silent: if bars.has_volume() { bars.volume().iter().filter(|volume| **volume == 0.0).count() } else { 0 },
            notes: notes.to_vec(),
        }
    }
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// Bars of all windows up to which `report.json` keeps the curves whole.
const WHOLE_BARS: usize = 200_000;
/// Points of longer curves that it keeps, and their trades; `equity.csv` and `trades.csv` hold all.
const KEPT_POINTS: usize = 40_000;
const KEPT_TRADES: usize = 2_000;

impl RunReport {
    /// What `report.json` holds: this, unless the curves are so long that only what a chart needs of them is kept: of
    /// every stretch of bars the first, the last, and the highest and lowest point of each series; of the trades the
    /// best and the worst.
    pub fn on_disk(&self) -> Cow<'_, Self> {
        let n_bars: usize = self.curves.iter().map(|curve| curve.ts.len()).sum();
        if n_bars <= WHOLE_BARS {
            return Cow::Borrowed(self);
        }
        let share = |n: usize, most: usize| (most as f64 * n as f64 / n_bars as f64).ceil() as usize;
        let thin = |curve: &WindowCurve| {
            curve.thinned(share(curve.ts.len(), KEPT_POINTS), share(curve.ts.len(), KEPT_TRADES).next_multiple_of(2))
        };
        Cow::Owned(Self {
            version: self.version.clone(),
            command: self.command.clone(),
            created: self.created.clone(),
            data: self.data.clone(),
            device: self.device.clone(),
            seed: self.seed,
            settings_toml: self.settings_toml.clone(),
            report: self.report.clone(),
            curves: self.curves.iter().map(thin).collect(),
            training: self.training.clone(),
            seen: self.seen.clone(),
            sweep: self.sweep.clone(),
            seeds: self.seeds.clone(),
            choices: self.choices.clone(),
        })
    }

    /// Whether bars or trades are missing from the curves.
    pub fn is_thinned(&self) -> bool {
        self.curves.iter().any(|curve| curve.thinned_from.is_some())
    }
}

/// One test window, bar by bar: what the charts draw. All columns have the window's number of bars, or fewer where they
/// come from a long run's `report.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowCurve {
    /// Its place among the windows.
    pub index: usize,
    /// Bars the window has, where the columns keep fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinned_from: Option<usize>,
    /// Bar opens, UTC nanoseconds. `[n_bars]`
    pub ts: Vec<i64>,
    /// The account's equity at each close. `[n_bars]`
    pub equity: Vec<f64>,
    /// Equity of buy-and-hold, close to close without costs, from the same start. `[n_bars]`
    pub benchmark: Vec<f64>,
    /// units·close/equity at each close. `[n_bars]`
    pub exposure: Vec<f64>,
    /// Level held at each close. `[n_bars]`
    pub level: Vec<f64>,
    /// Closes. `[n_bars]`
    pub close: Vec<f64>,
    /// Closed trades; their bars are indices into the data set.
    pub trades: Vec<Trade>,
    /// Opening time of the first bar trained on, UTC nanoseconds.
    pub train_first_ts: Option<i64>,
    /// Opening time of the last bar trained on, UTC nanoseconds.
    pub train_last_ts: Option<i64>,
}

impl WindowCurve {
    /// Of the path a policy took through `bars`, after training on the bars `train`, if any.
    ///
    /// # Panics
    /// When the path or `train` reaches beyond `bars`.
    pub fn new(index: usize, bars: &Bars, path: &Path, train: Option<&Range<usize>>) -> Self {
        let window = path.first_bar..path.first_bar + path.equity.len();
        let close = &bars.close()[window.clone()];
        let initial = path.equity[0];
        let exposure = path.units.iter().zip(close).zip(&path.equity);
        Self {
            index,
            thinned_from: None,
            ts: bars.ts()[window].to_vec(),
            equity: path.equity.clone(),
            benchmark: close.iter().map(|c| initial * (c / close[0])).collect(),
            exposure: exposure.map(|((units, close), equity)| share(units * close, *equity)).collect(),
            level: path.level.clone(),
            close: close.to_vec(),
            trades: path.trades.clone(),
            train_first_ts: train.map(|range| bars.ts()[range.start]),
            train_last_ts: train.map(|range| bars.ts()[range.end - 1]),
        }
    }
}

impl WindowCurve {
    /// At most about `max_points` bars and `max_trades` trades of it.
    fn thinned(&self, max_points: usize, max_trades: usize) -> Self {
        let series = [&self.equity[..], &self.benchmark, &self.exposure, &self.close];
        let kept = decimate::keep(&series, self.ts.len(), max_points);
        let pick = |values: &[f64]| kept.iter().map(|&i| values[i]).collect();
        Self {
            index: self.index,
            thinned_from: Some(self.ts.len()),
            ts: kept.iter().map(|&i| self.ts[i]).collect(),
            equity: pick(&self.equity),
            benchmark: pick(&self.benchmark),
            exposure: pick(&self.exposure),
            level: pick(&self.level),
            close: pick(&self.close),
            trades: best_and_worst(&self.trades, max_trades),
            train_first_ts: self.train_first_ts,
            train_last_ts: self.train_last_ts,
        }
    }
}

/// The best and the worst `most` / 2 trades, in the order they were in.
fn best_and_worst(trades: &[Trade], most: usize) -> Vec<Trade> {
    let mut order: Vec<usize> = (0..trades.len()).collect();
    if order.len() > most {
        order.sort_by(|&a, &b| trades[a].pnl.total_cmp(&trades[b].pnl));
        order.drain(most / 2..trades.len() - most / 2);
        order.sort_unstable();
    }
    order.into_iter().map(|i| trades[i].clone()).collect()
}

fn share(value: f64, equity: f64) -> f64 {
    if equity > 0.0 { value / equity } else { 0.0 }
}

/// How the training of one fold went, one value per epoch in every series.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingCurve {
    /// The fold's place among the folds.
    pub fold: usize,
    /// Epochs. `[n_epoch]`
    pub epoch: Vec<usize>,
    /// Series by name: loss, q_mean, mean_reward, epsilon, … NaN where an epoch has no value, `null` in JSON.
    /// `[n_epoch]`
    #[serde(with = "nullable")]
    pub series: BTreeMap<String, Vec<f64>>,
}

/// JSON has no NaN: an undefined value is `null` on disk and NaN in memory.
mod nullable {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(series: &BTreeMap<String, Vec<f64>>, to: S) -> Result<S::Ok, S::Error> {
        let optional = |values: &Vec<f64>| values.iter().map(|v| v.is_finite().then_some(*v)).collect::<Vec<_>>();
        series.iter().map(|(name, values)| (name, optional(values))).collect::<BTreeMap<_, _>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<f64>>, D::Error> {
        let series = BTreeMap::<String, Vec<Option<f64>>>::deserialize(from)?;
        let plain = |values: Vec<Option<f64>>| values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        Ok(series.into_iter().map(|(name, values)| (name, plain(values))).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn curve(n: usize) -> WindowCurve {
        let wave = |at: usize| (0..n).map(|i| 100.0 + ((i * at) % 97) as f64).collect::<Vec<f64>>();
        let trade = |i: usize| Trade {
            side: 1,
            entry_bar: i,
            exit_bar: i + 1,
            units: 1.0,
            entry_price: 1.0,
            exit_price: 1.0,
            pnl: ((i * 7919) % 10_007) as f64,
            trade_return: 0.0,
            bars_held: 1,
            exit: gigabar_backtest::ExitReason::Signal,
        };
        WindowCurve {
            index: 3,
            thinned_from: None,
            ts: (0..n as i64).collect(),
            equity: wave(31),
            benchmark: wave(5),
            exposure: wave(1),
            level: wave(2),
            close: wave(3),
            trades: (0..n / 20).map(trade).collect(),
            train_first_ts: None,
            train_last_ts: None,
        }
    }

    #[test]
    fn a_thinned_curve_keeps_ends_spikes_and_the_trades_that_count() {
        let mut whole = curve(300_000);
        whole.equity[123_456] = 1e6;
        let thin = whole.thinned(4_000, 100);
        // Ten points for each of 400 buckets at most, fewer where extremes lie on a bucket's ends.
        assert!(thin.ts.len() <= 4_000, "{}", thin.ts.len());
        assert!(thin.ts.windows(2).all(|w| w[1] - w[0] < 300_000 / 400), "a gap wider than a bucket");
        assert_eq!((thin.thinned_from, thin.ts[0], thin.ts.last()), (Some(300_000), 0, Some(&299_999)));
        let at = thin.ts.iter().position(|&ts| ts == 123_456).unwrap();
        assert_eq!((thin.equity[at], thin.level[at]), (1e6, whole.level[123_456]));
        let best = |curve: &WindowCurve| curve.trades.iter().map(|trade| trade.pnl).fold(0.0, f64::max);
        assert_eq!((thin.trades.len(), best(&thin)), (100, best(&whole)));
        assert!(thin.trades.is_sorted_by_key(|trade| trade.entry_bar));
    }

    #[test]
    fn undefined_training_values_are_null_in_json() {
        let series = BTreeMap::from([("loss".to_owned(), vec![0.5, f64::NAN])]);
        let curve = TrainingCurve { fold: 1, epoch: vec![0, 1], series };
        let json = serde_json::to_string(&curve).unwrap();
        assert_eq!(json, r#"{"fold":1,"epoch":[0,1],"series":{"loss":[0.5,null]}}"#);
        let back: TrainingCurve = serde_json::from_str(&json).unwrap();
        assert!(back.series["loss"][1].is_nan());
    }
}
