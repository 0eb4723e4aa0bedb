//! One file per verb.

pub(crate) mod backtest;
pub(crate) mod data;
pub(crate) mod doctor;
pub(crate) mod evaluate;
pub(crate) mod report;
pub(crate) mod train;
pub(crate) mod walkforward;
