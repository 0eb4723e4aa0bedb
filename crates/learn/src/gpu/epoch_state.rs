//! [`EpochState`]: what an environment carries from one epoch to the next, and what an epoch begins without.

use gigabar_gpu::{Device, GpuError, Kernel, KernelSource, LaunchShape, Plain};

use super::GpuExperienceCollector;
use super::collector::collector_source;
use super::layout::CollectorView;
use super::world::{Dims, World};
use crate::collector::EpochReset;
use crate::replay::ReplayKind;

pub(super) const EPOCH_STATE: (&str, &str) = ("epoch_state.cu", include_str!("epoch_state.cu"));
const RESET_PORTFOLIO: u32 = 1;
const RESET_DSR: u32 = 2;
const WARP: usize = 32;

/// One environment between two epochs, in 32 bytes. The device keeps the same numbers in f64 (money is never f32),
/// beside all else that an account has; this is the view of them for people and plots.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct EpochState {
    /// Exponential moving volatility of the bar it stands on, per bar: a function of the bars, so an epoch cannot reset
    /// it.
    pub vol_ema: f32,
    /// Its median over the train range.
    pub median_vol: f32,
    /// Equity at the last close.
    pub portfolio_value: f32,
    /// Units held, negative when short.
    pub portfolio_position: f32,
    /// Cash.
    pub portfolio_cash: f32,
    /// Moving mean of the returns, for the differential Sharpe ratio.
    pub dsr_mean: f32,
    /// Their moving variance.
    pub dsr_var: f32,
    /// Decisions since the start of training.
    pub step_count: f32,
}
const _: () = assert!(size_of::<EpochState>() == 32);

/// `unsafe impl Plain`, in one place.
#[allow(unsafe_code)]
mod plain {
    use super::{EpochState, Plain};
    // SAFETY: a repr(C) struct of numbers; epoch_state.cu asserts the same size.
    unsafe impl Plain for EpochState {}
}

/// Adds the constants of `epoch_state.cu`, which the collector's source ends with.
pub(super) fn define(source: KernelSource) -> KernelSource {
    source.define("EPOCH_RESET_PORTFOLIO", RESET_PORTFOLIO).define("EPOCH_RESET_DSR", RESET_DSR)
}

/// The flags of `epoch_state_reset`.
pub(super) fn reset_flags(reset: EpochReset) -> u32 {
    (if reset.portfolio { RESET_PORTFOLIO } else { 0 }) | (if reset.dsr { RESET_DSR } else { 0 })
}

/// The two launches.
#[derive(Debug)]
pub(super) struct EpochStates {
    device: Device,
    dims: Dims,
    reset: Kernel,
    show: Kernel,
}

impl EpochStates {
    /// # Errors
    /// The device's.
    pub(super) fn new(world: &World, kind: ReplayKind) -> Result<Self, GpuError> {
        let source = collector_source(&world.dims, kind, world.flags);
        Ok(Self {
            reset: world.device.kernel(&source, "epoch_state_reset")?,
            show: world.device.kernel(&source, "epoch_state_show")?,
            device: world.device.clone(),
            dims: world.dims,
        })
    }

    fn shape(&self) -> LaunchShape {
        let mut shape = LaunchShape::covering(self.dims.n_env, WARP);
        shape.grid[1] = self.dims.n_learner as u32;
        shape
    }

    /// Queues what an epoch begins with, and the observations that follow from it.
    #[allow(unsafe_code)]
    pub(super) fn queue_reset(
        &self,
        world: &World,
        collector: &GpuExperienceCollector,
        reset: EpochReset,
    ) -> Result<(), GpuError> {
        if !reset.is_some() {
            return Ok(());
        }
        let view: CollectorView = collector.view();
        let launch = self.reset.launch().buffer(&world.params).value(view).value(reset_flags(reset));
        // SAFETY: epoch_state_reset's parameters; the collector's arrays have the sizes of the same `Dims`.
        unsafe { launch.run(&self.device, self.shape()) }?;
        collector.queue_observe(world)
    }

    /// Every environment as it stands. `[K · n_env]`; waits for the device.
    #[allow(unsafe_code)]
    pub(super) fn read(&self, world: &World, collector: &GpuExperienceCollector) -> Result<Vec<EpochState>, GpuError> {
        let states = self.device.zeros("epoch states", self.dims.n_envs())?;
        let launch = self.show.launch().buffer(&world.params).buffer(&world.bars).value(collector.view());
        // SAFETY: epoch_state_show's parameters; the collector's arrays have the sizes of the same `Dims`.
        unsafe { launch.buffer(&states).run(&self.device, self.shape()) }?;
        states.read()
    }
}
