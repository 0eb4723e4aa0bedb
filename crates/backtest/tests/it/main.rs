//! Tests of the crate from outside.
#![allow(clippy::unwrap_used, missing_docs)]

mod backtesting_py;
mod engine_reference;
mod env_lockstep;
mod equity_golden;
mod external_host;
mod full_host;
#[path = "../gpu/grids.rs"]
mod grids;
#[path = "../../../gpu/tests/it/host_kernel.rs"]
mod host_kernel;
mod identities;
mod indicator_golden;
mod jump;
mod kernel_host;
mod layered_host;
mod layered_nvrtc;
mod metric_golden;
mod metric_identities;
mod metric_oracles;
mod nvrtc;
mod nvrtc_sweep;
mod random_case;
mod replay_host;
mod rule_golden;
mod series_case;
mod signals;
mod signals_doubts;
#[path = "../gpu/support.rs"]
#[allow(dead_code)]
mod support;
mod sweep;
mod sweep_host;
