#![allow(clippy::unwrap_used)]

mod case;
mod collector_host;
mod device;
mod gradient_host;
#[path = "../../../gpu/tests/it/host_kernel.rs"]
#[allow(unsafe_code)]
mod host_kernel;
mod nvrtc;
mod nvrtc_replay;
mod rank_host;
mod replay_host;
mod speed;
