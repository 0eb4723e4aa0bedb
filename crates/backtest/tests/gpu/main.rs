//! Tests that need a CUDA device: `cargo test -p gigabar-backtest --test gpu -- --ignored --test-threads=1`.
#![allow(clippy::unwrap_used, missing_docs)]

mod full;
mod given;
mod greedy;
mod grids;
mod layered;
#[path = "../it/random_case.rs"]
#[allow(dead_code)]
mod random_case;
#[path = "../it/series_case.rs"]
mod series_case;
mod support;
mod sweep;
