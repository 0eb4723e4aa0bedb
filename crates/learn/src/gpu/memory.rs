//! What a population needs of a device's memory, said before anything is allocated.

use std::sync::Arc;

use gigabar_backtest::gpu::layout::{EnvAccount, EnvBar};
use gigabar_gpu::Device;

use super::layout::{EnvAfter, EnvPlace, EnvTally, PendingStep};
use super::net::NetLayout;
use super::world::Dims;
use crate::dqn::Trainer;
use crate::error::LearnError;
use crate::replay::ReplayKind;

/// A transition in the ring, bytes: 16 portfolio numbers and six fields.
const PER_TRANSITION: usize = 16 * 4 + 6 * 4;
/// Memory that modules, graphs and the driver take besides, bytes.
const BESIDES: usize = 256 << 20;

/// What needs how many bytes.
pub(super) fn parts(trainers: &[Trainer], dims: &Dims, layout: &NetLayout) -> Vec<(&'static str, usize)> {
    let k = dims.n_learner;
    let mut tables: Vec<_> = trainers.iter().map(|t| Arc::as_ptr(&t.data.features)).collect();
    tables.sort_unstable();
    tables.dedup();
    let (config, data) = (&trainers[0].config, &trainers[0].data);
    let widths: usize = layout.hidden.iter().map(|layer| layer.out_stride).sum();
    let row = dims.row_floats();
    // The tree's inner nodes are a thirty-first of its leaves.
    let priority = match config.replay {
        ReplayKind::Uniform => 0,
        ReplayKind::Proportional => 9,
        ReplayKind::Rank => 24,
    };
    let env = size_of::<EnvAccount>() + size_of::<EnvPlace>() + size_of::<EnvTally>() + size_of::<EnvAfter>();
    let env = env + dims.n_step * size_of::<PendingStep>() + 4 * (row + widths + dims.n_action);
    // Activations of three passes, their gradients and what goes into SiLU; the minibatch itself twice.
    let batch = 4 * (5 * widths + 2 * row + layout.head.out_stride) + 64;
    vec![
        ("replay", k * dims.capacity * (PER_TRANSITION + priority)),
        ("environments", k * dims.n_env * env),
        ("networks", k * layout.n_param * 4 * 5),
        ("minibatches", k * dims.batch * batch),
        ("features and bars", 4 * tables.len() * data.features.values().len() + size_of::<EnvBar>() * data.bars.len()),
    ]
}

/// Refuses what the device has no room for.
///
/// # Errors
/// [`LearnError::DeviceMemory`] with what needs how much; the driver's.
pub(super) fn check(device: &Device, trainers: &[Trainer], dims: &Dims, layout: &NetLayout) -> Result<(), LearnError> {
    let parts = parts(trainers, dims, layout);
    let total = parts.iter().map(|part| part.1).sum::<usize>() + BESIDES;
    let free = device.free_bytes()?;
    if total <= free {
        return Ok(());
    }
    let gib = |bytes: usize| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    let shown: Vec<String> = parts.iter().map(|(what, bytes)| format!("{what} {}", gib(*bytes))).collect();
    Err(LearnError::DeviceMemory {
        n_learner: dims.n_learner,
        total: gib(total),
        free: gib(free),
        parts: shown.join(", "),
    })
}
