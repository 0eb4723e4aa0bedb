//! Sources and launches of `rollout.cu`, `project.cu`; the buffers all rollouts share. This file owns grid and block.

use gigabar_gpu::header::{ARGMAX, PRELUDE, REDUCE};
use gigabar_gpu::{Buffer, Device, GpuError, Kernel, KernelSource, LaunchShape};

use super::layout::{self, EnvAccount, EnvBar, EnvRules, EnvWindow, RolloutPair};
use super::metrics::METRIC;
use super::mlp::MlpPlan;

/// An account and its rules, for kernels and for a host compiler.
pub const ENV_STATE: (&str, &str) = ("env_state.cuh", include_str!("env_state.cuh"));
/// One bar of an account's life; needs [`ENV_STATE`].
pub const ENV: (&str, &str) = ("env.cuh", include_str!("env.cuh"));
/// What a policy sees of its account; needs [`ENV`].
pub const OBSERVATION: (&str, &str) = ("observation.cuh", include_str!("observation.cuh"));
pub(crate) const WINDOW: (&str, &str) = ("window.cuh", include_str!("window.cuh"));
pub(crate) const MLP: (&str, &str) = ("mlp.cuh", include_str!("mlp.cuh"));
const ACCOUNT: (&str, &str) = ("account.cuh", include_str!("account.cuh"));
const ROLLOUT: (&str, &str) = ("rollout.cu", include_str!("rollout.cu"));
pub(crate) const PROJECT: (&str, &str) = ("project.cu", include_str!("project.cu"));
const METRICS: (&str, &str) = ("metrics.cu", include_str!("metrics.cu"));

const PROJECT_THREADS: usize = 256;
/// `TILE_BARS` of `project.cu`.
const PROJECT_BARS: usize = 128;
/// Blocks of a grid's third dimension.
pub(crate) const MAX_GRID_Z: usize = 65_535;

/// Source of `rollout_greedy`; `flags` are those of all rules together, `one_rules` says that all windows share one set
/// of them, `actions` writes every action.
pub fn greedy_source(plan: &MlpPlan, flags: u32, one_rules: bool, actions: bool) -> KernelSource {
    let source = KernelSource::new("rollout.cu")
        .texts(&[PRELUDE, ARGMAX, ENV_STATE, ENV, OBSERVATION, WINDOW, MLP, ACCOUNT, ROLLOUT])
        .exact();
    let source = if plan.moves_registers { source.arch_specific() } else { source };
    plan.define(layout::define(source))
        .define("WRITE_ACTIONS", u32::from(actions))
        .define("ENV_FLAGS", format!("{flags}u"))
        .define("ONE_RULES", u32::from(one_rules))
}

/// Source of `project_features`.
pub fn project_source(plan: &MlpPlan) -> KernelSource {
    let source = KernelSource::new("project.cu").texts(&[PRELUDE, ENV_STATE, ENV, WINDOW, PROJECT]);
    plan.define(layout::define(source)).define("N_FEATURE", plan.n_feature())
}

/// Source of `metrics_summarise`.
pub fn metrics_source() -> KernelSource {
    let source =
        KernelSource::new("metrics.cu").texts(&[PRELUDE, ENV_STATE, ENV, WINDOW, REDUCE, METRIC, METRICS]).exact();
    super::metrics::CONSTANTS
        .into_iter()
        .fold(layout::define(source), |source, (name, bit)| source.define(name, format!("{bit}u")))
}

/// The market on the device: what every rollout reads.
#[derive(Debug)]
pub(crate) struct MarketBuffers {
    /// `[n_rows]`
    pub(crate) bars: Buffer<EnvBar>,
    /// `[n_window]`
    pub(crate) windows: Buffer<EnvWindow>,
    /// The sets that differ. `[n_rules]`
    pub(crate) rules: Buffer<EnvRules>,
    /// The first of them.
    pub(crate) first_rules: EnvRules,
    /// `[n_rows, n_feature]`
    pub(crate) features: Buffer<f32>,
    /// `[n_window]`
    pub(crate) periods_per_year: Buffer<f64>,
}

/// Paths and states of the pairs. Columns are `[Σ n_bars]`.
#[derive(Debug)]
pub(crate) struct PathBuffers {
    /// `[n_pair]`
    pub(crate) pairs: Buffer<RolloutPair>,
    /// Block b of a greedy rollout has the pairs `first[b]..first[b + 1]`. `[n_block + 1]`
    pub(crate) first: Buffer<u32>,
    /// `[n_pair]`
    pub(crate) accounts: Buffer<EnvAccount>,
    pub(crate) equity: Buffer<f64>,
    pub(crate) returns: Buffer<f64>,
    /// Empty unless asked for.
    pub(crate) cash: Buffer<f64>,
    pub(crate) units: Buffer<f64>,
    pub(crate) level: Buffer<f64>,
    pub(crate) actions: Buffer<u8>,
}

/// The networks of one evaluation on the device.
#[derive(Debug)]
pub(crate) struct PolicyBuffers {
    /// `[n_policy, weight_floats]`
    pub(crate) packed: Buffer<f32>,
    /// `[n_policy, n_feature, H1]`
    pub(crate) projection: Buffer<f32>,
    /// `[n_policy, H1]`
    pub(crate) projection_bias: Buffer<f32>,
    /// `[n_policy, n_action]`
    pub(crate) levels: Buffer<f64>,
    /// `[n_pair, chunk, H1]`
    pub(crate) projected: Buffer<f32>,
    /// Decisions of one launch.
    pub(crate) chunk: u32,
}

/// Blocks of `project_features` for `n_steps` bars of at most [`MAX_GRID_Z`] pairs.
pub(crate) fn project_shape(width: usize, n_steps: usize, n_pair: usize) -> LaunchShape {
    let mut shape = LaunchShape::line(n_steps.div_ceil(PROJECT_BARS), PROJECT_THREADS);
    // `TILE_OUT` of `project.cu`.
    shape.grid[1] = (width / if width.is_multiple_of(128) { 128 } else { 64 }) as u32;
    shape.grid[2] = n_pair.min(MAX_GRID_Z) as u32;
    shape
}

/// Runs `project_features` for the decisions `steps`, at most `policies.chunk` of them.
///
/// # Errors
/// [`GpuError::Launch`].
#[allow(unsafe_code)]
pub(crate) fn launch_project(
    device: &Device,
    kernel: &Kernel,
    plan: &MlpPlan,
    market: &MarketBuffers,
    pairs: &Buffer<RolloutPair>,
    policies: &PolicyBuffers,
    steps: std::ops::Range<u32>,
) -> Result<(), GpuError> {
    let n_steps = steps.end - steps.start;
    for first in (0..pairs.len()).step_by(MAX_GRID_Z) {
        let launch = kernel
            .launch()
            .buffer(&market.features)
            .buffer(&market.windows)
            .buffer(pairs)
            .buffer(&policies.projection)
            .buffer(&policies.projection_bias)
            .buffer(&policies.projected)
            .value(policies.chunk)
            .value(steps.start)
            .value(n_steps)
            .value(first as u32);
        let shape = project_shape(plan.first_width(), n_steps as usize, pairs.len() - first);
        // SAFETY: the arguments are project_features'; rows beyond a window are guarded in the kernel, and `projected`
        // holds n_pair · chunk · H1 floats.
        unsafe { launch.run(device, shape)? };
    }
    Ok(())
}

/// Runs `rollout_greedy` for the decisions `steps`.
///
/// # Errors
/// [`GpuError::Launch`].
#[allow(unsafe_code)]
pub(crate) fn launch_greedy(
    device: &Device,
    kernel: &Kernel,
    plan: &MlpPlan,
    market: &MarketBuffers,
    path: &PathBuffers,
    policies: &PolicyBuffers,
    steps: std::ops::Range<u32>,
) -> Result<(), GpuError> {
    let launch = kernel
        .launch()
        .buffer(&market.bars)
        .buffer(&market.windows)
        .buffer(&market.rules)
        .buffer(&path.pairs)
        .buffer(&path.first)
        .buffer(&policies.projected)
        .buffer(&policies.packed)
        .buffer(&policies.levels)
        .buffer(&path.accounts)
        .buffer(&path.equity)
        .buffer(&path.returns)
        .buffer(&path.actions)
        .value(policies.chunk)
        .value(steps.start)
        .value(steps.end - steps.start)
        .value(market.first_rules);
    let shape = LaunchShape::line(path.first.len() - 1, plan.threads()).shared(plan.shared_bytes);
    // SAFETY: the arguments are rollout_greedy's; `first` cuts the pairs into blocks of at most `slots`; the plan's
    // shared size is the kernel's own (BLOCK_SHARED_BYTES is asserted at its compilation).
    unsafe { launch.run(device, shape) }
}
