//! `gigabar backtest`: trade a file with a rule, with every set of a grid of its parameters, or with signals.

mod grid;

use std::ops::Range;

use gigabar::report::{RunReport, sweep};
use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::policy::Grid;
use gigabar_backtest::{Observation, Path as AccountPath, Policy, policy};

use crate::args::BacktestArgs;
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::device::{Compute, Wanted, Work};
use crate::evaluation::{Traded, replay_on_gpu};
use crate::outcome::{self, Outcome, Thresholds};
use crate::printer::Printer;
use crate::run_folder::RunFolder;
use crate::setup;
use grid::Swept;

const VERB: &str = "backtest";
/// Settings it does not read.
const UNREAD: [&str; 7] = ["seed", "seeds", "train_share", "checkpoint_secs", "window", "reward", "dqn"];

pub(crate) fn run(args: &BacktestArgs, printer: Printer) -> anyhow::Result<()> {
    let thresholds = Thresholds::parse(&args.fail_below)?;
    let sort = sweep::column(args.sort.as_deref().unwrap_or("sharpe"))?;
    let text = args.strategy.as_deref().unwrap_or_default();
    let grid = if args.signals.is_some() { None } else { Some(Grid::parse(text)?).filter(|grid| !grid.is_single()) };
    let config = setup::settings(VERB, &UNREAD, &setup::overrides(Some(&args.config), &args.data)?, printer)?;
    if args.sort.is_some() && grid.is_none() {
        printer.warn("--sort has no effect without a grid");
    }
    config.metric.validate()?;
    let wanted = Wanted::parse(&args.config.device)?;
    let dataset = Dataset::load(&args.files, &config.data, printer)?;
    let windows = setup::cut(0..dataset.bars.len(), args.windows)?;
    let work = match &grid {
        Some(grid) => Work::Sweep { sets: grid.len(), bars: dataset.bars.len() },
        None => Work::Accounts,
    };
    let compute = wanted.settle(work, printer);
    let mut job = Job { config: &config, dataset: &dataset, windows: &windows, compute, printer };
    let swept = grid.as_ref().map(|grid| job.sweep(text, grid, sort)).transpose()?;
    let policy = match &swept {
        Some(swept) => swept.best_policy(),
        None => policy_of(args, &config, &dataset, printer)?,
    };
    let (report, paths) = job.report(policy, swept.as_ref())?;
    let folder = match &args.out {
        Some(out) => {
            let info = setup::run_info(VERB, &report.report.policy, &job.compute.name(), &dataset.summary);
            let folder = RunFolder::create_for_result(out, &config, &info, false, printer)?;
            if let Some(swept) = &swept {
                swept.write(&folder)?;
            }
            outcome::write(&folder, &report, &dataset, &paths)?;
            Some(folder)
        }
        None => None,
    };
    match swept.filter(|_| printer.is_json()) {
        Some(swept) => outcome::print_json(&report, folder.as_ref(), Some(swept.json()), printer)?,
        None => outcome::print(&report, folder.as_ref(), printer)?,
    }
    thresholds.check(&report.report)
}

/// What every backtest of this command shares.
struct Job<'a> {
    config: &'a RunConfig,
    dataset: &'a Dataset,
    windows: &'a [Range<usize>],
    compute: Compute,
    printer: Printer,
}

impl Job<'_> {
    /// Trades every window with `policy`, which may have been chosen by a sweep, and measures it.
    fn report(
        &self,
        mut policy: Box<dyn Policy>,
        swept: Option<&Swept<'_>>,
    ) -> anyhow::Result<(RunReport, Vec<AccountPath>)> {
        let Self { config, dataset, windows, compute, .. } = self;
        let (rules, name) = (dataset.rules(&config.sim)?, policy.name());
        let traded = match compute {
            Compute::Cuda { device, .. } if swept.is_none() => {
                let levels = levels_of(policy.as_mut(), dataset, windows);
                replay_on_gpu(device, dataset, &rules, windows, (&name, &levels), &config.metric)?
            }
            _ => {
                let trade = |window: &Range<usize>| dataset.trade(&rules, window.clone(), policy.as_mut());
                Traded::unmeasured(windows.iter().map(trade).collect())
            }
        };
        let info = setup::run_info(VERB, &name, &compute.name(), &dataset.summary);
        let outcome = Outcome::of(config, &info, dataset, &traded);
        let report = match swept {
            Some(swept) => Outcome { trials: swept.trials, sweep: Some(swept.report.clone()), ..outcome }.report()?,
            None => outcome.report()?,
        };
        Ok((report, traded.paths))
    }
}

/// The level at every bar of the windows, 0 elsewhere. Rules and signals read prices alone: the account they are shown is
/// none.
fn levels_of(policy: &mut dyn Policy, dataset: &Dataset, windows: &[Range<usize>]) -> Vec<f64> {
    let mut levels = vec![0.0; dataset.bars.len()];
    for window in windows {
        policy.reset(window.clone());
        for (t, level) in levels.iter_mut().enumerate().take(window.end - 1).skip(window.start) {
            *level = policy.level(&Observation::new(&dataset.bars, t, &[0.0; N_PORTFOLIO]));
        }
    }
    levels
}

/// clap has seen to it that one of the two is given.
fn policy_of(
    args: &BacktestArgs,
    config: &RunConfig,
    dataset: &Dataset,
    printer: Printer,
) -> anyhow::Result<Box<dyn Policy>> {
    match &args.signals {
        Some(path) => {
            let signals = policy::Signals::read(path, &dataset.bars)?;
            let levered = setup::leverage(&path.display().to_string(), signals.levels(), &config.sim);
            levered.into_iter().for_each(|line| printer.warn(line));
            Ok(Box::new(signals))
        }
        None => Ok(policy::parse(args.strategy.as_deref().unwrap_or_default())?),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use gigabar_backtest::cpu::engine::replay;
    use gigabar_market::load::LoadOptions;

    use super::*;
    use crate::printer::{Printer, Verbosity};

    #[test]
    fn rules_need_no_account() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/ibm-daily.csv");
        let dataset = Dataset::load(&[path], &LoadOptions::default(), Printer::new(Verbosity::Quiet, false)).unwrap();
        let rules = dataset.rules(&gigabar_backtest::SimConfig::default()).unwrap();
        let windows = setup::cut(0..dataset.bars.len(), 3).unwrap();
        for (name, _) in policy::STRATEGIES {
            let mut policy = policy::parse(name).unwrap();
            let levels = levels_of(policy.as_mut(), &dataset, &windows);
            for window in &windows {
                let want = dataset.trade(&rules, window.clone(), policy.as_mut());
                let given = &levels[window.start..window.end - 1];
                assert_eq!(replay(&rules, &dataset.market(), window.clone(), given), want, "{name}");
            }
        }
    }
}
