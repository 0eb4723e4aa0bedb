//! The structs that cross to the device: `repr(C)` twins of those in `learner.cuh`, `collector.cu`, `replay.cuh` and
//! `rank.cu`, and the constants that reach CUDA by `-D`. Sizes are asserted on both sides.

use gigabar_backtest::gpu::layout::{EnvRules, constants as env_constants};
use gigabar_gpu::{KernelSource, Plain};

use crate::replay::ReplayKind;
use crate::stream;

pub(crate) const REWARD_LOG: u32 = 0;
pub(crate) const REWARD_SIMPLE: u32 = 1;
pub(crate) const REWARD_DSR: u32 = 2;
pub(crate) const REWARD_VOL_SCALED: u32 = 3;
/// Bits of [`LearnerParams::flags`].
pub(crate) const PARAMS_EPSILON_EXPONENTIAL: u32 = 1;
pub(crate) const PARAMS_RATE_EXPONENTIAL: u32 = 2;

/// `REPLAY` of a compilation.
const REPLAY_UNIFORM: u32 = 0;
const REPLAY_PROPORTIONAL: u32 = 1;
const REPLAY_RANK: u32 = 2;

/// A kind of replay as `REPLAY` names it.
pub(crate) fn replay_word(kind: ReplayKind) -> String {
    let word = match kind {
        ReplayKind::Uniform => REPLAY_UNIFORM,
        ReplayKind::Proportional => REPLAY_PROPORTIONAL,
        ReplayKind::Rank => REPLAY_RANK,
    };
    format!("{word}u")
}

/// Every constant of `learner.cuh` and `env.cuh`.
pub(crate) fn constants() -> Vec<(&'static str, String)> {
    let mut out = env_constants();
    let words = [
        ("REPLAY_UNIFORM", REPLAY_UNIFORM),
        ("REPLAY_PROPORTIONAL", REPLAY_PROPORTIONAL),
        ("REPLAY_RANK", REPLAY_RANK),
        ("REWARD_LOG", REWARD_LOG),
        ("REWARD_SIMPLE", REWARD_SIMPLE),
        ("REWARD_DSR", REWARD_DSR),
        ("REWARD_VOL_SCALED", REWARD_VOL_SCALED),
        ("PARAMS_EPSILON_EXPONENTIAL", PARAMS_EPSILON_EXPONENTIAL),
        ("PARAMS_RATE_EXPONENTIAL", PARAMS_RATE_EXPONENTIAL),
    ];
    out.extend(words.map(|(name, value)| (name, format!("{value}u"))));
    let streams = [
        ("STREAM_SAMPLE", stream::SAMPLE),
        ("STREAM_NOISE", stream::NOISE),
        ("STREAM_EXPLORE", stream::EXPLORE),
        ("STREAM_EPISODE", stream::EPISODE),
    ];
    out.extend(streams.map(|(name, value)| (name, format!("{value}ull"))));
    out.push(("LOG_FLOOR", format!("{:e}", gigabar_backtest::cpu::reward::LOG_FLOOR)));
    out
}

/// Adds them to a source.
pub(crate) fn define(source: KernelSource) -> KernelSource {
    constants().into_iter().fold(source, |source, (name, value)| source.define(name, value))
}

/// A reward's settings, with the median volatility of the train range.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct RewardRules {
    pub(crate) dsr_rate: f64,
    pub(crate) turnover_penalty: f64,
    pub(crate) drawdown_penalty: f64,
    pub(crate) ruin_penalty: f64,
    pub(crate) median_vol: f64,
    pub(crate) kind: u32,
    pub(crate) unused: u32,
}
const _: () = assert!(size_of::<RewardRules>() == 48);

/// One learner's settings; see `learner.cuh` for units.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(16))]
pub(crate) struct LearnerParams {
    pub(crate) rules: EnvRules,
    pub(crate) reward: RewardRules,
    pub(crate) seed: u64,
    pub(crate) features: i64,
    pub(crate) first_bar: u32,
    pub(crate) n_start: u32,
    pub(crate) episode_bars: u32,
    pub(crate) target_period: u32,
    pub(crate) gamma: f64,
    pub(crate) reward_scale: f64,
    pub(crate) total_steps: f64,
    pub(crate) epsilon_start: f64,
    pub(crate) epsilon_end: f64,
    pub(crate) epsilon_fraction: f64,
    pub(crate) lr_start: f64,
    pub(crate) lr_end: f64,
    pub(crate) beta_start: f64,
    pub(crate) beta_end: f64,
    pub(crate) alpha: f64,
    pub(crate) priority_eps: f64,
    pub(crate) weight_decay: f64,
    pub(crate) adam_eps: f64,
    pub(crate) max_grad_norm: f64,
    pub(crate) huber_delta: f64,
    pub(crate) tau: f64,
    pub(crate) noise: f64,
    pub(crate) loss_spike: f64,
    pub(crate) min_grad_norm: f64,
    pub(crate) max_q: f64,
    pub(crate) flags: u32,
    pub(crate) unused: [u32; 3],
}
const _: () = assert!(size_of::<LearnerParams>() == 432);

/// One learner's progress.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(16))]
pub(crate) struct LearnerState {
    pub(crate) env_steps: u64,
    pub(crate) grad_steps: u64,
    pub(crate) adam_steps: u64,
    pub(crate) skipped_steps: u64,
    pub(crate) written: u64,
    pub(crate) tripped: u64,
    pub(crate) max_priority: f64,
    pub(crate) loss_mean: f64,
    pub(crate) loss_count: u64,
    pub(crate) unused: u64,
}
const _: () = assert!(size_of::<LearnerState>() == 80);

/// What one environment did in this epoch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct EnvTally {
    pub(crate) reward_sum: f64,
    pub(crate) reward_squares: f64,
    pub(crate) reward_min: f64,
    pub(crate) reward_max: f64,
    pub(crate) return_sum: f64,
    pub(crate) return_squares: f64,
    pub(crate) steps: u32,
    pub(crate) ruins: u32,
}
const _: () = assert!(size_of::<EnvTally>() == 56);

/// An environment beside its account.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct EnvPlace {
    pub(crate) dsr_mean: f64,
    pub(crate) dsr_var: f64,
    pub(crate) steps: u64,
    pub(crate) episodes: u64,
    pub(crate) bar: u32,
    pub(crate) end: u32,
    pub(crate) n_pending: u32,
    pub(crate) n_ready: u32,
}
const _: () = assert!(size_of::<EnvPlace>() == 48);

/// A step whose n-step return is not complete yet.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct PendingStep {
    pub(crate) reward: f64,
    pub(crate) bar: u32,
    pub(crate) action: u32,
    pub(crate) portfolio: [f32; 8],
}
const _: () = assert!(size_of::<PendingStep>() == 48);

/// Addresses of the rings' arrays.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct RingView {
    pub(crate) bar: u64,
    pub(crate) portfolio: u64,
    pub(crate) action: u64,
    pub(crate) reward: u64,
    pub(crate) discount: u64,
    pub(crate) done: u64,
    pub(crate) next_bar: u64,
    pub(crate) next_portfolio: u64,
    pub(crate) capacity: u64,
}
const _: () = assert!(size_of::<RingView>() == 72);

/// What all transitions that end with one bar share.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct EnvAfter {
    pub(crate) portfolio: [f32; 8],
    pub(crate) bar: u32,
    pub(crate) done: u32,
    pub(crate) number: u64,
}
const _: () = assert!(size_of::<EnvAfter>() == 48);

/// Addresses of the collector's arrays.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct CollectorView {
    pub(crate) accounts: u64,
    pub(crate) places: u64,
    pub(crate) pending: u64,
    pub(crate) tallies: u64,
    pub(crate) action_counts: u64,
    pub(crate) observation: u64,
    pub(crate) after: u64,
}
const _: () = assert!(size_of::<CollectorView>() == 56);

/// Addresses of the sampler's arrays; those of the other kinds are 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct ReplayView {
    pub(crate) tree: u64,
    pub(crate) priority: u64,
    pub(crate) order: u64,
    pub(crate) cumulative: u64,
    pub(crate) table: u64,
}
const _: () = assert!(size_of::<ReplayView>() == 40);

/// Addresses of the sort's scratch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct SortView {
    pub(crate) keys: u64,
    pub(crate) slots: u64,
    pub(crate) counts: u64,
}
const _: () = assert!(size_of::<SortView>() == 24);

/// `unsafe impl Plain`, in one place.
#[allow(unsafe_code)]
mod plain {
    use super::{CollectorView, EnvAfter, EnvPlace, EnvTally, LearnerParams, LearnerState, PendingStep};
    use super::{Plain, ReplayView, RewardRules, RingView, SortView};
    // SAFETY (all): repr(C) structs of numbers; learner.cuh asserts the same sizes.
    unsafe impl Plain for RewardRules {}
    unsafe impl Plain for LearnerParams {}
    unsafe impl Plain for LearnerState {}
    unsafe impl Plain for EnvTally {}
    unsafe impl Plain for EnvPlace {}
    unsafe impl Plain for PendingStep {}
    unsafe impl Plain for RingView {}
    unsafe impl Plain for EnvAfter {}
    unsafe impl Plain for CollectorView {}
    unsafe impl Plain for ReplayView {}
    unsafe impl Plain for SortView {}
}
