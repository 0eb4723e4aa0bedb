//! `gigabar train dqn`: one policy on one range of bars; also what it shares with `walkforward`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use gigabar::report::{RunReport, SeedsReport};
use gigabar_learn::policy::NetPolicy;
use gigabar_market::feature::FeatureTable;
use rayon::prelude::*;

use crate::args::{RunArgs, TrainArgs};
use crate::config::{Override, RunConfig};
use crate::dataset::Dataset;
use crate::device::{Compute, Wanted};
use crate::evaluation::Traded;
use crate::failure::{Early, broken_off, hinted};
use crate::outcome::{self, Outcome};
use crate::printer::Printer;
use crate::run_folder::{RunFolder, RunInfo};
use crate::training::{self, Job, Trained};
use crate::{setup, stop};

const VERB: &str = "train dqn";
/// Settings it does not read: its range is that of the flags, or `train_share`.
const UNREAD: [&str; 2] = ["window", "seeds"];

pub(crate) fn run(args: &TrainArgs, printer: Printer) -> anyhow::Result<()> {
    let wanted = Wanted::parse(&args.config.device)?;
    let given = setup::overrides(Some(&args.config), &args.data)?;
    let start = Start::new((VERB, &UNREAD), &args.files, &args.run, &given, printer)?;
    let features = start.dataset.features()?;
    let range = match start.saved_range() {
        Some(range) => range,
        None => train_range(args, &start.config, &features)?,
    };
    let name = format!("{}-dqn-train", name_of(&start.dataset));
    let rest = range.end..features.n_bars();
    let test = if rest.len() >= 2 { vec![rest] } else { Vec::new() };
    let plan = Plan { train: vec![range.clone()], test, n_seeds: 1 };
    let mut compute = start.settle(wanted, &features, &plan, printer);
    let folder = start.folder(args.run.out.as_deref(), &name, &compute.name(), Some([range.start, range.end]))?;
    printer.say(format_args!("run: {}\ntrain {}", folder.path().display(), start.days(&range)));
    let report = train_and_trade(&start, &features, &plan, &folder, &mut compute, printer)?;
    if let Some(report) = report {
        printer.say(format_args!("test on the bars after the train range, {}", start.days(&plan.test[0])));
        outcome::print(&report, Some(&folder), printer)?;
    } else if printer.is_json() {
        printer.data_json(&serde_json::json!({ "run": folder.path() }))?;
    } else {
        printer.data(format_args!("policy: {}", folder.checkpoint(0, 0).display()))?;
    }
    Ok(())
}

/// The flags' range, by default the first `train_share` of the bars with features.
fn train_range(args: &TrainArgs, config: &RunConfig, features: &FeatureTable) -> anyhow::Result<Range<usize>> {
    let (warmup, n) = (features.warmup_bars(), features.n_bars());
    let start = args.from_bar.unwrap_or(warmup);
    let share = (n.saturating_sub(start) as f64 * config.train_share).round() as usize;
    let end = args.to_bar.unwrap_or(start + share);
    if start < warmup {
        return Err(hinted(
            format!("--from-bar {start}: the features need {warmup} bars of warm-up"),
            format!("--from-bar {warmup} is the first bar with features"),
        ));
    }
    if end > n || end <= start {
        return Err(hinted(
            format!("bars {start} to {end} are no range of the {n} bars of the data"),
            format!("bars count from 0; --to-bar is at most {n}"),
        ));
    }
    Ok(start..end)
}

/// What is trained and traded; window i is traded by the policy of fold i.
pub(crate) struct Plan {
    pub(crate) train: Vec<Range<usize>>,
    pub(crate) test: Vec<Range<usize>>,
    /// Trainings per fold. What is reported is traded by the first, chosen before anything is known of them.
    pub(crate) n_seeds: usize,
}

/// A training run before its first step, new or resumed.
pub(crate) struct Start {
    verb: &'static str,
    pub(crate) config: RunConfig,
    pub(crate) dataset: Dataset,
    /// Folder and origin of the run to go on with.
    resumed: Option<(RunFolder, RunInfo)>,
}

impl Start {
    pub(crate) fn new(
        (verb, unread): (&'static str, &[&str]),
        files: &[PathBuf],
        run: &RunArgs,
        given: &[Override],
        printer: Printer,
    ) -> anyhow::Result<Self> {
        if let Some(path) = &run.resume {
            let (folder, config, info) = setup::resume(path, verb, given)?;
            validate(&config)?;
            let files = if files.is_empty() { info.files() } else { files.to_vec() };
            let dataset = Dataset::load(&files, &config.data, printer)?;
            setup::check_same_data(&dataset, &info)?;
            return Ok(Self { verb, config, dataset, resumed: Some((folder, info)) });
        }
        let config = setup::settings(verb, unread, given, printer)?;
        validate(&config)?;
        if files.is_empty() {
            return Err(hinted("no file of bars", "give one after the verb"));
        }
        let dataset = Dataset::load(files, &config.data, printer)?;
        Ok(Self { verb, config, dataset, resumed: None })
    }

    /// The range a resumed run trains on.
    fn saved_range(&self) -> Option<Range<usize>> {
        let [start, end] = self.resumed.as_ref()?.1.train_bars?;
        Some(start..end)
    }

    /// What computes; a resumed run stays where it was unless it is told to go elsewhere.
    pub(crate) fn settle(&self, wanted: Wanted, features: &FeatureTable, plan: &Plan, printer: Printer) -> Compute {
        match &self.resumed {
            Some((_, info)) => wanted.settle_again(info.last_device(), printer),
            None => {
                let n_learners = plan.train.len() * plan.n_seeds;
                wanted.settle(training::work(&self.config.dqn, features.n_feature(), n_learners), printer)
            }
        }
    }

    /// The run's folder, made now unless it is resumed.
    pub(crate) fn folder(
        &self,
        out: Option<&Path>,
        name: &str,
        device: &str,
        train_bars: Option<[usize; 2]>,
    ) -> anyhow::Result<RunFolder> {
        // What cannot be simulated should fail before anything is written.
        self.dataset.rules(&self.config.sim)?;
        match &self.resumed {
            Some((folder, _)) => Ok(folder.clone()),
            None => {
                let info = RunInfo { train_bars, ..setup::run_info(self.verb, "dqn", device, &self.dataset.summary) };
                RunFolder::create(out, name, &self.config, &info)
            }
        }
    }

    /// A range of bars as days and their number.
    pub(crate) fn days(&self, range: &Range<usize>) -> String {
        let day = |bar: usize| gigabar_market::time::day(self.dataset.bars.ts()[bar]);
        format!("{} to {} ({} bars)", day(range.start), day(range.end - 1), range.len())
    }
}

/// Refuses settings that nothing can be made of, before anything reads them.
fn validate(config: &RunConfig) -> anyhow::Result<()> {
    config.metric.validate()?;
    Ok(config.dqn.validate()?)
}

/// Trains every fold, trades every test window, writes the run folder. No report when nothing is tested.
pub(crate) fn train_and_trade(
    start: &Start,
    features: &FeatureTable,
    plan: &Plan,
    folder: &RunFolder,
    compute: &mut Compute,
    printer: Printer,
) -> anyhow::Result<Option<RunReport>> {
    stop::listen();
    let (config, dataset) = (&start.config, &start.dataset);
    let rules = dataset.rules(&config.sim)?;
    let (train, n_seeds) = (plan.train.clone(), plan.n_seeds);
    let job = Job { config, dataset, features, train, n_seeds, folder, printer, resume: start.resumed.is_some() };
    let resume = format!("gigabar {} --resume {}", start.verb, folder.path().display());
    let (policies, log) = match job.run(compute) {
        Ok(Trained::All(policies, log)) => (policies, log),
        Ok(Trained::Stopped) => return Err(Early::Interrupted { resume }.into()),
        Ok(Trained::Tripped(reason)) => return Err(Early::Guard { reason, resume }.into()),
        Err(error) if job.has_checkpoint() => return Err(error.context(broken_off(&resume))),
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    if plan.test.is_empty() {
        return Ok(None);
    }
    let walk =
        |(window, policy): (&Range<usize>, &NetPolicy)| dataset.trade(&rules, window.clone(), &mut policy.clone());
    let mut by_seed: Vec<Traded> = policies
        .into_par_iter()
        .map(|folds| Traded::unmeasured(plan.test.par_iter().zip(&folds).map(walk).collect()))
        .collect();
    let (_, info) = folder.settings()?;
    let seeds = (plan.n_seeds > 1).then(|| {
        let pooled = |traded: &Traded| Outcome::of(config, &info, dataset, traded).measured().pooled;
        SeedsReport::new(&by_seed.iter().map(pooled).collect::<Vec<_>>())
    });
    let traded = by_seed.swap_remove(0);
    let outcome = Outcome::of(config, &info, dataset, &traded);
    let report = Outcome { train: &plan.train, training: log.curves(), seeds, ..outcome }.report()?;
    outcome::write(folder, &report, dataset, &traded.paths)?;
    Ok(Some(report))
}

/// What a run on this data is called.
pub(crate) fn name_of(dataset: &Dataset) -> String {
    let path = dataset.summary.files.first().map_or(&dataset.summary.path, |file| &file.path);
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() { "bars".into() } else { stem.into() }
}
