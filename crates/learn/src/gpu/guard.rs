//! [`GpuTrainingGuard`]: the verdict on every gradient step, and the launch that ends one.

use gigabar_gpu::{Arch, Buffer, Device, GpuError, Kernel, KernelSource, LaunchShape, Plain};

use super::GpuReplayBuffer;
use super::learner::Learner;
use super::net::FOLD;
use super::replay::{REPLAY_HEADER, define};
use super::world::{Dims, World};
use crate::guard::{self, GuardCounts};
use crate::replay::ReplayKind;

/// What a gradient step leaves, and `guard_verdict`. Needs `learner.cuh`.
pub(super) const GUARD_HEADER: (&str, &str) = ("guard.cuh", include_str!("guard.cuh"));
const GUARD: (&str, &str) = ("guard.cu", include_str!("guard.cu"));
/// Clusters came with this compute capability.
const CLUSTER_ARCH: Arch = Arch(90);
/// Blocks of a cluster at most: more is not portable.
const MAX_CLUSTER: usize = 8;
/// Threads that sum a group of the tree's children.
const PER_ROW: usize = 4;

/// One row's share of the loss and the statistics of Q.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct LossRow {
    loss: f64,
    q_sum: f64,
    q_squares: f64,
    q_min: f32,
    q_max: f32,
}
const _: () = assert!(size_of::<LossRow>() == 32);

/// What a gradient step came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub(super) struct StepResult {
    pub(super) loss: f64,
    pub(super) grad_norm: f64,
    pub(super) largest_q: f32,
    pub(super) verdict: u32,
}
const _: () = assert!(size_of::<StepResult>() == 24);

/// Statistics of an epoch's gradient steps.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub(super) struct LearnerEpoch {
    loss_sum: f64,
    norm_sum: f64,
    q_sum: f64,
    q_squares: f64,
    q_min: f64,
    q_max: f64,
    good_steps: u32,
    steps: u32,
    trips: [u32; 4],
}
const _: () = assert!(size_of::<LearnerEpoch>() == 72);

/// `unsafe impl Plain`, in one place.
#[allow(unsafe_code)]
mod plain {
    use super::{LearnerEpoch, LossRow, Plain, StepResult};
    // SAFETY (all): repr(C) structs of numbers; guard.cuh asserts the same sizes.
    unsafe impl Plain for LossRow {}
    unsafe impl Plain for StepResult {}
    unsafe impl Plain for LearnerEpoch {}
}

/// Judges the gradient steps of all learners where they are made, as [`crate::guard::Guard`] does: after a bad step
/// weights, optimizer and priorities are what they were (a transition that gave no number loses its priority), and the
/// step is counted.
#[derive(Debug)]
pub struct GpuTrainingGuard {
    device: Device,
    n_learner: usize,
    shape: GuardShape,
    book: Kernel,
    /// Of the step last made. `[K]`
    pub(super) results: Buffer<StepResult>,
    /// Of the epoch under way. `[K]`
    pub(super) epochs: Buffer<LearnerEpoch>,
    /// Of the epoch last read. `[K]`
    pub(super) counts: Vec<GuardCounts>,
}

impl GpuTrainingGuard {
    /// # Errors
    /// The device's.
    pub(super) fn new(world: &World, kind: ReplayKind) -> Result<Self, GpuError> {
        let (device, dims) = (&world.device, &world.dims);
        let shape = GuardShape::choose(dims, kind, device.facts().arch);
        Ok(Self {
            book: device.kernel(&guard_source(dims, kind, world.flags, shape), "guard_book")?,
            results: device.zeros("step results", dims.n_learner)?,
            epochs: device.zeros("learners' epochs", dims.n_learner)?,
            counts: vec![GuardCounts::default(); dims.n_learner],
            n_learner: dims.n_learner,
            shape,
            device: device.clone(),
        })
    }

    /// Bad steps of every learner in the epoch whose summary was read last, by kind. `[K]`
    pub fn counts(&self) -> &[GuardCounts] {
        &self.counts
    }

    /// Whether any step of that epoch was bad.
    pub fn has_tripped(&self) -> bool {
        self.counts.iter().any(GuardCounts::any)
    }

    /// Queues the end of a gradient step: new priorities, counters, the running mean of the loss, the epoch's
    /// statistics.
    ///
    /// # Errors
    /// [`GpuError::Launch`].
    #[allow(unsafe_code)]
    pub(super) fn queue_book(
        &self,
        world: &World,
        replay: &GpuReplayBuffer,
        learner: &Learner,
    ) -> Result<(), GpuError> {
        let launch = self.book.launch().buffer(&world.params).buffer(&world.state).value(replay.view());
        let launch = launch.buffer(&replay.slots).buffer(&learner.td).buffer(&learner.rows);
        let launch = launch.buffer(&self.results).buffer(&self.epochs);
        let shape = LaunchShape::line(self.n_learner * self.shape.cluster, self.shape.threads);
        // SAFETY: guard_book's parameters; the buffers have the shapes it names, slots are what replay_draw wrote, or
        // zeros.
        unsafe { launch.run(&self.device, shape) }
    }
}

/// Blocks that end a learner's step, and their threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GuardShape {
    pub(super) cluster: usize,
    pub(super) threads: usize,
}

impl GuardShape {
    /// Several blocks only where there is a tree to sum.
    pub(super) fn choose(dims: &Dims, kind: ReplayKind, arch: Arch) -> Self {
        let wanted = (dims.batch * PER_ROW).next_power_of_two();
        if kind != ReplayKind::Proportional || arch < CLUSTER_ARCH {
            return Self { cluster: 1, threads: wanted.clamp(128, 1024) };
        }
        let threads = wanted.clamp(128, 512);
        Self { cluster: (wanted / threads).clamp(1, MAX_CLUSTER), threads }
    }
}

/// Source of `guard_book`.
pub(super) fn guard_source(dims: &Dims, kind: ReplayKind, flags: u32, shape: GuardShape) -> KernelSource {
    let source = super::shared_source("guard.cu", flags).texts(&[FOLD, GUARD_HEADER, REPLAY_HEADER, GUARD]);
    let source = define(source, dims, kind).define("CLUSTER", shape.cluster);
    guard_constants(source).define("GUARD_THREADS", shape.threads)
}

/// Adds the constants of `guard.cuh`.
pub(super) fn guard_constants(source: KernelSource) -> KernelSource {
    let constants: [(&str, u64); 5] = [
        ("GUARD_NOT_FINITE", guard::NOT_FINITE.into()),
        ("GUARD_LOSS_SPIKE", guard::LOSS_SPIKE.into()),
        ("GUARD_GRADIENT_COLLAPSE", guard::GRADIENT_COLLAPSE.into()),
        ("GUARD_Q_DIVERGENCE", guard::Q_DIVERGENCE.into()),
        ("GUARD_WARMUP", guard::MEMORY),
    ];
    let source = source.define("HUGE_F64", "1.7976931348623157e308");
    constants.into_iter().fold(source, |source, (name, value)| source.define(name, format!("{value}u")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_blocks_only_for_large_minibatches_with_a_tree() {
        let shape = |batch, kind, arch| {
            let dims = Dims { n_learner: 1, n_env: 1, n_step: 1, n_feature: 1, n_action: 2, capacity: 9, batch };
            let GuardShape { cluster, threads } = GuardShape::choose(&dims, kind, Arch(arch));
            (cluster, threads)
        };
        assert_eq!(shape(5, ReplayKind::Proportional, 90), (1, 128));
        assert_eq!(shape(256, ReplayKind::Proportional, 90), (2, 512));
        assert_eq!(shape(1_024, ReplayKind::Proportional, 120), (8, 512));
        assert_eq!(shape(5_000, ReplayKind::Proportional, 90), (8, 512));
        assert_eq!(shape(1_024, ReplayKind::Proportional, 80), (1, 1_024));
        assert_eq!(shape(1_024, ReplayKind::Rank, 90), (1, 1_024));
    }
}
