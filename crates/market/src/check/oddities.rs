//! What no single row shows: jumps, spikes, runs of equal bars and closes, hours of trading, days that lack.

use jiff::tz::TimeZone;

use super::hours::{Hours, hours};
use super::series::Series;
use super::{DataReport, weekdays};
use crate::jumps::{SUSPICIOUS_Z, jumps, median};
use crate::load::LoadOptions;
use crate::time::{day, iso};

/// Equal bars in a row that make a run stale.
const STALE_BARS: usize = 5;
/// Equal closes in a row that are frozen, where the opens move.
const FROZEN_BARS: usize = 10;
/// Usual ranges that make a high or a low beyond open and close a spike.
const SPIKE_RANGES: f64 = 15.0;
/// Bars on either side that show what range is usual.
const AROUND: usize = 10;
/// How the layout of files ends whose stamps are instants.
const INSTANTS: &str = "stamps are UTC instants";

/// Adds to the report what the bars of one symbol show together.
pub(super) fn find(series: &Series, options: &LoadOptions, report: &mut DataReport) {
    let c = &series.columns;
    for jump in jumps(c, SUSPICIOUS_Z) {
        let stamp = c.ts[jump.row];
        if let Some((new, old)) = jump.split {
            report.likely_splits.push(format!("{} {new}:{old}", day(stamp)));
        }
        report.jumps.add(series.lines[jump.row], || {
            let split = jump.split.map(|(new, old)| format!(", like a {new}:{old} split")).unwrap_or_default();
            format!("{} close {} after {}, z {:.0}{split}", iso(stamp), jump.close, jump.before, jump.z)
        });
    }
    spikes(series, report);
    stale(series, report);
    frozen(series, report);
    let zone = options.tz.as_deref().and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    weekdays::find(series, &zone, report);
    report.hours = hours(&c.ts, report.interval_ns, &zone);
    // Stamps without a zone would be read anew in one; instants only get another clock.
    if options.tz.is_none() && report.dialect.ends_with(INSTANTS) {
        report.suggestions.extend(better_clock(&c.ts, report));
    }
}

/// A zone in whose clock the hours of trading are far more regular than in UTC: they move with its summer time.
fn better_clock(ts: &[i64], report: &DataReport) -> Option<String> {
    let irregular = |hours: &Hours| hours.missing_bars + hours.unusual_bars;
    let now = irregular(report.hours.as_ref()?);
    let of = |name: &'static str| {
        let zone = TimeZone::get(name).ok()?;
        Some((irregular(&hours(ts, report.interval_ns, &zone)?), name))
    };
    let (best, name) = ["America/New_York", "Europe/Berlin"].into_iter().filter_map(of).min()?;
    (now > 0 && 4 * best < now)
        .then(|| format!("--tz {name}: hours of trading move with its summer time; --resample and --from follow --tz"))
}

/// A high or a low that open, close and the ranges of the bars around know nothing of: a wrong digit, a lost decimal.
fn spikes(series: &Series, report: &mut DataReport) {
    let range = |row: usize| {
        let [_, high, low, _] = series.prices(row);
        (high / low).ln()
    };
    let ranges: Vec<f64> = (0..series.len()).map(range).collect();
    let usual =
        |ranges: &[f64]| median(&mut ranges.iter().copied().filter(|r| r.is_finite() && *r > 0.0).collect::<Vec<_>>());
    let Some(of_all) = usual(&ranges) else { return };
    for row in 0..series.len() {
        let [open, high, low, close] = series.prices(row);
        let (above, below) = ((high / open.max(close)).ln(), (open.min(close) / low).ln());
        let wick = above.max(below);
        if !(wick.is_finite() && wick > SPIKE_RANGES * of_all) {
            continue;
        }
        let around = [&ranges[row.saturating_sub(AROUND)..row], &ranges[row + 1..series.len().min(row + 1 + AROUND)]];
        if usual(&around.concat()).is_none_or(|usual| wick > SPIKE_RANGES * usual) {
            let (name, value) = if above > below { ("high", high) } else { ("low", low) };
            let stamp = iso(series.columns.ts[row]);
            report.spikes.add(series.lines[row], || format!("{stamp} {name} {value}, open {open}, close {close}"));
        }
    }
}

fn stale(series: &Series, report: &mut DataReport) {
    let rows: Vec<usize> = (0..series.len()).collect();
    for run in rows.chunk_by(|&a, &b| series.prices(a) == series.prices(b)).filter(|run| run.len() >= STALE_BARS) {
        report.longest_stale_run = report.longest_stale_run.max(run.len());
        report.stale.add(series.lines[run[0]], || span(series, run, "equal bars"));
    }
}

/// Closes that stand while opens move; where prices move by coarse steps, opens stand with them.
fn frozen(series: &Series, report: &mut DataReport) {
    let c = &series.columns;
    let rows: Vec<usize> = (0..series.len()).collect();
    for run in rows.chunk_by(|&a, &b| c.close[a] == c.close[b]).filter(|run| run.len() >= FROZEN_BARS) {
        let mut opens: Vec<u64> = run.iter().map(|&row| c.open[row].to_bits()).collect();
        opens.sort_unstable();
        opens.dedup();
        if 2 * opens.len() >= run.len() {
            report.frozen.add(series.lines[run[0]], || span(series, run, &format!("closes of {}", c.close[run[0]])));
        }
    }
}

fn span(series: &Series, run: &[usize], what: &str) -> String {
    let stamp = |at: Option<&usize>| at.map(|&row| iso(series.columns.ts[row])).unwrap_or_default();
    format!("{} {what}, {} to {}", run.len(), stamp(run.first()), stamp(run.last()))
}
