//! `gigabar evaluate`: trade a file with trained policies.

use std::path::{Path, PathBuf};

use gigabar::report::RunReport;
use gigabar_backtest::Path as AccountPath;
use gigabar_learn::checkpoint::{POLICY_FILE, load_policy, read_policy_file};
use gigabar_market::feature::FeatureTable;
use gigabar_market::time;

use crate::args::EvaluateArgs;
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::failure::hinted;
use crate::outcome::{self, Outcome};
use crate::printer::Printer;
use crate::run_folder::RunFolder;
use crate::setup;

pub(crate) fn run(args: &EvaluateArgs, printer: Printer) -> anyhow::Result<()> {
    let Some((file, runs)) = args.paths.split_last() else { return Ok(()) };
    let config = setup::settings(&args.config, &args.data)?;
    let device = setup::device(&args.config, printer)?;
    let mut checkpoints = Vec::new();
    for path in runs {
        checkpoints.extend(find(path)?);
    }
    let dataset = Dataset::load(file, &config.data, printer)?;
    let features = dataset.features()?;
    let several = checkpoints.len() > 1;
    let mut listed = Vec::new();
    for (i, checkpoint) in checkpoints.iter().enumerate() {
        warn(checkpoint, &config, &dataset, printer)?;
        let (report, paths) = evaluate(checkpoint, args, &config, &dataset, &features, device)?;
        let out = args.out.as_ref().map(|out| if several { out.join(format!("checkpoint-{i}")) } else { out.clone() });
        let folder = match out {
            Some(out) => {
                let info = setup::run_info("evaluate", &report.report.policy, device, &dataset.summary);
                let folder = RunFolder::create(Some(&out), "evaluate", &config, &info)?;
                outcome::write(&folder, &report, &dataset, &paths)?;
                Some(folder)
            }
            None => None,
        };
        if printer.is_json() {
            listed.push((report, folder));
            continue;
        }
        if several {
            printer.data(format_args!("{}{}", if i == 0 { "" } else { "\n" }, checkpoint.display()))?;
        }
        outcome::print(&report, folder.as_ref(), printer)?;
    }
    if printer.is_json() { outcome::print_list(&listed, printer) } else { Ok(()) }
}

fn evaluate(
    checkpoint: &Path,
    args: &EvaluateArgs,
    config: &RunConfig,
    dataset: &Dataset,
    features: &FeatureTable,
    device: &str,
) -> anyhow::Result<(RunReport, Vec<AccountPath>)> {
    let mut policy = load_policy(checkpoint, features)?;
    let rules = dataset.rules(config)?;
    let windows = setup::cut(features.warmup_bars()..features.n_bars(), args.windows)?;
    let paths: Vec<_> = windows.into_iter().map(|window| dataset.trade(&rules, window, &mut policy)).collect();
    let label = format!("dqn {}", label(checkpoint));
    let info = setup::run_info("evaluate", &label, device, &dataset.summary);
    let outcome = Outcome { config, info: &info, dataset, paths: &paths, train: &[], training: Vec::new() };
    Ok((outcome.report()?, paths))
}

/// `fold-3` of `runs/x/checkpoints/fold-3`.
fn label(dir: &Path) -> String {
    dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The checkpoints of a run, or the one that is named.
fn find(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path.join(POLICY_FILE).is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let nothing = || {
        hinted(
            format!("{} holds no trained policy", path.display()),
            format!("give a run folder, or a folder with {POLICY_FILE}; an interrupted run must be resumed to its end"),
        )
    };
    let folder = RunFolder::open(path).map_err(|_| nothing())?;
    let mut found = Vec::new();
    while folder.checkpoint(found.len()).join(POLICY_FILE).is_file() {
        found.push(folder.checkpoint(found.len()));
    }
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

/// Trading the time a policy was trained on says nothing about the future, and other costs than those it was trained under
/// ask another question.
fn warn(checkpoint: &Path, config: &RunConfig, dataset: &Dataset, printer: Printer) -> anyhow::Result<()> {
    let file = read_policy_file(checkpoint)?;
    let (dir, ts) = (checkpoint.display(), dataset.bars.ts());
    if file.trained_first_ts <= ts[ts.len() - 1] && file.trained_last_ts >= ts[0] {
        printer.warn(format_args!(
            "{dir} was trained on bars of {} to {}, inside the time traded here: on the same market this is not out of sample",
            time::day(file.trained_first_ts),
            time::day(file.trained_last_ts),
        ));
    }
    if file.sim != config.sim {
        printer.warn(format_args!(
            "{dir} was trained under other costs or rules than it trades here; its own are in {} and its run's run.toml (--config)",
            checkpoint.join(POLICY_FILE).display(),
        ));
    }
    Ok(())
}
