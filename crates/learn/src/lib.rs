//! Deep reinforcement learning on the gigabar simulator: the Q-network, DQN, replay, checkpoints and the policy they yield.
#![forbid(unsafe_code)]

pub mod error;
pub mod net;
pub mod optim;
pub mod replay;

pub use error::LearnError;

/// Philox streams: the upper half names the purpose, the lower half is free for an index.
pub(crate) mod stream {
    /// First weights; the index is the parameter.
    pub(crate) const INIT: u64 = 1 << 32;
}
