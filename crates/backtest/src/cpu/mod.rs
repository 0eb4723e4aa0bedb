//! The rules of a bar on the CPU: [`engine`] (f64, fast) and [`mod@reference`] (Decimal, the truth).

pub mod account;
pub mod engine;
mod jump;
pub(crate) mod kelly;
pub mod observation;
pub(crate) mod pages;
mod quiet;
pub mod reference;
pub mod reward;
pub(crate) mod widest;
