//! `gigabar train dqn`: one policy on one range of bars; also what it shares with `walkforward`.

use std::ops::Range;
use std::path::Path;

use gigabar::report::RunReport;
use gigabar_market::feature::FeatureTable;

use crate::args::{ConfigArgs, DataArgs, RunArgs, TrainArgs};
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::evaluation::Traded;
use crate::failure::{Early, broken_off, hinted};
use crate::outcome::{self, Outcome};
use crate::printer::Printer;
use crate::run_folder::{RunFolder, RunInfo};
use crate::training::{Job, Trained};
use crate::{device, setup, stop};

const VERB: &str = "train dqn";
/// Settings it does not read: its range is that of the flags, or `train_share`.
const UNREAD: [&str; 1] = ["window"];

pub(crate) fn run(args: &TrainArgs, printer: Printer) -> anyhow::Result<()> {
    let device = device::for_training(&args.config.device, printer)?;
    let start = Start::new((VERB, &UNREAD), args.file.as_deref(), &args.run, &args.config, &args.data, printer)?;
    let features = start.dataset.features()?;
    let range = match start.saved_range() {
        Some(range) => range,
        None => train_range(args, &start.config, &features)?,
    };
    let name = format!("{}-dqn-train", name_of(&start.dataset));
    let folder = start.folder(args.run.out.as_deref(), &name, &device, Some([range.start, range.end]))?;
    printer.say(format_args!("run: {}\ntrain {}", folder.path().display(), start.days(&range)));
    let rest = range.end..features.n_bars();
    let test = if rest.len() >= 2 { vec![rest] } else { Vec::new() };
    let plan = Plan { train: vec![range], test };
    let report = train_and_trade(&start, &features, &plan, &folder, printer)?;
    if let Some(report) = report {
        printer.say(format_args!("test on the bars after the train range, {}", start.days(&plan.test[0])));
        outcome::print(&report, Some(&folder), printer)?;
    } else if printer.is_json() {
        printer.data_json(&serde_json::json!({ "run": folder.path() }))?;
    } else {
        printer.data(format_args!("policy: {}", folder.checkpoint(0).display()))?;
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
        file: Option<&Path>,
        run: &RunArgs,
        config: &ConfigArgs,
        data: &DataArgs,
        printer: Printer,
    ) -> anyhow::Result<Self> {
        if let Some(path) = &run.resume {
            let (folder, config, info) = setup::resume(path, verb, config, data)?;
            let dataset = Dataset::load(file.unwrap_or(Path::new(&info.data)), &config.data, printer)?;
            setup::check_same_data(&dataset, &info)?;
            return Ok(Self { verb, config, dataset, resumed: Some((folder, info)) });
        }
        let config = setup::settings(verb, unread, config, data, printer)?;
        let Some(file) = file else { return Err(hinted("no file of bars", "give one after the verb")) };
        let dataset = Dataset::load(file, &config.data, printer)?;
        Ok(Self { verb, config, dataset, resumed: None })
    }

    /// The range a resumed run trains on.
    fn saved_range(&self) -> Option<Range<usize>> {
        let [start, end] = self.resumed.as_ref()?.1.train_bars?;
        Some(start..end)
    }

    /// The run's folder, made now unless it is resumed.
    pub(crate) fn folder(
        &self,
        out: Option<&Path>,
        name: &str,
        device: &str,
        train_bars: Option<[usize; 2]>,
    ) -> anyhow::Result<RunFolder> {
        // What cannot be simulated or measured should fail before anything is written.
        self.dataset.rules(&self.config.sim)?;
        self.config.metric.validate()?;
        self.config.dqn.validate()?;
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

/// Trains every fold, trades every test window, writes the run folder. No report when nothing is tested.
pub(crate) fn train_and_trade(
    start: &Start,
    features: &FeatureTable,
    plan: &Plan,
    folder: &RunFolder,
    printer: Printer,
) -> anyhow::Result<Option<RunReport>> {
    stop::listen();
    let (config, dataset) = (&start.config, &start.dataset);
    let rules = dataset.rules(&config.sim)?;
    let train = plan.train.clone();
    let job = Job { config, dataset, features, train, folder, printer, resume: start.resumed.is_some() };
    let resume = format!("gigabar {} --resume {}", start.verb, folder.path().display());
    let (mut policies, log) = match job.run() {
        Ok(Trained::All(policies, log)) => (policies, log),
        Ok(Trained::Stopped) => return Err(Early::Interrupted { resume }.into()),
        Err(error) if job.has_checkpoint() => return Err(error.context(broken_off(&resume))),
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    if plan.test.is_empty() {
        return Ok(None);
    }
    let windows = plan.test.iter().zip(&mut policies);
    let paths: Vec<_> = windows.map(|(window, policy)| dataset.trade(&rules, window.clone(), policy)).collect();
    let (_, info) = folder.settings()?;
    let traded = Traded::unmeasured(paths);
    let outcome = Outcome::of(config, &info, dataset, &traded);
    let report = Outcome { train: &plan.train, training: log.curves(), ..outcome }.report()?;
    outcome::write(folder, &report, dataset, &traded.paths)?;
    Ok(Some(report))
}

/// What a run on this data is called.
pub(crate) fn name_of(dataset: &Dataset) -> String {
    let name = Path::new(&dataset.summary.path).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() { "bars".into() } else { stem.into() }
}
