//! The whole report of every policy, made on the device: replay, pooled account, statistics. The host gets the accounts
//! and the statistics, some hundred bytes of each pair, and writes the formulas.

use std::ops::Range;

use gigabar_gpu::{Buffer, Device};
use gigabar_market::Bars;

use super::replayed::{Levels, Outcome, Record, Replayed, Run};
use super::workspace::paths_of;
use super::{GpuBacktestEvaluator, WindowSummary, mismatch};
use crate::ensemble::EnsembleVote;
use crate::gpu::error::EvaluateError;
use crate::gpu::full_metrics::{FullKernels, FullSeries, FullStats};
use crate::gpu::layout::{EnvAccount, EnvTrade, EnvWindow, RolloutPair};
use crate::gpu::mlp::MlpPolicy;
use crate::gpu::pool::{accounts_of, chain, hold_columns, spans, takeovers};
use crate::metric::{MetricConfig, Trials, WindowStats};
use crate::path::{Counts, Path};
use crate::report::{EvalReport, ReportStats, SpanStats, add_counts};

const F64: u64 = size_of::<f64>() as u64;

/// What the metrics are measured against.
struct Measure<'a> {
    bars: &'a Bars,
    config: &'a MetricConfig,
    /// Minimum acceptable return of one bar.
    threshold: f64,
    kernels: FullKernels,
}

/// Holding the instrument over the windows: the benchmark of every policy.
struct Hold {
    /// At each window's row. `[n_rows]`
    returns: Buffer<f64>,
    /// As one account. `[Σ n]`
    pooled_returns: Buffer<f64>,
    /// `[W]`
    windows: Vec<WindowStats>,
    pooled: WindowStats,
}

impl GpuBacktestEvaluator {
    /// Runs every policy greedily over every window and reports each as the CPU's [`EvalReport::new`] would its paths:
    /// the same numbers. `bars` is the data set the windows were cut from; `names` are the policies',
    /// `[policies.len()]`.
    /// `n_trials` is the number of policies each was chosen from.
    ///
    /// # Errors
    /// As [`Self::evaluate`]; [`EvaluateError::Mismatch`] for names of another number or `bars` that end before a
    /// window.
    pub fn evaluate_full(
        &mut self,
        bars: &Bars,
        policies: &[MlpPolicy],
        names: &[String],
        config: &MetricConfig,
        n_trials: usize,
    ) -> Result<Vec<EvalReport>, EvaluateError> {
        self.check_full(bars, names.len(), policies.len())?;
        let at_once = self.at_once(policies, true)?;
        let mut reports = Vec::with_capacity(policies.len());
        for (turn, (group, names)) in policies.chunks(at_once).zip(names.chunks(at_once)).enumerate() {
            let summaries = self.run(group, config.risk_free, true)?;
            reports.extend(self.report_rolled(&summaries, bars, names, config, n_trials)?);
            self.first_kept = turn * at_once;
        }
        Ok(reports)
    }

    /// As [`Self::evaluate_full`], of the members as one ensemble: its report.
    ///
    /// # Errors
    /// As [`Self::evaluate_ensemble`] and [`Self::evaluate_full`].
    pub fn evaluate_ensemble_full(
        &mut self,
        bars: &Bars,
        (members, vote): (&[MlpPolicy], EnsembleVote),
        name: &str,
        config: &MetricConfig,
        n_trials: usize,
    ) -> Result<EvalReport, EvaluateError> {
        self.check_full(bars, 1, 1)?;
        let summaries = self.run_ensemble(members, vote, config.risk_free, true)?;
        let mut reports = self.report_rolled(&summaries, bars, &[name.to_owned()], config, n_trials)?;
        Ok(reports.swap_remove(0))
    }

    /// Reports on a greedy rollout that has kept its actions.
    fn report_rolled(
        &mut self,
        summaries: &[WindowSummary],
        bars: &Bars,
        names: &[String],
        config: &MetricConfig,
        n_trials: usize,
    ) -> Result<Vec<EvalReport>, EvaluateError> {
        let outcome = |s: &WindowSummary| Outcome { n_trades: s.n_trades as usize, final_equity: s.final_equity };
        let replayed = Replayed { levels: Levels::Greedy, outcomes: summaries.iter().map(outcome).collect() };
        let reports = self.reports(&replayed, bars, names, config, n_trials);
        self.replayed = Some(replayed);
        reports
    }

    /// As [`Self::evaluate_full`], of given levels: rule strategies and signals. `levels` `[names.len()·W]` has those
    /// of a strategy's windows in turn, each `[n_bars − 1]`.
    ///
    /// # Errors
    /// [`EvaluateError::Mismatch`] for levels of a wrong number or length, or `bars` that end before a window; the
    /// device's.
    pub fn replay_full(
        &mut self,
        bars: &Bars,
        names: &[String],
        levels: &[&[f64]],
        config: &MetricConfig,
        n_trials: usize,
    ) -> Result<Vec<EvalReport>, EvaluateError> {
        let n_window = self.windows.len();
        self.check_full(bars, levels.len(), names.len() * n_window)?;
        let mut columns = Vec::with_capacity(names.len() * self.n_point());
        for (i, own) in levels.iter().enumerate() {
            let n = self.windows[i % n_window].n_bars as usize - 1;
            if own.len() != n {
                return Err(mismatch(&format!("levels of window {}", i % n_window), n, own.len()));
            }
            columns.extend_from_slice(own);
            columns.push(0.0);
        }
        self.first_kept = 0;
        let levels = Levels::Given(self.device.upload("levels", &columns)?);
        let unknown = vec![Outcome { n_trades: 0, final_equity: 0.0 }; names.len() * n_window];
        let mut outcomes = Vec::with_capacity(unknown.len());
        for policies in self.affordable(&unknown)? {
            let run = self.replay_policies(&levels, &unknown, policies, Record::Outcomes)?;
            outcomes.extend(run.path.accounts.read()?.iter().map(Outcome::of));
        }
        let replayed = Replayed { levels, outcomes };
        let reports = self.reports(&replayed, bars, names, config, n_trials);
        self.replayed = Some(replayed);
        reports
    }

    /// The paths of policy `k` of the last [`Self::evaluate_full`] or [`Self::replay_full`], read back whole: one per
    /// window. [`EvalReport::new`] of them equals its report. Of policies that took turns ([`Self::memory`]) only those
    /// of the last turn are there.
    ///
    /// # Errors
    /// [`EvaluateError::Mismatch`] when there is none; the device's.
    pub fn paths_full(&self, k: usize) -> Result<Vec<Path>, EvaluateError> {
        let none = || mismatch("whole evaluations before their paths", 1, 0);
        let Replayed { levels, outcomes } = self.replayed.as_ref().ok_or_else(none)?;
        let n_policy = outcomes.len() / self.windows.len();
        let Some(k) = k.checked_sub(self.first_kept) else {
            return Err(mismatch("policy still on the device, from", self.first_kept, k));
        };
        if k >= n_policy {
            return Err(mismatch("index of a policy below", n_policy, k));
        }
        let run = self.replay_policies(levels, outcomes, k..k + 1, Record::Everything)?;
        let paths = paths_of(&run.path, &self.windows, &run.pairs, Some(&run.trades))?;
        Ok(paths.into_iter().map(|path| path.path).collect())
    }

    fn check_full(&self, bars: &Bars, got: usize, wanted: usize) -> Result<(), EvaluateError> {
        if got != wanted {
            return Err(mismatch("names, and levels of every window, for policies", wanted, got));
        }
        let end = self.windows.iter().map(|window| (window.first_bar + window.n_bars) as usize).max().unwrap_or(0);
        if end > bars.len() {
            return Err(mismatch("bars of the data set, at least", end, bars.len()));
        }
        Ok(())
    }

    fn reports(
        &self,
        replayed: &Replayed,
        bars: &Bars,
        names: &[String],
        config: &MetricConfig,
        n_trials: usize,
    ) -> Result<Vec<EvalReport>, EvaluateError> {
        let threshold = config.mar / bars.periods_per_year();
        let measure = Measure { bars, config, threshold, kernels: FullKernels::new(&self.device)? };
        let hold = self.hold(&measure)?;
        let mut reports = Vec::with_capacity(names.len());
        for policies in self.affordable(&replayed.outcomes)? {
            for (k, stats) in policies.clone().zip(self.measure(&measure, &hold, replayed, policies)?) {
                reports.push(EvalReport::from_stats(&names[k], bars, &stats, config, Trials::count(n_trials)));
            }
        }
        Ok(reports)
    }

    /// Replays some policies and measures every window and the pooled account of each.
    fn measure(
        &self,
        measure: &Measure<'_>,
        hold: &Hold,
        replayed: &Replayed,
        policies: Range<usize>,
    ) -> Result<Vec<ReportStats>, EvaluateError> {
        let (n_window, n_policy) = (self.windows.len(), policies.len());
        let outcomes = &replayed.outcomes[policies.start * n_window..policies.end * n_window];
        let run = self.replay_policies(&replayed.levels, &replayed.outcomes, policies, Record::Trades)?;
        let scales: Vec<f64> = outcomes.chunks(n_window).flat_map(|own| self.scales(own)).collect();
        let pooled = Pooled::new(self, n_policy)?;
        let mut series = self.series(&run, hold, outcomes);
        if n_window > 1 {
            pooled.fill(&self.device, &series, n_window, &scales)?;
            let to = (pooled.equity.address(), pooled.returns.address());
            series.extend(accounts_of(&series, n_window, to, hold.pooled_returns.address()));
        }
        let Measure { config, threshold, kernels, .. } = measure;
        let stats = kernels.run(&self.device, &mut series, *threshold, config.var_level)?.read()?;
        let accounts = run.accounts(outcomes)?;
        let of_policy = |k: usize| {
            let own = k * n_window..(k + 1) * n_window;
            let windows: Vec<WindowStats> = own
                .clone()
                .map(|i| stats[i].stats(series[i].n as usize, *threshold, outcomes[i].n_trades, accounts[i].counts()))
                .collect();
            let account = match windows[..] {
                [only] => only,
                _ => {
                    let i = n_policy * n_window + k;
                    let counts = pooled_counts(&accounts[own.clone()], &scales[own]);
                    stats[i].stats(series[i].n as usize, *threshold, series[i].n_trades as usize, counts)
                }
            };
            self.report_stats(windows, account, hold)
        };
        Ok((0..n_policy).map(of_policy).collect())
    }

    fn report_stats(&self, own: Vec<WindowStats>, pooled: WindowStats, hold: &Hold) -> ReportStats {
        let span = |(w, own): (usize, WindowStats)| SpanStats {
            first_bar: self.windows[w].first_bar as usize,
            own,
            hold: hold.windows[w],
        };
        ReportStats { windows: own.into_iter().enumerate().map(span).collect(), pooled, hold: hold.pooled }
    }

    /// The series of every pair of `run`.
    fn series(&self, run: &Run, hold: &Hold, outcomes: &[Outcome]) -> Vec<FullSeries> {
        let mut trades = run.trades.trades.address();
        let one = |(pair, outcome): (&RolloutPair, &Outcome)| {
            let window = self.windows[pair.window as usize];
            let series = FullSeries {
                returns: at(&run.path.returns, pair.path),
                equity: at(&run.path.equity, pair.path),
                benchmark: at(&hold.returns, window.row),
                trades,
                n: i64::from(window.n_bars) - 1,
                n_trades: outcome.n_trades as i64,
                first_part: 0,
            };
            trades += (outcome.n_trades * size_of::<EnvTrade>()) as u64;
            series
        };
        run.pairs.iter().zip(outcomes).map(one).collect()
    }

    /// What the money of each window is multiplied by in the pooled account, given how one policy left them. `[W]`
    fn scales(&self, outcomes: &[Outcome]) -> Vec<f64> {
        takeovers(self.initial_cash.iter().copied().zip(outcomes.iter().map(|outcome| outcome.final_equity)))
    }

    fn hold(&self, measure: &Measure<'_>) -> Result<Hold, EvaluateError> {
        let device = &self.device;
        let close = measure.bars.close();
        let outcome = |(window, &initial): (&EnvWindow, &f64)| {
            let (first, last) = (window.first_bar as usize, (window.first_bar + window.n_bars - 1) as usize);
            Outcome { n_trades: 0, final_equity: initial * (close[last] / close[first]) }
        };
        let outcomes: Vec<Outcome> = self.windows.iter().zip(&self.initial_cash).map(outcome).collect();
        let (equity, returns) = hold_columns(device, &self.market)?;
        let pooled = Pooled::new(self, 1)?;
        let one = |equity: u64, returns: u64, n: i64| FullSeries {
            returns,
            equity,
            benchmark: returns,
            n,
            ..FullSeries::default()
        };
        let own =
            |window: &EnvWindow| one(at(&equity, window.row), at(&returns, window.row), i64::from(window.n_bars) - 1);
        let mut series: Vec<FullSeries> = self.windows.iter().map(own).collect();
        pooled.fill(device, &series, series.len(), &self.scales(&outcomes))?;
        series.push(one(pooled.equity.address(), pooled.returns.address(), pooled.returns.len() as i64));
        let config = measure.config;
        let stats = measure.kernels.run(device, &mut series, measure.threshold, config.var_level)?.read()?;
        let always = |(stats, series): (&FullStats, &FullSeries)| {
            let n = series.n as usize;
            stats.stats(n, measure.threshold, 0, Counts { bars_in_market: n, ..Counts::default() })
        };
        let mut windows: Vec<WindowStats> = stats.iter().zip(&series).map(always).collect();
        let whole = windows.pop().ok_or_else(|| mismatch("windows", 1, 0))?;
        // A single window is the account already.
        let pooled_stats = if let [only] = windows[..] { only } else { whole };
        Ok(Hold { returns, pooled_returns: pooled.returns, windows, pooled: pooled_stats })
    }
}

/// Pooled accounts of some policies.
struct Pooled {
    /// `[n_policy, 1 + Σ n]`
    equity: Buffer<f64>,
    /// `[n_policy, Σ n]`
    returns: Buffer<f64>,
}

impl Pooled {
    fn new(evaluator: &GpuBacktestEvaluator, n_policy: usize) -> Result<Self, EvaluateError> {
        let n = evaluator.n_point() - evaluator.windows.len();
        Ok(Self {
            equity: evaluator.device.zeros("pooled_equity", n_policy * (n + 1))?,
            returns: evaluator.device.zeros("pooled_returns", n_policy * n)?,
        })
    }

    /// Strings the windows of every policy together; `windows` are their series, policy by policy, as are `scales`.
    fn fill(
        &self,
        device: &Device,
        windows: &[FullSeries],
        n_window: usize,
        scales: &[f64],
    ) -> Result<(), EvaluateError> {
        chain(device, &spans(windows, n_window, scales, self.equity.address(), self.returns.address()))?;
        Ok(())
    }
}

fn pooled_counts(accounts: &[EnvAccount], scales: &[f64]) -> Counts {
    let add = |sum, (account, &scale): (&EnvAccount, &f64)| add_counts(sum, account.counts(), scale);
    accounts.iter().zip(scales).fold(Counts::default(), add)
}

/// Address of an element.
fn at(buffer: &Buffer<f64>, element: i64) -> u64 {
    buffer.address() + element as u64 * F64
}
