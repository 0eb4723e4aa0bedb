//! Trained policies over windows: on the CPU side by side, or on a GPU all at once.

use std::ops::Range;
use std::path::PathBuf;

use gigabar_backtest::cpu::engine::Rules;
use gigabar_backtest::ensemble::EnsembleVote;
use gigabar_backtest::gpu::{GpuBacktestEvaluator, MlpPolicy, WindowInput};
use gigabar_backtest::metric::MetricConfig;
use gigabar_backtest::{EvalReport, Path as AccountPath};
use gigabar_gpu::Device;
use gigabar_learn::{EnsemblePolicy, NetPolicy, PolicyFile};
use rayon::prelude::*;

use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::device::{Compute, Work};
use crate::printer::Printer;

/// A trained policy, ready to trade a data set.
pub(crate) struct Candidate {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
    pub(crate) file: PolicyFile,
    pub(crate) policy: NetPolicy,
    /// The settings it trades under.
    pub(crate) config: RunConfig,
}

/// What a policy did.
pub(crate) struct Traded {
    /// One account per window.
    pub(crate) paths: Vec<AccountPath>,
    /// The metrics, where a GPU made them.
    pub(crate) report: Option<EvalReport>,
}

impl Traded {
    /// On the CPU: still to be measured.
    pub(crate) fn unmeasured(paths: Vec<AccountPath>) -> Self {
        Self { paths, report: None }
    }
}

/// The work of these candidates in these windows.
pub(crate) fn work(candidates: &[Candidate], windows: &[Range<usize>]) -> Work {
    let bars: usize = windows.iter().map(Range::len).sum();
    let weights = candidates.iter().map(|one| one.policy.weights().iter().map(Vec::len).sum()).max().unwrap_or(0);
    Work::Networks { decisions: bars * candidates.len(), weights }
}

/// The candidates as one policy, called `name`, over every window.
pub(crate) fn trade_together(
    candidates: &[Candidate],
    (vote, name): (EnsembleVote, &str),
    dataset: &Dataset,
    windows: &[Range<usize>],
    compute: &mut Compute,
    printer: Printer,
) -> anyhow::Result<Traded> {
    // Says what keeps members from voting, on every device alike.
    let members = candidates.iter().map(|candidate| candidate.policy.clone()).collect();
    let ensemble = EnsemblePolicy::new(members, vote)?;
    let rules = dataset.rules(&candidates[0].config.sim)?;
    let on_gpu = |device: &Device| together_on_gpu(candidates, (vote, name), (dataset, &rules), windows, device);
    let on_cpu = || {
        let walk = |window: &Range<usize>| dataset.trade(&rules, window.clone(), &mut ensemble.clone());
        Ok(Traded::unmeasured(windows.par_iter().map(walk).collect()))
    };
    compute.run(printer, on_gpu, on_cpu)
}

fn together_on_gpu(
    candidates: &[Candidate],
    (vote, name): (EnsembleVote, &str),
    (dataset, rules): (&Dataset, &Rules),
    windows: &[Range<usize>],
    device: &Device,
) -> anyhow::Result<Traded> {
    let features_of = |one| windows.iter().map(|window| features_of(one, window)).collect::<Vec<_>>();
    let first = &candidates[0];
    let mut evaluator = upload(device, dataset, rules, windows, &features_of(first))?;
    for (i, candidate) in candidates.iter().enumerate() {
        // Each was trained on features scaled its own way.
        if candidate.file.scaler != first.file.scaler {
            evaluator.upload_member_features(i, &features_of(candidate))?;
        }
    }
    let members: Vec<MlpPolicy> = candidates.iter().map(|candidate| candidate.policy.on_device()).collect();
    let metric = &first.config.metric;
    let report = evaluator.evaluate_ensemble_full(&dataset.bars, (&members, vote), name, metric, 1)?;
    Ok(Traded { paths: evaluator.paths_full(0)?, report: Some(report) })
}

/// Every candidate over every window, each one trial of as many as there are. `[candidates.len()]`
pub(crate) fn trade(
    candidates: &[Candidate],
    dataset: &Dataset,
    windows: &[Range<usize>],
    compute: &mut Compute,
    printer: Printer,
) -> anyhow::Result<Vec<Traded>> {
    let on_gpu = |device: &Device| on_gpu(candidates, dataset, windows, device, printer);
    compute.run(printer, on_gpu, || on_cpu(candidates, dataset, windows))
}

fn on_cpu(candidates: &[Candidate], dataset: &Dataset, windows: &[Range<usize>]) -> anyhow::Result<Vec<Traded>> {
    let one = |candidate: &Candidate| {
        let rules = dataset.rules(&candidate.config.sim)?;
        let walk = |window: &Range<usize>| dataset.trade(&rules, window.clone(), &mut candidate.policy.clone());
        Ok(Traded::unmeasured(windows.par_iter().map(walk).collect()))
    };
    candidates.par_iter().map(one).collect()
}

fn on_gpu(
    candidates: &[Candidate],
    dataset: &Dataset,
    windows: &[Range<usize>],
    device: &Device,
    printer: Printer,
) -> anyhow::Result<Vec<Traded>> {
    let mut traded: Vec<Option<Traded>> = candidates.iter().map(|_| None).collect();
    for group in groups(candidates) {
        let first = &candidates[group[0]];
        let features = windows.iter().map(|window| features_of(first, window)).collect::<Vec<_>>();
        let rules = dataset.rules(&first.config.sim)?;
        let mut evaluator = upload(device, dataset, &rules, windows, &features)?;
        let policies: Vec<MlpPolicy> = group.iter().map(|&i| candidates[i].policy.on_device()).collect();
        let names: Vec<String> = group.iter().map(|&i| candidates[i].name.clone()).collect();
        let need = evaluator.memory(&policies, true)?;
        if printer.is_verbose() {
            printer.say(format_args!("  evaluation: {need}"));
        }
        // As many as fit side by side, so that their paths can be read back too.
        for at in (0..policies.len()).step_by(need.at_once) {
            let turn = at..policies.len().min(at + need.at_once);
            let (policies, names) = (&policies[turn.clone()], &names[turn.clone()]);
            let reports =
                evaluator.evaluate_full(&dataset.bars, policies, names, &first.config.metric, candidates.len())?;
            for (k, (report, &i)) in reports.into_iter().zip(&group[turn]).enumerate() {
                traded[i] = Some(Traded { paths: evaluator.paths_full(k)?, report: Some(report) });
            }
        }
    }
    Ok(traded.into_iter().flatten().collect())
}

/// One account per window, given a level for every bar of the data set. Bit for bit what the CPU makes of them.
pub(crate) fn replay_on_gpu(
    device: &Device,
    dataset: &Dataset,
    rules: &Rules,
    windows: &[Range<usize>],
    (name, levels): (&str, &[f64]),
    config: &MetricConfig,
) -> anyhow::Result<Traded> {
    let features = vec![&[][..]; windows.len()];
    let mut evaluator = upload(device, dataset, rules, windows, &features)?;
    let levels: Vec<&[f64]> = windows.iter().map(|range| &levels[range.start..range.end - 1]).collect();
    let report = evaluator.replay_full(&dataset.bars, &[name.to_owned()], &levels, config, 1)?.pop();
    Ok(Traded { paths: evaluator.paths_full(0)?, report })
}

/// The windows on the device, each with its features `[n_bars, n_feature]`.
fn upload(
    device: &Device,
    dataset: &Dataset,
    rules: &Rules,
    windows: &[Range<usize>],
    features: &[&[f32]],
) -> anyhow::Result<GpuBacktestEvaluator> {
    let market = dataset.market();
    let windows = windows.iter().zip(features);
    let inputs: Vec<WindowInput<'_>> =
        windows.map(|(range, features)| WindowInput { market, rules, range: range.clone(), features }).collect();
    Ok(GpuBacktestEvaluator::upload_windows(device, &inputs)?)
}

/// A window's rows of a candidate's own scaled features. `[n_bars, n_feature]`
fn features_of<'a>(candidate: &'a Candidate, window: &Range<usize>) -> &'a [f32] {
    let scaled = candidate.policy.features();
    &scaled.values()[window.start * scaled.n_feature()..window.end * scaled.n_feature()]
}

/// Candidates that one upload serves: the same scaled features, the same rules, networks of one shape.
fn groups(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (i, candidate) in candidates.iter().enumerate() {
        let alike = |group: &&mut Vec<usize>| {
            let other = &candidates[group[0]];
            let (mine, theirs) = (&candidate.file, &other.file);
            mine.scaler == theirs.scaler && mine.net == theirs.net && candidate.config.sim == other.config.sim
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
    }
    groups
}
