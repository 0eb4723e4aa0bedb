//! Integration tests of gigabar-market, one binary.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod check;
mod feature;
mod feature_golden;
mod frame;
mod load_asides;
mod load_doubts;
mod load_formats;
mod load_manifest;
mod load_random;
mod load_texts;
mod oddities;
mod resample;
mod vendors;
mod write;
