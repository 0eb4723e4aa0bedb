//! The device headers as texts, for [`KernelSource::text`](crate::KernelSource::text). They need no standard header and
//! compile with NVRTC and with a plain C++17 compiler.

/// Fixed-width types, `GB_DEVICE`, and nothing else.
pub const PRELUDE: (&str, &str) = ("prelude.cuh", include_str!("device/prelude.cuh"));
/// Philox4x32-10, equal to `gigabar_market::rng`. Needs [`PRELUDE`].
pub const RNG: (&str, &str) = ("rng.cuh", include_str!("device/rng.cuh"));
/// The first of the largest. Needs [`PRELUDE`].
pub const ARGMAX: (&str, &str) = ("argmax.cuh", include_str!("device/argmax.cuh"));
/// Block-wide fixed trees and scans. Needs [`PRELUDE`]; CUDA only.
pub const REDUCE: (&str, &str) = ("reduce.cuh", include_str!("device/reduce.cuh"));
/// Exact quantiles by one block. Needs [`PRELUDE`] and [`REDUCE`]; CUDA only.
pub const SELECT: (&str, &str) = ("select.cuh", include_str!("device/select.cuh"));
