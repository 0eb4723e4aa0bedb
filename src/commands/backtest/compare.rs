//! Several strategies of a file of signals: each over every window, then which of them was the best.

use std::ops::Range;
use std::sync::Mutex;

use gigabar::report::csv;
use gigabar::report::sweep::{self, StrategyResult, SweepReport};
use gigabar_backtest::cpu::engine::replay;
use gigabar_backtest::metric::{MetricInfo, Trials, WindowMetrics};
use gigabar_backtest::policy::Signals;
use gigabar_backtest::{EvalReport, Policy};
use gigabar_gpu::Device;
use rayon::prelude::*;
use serde::Serialize;

use super::Job;
use crate::evaluation::{Traded, replay_on_gpu};
use crate::progress::Quiet;
use crate::run_folder::RunFolder;

/// What the accounts of strategies traded side by side may take, and what a bar of one takes while it is measured.
/// Bytes.
const MEMORY: usize = 8 << 30;
const BAR_BYTES: usize = 160;

/// Strategies that have traded.
pub(super) struct Compared {
    /// In the order of the file.
    strategies: Vec<StrategyResult>,
    /// Index of the best.
    pub(super) best: usize,
    pub(super) trials: Trials,
    pub(super) report: SweepReport,
    seconds: f64,
}

/// How many are done.
struct Progress {
    bar: Quiet,
    done: u64,
    total: u64,
}

impl Progress {
    fn step(this: &Mutex<Self>) {
        // A listener that panicked is not called again.
        if let Ok(mut progress) = this.lock() {
            progress.done += 1;
            let Self { done, total, .. } = *progress;
            progress.bar.update(done, total);
        }
    }
}

impl Job<'_> {
    /// Trades each of the strategies of `file`, and measures it as if it were alone.
    pub(super) fn compare(
        &mut self,
        file: &str,
        strategies: &[Signals],
        sort: &MetricInfo,
    ) -> anyhow::Result<Compared> {
        self.printer.say(format_args!("signals: {} strategies of {file}", strategies.len()));
        let bar = Quiet::new(self.printer, "strategies");
        let progress = Mutex::new(Progress { bar, done: 0, total: strategies.len() as u64 });
        let results = self.results(strategies, &progress)?;
        let took = progress.into_inner().map(|progress| progress.bar.end()).unwrap_or_default();
        let rows: Vec<_> = results.iter().map(|one| one.row).collect();
        let periods_per_year = self.dataset.bars.periods_per_year();
        Ok(Compared {
            report: SweepReport::of_strategies(file, &results, self.windows.len(), sort, periods_per_year),
            best: sweep::best_strategies(&results, sort, 1)[0],
            trials: sweep::trials(&rows, periods_per_year),
            seconds: took.as_secs_f64(),
            strategies: results,
        })
    }

    /// In the order of `strategies`.
    fn results(&mut self, strategies: &[Signals], progress: &Mutex<Progress>) -> anyhow::Result<Vec<StrategyResult>> {
        let (dataset, windows, metric) = (self.dataset, self.windows, self.config.metric);
        let rules = dataset.rules(&self.config.sim)?;
        let result = |signals: &Signals, Traded { paths, report }: Traded| {
            let measured = || EvalReport::new(&signals.name(), &dataset.bars, &paths, &metric, 1);
            let result = StrategyResult::new(report.unwrap_or_else(measured), &dataset.bars, &paths);
            Progress::step(progress);
            result
        };
        let on_gpu = |device: &Device| {
            let one = |signals: &Signals| {
                let given = (&*signals.name(), signals.levels());
                Ok(result(signals, replay_on_gpu(device, dataset, &rules, windows, given, &metric)?))
            };
            strategies.iter().map(one).collect()
        };
        let on_cpu = || {
            let market = dataset.market();
            let one = |signals: &Signals| {
                let levels = |window: &Range<usize>| &signals.levels()[window.start..window.end - 1];
                let paths = windows.iter().map(|window| replay(&rules, &market, window.clone(), levels(window)));
                result(signals, Traded::unmeasured(paths.collect()))
            };
            let at_once = (MEMORY / (BAR_BYTES * dataset.bars.len())).max(1);
            Ok(strategies.chunks(at_once).flat_map(|some| some.par_iter().map(one).collect::<Vec<_>>()).collect())
        };
        self.compute.run(self.printer, on_gpu, on_cpu)
    }
}

impl Compared {
    /// Writes `strategies.csv`.
    pub(super) fn write(&self, folder: &RunFolder) -> anyhow::Result<()> {
        folder.stream("strategies.csv", |file| Ok(csv::write_strategies(file, &self.strategies)?))
    }

    /// All of it for `--json`.
    pub(super) fn json(&self) -> impl Serialize {
        Comparison {
            file: &self.report.grid,
            sort: &self.report.sort,
            n_profitable: self.report.n_profitable,
            n_idle: self.report.n_idle,
            median: self.report.median,
            luck_sharpe: self.report.luck_sharpe,
            seconds: self.seconds,
            best: self.best,
            strategies: self.strategies.iter().map(Json::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct Comparison<'a> {
    file: &'a str,
    sort: &'a str,
    n_profitable: usize,
    n_idle: usize,
    median: Option<f64>,
    luck_sharpe: Option<f64>,
    seconds: f64,
    /// Index into `strategies`.
    best: usize,
    /// In the order of the file.
    strategies: Vec<Json<'a>>,
}

/// One strategy: its name, then its metrics, pooled over the windows.
#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    #[serde(flatten)]
    metrics: &'a WindowMetrics,
}

impl<'a> Json<'a> {
    fn of(one: &'a StrategyResult) -> Self {
        Self { name: &one.name, metrics: &one.metrics }
    }
}
