//! [`Population`]: learners that train side by side on one GPU, an epoch at a time, with one synchronisation each.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use gigabar_backtest::cpu::engine::Market;
use gigabar_backtest::gpu::layout::EnvBar;
use gigabar_gpu::{Device, GpuError, Graph};

use super::collector::GpuExperienceCollector;
use super::epoch_state::{EpochState, EpochStates};
use super::guard::GpuTrainingGuard;
use super::layout::LearnerState;
use super::learner::{Learner, LearnerDims, Learners, Minibatch, learner_source};
use super::monitor::{EpochMonitoringSummary, Monitor};
use super::net::NetLayout;
use super::params::params_of;
use super::replay::GpuReplayBuffer;
use super::world::{Dims, World};
use super::{memory, transfer};
use crate::dqn::{DqnConfig, EpochSummary, Trainer};
use crate::error::LearnError;

/// Gradient steps of one recorded graph at most: a longer run is several graphs in a row.
const STEPS_PER_GRAPH: u64 = 16;

/// How far the host has queued work; the device keeps the same counts for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Queued {
    epochs: usize,
    env_steps: u64,
    grad_steps: u64,
}

/// K trainers on one GPU. Experience, replay, gradient steps, guard and monitoring stay on the device; the host queues
/// an epoch as graphs recorded once and reads one record of every learner at its end, when the next epoch may already
/// run.
///
/// The learners share everything of [`DqnConfig`] that shapes arrays or the order of steps: network, batch,
/// environments, n-step, replay, steps and epochs. Learning rate, γ, ε, τ, PER's α and β, guard, reward, rules, seed
/// and train range are each learner's own.
#[derive(Debug)]
pub struct Population {
    pub(super) trainers: Vec<Trainer>,
    pub(super) config: DqnConfig,
    pub(super) world: World,
    pub(super) collector: GpuExperienceCollector,
    pub(super) replay: GpuReplayBuffer,
    pub(super) learner: Learner,
    pub(super) guard: GpuTrainingGuard,
    epoch_states: EpochStates,
    pub(super) monitor: Monitor,
    pub(super) queued: Queued,
    pub(super) epochs_read: usize,
    /// Recorded work by whether it collects and how many gradient steps follow.
    pub(super) graphs: HashMap<(bool, u64), Graph>,
    pub(super) last_read: Instant,
    pub(super) summaries: Vec<EpochMonitoringSummary>,
}

impl Population {
    /// Moves trainers to the device, wherever their training stands.
    ///
    /// # Errors
    /// [`LearnError::Population`] for trainers that cannot train together, [`LearnError::DeviceMemory`] when they do
    /// not fit, [`LearnError::Gpu`] as the device reports it.
    pub fn new(device: &Device, trainers: Vec<Trainer>) -> Result<Self, LearnError> {
        let first = transfer::check_alike(&trainers)?;
        let config = first.config.clone();
        let layout = NetLayout::new(first.nets.online.shape())?;
        let dims = Dims {
            n_learner: trainers.len(),
            n_env: config.n_envs,
            n_step: config.n_step,
            n_feature: first.data.features.n_feature(),
            n_action: config.levels.len(),
            capacity: config.replay_capacity,
            batch: config.batch,
        };
        let queued = Queued {
            epochs: first.progress.epochs,
            env_steps: first.progress.env_steps,
            grad_steps: first.progress.grad_steps,
        };
        memory::check(device, &trainers, &dims, &layout)?;
        let mut world = world_of(device, &trainers, dims)?;
        let learner_dims =
            LearnerDims { n_learner: dims.n_learner, n_env: dims.n_env, batch: dims.batch, double: config.double };
        let source = learner_source(&layout, &learner_dims);
        let annual: Vec<f64> = trainers.iter().map(|t| t.data.bars.periods_per_year().sqrt()).collect();
        let mut collector = GpuExperienceCollector::new(&world, config.replay)?;
        let mut replay = GpuReplayBuffer::new(&world, config.replay)?;
        let mut learner = Learner::new(device, layout, learner_dims)?;
        let epoch_states = EpochStates::new(&world, config.replay)?;
        let guard = GpuTrainingGuard::new(&world, config.replay)?;
        let monitor = Monitor::new(device, source, dims.n_env, dims.n_action, &annual)?;
        learner.bind(&replay.x)?;
        transfer::upload_networks(&trainers, &mut learner)?;
        let rings: Vec<_> = trainers.iter().map(|t| (&t.ring, &t.sampler)).collect();
        replay.upload(&mut world, &rings)?;
        let collectors: Vec<_> = trainers.iter().map(|t| &t.collector).collect();
        collector.upload(&world, &collectors)?;
        replay.queue_sort(&world)?;
        let epochs_read = queued.epochs;
        Ok(Self {
            trainers,
            config,
            world,
            collector,
            replay,
            learner,
            guard,
            epoch_states,
            monitor,
            queued,
            epochs_read,
            graphs: HashMap::new(),
            last_read: Instant::now(),
            summaries: Vec::new(),
        })
    }

    /// Epochs whose summaries have been read.
    pub fn epochs_done(&self) -> usize {
        self.epochs_read
    }

    /// Epochs in all.
    pub fn n_epochs(&self) -> usize {
        self.config.epochs
    }

    /// Learners.
    pub fn len(&self) -> usize {
        self.trainers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.trainers.is_empty()
    }

    /// Every environment as it stands after all that has been queued, learner after learner. `[K · n_env]`. Waits for
    /// the device, so it is no part of an epoch.
    ///
    /// # Errors
    /// [`LearnError::Gpu`] as the device reports it.
    pub fn epoch_states(&self) -> Result<Vec<EpochState>, LearnError> {
        Ok(self.epoch_states.read(&self.world, &self.collector)?)
    }

    /// What the guard saw.
    pub fn guard(&self) -> &GpuTrainingGuard {
        &self.guard
    }

    /// The device's own summaries of the epoch last read.
    pub fn monitoring(&self) -> &[EpochMonitoringSummary] {
        &self.summaries
    }

    /// One epoch of every learner; a summary of each. With `ahead` the next epoch, if there is one, is queued before
    /// the host waits for this one's summaries; without, the device rests at this epoch's end, so that
    /// [`Self::trainers`] may be called.
    /// One synchronisation and one copy to the host.
    ///
    /// # Errors
    /// [`LearnError::Gpu`] as the device reports it.
    pub fn run_epoch(&mut self, ahead: bool) -> Result<Vec<EpochSummary>, LearnError> {
        if self.queued.epochs == self.epochs_read {
            self.last_read = Instant::now();
            self.queue_epoch()?;
        }
        if ahead && self.queued.epochs < self.config.epochs {
            self.queue_epoch()?;
        }
        let records = self.monitor.wait()?;
        let seconds = self.last_read.elapsed().as_secs_f64();
        self.last_read = Instant::now();
        self.summaries = records.iter().map(super::monitor::LearnerRecord::summary).collect();
        let epoch = self.epochs_read;
        self.epochs_read += 1;
        let of = |(record, trainer): (&super::monitor::LearnerRecord, &Trainer)| {
            let summary = record.epoch_summary(self.config.replay_capacity);
            EpochSummary {
                epoch,
                epsilon: trainer.config.epsilon(summary.env_steps),
                learning_rate: trainer.config.learning_rate(summary.env_steps),
                steps_per_second: record.summary().total_experiences as f64 / seconds,
                ..summary
            }
        };
        let summaries: Vec<EpochSummary> = records.iter().zip(&self.trainers).map(of).collect();
        self.guard.counts = summaries.iter().map(|summary| summary.guard).collect();
        Ok(summaries)
    }

    /// The trainers at the epoch last read, brought back from the device: they can be saved, and give policies.
    ///
    /// # Errors
    /// [`LearnError::Population`] while a further epoch is queued, else as the device reports it.
    pub fn trainers(&mut self) -> Result<&[Trainer], LearnError> {
        if self.queued.epochs != self.epochs_read {
            return Err(LearnError::Population { reason: "the next epoch is under way already".into() });
        }
        transfer::download(&mut self.trainers, &self.world, &self.collector, &self.replay, &self.learner)?;
        for trainer in &mut self.trainers {
            trainer.progress.epochs = self.epochs_read;
        }
        Ok(&self.trainers)
    }

    /// Queues every step of an epoch in the order of [`Trainer::run_epoch`], and its summaries.
    fn queue_epoch(&mut self) -> Result<(), LearnError> {
        let end = (self.queued.epochs as u64 + 1) * self.config.steps_per_epoch as u64;
        if self.queued.epochs > 0 {
            self.epoch_states.queue_reset(&self.world, &self.collector, self.config.epoch_reset)?;
        }
        while self.queued.env_steps < end {
            self.queued.env_steps += self.config.n_envs as u64;
            let due = self.config.gradient_steps_due(self.queued.env_steps).max(self.queued.grad_steps);
            self.queue_bar(due - self.queued.grad_steps)?;
            self.queued.grad_steps = due;
        }
        self.queued.epochs += 1;
        let tallies = (&self.collector.tallies, &self.collector.action_counts);
        self.monitor.queue(&self.world.state, tallies, &self.guard.epochs)?;
        Ok(())
    }

    /// Queues one bar of every environment and the gradient steps that are due after it.
    fn queue_bar(&mut self, due: u64) -> Result<(), LearnError> {
        let first = due.min(STEPS_PER_GRAPH);
        self.launch(true, first)?;
        let mut left = due - first;
        while left > 0 {
            let n = left.min(STEPS_PER_GRAPH);
            self.launch(false, n)?;
            left -= n;
        }
        Ok(())
    }

    fn launch(&mut self, collects: bool, n: u64) -> Result<(), LearnError> {
        let key = (collects, n);
        if !self.graphs.contains_key(&key) {
            let graph = self.world.device.capture("training", || self.record(collects, n))?;
            self.graphs.insert(key, graph);
        }
        match self.graphs.get(&key) {
            Some(graph) => Ok(graph.launch()?),
            None => Ok(()),
        }
    }

    fn record(&self, collects: bool, n: u64) -> Result<(), GpuError> {
        if collects {
            self.queue_collection()?;
        }
        (0..n).try_for_each(|_| self.queue_gradient_step())
    }

    /// Every environment acts, lives one bar and hands in what it has finished.
    pub(super) fn queue_collection(&self) -> Result<(), GpuError> {
        self.learner.queue_q(&self.collector.observation)?;
        self.collector.queue_step(&self.world, &self.learner.q)?;
        self.collector.queue_store(&self.world, &self.replay)?;
        self.replay.queue_sort(&self.world)
    }

    /// Sample, target, loss, gradient, guard, update, target network, priorities.
    pub(super) fn queue_gradient_step(&self) -> Result<(), GpuError> {
        let of = self.learners();
        self.replay.queue_draw(&self.world)?;
        self.learner.queue_step(of, self.minibatch(), &self.guard)?;
        self.guard.queue_book(&self.world, &self.replay, &self.learner)
    }

    pub(super) fn learners(&self) -> Learners<'_> {
        Learners { params: &self.world.params, state: &self.world.state }
    }

    pub(super) fn minibatch(&self) -> Minibatch<'_> {
        Minibatch {
            x: &self.replay.x,
            slots: &self.replay.slots,
            weights: &self.replay.weights,
            ring: self.replay.ring_view(),
        }
    }
}

/// Bars and features on the device, each table once however many learners read it.
fn world_of(device: &Device, trainers: &[Trainer], dims: Dims) -> Result<World, LearnError> {
    let (mut tables, mut params, mut states, mut levels) = (Vec::<&Trainer>::new(), vec![], vec![], vec![]);
    let mut features = Vec::new();
    for trainer in trainers {
        let known = tables.iter().position(|t| Arc::ptr_eq(&t.data.features, &trainer.data.features));
        let table = known.unwrap_or_else(|| {
            tables.push(trainer);
            features.extend_from_slice(trainer.data.features.values());
            tables.len() - 1
        });
        let first = table * trainer.data.features.values().len();
        params.push(params_of(trainer, first as i64)?);
        states.push(state_of(trainer));
        levels.extend_from_slice(&trainer.config.levels);
    }
    let data = &trainers[0].data;
    let market = Market::new(&data.bars, &data.sigma);
    let bars: Vec<EnvBar> = (0..data.bars.len()).map(|t| EnvBar::of(&market, t)).collect();
    Ok(World::new(device, dims, &params, &states, &bars, &features, &levels)?)
}

fn state_of(trainer: &Trainer) -> LearnerState {
    LearnerState {
        env_steps: trainer.progress.env_steps,
        grad_steps: trainer.progress.grad_steps,
        adam_steps: trainer.adam.step,
        skipped_steps: trainer.progress.skipped_steps,
        written: trainer.ring.written(),
        loss_mean: trainer.guard.loss_mean,
        loss_count: trainer.guard.loss_count,
        ..LearnerState::default()
    }
}
