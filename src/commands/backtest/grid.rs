//! A grid of a rule's parameters: every set over every window, then what the best of them was.

use std::ops::Range;
use std::time::Duration;

use gigabar::report::sweep::{self, COLUMNS, SweepColumn};
use gigabar::report::{SweepReport, csv};
use gigabar_backtest::Policy;
use gigabar_backtest::gpu::GpuSweep;
use gigabar_backtest::metric::Trials;
use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep::{SweepRow, cpu_windows};
use gigabar_gpu::Device;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::Job;
use crate::progress::Quiet;
use crate::run_folder::RunFolder;

/// A grid that has run.
pub(super) struct Swept<'a> {
    grid: &'a Grid,
    /// One per set, pooled over the windows. `[n_set]`
    rows: Vec<SweepRow>,
    best: usize,
    pub(super) trials: Trials,
    pub(super) report: SweepReport,
    seconds: f64,
}

impl Job<'_> {
    /// Runs every set of `grid`, which was typed as `text`, and says how fast.
    pub(super) fn sweep<'a>(&mut self, text: &str, grid: &'a Grid, sort: &SweepColumn) -> anyhow::Result<Swept<'a>> {
        let count = |n: usize| gigabar_backtest::metric::Format::Count.text(Some(n as f64));
        let left_out = match grid.n_skipped() {
            0 => String::new(),
            n => format!(", {} combinations left out as not allowed", count(n)),
        };
        self.printer.say(format_args!("grid: {} sets of {}{left_out}", count(grid.len()), grid.strategy()));
        let mut progress = Quiet::new(self.printer, "sweep");
        let windows = self.sweep_windows(grid, &mut progress)?;
        let took = progress.end();
        let rows = sweep::pooled(windows);
        let bars = rows.iter().map(|row| u64::from(row.n_bars)).sum();
        self.printer.say(rate(bars, took));
        let periods_per_year = self.dataset.bars.periods_per_year();
        let report = SweepReport::new(text, grid, &rows, self.windows.len(), sort, periods_per_year);
        let best = sweep::best(&rows, sort, 1)[0];
        let trials = sweep::trials(&rows, periods_per_year);
        Ok(Swept { grid, rows, best, trials, report, seconds: took.as_secs_f64() })
    }

    /// `[window][set]`
    fn sweep_windows(&mut self, grid: &Grid, progress: &mut Quiet) -> anyhow::Result<Vec<Vec<SweepRow>>> {
        let (rules, market) = (self.dataset.rules(&self.config.sim)?, self.dataset.market());
        let (windows, risk_free) = (self.windows, self.config.metric.risk_free);
        let on_gpu = |device: &Device| {
            let one = |window: &Range<usize>| {
                Ok(GpuSweep::new(device, &market, &rules, window.clone())?.run(grid, risk_free)?)
            };
            windows.iter().map(one).collect()
        };
        let told = |done, total| progress.update(done, total);
        self.compute.run(self.printer, on_gpu, || Ok(cpu_windows(&rules, &market, windows, grid, risk_free, told)?))
    }
}

/// `12.3 M bar evaluations in 0.42 s, 29.3 M a second`.
fn rate(bars: u64, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    let per_second = if seconds > 0.0 { bars as f64 / seconds } else { 0.0 };
    format!("swept: {} bar evaluations in {seconds:.2} s, {} a second", short(bars as f64), short(per_second))
}

/// Three significant digits and a prefix.
fn short(value: f64) -> String {
    let (scale, prefix) = match value {
        v if v >= 1e9 => (1e9, " G"),
        v if v >= 1e6 => (1e6, " M"),
        v if v >= 1e4 => (1e3, " k"),
        _ => (1.0, ""),
    };
    let scaled = value / scale;
    let decimals = if prefix.is_empty() || scaled >= 100.0 { 0 } else { 1 + usize::from(scaled < 10.0) };
    format!("{scaled:.decimals$}{prefix}")
}

impl Swept<'_> {
    /// The best set.
    pub(super) fn best_policy(&self) -> Box<dyn Policy> {
        self.grid.policy(self.best)
    }

    /// Writes `sweep.csv`.
    pub(super) fn write(&self, folder: &RunFolder) -> anyhow::Result<()> {
        folder.stream("sweep.csv", |file| Ok(csv::write_sweep(file, self.grid, &self.rows)?))
    }

    /// All of it for `--json`.
    pub(super) fn json(&self) -> impl Serialize {
        Json {
            grid: &self.report.grid,
            sort: &self.report.sort,
            n_skipped: self.report.n_skipped,
            n_profitable: self.report.n_profitable,
            n_idle: self.report.n_idle,
            median: self.report.median,
            luck_sharpe: self.report.luck_sharpe,
            seconds: self.seconds,
            best: self.best,
            sets: Sets(self),
        }
    }
}

#[derive(Serialize)]
struct Json<'a> {
    grid: &'a str,
    sort: &'a str,
    n_skipped: usize,
    n_profitable: usize,
    n_idle: usize,
    median: Option<f64>,
    luck_sharpe: Option<f64>,
    seconds: f64,
    /// Index into `sets`.
    best: usize,
    sets: Sets<'a>,
}

/// Every set, one after the other.
struct Sets<'a>(&'a Swept<'a>);

impl Serialize for Sets<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(swept) = self;
        let mut list = to.serialize_seq(Some(swept.rows.len()))?;
        for (i, row) in swept.rows.iter().enumerate() {
            list.serialize_element(&Set { grid: swept.grid, i, row })?;
        }
        list.end()
    }
}

/// One set: its values of all parameters, then its metrics.
struct Set<'a> {
    grid: &'a Grid,
    i: usize,
    row: &'a SweepRow,
}

impl Serialize for Set<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut set = to.serialize_map(None)?;
        for (name, label) in self.grid.parameters().iter().zip(self.grid.labels(self.i)) {
            // Labels are written as JSON writes numbers and flags.
            let value: serde_json::Value = serde_json::from_str(&label).unwrap_or(label.into());
            set.serialize_entry(name, &value)?;
        }
        for column in &COLUMNS {
            match (column.key, (column.value)(self.row)) {
                ("n_trades", _) => set.serialize_entry("n_trades", &self.row.n_trades)?,
                (key, value) => set.serialize_entry(key, &value)?,
            }
        }
        set.serialize_entry("ruined", &self.row.ruined)?;
        set.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        assert_eq!(
            [950.0, 12_340.0, 4_030_000.0, 33_600_000.0, 784e6, 2.34e10].map(short),
            ["950", "12.3 k", "4.03 M", "33.6 M", "784 M", "23.4 G"]
        );
        assert_eq!(
            rate(4_030_000, Duration::from_millis(120)),
            "swept: 4.03 M bar evaluations in 0.12 s, 33.6 M a second"
        );
    }
}
