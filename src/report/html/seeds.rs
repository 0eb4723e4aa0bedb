//! The table of seeds: what chance alone does to a result.

use gigabar_backtest::metric::{CATALOG, MetricInfo};
use serde::Serialize;

use super::format;
use super::tables::{Cell, Column, brief};
use crate::report::run_report::RunReport;
use crate::report::seeds::SeedFigures;

/// A row per seed, their spread at the foot.
#[derive(Debug, Serialize)]
pub(super) struct Seeds {
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    foot: Vec<Vec<Cell>>,
}

impl Seeds {
    pub(super) fn new(run: &RunReport) -> Option<Self> {
        let seeds = run.seeds.as_ref()?;
        let named = |key: &&str| CATALOG.iter().find(|info| info.key == *key);
        let infos: Vec<&MetricInfo> = SeedFigures::KEYS.iter().filter_map(named).collect();
        let mut columns = vec![Column { name: "Seed".into(), left: true }];
        columns.extend(infos.iter().map(|info| Column { name: info.label.into(), left: false }));
        let row = |head: Cell, figures: &SeedFigures| -> Vec<Cell> {
            let figures = infos.iter().zip(figures.values()).map(|(info, value)| brief(info, value));
            std::iter::once(head).chain(figures).collect()
        };
        let n = seeds.seeds.len();
        let mut rows: Vec<Vec<Cell>> = seeds
            .rows()
            .iter()
            .enumerate()
            .map(|(i, (name, figures))| row(Cell::new(capital(name), Some(i as f64)), figures))
            .collect();
        let foot = rows.split_off(n);
        Some(Self { title: format!("{} seeds", format::count(n)), columns, rows, foot })
    }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}", letters.as_str())
}
