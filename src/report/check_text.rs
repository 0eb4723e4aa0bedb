//! What `data check` found, as text.

use gigabar_market::check::{DataReport, Named, Order};

/// What the file is, then every finding with its first lines.
pub fn render(report: &DataReport) -> String {
    if report.sha256.is_empty() {
        return format!("file        {}\nloads       no", report.path);
    }
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
    report.of_bars().iter().for_each(|named| push(&mut out, report.counted, named));
    if let Some(left_out) = report.left_out() {
        out.push_str(&format!("{:>8}  {left_out}\n", "–"));
    }
    out.push_str(if report.before_repair { "\nas it stands in the file, before --repair\n" } else { "\n" });
    report.of_rows().iter().for_each(|named| push(&mut out, report.counted, named));
    if let Some(hours) = &report.hours {
        out.push_str(&format!(
            "\nhours       {} to {} {}: {} inside them, {} without any, {} outside\n",
            hours.from,
            hours.to,
            hours.zone,
            counted(hours.missing_bars, "bar", "missing "),
            counted(hours.days_without_bars, "day", "of trading "),
            counted(hours.unusual_bars, "bar", "")
        ));
        if let Some(more) =
            hours.days_without_bars.checked_sub(hours.empty_days.len()).filter(|_| hours.days_without_bars > 0)
        {
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            out.push_str(&format!("{:>10}without any bar: {}{more}\n", "", hours.empty_days.join(", ")));
        }
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

/// `1 bar missing`, `2 bars missing`, without a blank at the end.
fn counted(n: usize, what: &str, more: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural} {more}").trim_end().to_owned()
}

fn push(out: &mut String, place: &str, Named { name, count, examples }: &Named<'_>) {
    out.push_str(&format!("{count:>8}  {name}\n"));
    for example in *examples {
        out.push_str(&format!("{:>10}{place} {}: {}\n", "", example.line, example.text));
    }
    if *count > examples.len() && !examples.is_empty() {
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
