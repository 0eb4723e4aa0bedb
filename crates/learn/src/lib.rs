//! Deep reinforcement learning on the gigabar simulator: the Q-network, DQN, replay, checkpoints and the policy they
//! yield.
//!
//! ```text
//! collector ── transitions ──> replay ── minibatches ──> dqn ── weights ──> policy, checkpoint
//!     ^                                                   │
//!     └────────────────────── Q-values (net) ─────────────┘
//! ```
#![deny(unsafe_code)]

#[cfg(feature = "candle-cuda")]
pub mod candle_model;
pub mod checkpoint;
mod collector;
pub mod dqn;
pub mod ensemble;
pub mod error;
pub mod gpu;
pub mod guard;
pub mod net;
pub mod optim;
pub mod policy;
pub mod replay;
pub mod schedule;

pub use checkpoint::{PolicyFile, load_policy, read_policy_file, save_policy};
pub use collector::EpochReset;
pub use dqn::{DqnConfig, EpochSummary, TrainData, Trainer};
pub use ensemble::EnsemblePolicy;
pub use error::LearnError;
pub use guard::{GuardConfig, GuardCounts};
pub use policy::NetPolicy;

/// Philox streams: the upper half names the purpose, the lower half is free for an index.
pub(crate) mod stream {
    use gigabar_market::rng::philox4x32;

    /// First weights; the index is the parameter.
    pub(crate) const INIT: u64 = 1 << 32;
    /// Minibatches.
    pub(crate) const SAMPLE: u64 = 2 << 32;
    /// Feature noise of minibatches.
    pub(crate) const NOISE: u64 = 5 << 32;
    /// ε-greedy; the index is the environment, the block is its step.
    pub(crate) const EXPLORE: u64 = 3 << 32;
    /// Episode starts; the index is the environment, the block is its episode.
    pub(crate) const EPISODE: u64 = 4 << 32;

    /// Block `count` of a stream: four random words.
    pub(crate) fn block(seed: u64, stream: u64, count: u64) -> [u32; 4] {
        let key = [seed as u32, (seed >> 32) as u32];
        philox4x32(key, [count as u32, (count >> 32) as u32, stream as u32, (stream >> 32) as u32])
    }
}
