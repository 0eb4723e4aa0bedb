//! The program as its users meet it.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod bad_input;
mod data;
mod ensemble;
mod grid;
mod layers;
mod resume;
mod shown;
mod signals;
mod support;
mod training;
mod volume;
mod walkforward_rule;
