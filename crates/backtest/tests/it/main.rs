//! Tests of the crate from outside.
#![allow(clippy::unwrap_used, missing_docs)]

mod metric_golden;
mod metric_identities;
mod metric_oracles;
