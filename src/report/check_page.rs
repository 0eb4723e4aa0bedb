//! What `data check` found as one HTML file that opens offline: the findings, and plots of the bars.

mod plot;
mod slots;

use std::fmt::Write;

use gigabar_market::Bars;
use gigabar_market::check::{Checked, DataReport, Named};
use jiff::tz::TimeZone;

use self::slots::Slots;

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1c2733;--soft:#5b6b7b;--line:#d9e0e7;--back:#fff;--mark:#1f6feb;--bad:#c93c37}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa7b4;--line:#30363d;--back:#0d1117;--mark:#58a6ff;--bad:#f47067}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:1000px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;margin:0}h2{font-size:1.05rem;margin:2rem 0 .5rem}section+section{margin-top:4rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--line);
vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}td.z{color:var(--soft)}small,.soft{color:var(--soft)}
.verdict{padding:.6rem .9rem;border-left:4px solid var(--mark);margin:1rem 0}.verdict.no{border-color:var(--bad)}
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
svg .grid{stroke:var(--line)}svg .line{fill:none;stroke:var(--mark);stroke-width:1.2}svg .bar{fill:var(--mark)}
svg .jump{fill:none;stroke:var(--bad);stroke-width:1.5}code{overflow-wrap:anywhere}
";

/// The page; `tz` is the zone of its days and hours, UTC without.
pub fn render(files: &[Checked], tz: Option<&str>) -> String {
    let zone = tz.and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    let mut out = String::from("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    out.push_str(
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>Data check</title><style>",
    );
    out.push_str(STYLE);
    out.push_str("</style></head><body>");
    for file in files {
        out.push_str("<section>");
        summary(&mut out, &file.report);
        if let Some(bars) = &file.bars {
            plots(&mut out, bars, &zone);
        }
        if !file.report.sha256.is_empty() {
            findings(&mut out, &file.report);
        }
        out.push_str("</section>");
    }
    out.push_str("</body></html>\n");
    out
}

/// Text between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn row(out: &mut String, name: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = write!(out, "<tr><th>{name}</th><td>{}</td></tr>", escaped(value));
}

fn summary(out: &mut String, report: &DataReport) {
    let _ = write!(out, "<h1>{}</h1>", escaped(&report.path));
    match &report.refusal {
        None => out.push_str("<p class=\"verdict\">Loads.</p>"),
        Some(why) => {
            let hint =
                report.hint.as_ref().map(|hint| format!("<br><small>{}</small>", escaped(hint))).unwrap_or_default();
            let _ = write!(out, "<p class=\"verdict no\">Does not load: {}{hint}</p>", escaped(why));
        }
    }
    if let Some(why) = &report.series_refusal {
        let _ = write!(out, "<p class=\"verdict no\">The files do not make one series: {}</p>", escaped(why));
    }
    if report.sha256.is_empty() {
        return;
    }
    if !report.suggestions.is_empty() {
        out.push_str("<h2>What to try</h2><ul>");
        for suggestion in &report.suggestions {
            let _ = write!(out, "<li>{}</li>", escaped(suggestion));
        }
        out.push_str("</ul>");
    }
    out.push_str("<h2>The file</h2><table>");
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".into());
    row(out, "Layout", &report.dialect);
    row(out, "Rows", &report.rows.to_string());
    row(out, "Range", &format!("{} to {}", or_none(&report.first), or_none(&report.last)));
    row(out, "Interval", &report.pace());
    if let Some(hours) = &report.hours {
        let text = format!("{} to {} {}", hours.from, hours.to, hours.zone);
        row(out, "Hours of trading", &text);
    }
    for note in &report.notes {
        row(out, "Note", note);
    }
    row(out, "SHA-256", &report.sha256);
    out.push_str("</table>");
}

fn plots(out: &mut String, bars: &Bars, zone: &TimeZone) {
    let mut figure = |title: &str, svg: Option<String>| {
        if let Some(svg) = svg {
            let _ = write!(out, "<h2>{title}</h2>{svg}");
        }
    };
    let slots = Slots::new(bars, zone);
    let hours =
        format!("Mean size of a return by time of day <small>({})</small>", escaped(zone.iana_name().unwrap_or("UTC")));
    figure("Close <small>(rings: jumps)</small>", Some(plot::price(bars, &slots)));
    figure("Volume", bars.has_volume().then(|| plot::volume(bars, &slots)));
    figure(
        "Bars over time <small>(without usual nights and weekends: a hole is missing data)</small>",
        Some(plot::coverage(&slots)),
    );
    figure("Returns <small>in robust standard deviations, counts on a logarithmic scale</small>", plot::returns(bars));
    figure(&hours, plot::time_of_day(bars, zone));
}

fn finding(out: &mut String, Named { name, count, examples }: &Named<'_>) {
    let examples: Vec<String> = examples.iter().map(|e| format!("{}: {}", e.line, escaped(&e.text))).collect();
    let class = if *count == 0 { "n z" } else { "n" };
    let (name, shown) = (escaped(name), examples.join("<br>"));
    let _ = write!(out, "<tr><td class=\"{class}\">{count}</td><td>{name}</td><td class=\"soft\">{shown}</td></tr>");
}

fn findings(out: &mut String, report: &DataReport) {
    out.push_str("<h2>Findings</h2><table>");
    report.of_bars().iter().for_each(|named| finding(out, named));
    if let Some(left_out) = report.left_out() {
        let _ = write!(out, "<tr><td class=\"n z\">–</td><td>{left_out}</td><td></td></tr>");
    }
    if report.before_repair {
        out.push_str("<tr><th></th><th>as they stand in the file, before --repair</th><th></th></tr>");
    }
    report.of_rows().iter().for_each(|named| finding(out, named));
    if let Some(hours) = &report.hours {
        let days: Vec<String> = hours.worst_days.iter().map(|(day, n)| format!("{day}: {n} missing")).collect();
        let lines = [
            (hours.missing_bars, "bars missing inside the hours of trading", days.join("<br>")),
            (hours.days_without_bars, "days of trading without any bar", hours.empty_days.join("<br>")),
            (hours.unusual_bars, "bars outside the hours of trading", String::new()),
        ];
        for (count, name, text) in lines {
            let _ = write!(out, "<tr><td class=\"n\">{count}</td><td>{name}</td><td class=\"soft\">{text}</td></tr>");
        }
    }
    let _ = write!(out, "</table><p class=\"soft\">A number before an example is that of its {}.</p>", report.counted);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gigabar_market::check::check_files;
    use gigabar_market::load::LoadOptions;

    use super::*;

    #[test]
    fn a_page_holds_findings_and_plots_and_nothing_from_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("<b>.csv");
        let rows: String =
            (1..=28).map(|d| format!("2024-02-{d:02},1,2,1,{},5\n", 1.0 + f64::from(d % 3) / 4.0)).collect();
        std::fs::write(&path, format!("date,open,high,low,close,volume\n{rows}")).unwrap();
        let (mut files, _) = check_files(&[&path, &folder.path().join("none.csv")], &LoadOptions::default());
        let page = render(&files, None);
        assert!(page.contains("&lt;b&gt;.csv") && !page.contains("<b>.csv"));
        assert!(page.contains("none.csv: cannot be read"));
        assert_eq!(page.matches("<svg").count(), 4);
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("NaN"));
        files[0].bars = None;
        assert!(!render(&files, None).contains("<svg"));
    }
}
