//! [`EvaluateError`]: why a GPU evaluation cannot run.

use gigabar_gpu::GpuError;
use thiserror::Error;

use crate::ensemble::NoFlatLevel;
use crate::sweep::SweepError;

/// Anything that stops a GPU evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvaluateError {
    /// The device, a kernel or a buffer.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// A grid that cannot be swept.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A vote that cannot be taken among the policies' levels.
    #[error(transparent)]
    Vote(#[from] NoFlatLevel),
    /// A network that no kernel is made for.
    #[error("network {shape}: {message}")]
    Shape {
        /// The network.
        shape: String,
        /// What it must be.
        message: String,
    },
    /// A network that does not fit a multiprocessor.
    #[error(
        "network {shape} needs {needed_bytes} B of shared memory beside its registers, {device} has {available_bytes} B"
    )]
    TooLarge {
        /// The network.
        shape: String,
        /// Shared memory it needs.
        needed_bytes: usize,
        /// Shared memory a block may have.
        available_bytes: usize,
        /// The device's name or architecture.
        device: String,
    },
    /// A model brought from outside that failed.
    #[error("model: {message}")]
    Model {
        /// What it said.
        message: String,
    },
    /// Inputs that contradict each other.
    #[error("{what}: expected {expected}, got {got}")]
    Mismatch {
        /// Which input.
        what: String,
        /// What it must be.
        expected: usize,
        /// What it is.
        got: usize,
    },
}

impl EvaluateError {
    /// How to mend it, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Gpu(error) => error.hint(),
            Self::Vote(error) => error.hint(),
            Self::Sweep(_) | Self::Shape { .. } | Self::Model { .. } | Self::Mismatch { .. } => None,
            Self::TooLarge { .. } => Some("use narrower layers, or --device cpu".to_owned()),
        }
    }
}
