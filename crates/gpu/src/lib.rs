//! The device side of gigabar without any trading: [`Device`], kernels compiled at run time ([`KernelSource`],
//! [`Kernel`]), launches recorded once and replayed ([`Graph`]), named buffers that count every copy ([`Buffer`],
//! [`Pinned`], [`Traffic`]) and the device headers (`prelude.cuh`, `rng.cuh`, `reduce.cuh`, `select.cuh`).
//!
//! Builds and starts without a toolkit and without a driver; [`probe`] says what is missing.

mod buffer;
mod cache;
mod device;
mod error;
mod graph;
mod launch;
mod library;
mod module;

pub mod header;

pub use buffer::{Buffer, PendingRead, Pinned, Plain};
pub use device::{Device, DeviceFacts, Probe, Traffic, probe};
pub use error::GpuError;
pub use graph::Graph;
pub use launch::{Launch, LaunchShape};
pub use module::{Arch, Compiled, Kernel, KernelSource, compile, nvrtc_version};
