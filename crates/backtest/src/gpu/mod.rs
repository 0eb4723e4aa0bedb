//! The rules of a bar on a GPU: `env.cuh` repeats [`cpu::account`](crate::cpu::account) bit for bit.

pub mod layout;

/// The account and one bar of its life, for kernels and for a host compiler.
pub const ENV: (&str, &str) = ("env.cuh", include_str!("env.cuh"));
