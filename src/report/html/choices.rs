//! The parameters each fold of a rule's walk-forward chose.

use serde::Serialize;

use super::sweep::sentence;
use super::tables::Cell;
use crate::report::run_report::RunReport;

/// A row per fold.
#[derive(Debug, Serialize)]
pub(super) struct Choices {
    title: &'static str,
    hint: &'static str,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
    notes: Vec<String>,
}

impl Choices {
    pub(super) fn new(run: &RunReport) -> Option<Self> {
        let choices = run.choices.as_ref()?;
        let cell = |text: String| {
            let number = text.trim_end_matches(" %").replace(',', "").parse().ok();
            Cell::new(text.replace(" %", "%").replace('-', "−"), number)
        };
        let row = |(fold, row): (usize, Vec<String>)| {
            let mut cells: Vec<Cell> = row.into_iter().map(cell).collect();
            // Days sort by their fold.
            cells[1] = Cell::new(choices.folds[fold].train_days(), Some(fold as f64));
            cells
        };
        Some(Self {
            title: "Chosen parameters",
            hint: "What was best on each fold's train part, and what it did on the test part that follows.",
            columns: choices.header(),
            rows: choices.rows().into_iter().enumerate().map(row).collect(),
            notes: choices.notes().into_iter().map(sentence).collect(),
        })
    }
}
