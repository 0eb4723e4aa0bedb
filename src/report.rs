//! What a run found, and how it is shown: [`RunReport`] is `report.json`; `text`, `csv` and `html` render it.

pub mod check_page;
pub mod check_text;
pub mod choices;
pub mod csv;
mod decimate;
pub mod html;
pub mod refused;
pub mod run_report;
pub mod seeds;
pub mod sweep;
pub mod text;
pub mod verdict;

pub use choices::ChoicesReport;
pub use run_report::{DataFile, DataSummary, RunReport, TrainingCurve, WindowCurve};
pub use seeds::SeedsReport;
pub use sweep::SweepReport;
pub use verdict::Luck;
