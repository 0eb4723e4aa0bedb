//! [`GpuBacktestEvaluator`]: windows go up once; then K policies × W windows run in one go, with one synchronisation
//! and one small read.

mod external;
mod full;
mod layered;
mod memory;
mod replayed;
mod workspace;

use std::ops::Range;

use gigabar_gpu::{Device, Traffic};

use super::error::EvaluateError;
use super::layout::{EnvBar, EnvRules, EnvWindow, RolloutPair};
use super::metrics::{WindowSummary, launch_summarise};
use super::mlp::{MlpPlan, MlpPolicy, SLOTS};
use super::replay::{TradeBuffers, given_source, launch_given};
use super::rollout::{MarketBuffers, launch_greedy, launch_project, metrics_source};
use crate::cpu::engine::{Market, Rules};
use crate::path::Path;
use layered::{LayeredState, Rolled};
use replayed::Replayed;
use workspace::{Greedy, paths_of};

pub use external::TakeQ;
pub use layered::Form;
pub use memory::MemoryNeed;

/// One window to evaluate on.
#[derive(Debug, Clone)]
pub struct WindowInput<'a> {
    /// The series the window is cut from.
    pub market: Market<'a>,
    /// Its rules.
    pub rules: &'a Rules,
    /// Bars of the window; at least 2.
    pub range: Range<usize>,
    /// Scaled features of the window's bars, `[range.len(), n_feature]`; empty when only given levels are replayed.
    pub features: &'a [f32],
}

/// A path read back whole.
#[derive(Debug, Clone, PartialEq)]
pub struct DevicePath {
    /// The path. Of a greedy evaluation cash, units, level and trades are empty.
    pub path: Path,
    /// Action of each decision; empty when levels were given.
    pub actions: Vec<u8>,
    /// Trades beyond the buffer's capacity, not in `path.trades`.
    pub trades_lost: usize,
}

/// Windows on a device, and the memory to evaluate policies on them.
#[derive(Debug)]
pub struct GpuBacktestEvaluator {
    device: Device,
    windows: Vec<EnvWindow>,
    market: MarketBuffers,
    n_feature: usize,
    /// Of all rules together.
    flags: u32,
    projected_bytes: usize,
    replay_bytes: usize,
    /// Of weights and paths, at most.
    path_bytes: usize,
    /// The first of the policies whose paths are on the device.
    first_kept: usize,
    /// Pairs a block takes, where somebody has said so.
    slots: Option<usize>,
    greedy: Option<Greedy>,
    layered: LayeredState,
    /// Cash each window begins with. `[W]`
    initial_cash: Vec<f64>,
    /// What the last whole evaluation replayed.
    replayed: Option<Replayed>,
}

/// Projected features of one launch take at most this much memory; beyond it a window runs in several launches.
const PROJECTED_BYTES: usize = 2 << 30;

impl GpuBacktestEvaluator {
    /// Copies the windows to the device. Lengths may differ; all have the same number of features.
    ///
    /// # Errors
    /// [`EvaluateError::Mismatch`] for a window too short, outside its series or with features of another width; the
    /// device's.
    pub fn upload_windows(device: &Device, inputs: &[WindowInput<'_>]) -> Result<Self, EvaluateError> {
        let n_feature = inputs.first().map_or(0, |first| first.features.len() / first.range.len().max(1));
        let n_rows: usize = inputs.iter().map(|input| input.range.len()).sum();
        let (mut bars, mut features) = (Vec::with_capacity(n_rows), Vec::with_capacity(n_rows * n_feature));
        let (mut windows, mut rules, mut periods) = (Vec::new(), Vec::<EnvRules>::new(), Vec::new());
        for (i, input) in inputs.iter().enumerate() {
            check_window(i, input, n_feature)?;
            windows.push(EnvWindow {
                row: bars.len() as i64,
                n_bars: input.range.len() as u32,
                first_bar: input.range.start as u32,
                rules: index_in(&mut rules, EnvRules::new(input.rules, &input.market)) as u32,
                unused: 0,
            });
            bars.extend(input.range.clone().map(|t| EnvBar::of(&input.market, t)));
            features.extend_from_slice(input.features);
            periods.push(input.market.periods_per_year);
        }
        if windows.is_empty() {
            return Err(mismatch("windows", 1, 0));
        }
        let flags = rules.iter().fold(0, |flags, rules| flags | rules.flags);
        let initial_cash = windows.iter().map(|window| rules[window.rules as usize].initial_cash).collect();
        let market = MarketBuffers {
            bars: device.upload("bars", &bars)?,
            windows: device.upload("windows", &windows)?,
            rules: device.upload("rules", &rules)?,
            first_rules: rules[0],
            features: device.upload("features", &features)?,
            periods_per_year: device.upload("periods_per_year", &periods)?,
        };
        Ok(Self {
            device: device.clone(),
            windows,
            market,
            n_feature,
            flags,
            projected_bytes: PROJECTED_BYTES,
            replay_bytes: usize::MAX,
            path_bytes: usize::MAX,
            first_kept: 0,
            slots: None,
            greedy: None,
            layered: LayeredState::default(),
            initial_cash,
            replayed: None,
        })
    }

    /// Windows uploaded.
    pub fn n_windows(&self) -> usize {
        self.windows.len()
    }

    /// Market features of a bar.
    pub fn n_feature(&self) -> usize {
        self.n_feature
    }

    /// Bounds the memory of projected features (2 GiB at first): less memory, more launches, the same bits.
    pub fn limit_projection(&mut self, bytes: usize) {
        self.projected_bytes = bytes;
        self.forget();
    }

    /// Copies, waits and launches of the device so far.
    pub fn traffic(&self) -> Traffic {
        self.device.traffic()
    }

    /// Runs every policy greedily over every window; the summaries are `[policies.len(), n_windows]`. Policies share
    /// one shape. `risk_free` is an annual rate. One synchronisation, one read (one for each turn where memory makes
    /// them take turns, [`Self::memory`]); memory is kept for the next call of the same size.
    ///
    /// # Errors
    /// [`EvaluateError`]: a network that does not fit the device or the features, or the device's own.
    pub fn evaluate(&mut self, policies: &[MlpPolicy], risk_free: f64) -> Result<Vec<WindowSummary>, EvaluateError> {
        self.run_all(policies, risk_free, false)
    }

    /// As [`Self::evaluate`], and keeps every action for [`Self::path`]; of policies that take turns, those of the last
    /// turn.
    ///
    /// # Errors
    /// As [`Self::evaluate`].
    pub fn evaluate_with_actions(
        &mut self,
        policies: &[MlpPolicy],
        risk_free: f64,
    ) -> Result<Vec<WindowSummary>, EvaluateError> {
        self.run_all(policies, risk_free, true)
    }

    fn run_all(
        &mut self,
        policies: &[MlpPolicy],
        risk_free: f64,
        actions: bool,
    ) -> Result<Vec<WindowSummary>, EvaluateError> {
        let at_once = self.at_once(policies, actions)?;
        let mut summaries = Vec::with_capacity(policies.len() * self.windows.len());
        for (turn, group) in policies.chunks(at_once).enumerate() {
            summaries.extend(self.run(group, risk_free, actions)?);
            self.first_kept = turn * at_once;
        }
        Ok(summaries)
    }

    fn run(
        &mut self,
        policies: &[MlpPolicy],
        risk_free: f64,
        actions: bool,
    ) -> Result<Vec<WindowSummary>, EvaluateError> {
        (self.replayed, self.first_kept) = (None, 0);
        let Some(plan) = self.plan(policies)? else { return self.run_layered(policies, None, risk_free, actions) };
        self.layered.kept = None;
        let mut greedy = match self.greedy.take() {
            Some(kept) if kept.fits(&plan, policies.len(), actions) => kept,
            _ => Greedy::new(
                &self.device,
                plan,
                &self.windows,
                policies.len(),
                actions,
                (self.flags, self.market.rules.len() == 1),
                self.projected_bytes,
            )?,
        };
        greedy.upload(policies)?;
        let device = &self.device;
        let n_steps = self.windows.iter().map(|window| window.n_bars - 1).max().unwrap_or(0);
        let chunk = greedy.policies.chunk;
        for start in (0..n_steps).step_by(chunk as usize) {
            let steps = start..n_steps.min(start.saturating_add(chunk));
            let (plan, path, nets) = (&greedy.plan, &greedy.path, &greedy.policies);
            launch_project(device, &greedy.project, plan, &self.market, &path.pairs, nets, steps.clone())?;
            launch_greedy(device, &greedy.rollout, plan, &self.market, path, nets, steps)?;
        }
        launch_summarise(device, &greedy.summarise, &self.market, &greedy.path, risk_free, &greedy.summaries)?;
        greedy.summaries.read_into(&mut greedy.host)?;
        let host = greedy.host.get()?;
        let summaries = greedy.pair_of.iter().map(|&pair| host[pair]).collect();
        self.greedy = Some(greedy);
        Ok(summaries)
    }

    /// Checks that the policies fit each other and the windows.
    fn check(&self, policies: &[MlpPolicy]) -> Result<(), EvaluateError> {
        let shape = &policies.first().ok_or_else(|| mismatch("policies", 1, 0))?.shape;
        for policy in policies {
            policy.check()?;
            if policy.shape != *shape {
                let shape = format!("{:?}", policy.shape);
                return Err(EvaluateError::Shape { shape, message: "all policies of a call share one shape".into() });
            }
        }
        if shape.n_feature != self.n_feature {
            return Err(mismatch("features of the network", self.n_feature, shape.n_feature));
        }
        Ok(())
    }

    /// How the resident kernel runs the policies; `None` where it cannot, or must not.
    fn plan(&self, policies: &[MlpPolicy]) -> Result<Option<MlpPlan>, EvaluateError> {
        self.check(policies)?;
        if self.layered.forced {
            return Ok(None);
        }
        let facts = self.device.facts();
        let shape = &policies[0].shape;
        let plan = |slots| MlpPlan::new(shape, slots, facts.arch, facts.shared_bytes_per_block, &facts.name);
        if let Some(slots) = self.slots {
            return plan(slots).map(Some);
        }
        // The fewest slots that take all pairs in one go, if they fit; a block of many shares more work.
        let n_pair = policies.len() * self.windows.len();
        let wanted = SLOTS.into_iter().find(|&slots| n_pair <= slots * facts.n_sm).unwrap_or(SLOTS[SLOTS.len() - 1]);
        let mut smaller = SLOTS.into_iter().rev().filter(|&slots| slots <= wanted);
        Ok(smaller.find_map(|slots| plan(slots).ok()))
    }

    /// Runs at most `slots` pairs (1, 4, 8 or 16) in a block from now on, whatever suits the device best: for
    /// measurements.
    /// The bits stay the same.
    pub fn force_slots(&mut self, slots: usize) {
        self.slots = Some(slots);
        self.forget();
    }

    /// The path of policy `k` (of an ensemble: 0) over window `w` of the last evaluation, read back whole.
    ///
    /// # Errors
    /// [`EvaluateError::Mismatch`] when there is none; the device's.
    pub fn path(&self, k: usize, w: usize) -> Result<DevicePath, EvaluateError> {
        let Rolled { path, pairs, pair_of, .. } =
            self.outcome().ok_or_else(|| mismatch("evaluations before a path", 1, 0))?;
        let n_windows = self.windows.len();
        let Some(own) = k.checked_sub(self.first_kept) else {
            return Err(mismatch("policy still on the device, from", self.first_kept, k));
        };
        if w >= n_windows || own * n_windows + w >= pair_of.len() {
            return Err(mismatch("index of a pair below", pair_of.len(), own * n_windows + w));
        }
        let pair = pair_of[own * n_windows + w];
        let mut paths = paths_of(path, &self.windows, pairs, None)?;
        Ok(paths.swap_remove(pair))
    }

    /// Replays given levels, one per decision: `cases` are a window and its levels `[n_bars − 1]`. Every path is read
    /// back with at most `trade_capacity` trades, and the summaries beside them.
    ///
    /// # Errors
    /// [`EvaluateError::Mismatch`] for levels of a wrong length; the device's.
    pub fn replay(
        &self,
        cases: &[(usize, &[f64])],
        trade_capacity: usize,
        risk_free: f64,
    ) -> Result<(Vec<DevicePath>, Vec<WindowSummary>), EvaluateError> {
        let (device, mut pairs, mut columns) = (&self.device, Vec::new(), Vec::new());
        for &(window, levels) in cases {
            let known = self.windows.get(window).ok_or_else(|| mismatch("window below", self.windows.len(), window))?;
            if levels.len() + 1 != known.n_bars as usize {
                return Err(mismatch("levels of a window", known.n_bars as usize - 1, levels.len()));
            }
            pairs.push(RolloutPair { path: columns.len() as i64, window: window as u32, policy: 0 });
            columns.extend_from_slice(levels);
            columns.push(0.0);
        }
        if pairs.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let path = workspace::path_buffers(device, &pairs, &[], columns.len(), true, false)?;
        let levels = device.upload("levels", &columns)?;
        let trades = TradeBuffers::with_room(device, pairs.iter().map(|_| trade_capacity))?;
        let kernel = device.kernel(&given_source(self.flags, true), "replay_given")?;
        let n_steps = self.windows.iter().map(|window| window.n_bars - 1).max().unwrap_or(0);
        launch_given(device, &kernel, &self.market, &path, levels.address(), &trades, 0..n_steps)?;
        let summarise = device.kernel(&metrics_source(), "metrics_summarise")?;
        let summaries = device.zeros("summaries", pairs.len())?;
        launch_summarise(device, &summarise, &self.market, &path, risk_free, &summaries)?;
        let summaries = summaries.read()?;
        Ok((paths_of(&path, &self.windows, &pairs, Some(&trades))?, summaries))
    }
}

/// Where `rules` stand in the list, added at its end if they are new.
fn index_in(list: &mut Vec<EnvRules>, rules: EnvRules) -> usize {
    list.iter().position(|known| *known == rules).unwrap_or_else(|| {
        list.push(rules);
        list.len() - 1
    })
}

fn mismatch(what: &str, expected: usize, got: usize) -> EvaluateError {
    EvaluateError::Mismatch { what: what.to_owned(), expected, got }
}

fn check_window(i: usize, input: &WindowInput<'_>, n_feature: usize) -> Result<(), EvaluateError> {
    let n_bars = input.range.len();
    if n_bars < 2 {
        return Err(mismatch(&format!("bars of window {i}, at least"), 2, n_bars));
    }
    if input.range.end > input.market.close.len() || input.range.end > u32::MAX as usize {
        return Err(mismatch(&format!("end of window {i}, at most"), input.market.close.len(), input.range.end));
    }
    if input.features.len() != n_bars * n_feature {
        return Err(mismatch(&format!("feature values of window {i}"), n_bars * n_feature, input.features.len()));
    }
    Ok(())
}
