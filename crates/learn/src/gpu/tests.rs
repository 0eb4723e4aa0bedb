#![allow(clippy::unwrap_used)]

mod gradient_host;
#[path = "../../../gpu/tests/it/host_kernel.rs"]
#[allow(unsafe_code)]
mod host_kernel;
mod nvrtc;
