//! The sweep a run's policy was chosen by: its best sets as a table, and the map the script draws.

use gigabar_backtest::metric::Better;
use serde::Serialize;

use super::format;
use super::tables::{Cell, Column, Fact};
use crate::report::run_report::RunReport;
use crate::report::sweep::{COLUMNS, SweepColumn, SweepMap, SweepReport};
use crate::report::text;

/// Decimals that a page shows of a mapped value.
const DECIMALS: i32 = 5;

/// What the template shows of a sweep.
#[derive(Debug, Serialize)]
pub(super) struct Sweep {
    title: String,
    hint: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    notes: Vec<String>,
    /// Above the map.
    map_title: String,
    map_hint: String,
    has_map: bool,
}

/// What the script draws.
#[derive(Debug, Serialize)]
pub(super) struct Map<'a> {
    label: &'static str,
    /// `percent`, `ratio` or `money`.
    unit: &'static str,
    lower_is_better: bool,
    x: Axis<'a>,
    y: Option<Axis<'a>>,
    /// `[n_y, n_x]`
    values: Vec<Option<f64>>,
    best: [usize; 2],
}

#[derive(Debug, Serialize)]
struct Axis<'a> {
    name: &'a str,
    labels: &'a [String],
    values: &'a [f64],
}

impl Sweep {
    pub(super) fn new(run: &RunReport) -> Option<Self> {
        let sweep = run.sweep.as_ref()?;
        let name = |name: &str| Column { name: name.into(), left: false };
        let mut columns = vec![Column { name: "Best".into(), left: true }];
        columns.extend(sweep.axes.iter().map(|axis| name(axis)));
        columns.extend(shown().map(|column| name(column.info().label)));
        Some(Self {
            title: format!("The best of {} parameter sets", format::count(sweep.n_sets)),
            hint: hint(sweep),
            columns,
            rows: rows(sweep),
            notes: text::sweep_notes(sweep).into_iter().map(sentence).collect(),
            map_title: sweep.map.as_ref().map_or_else(String::new, map_title),
            map_hint: sweep.map.as_ref().map_or_else(String::new, map_hint),
            has_map: sweep.map.is_some(),
        })
    }
}

impl<'a> Map<'a> {
    pub(super) fn new(map: &'a SweepMap) -> Self {
        let info = column(&map.metric).info();
        let axis = |axis: &'a crate::report::sweep::MapAxis| Axis {
            name: &axis.name,
            labels: &axis.labels,
            values: &axis.values,
        };
        Self {
            label: info.label,
            unit: match info.format {
                gigabar_backtest::metric::Format::Percent => "percent",
                gigabar_backtest::metric::Format::Money => "money",
                _ => "ratio",
            },
            lower_is_better: info.better == Better::Lower,
            x: axis(&map.x),
            y: map.y.as_ref().map(axis),
            values: map.values.iter().map(|value| value.and_then(|value| format::fixed(value, DECIMALS))).collect(),
            best: map.best,
        }
    }
}

/// The page's own sweep in its facts.
pub(super) fn provenance(sweep: &SweepReport) -> Fact {
    let left_out = match sweep.n_skipped {
        0 => String::new(),
        n => format!("; {} combinations are not allowed", format::count(n)),
    };
    Fact::new("Chosen from", format!("{} sets of {}{left_out}", format::count(sweep.n_sets), sweep.grid))
}

fn shown() -> impl Iterator<Item = &'static SweepColumn> {
    COLUMNS.iter().filter(|column| column.key != "final_equity")
}

fn column(key: &str) -> &'static SweepColumn {
    COLUMNS.iter().find(|column| column.key == key).unwrap_or(&COLUMNS[0])
}

fn hint(sweep: &SweepReport) -> String {
    let ranked = column(&sweep.sort).info();
    let direction = if ranked.better == Better::Lower { "lowest" } else { "highest" };
    format!(
        "Ranked by the {direction} {}, on the very bars each set traded. The rest of this page is about the first.",
        ranked.label.to_lowercase()
    )
}

fn rows(sweep: &SweepReport) -> Vec<Vec<Cell>> {
    let row = |(rank, set): (usize, &crate::report::sweep::RankedSet)| {
        let mut cells = vec![Cell::new((rank + 1).to_string(), Some((rank + 1) as f64))];
        cells.extend(set.labels.iter().map(|label| Cell::new(label.clone(), label.parse().ok())));
        cells.extend(shown().map(|column| super::tables::brief(column.info(), (column.value)(&set.row))));
        cells
    };
    sweep.best.iter().enumerate().map(row).collect()
}

fn map_title(map: &SweepMap) -> String {
    let info = column(&map.metric).info();
    match &map.y {
        Some(y) => format!("{} by {} and {}", info.label, y.name, map.x.name),
        None => format!("{} by {}", info.label, map.x.name),
    }
}

fn map_hint(map: &SweepMap) -> String {
    let mut hint = String::new();
    if !map.held.is_empty() {
        let held: Vec<String> = map.held.iter().map(|[name, value]| format!("{name}={value}")).collect();
        hint.push_str(&format!("The slice through the best set, at {}. ", held.join(", ")));
    }
    let (down, across) = (map.y.as_ref().map_or(1, |y| y.bin), map.x.bin);
    let cell = if map.y.is_some() { "cell" } else { "point" };
    match (down, across) {
        (1, 1) => {}
        (1, n) | (n, 1) => hint.push_str(&format!("Every {cell} is the mean of {n} neighbouring sets. ")),
        (y, x) => hint.push_str(&format!("Every {cell} is the mean of {y} × {x} neighbouring sets. ")),
    }
    hint.push_str(if map.y.is_some() {
        "The best is outlined. A good region is worth more than a lone good cell: that is what luck looks like."
    } else {
        "The best is circled. A broad hill is worth more than a lone peak: that is what luck looks like."
    });
    hint
}

/// A note as a sentence of the page.
pub(super) fn sentence(note: String) -> String {
    let note = note.replace(" -", " −").replace(" %", "%");
    let mut letters = note.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}
