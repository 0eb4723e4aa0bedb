//! From the command line to settings: the layers, the device, what the run calls itself.

use std::ops::Range;
use std::path::Path;

use anyhow::bail;
use gigabar::report::DataSummary;
use gigabar_backtest::SimConfig;
use jiff::Timestamp;

use crate::args::{ConfigArgs, DataArgs};
use crate::config::{self, Override, RunConfig};
use crate::dataset::Dataset;
use crate::failure::hinted;
use crate::printer::Printer;
use crate::run_folder::{RunFolder, RunInfo};

/// The layers above the defaults, in order.
pub(crate) fn overrides(config: Option<&ConfigArgs>, data: &DataArgs) -> anyhow::Result<Vec<Override>> {
    let mut all = Vec::new();
    if let Some(path) = config.and_then(|args| args.config.as_ref()) {
        all.extend(config::file(path)?);
    }
    all.extend(config::environment(std::env::vars_os()));
    if let Some(args) = config {
        for text in &args.set {
            all.push(config::set(text)?);
        }
        if let Some(seed) = args.seed {
            all.push(count_flag("--seed", "seed", seed)?);
        }
    }
    let text = [
        ("--symbol", "data.symbol", &data.symbol),
        ("--columns", "data.columns", &data.columns),
        ("--tz", "data.tz", &data.tz),
        ("--date-order", "data.date_order", &data.date_order),
        ("--from", "data.from", &data.from),
        ("--to", "data.to", &data.to),
        ("--resample", "data.resample", &data.resample),
    ];
    for (name, key, value) in text {
        all.extend(value.as_ref().map(|value| config::flag(name, key, value.as_str())));
    }
    for (name, key, given) in [("--repair", "data.repair", data.repair), ("--adjust", "data.adjust", data.adjust)] {
        if given {
            all.push(config::flag(name, key, true));
        }
    }
    all.extend(data.price_divisor.map(|n| config::flag("--price-divisor", "data.price_divisor", n)));
    Ok(all)
}

/// A flag whose setting is a whole number.
pub(crate) fn count_flag(name: &'static str, key: &str, value: u64) -> anyhow::Result<Override> {
    let Ok(value) = i64::try_from(value) else { bail!("{name} {value}: at most {}", i64::MAX) };
    Ok(config::flag(name, key, value))
}

/// The resolved settings; warns of those that change nothing on `verb`, which does not read the keys and tables
/// `unread`.
pub(crate) fn settings(
    verb: &str,
    unread: &[&str],
    overrides: &[Override],
    printer: Printer,
) -> anyhow::Result<RunConfig> {
    let settings = RunConfig::resolve(overrides)?;
    for line in config::without_effect(overrides, &settings, verb, unread)? {
        printer.warn(line);
    }
    for line in config::turned_on(overrides, &settings, unread)? {
        printer.say(format_args!("note: {line}"));
    }
    if !unread.contains(&"dqn") {
        leverage("dqn.levels", &settings.dqn.levels, &settings.sim).into_iter().for_each(|line| printer.warn(line));
    }
    Ok(settings)
}

/// What to say of levels beyond ±1, which are more than all of the position that is allowed: often percents or units
/// taken for levels.
pub(crate) fn leverage(source: &str, levels: &[f64], sim: &SimConfig) -> Option<String> {
    let largest = levels.iter().map(|level| level.abs()).filter(|level| level.is_finite()).fold(0.0, f64::max);
    // Rounding is no leverage.
    (largest > 1.0 + 1e-9).then(|| {
        format!(
            "{source}: levels up to {largest}: exposure of {} times the equity (levels are multiplied by sim.max_position)",
            largest * sim.max_position
        )
    })
}

/// What a new run records about itself.
pub(crate) fn run_info(verb: &str, policy: &str, device: &str, data: &DataSummary) -> RunInfo {
    RunInfo {
        verb: verb.into(),
        command: command_line(),
        policy: policy.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        created: now(),
        device: device.into(),
        resumed_on: Vec::new(),
        data: data.path.clone(),
        data_sha256: data.sha256.clone(),
        data_files: data.files.clone(),
        train_bars: None,
    }
}

/// Now, in UTC, to the second.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The command as typed, the program by its name alone.
fn command_line() -> String {
    let quoted = |text: String| {
        let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_=+./:,@%".contains(c));
        if plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
    };
    let args = std::env::args_os().skip(1).map(|arg| quoted(arg.to_string_lossy().into_owned()));
    std::iter::once("gigabar".to_owned()).chain(args).collect::<Vec<_>>().join(" ")
}

/// A run to go on with: its folder, settings and origin, once nothing contradicts them.
pub(crate) fn resume(
    run: &Path,
    verb: &str,
    overrides: &[Override],
) -> anyhow::Result<(RunFolder, RunConfig, RunInfo)> {
    let folder = RunFolder::open_to_write(run)?;
    let (saved, info) = folder.settings()?;
    if info.verb != verb {
        let hint = match info.verb.as_str() {
            "walkforward" | "train dqn" => format!("gigabar {} --resume {}", info.verb, run.display()),
            _ => "only training runs can be continued".to_owned(),
        };
        return Err(hinted(format!("{} is a run of `{}`", run.display(), info.verb), hint));
    }
    let given = saved.overridden(overrides)?;
    if let Some((key, saved, given)) = saved.first_difference(&given)? {
        return Err(hinted(
            format!("{}: the run was started with {key} = {saved}, now {key} = {given}", run.display()),
            "resume without that setting, or start a new run",
        ));
    }
    Ok((folder, saved, info))
}

/// The data of a resumed run must be the data it was started with.
pub(crate) fn check_same_data(dataset: &Dataset, info: &RunInfo) -> anyhow::Result<()> {
    let (now, then) = (&dataset.summary.sha256, &info.data_sha256);
    if now == then {
        return Ok(());
    }
    Err(hinted(
        format!("{}: the data has changed: SHA-256 {now}, the run was started on {then}", dataset.summary.path),
        "give the file the run was started on, or start a new run",
    ))
}

/// Cuts bars into `n` windows of about the same length.
pub(crate) fn cut(bars: Range<usize>, n: usize) -> anyhow::Result<Vec<Range<usize>>> {
    if n == 0 || bars.len() / n < 2 {
        return Err(hinted(
            format!("--windows {n}: {} bars cannot be cut into windows of at least 2 bars", bars.len()),
            "use fewer windows, or more bars",
        ));
    }
    let edge = |i: usize| bars.start + bars.len() * i / n;
    Ok((0..n).map(|i| edge(i)..edge(i + 1)).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]
    use super::*;

    #[test]
    fn levels_beyond_one_are_told_with_their_exposure() {
        let sim = |max_position| SimConfig { max_position, ..SimConfig::default() };
        assert_eq!(leverage("x", &[-1.0, 0.5, f64::NAN, f64::INFINITY, 1.000_000_000_000_000_2], &sim(2.0)), None);
        let want = "x: levels up to 5: exposure of 5 times the equity (levels are multiplied by sim.max_position)";
        assert_eq!(leverage("x", &[1.0, -5.0], &sim(1.0)).as_deref(), Some(want));
        assert!(leverage("x", &[1.5], &sim(0.5)).unwrap().contains("exposure of 0.75 times"));
    }

    #[test]
    fn windows_cover_all_bars_once() {
        assert_eq!(cut(10..20, 1).unwrap(), [10..20]);
        assert_eq!(cut(0..7, 3).unwrap(), [0..2, 2..4, 4..7]);
        assert!(cut(0..7, 4).is_err() && cut(0..7, 0).is_err());
    }
}
