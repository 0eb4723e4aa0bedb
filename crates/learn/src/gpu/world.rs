//! [`World`]: what all kernels of a population read, on the device once.

use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::gpu::layout::EnvBar;
use gigabar_gpu::{Buffer, Device, GpuError, KernelSource};

use super::layout::{LearnerParams, LearnerState};

/// Sizes all learners share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dims {
    /// K.
    pub(crate) n_learner: usize,
    /// Environments of a learner.
    pub(crate) n_env: usize,
    /// Bars of reward before the bootstrap.
    pub(crate) n_step: usize,
    /// Market features of a bar.
    pub(crate) n_feature: usize,
    pub(crate) n_action: usize,
    /// Transitions a ring holds.
    pub(crate) capacity: usize,
    /// Rows of a minibatch.
    pub(crate) batch: usize,
}

impl Dims {
    /// Stride of an observation's row in f32: features and portfolio, rounded up to 16 bytes.
    pub(crate) fn row_floats(&self) -> usize {
        (self.n_feature + N_PORTFOLIO).next_multiple_of(4)
    }

    /// Environments of all learners.
    pub(crate) fn n_envs(&self) -> usize {
        self.n_learner * self.n_env
    }

    /// Adds all sizes to a source.
    pub(crate) fn define(&self, source: KernelSource) -> KernelSource {
        let sizes = [
            ("N_ENV", self.n_env),
            ("N_STEP", self.n_step),
            ("N_FEATURE", self.n_feature),
            ("N_ACTION", self.n_action),
            ("BATCH", self.batch),
            ("ROW_FLOATS", self.row_floats()),
        ];
        let source = source.define("CAPACITY", format!("{}ull", self.capacity));
        sizes.into_iter().fold(source, |source, (name, size)| source.define(name, format!("{size}u")))
    }
}

/// Settings, progress and market of K learners.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) device: Device,
    pub(crate) dims: Dims,
    /// The host's copy of `params`.
    pub(crate) settings: Vec<LearnerParams>,
    /// `[K]`
    pub(crate) params: Buffer<LearnerParams>,
    /// `[K]`
    pub(crate) state: Buffer<LearnerState>,
    /// The whole data set. `[n_bars]`
    pub(crate) bars: Buffer<EnvBar>,
    /// `[n_table, n_bars, n_feature]`; a learner's begins at [`LearnerParams::features`].
    pub(crate) features: Buffer<f32>,
    /// Exposure levels. `[K, n_action]`
    pub(crate) levels: Buffer<f64>,
    /// Flags of all learners' rules together.
    pub(crate) flags: u32,
}

impl World {
    /// Copies everything to the device.
    ///
    /// # Errors
    /// [`GpuError::Length`] for a slice that does not fit `dims`, else the device's.
    pub(crate) fn new(
        device: &Device,
        dims: Dims,
        params: &[LearnerParams],
        state: &[LearnerState],
        bars: &[EnvBar],
        features: &[f32],
        levels: &[f64],
    ) -> Result<Self, GpuError> {
        expect_len("params", dims.n_learner, params.len())?;
        expect_len("state", dims.n_learner, state.len())?;
        expect_len("levels", dims.n_learner * dims.n_action, levels.len())?;
        let table = (bars.len() * dims.n_feature).max(1);
        expect_len("features", features.len().next_multiple_of(table), features.len())?;
        for learner in params {
            let last_bar = learner.first_bar as usize + (learner.n_start + learner.episode_bars) as usize;
            let first = usize::try_from(learner.features).unwrap_or(usize::MAX);
            let end = first.saturating_add(last_bar * dims.n_feature);
            expect_at_least("bars", last_bar, bars.len())?;
            expect_at_least("features", end, features.len())?;
        }
        Ok(Self {
            device: device.clone(),
            dims,
            settings: params.to_vec(),
            params: device.upload("params", params)?,
            state: device.upload("state", state)?,
            bars: device.upload("bars", bars)?,
            features: device.upload("features", features)?,
            levels: device.upload("levels", levels)?,
            flags: params.iter().fold(0, |flags, learner| flags | learner.rules.flags),
        })
    }
}

/// Refuses a host slice of another length.
pub(crate) fn expect_len(name: &str, expected: usize, got: usize) -> Result<(), GpuError> {
    if expected == got { Ok(()) } else { Err(GpuError::Length { buffer: name.to_owned(), expected, got }) }
}

fn expect_at_least(name: &str, expected: usize, got: usize) -> Result<(), GpuError> {
    if got >= expected { Ok(()) } else { Err(GpuError::Length { buffer: name.to_owned(), expected, got }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_whole_sixteen_bytes() {
        let row = |n_feature| {
            let sizes = Dims { n_learner: 1, n_env: 1, n_step: 1, n_feature, n_action: 2, capacity: 1, batch: 1 };
            sizes.row_floats()
        };
        assert_eq!([48, 47, 45, 44, 1].map(row), [56, 56, 56, 52, 12]);
    }
}
