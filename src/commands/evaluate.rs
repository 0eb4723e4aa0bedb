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
use crate::device::Wanted;
use crate::evaluation::{self, Candidate};
use crate::failure::hinted;
use crate::outcome::{self, Outcome};
use crate::printer::Printer;
use crate::run_folder::{RunFolder, RunInfo};
use crate::setup;

const VERB: &str = "evaluate";
/// Settings it does not read, and one more under `--trained-costs`.
const UNREAD: [&str; 7] = ["seed", "train_share", "checkpoint_secs", "window", "reward", "dqn", "sim"];

pub(crate) fn run(args: &EvaluateArgs, printer: Printer) -> anyhow::Result<()> {
    let Some((file, runs)) = args.paths.split_last() else { return Ok(()) };
    let unread = if args.trained_costs { &UNREAD[..] } else { &UNREAD[..UNREAD.len() - 1] };
    let config = setup::settings(VERB, unread, &args.config, &args.data, printer)?;
    let wanted = Wanted::parse(&args.config.device)?;
    let mut checkpoints = Vec::new();
    for path in runs {
        checkpoints.extend(find(path)?);
    }
    let dataset = Dataset::load(file, &config.data, printer)?;
    let features = dataset.features()?;
    let windows = setup::cut(features.warmup_bars()..features.n_bars(), args.windows)?;
    let load = |dir: PathBuf| candidate(dir, args.trained_costs, &config, &features);
    let candidates: Vec<Candidate> = checkpoints.into_iter().map(load).collect::<anyhow::Result<_>>()?;
    let compute = wanted.settle(evaluation::work(&candidates, &windows), printer);
    candidates.iter().for_each(|candidate| warn(candidate, &dataset, printer));
    let traded = evaluation::trade(&candidates, &dataset, &windows, &compute, printer)?;
    let several = candidates.len() > 1;
    let mut listed = Vec::new();
    for (i, (candidate, paths)) in candidates.iter().zip(traded).enumerate() {
        let info = setup::run_info(VERB, &label(&candidate.dir), &compute.name(), &dataset.summary);
        let out = args.out.as_ref().map(|out| if several { out.join(format!("checkpoint-{i}")) } else { out.clone() });
        let (report, folder) = conclude(candidate, &info, &dataset, &paths, out.as_deref())?;
        if printer.is_json() {
            listed.push((report, folder));
            continue;
        }
        if several {
            printer.data(format_args!("{}{}", if i == 0 { "" } else { "\n" }, candidate.dir.display()))?;
        }
        outcome::print(&report, folder.as_ref(), printer)?;
    }
    if printer.is_json() { outcome::print_list(&listed, printer) } else { Ok(()) }
}

/// Loads a policy and settles under which rules it trades.
fn candidate(
    dir: PathBuf,
    trained_costs: bool,
    config: &RunConfig,
    features: &FeatureTable,
) -> anyhow::Result<Candidate> {
    let file = read_policy_file(&dir)?;
    let policy = load_policy(&dir, features)?;
    let mut config = config.clone();
    if trained_costs {
        config.sim = file.sim.clone();
    }
    Ok(Candidate { dir, file, policy, config })
}

/// Measures, and writes where asked.
fn conclude(
    candidate: &Candidate,
    info: &RunInfo,
    dataset: &Dataset,
    paths: &[AccountPath],
    out: Option<&Path>,
) -> anyhow::Result<(RunReport, Option<RunFolder>)> {
    let config = &candidate.config;
    let report = Outcome::of_paths(config, info, dataset, paths).report()?;
    let folder = match out {
        Some(out) => {
            let folder = RunFolder::create(Some(out), VERB, config, info)?;
            outcome::write(&folder, &report, dataset, paths)?;
            Some(folder)
        }
        None => None,
    };
    Ok((report, folder))
}

/// `dqn fold-3` of `runs/x/checkpoints/fold-3`.
fn label(dir: &Path) -> String {
    let name = dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned());
    format!("dqn {name}")
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
fn warn(candidate: &Candidate, dataset: &Dataset, printer: Printer) {
    let (dir, file, ts) = (candidate.dir.display(), &candidate.file, dataset.bars.ts());
    if file.trained_first_ts <= ts[ts.len() - 1] && file.trained_last_ts >= ts[0] {
        printer.warn(format_args!(
            "{dir} was trained on bars of {} to {}, inside the time traded here: on the same market this is not out of sample",
            time::day(file.trained_first_ts),
            time::day(file.trained_last_ts),
        ));
    }
    if file.sim != candidate.config.sim {
        printer.warn(format_args!(
            "{dir} was trained under other costs or rules than it trades here; --trained-costs takes its own"
        ));
    }
}
