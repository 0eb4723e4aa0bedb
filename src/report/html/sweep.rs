//! The sweep a run's policy was chosen by: its best sets as a table, and the map the script draws.

use gigabar_backtest::metric::{Better, CATALOG, MetricInfo};
use serde::Serialize;

use super::format;
use super::tables::{Cell, Column, Fact};
use crate::report::run_report::RunReport;
use crate::report::sweep::{COLUMNS, Growth, Ranked, RankedSet, SweepColumn, SweepMap, SweepReport};
use crate::report::text;

/// Decimals that a page shows of a mapped value.
const DECIMALS: i32 = 5;

/// Rows of the table at most; strategies.csv holds all.
const MAX_ROWS: usize = 500;

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
    /// Above the curves of strategies; nothing without any.
    curves_hint: Option<String>,
}

/// The curves that the script draws, the best strategy's first.
#[derive(Debug, Serialize)]
pub(super) struct Curves<'a>(Vec<Curve<'a>>);

#[derive(Debug, Serialize)]
struct Curve<'a> {
    name: &'a str,
    /// Milliseconds since 1970.
    x: Vec<i64>,
    y: Vec<Option<f64>>,
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
        let head = if sweep.ranked == Ranked::Sets { "Best" } else { "Strategy" };
        let mut columns = vec![Column { name: head.into(), left: true }];
        columns.extend(sweep.axes.iter().map(|axis| name(axis)));
        columns.extend(shown(sweep).map(|info| name(info.label)));
        Some(Self {
            title: title(sweep),
            hint: hint(sweep),
            columns,
            rows: rows(sweep),
            notes: text::sweep_notes(sweep).into_iter().map(sentence).collect(),
            map_title: sweep.map.as_ref().map_or_else(String::new, map_title),
            map_hint: sweep.map.as_ref().map_or_else(String::new, map_hint),
            has_map: sweep.map.is_some(),
            curves_hint: curves_hint(sweep),
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

impl<'a> Curves<'a> {
    pub(super) fn new(sweep: &'a SweepReport) -> Option<Self> {
        let curve = |(set, growth): (&'a RankedSet, &Growth)| Curve {
            name: &set.name,
            x: growth.ts.iter().map(|ts| ts / 1_000_000).collect(),
            y: growth.value.iter().map(|value| format::fixed(*value, 2)).collect(),
        };
        let curves: Vec<_> = sweep.best.iter().filter_map(|set| Some((set, set.growth.as_ref()?))).map(curve).collect();
        (!curves.is_empty()).then_some(Self(curves))
    }
}

fn curves_hint(sweep: &SweepReport) -> Option<String> {
    let n = Curves::new(sweep)?.0.len();
    let which = if n < sweep.n_sets { format!("of 100, the best {n}") } else { "of 100".into() };
    Some(format!("{which}; the best is drawn strongest"))
}

/// The page's own sweep in its facts.
pub(super) fn provenance(sweep: &SweepReport) -> Fact {
    let left_out = match sweep.n_skipped {
        0 => String::new(),
        n => format!("; {} combinations are not allowed", format::count(n)),
    };
    Fact::new(
        "Chosen from",
        format!("{} {} of {}{left_out}", format::count(sweep.n_sets), sweep.ranked.many(), sweep.grid),
    )
}

/// The columns of the table; first what ranks, where it is none of the usual ones.
fn shown(sweep: &SweepReport) -> impl Iterator<Item = &'static MetricInfo> {
    let usual = || COLUMNS.iter().map(SweepColumn::info).filter(|info| info.key != "final_equity");
    let extra = sweep.ranked_by().filter(|by| usual().all(|info| info.key != by.key));
    extra.into_iter().chain(usual())
}

fn column(key: &str) -> &'static SweepColumn {
    COLUMNS.iter().find(|column| column.key == key).unwrap_or(&COLUMNS[0])
}

fn title(sweep: &SweepReport) -> String {
    let n = format::count(sweep.n_sets);
    match sweep.ranked {
        Ranked::Sets => format!("The best of {n} parameter sets"),
        Ranked::Strategies if sweep.n_sets > MAX_ROWS => {
            format!("The best {} of {n} strategies", format::count(MAX_ROWS))
        }
        Ranked::Strategies => format!("{n} strategies"),
    }
}

fn hint(sweep: &SweepReport) -> String {
    let ranked = sweep.ranked_by().unwrap_or(&CATALOG[0]);
    let direction = if ranked.better == Better::Lower { "lowest" } else { "highest" };
    format!(
        "Ranked by the {direction} {}, on the very bars each {} traded. The rest of this page is about the first.",
        ranked.label.to_lowercase(),
        sweep.ranked.one()
    )
}

fn rows(sweep: &SweepReport) -> Vec<Vec<Cell>> {
    let row = |(rank, set): (usize, &RankedSet)| {
        let head = if sweep.ranked == Ranked::Sets { (rank + 1).to_string() } else { set.name.clone() };
        let mut cells = vec![Cell::new(head, Some((rank + 1) as f64))];
        cells.extend(set.labels.iter().map(|label| Cell::new(label.clone(), label.parse().ok())));
        cells.extend(shown(sweep).map(|info| super::tables::brief(info, set.value(info))));
        cells
    };
    sweep.best.iter().take(MAX_ROWS).enumerate().map(row).collect()
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
