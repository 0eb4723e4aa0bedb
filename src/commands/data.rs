//! `gigabar data`: look at a file of bars, or make one.

use gigabar_market::check::{self, DataReport, Example, Order};
use gigabar_market::load::load_files;
use gigabar_market::synth::{PlantedConfig, RandomWalkConfig, planted, random_walk};
use gigabar_market::time::interval;
use gigabar_market::write;
use std::io;

use crate::args::{DataCheckArgs, DataConvertArgs, DataSynthArgs, SynthKind};
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::failure::hinted;
use crate::printer::Printer;
use crate::setup;

/// Hourly bars from 2020 on; not many more have time stamps of 64-bit nanoseconds.
const MOST_BARS: usize = 2_000_000;

/// A file that would not load is shown all the same, and is an error.
pub(crate) fn check(args: &DataCheckArgs, printer: Printer) -> anyhow::Result<()> {
    let config = RunConfig::resolve(&setup::overrides(None, &args.data)?)?;
    let mut reports: Vec<DataReport> = Vec::new();
    for path in &args.files {
        reports.extend(check::check(path, &config.data)?);
    }
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
        Some((refusal, None)) => Err(anyhow::anyhow!(refusal)),
    }
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
    let a_year = report.periods_per_year.map_or_else(|| "–".into(), |n| format!("{}", (n * 100.0).round() / 100.0));
    let market = if report.always_open { "open at weekends" } else { "with sessions" };
    out.push_str(&format!("interval    {}, {a_year} bars a year, {market}\n", interval(report.interval_ns)));
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
    push_examples(&mut out, gaps.count, &gaps.examples);
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
        push_examples(&mut out, finding.count, &finding.examples);
    }
    out.push_str(if report.loads { "\nloads       yes" } else { "\nloads       no" });
    out
}

fn push_examples(out: &mut String, count: usize, examples: &[Example]) {
    for example in examples {
        out.push_str(&format!("{:>10}line {}: {}\n", "", example.line, example.text));
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
    if args.bars > MOST_BARS {
        return Err(hinted(format!("--bars {}: at most {MOST_BARS}", args.bars), "the calendar ends in the year 2262"));
    }
    let bars = match args.kind {
        SynthKind::RandomWalk => random_walk(args.bars, args.seed, &RandomWalkConfig::default())?,
        SynthKind::Planted => planted(args.bars, args.seed, &PlantedConfig::default())?,
    };
    match &args.out {
        None => write::csv(io::stdout().lock(), &bars)?,
        Some(path) => {
            write::write(path, &bars)?;
            printer.say(format_args!("{}: {} bars", path.display(), bars.len()));
        }
    }
    Ok(())
}

pub(crate) fn convert(args: &DataConvertArgs, printer: Printer) -> anyhow::Result<()> {
    // A name that says nothing should fail before a long file is read.
    write::Format::of(&args.out)?;
    let config = RunConfig::resolve(&setup::overrides(None, &args.data)?)?;
    let dataset = Dataset::load(&args.files, &config.data, printer)?;
    write::write(&args.out, &dataset.bars)?;
    printer.say(format_args!("{}: {} bars", args.out.display(), dataset.bars.len()));
    Ok(())
}
