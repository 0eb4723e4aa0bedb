//! `gigabar backtest`: trade a file with a rule or with signals.

use gigabar_backtest::{Policy, policy};

use crate::args::BacktestArgs;
use crate::dataset::Dataset;
use crate::outcome::{self, Outcome, Thresholds};
use crate::printer::Printer;
use crate::run_folder::RunFolder;
use crate::setup;

pub(crate) fn run(args: &BacktestArgs, printer: Printer) -> anyhow::Result<()> {
    let thresholds = Thresholds::parse(&args.fail_below)?;
    let config = setup::settings(&args.config, &args.data)?;
    let device = setup::device(&args.config, printer)?;
    let dataset = Dataset::load(&args.file, &config.data, printer)?;
    let rules = dataset.rules(&config)?;
    let mut policy = policy_of(args, &dataset)?;
    let windows = setup::cut(0..dataset.bars.len(), args.windows)?;
    let paths: Vec<_> = windows.into_iter().map(|window| dataset.trade(&rules, window, policy.as_mut())).collect();
    let info = setup::run_info("backtest", &policy.name(), device, &dataset.summary);
    let outcome =
        Outcome { config: &config, info: &info, dataset: &dataset, paths: &paths, train: &[], training: Vec::new() };
    let report = outcome.report()?;
    let folder = match &args.out {
        Some(out) => {
            let folder = RunFolder::create(Some(out), "backtest", &config, &info)?;
            outcome::write(&folder, &report, &dataset, &paths)?;
            Some(folder)
        }
        None => None,
    };
    outcome::print(&report, folder.as_ref(), printer)?;
    thresholds.check(&report.report)
}

/// clap has seen to it that one of the two is given.
fn policy_of(args: &BacktestArgs, dataset: &Dataset) -> anyhow::Result<Box<dyn Policy>> {
    match &args.signals {
        Some(path) => Ok(Box::new(policy::Signals::read(path, &dataset.bars)?)),
        None => Ok(policy::parse(args.strategy.as_deref().unwrap_or_default())?),
    }
}
