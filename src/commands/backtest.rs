//! `gigabar backtest`: trade a file with a rule, with every set of a grid of its parameters, or with signals of one strategy
//! or several.

mod compare;
mod grid;
mod signals;

use std::ops::Range;
use std::path::Path;

use gigabar::report::{RunReport, SweepReport, sweep};
use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::metric::Trials;
use gigabar_backtest::policy::Grid;
use gigabar_backtest::{Observation, Path as AccountPath, Policy, policy};

use serde::{Serialize, Serializer};

use crate::args::BacktestArgs;
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::device::{Compute, Wanted, Work};
use crate::evaluation::{Traded, replay_on_gpu};
use crate::outcome::{self, Outcome, Thresholds};
use crate::printer::Printer;
use crate::run_folder::RunFolder;
use crate::setup;
use compare::Compared;
use grid::Swept;

const VERB: &str = "backtest";
/// Settings it does not read.
const UNREAD: [&str; 7] = ["seed", "seeds", "train_share", "checkpoint_secs", "window", "reward", "dqn"];

pub(crate) fn run(args: &BacktestArgs, printer: Printer) -> anyhow::Result<()> {
    let thresholds = Thresholds::parse(&args.fail_below)?;
    let sort = args.sort.as_deref().unwrap_or("sharpe");
    let _is_known = match args.signals {
        Some(_) => sweep::metric(sort).map(|info| info.key),
        None => sweep::column(sort).map(|column| column.key),
    }?;
    let text = args.strategy.as_deref().unwrap_or_default();
    let grid = if args.signals.is_some() { None } else { Some(Grid::parse(text)?).filter(|grid| !grid.is_single()) };
    let config = setup::settings(VERB, &UNREAD, &setup::overrides(Some(&args.config), &args.data)?, printer)?;
    config.metric.validate()?;
    if let Some(out) = &args.out {
        RunFolder::check_for_result(out)?;
    }
    let wanted = Wanted::parse(&args.config.device)?;
    let dataset = Dataset::load(&args.files, &config.data, printer)?;
    let windows = setup::cut(0..dataset.bars.len(), args.windows)?;
    let signals = args.signals.as_ref().map(|path| signals::read(path, &config, &dataset, printer)).transpose()?;
    let is_choice = grid.is_some() || signals.as_ref().is_some_and(|strategies| strategies.len() > 1);
    if args.sort.is_some() && !is_choice {
        printer.warn("--sort has no effect without a grid or several strategies");
    }
    let work = match &grid {
        Some(grid) => Work::Sweep { sets: grid.len(), bars: dataset.bars.len() },
        None => Work::Accounts,
    };
    let compute = wanted.settle(work, printer);
    let mut job = Job { config: &config, dataset: &dataset, windows: &windows, compute, printer };
    let (chosen, policy) = match (&grid, signals) {
        (Some(grid), _) => {
            let swept = job.sweep(text, grid, sweep::column(sort)?)?;
            let best = swept.best_policy();
            (Some(Chosen::Set(swept)), best)
        }
        (None, Some(mut strategies)) if strategies.len() > 1 => {
            let file = args.signals.as_deref().unwrap_or(Path::new("")).display().to_string();
            let compared = job.compare(&file, &strategies, sweep::metric(sort)?)?;
            let best: Box<dyn Policy> = Box::new(strategies.swap_remove(compared.best));
            (Some(Chosen::Strategy(compared)), best)
        }
        (None, Some(mut strategies)) => (None, Box::new(strategies.swap_remove(0)) as Box<dyn Policy>),
        (None, None) => (None, policy::parse(text)?),
    };
    let (report, paths) = job.report(policy, chosen.as_ref())?;
    let folder = match &args.out {
        Some(out) => {
            let info = setup::run_info(VERB, &report.report.policy, &job.compute.name(), &dataset.summary);
            let folder = RunFolder::create_for_result(out, &config, &info, false, printer)?;
            if let Some(chosen) = &chosen {
                chosen.write(&folder)?;
            }
            outcome::write(&folder, &report, &dataset, &paths)?;
            Some(folder)
        }
        None => None,
    };
    match chosen.filter(|_| printer.is_json()) {
        Some(chosen) => outcome::print_json(&report, folder.as_ref(), Some(chosen), printer)?,
        None => outcome::print(&report, folder.as_ref(), printer)?,
    }
    thresholds.check(&report.report)
}

/// What the policy of the report was chosen from.
enum Chosen<'a> {
    Set(Swept<'a>),
    Strategy(Compared),
}

impl Chosen<'_> {
    fn report(&self) -> (Trials, &SweepReport) {
        match self {
            Self::Set(swept) => (swept.trials, &swept.report),
            Self::Strategy(compared) => (compared.trials, &compared.report),
        }
    }

    /// Writes a table of all.
    fn write(&self, folder: &RunFolder) -> anyhow::Result<()> {
        match self {
            Self::Set(swept) => swept.write(folder),
            Self::Strategy(compared) => compared.write(folder),
        }
    }
}

/// All of it for `--json`.
impl Serialize for Chosen<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(swept) => to.serialize_newtype_variant("Chosen", 0, "sweep", &swept.json()),
            Self::Strategy(compared) => to.serialize_newtype_variant("Chosen", 1, "comparison", &compared.json()),
        }
    }
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
    /// Trades every window with `policy`, which may have been chosen from several, and measures it.
    fn report(
        &self,
        mut policy: Box<dyn Policy>,
        chosen: Option<&Chosen<'_>>,
    ) -> anyhow::Result<(RunReport, Vec<AccountPath>)> {
        let Self { config, dataset, windows, compute, .. } = self;
        let (rules, name) = (dataset.rules(&config.sim)?, policy.name());
        let traded = match compute {
            Compute::Cuda { device, .. } if chosen.is_none() => {
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
        let report = match chosen.map(Chosen::report) {
            Some((trials, sweep)) => Outcome { trials, sweep: Some(sweep.clone()), ..outcome }.report()?,
            None => outcome.report()?,
        };
        Ok((report, traded.paths))
    }
}

/// The level at every bar of the windows, 0 elsewhere. Rules and signals read prices alone: the account they are shown
/// is none.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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
