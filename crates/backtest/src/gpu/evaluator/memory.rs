//! What an evaluation takes of the device's memory, known before it begins, and the turns it takes where that is too
//! much.

use std::fmt;

use super::{GpuBacktestEvaluator, WindowSummary};
use crate::gpu::error::EvaluateError;
use crate::gpu::layout::{EnvAccount, RolloutPair};
use crate::gpu::mlp::MlpPolicy;

/// Device memory of an evaluation, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// Bars and features of the windows, there since they were uploaded.
    pub windows: usize,
    /// Weights of the policies evaluated side by side.
    pub weights: usize,
    /// Their paths, accounts and summaries.
    pub paths: usize,
    /// Features times the first layer, for the bars of one launch.
    pub projected: usize,
    /// Policies evaluated side by side: all of them, unless memory is short.
    pub at_once: usize,
}

impl MemoryNeed {
    /// All of it.
    pub fn total(&self) -> usize {
        self.windows + self.weights + self.paths + self.projected
    }
}

impl fmt::Display for MemoryNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        let Self { windows, weights, paths, projected, at_once } = *self;
        write!(
            f,
            "{:.0} MiB (windows {:.0}, weights {:.0}, paths {:.0}, projected features {:.0}), {at_once} policies at once",
            mib(self.total()),
            mib(windows),
            mib(weights),
            mib(paths),
            mib(projected)
        )
    }
}

impl GpuBacktestEvaluator {
    /// What [`Self::evaluate`] (or, with `actions`, [`Self::evaluate_with_actions`]) of these policies will take.
    ///
    /// # Errors
    /// As [`Self::evaluate`].
    pub fn memory(&self, policies: &[MlpPolicy], actions: bool) -> Result<MemoryNeed, EvaluateError> {
        let plan = self.plan(policies)?;
        let shape = &policies[0].shape;
        let first_width = plan.as_ref().map_or(shape.hidden[0], super::MlpPlan::first_width);
        let n_weight = shape.matrices().iter().map(|(n_out, n_in)| n_out * n_in + n_out).sum::<usize>();
        let weights_each =
            4 * plan.as_ref().map_or(n_weight, |plan| plan.weight_floats + (shape.n_feature + 1) * first_width);
        let point = 2 * size_of::<f64>() + usize::from(actions);
        let pair = size_of::<EnvAccount>() + size_of::<RolloutPair>() + 2 * size_of::<WindowSummary>();
        let paths_each = self.n_point() * point + self.windows.len() * pair;
        let free = self.device.free_bytes()?;
        let row = first_width * size_of::<f32>();
        let all_projected = policies.len() * self.n_point() * row;
        let projected = all_projected.min(self.projected_bytes).min(free / 2);
        // A tenth for what the driver rounds up.
        let room = (free - projected) / 10 * 9;
        let each = (weights_each + paths_each).max(1);
        let at_once = (room.min(self.path_bytes) / each).clamp(1, policies.len());
        let market = &self.market;
        Ok(MemoryNeed {
            windows: market.bars.bytes() + market.features.bytes(),
            weights: weights_each * at_once,
            paths: paths_each * at_once,
            projected,
            at_once,
        })
    }

    /// Bounds the memory of weights and paths (at first by what is free): with less, policies are evaluated in turns,
    /// which changes no number.
    pub fn limit_paths(&mut self, bytes: usize) {
        self.path_bytes = bytes;
        self.forget();
    }

    /// Policies that fit side by side, of those given; what is kept of an evaluation as large need not be made again.
    pub(super) fn at_once(&mut self, policies: &[MlpPolicy], actions: bool) -> Result<usize, EvaluateError> {
        let kept = match (self.plan(policies)?, &self.greedy) {
            (Some(plan), Some(greedy)) => greedy.fits(&plan, policies.len(), actions),
            (None, _) => self.layered.kept.is_some(),
            _ => false,
        };
        if kept && self.path_bytes == usize::MAX {
            return Ok(policies.len());
        }
        self.forget();
        Ok(self.memory(policies, actions)?.at_once)
    }
}
