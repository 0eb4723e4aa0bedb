//! `gigabar data`: look at a file of bars, or make one.

use std::io::{self, Write};
use std::path::Path;

use crate::args::{DataCheckArgs, DataConvertArgs, DataSynthArgs, SynthKind, SynthSession};
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::failure::{self, hinted};
use crate::printer::Printer;
use crate::setup;
use anyhow::{Context, anyhow};
use gigabar::report::{check_page, check_text};
use gigabar_market::Bars;
use gigabar_market::check::{DataReport, check_files};
use gigabar_market::resample::length_ns;
use gigabar_market::synth::{MarketConfig, PlantedConfig, RandomWalkConfig, Session, market, planted, random_walk};
use gigabar_market::time::iso;
use gigabar_market::whole::Unfinished;
use gigabar_market::write::{self, Target, WriteError};
use serde::Serialize;

/// Hourly bars from 2020 on; not many more have time stamps of 64-bit nanoseconds.
const MOST_BARS: usize = 2_000_000;
/// Of a market, whose bars may be seconds: 5 GB of memory.
const MOST_MARKET_BARS: usize = 50_000_000;

/// A file that would not load is shown all the same, and is an error.
pub(crate) fn check(args: &DataCheckArgs, printer: Printer) -> anyhow::Result<()> {
    let looked = || {
        // A place that cannot be written should fail before a long file is read.
        let page = args.html.as_deref().map(begin_page).transpose()?;
        let config = RunConfig::resolve(&setup::overrides(None, &args.data)?)?;
        let (files, apart) = check_files(&args.files, &config.data);
        if let Some((path, mut file)) = args.html.as_deref().zip(page) {
            file.write_all(check_page::render(&files, config.data.tz.as_deref()).as_bytes())
                .and_then(|()| file.keep())
                .map_err(|error| unwritten(path, error))?;
            printer.say(format_args!("page: {}", path.display()));
        }
        anyhow::Ok((files, apart))
    };
    let (files, apart) = told(looked(), printer)?;
    let reports: Vec<DataReport> = files.into_iter().map(|file| file.report).collect();
    if !printer.is_json() {
        let texts: Vec<String> = reports.iter().map(check_text::render).collect();
        printer.data(texts.join("\n\n").trim_end())?;
    } else if let [report] = reports.as_slice() {
        printer.data_json(report)?;
    } else {
        printer.data_json(&reports)?;
    }
    let refusal = reports.into_iter().find_map(|report| Some((report.refusal?, report.hint)));
    match (refusal, apart) {
        (None, None) => Ok(()),
        (None, Some(apart)) => Err(apart.into()),
        (Some((refusal, Some(hint))), _) => Err(hinted(refusal, hint)),
        (Some((refusal, None)), _) => Err(anyhow!(refusal)),
    }
}

/// Begun before a long file is read; it never replaces a file.
fn begin_page(page: &Path) -> anyhow::Result<Unfinished> {
    Unfinished::begin_new(page).map_err(|error| unwritten(page, error))
}

/// Why a page was not written, and what to do about it.
fn unwritten(page: &Path, error: io::Error) -> anyhow::Error {
    let path = page.to_owned();
    match error.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists { path }.into(),
        io::ErrorKind::ResourceBusy => WriteError::Busy { path }.into(),
        _ => WriteError::Io { path, source: error }.into(),
    }
}

/// With `--json` an error is an object on stdout too: `{"error": …, "hint": …}`.
fn told<T>(result: anyhow::Result<T>, printer: Printer) -> anyhow::Result<T> {
    if let Err(error) = &result
        && printer.is_json()
    {
        let (error, hint) = failure::told(error);
        printer.data_json(&Failed { error, hint })?;
    }
    result
}

#[derive(Serialize)]
struct Failed {
    error: String,
    hint: Option<String>,
}

/// What was written, with `--json`.
#[derive(Serialize)]
struct Written<'a> {
    path: String,
    bars: usize,
    symbol: Option<&'a str>,
    /// First and last stamp.
    first: String,
    last: String,
    interval_ns: i64,
    /// What was decided or mended when the bars were read.
    notes: &'a [String],
}

fn say_written(path: &Path, bars: &Bars, notes: &[String], printer: Printer) -> anyhow::Result<()> {
    printer.say(format_args!("{}: {} bars", path.display(), bars.len()));
    if !printer.is_json() {
        return Ok(());
    }
    let stamp = |ts: Option<&i64>| ts.copied().map(iso).unwrap_or_default();
    printer.data_json(&Written {
        path: path.display().to_string(),
        bars: bars.len(),
        symbol: bars.symbol(),
        first: stamp(bars.ts().first()),
        last: stamp(bars.ts().last()),
        interval_ns: bars.interval_ns(),
        notes,
    })
}

pub(crate) fn synth(args: &DataSynthArgs, printer: Printer) -> anyhow::Result<()> {
    let (bars, out) = told(made(args, printer), printer)?;
    match out.zip(args.out.as_ref()) {
        None => Ok(write::csv(io::stdout().lock(), &bars)?),
        Some((out, path)) => {
            told(out.write(&bars).map_err(Into::into), printer)?;
            say_written(path, &bars, &[], printer)
        }
    }
}

/// The bars, and the file they are for, which a place that cannot be written refuses before they are made.
fn made(args: &DataSynthArgs, printer: Printer) -> anyhow::Result<(Bars, Option<Target>)> {
    if printer.is_json() && args.out.is_none() {
        return Err(hinted(
            "without --out the bars themselves go to stdout, as CSV",
            "leave --json out, or give --out",
        ));
    }
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
    Ok((bars, out))
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
    let converted = || {
        // A place that cannot be written should fail before a long file is read.
        let out = Target::create(&args.out)?;
        let config = RunConfig::resolve(&setup::overrides(None, &args.data)?)?;
        let dataset = Dataset::load(&args.files, &config.data, printer)?;
        out.write(&dataset.bars)?;
        anyhow::Ok(dataset)
    };
    let dataset = told(converted(), printer)?;
    say_written(&args.out, &dataset.bars, &dataset.summary.notes, printer)
}
