//! `gigabar data`: look at a file of bars, or make one.

use std::io::{self, Write};
use std::path::Path;

use crate::args::{DataCheckArgs, DataConvertArgs, DataSynthArgs, SynthKind, SynthSession};
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::failure::hinted;
use crate::printer::Printer;
use crate::setup;
use anyhow::{Context, anyhow};
use gigabar::report::check_page::{self, Section};
use gigabar_market::check::{self, DataReport, Example, Order};
use gigabar_market::load::{load, load_files};
use gigabar_market::resample::length_ns;
use gigabar_market::synth::{MarketConfig, PlantedConfig, RandomWalkConfig, Session, market, planted, random_walk};
use gigabar_market::time::interval;
use gigabar_market::whole::Unfinished;
use gigabar_market::write::{self, Target};

/// Hourly bars from 2020 on; not many more have time stamps of 64-bit nanoseconds.
const MOST_BARS: usize = 2_000_000;
/// Of a market, whose bars may be seconds: 5 GB of memory.
const MOST_MARKET_BARS: usize = 50_000_000;

/// A file that would not load is shown all the same, and is an error.
pub(crate) fn check(args: &DataCheckArgs, printer: Printer) -> anyhow::Result<()> {
    let config = RunConfig::resolve(&setup::overrides(None, &args.data)?)?;
    let page = args.html.as_deref().map(begin_page).transpose()?;
    let mut by_file: Vec<Vec<DataReport>> = Vec::new();
    for path in &args.files {
        by_file.push(check::check(path, &config.data)?);
    }
    if let Some((page, file)) = args.html.as_deref().zip(page) {
        write_page(file, args, &config, &by_file).with_context(|| page.display().to_string())?;
        printer.say(format_args!("page: {}", page.display()));
    }
    let reports: Vec<DataReport> = by_file.into_iter().flatten().collect();
    if !printer.is_json() {
        let texts: Vec<String> = reports.iter().map(text).collect();
        printer.data(texts.join("\n\n").trim_end())?;
    } else if let [report] = reports.as_slice() {
        printer.data_json(report)?;
    } else {
        printer.data_json(&reports)?;
    }
    let refusal = reports.into_iter().find_map(|report| Some((report.refusal?, report.hint)));
    match refusal {
        None if args.files.len() > 1 => load_files(&args.files, &config.data).map(|_| ()).map_err(Into::into),
        None => Ok(()),
        Some((refusal, Some(hint))) => Err(hinted(refusal, hint)),
        Some((refusal, None)) => Err(anyhow!(refusal)),
    }
}

/// Begun before a long file is read; it never replaces a file.
fn begin_page(page: &Path) -> anyhow::Result<Unfinished> {
    Unfinished::begin_new(page).with_context(|| format!("{}: cannot be created", page.display()))
}

fn write_page(
    mut file: Unfinished,
    args: &DataCheckArgs,
    config: &RunConfig,
    by_file: &[Vec<DataReport>],
) -> anyhow::Result<()> {
    let mut sections = Vec::new();
    for (path, reports) in args.files.iter().zip(by_file) {
        // What does not load has a report that says why, and no plots.
        let mut bars = load(path, &config.data).ok().map(|loaded| loaded.bars);
        sections.extend(reports.iter().map(|report| Section { report, bars: bars.take() }));
    }
    file.write_all(check_page::render(&sections).as_bytes())?;
    Ok(file.keep()?)
}

/// The report for people: what the file is, then every finding with its first lines.
fn text(report: &DataReport) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".into());
    let mut out = format!(
        "file        {}\nsha256      {}\nlayout      {}\nrows        {}, {}\nfrom        {}\nto          {}\n",
        report.path,
        report.sha256,
        report.dialect,
        report.rows,
        order(report.order),
        or_none(&report.first),
        or_none(&report.last),
    );
    let market = if report.always_open { "open at weekends" } else { "with sessions" };
    out.push_str(&format!("interval    {}, {market}\n", report.pace()));
    out.push_str(&format!("volume      {}\n", if report.has_volume { "yes" } else { "none" }));
    if !report.symbols.is_empty() {
        out.push_str(&format!("symbols     {}\n", report.symbols.join(", ")));
    }
    for note in &report.notes {
        out.push_str(&format!("note        {note}\n"));
    }
    out.push('\n');
    let gaps = &report.gaps;
    out.push_str(&format!(
        "{:>8}  gaps, {} bars missing, the longest {}\n",
        gaps.count,
        gaps.missing_bars,
        interval(gaps.longest_ns)
    ));
    push_examples(&mut out, report.counted, gaps.count, &gaps.examples);
    let findings = [
        ("duplicate stamps", &report.duplicates),
        ("rows out of order", &report.unsorted),
        ("rows without a price", &report.missing_prices),
        ("rows without a volume", &report.missing_volumes),
        ("rows that cannot be read", &report.unreadable),
        ("rows whose open or close lies outside low to high", &report.ohlc_violations),
        ("rows with a price of zero or below", &report.non_positive_prices),
        ("rows with a negative volume", &report.negative_volumes),
        ("rows without trades (volume 0)", &report.zero_volume),
        ("flat bars (open = high = low = close)", &report.flat),
    ];
    for (name, finding) in findings {
        out.push_str(&format!("{:>8}  {name}\n", finding.count));
        push_examples(&mut out, report.counted, finding.count, &finding.examples);
    }
    let odd =
        [("jumps of 15 robust deviations or more", &report.jumps), ("runs of five or more equal bars", &report.stale)];
    for (name, finding) in odd {
        out.push_str(&format!("{:>8}  {name}\n", finding.count));
        push_examples(&mut out, report.counted, finding.count, &finding.examples);
    }
    if let Some(hours) = &report.hours {
        out.push_str(&format!(
            "\nhours       {} to {} {}: {} bars missing inside them, {} days of trading without any, {} bars outside\n",
            hours.from, hours.to, hours.zone, hours.missing_bars, hours.days_without_bars, hours.unusual_bars
        ));
        for (day, n) in &hours.worst_days {
            out.push_str(&format!("{:>10}{day}: {n} missing\n", ""));
        }
    }
    if !report.suggestions.is_empty() {
        out.push('\n');
    }
    for suggestion in &report.suggestions {
        out.push_str(&format!("try         {suggestion}\n"));
    }
    out.push_str(if report.loads { "\nloads       yes" } else { "\nloads       no" });
    out
}

fn push_examples(out: &mut String, counted: &str, count: usize, examples: &[Example]) {
    for example in examples {
        out.push_str(&format!("{:>10}{counted} {}: {}\n", "", example.line, example.text));
    }
    if count > examples.len() && !examples.is_empty() {
        out.push_str(&format!("{:>10}… and {} more\n", "", count - examples.len()));
    }
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Ascending => "oldest first",
        Order::Descending => "newest first",
        Order::Grouped => "grouped by symbol",
        Order::Unsorted => "in no order",
    }
}

pub(crate) fn synth(args: &DataSynthArgs, printer: Printer) -> anyhow::Result<()> {
    let for_market = args.session.is_some() || args.interval.is_some() || args.config.is_some();
    if args.kind != SynthKind::Market && for_market {
        let message = "--session, --interval and --config are of `market`";
        return Err(hinted(message, "gigabar data synth market --session us"));
    }
    if args.bars > MOST_MARKET_BARS {
        return Err(hinted(format!("--bars {}: at most {MOST_MARKET_BARS}", args.bars), "all bars are made in memory"));
    }
    if args.kind != SynthKind::Market && args.bars > MOST_BARS {
        return Err(hinted(format!("--bars {}: at most {MOST_BARS}", args.bars), "the calendar ends in the year 2262"));
    }
    let out = args.out.as_deref().map(Target::create).transpose()?;
    let bars = match args.kind {
        SynthKind::RandomWalk => random_walk(args.bars, args.seed, &RandomWalkConfig::default())?,
        SynthKind::Planted => planted(args.bars, args.seed, &PlantedConfig::default())?,
        SynthKind::Market => market(args.bars, args.seed, &market_config(args)?)?.bars,
    };
    match out.zip(args.out.as_ref()) {
        None => write::csv(io::stdout().lock(), &bars)?,
        Some((out, path)) => {
            out.write(&bars)?;
            printer.say(format_args!("{}: {} bars", path.display(), bars.len()));
        }
    }
    Ok(())
}

/// The file's parameters, and over them the flags'.
fn market_config(args: &DataSynthArgs) -> anyhow::Result<MarketConfig> {
    let mut config = match &args.config {
        None => MarketConfig::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
            toml::from_str(&text).with_context(|| path.display().to_string())?
        }
    };
    if let Some(session) = args.session {
        config.session = match session {
            SynthSession::Us => Session::Us,
            SynthSession::Always => Session::Always,
        };
    }
    if let Some(interval) = &args.interval {
        config.interval_ns = length_ns(interval).map_err(|why| anyhow!("--interval: {why}"))?;
    } else if args.config.is_none() && config.session == Session::Us {
        config.interval_ns = length_ns("30min").map_err(|why| anyhow!(why))?;
    }
    Ok(config)
}

pub(crate) fn convert(args: &DataConvertArgs, printer: Printer) -> anyhow::Result<()> {
    // A place that cannot be written should fail before a long file is read.
    let out = Target::create(&args.out)?;
    let config = RunConfig::resolve(&setup::overrides(None, &args.data)?)?;
    let dataset = Dataset::load(&args.files, &config.data, printer)?;
    out.write(&dataset.bars)?;
    printer.say(format_args!("{}: {} bars", args.out.display(), dataset.bars.len()));
    Ok(())
}
