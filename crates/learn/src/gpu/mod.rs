//! Training on a GPU: a population of learners whose experience, replay, gradient steps and guard never leave the
//! device.
//!
//! ```text
//! collector.cu ── transitions ──> replay.cu ── minibatch ──> dense.cu, learner.cu ── weights ──┐
//!      ^                                                                                        │
//!      └────────────────────────────────── Q-values (dense.cu) ─────────────────────────────────┘
//! ```
//!
//! Every array has a leading learner axis \[K\]; the CPU's [`crate::dqn::Trainer`] is the reference, the same in
//! everything but the order in which f32 sums are taken.

mod collector;
mod epoch_state;
mod guard;
mod layout;
mod learner;
mod memory;
mod monitor;
mod net;
mod params;
mod population;
mod replay;
#[cfg(test)]
mod tests;
mod transfer;
mod world;

pub use collector::GpuExperienceCollector;
pub use epoch_state::EpochState;
pub use guard::GpuTrainingGuard;
pub use monitor::EpochMonitoringSummary;
pub use population::Population;
pub use replay::GpuReplayBuffer;

use gigabar_backtest::gpu::{ENV, ENV_STATE, OBSERVATION};
use gigabar_gpu::KernelSource;
use gigabar_gpu::header::{PRELUDE, RNG};

/// Settings and progress of a learner, for kernels. Needs `prelude.cuh`, `rng.cuh`, `env.cuh`.
const LEARNER: (&str, &str) = ("learner.cuh", include_str!("learner.cuh"));

/// A source that begins with everything the population's kernels share; `flags` are the rules' flags of all learners
/// together.
fn shared_source(name: &'static str, flags: u32) -> KernelSource {
    let texts = [PRELUDE, RNG, ENV_STATE, ENV, OBSERVATION, LEARNER];
    layout::define(KernelSource::new(name).texts(&texts).exact()).define("ENV_FLAGS", format!("{flags}u"))
}
