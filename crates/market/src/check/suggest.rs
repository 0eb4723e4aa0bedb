//! The flags that would mend what was found.

use super::{DataReport, Finding};
use crate::load::table::Table;
use crate::load::{LoadOptions, Place, order};
use crate::time::DAY_NS;

/// The flags that would mend what was found.
pub(super) fn suggestions(table: &Table, options: &LoadOptions, report: &DataReport) -> Vec<String> {
    let mut out = Vec::new();
    let count = |f: &Finding| f.count;
    if table.symbols.len() > 1 && options.symbol.is_none() {
        out.push("--symbol NAME takes one of the symbols".to_owned());
    }
    let better = order::better(table);
    if let Some(columns) = &better {
        out.push(format!("--columns {columns}: in that order hardly a bar has open or close outside low to high"));
    }
    let mendable = [
        (count(&report.unreadable), "drops rows that cannot be read"),
        (count(&report.missing_prices) + count(&report.non_positive_prices), "drops rows without a price above zero"),
        (count(&report.missing_volumes) + count(&report.negative_volumes), "sets such volumes to 0"),
        (count(&report.unsorted), "sorts by time"),
        (count(&report.duplicates), "keeps the last row of each stamp"),
        (
            if better.is_some() { 0 } else { count(&report.ohlc_violations) },
            "widens high and low to contain open and close",
        ),
    ];
    let does: Vec<&str> = mendable.iter().filter(|(n, _)| *n > 0).map(|(_, does)| *does).collect();
    if !does.is_empty() && !options.repair {
        out.push(format!("--repair {}", does.join(", ")));
    }
    if !report.likely_splits.is_empty() && !options.adjust {
        let fetch = "fetch adjusted prices, or cut at the splits with --from and --to";
        out.push(match &table.adjusted {
            Some(adjusted) if takes_out(adjusted, &table.columns.close) => {
                "--adjust takes the splits out, with the file's adjusted closes".to_owned()
            }
            Some(_) => format!("prices carry splits, and so do the file's adjusted closes: {fetch}"),
            None => format!("prices carry splits and the file has no adjusted closes: {fetch}"),
        });
    }
    out.extend(odd_bars(report));
    let intraday = report.interval_ns > 0 && report.interval_ns < DAY_NS;
    if intraday && options.tz.is_none() && report.dialect.ends_with("read as UTC") {
        out.push("--tz ZONE, if the stamps are not UTC: the file does not say".to_owned());
    }
    let c = &table.columns;
    let whole = |p: &f64| p.fract() == 0.0 && *p >= 10_000.0;
    let fixed = matches!((table.place)(0), Place::Record(_));
    if options.price_divisor.is_none() && !fixed && !c.close.is_empty() && c.close.iter().chain(&c.open).all(whole) {
        out.push("--price-divisor 10000, if the prices are whole numbers of a ten-thousandth".to_owned());
    }
    out
}

/// What no flag mends: bars that another source must confirm, and bars that lack.
fn odd_bars(report: &DataReport) -> Vec<String> {
    let mut jumps = report.jumps.clone();
    jumps.count = jumps.count.saturating_sub(report.likely_splits.len());
    jumps.examples.retain(|example| !example.text.ends_with(" split"));
    let odd = [
        (&jumps, "jumps that are no splits", "compare the closes with another source, and mend a wrong digit"),
        (&report.spikes, "spikes", "compare the high or low with another source, and mend it: stops would fill there"),
        (&report.stale, "runs of equal bars", "delete those in which the market did not trade"),
        (&report.frozen, "frozen closes", "fetch these bars again: a feed stood still"),
        (&report.missing_weekdays, "missing days", "fetch them again, unless the market was closed"),
    ];
    let first = |finding: &Finding| {
        finding.examples.first().map_or_else(String::new, |e| format!(" ({} {} first)", report.counted, e.line))
    };
    let found = odd.into_iter().filter(|(finding, ..)| finding.count > 0);
    found.map(|(finding, what, remedy)| format!("{what}{}: {remedy}", first(finding))).collect()
}

/// Whether adjusted closes move from closes as far as the smallest split does, so that they may know of the splits.
fn takes_out(adjusted: &[f64], close: &[f64]) -> bool {
    let factors = adjusted.iter().zip(close).map(|(a, c)| (a / c).ln()).filter(|f| f.is_finite());
    let (low, high) = factors.fold((f64::MAX, f64::MIN), |(low, high), f| (low.min(f), high.max(f)));
    high - low > 1.4f64.ln()
}
