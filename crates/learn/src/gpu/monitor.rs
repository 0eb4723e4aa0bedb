//! [`EpochMonitoringSummary`]: what an epoch did, reduced on the device; and the one read that brings it to the host.

use std::collections::VecDeque;

use gigabar_gpu::{Buffer, Device, GpuError, Kernel, LaunchShape, PendingRead, Pinned, Plain};

use super::guard::LearnerEpoch;
use super::layout::{EnvTally, LearnerState};
use crate::dqn::EpochSummary;
use crate::guard::GuardCounts;

pub(super) const MONITOR: (&str, &str) = ("monitor.cu", include_str!("monitor.cu"));
const THREADS: usize = 256;
/// Actions that [`EpochMonitoringSummary`] counts.
const COUNTED: usize = 5;

/// One learner's epoch in 48 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct EpochMonitoringSummary {
    /// Mean reward per environment step.
    pub mean_reward: f32,
    /// Its standard deviation.
    pub reward_std: f32,
    /// Mean over standard deviation of the accounts' per-bar returns, times √(bars a year).
    pub sharpe_estimate: f32,
    /// How often each of the first five levels was chosen.
    pub action_counts: [u32; COUNTED],
    /// Largest reward.
    pub max_reward: f32,
    /// Least reward.
    pub min_reward: f32,
    /// Environment steps of the epoch.
    pub total_experiences: u64,
}
const _: () = assert!(size_of::<EpochMonitoringSummary>() == 48);

/// The summary and the rest of what is logged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
struct EpochRecord {
    summary: EpochMonitoringSummary,
    loss: f64,
    grad_norm: f64,
    q_mean: f64,
    q_std: f64,
    q_min: f64,
    q_max: f64,
    loss_mean: f64,
    loss_count: u64,
    env_steps: u64,
    grad_steps: u64,
    skipped: u64,
    trips: [u64; 4],
    ruins: u64,
    written: u64,
}
const RECORD_WORDS: usize = size_of::<EpochRecord>() / 8;
const _: () = assert!(size_of::<EpochRecord>() == 184);

/// `unsafe impl Plain` and the way from words, in one place.
#[allow(unsafe_code)]
mod plain {
    use super::{EpochRecord, Plain, RECORD_WORDS};
    // SAFETY: a repr(C) struct of numbers; monitor.cu asserts the same size.
    unsafe impl Plain for EpochRecord {}

    /// The record in the words the device wrote.
    pub(super) fn record(words: &[u64; RECORD_WORDS]) -> EpochRecord {
        // SAFETY: as many bytes, every bit pattern is a record, and words are aligned for it.
        unsafe { *words.as_ptr().cast::<EpochRecord>() }
    }
}

/// One learner's epoch on the host.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LearnerRecord {
    record: EpochRecord,
    action_counts: Vec<u64>,
}

impl LearnerRecord {
    pub(super) fn summary(&self) -> EpochMonitoringSummary {
        self.record.summary
    }

    /// The summary that the CPU's trainer writes; what the host knows by itself is filled in by the caller.
    pub(super) fn epoch_summary(&self, capacity: usize) -> EpochSummary {
        let EpochRecord { summary, trips, .. } = self.record;
        EpochSummary {
            epoch: 0,
            env_steps: self.record.env_steps,
            grad_steps: self.record.grad_steps,
            skipped_steps: self.record.skipped,
            guard: GuardCounts {
                not_finite: trips[0],
                loss_spike: trips[1],
                gradient_collapse: trips[2],
                q_divergence: trips[3],
            },
            loss: self.record.loss,
            loss_ema: if self.record.loss_count == 0 { f64::NAN } else { self.record.loss_mean },
            grad_norm: self.record.grad_norm,
            q_mean: self.record.q_mean,
            q_std: self.record.q_std,
            q_min: self.record.q_min,
            q_max: self.record.q_max,
            epsilon: f64::NAN,
            learning_rate: f64::NAN,
            mean_reward: summary.mean_reward.into(),
            reward_std: summary.reward_std.into(),
            min_reward: summary.min_reward.into(),
            max_reward: summary.max_reward.into(),
            sharpe_estimate: summary.sharpe_estimate.into(),
            action_counts: self.action_counts.clone(),
            ruins: self.record.ruins,
            replay_len: self.record.written.min(capacity as u64) as usize,
            steps_per_second: f64::NAN,
        }
    }
}

/// The kernel, its output and two pinned copies of it: one being read while the next is filled.
#[derive(Debug)]
pub(super) struct Monitor {
    device: Device,
    kernel: Kernel,
    n_learner: usize,
    n_env: usize,
    n_action: usize,
    annual: Buffer<f64>,
    words: Buffer<u64>,
    free: Vec<Pinned<u64>>,
    reading: VecDeque<PendingRead<u64>>,
}

impl Monitor {
    /// `annual` is √(bars a year) of every learner.
    pub(super) fn new(
        device: &Device,
        source: gigabar_gpu::KernelSource,
        n_env: usize,
        n_action: usize,
        annual: &[f64],
    ) -> Result<Self, GpuError> {
        let n_learner = annual.len();
        let n_word = n_learner * (RECORD_WORDS + n_action);
        Ok(Self {
            kernel: device.kernel(&source, "monitor_summarise")?,
            n_learner,
            n_env,
            n_action,
            annual: device.upload("roots of bars a year", annual)?,
            words: device.zeros("epoch records", n_word)?,
            free: vec![device.pinned("epoch records", n_word)?, device.pinned("epoch records", n_word)?],
            reading: VecDeque::new(),
            device: device.clone(),
        })
    }

    /// Queues the end of an epoch: records, zeros for the next one, and the copy to the host.
    #[allow(unsafe_code)]
    pub(super) fn queue(
        &mut self,
        state: &Buffer<LearnerState>,
        (tallies, action_counts): (&Buffer<EnvTally>, &Buffer<u64>),
        epochs: &Buffer<LearnerEpoch>,
    ) -> Result<(), GpuError> {
        let launch = self.kernel.launch().buffer(state).buffer(tallies).buffer(action_counts).buffer(epochs);
        let launch = launch.buffer(&self.annual).value(self.n_env as u32).buffer(&self.words);
        // SAFETY: monitor_summarise's parameters; the buffers have the shapes it names.
        unsafe { launch.run(&self.device, LaunchShape::line(self.n_learner, THREADS)) }?;
        let host = match self.free.pop() {
            Some(host) => host,
            None => self.device.pinned("epoch records", self.words.len())?,
        };
        self.reading.push_back(self.words.queue_read(host)?);
        Ok(())
    }

    /// Waits for the oldest epoch queued; a record for every learner.
    pub(super) fn wait(&mut self) -> Result<Vec<LearnerRecord>, GpuError> {
        let Some(reading) = self.reading.pop_front() else { return Ok(Vec::new()) };
        let (words, host) = reading.wait()?;
        self.free.push(host);
        let (records, counts) = words.split_at(self.n_learner * RECORD_WORDS);
        let (records, _) = records.as_chunks::<RECORD_WORDS>();
        let of = |(words, counts): (&[u64; RECORD_WORDS], &[u64])| LearnerRecord {
            record: plain::record(words),
            action_counts: counts.to_vec(),
        };
        Ok(records.iter().zip(counts.chunks_exact(self.n_action)).map(of).collect())
    }
}
