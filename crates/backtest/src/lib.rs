//! The rules of a bar: the CPU engine (f64) and its Decimal reference, policies, metrics and the evaluation report.
#![deny(unsafe_code)]

pub mod cpu;
pub mod ensemble;
pub mod gpu;
pub mod metric;
pub mod path;
pub mod policy;
pub mod report;
pub mod rules;
pub mod sweep;

pub use ensemble::EnsembleVote;
pub use path::{Counts, ExitReason, Path, Trade};
pub use policy::{Observation, Policy};
pub use report::{EvalReport, WindowReport};
pub use rules::{RewardConfig, SimConfig};
