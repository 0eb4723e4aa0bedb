//! Sources and launches of `external.cu`: a bar of every account where Q comes from a model of somebody else's.

use gigabar_gpu::header::{ARGMAX, PRELUDE};
use gigabar_gpu::{Buffer, Device, GpuError, Kernel, KernelSource, LaunchShape};

use super::layout;
use super::rollout::{ENV, ENV_STATE, MLP, MarketBuffers, OBSERVATION, PathBuffers, WINDOW};

const EXTERNAL: (&str, &str) = ("external.cu", include_str!("external.cu"));
const WARP: usize = 32;

/// Source of `external_begin` and `external_step`; `flags` are those of all rules together.
pub fn external_source(n_feature: usize, n_action: usize, flags: u32) -> KernelSource {
    let source = KernelSource::new("external.cu")
        .texts(&[PRELUDE, ARGMAX, ENV_STATE, ENV, OBSERVATION, WINDOW, MLP, EXTERNAL])
        .exact();
    layout::define(source)
        .define("N_FEATURE", n_feature)
        .define("N_ACTION", n_action)
        .define("N_HEAD", n_action)
        .define("LAST", 64)
        .define("DUELING", 0)
        .define("ACTIVATION_RELU", 0)
        .define("ACTIVATION", 0)
        .define("ENV_FLAGS", format!("{flags}u"))
}

/// What an external rollout keeps beside path and market.
#[derive(Debug)]
pub(crate) struct ExternalBuffers {
    /// `[n_action]`
    pub(crate) levels: Buffer<f64>,
    /// `[n_pair]`
    pub(crate) clock: Buffer<u32>,
    /// Device address of the observations, `[n_pair, n_feature + 8]`.
    pub(crate) observation: u64,
}

/// Runs `external_begin`: new accounts and their first observations.
///
/// # Errors
/// [`GpuError::Launch`].
///
/// # Safety
/// `own.observation` is the address of as many floats as its shape says, on this device.
#[allow(unsafe_code)]
pub(crate) unsafe fn launch_begin(
    device: &Device,
    kernel: &Kernel,
    market: &MarketBuffers,
    path: &PathBuffers,
    own: &ExternalBuffers,
) -> Result<(), GpuError> {
    let launch = kernel
        .launch()
        .buffer(&market.bars)
        .buffer(&market.windows)
        .buffer(&market.rules)
        .buffer(&path.pairs)
        .buffer(&market.features)
        .buffer(&path.accounts)
        .buffer(&own.clock)
        .buffer(&path.equity)
        .value(own.observation);
    // SAFETY: the arguments are external_begin's; the caller vouches for the observations.
    unsafe { launch.run(device, LaunchShape::line(path.pairs.len(), WARP)) }
}

/// Runs `external_step` on the Q at the device address `q`, `[n_pair, n_action]`.
///
/// # Errors
/// [`GpuError::Launch`].
///
/// # Safety
/// As [`launch_begin`], and the same of `q`.
#[allow(unsafe_code)]
pub(crate) unsafe fn launch_step(
    device: &Device,
    kernel: &Kernel,
    market: &MarketBuffers,
    path: &PathBuffers,
    own: &ExternalBuffers,
    q: u64,
) -> Result<(), GpuError> {
    let launch = kernel
        .launch()
        .buffer(&market.bars)
        .buffer(&market.windows)
        .buffer(&market.rules)
        .buffer(&path.pairs)
        .buffer(&market.features)
        .buffer(&own.levels)
        .value(q)
        .buffer(&path.accounts)
        .buffer(&own.clock)
        .buffer(&path.equity)
        .buffer(&path.returns)
        .buffer(&path.actions)
        .value(own.observation);
    // SAFETY: the arguments are external_step's; the caller vouches for observations and Q.
    unsafe { launch.run(device, LaunchShape::line(path.pairs.len(), WARP)) }
}
