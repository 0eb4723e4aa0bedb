//! [`GpuExperienceCollector`]: environments on the device, and launches of `collector.cu`.

pub(crate) mod transfer;

use gigabar_backtest::gpu::KEEP_TALLY;
use gigabar_backtest::gpu::layout::EnvAccount;
use gigabar_gpu::header::{ARGMAX, REDUCE};
use gigabar_gpu::{Buffer, GpuError, Kernel, KernelSource, LaunchShape};

use super::GpuReplayBuffer;
use super::epoch_state::{self, EPOCH_STATE};
use super::layout::{CollectorView, EnvAfter, EnvPlace, EnvTally, PendingStep};
use super::replay::{REPLAY_HEADER, define};
use super::world::{Dims, World, expect_len};
use crate::collector::Collector;
use crate::replay::ReplayKind;
use transfer::HostCollector;

const REWARD: (&str, &str) = ("reward.cuh", include_str!("reward.cuh"));
const COLLECTOR: (&str, &str) = ("collector.cu", include_str!("collector.cu"));
const WARP: usize = 32;

/// Threads of a block that numbers what a learner's environments have finished.
pub(crate) fn store_threads(dims: &Dims) -> usize {
    dims.n_env.next_power_of_two().clamp(128, 1024)
}

/// Source of `collector_observe`, `collector_step`, `collector_count`, `collector_store` and the kernels of
/// `epoch_state.cu`. Accounts count wins and losses whatever the rules say, so that they are the CPU's.
pub(crate) fn collector_source(dims: &Dims, kind: ReplayKind, flags: u32) -> KernelSource {
    let source = super::shared_source("collector.cu", flags | KEEP_TALLY);
    let source = source.texts(&[ARGMAX, REDUCE, REPLAY_HEADER, REWARD, COLLECTOR, EPOCH_STATE]);
    define(epoch_state::define(source), dims, kind).define("STORE_THREADS", store_threads(dims))
}

/// The environments of K learners on the device. One bar of all of them is `queue_step` and
/// `queue_store`; the observations of the next decision are there afterwards.
#[derive(Debug)]
pub struct GpuExperienceCollector {
    dims: Dims,
    accounts: Buffer<EnvAccount>,
    places: Buffer<EnvPlace>,
    pending: Buffer<PendingStep>,
    after: Buffer<EnvAfter>,
    /// This epoch's. `[K, n_env]`
    pub(crate) tallies: Buffer<EnvTally>,
    /// This epoch's. `[K, n_action]`
    pub(crate) action_counts: Buffer<u64>,
    /// What the next decision is made on. `[K, n_env, row_floats]`
    pub(crate) observation: Buffer<f32>,
    observe: Kernel,
    step: Kernel,
    count: Kernel,
    store: Kernel,
}

impl GpuExperienceCollector {
    /// Memory and kernels; the environments come by [`upload`](Self::upload). `kind` is the replay buffer's.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn new(world: &World, kind: ReplayKind) -> Result<Self, GpuError> {
        let (dims, device) = (world.dims, &world.device);
        let source = collector_source(&dims, kind, world.flags);
        let n = dims.n_envs();
        Ok(Self {
            dims,
            accounts: device.zeros("accounts", n)?,
            places: device.zeros("places", n)?,
            pending: device.zeros("pending", n * dims.n_step)?,
            after: device.zeros("after", n)?,
            tallies: device.zeros("tallies", n)?,
            action_counts: device.zeros("action_counts", dims.n_learner * dims.n_action)?,
            observation: device.zeros("observation", n * dims.row_floats())?,
            observe: device.kernel(&source, "collector_observe")?,
            step: device.kernel(&source, "collector_step")?,
            count: device.kernel(&source, "collector_count")?,
            store: device.kernel(&source, "collector_store")?,
        })
    }

    /// Takes over the CPU's environments, a collector for every learner, and queues their first observations.
    ///
    /// # Errors
    /// [`GpuError::Length`] when they don't fit, else the device's.
    pub(crate) fn upload(&mut self, world: &World, collectors: &[&Collector]) -> Result<(), GpuError> {
        let host = HostCollector::of(collectors, &self.dims)?;
        self.accounts.write(&host.accounts)?;
        self.places.write(&host.places)?;
        self.pending.write(&host.pending)?;
        self.queue_observe(world)
    }

    /// The environments as the CPU keeps them, after a [`queue_store`](Self::queue_store).
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn download(&self, world: &World) -> Result<Vec<Collector>, GpuError> {
        let (accounts, places) = (self.accounts.read()?, self.places.read()?);
        let host = HostCollector { accounts, places, pending: self.pending.read()? };
        Ok(host.collectors(&self.dims, &world.settings))
    }

    /// Addresses of all arrays.
    pub(crate) fn view(&self) -> CollectorView {
        CollectorView {
            accounts: self.accounts.address(),
            places: self.places.address(),
            pending: self.pending.address(),
            tallies: self.tallies.address(),
            action_counts: self.action_counts.address(),
            observation: self.observation.address(),
            after: self.after.address(),
        }
    }

    /// A block for every environment.
    fn per_environment(&self) -> LaunchShape {
        let mut shape = LaunchShape::line(self.dims.n_env, WARP);
        shape.grid[1] = self.dims.n_learner as u32;
        shape
    }

    /// Queues the observations of where the environments stand.
    ///
    /// # Errors
    /// [`GpuError::Launch`].
    #[allow(unsafe_code)]
    pub(crate) fn queue_observe(&self, world: &World) -> Result<(), GpuError> {
        let launch = self.observe.launch().buffer(&world.params).buffer(&world.bars).buffer(&world.features);
        // SAFETY: the arguments are collector_observe's; environments stand inside the train range.
        unsafe { launch.value(self.view()).run(&world.device, self.per_environment()) }
    }

    /// Queues one bar of every environment, ε-greedy on `q` `[K, n_env, n_action]`, and the next observations.
    ///
    /// # Errors
    /// [`GpuError::Length`], [`GpuError::Launch`].
    #[allow(unsafe_code)]
    pub(crate) fn queue_step(&self, world: &World, q: &Buffer<f32>) -> Result<(), GpuError> {
        expect_len(q.name(), self.dims.n_envs() * self.dims.n_action, q.len())?;
        let launch = self.step.launch().buffer(&world.params).buffer(&world.state).buffer(&world.bars);
        let launch = launch.buffer(&world.features).buffer(&world.levels).buffer(q).value(self.view());
        // SAFETY: the arguments are collector_step's; an episode ends inside the train range.
        unsafe { launch.run(&world.device, self.per_environment()) }
    }

    /// Queues the transitions that the last bar finished into `replay`, and the learners' counts.
    ///
    /// # Errors
    /// [`GpuError::Launch`].
    #[allow(unsafe_code)]
    pub(crate) fn queue_store(&self, world: &World, replay: &GpuReplayBuffer) -> Result<(), GpuError> {
        let launch = self.count.launch().buffer(&world.state).value(self.view()).value(replay.view());
        let shape = LaunchShape::line(self.dims.n_learner, store_threads(&self.dims));
        // SAFETY: the arguments are collector_count's; all arrays have the sizes of the same `Dims`.
        unsafe { launch.run(&world.device, shape) }?;
        let launch = self.store.launch().buffer(&world.params).buffer(&world.state).value(self.view());
        let mut shape = LaunchShape::covering(self.dims.n_env, WARP);
        shape.grid[1] = self.dims.n_learner as u32;
        // SAFETY: the arguments are collector_store's; all arrays have the sizes of the same `Dims`.
        unsafe { launch.value(replay.ring_view()).run(&world.device, shape) }
    }
}
