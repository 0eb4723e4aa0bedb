//! `gigabar backtest`: trade a file with a rule or with signals.

use std::ops::Range;

use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::{Observation, Policy, policy};

use crate::args::BacktestArgs;
use crate::dataset::Dataset;
use crate::device::{Compute, Wanted, Work};
use crate::evaluation::replay_on_gpu;
use crate::outcome::{self, Outcome, Thresholds};
use crate::printer::Printer;
use crate::run_folder::RunFolder;
use crate::setup;

const VERB: &str = "backtest";
/// Settings it does not read.
const UNREAD: [&str; 6] = ["seed", "train_share", "checkpoint_secs", "window", "reward", "dqn"];

pub(crate) fn run(args: &BacktestArgs, printer: Printer) -> anyhow::Result<()> {
    let thresholds = Thresholds::parse(&args.fail_below)?;
    let config = setup::settings(VERB, &UNREAD, &args.config, &args.data, printer)?;
    let wanted = Wanted::parse(&args.config.device)?;
    let dataset = Dataset::load(&args.file, &config.data, printer)?;
    let compute = wanted.settle(Work::Accounts, printer);
    let rules = dataset.rules(&config.sim)?;
    let mut policy = policy_of(args, &dataset)?;
    let windows = setup::cut(0..dataset.bars.len(), args.windows)?;
    let paths: Vec<_> = match &compute {
        Compute::Cpu => windows.into_iter().map(|window| dataset.trade(&rules, window, policy.as_mut())).collect(),
        Compute::Cuda { device, .. } => {
            let levels = levels_of(policy.as_mut(), &dataset, &windows);
            replay_on_gpu(device, &dataset, &rules, &windows, &levels)?
        }
    };
    let info = setup::run_info(VERB, &policy.name(), &compute.name(), &dataset.summary);
    let outcome =
        Outcome { config: &config, info: &info, dataset: &dataset, paths: &paths, train: &[], training: Vec::new() };
    let report = outcome.report()?;
    let folder = match &args.out {
        Some(out) => {
            let folder = RunFolder::create(Some(out), VERB, &config, &info)?;
            outcome::write(&folder, &report, &dataset, &paths)?;
            Some(folder)
        }
        None => None,
    };
    outcome::print(&report, folder.as_ref(), printer)?;
    thresholds.check(&report.report)
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
fn policy_of(args: &BacktestArgs, dataset: &Dataset) -> anyhow::Result<Box<dyn Policy>> {
    match &args.signals {
        Some(path) => Ok(Box::new(policy::Signals::read(path, &dataset.bars)?)),
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
        let dataset = Dataset::load(&path, &LoadOptions::default(), Printer::new(Verbosity::Quiet, false)).unwrap();
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
