//! The table of windows, the table of every metric, and the facts beside the charts.

use gigabar_backtest::metric::{CATALOG, Format, Group, MetricInfo, WindowMetrics};
use gigabar_backtest::report::MeanStd;
use gigabar_backtest::{EvalReport, WindowReport};
use gigabar_market::time::DAY_NS;
use serde::Serialize;

use super::chain;
use super::format::{self, UNDEFINED};
use crate::report::run_report::RunReport;

/// One cell: its text, the number to sort by, and its CSS class.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub(super) struct Cell {
    pub(super) text: String,
    sort: String,
    tone: &'static str,
}

impl Cell {
    pub(super) fn new(text: impl Into<String>, value: Option<f64>) -> Self {
        let sort = value.filter(|v| v.is_finite()).map_or_else(String::new, |v| v.to_string());
        Self { text: text.into(), sort, tone: "" }
    }

    fn toned(mut self, tone: &'static str) -> Self {
        self.tone = tone;
        self
    }
}

/// A name and what it stands for.
#[derive(Debug, Serialize)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// Shown in a monospaced face.
    pub(super) code: bool,
}

impl Fact {
    pub(super) fn new(name: &'static str, value: impl Into<String>) -> Self {
        Self { name, value: value.into(), code: false }
    }

    pub(super) fn code(name: &'static str, value: impl Into<String>) -> Self {
        Self { code: true, ..Self::new(name, value) }
    }
}

/// A row per window; pooled, spread and benchmark at the foot.
#[derive(Debug, Serialize)]
pub(super) struct WindowTable {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    foot: Vec<Vec<Cell>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) left: bool,
}

/// The metrics of the table of windows, by key.
const WINDOW_KEYS: [&str; 10] = [
    "total_return",
    "benchmark_return",
    "volatility",
    "sharpe",
    "sortino",
    "max_drawdown",
    "n_trades",
    "win_rate",
    "profit_factor",
    "exposure",
];

impl WindowTable {
    pub(super) fn new(run: &RunReport) -> Self {
        let report = &run.report;
        let infos: Vec<&MetricInfo> = WINDOW_KEYS.iter().filter_map(|key| info(key)).collect();
        let named = |name: &str, left| Column { name: name.into(), left };
        let mut columns = vec![named("Window", true), named("From", false), named("To", false), named("Bars", false)];
        columns.extend(infos.iter().map(|info| named(info.label, false)));
        let rows = report.windows.iter().map(|window| window_row(window, &infos, run.data.interval_ns)).collect();
        Self { columns, rows, foot: foot(report, &infos) }
    }
}

fn window_row(window: &WindowReport, infos: &[&MetricInfo], interval_ns: i64) -> Vec<Cell> {
    // The time of day matters only where a window is short.
    let precision = if window.last_ts - window.first_ts > 7 * DAY_NS { i64::MAX } else { interval_ns };
    let moment = |ts| Cell::new(format::moment(ts, precision), Some(ts as f64));
    let mut row = vec![
        Cell::new(format::count(window.index), Some(window.index as f64)),
        moment(window.first_ts),
        moment(window.last_ts),
        Cell::new(format::count(window.n_bars), Some(window.n_bars as f64)),
    ];
    row.extend(infos.iter().map(|info| brief(info, (info.value)(&window.metrics))));
    row
}

fn foot(report: &EvalReport, infos: &[&MetricInfo]) -> Vec<Vec<Cell>> {
    let row = |name: &str, n_bars: String, value: &dyn Fn(&MetricInfo) -> Cell| -> Vec<Cell> {
        let mut row = vec![Cell::new(name, None), Cell::default(), Cell::default(), Cell::new(n_bars, None)];
        row.extend(infos.iter().map(|info| value(info)));
        row
    };
    let n_bars = report.windows.iter().map(|w| w.n_bars).sum();
    let mut rows = vec![row("Pooled", format::count(n_bars), &|i| brief(i, (i.value)(&report.pooled)))];
    if report.windows.len() > 1 {
        let across = |info: &MetricInfo, part: fn(&MeanStd) -> Option<f64>| {
            Cell::new(spread_text(info.format, report.across.get(info.key).and_then(part)), None)
        };
        rows.push(row("Mean", String::new(), &|info| across(info, |of| of.mean)));
        rows.push(row("Std", String::new(), &|info| across(info, |of| of.std)));
    }
    rows.push(row("Buy-and-hold", String::new(), &|info| {
        let value = benchmark_value(info, &report.benchmark);
        Cell { tone: "", ..brief(info, value) }
    }));
    rows
}

/// Every metric, a column for pooled, spread, benchmark and each window.
#[derive(Debug, Serialize)]
pub(super) struct MetricTable {
    columns: Vec<String>,
    rows: Vec<MetricRow>,
}

#[derive(Debug, Serialize)]
struct MetricRow {
    /// Heading of a group that begins with this row.
    group: Option<&'static str>,
    name: String,
    about: &'static str,
    cells: Vec<Cell>,
}

impl MetricTable {
    pub(super) fn new(report: &EvalReport) -> Self {
        let several = report.windows.len() > 1;
        let mut columns = vec!["Pooled".to_owned()];
        if several {
            columns.push("Mean ± std".into());
        }
        columns.push("Buy-and-hold".into());
        if several {
            columns.extend(report.windows.iter().map(|w| format!("Window {}", w.index)));
        }
        let mut before = None;
        let rows = CATALOG.iter().map(|info| {
            let begins = before.replace(info.group) != Some(info.group);
            metric_row(report, info, begins, several)
        });
        Self { columns, rows: rows.collect() }
    }
}

fn metric_row(report: &EvalReport, info: &MetricInfo, begins: bool, several: bool) -> MetricRow {
    let mut cells = vec![cell(info, (info.value)(&report.pooled))];
    if several {
        cells.push(spread(info, report.across.get(info.key)));
    }
    let held = benchmark_value(info, &report.benchmark);
    cells.push(Cell { tone: "bench-col", ..cell(info, held) });
    if several {
        cells.extend(report.windows.iter().map(|w| cell(info, (info.value)(&w.metrics))));
    }
    MetricRow { group: begins.then(|| info.group.label()), name: label(info, report), about: info.about, cells }
}

fn label(info: &MetricInfo, report: &EvalReport) -> String {
    info.full_label(&report.config).replace(" %", "%")
}

/// `VaR 95%` and `CVaR 95%` at the run's level.
pub(super) fn tail_names(report: &EvalReport) -> [String; 2] {
    ["var", "cvar"].map(|key| info(key).map_or_else(String::new, |info| label(info, report)))
}

fn info(key: &str) -> Option<&'static MetricInfo> {
    CATALOG.iter().find(|info| info.key == key)
}

/// A value in its metric's unit.
fn text(format: Format, value: Option<f64>) -> String {
    match format {
        Format::Percent => format::percent(value, 2),
        Format::Ratio | Format::Money => format::number(value, 2),
        Format::Count => format::number(value, 0),
        Format::Bars => format::number(value, usize::from(value.is_some_and(|v| v.fract() != 0.0))),
        Format::Flag => value.map_or(UNDEFINED, |v| if v == 0.0 { "no" } else { "yes" }).into(),
    }
}

/// Results of money are coloured by sign; everything else is plain.
fn cell(info: &MetricInfo, value: Option<f64>) -> Cell {
    let coloured =
        matches!(info.key, "total_return" | "benchmark_return" | "cagr" | "total_pnl" | "sharpe" | "sortino" | "alpha");
    Cell::new(text(info.format, value), value).toned(if coloured { format::tone(value) } else { "" })
}

/// Buy-and-hold places no order and is measured against itself: only returns and risk mean something.
fn benchmark_value(info: &MetricInfo, benchmark: &WindowMetrics) -> Option<f64> {
    let measured =
        matches!(info.group, Group::Return | Group::RiskAdjusted | Group::Risk) || info.key == "benchmark_return";
    (info.value)(benchmark).filter(|_| measured)
}

fn spread(info: &MetricInfo, across: Option<&MeanStd>) -> Cell {
    let Some(MeanStd { mean: Some(mean), std, .. }) = across.copied() else { return Cell::new(UNDEFINED, None) };
    if info.format == Format::Flag {
        return Cell::new(format!("{} of windows", format::percent(Some(mean), 0)), None);
    }
    let text = |value| spread_text(info.format, Some(value));
    Cell::new(std.map_or_else(|| text(mean), |std| format!("{} ± {}", text(mean), text(std))), None)
}

/// Means and deviations: percents need no more than one decimal, and counts get one.
fn spread_text(format: Format, value: Option<f64>) -> String {
    match format {
        Format::Percent => format::percent(value, 1),
        Format::Count | Format::Bars => format::number(value, 1),
        other => text(other, value),
    }
}

/// As [`cell`], with the fewer decimals of a wide table.
pub(super) fn brief(info: &MetricInfo, value: Option<f64>) -> Cell {
    let plain = cell(info, value);
    if info.format == Format::Percent { Cell { text: format::percent(value, 1), ..plain } } else { plain }
}

/// What trading cost and how the account behaved.
pub(super) fn conduct(run: &RunReport) -> Vec<Fact> {
    let report = &run.report;
    let pooled = &report.pooled;
    let [var, cvar] = [pooled.var, pooled.cvar].map(|v| format::percent(v, 2));
    let [var_name, cvar_name] = tail_names(report);
    let mut facts = vec![
        Fact::new("Time in the market", format::percent(pooled.exposure, 1)),
        Fact::new("Turnover a year", format!("{} × equity", format::number(pooled.turnover, 1))),
        Fact::new("Commission, spread, slippage", format!("{} (pooled account)", format::number(pooled.costs, 2))),
        Fact::new("Carry", format::number(pooled.carry, 2)),
        Fact::new("Fills", format::count(pooled.fills)),
        Fact::new(
            "Average trade",
            format!(
                "{} of equity, {} bars held",
                format::signed(pooled.avg_trade_return, format::percent(pooled.avg_trade_return, 2)),
                format::number(pooled.avg_bars_held, 1)
            ),
        ),
        Fact::new("Loss of a bad bar", format!("{var_name} {var}, {cvar_name} {cvar}")),
        Fact::new(
            "Skew, excess kurtosis",
            format!("{}, {}", format::number(pooled.skew, 2), format::number(pooled.kurtosis, 2)),
        ),
    ];
    let exits = chain::exits(run);
    if !exits.is_empty() {
        let list: Vec<String> = exits.iter().map(|(reason, n)| format!("{reason} {}", format::count(*n))).collect();
        facts.push(Fact::new("Trades closed by", list.join(", ")));
    }
    for (name, n) in [
        ("Orders refused", pooled.rejected_orders),
        ("Orders cut by the cap", pooled.capped_orders),
        ("NaN decisions", pooled.nan_levels),
    ] {
        if n > 0 {
            facts.push(Fact::new(name, format::count(n)));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_of_windows_names_metrics_that_exist() {
        assert!(WINDOW_KEYS.iter().all(|key| info(key).is_some()));
    }

    #[test]
    fn spreads_read_as_mean_and_deviation() {
        let of = |key, mean, std| spread(info(key).unwrap(), Some(&MeanStd { mean, std, n: 2 })).text;
        assert_eq!(of("sharpe", Some(1.234), Some(0.5)), "1.23 ± 0.50");
        assert_eq!(of("max_drawdown", Some(0.1), None), "10.0%");
        assert_eq!(of("n_trades", Some(12.5), Some(0.5)), "12.5 ± 0.5");
        assert_eq!(of("sharpe", None, None), UNDEFINED);
    }

    #[test]
    fn undefined_values_have_no_sort_key() {
        let sharpe = info("sharpe").unwrap();
        assert_eq!(cell(sharpe, None), Cell { text: UNDEFINED.into(), sort: String::new(), tone: "" });
        assert_eq!(cell(sharpe, Some(-0.5)), Cell { text: "−0.50".into(), sort: "-0.5".into(), tone: "neg" });
    }
}
