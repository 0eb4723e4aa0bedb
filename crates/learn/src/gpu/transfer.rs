//! Between trainers on the CPU and a population on the device: every number of a checkpoint, both ways.

use std::sync::Arc;

use gigabar_gpu::GpuError;
use gigabar_market::rng::Philox;

use super::collector::GpuExperienceCollector;
use super::learner::Learner;
use super::replay::GpuReplayBuffer;
use super::world::World;
use crate::dqn::{DqnConfig, Trainer};
use crate::error::LearnError;
use crate::stream;

/// The first trainer, if all can train together.
///
/// # Errors
/// [`LearnError::Population`] naming what differs.
pub(super) fn check_alike(trainers: &[Trainer]) -> Result<&Trainer, LearnError> {
    let wrong = |reason: String| LearnError::Population { reason };
    let Some((first, others)) = trainers.split_first() else { return Err(wrong("there are none".into())) };
    for (i, other) in others.iter().enumerate() {
        if let Some(field) = first_shared_difference(&first.config, &other.config) {
            return Err(wrong(format!("learner {} has another dqn.{field} than learner 0", i + 1)));
        }
        let (a, b) = (first.progress, other.progress);
        if (a.epochs, a.env_steps, a.grad_steps) != (b.epochs, b.env_steps, b.grad_steps) {
            return Err(wrong(format!(
                "learner {} has {} epochs behind it, learner 0 has {}",
                i + 1,
                b.epochs,
                a.epochs
            )));
        }
        if !Arc::ptr_eq(&first.data.bars, &other.data.bars) && first.data.bars != other.data.bars {
            return Err(wrong(format!("learner {} trains on other bars than learner 0", i + 1)));
        }
    }
    Ok(first)
}

/// What shapes arrays or the order of steps, by the name of the first that differs.
fn first_shared_difference(a: &DqnConfig, b: &DqnConfig) -> Option<&'static str> {
    let same = [
        ("hidden", a.hidden == b.hidden),
        ("activation", a.activation == b.activation),
        ("dueling", a.dueling == b.dueling),
        ("double", a.double == b.double),
        ("levels (their number)", a.levels.len() == b.levels.len()),
        ("n_step", a.n_step == b.n_step),
        ("batch", a.batch == b.batch),
        ("train_every", a.train_every == b.train_every),
        ("learning_starts", a.learning_starts == b.learning_starts),
        ("replay", a.replay == b.replay),
        ("replay_capacity", a.replay_capacity == b.replay_capacity),
        ("n_envs", a.n_envs == b.n_envs),
        ("epochs", a.epochs == b.epochs),
        ("steps_per_epoch", a.steps_per_epoch == b.steps_per_epoch),
        ("epoch_reset", a.epoch_reset == b.epoch_reset),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
}

/// Weights and moments of all trainers.
pub(super) fn upload_networks(trainers: &[Trainer], learner: &mut Learner) -> Result<(), GpuError> {
    let layout = learner.layout.clone();
    let rows = |of: &dyn Fn(&Trainer) -> &Vec<Vec<f32>>| {
        let mut out = Vec::new();
        trainers.iter().for_each(|trainer| layout.pack(of(trainer), &mut out));
        out
    };
    learner.online.write(&rows(&|t| &t.nets.weights))?;
    learner.target.write(&rows(&|t| &t.nets.target_weights))?;
    learner.first.write(&rows(&|t| &t.adam.m))?;
    learner.second.write(&rows(&|t| &t.adam.v))
}

/// Everything back into the trainers but the number of epochs.
pub(super) fn download(
    trainers: &mut [Trainer],
    world: &World,
    collector: &GpuExperienceCollector,
    replay: &GpuReplayBuffer,
    learner: &Learner,
) -> Result<(), LearnError> {
    let states = world.state.read()?;
    let collectors = collector.download(world)?;
    let rings = replay.download(world)?;
    let (online, target) = (learner.online.read()?, learner.target.read()?);
    let (first, second) = (learner.first.read()?, learner.second.read()?);
    let n = learner.layout.n_param;
    let parts = states.iter().zip(collectors).zip(rings);
    for (k, (trainer, ((state, collector), (ring, sampler)))) in trainers.iter_mut().zip(parts).enumerate() {
        let row = |values: &[f32]| learner.layout.unpack(&values[k * n..(k + 1) * n]);
        trainer.nets.weights = row(&online);
        trainer.nets.target_weights = row(&target);
        trainer.nets.online.set_weights(&trainer.nets.weights)?;
        trainer.nets.target.set_weights(&trainer.nets.target_weights)?;
        (trainer.adam.m, trainer.adam.v, trainer.adam.step) = (row(&first), row(&second), state.adam_steps);
        trainer.collector = collector;
        let n_ring = ring.len();
        trainer.ring = ring;
        let restored = trainer.sampler.restore(&sampler, n_ring);
        restored.map_err(|reason| LearnError::Population { reason })?;
        trainer.guard.loss_mean = state.loss_mean;
        trainer.guard.loss_count = state.loss_count;
        let (config, progress) = (&trainer.config, &mut trainer.progress);
        progress.env_steps = state.env_steps;
        progress.grad_steps = state.grad_steps;
        progress.skipped_steps = state.skipped_steps;
        progress.noise_blocks = noise_blocks(config, trainer.data.features.n_feature(), state.grad_steps);
        // Two words a row: replay.cu counts the same.
        let words = 2 * config.batch as u64 * state.grad_steps;
        trainer.sample_rng = Philox::after(trainer.seed, stream::SAMPLE, words);
    }
    Ok(())
}

/// Random blocks that feature noise has used: one for eight features, for s and s′ of every row.
fn noise_blocks(config: &DqnConfig, n_feature: usize, grad_steps: u64) -> u64 {
    const PER_BLOCK: usize = 8;
    if config.feature_noise == 0.0 {
        return 0;
    }
    grad_steps * 2 * config.batch as u64 * n_feature.div_ceil(PER_BLOCK) as u64
}
