#![allow(clippy::unwrap_used)]

mod gradient_host;
mod nvrtc;
