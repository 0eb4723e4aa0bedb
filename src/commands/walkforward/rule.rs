//! `gigabar walkforward --strategy`: each fold chooses a rule's parameters on its train part and trades its test part.

use std::ops::Range;

use anyhow::Context;
use gigabar::report::choices::{ChoicesReport, FoldChoice, PartFigures, efficiency};
use gigabar::report::sweep::{self, SweepColumn};
use gigabar_backtest::EvalReport;
use gigabar_backtest::cpu::engine::Rules;
use gigabar_backtest::gpu::GpuSweep;
use gigabar_backtest::metric::{MetricConfig, Trials, WindowMetrics};
use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep::{SweepRow, cpu};
use gigabar_market::window::{WalkForwardWindow, walk_forward};

use super::super::train::name_of;
use crate::args::WalkforwardArgs;
use crate::dataset::Dataset;
use crate::device::{Compute, Wanted, Work};
use crate::evaluation::Traded;
use crate::outcome::{self, Outcome, Thresholds};
use crate::printer::Printer;
use crate::progress::Quiet;
use crate::run_folder::RunFolder;
use crate::setup;

/// Not the verb of a training run: there is nothing to continue.
const VERB: &str = "walkforward --strategy";
/// Settings it does not read.
const UNREAD: [&str; 6] = ["seed", "seeds", "train_share", "checkpoint_secs", "reward", "dqn"];

pub(super) fn run(args: &WalkforwardArgs, text: &str, thresholds: &Thresholds, printer: Printer) -> anyhow::Result<()> {
    let (grid, column) = (Grid::parse(text)?, sweep::column(args.sort.as_deref().unwrap_or("sharpe"))?);
    if args.sort.is_some() && grid.len() == 1 {
        printer.warn("--sort has no effect without a grid");
    }
    let config = setup::settings(VERB, &UNREAD, &setup::overrides(Some(&args.config), &args.data)?, printer)?;
    config.metric.validate()?;
    if let Some(out) = &args.run.out {
        RunFolder::check_for_result(out)?;
    }
    let wanted = Wanted::parse(&args.config.device)?;
    let dataset = Dataset::load(&args.files, &config.data, printer)?;
    let rules = dataset.rules(&config.sim)?;
    let windows = walk_forward(dataset.bars.len(), 0, &config.window).with_context(|| dataset.summary.path.clone())?;
    let train: Vec<Range<usize>> = windows.iter().map(|window| window.train.clone()).collect();
    let work = Work::Sweep { sets: grid.len(), bars: train.iter().map(Range::len).sum() };
    let mut compute = wanted.settle(work, printer);
    let chosen = Chooser { grid: &grid, column, dataset: &dataset, rules: &rules, metric: &config.metric }.choose(
        &windows,
        &mut compute,
        printer,
    )?;
    let trade = |(window, &set): (&WalkForwardWindow, &usize)| {
        dataset.trade(&rules, window.test.clone(), grid.policy(set).as_mut())
    };
    let traded = Traded::unmeasured(windows.iter().zip(&chosen.sets).map(trade).collect());
    let info = setup::run_info(VERB, text, &compute.name(), &dataset.summary);
    let outcome = Outcome::of(&config, &info, &dataset, &traded);
    let mut report = Outcome { trials: chosen.trials, train: &train, ..outcome }.report()?;
    let parts = chosen.sets.iter().zip(&train).zip(&report.report.windows);
    let folds: Vec<FoldChoice> = parts
        .map(|((&set, train), test)| fold(&grid, set, (&dataset, &rules), train, &test.metrics, column, &config.metric))
        .collect();
    report.choices = Some(ChoicesReport {
        grid: text.into(),
        axes: grid.axes().iter().map(|axis| axis.name.into()).collect(),
        n_sets: grid.len(),
        n_skipped: grid.n_skipped(),
        sort: column.key.into(),
        efficiency: ChoicesReport::pooled_efficiency(&folds),
        psr: report.report.psr,
        folds,
    });
    let folder = match &args.run.out {
        Some(out) => RunFolder::create_for_result(out, &config, &info, false, printer)?,
        None => RunFolder::create(None, &format!("{}-{}", name_of(&dataset), grid.strategy()), &config, &info)?,
    };
    outcome::write(&folder, &report, &dataset, &traded.paths)?;
    outcome::print(&report, Some(&folder), printer)?;
    thresholds.check(&report.report)
}

/// The chosen set on both parts of its fold.
fn fold(
    grid: &Grid,
    set: usize,
    (dataset, rules): (&Dataset, &Rules),
    train: &Range<usize>,
    test: &WindowMetrics,
    column: &SweepColumn,
    metric: &MetricConfig,
) -> FoldChoice {
    let mut policy = grid.policy(set);
    let path = dataset.trade(rules, train.clone(), policy.as_mut());
    let inside = EvalReport::new(&policy.name(), &dataset.bars, &[path], metric, 1).pooled;
    let year = dataset.bars.periods_per_year();
    let (inside, outside) = (PartFigures::new(&inside, column, year), PartFigures::new(test, column, year));
    FoldChoice {
        train_ts: [train.start, train.end - 1].map(|bar| dataset.bars.ts()[bar]),
        name: policy.name(),
        labels: sweep::labels(grid, set),
        efficiency: efficiency(inside.annual_return, outside.annual_return),
        in_sample: inside,
        out_of_sample: outside,
    }
}

/// What the folds choose from, and by what.
struct Chooser<'a> {
    grid: &'a Grid,
    column: &'a SweepColumn,
    dataset: &'a Dataset,
    rules: &'a Rules,
    metric: &'a MetricConfig,
}

struct Chosen {
    /// Of each fold. `[n_fold]`
    sets: Vec<usize>,
    /// Every set of the grid, their Sharpe ratios the means over the train parts.
    trials: Trials,
}

impl Chooser<'_> {
    /// The best set on every train part. Nothing of a later bar is read.
    fn choose(&self, windows: &[WalkForwardWindow], compute: &mut Compute, printer: Printer) -> anyhow::Result<Chosen> {
        let day = |bar: usize| gigabar_market::time::day(self.dataset.bars.ts()[bar]);
        let say =
            |range: &Range<usize>| format!("{} to {} ({} bars)", day(range.start), day(range.end - 1), range.len());
        for WalkForwardWindow { index, train, test } in windows {
            printer.say(format_args!("fold {index}: train {}, test {}", say(train), say(test)));
        }
        if self.grid.len() == 1 {
            return Ok(Chosen { sets: vec![0; windows.len()], trials: Trials::count(1) });
        }
        let bars = |windows: &[WalkForwardWindow]| windows.iter().map(|w| w.train.len() as u64 - 1).sum::<u64>();
        let (n_sets, all) = (self.grid.len() as u64, bars(windows));
        let mut progress = Quiet::new(printer, "sweep");
        let mut sets = Vec::with_capacity(windows.len());
        let mut sums = vec![Some(0.0); self.grid.len()];
        for (i, window) in windows.iter().enumerate() {
            let before = bars(&windows[..i]);
            let told = |done: u64, _: u64| progress.update(before * n_sets + done, all * n_sets);
            let rows = self.sweep(&window.train, compute, told, printer)?;
            let best = sweep::best(&rows, self.column, 1)[0];
            if rows[best].bars_in_market == 0 {
                printer.warn(format_args!("fold {i}: no set traded on its train part; the first of the grid is taken"));
            }
            sets.push(best);
            for (sum, row) in sums.iter_mut().zip(&rows) {
                let own = if row.bars_in_market == 0 { Some(0.0) } else { row.sharpe };
                *sum = sum.zip(own).map(|(sum, own)| sum + own);
            }
        }
        progress.end();
        let means: Vec<Option<f64>> = sums.iter().map(|sum| sum.map(|sum| sum / windows.len() as f64)).collect();
        Ok(Chosen { sets, trials: Trials::from_sharpes(&means, self.dataset.bars.periods_per_year()) })
    }

    /// Every set on the bars `train`.
    fn sweep(
        &self,
        train: &Range<usize>,
        compute: &mut Compute,
        told: impl FnMut(u64, u64),
        printer: Printer,
    ) -> anyhow::Result<Vec<SweepRow>> {
        let (market, risk_free) = (self.dataset.market(), self.metric.risk_free);
        compute.run(
            printer,
            |device| Ok(GpuSweep::new(device, &market, self.rules, train.clone())?.run(self.grid, risk_free)?),
            || Ok(cpu(self.rules, &market, train.clone(), self.grid, risk_free, told)?),
        )
    }
}
