//! Trained policies over windows: on the CPU side by side, or on a GPU all at once.

use std::ops::Range;
use std::path::PathBuf;

use gigabar_backtest::Path as AccountPath;
use gigabar_backtest::cpu::engine::{Rules, replay};
use gigabar_backtest::ensemble::EnsembleVote;
use gigabar_backtest::gpu::{GpuBacktestEvaluator, MlpPolicy, WindowInput};
use gigabar_gpu::Device;
use gigabar_learn::{EnsemblePolicy, NetPolicy, PolicyFile};
use rayon::prelude::*;

use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::device::{Compute, Work};
use crate::printer::Printer;

/// A trained policy, ready to trade a data set.
pub(crate) struct Candidate {
    pub(crate) dir: PathBuf,
    pub(crate) file: PolicyFile,
    pub(crate) policy: NetPolicy,
    /// The settings it trades under.
    pub(crate) config: RunConfig,
}

/// The work of these candidates in these windows.
pub(crate) fn work(candidates: &[Candidate], windows: &[Range<usize>]) -> Work {
    let bars: usize = windows.iter().map(Range::len).sum();
    let weights = candidates.iter().map(|one| one.policy.weights().iter().map(Vec::len).sum()).max().unwrap_or(0);
    Work::Networks { decisions: bars * candidates.len(), weights }
}

/// The candidates as one policy over every window. `[windows.len()]`
pub(crate) fn trade_together(
    candidates: &[Candidate],
    vote: EnsembleVote,
    dataset: &Dataset,
    windows: &[Range<usize>],
) -> anyhow::Result<Vec<AccountPath>> {
    let members = candidates.iter().map(|candidate| candidate.policy.clone()).collect();
    let ensemble = EnsemblePolicy::new(members, vote)?;
    let rules = dataset.rules(&candidates[0].config.sim)?;
    let walk = |window: &Range<usize>| dataset.trade(&rules, window.clone(), &mut ensemble.clone());
    Ok(windows.par_iter().map(walk).collect())
}

/// Every candidate over every window. `[candidates.len()][windows.len()]`
pub(crate) fn trade(
    candidates: &[Candidate],
    dataset: &Dataset,
    windows: &[Range<usize>],
    compute: &mut Compute,
    printer: Printer,
) -> anyhow::Result<Vec<Vec<AccountPath>>> {
    compute.run(printer, |device| on_gpu(candidates, dataset, windows, device), || on_cpu(candidates, dataset, windows))
}

fn on_cpu(
    candidates: &[Candidate],
    dataset: &Dataset,
    windows: &[Range<usize>],
) -> anyhow::Result<Vec<Vec<AccountPath>>> {
    let one = |candidate: &Candidate| -> anyhow::Result<Vec<AccountPath>> {
        let rules = dataset.rules(&candidate.config.sim)?;
        let walk = |window: &Range<usize>| dataset.trade(&rules, window.clone(), &mut candidate.policy.clone());
        Ok(windows.par_iter().map(walk).collect())
    };
    candidates.par_iter().map(one).collect()
}

fn on_gpu(
    candidates: &[Candidate],
    dataset: &Dataset,
    windows: &[Range<usize>],
    device: &Device,
) -> anyhow::Result<Vec<Vec<AccountPath>>> {
    let market = dataset.market();
    let mut paths = vec![Vec::new(); candidates.len()];
    for group in groups(candidates) {
        let first = &candidates[group[0]];
        let rules = dataset.rules(&first.config.sim)?;
        let scaled = first.policy.features();
        let input = |range: &Range<usize>| WindowInput {
            market,
            rules: &rules,
            range: range.clone(),
            features: &scaled.values()[range.start * scaled.n_feature()..range.end * scaled.n_feature()],
        };
        let inputs: Vec<WindowInput<'_>> = windows.iter().map(input).collect();
        let mut evaluator = GpuBacktestEvaluator::upload_windows(device, &inputs)?;
        let policies: Vec<MlpPolicy> = group.iter().map(|&i| candidates[i].policy.on_device()).collect();
        evaluator.evaluate_with_actions(&policies, first.config.metric.risk_free)?;
        for (k, &i) in group.iter().enumerate() {
            for (w, window) in windows.iter().enumerate() {
                let actions = evaluator.path(k, w)?.actions;
                let levels: Vec<f64> = actions.iter().map(|&a| policies[k].levels[usize::from(a)]).collect();
                paths[i].push(replay(&rules, &market, window.clone(), &levels));
            }
        }
    }
    Ok(paths)
}

/// One account per window, given a level for every bar of the data set. Bit for bit what the CPU makes of them.
pub(crate) fn replay_on_gpu(
    device: &Device,
    dataset: &Dataset,
    rules: &Rules,
    windows: &[Range<usize>],
    levels: &[f64],
) -> anyhow::Result<Vec<AccountPath>> {
    let market = dataset.market();
    let input = |range: &Range<usize>| WindowInput { market, rules, range: range.clone(), features: &[] };
    let inputs: Vec<WindowInput<'_>> = windows.iter().map(input).collect();
    let evaluator = GpuBacktestEvaluator::upload_windows(device, &inputs)?;
    let cases: Vec<(usize, &[f64])> =
        windows.iter().enumerate().map(|(w, range)| (w, &levels[range.start..range.end - 1])).collect();
    // A bar can end one trade by a change of sides and the next by a barrier.
    let most_trades = 2 * windows.iter().map(Range::len).max().unwrap_or(0);
    let (paths, _) = evaluator.replay(&cases, most_trades, 0.0)?;
    Ok(paths.into_iter().map(|read| read.path).collect())
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
