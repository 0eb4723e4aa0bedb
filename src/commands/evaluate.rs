//! `gigabar evaluate`: trade a file with trained policies.

use std::path::{Path, PathBuf};

use gigabar::report::RunReport;
use gigabar_backtest::Path as AccountPath;
use gigabar_learn::checkpoint::{POLICY_FILE, load_policy};
use gigabar_market::feature::FeatureTable;

use crate::args::EvaluateArgs;
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::failure::hinted;
use crate::outcome::{self, Outcome};
use crate::printer::Printer;
use crate::run_folder::RunFolder;
use crate::setup;

/// One trained policy.
struct Checkpoint {
    dir: PathBuf,
    /// The run it belongs to, where it lies in one.
    run: Option<RunFolder>,
}

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
        warn_if_seen(checkpoint, &dataset, printer);
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
            printer.data(format_args!("{}{}", if i == 0 { "" } else { "\n" }, checkpoint.dir.display()))?;
        }
        outcome::print(&report, folder.as_ref(), printer)?;
    }
    if printer.is_json() { outcome::print_list(&listed, printer) } else { Ok(()) }
}

fn evaluate(
    checkpoint: &Checkpoint,
    args: &EvaluateArgs,
    config: &RunConfig,
    dataset: &Dataset,
    features: &FeatureTable,
    device: &str,
) -> anyhow::Result<(RunReport, Vec<AccountPath>)> {
    let mut policy = load_policy(&checkpoint.dir, features)?;
    let rules = dataset.rules(config)?;
    let windows = setup::cut(features.warmup_bars()..features.n_bars(), args.windows)?;
    let paths: Vec<_> = windows.into_iter().map(|window| dataset.trade(&rules, window, &mut policy)).collect();
    let label = format!("dqn {}", label(&checkpoint.dir));
    let info = setup::run_info("evaluate", &label, device, &dataset.summary);
    let outcome = Outcome { config, info: &info, dataset, paths: &paths, train: &[], training: Vec::new() };
    Ok((outcome.report()?, paths))
}

/// `fold-3` of `runs/x/checkpoints/fold-3`.
fn label(dir: &Path) -> String {
    dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The checkpoints of a run, or the one that is named.
fn find(path: &Path) -> anyhow::Result<Vec<Checkpoint>> {
    if path.join(POLICY_FILE).is_file() {
        let run = path.ancestors().nth(2).and_then(|run| RunFolder::open(run).ok());
        return Ok(vec![Checkpoint { dir: path.to_owned(), run }]);
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
        found.push(Checkpoint { dir: folder.checkpoint(found.len()), run: Some(folder.clone()) });
    }
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

/// Trading the bars a policy was trained on says nothing about the future.
fn warn_if_seen(checkpoint: &Checkpoint, dataset: &Dataset, printer: Printer) {
    let info = checkpoint.run.as_ref().map(RunFolder::settings).and_then(Result::ok).map(|(_, info)| info);
    if info.is_some_and(|info| info.data_sha256 == dataset.summary.sha256) {
        printer.warn(format_args!(
            "{} was trained on bars of this very file: the result is not out of sample",
            checkpoint.dir.display()
        ));
    }
}
