//! A report as text tables: per window, then pooled against buy-and-hold. Undefined values are `–`.

use comfy_table::{Cell, CellAlignment, Table, presets};
use gigabar_backtest::EvalReport;
use gigabar_backtest::metric::{CATALOG, Format, Group, MetricInfo, WindowMetrics};
use gigabar_market::time;

use super::RunReport;
use super::choices::ChoicesReport;
use super::seeds::{SeedFigures, SeedsReport};
use super::sweep::{COLUMNS, Ranked, RankedSet, SweepColumn, SweepReport};

/// Columns of the per-window table, by catalog key.
const WINDOW_COLUMNS: [&str; 7] =
    ["total_return", "sharpe", "sortino", "max_drawdown", "win_rate", "n_trades", "exposure"];

/// Columns of the summary.
const SUMMARY_COLUMNS: [&str; 5] = ["sharpe", "total_return", "cagr", "volatility", "max_drawdown"];

/// One row per window, and the pooled row.
pub fn windows_table(report: &EvalReport) -> String {
    let columns: Vec<&MetricInfo> = WINDOW_COLUMNS.iter().filter_map(|key| metric(key)).collect();
    let hold = metric("total_return");
    let mut table = new_table();
    let mut header = vec!["window".to_owned(), "from".into(), "to".into(), "bars".into()];
    header.extend(columns.iter().map(|info| info.label.to_lowercase()));
    header.push("buy & hold".into());
    table.set_header(header);
    for window in &report.windows {
        let mut row =
            vec![window.index.to_string(), day(window.first_ts), day(window.last_ts), window.n_bars.to_string()];
        row.extend(columns.iter().map(|info| show(info, &window.metrics)));
        row.extend(hold.map(|info| show(info, &window.benchmark)));
        table.add_row(cells(row));
    }
    if report.windows.len() > 1 {
        let bars: usize = report.windows.iter().map(|window| window.n_bars).sum();
        let mut row = vec!["pooled".to_owned(), String::new(), String::new(), bars.to_string()];
        row.extend(columns.iter().map(|info| show(info, &report.pooled)));
        row.extend(hold.map(|info| show(info, &report.benchmark)));
        table.add_row(cells(row));
    }
    trimmed(&table)
}

/// Every metric of the catalog: pooled, mean ± deviation over the windows, buy-and-hold.
pub fn metrics_table(report: &EvalReport) -> String {
    let mut table = new_table();
    let mut header = vec!["metric", "pooled"];
    let several = report.windows.len() > 1;
    if several {
        header.push("mean ± std over windows");
    }
    header.push("buy & hold");
    let width = header.len();
    table.set_header(header);
    let mut group: Option<Group> = None;
    for info in CATALOG.iter() {
        if group != Some(info.group) {
            let mut heading = vec![format!("{}:", info.group.label())];
            heading.resize(width, String::new());
            table.add_row(heading);
            group = Some(info.group);
        }
        let mut row = vec![format!("  {}", info.label), show(info, &report.pooled)];
        if several {
            row.push(spread(report, info));
        }
        let own = info.group == Group::Benchmark;
        row.push(if own { String::new() } else { show(info, &report.benchmark) });
        table.add_row(cells(row));
    }
    trimmed(&table)
}

/// The headline: the pooled windows against buy-and-hold, and how likely skill is.
pub fn summary(report: &RunReport) -> String {
    let eval = &report.report;
    let mut table = new_table();
    let columns: Vec<&MetricInfo> = SUMMARY_COLUMNS.iter().filter_map(|key| metric(key)).collect();
    let mut header = vec![String::new()];
    header.extend(columns.iter().map(|info| info.label.to_lowercase()));
    table.set_header(header);
    for (name, metrics) in [(eval.policy.as_str(), &eval.pooled), ("buy & hold (benchmark)", &eval.benchmark)] {
        let mut row = vec![name.to_owned()];
        row.extend(columns.iter().map(|info| show(info, metrics)));
        table.add_row(cells(row));
    }
    let trials = match eval.n_trials {
        1 => "this run as the only trial".to_owned(),
        n => format!("the best of {n} trials"),
    };
    format!("{}\n\ndeflated Sharpe ratio {} (counting {trials})", trimmed(&table), Format::Percent.text(eval.dsr))
}

/// Every seed, and how they spread.
pub fn seeds_table(seeds: &SeedsReport) -> String {
    let columns: Vec<&MetricInfo> = SeedFigures::KEYS.iter().filter_map(|key| metric(key)).collect();
    let mut table = new_table();
    let mut header = vec!["seed".to_owned()];
    header.extend(columns.iter().map(|info| info.label.to_lowercase()));
    table.set_header(header);
    for (name, figures) in seeds.rows() {
        let mut row = vec![name];
        row.extend(columns.iter().zip(figures.values()).map(|(info, value)| info.format.text(value)));
        table.add_row(cells(row));
    }
    trimmed(&table)
}

/// What each fold of a rule's walk-forward chose, and how it fared on both parts.
pub fn choices_table(choices: &ChoicesReport) -> String {
    let mut table = new_table();
    table.set_header(choices.header());
    for row in choices.rows() {
        table.add_row(cells(row));
    }
    format!("{}\n\n{}", trimmed(&table), choices.notes().join("\n"))
}

/// Columns of the table of a sweep.
const SWEEP_KEYS: [&str; 6] = ["sharpe", "total_return", "max_drawdown", "win_rate", "n_trades", "exposure"];

/// Strategies that the table of several shows; the best come first.
const SHOWN_STRATEGIES: usize = 50;

/// The best sets of a sweep or strategies of a file, and what to make of them.
pub fn sweep_table(sweep: &SweepReport) -> String {
    let extra = sweep.ranked_by().filter(|info| !SWEEP_KEYS.contains(&info.key));
    let shown = COLUMNS.iter().map(SweepColumn::info).filter(|info| SWEEP_KEYS.contains(&info.key));
    let columns: Vec<&MetricInfo> = extra.into_iter().chain(shown).collect();
    let mut table = new_table();
    let mut header = match sweep.ranked {
        Ranked::Sets => vec!["best".to_owned()],
        Ranked::Strategies => vec!["strategy".to_owned()],
    };
    header.extend(sweep.axes.iter().cloned());
    header.extend(columns.iter().map(|info| info.label.to_lowercase()));
    table.set_header(header);
    for (rank, set) in sweep.best.iter().enumerate().take(SHOWN_STRATEGIES) {
        let mut row = match sweep.ranked {
            Ranked::Sets => vec![(rank + 1).to_string()],
            Ranked::Strategies => vec![set.name.clone()],
        };
        row.extend(set.labels.iter().cloned());
        row.extend(columns.iter().map(|info| info.format.text(set.value(info))));
        table.add_row(cells(row));
    }
    let more = sweep.best.len().saturating_sub(SHOWN_STRATEGIES);
    let more = if more > 0 { format!("\n and {} more", Format::Count.text(Some(more as f64))) } else { String::new() };
    format!("{}{more}\n\n{}", trimmed(&table), sweep_notes(sweep).join("\n"))
}

/// How all of them fared, and how much of the best is luck.
pub fn sweep_notes(sweep: &SweepReport) -> Vec<String> {
    let count = |n: usize| Format::Count.text(Some(n as f64));
    let info = sweep.ranked_by();
    let of = if sweep.n_idle > 0 { " of the others" } else { "" };
    let median =
        info.map(|info| format!(", median {}{of} {}", info.label.to_lowercase(), info.format.text(sweep.median)));
    let mut notes = vec![format!(
        "of {} {} {} made a profit{}{}",
        count(sweep.n_sets),
        sweep.ranked.many(),
        if sweep.n_profitable == 0 { "none".into() } else { count(sweep.n_profitable) },
        if sweep.n_idle > 0 { format!(", {} never traded", count(sweep.n_idle)) } else { String::new() },
        median.unwrap_or_default()
    )];
    if sweep.n_windows > 1 && sweep.ranked == Ranked::Sets {
        notes.push(format!(
            "over {} windows: sharpe is their mean (0 in a window without a trade), max drawdown the largest inside any of them",
            sweep.n_windows
        ));
    }
    let ruined = strategies(sweep).filter(|set| set.row.ruined).map(|set| set.name.clone());
    notes.extend(listed("ruined", ruined));
    let of = |set: &RankedSet| set.metrics.as_ref().map_or(0, |metrics| metrics.rejected_orders);
    let refused = strategies(sweep).filter(|set| of(set) > 0).map(|set| format!("{} ({})", set.name, count(of(set))));
    notes.extend(listed("orders rejected by bars with volume 0", refused));
    let missing = |set: &RankedSet| set.metrics.as_ref().map_or(0, |metrics| metrics.nan_levels);
    let gaps = strategies(sweep).filter(|set| missing(set) > 0);
    let gaps = gaps.map(|set| format!("{} ({})", set.name, count(missing(set))));
    notes.extend(listed("levels that are not finite and were taken as flat", gaps));
    if let Some(luck) = sweep.luck_sharpe {
        notes.push(format!(
            "the best {} was chosen on the very bars it is judged by: without any skill, the best of {} {} that differ as \
             much as these would show a Sharpe ratio of about {}",
            sweep.ranked.one(),
            count(sweep.n_sets),
            sweep.ranked.many(),
            Format::Ratio.text(Some(luck))
        ));
    }
    notes
}

/// What a comparison ranks; nothing of a grid, whose best sets are some of many.
fn strategies(sweep: &SweepReport) -> impl Iterator<Item = &RankedSet> {
    sweep.best.iter().filter(|_| sweep.ranked == Ranked::Strategies)
}

/// The first dozen, and how many more.
fn listed(what: &str, mut names: impl Iterator<Item = String>) -> Option<String> {
    let shown: Vec<String> = names.by_ref().take(12).collect();
    let more = names.count();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("{what}: {}{more}", shown.join(", ")))
}

fn spread(report: &EvalReport, info: &MetricInfo) -> String {
    // A mean of counts is no count.
    let format = if info.format == Format::Count { Format::Ratio } else { info.format };
    match report.across.get(info.key) {
        Some(across) if across.mean.is_some() => {
            format!("{} ± {}", format.text(across.mean), format.text(across.std))
        }
        _ => "–".into(),
    }
}

fn metric(key: &str) -> Option<&'static MetricInfo> {
    CATALOG.iter().find(|info| info.key == key)
}

fn show(info: &MetricInfo, metrics: &WindowMetrics) -> String {
    info.format.text((info.value)(metrics))
}

/// The day of a stamp, UTC.
fn day(ts: i64) -> String {
    let text = time::iso(ts);
    text.get(..10).map_or(text.clone(), Into::into)
}

fn new_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// The first column to the left, numbers to the right.
fn cells(row: Vec<String>) -> Vec<Cell> {
    let align = |i| if i == 0 { CellAlignment::Left } else { CellAlignment::Right };
    row.into_iter().enumerate().map(|(i, text)| Cell::new(text).set_alignment(align(i))).collect()
}

fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
