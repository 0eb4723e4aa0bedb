//! Evaluation on a GPU: every policy over every window in one go, without leaving the device until one small read.
//!
//! `env.cuh` repeats [`cpu::account`](crate::cpu::account) bit for bit; `replay.cu` runs it over windows with given
//! levels, `rollout.cu` with a network; `metrics.cu` reduces the paths to a few numbers, `full_metrics.cu` to
//! everything a report is made of. [`GpuBacktestEvaluator`] is the way in; [`GpuSweep`] runs the parameter sets of a
//! rule strategy.

mod convert;
mod error;
mod evaluator;
pub mod external;
pub mod full_metrics;
pub mod indicator;
pub mod layered;
pub mod layout;
mod metrics;
mod mlp;
pub mod pool;
pub mod replay;
pub mod rollout;
pub mod sweep;

pub use convert::KEEP_TALLY;
pub use error::EvaluateError;
pub use evaluator::{DevicePath, Form, GpuBacktestEvaluator, MemoryNeed, TakeQ, WindowInput};
pub use full_metrics::window_stats;
pub use layered::LayeredPlan;
pub use metrics::WindowSummary;
pub use mlp::{MlpActivation, MlpPlan, MlpPolicy, MlpShape};
pub use rollout::{ENV, ENV_STATE, OBSERVATION};
pub use sweep::GpuSweep;
