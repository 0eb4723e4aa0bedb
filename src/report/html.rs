//! `report.html`: a run as one page that opens offline, from a mail attachment, without fetching anything.
//!
//! Figures and tables are written here, so they can be read without JavaScript; the scripts draw the charts as SVG from
//! columns embedded as JSON. Those columns are thinned to what a screen can show, keeping every extreme. The charts are
//! drawn by hand because an embedded plotly.js alone is 4.7 MB, where a whole page is 0.1 to 2 MB, and its colours are
//! set per figure, where these follow the reader's colour scheme by style sheet.

mod chain;
mod choices;
mod distribution;
mod format;
mod months;
mod seeds;
mod sweep;
mod tables;
mod training;
mod verdict;

#[cfg(test)]
mod tests;

use anyhow::{Context, Result};
use minijinja::value::Serde as AsValue;
use minijinja::{AutoEscape, Environment};
use serde::Serialize;

use chain::{Chain, MAX_TRADES, TradeColumns, WindowColumns};
use distribution::{Histogram, Rolling};
use format::{count, counted, percent, signed};
use tables::{Fact, MetricTable, WindowTable};
use training::{Slot, Training};
use verdict::Verdict;

use super::run_report::RunReport;
use super::sweep::Ranked;

const TEMPLATE: &str = include_str!("html/template.html");
const STYLE: &str = include_str!("html/style.css");
/// The scripts in the order they need; no library among them.
const SCRIPT: &str = concat!(
    include_str!("html/scale.js"),
    include_str!("html/linked.js"),
    include_str!("html/charts.js"),
    include_str!("html/sweep.js"),
    include_str!("html/strategies.js"),
    include_str!("html/report.js"),
);

/// What the template reads.
#[derive(Serialize)]
struct Page<'a> {
    version: &'a str,
    created: &'a str,
    command: &'a str,
    settings: &'a str,
    notes: &'a [String],
    policy: &'a str,
    instrument: String,
    period: String,
    windows_text: String,
    bars_text: String,
    verdict: Verdict,
    cards: Vec<Card>,
    kind: &'static str,
    equity_title: &'static str,
    equity_hint: &'static str,
    sweep: Option<sweep::Sweep>,
    seeds: Option<seeds::Seeds>,
    choices: Option<choices::Choices>,
    chart_notes: Vec<String>,
    has_curves: bool,
    n_trades: usize,
    trades_all: String,
    trades_hint: String,
    rolling_text: Option<String>,
    windows_hint: &'static str,
    windows: WindowTable,
    months: months::HeatMap,
    histogram_text: Option<String>,
    conduct: Vec<Fact>,
    training: Vec<Slot>,
    training_more: usize,
    metrics: MetricTable,
    provenance: Vec<Fact>,
    style: &'static str,
    script: &'static str,
    data: String,
}

/// A headline figure.
#[derive(Serialize)]
struct Card {
    name: &'static str,
    value: String,
    note: String,
    tone: &'static str,
}

/// What the scripts read.
#[derive(Serialize)]
struct Data<'a> {
    policy: &'a str,
    interval_ms: f64,
    windows: Vec<WindowColumns>,
    trades: TradeColumns,
    rolling: &'a Rolling,
    histogram: Option<&'a Histogram>,
    training: &'a Training,
    sweep: Option<sweep::Map<'a>>,
    strategies: Option<sweep::Curves<'a>>,
}

/// One self-contained HTML file, in UTF-8; opens offline.
///
/// # Errors
/// A curve whose columns differ in length, or that belongs to no window of the report.
pub fn render(report: &RunReport) -> Result<String> {
    let chain = Chain::new(report)?;
    let bars = chain.returns();
    let rolling = Rolling::new(&bars, report.report.periods_per_year);
    let histogram = Histogram::new(&bars).map(|histogram| Histogram {
        var: report.report.pooled.var.and_then(format::rounded),
        cvar: report.report.pooled.cvar.and_then(format::rounded),
        names: tables::tail_names(&report.report),
        ..histogram
    });
    let training = Training::new(&report.training);
    let data = Data {
        policy: &report.report.policy,
        interval_ms: report.data.interval_ns as f64 / 1e6,
        windows: chain.windows(),
        trades: chain.trades(),
        rolling: &rolling,
        histogram: histogram.as_ref(),
        training: &training,
        sweep: report.sweep.as_ref().and_then(|sweep| sweep.map.as_ref()).map(sweep::Map::new),
        strategies: report.sweep.as_ref().and_then(sweep::Curves::new),
    };
    let page = Page {
        chart_notes: chart_notes(report),
        has_curves: !chain.is_empty(),
        n_trades: chain.n_trades(),
        trades_all: if chain.n_trades() > MAX_TRADES { "All listed" } else { "All" }.into(),
        trades_hint: trades_hint(chain.n_trades(), report.curves.len()),
        rolling_text: (rolling.n_bars > 0)
            .then(|| format!("over {}, annualised, without a risk-free rate", counted(rolling.n_bars, "bar"))),
        histogram_text: histogram.as_ref().map(histogram_text),
        months: months::heat_map(&bars, report.data.interval_ns),
        training: training.slots(),
        training_more: training.n_more(),
        data: embed(&data)?,
        ..Page::of(report)
    };
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("report.html", TEMPLATE)?;
    environment.get_template("report.html")?.render(AsValue(&page)).context("report.html")
}

impl<'a> Page<'a> {
    /// Everything that reads the report alone.
    fn of(report: &'a RunReport) -> Self {
        let n_windows = report.report.windows.len();
        let [kind, equity_title, equity_hint] = wording(report);
        Self {
            version: &report.version,
            created: &report.created,
            command: &report.command,
            settings: &report.settings_toml,
            notes: &report.data.notes,
            policy: &report.report.policy,
            instrument: instrument(report),
            period: period(report),
            windows_text: counted(n_windows, "window"),
            bars_text: format!(
                "{} of {}",
                counted(report.report.windows.iter().map(|window| window.n_bars).sum(), "bar"),
                format::interval(report.data.interval_ns)
            ),
            verdict: Verdict::new(report),
            cards: cards(report),
            kind,
            equity_title,
            equity_hint,
            sweep: sweep::Sweep::new(report),
            seeds: seeds::Seeds::new(report),
            choices: choices::Choices::new(report),
            windows_hint: if n_windows > 1 {
                "Click a heading to sort. Pooled takes all windows as one account."
            } else {
                ""
            },
            windows: WindowTable::new(report),
            conduct: tables::conduct(report),
            metrics: MetricTable::new(&report.report),
            provenance: provenance(report),
            style: STYLE,
            script: SCRIPT,
            chart_notes: vec![],
            has_curves: false,
            n_trades: 0,
            trades_all: String::new(),
            trades_hint: String::new(),
            rolling_text: None,
            months: months::HeatMap::default(),
            histogram_text: None,
            training: vec![],
            training_more: 0,
            data: String::new(),
        }
    }
}

/// What the report calls itself and its equity: nothing is called out of sample that may not be.
fn wording(report: &RunReport) -> [&'static str; 3] {
    match (&report.sweep, &report.seen) {
        (Some(sweep), _) if sweep.ranked == Ranked::Strategies => [
            "report on several strategies",
            "Equity of the best strategy",
            "The best strategy on the bars it was chosen on: what it earned here it need not earn elsewhere.",
        ],
        (Some(_), _) => [
            "report on a parameter sweep",
            "Equity of the best set",
            "The best set on the bars it was chosen on: what it earned here it need not earn elsewhere.",
        ],
        (None, Some(_)) => [
            "report",
            "Equity",
            "Every window starts flat; their returns are chained, starting at 100. They may be of bars it was trained on.",
        ],
        (None, None) if report.choices.is_some() => [
            "walk-forward report",
            "Out-of-sample equity",
            "Every window starts flat on bars its parameters were not chosen on; their returns are chained, starting at 100.",
        ],
        (None, None) => [
            "out-of-sample report",
            "Out-of-sample equity",
            "Every window starts flat on bars the agent has not seen; their returns are chained, starting at 100.",
        ],
    }
}

/// JSON that cannot end the script element it stands in.
fn embed(data: &Data<'_>) -> Result<String> {
    let json = serde_json::to_string(data).context("the curves as JSON")?;
    Ok(json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"))
}

/// The symbol, or else the (first) file's name.
fn instrument(report: &RunReport) -> String {
    let name = || {
        let files = &report.data.files;
        let path = files.first().map_or(&report.data.path, |file| &file.path);
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        if files.len() > 1 { format!("{name} and {} more", files.len() - 1) } else { name.to_owned() }
    };
    report.data.symbol.clone().filter(|s| !s.is_empty()).unwrap_or_else(name)
}

fn period(report: &RunReport) -> String {
    let windows = &report.report.windows;
    match (windows.first(), windows.last()) {
        (Some(first), Some(last)) => format!("{} to {}", format::date(first.first_ts), format::date(last.last_ts)),
        _ => "no window".into(),
    }
}

fn cards(report: &RunReport) -> Vec<Card> {
    let (eval, pooled, hold) = (&report.report, &report.report.pooled, &report.report.benchmark);
    let card = |name, value, note, tone| Card { name, value, note, tone };
    let change = |v| signed(v, percent(v, 1));
    let excess = pooled.total_return.zip(hold.total_return).map(|(a, b)| a - b);
    let excess_tone = format::tone(excess.filter(|e| e.abs() >= 5e-4));
    let points = signed(excess, format::number(excess.map(|e| e * 100.0), 1));
    let trials = match eval.n_trials {
        0 | 1 => "true Sharpe > 0; one trial".to_owned(),
        n => format!("deflated for {}", counted(n, "trial")),
    };
    let underwater = pooled.max_drawdown.map(|d| -d);
    vec![
        card(
            "Sharpe",
            format::number(pooled.sharpe, 2),
            format!("holding {}", format::number(hold.sharpe, 2)),
            format::tone(pooled.sharpe),
        ),
        card(
            "Return",
            change(pooled.total_return),
            format!("holding {}", change(hold.total_return)),
            format::tone(pooled.total_return),
        ),
        card("CAGR", change(pooled.cagr), format!("holding {}", change(hold.cagr)), format::tone(pooled.cagr)),
        card(
            "Max drawdown",
            percent(underwater, 1),
            format!("holding {}", percent(hold.max_drawdown.map(|d| -d), 1)),
            "",
        ),
        card(
            "Deflated Sharpe",
            eval.dsr.or(eval.psr).map_or_else(|| format::UNDEFINED.into(), verdict::chance),
            trials,
            "",
        ),
        card(
            "Trades",
            count(pooled.n_trades),
            pooled.win_rate.map_or_else(|| "none closed".into(), |rate| format!("{} won", percent(Some(rate), 0))),
            "",
        ),
        card("Against holding", format!("{points} pp"), format!("alpha {} a year", change(pooled.alpha)), excess_tone),
    ]
}

fn chart_notes(report: &RunReport) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(window) = report.report.windows.iter().find(|w| w.metrics.ruined) {
        notes.push(format!("The account was ruined in window {}.", window.index));
    }
    let n_bars = report.curves.iter().map(|c| c.thinned_from.unwrap_or(c.ts.len())).sum::<usize>();
    if n_bars > chain::MAX_POINTS {
        notes.push(format!(
            "Of {} the curves keep every stretch's first, last, lowest and highest.",
            counted(n_bars, "bar")
        ));
    }
    if report.is_thinned() {
        notes.push(
            "Drawn from report.json, which keeps no more of a run as long; equity.csv and trades.csv hold all.".into(),
        );
    }
    notes
}

fn trades_hint(n_trades: usize, n_windows: usize) -> String {
    let mut text = format!("{}, net of every cost, in UTC.", counted(n_trades, "closed trade"));
    if n_windows > 1 {
        text.push_str(" Every window began with the same cash, so P&L compares across windows.");
    }
    if n_trades > MAX_TRADES {
        let half = count(MAX_TRADES / 2);
        text.push_str(&format!(
            " Listed and marked are the {half} best and the {half} worst; trades.csv holds them all."
        ));
    }
    text
}

fn histogram_text(histogram: &Histogram) -> String {
    let mut text = format!("{} that are not zero.", counted(histogram.counts.iter().sum(), "bar return"));
    if histogram.n_zero > 0 {
        text.push_str(&format!(" Left out: {} of exactly zero, flat as a rule.", counted(histogram.n_zero, "return")));
    }
    if histogram.below + histogram.above > 0 {
        text.push_str(" The outermost columns also hold what lies beyond.");
    }
    text
}

fn provenance(report: &RunReport) -> Vec<Fact> {
    let data = &report.data;
    let span = format!(
        "{} to {}",
        format::moment(data.first_ts, data.interval_ns),
        format::moment(data.last_ts, data.interval_ns)
    );
    let trained = report.curves.iter().filter_map(|c| c.train_first_ts.zip(c.train_last_ts));
    let mut facts = vec![
        Fact::code("Data", data.path.as_str()),
        Fact::code("SHA-256", data.sha256.as_str()),
        Fact::new("Bars", format!("{} of {}, {span} UTC", count(data.n_bars), format::interval(data.interval_ns))),
        Fact::new("Annualised by", format!("{} bars a year", format::number(Some(data.periods_per_year), 0))),
        Fact::new("Seed, device", format!("{}, {}", report.seed, report.device)),
        Fact::new("Version", format!("gigabar {}, {}", report.version, report.created)),
    ];
    let ranges: Vec<String> = trained.map(|(a, b)| format!("{} to {}", format::date(a), format::date(b))).collect();
    facts.extend(report.sweep.as_ref().map(sweep::provenance));
    if !ranges.is_empty() {
        let name = if report.choices.is_some() { "Chosen on" } else { "Trained on" };
        facts.insert(3, Fact::new(name, ranges.join("; ")));
    }
    facts
}
