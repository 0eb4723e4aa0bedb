//! Evaluation with networks that don't stay in a multiprocessor, and with ensembles: `layered.cu` and `dense.cu` in
//! turn, replayed as a CUDA graph.

mod launch;

use std::fmt;

use gigabar_gpu::{Buffer, Device, Graph, Pinned};

use crate::ensemble::EnsembleVote;
use crate::gpu::error::EvaluateError;
use crate::gpu::layered::LayeredPlan;
use crate::gpu::layout::{EnvWindow, RolloutPair};
use crate::gpu::metrics::{WindowSummary, launch_summarise};
use crate::gpu::mlp::MlpPolicy;
use crate::gpu::rollout::{MarketBuffers, PathBuffers};

use super::workspace::{Greedy, path_buffers};
use super::{GpuBacktestEvaluator, mismatch};
use launch::{Kernels, Networks, Parts, State, longest_first};

/// Which kernels ran an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One kernel whose multiprocessors keep the weights.
    Resident,
    /// A kernel per layer and step, for networks too large for that and for ensembles.
    Layered,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resident => "resident",
            Self::Layered => "layered",
        })
    }
}

/// What an evaluator keeps for the layered form.
#[derive(Debug, Default)]
pub(super) struct LayeredState {
    pub(super) kept: Option<Layered>,
    /// Never the resident form.
    pub(super) forced: bool,
    /// Of ensemble members whose features are not the windows'. `[n_rows, n_feature]`
    features: Vec<Option<Buffer<f32>>>,
}

/// Paths of an evaluation in either form.
pub(super) struct Rolled<'a> {
    pub(super) path: &'a PathBuffers,
    pub(super) pairs: &'a [RolloutPair],
    /// Which pair is policy (or ensemble) k over window w, at k·W + w.
    pub(super) pair_of: &'a [usize],
    /// Of each policy's actions; members of an ensemble share theirs. `[n_policy, n_action]`
    pub(super) levels: &'a Buffer<f64>,
    pub(super) n_action: usize,
}

impl GpuBacktestEvaluator {
    /// Runs the members as one ensemble over every window; the summaries are `[n_windows]`. Members share shape and
    /// levels; each sees the windows' features or its own ([`Self::upload_member_features`]). `risk_free` is an annual
    /// rate. One synchronisation, one read. CPU twin: learn's `EnsemblePolicy`.
    ///
    /// # Errors
    /// [`EvaluateError`]: members that do not fit each other or the features, or the device's own.
    pub fn evaluate_ensemble(
        &mut self,
        members: &[MlpPolicy],
        vote: EnsembleVote,
        risk_free: f64,
    ) -> Result<Vec<WindowSummary>, EvaluateError> {
        self.run_ensemble(members, vote, risk_free, false)
    }

    /// As [`Self::evaluate_ensemble`], and keeps every action for [`Self::path`].
    ///
    /// # Errors
    /// As [`Self::evaluate_ensemble`].
    pub fn evaluate_ensemble_with_actions(
        &mut self,
        members: &[MlpPolicy],
        vote: EnsembleVote,
        risk_free: f64,
    ) -> Result<Vec<WindowSummary>, EvaluateError> {
        self.run_ensemble(members, vote, risk_free, true)
    }

    /// Gives an ensemble member features of its own, scaled by the scaler it was trained with: one slice
    /// `[n_bars, n_feature]` for each window, in the windows' order.
    ///
    /// # Errors
    /// [`EvaluateError::Mismatch`] for features of other windows; the device's.
    pub fn upload_member_features(&mut self, member: usize, windows: &[&[f32]]) -> Result<(), EvaluateError> {
        if windows.len() != self.windows.len() {
            return Err(mismatch("windows of the member's features", self.windows.len(), windows.len()));
        }
        for (i, (own, window)) in windows.iter().zip(&self.windows).enumerate() {
            let expected = window.n_bars as usize * self.n_feature;
            if own.len() != expected {
                return Err(mismatch(
                    &format!("feature values of window {i} for member {member}"),
                    expected,
                    own.len(),
                ));
            }
        }
        let known = self.layered.features.len().max(member + 1);
        self.layered.features.resize_with(known, || None);
        self.layered.features[member] = Some(self.device.upload("member_features", &windows.concat())?);
        Ok(())
    }

    /// Runs everything in the layered form, also networks that the resident kernel holds: to compare the two.
    pub fn force_layered(&mut self, forced: bool) {
        self.layered.forced = forced;
        self.forget();
    }

    /// Which kernels ran the last evaluation.
    pub fn form(&self) -> Option<Form> {
        let resident = self.greedy.as_ref().map(|_| Form::Resident);
        resident.or(self.layered.kept.as_ref().map(|_| Form::Layered))
    }

    /// Frees the memory of the last evaluation.
    pub(super) fn forget(&mut self) {
        self.replayed = None;
        self.greedy = None;
        self.layered.kept = None;
    }

    /// What the last evaluation left on the device.
    pub(super) fn outcome(&self) -> Option<Rolled<'_>> {
        if let Some(Greedy { path, pairs, pair_of, policies, plan, .. }) = &self.greedy {
            return Some(Rolled { path, pairs, pair_of, levels: &policies.levels, n_action: plan.n_action() });
        }
        let Layered { path, pairs, pair_of, networks, plan, .. } = self.layered.kept.as_ref()?;
        Some(Rolled { path, pairs, pair_of, levels: &networks.levels, n_action: plan.n_action() })
    }

    pub(super) fn run_ensemble(
        &mut self,
        members: &[MlpPolicy],
        vote: EnsembleVote,
        risk_free: f64,
        actions: bool,
    ) -> Result<Vec<WindowSummary>, EvaluateError> {
        self.replayed = None;
        self.check(members)?;
        check_voters(members, vote)?;
        self.run_layered(members, Some(vote), risk_free, actions)
    }

    /// Policies already checked.
    pub(super) fn run_layered(
        &mut self,
        policies: &[MlpPolicy],
        vote: Option<EnsembleVote>,
        risk_free: f64,
        actions: bool,
    ) -> Result<Vec<WindowSummary>, EvaluateError> {
        let (n_row, n_sm) = (self.windows.len(), self.device.facts().n_sm);
        let plan = LayeredPlan::new(&policies[0].shape, policies.len(), n_row, vote, n_sm)?;
        self.greedy = None;
        let kept = self.layered.kept.take().filter(|kept| kept.fits(&plan, actions));
        let limits = (self.flags, self.projected_bytes);
        let mut layered = match kept {
            Some(kept) => kept,
            None => Layered::new(&self.device, plan, &self.windows, &self.market, actions, limits)?,
        };
        let features = if vote.is_some() { self.layered.features.as_slice() } else { &[] };
        let summaries = layered.run(&self.device, &self.market, features, policies, risk_free)?;
        self.layered.kept = Some(layered);
        Ok(summaries)
    }
}

/// Whether members, of which there is one, can vote by this rule.
fn check_voters(members: &[MlpPolicy], vote: EnsembleVote) -> Result<(), EvaluateError> {
    let levels = &members[0].levels;
    if let Some(i) = members.iter().position(|member| member.levels != *levels) {
        let message = format!("member {i} has other levels than member 0; they must share them to vote");
        return Err(EvaluateError::Shape { shape: members[i].shape.describe(), message });
    }
    Ok(vote.check_levels(levels)?)
}

/// Steps that one replay of the graph takes; even, because buffers take turns.
const GRAPH_STEPS: usize = 64;

/// Everything a layered evaluation needs, kept for the next of the same size.
#[derive(Debug)]
pub(super) struct Layered {
    plan: LayeredPlan,
    with_actions: bool,
    pub(super) pairs: Vec<RolloutPair>,
    /// Which account is decider d over window w, at d·W + w.
    pub(super) pair_of: Vec<usize>,
    pub(super) path: PathBuffers,
    networks: Networks,
    state: State,
    kernels: Kernels,
    summaries: Buffer<WindowSummary>,
    host: Pinned<WindowSummary>,
    graph: Graph,
    graph_steps: u32,
    n_steps: u32,
}

impl Layered {
    pub(super) fn new(
        device: &Device,
        plan: LayeredPlan,
        windows: &[EnvWindow],
        market: &MarketBuffers,
        with_actions: bool,
        (flags, projected_bytes): (u32, usize),
    ) -> Result<Self, EvaluateError> {
        let n_steps = windows.iter().map(|window| window.n_bars as usize - 1).max().unwrap_or(0);
        let (pairs, pair_of, n_path) = arrange(windows, plan.n_account() / plan.n_row);
        let networks = Networks::zeros(device, &plan)?;
        let state = State::new(device, &plan, windows, n_steps, projected_bytes)?;
        let path = path_buffers(device, &pairs, &[], n_path, false, with_actions)?;
        let kernels = Kernels::load(device, &plan, flags, with_actions)?;
        let graph_steps = GRAPH_STEPS.min((state.chunk as usize).next_multiple_of(2));
        let parts =
            Parts { device, plan: &plan, market, path: &path, networks: &networks, state: &state, kernels: &kernels };
        let graph = device.capture("layered steps", || (0..graph_steps).try_for_each(|i| parts.launch_step(i % 2)))?;
        Ok(Self {
            summaries: device.zeros("summaries", pairs.len())?,
            host: device.pinned("summaries", pairs.len())?,
            graph_steps: graph_steps as u32,
            n_steps: n_steps as u32,
            plan,
            with_actions,
            pairs,
            pair_of,
            path,
            networks,
            state,
            kernels,
            graph,
        })
    }

    pub(super) fn fits(&self, plan: &LayeredPlan, with_actions: bool) -> bool {
        self.plan == *plan && self.with_actions == with_actions
    }

    /// Evaluates the policies; `features` are those of single models where they differ from the market's.
    pub(super) fn run(
        &mut self,
        device: &Device,
        market: &MarketBuffers,
        features: &[Option<Buffer<f32>>],
        policies: &[MlpPolicy],
        risk_free: f64,
    ) -> Result<Vec<WindowSummary>, EvaluateError> {
        self.networks.write(&self.plan.pack(policies))?;
        let Self { plan, path, networks, state, kernels, .. } = self;
        let parts = Parts { device, plan, market, path, networks, state, kernels };
        for start in (0..self.n_steps).step_by(state.chunk as usize) {
            let steps = start..self.n_steps.min(start.saturating_add(state.chunk));
            parts.launch_projections(features, &steps)?;
            parts.launch_begin(&steps)?;
            for _ in 0..(steps.end - steps.start).div_ceil(self.graph_steps) {
                self.graph.launch()?;
            }
        }
        launch_summarise(device, &self.kernels.summarise, market, &self.path, risk_free, &self.summaries)?;
        self.summaries.read_into(&mut self.host)?;
        let host = self.host.get()?;
        Ok(self.pair_of.iter().map(|&pair| host[pair]).collect())
    }
}

/// Accounts of every decider over every window, longest first; where each went; and the length of the path columns.
fn arrange(windows: &[EnvWindow], n_decider: usize) -> (Vec<RolloutPair>, Vec<usize>, usize) {
    let (mut pairs, mut pair_of, mut n_path) = (Vec::new(), vec![0; n_decider * windows.len()], 0);
    for decider in 0..n_decider {
        for window in longest_first(windows) {
            pair_of[decider * windows.len() + window] = pairs.len();
            pairs.push(RolloutPair { path: n_path as i64, window: window as u32, policy: decider as u32 });
            n_path += windows[window].n_bars as usize;
        }
    }
    (pairs, pair_of, n_path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gpu::mlp::{MlpActivation, MlpShape};

    #[test]
    fn the_device_refuses_the_votes_that_the_processor_refuses() {
        let shape =
            MlpShape { n_feature: 3, hidden: vec![4], n_action: 2, activation: MlpActivation::Relu, dueling: false };
        let member = |levels: [f64; 2]| MlpPolicy { shape: shape.clone(), weights: vec![], levels: levels.to_vec() };
        let vote = EnsembleVote::Agreement(0.6);
        let refused = check_voters(&[member([-1.0, 1.0])], vote).unwrap_err();
        assert_eq!(refused, EvaluateError::Vote(vote.check_levels(&[-1.0, 1.0]).unwrap_err()));
        assert!(check_voters(&[member([0.0, 1.0])], vote).is_ok());
        assert!(check_voters(&[member([-1.0, 1.0])], EnsembleVote::Majority).is_ok());
        assert!(check_voters(&[member([0.0, 1.0]), member([0.0, 0.5])], EnsembleVote::Majority).is_err());
    }
}
