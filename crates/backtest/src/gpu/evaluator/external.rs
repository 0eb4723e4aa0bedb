//! Evaluation with a model of somebody else's, whatever computes it, as long as it does so on the device's stream.

use gigabar_gpu::{Graph, Kernel};

use super::workspace::path_buffers;
use super::{GpuBacktestEvaluator, mismatch};
use crate::gpu::error::EvaluateError;
use crate::gpu::external::{ExternalBuffers, external_source, launch_begin, launch_step};
use crate::gpu::layout::RolloutPair;
use crate::gpu::metrics::{WindowSummary, launch_summarise};
use crate::gpu::rollout::{PathBuffers, metrics_source};

/// Steps that one replay of the graph takes.
const GRAPH_STEPS: u32 = 16;

/// Hands the device address of Q, `[n_windows, n_action]` f32, to the step that follows.
pub type TakeQ<'a> = dyn FnMut(u64) -> Result<(), EvaluateError> + 'a;

/// Paths and kernels of one external evaluation.
struct External {
    path: PathBuffers,
    own: ExternalBuffers,
    begin: Kernel,
    step: Kernel,
}

impl GpuBacktestEvaluator {
    /// Runs one model greedily over every window: the summaries are `[n_windows]`, the actions of each window
    /// `[n_bars − 1]`. `observation` is the device address of f32 `[n_windows, n_feature + 8]`, which each step fills;
    /// `forward` queues the model on the device's stream and hands over the address of its Q while that is valid.
    /// `forward` runs a few times before it is recorded into a CUDA graph with the step after it.
    ///
    /// # Errors
    /// [`EvaluateError`]: those of `forward`, or the device's.
    ///
    /// # Safety
    /// Both addresses are of device memory of these sizes; what `forward` records reads nothing else that is freed
    /// later.
    #[allow(unsafe_code)]
    pub unsafe fn evaluate_external(
        &mut self,
        levels: &[f64],
        observation: u64,
        forward: &mut dyn FnMut(&mut TakeQ<'_>) -> Result<(), EvaluateError>,
        risk_free: f64,
    ) -> Result<(Vec<WindowSummary>, Vec<Vec<u8>>), EvaluateError> {
        if levels.is_empty() || levels.len() > usize::from(u8::MAX) {
            return Err(mismatch("levels, 1 to", usize::from(u8::MAX), levels.len()));
        }
        let external = self.external(levels, observation)?;
        let External { path, own, begin, step } = &external;
        let (device, market) = (&self.device, &self.market);
        // SAFETY: the caller vouches for the address.
        unsafe { launch_begin(device, begin, market, path, own)? };
        // What the model loads or caches at first it must not load while it is recorded.
        for _ in 0..2 {
            forward(&mut |_| Ok(()))?;
        }
        let graph: Graph = device.capture("model and step", || {
            (0..GRAPH_STEPS).try_for_each(|_| {
                // SAFETY: the caller vouches for both addresses.
                forward(&mut |q| {
                    unsafe { launch_step(device, step, market, path, own, q) }.map_err(EvaluateError::from)
                })
            })
        })?;
        let n_steps = self.windows.iter().map(|window| window.n_bars - 1).max().unwrap_or(0);
        for _ in 0..n_steps.div_ceil(GRAPH_STEPS) {
            graph.launch()?;
        }
        let summaries = device.zeros("summaries", self.windows.len())?;
        let summarise = device.kernel(&metrics_source(), "metrics_summarise")?;
        launch_summarise(device, &summarise, market, path, risk_free, &summaries)?;
        let summaries = summaries.read()?;
        let actions = path.actions.read()?;
        let mut start = 0;
        let mut cut = |window: &crate::gpu::layout::EnvWindow| {
            let own = actions[start..start + window.n_bars as usize - 1].to_vec();
            start += window.n_bars as usize;
            own
        };
        Ok((summaries, self.windows.iter().map(&mut cut).collect()))
    }

    fn external(&self, levels: &[f64], observation: u64) -> Result<External, EvaluateError> {
        let device = &self.device;
        let (mut pairs, mut n_path) = (Vec::with_capacity(self.windows.len()), 0);
        for (w, window) in self.windows.iter().enumerate() {
            pairs.push(RolloutPair { path: n_path, window: w as u32, policy: 0 });
            n_path += i64::from(window.n_bars);
        }
        let source = external_source(self.n_feature, levels.len(), self.flags);
        Ok(External {
            path: path_buffers(device, &pairs, &[], n_path as usize, false, true)?,
            own: ExternalBuffers {
                levels: device.upload("action_levels", levels)?,
                clock: device.zeros("clock", pairs.len())?,
                observation,
            },
            begin: device.kernel(&source, "external_begin")?,
            step: device.kernel(&source, "external_step")?,
        })
    }
}
