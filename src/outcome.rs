//! The end of every evaluation: metrics, files, tables, and an honest word about luck.

use std::ops::Range;
use std::path::PathBuf;

use gigabar::report::refused::{VOLUME_LEFT_OUT, refused_orders};
use gigabar::report::verdict::{CONFIDENT, LOSING, probability};
use gigabar::report::{
    ChoicesReport, Luck, RunReport, SeedsReport, SweepReport, TrainingCurve, WindowCurve, csv, text,
};
use gigabar_backtest::metric::{Trials, catalog};
use gigabar_backtest::{EvalReport, Path as AccountPath};
use serde::Serialize;

use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::evaluation::Traded;
use crate::failure::{Early, hinted};
use crate::printer::Printer;
use crate::run_folder::{RunFolder, RunInfo};
use crate::setup;

/// What was traded, and how it came about.
pub(crate) struct Outcome<'a> {
    pub(crate) config: &'a RunConfig,
    pub(crate) info: &'a RunInfo,
    pub(crate) dataset: &'a Dataset,
    pub(crate) traded: &'a Traded,
    /// The bars trained on before each window; empty when nothing was trained.
    pub(crate) train: &'a [Range<usize>],
    pub(crate) training: Vec<TrainingCurve>,
    /// What the policy was chosen from: nothing else, or a sweep.
    pub(crate) trials: Trials,
    pub(crate) sweep: Option<SweepReport>,
    /// What other seeds make of the same training.
    pub(crate) seeds: Option<SeedsReport>,
    /// Why the bars may not be unseen ones.
    pub(crate) seen: Option<String>,
}

impl<'a> Outcome<'a> {
    /// Of a policy that was not trained here, nor chosen from others.
    pub(crate) fn of(config: &'a RunConfig, info: &'a RunInfo, dataset: &'a Dataset, traded: &'a Traded) -> Self {
        Self {
            config,
            info,
            dataset,
            traded,
            train: &[],
            training: Vec::new(),
            trials: Trials::count(1),
            sweep: None,
            seeds: None,
            seen: None,
        }
    }

    /// The metrics of the paths.
    pub(crate) fn measured(&self) -> EvalReport {
        let (info, bars) = (self.info, &self.dataset.bars);
        EvalReport::with_trials(&info.policy, bars, &self.traded.paths, &self.config.metric, self.trials)
    }

    /// Measures it.
    pub(crate) fn report(self) -> anyhow::Result<RunReport> {
        self.config.metric.validate()?;
        let bars = &self.dataset.bars;
        let curve = |(i, path)| WindowCurve::new(i, bars, path, self.train.get(i));
        Ok(RunReport {
            version: self.info.version.clone(),
            command: self.info.command.clone(),
            created: setup::now(),
            data: self.dataset.summary.clone(),
            device: self.info.devices(),
            seed: self.config.seed,
            settings_toml: self.config.to_toml()?,
            report: self.traded.report.clone().unwrap_or_else(|| self.measured()),
            curves: self.traded.paths.iter().enumerate().map(curve).collect(),
            training: self.training,
            seen: self.seen,
            sweep: self.sweep,
            seeds: self.seeds,
            choices: None,
        })
    }
}

/// Writes the tables of every window and the report.
pub(crate) fn write(
    folder: &RunFolder,
    report: &RunReport,
    dataset: &Dataset,
    paths: &[AccountPath],
) -> anyhow::Result<PathBuf> {
    for (i, path) in paths.iter().enumerate() {
        let dir = format!("fold-{i}");
        let bars = &dataset.bars;
        folder.stream(&format!("{dir}/equity.csv"), |file| Ok(csv::write_equity(file, bars, path)?))?;
        folder.stream(&format!("{dir}/trades.csv"), |file| Ok(csv::write_trades(file, bars, &path.trades)?))?;
    }
    folder.write_report(report)
}

#[derive(Serialize)]
struct Json<'a, S = ()> {
    version: &'a str,
    command: &'a str,
    data: &'a gigabar::report::DataSummary,
    device: &'a str,
    seed: u64,
    /// The run's folder, where one was written.
    run: Option<String>,
    report: &'a EvalReport,
    /// What other seeds make of the same training.
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds: Option<&'a SeedsReport>,
    /// What each fold of a rule's walk-forward chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    choices: Option<&'a ChoicesReport>,
    /// All that the policy was chosen from, under a name of its own.
    #[serde(flatten)]
    chosen_from: Option<S>,
}

impl<'a, S> Json<'a, S> {
    fn new(report: &'a RunReport, folder: Option<&RunFolder>, chosen_from: Option<S>) -> Self {
        Self {
            chosen_from,
            version: &report.version,
            command: &report.command,
            data: &report.data,
            device: &report.device,
            seed: report.seed,
            run: folder.map(|folder| folder.path().display().to_string()),
            report: &report.report,
            seeds: report.seeds.as_ref(),
            choices: report.choices.as_ref(),
        }
    }
}

/// Prints the result to stdout, and to stderr what should temper it.
pub(crate) fn print(report: &RunReport, folder: Option<&RunFolder>, printer: Printer) -> anyhow::Result<()> {
    if printer.is_json() {
        return print_json(report, folder, None::<()>, printer);
    } else {
        if let Some(sweep) = &report.sweep {
            printer.data(format_args!("{}\n\n{}", text::sweep_table(sweep), report.report.policy))?;
        }
        if let Some(choices) = &report.choices {
            printer.data(format_args!("{}\n", text::choices_table(choices)))?;
        }
        printer.data(text::windows_table(&report.report))?;
        printer.data("")?;
        if printer.is_verbose() {
            printer.data(text::metrics_table(&report.report))?;
            printer.data("")?;
        }
        printer.data(text::summary(report))?;
        if let Some(seeds) = &report.seeds {
            printer.data(format_args!("\n{}", text::seeds_table(seeds)))?;
        }
        if let Some(folder) = folder {
            printer.data(format_args!("report: {}", folder.path().join("report.html").display()))?;
        }
    }
    temper(report, printer);
    Ok(())
}

/// Prints the result as JSON, with all that the policy was chosen from as one more field.
pub(crate) fn print_json(
    report: &RunReport,
    folder: Option<&RunFolder>,
    chosen_from: Option<impl Serialize>,
    printer: Printer,
) -> anyhow::Result<()> {
    printer.data_json(&Json::new(report, folder, chosen_from))?;
    temper(report, printer);
    Ok(())
}

/// Prints several results as one JSON list.
pub(crate) fn print_list(results: &[(RunReport, Option<RunFolder>)], printer: Printer) -> anyhow::Result<()> {
    let list: Vec<_> = results.iter().map(|(report, folder)| Json::<()>::new(report, folder.as_ref(), None)).collect();
    printer.data_json(&list)?;
    results.iter().for_each(|(report, _)| temper(report, printer));
    Ok(())
}

/// Says what kept orders from being filled, and when the result may be luck.
fn temper(run: &RunReport, printer: Printer) {
    if let Some(refused) = refused_orders(run) {
        printer.warn(format_args!("{refused}; {VOLUME_LEFT_OUT}"));
    }
    let report = &run.report;
    if let Some(line) = luck(report) {
        printer.warn(line);
    }
    let (broken, all) = (report.pooled.nan_levels, report.pooled.n_bars);
    if broken > 0 {
        printer.warn(format_args!("{broken} of {all} levels are not finite and were taken as flat"));
    }
    if report.pooled.costs == Some(0.0) && report.pooled.fills > 0 {
        printer.warn("no cost was simulated; see --set sim.commission_bps=… and sim.half_spread_bps=…");
    }
    if report.pooled.ruined {
        printer.warn("the account was ruined in at least one window");
    }
}

/// What the judgement on its luck warns of; nothing where it is skill.
fn luck(report: &EvalReport) -> Option<String> {
    let percent = |p: Option<f64>| format!("{:.0} %", 100.0 * p.unwrap_or(f64::NAN));
    let hurdle = match report.n_trials {
        0 | 1 => "0".to_owned(),
        n => format!("what the best of {n} shows without skill"),
    };
    let chance = format!(
        "the chance that the true Sharpe ratio is above {hurdle} is {}, below {}",
        percent(probability(report)),
        percent(Some(CONFIDENT))
    );
    match Luck::of(report) {
        Luck::Skill => None,
        Luck::Idle => {
            let never = format!("{} never traded: no order was filled in {} bars", report.policy, report.pooled.n_bars);
            let early = " (before its indicators have their bars a rule holds nothing)";
            Some(if report.pooled.rejected_orders > 0 { never } else { never + early })
        }
        Luck::Empty | Luck::Unknown => Some("too few or too uniform returns to tell skill from luck".into()),
        Luck::Losing => Some(format!(
            "this result is worse than luck, the evidence is that it loses money: the chance that the true Sharpe ratio is \
             above 0 is {}, below {}",
            percent(report.psr),
            percent(Some(LOSING))
        )),
        Luck::Suggestive => Some(format!("this result is suggestive, but not distinguishable from luck: {chance}")),
        Luck::Luck => Some(format!("this result is not distinguishable from luck: {chance}")),
    }
}

/// `--fail-below METRIC=VALUE`, checked before any work is done.
pub(crate) struct Thresholds(Vec<(Measure, f64)>);

/// What a threshold is set on.
enum Measure {
    /// A metric of the pooled windows.
    Pooled(&'static catalog::MetricInfo),
    /// The report's deflated Sharpe ratio.
    Deflated,
}

/// The deflated ratio is of a report, not of a window: no metric of the catalog.
const DEFLATED: &str = "deflated_sharpe";

impl Measure {
    fn find(key: &str) -> anyhow::Result<Self> {
        if key == DEFLATED || key == "dsr" {
            return Ok(Self::Deflated);
        }
        catalog::find(key).map(Self::Pooled).map_err(|unknown| {
            let more = unknown.hint().map(|hint| format!("{hint}, {DEFLATED}")).unwrap_or_default();
            if strsim::jaro_winkler(key, DEFLATED) > strsim::jaro_winkler(key, unknown.nearest) {
                return hinted(format!("unknown metric `{key}`; the nearest is `{DEFLATED}`"), more);
            }
            hinted(unknown.to_string(), more)
        })
    }

    fn of(&self, report: &EvalReport) -> (&'static str, Option<f64>) {
        match self {
            Self::Pooled(info) => (info.key, (info.value)(&report.pooled)),
            Self::Deflated => (DEFLATED, report.dsr),
        }
    }
}

impl Thresholds {
    pub(crate) fn parse(texts: &[String]) -> anyhow::Result<Self> {
        let one = |text: &String| -> anyhow::Result<_> {
            let usage = || hinted(format!("--fail-below {text}: expected METRIC=VALUE"), "for example sharpe=0.5");
            let (key, value) = text.split_once('=').ok_or_else(usage)?;
            let value: f64 = value.trim().parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(usage)?;
            Ok((Measure::find(key.trim())?, value))
        };
        Ok(Self(texts.iter().map(one).collect::<anyhow::Result<_>>()?))
    }

    /// An undefined metric is below every value.
    pub(crate) fn check(&self, report: &EvalReport) -> anyhow::Result<()> {
        for (measure, least) in &self.0 {
            let (key, value) = measure.of(report);
            if value.is_none_or(|value| value < *least) {
                let shown = value.map_or_else(|| "undefined".to_owned(), |value| value.to_string());
                return Err(Early::Threshold(format!("pooled {key} is {shown}, below {least}")).into());
            }
        }
        Ok(())
    }
}
