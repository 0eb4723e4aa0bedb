//! `gigabar evaluate`: trade a file with trained policies.

use std::path::{Path, PathBuf};

use anyhow::Context;
use gigabar::report::RunReport;
use gigabar_backtest::ensemble::EnsembleVote;
use gigabar_backtest::metric::Trials;
use gigabar_learn::checkpoint::{POLICY_FILE, load_policy, read_policy_file};
use gigabar_market::feature::FeatureTable;
use gigabar_market::time;

use crate::args::EvaluateArgs;
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::device::{Compute, Wanted};
use crate::evaluation::{self, Candidate, Traded};
use crate::failure::hinted;
use crate::outcome::{self, Outcome};
use crate::printer::Printer;
use crate::run_folder::{RunFolder, RunInfo, is_finished};
use crate::setup;

const VERB: &str = "evaluate";
/// Where its paths belong.
const ORDER: &str = "runs and checkpoints come first, the file of bars last: gigabar evaluate RUN… FILE";
/// Settings it does not read, and one more under `--trained-costs`.
const UNREAD: [&str; 8] = ["seed", "seeds", "train_share", "checkpoint_secs", "window", "reward", "dqn", "sim"];

pub(crate) fn run(args: &EvaluateArgs, printer: Printer) -> anyhow::Result<()> {
    let (runs, files) = runs_and_files(&args.paths);
    let Some(file) = files.last() else { return Ok(()) };
    let vote = args.ensemble.as_deref().map(str::parse::<EnsembleVote>).transpose().context("--ensemble")?;
    let unread = if args.trained_costs { &UNREAD[..] } else { &UNREAD[..UNREAD.len() - 1] };
    let config = setup::settings(VERB, unread, &setup::overrides(Some(&args.config), &args.data)?, printer)?;
    let wanted = Wanted::parse(&args.config.device)?;
    let mut checkpoints = Vec::new();
    for path in runs {
        checkpoints.extend(find(path, file)?);
    }
    if file.is_dir() {
        return Err(hinted(format!("{} is a folder, not a file of bars", file.display()), ORDER));
    }
    let dataset = Dataset::load(files, &config.data, printer)?;
    let features = dataset.features()?;
    let windows = setup::cut(features.warmup_bars()..features.n_bars(), args.windows)?;
    let load = |dir: PathBuf| candidate(dir, args.trained_costs, &config, &features);
    let candidates: Vec<Candidate> = checkpoints.into_iter().map(load).collect::<anyhow::Result<_>>()?;
    let mut compute = wanted.settle(evaluation::work(&candidates, &windows), printer);
    candidates.iter().filter_map(other_rules).for_each(|line| printer.warn(line));
    candidates.iter().filter_map(levered).for_each(|line| printer.warn(line));
    let seen: Vec<Option<String>> = candidates.iter().map(|candidate| seen(candidate, &dataset)).collect();
    seen.iter().flatten().for_each(|line| printer.warn(line));
    twice(&candidates, vote.is_some()).iter().for_each(|line| printer.warn(line));
    let entries = match vote {
        None => {
            let traded = evaluation::trade(&candidates, &dataset, &windows, &mut compute, printer)?;
            let one = |((candidate, traded), seen)| Entry::one(candidate, traded, seen);
            candidates.iter().zip(traded).zip(seen).map(one).collect()
        }
        Some(vote) => {
            same_rules(&candidates)?;
            let name = format!("ensemble of {} ({vote})", candidates.len());
            let as_one = (vote, name.as_str());
            let traded = evaluation::trade_together(&candidates, as_one, &dataset, &windows, &mut compute, printer)?;
            vec![Entry::together(&candidates, name, traded, seen_together(&seen))]
        }
    };
    show(&entries, args.out.as_deref(), &dataset, &compute, printer)
}

/// Folders first, then files; without a folder the last path is the file, and what the others are is said later.
fn runs_and_files(paths: &[PathBuf]) -> (&[PathBuf], &[PathBuf]) {
    let files = paths.iter().rev().take_while(|path| path.is_file()).count();
    let at = if files == 0 || files == paths.len() { paths.len().saturating_sub(1) } else { paths.len() - files };
    paths.split_at(at)
}

/// What traded, one checkpoint or all as one.
struct Entry<'a> {
    name: String,
    /// Above its tables, where there are several.
    heading: String,
    config: &'a RunConfig,
    traded: Traded,
    /// Why the bars may not be unseen ones.
    seen: Option<String>,
}

impl<'a> Entry<'a> {
    fn one(candidate: &'a Candidate, traded: Traded, seen: Option<String>) -> Self {
        let Candidate { name, dir, config, .. } = candidate;
        Self { name: name.clone(), heading: dir.display().to_string(), config, traded, seen }
    }

    fn together(candidates: &'a [Candidate], name: String, traded: Traded, seen: Option<String>) -> Self {
        Self { heading: name.clone(), name, config: &candidates[0].config, traded, seen }
    }
}

/// An ensemble trades one account: its members must agree on the rules.
fn same_rules(candidates: &[Candidate]) -> anyhow::Result<()> {
    match candidates.iter().find(|candidate| candidate.config.sim != candidates[0].config.sim) {
        None => Ok(()),
        Some(other) => Err(hinted(
            format!("{} was trained under other rules than {}", other.dir.display(), candidates[0].dir.display()),
            "leave out --trained-costs and say with --set sim.… under which rules the ensemble trades",
        )),
    }
}

/// Measures, writes where asked, and prints.
fn show(
    entries: &[Entry<'_>],
    out: Option<&Path>,
    dataset: &Dataset,
    compute: &Compute,
    printer: Printer,
) -> anyhow::Result<()> {
    let several = entries.len() > 1;
    let place = |out: &Path, i: usize| if several { out.join(format!("checkpoint-{i}")) } else { out.to_owned() };
    // The folders of several are one run: where one is missing, those already written are of a run that broke off.
    let again = out.is_some_and(|out| several && (0..entries.len()).any(|i| !is_finished(&place(out, i))));
    let mut listed = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        let info = setup::run_info(VERB, &entry.name, &compute.name(), &dataset.summary);
        let out = out.map(|out| place(out, i));
        // Whoever looks at several will take the best.
        let trials = Trials::count(entries.len());
        let (report, folder) =
            conclude((entry, trials), &info, dataset, out.as_deref().map(|out| (out, again)), printer)?;
        if printer.is_json() {
            listed.push((report, folder));
            continue;
        }
        if several {
            printer.data(format_args!("{}{}", if i == 0 { "" } else { "\n" }, entry.heading))?;
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
    Ok(Candidate { name: label(&dir), dir, file, policy, config })
}

fn conclude(
    (entry, trials): (&Entry<'_>, Trials),
    info: &RunInfo,
    dataset: &Dataset,
    out: Option<(&Path, bool)>,
    printer: Printer,
) -> anyhow::Result<(RunReport, Option<RunFolder>)> {
    let Entry { config, traded, seen, .. } = entry;
    let report = Outcome { seen: seen.clone(), trials, ..Outcome::of(config, info, dataset, traded) }.report()?;
    let folder = match out {
        Some((out, again)) => {
            let folder = RunFolder::create_for_result(out, config, info, again, printer)?;
            outcome::write(&folder, &report, dataset, &traded.paths)?;
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

/// The checkpoints of a run, or the one that is named; the command's last path is `file`.
fn find(path: &Path, file: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.exists() {
        return Err(hinted(
            format!("{} does not exist", path.display()),
            format!("give a run folder, or a folder with {POLICY_FILE}"),
        ));
    }
    if path.is_file() {
        let hint = if file.is_dir() { format!("{ORDER}; these are the other way round") } else { ORDER.to_owned() };
        return Err(hinted(format!("{} is a file, not the folder of a run or checkpoint", path.display()), hint));
    }
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
    // A fold's other seeds are there for the spread of the result; whoever wants one of them names it.
    while folder.checkpoint(found.len(), 0).join(POLICY_FILE).is_file() {
        found.push(folder.checkpoint(found.len(), 0));
    }
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

/// Trading the time a policy was trained on says nothing about the future.
fn seen(candidate: &Candidate, dataset: &Dataset) -> Option<String> {
    let (file, ts) = (&candidate.file, dataset.bars.ts());
    let overlaps = file.trained_first_ts <= ts[ts.len() - 1] && file.trained_last_ts >= ts[0];
    overlaps.then(|| {
        format!(
            "{} was trained on bars of {} to {}, inside the time traded here: on the same market this is not out of sample",
            candidate.dir.display(),
            time::day(file.trained_first_ts),
            time::day(file.trained_last_ts),
        )
    })
}

/// The first member's word, and how many others could say the same.
fn seen_together(seen: &[Option<String>]) -> Option<String> {
    let mut seen = seen.iter().flatten();
    let first = seen.next()?;
    Some(match seen.count() {
        0 => first.clone(),
        1 => format!("{first}; nor is it for one other member"),
        n => format!("{first}; nor is it for {n} other members"),
    })
}

/// Levels beyond ±1.
fn levered(candidate: &Candidate) -> Option<String> {
    setup::leverage(&candidate.dir.display().to_string(), &candidate.file.levels, &candidate.config.sim)
}

/// The same networks over the same features, whatever their folders are called: such a member's vote counts twice, and
/// such an entry repeats another. One line for each.
fn twice(candidates: &[Candidate], voting: bool) -> Vec<String> {
    let same = |a: &Candidate, b: &Candidate| {
        a.policy.weights() == b.policy.weights() && a.file.net == b.file.net && a.file.scaler == b.file.scaler
    };
    let line = |(i, one): (usize, &Candidate)| {
        let before = candidates[..i].iter().find(|other| same(other, one))?;
        let so = if voting { "it votes more than once" } else { "it is counted as another trial" };
        Some(format!("{} holds the same policy as {}: {so}", one.dir.display(), before.dir.display()))
    };
    candidates.iter().enumerate().filter_map(line).collect()
}

/// Other costs than those a policy was trained under ask another question.
fn other_rules(candidate: &Candidate) -> Option<String> {
    (candidate.file.sim != candidate.config.sim).then(|| {
        format!(
            "{} was trained under other costs or rules than it trades here; --trained-costs takes its own",
            candidate.dir.display()
        )
    })
}
