//! Orders that bars without volume refused, in the words that console and page share.

use gigabar_backtest::metric::Format;

use super::RunReport;

/// How bars without volume are traded all the same.
pub const VOLUME_LEFT_OUT: &str =
    "to trade them too, leave the volume out: --columns ts,open,high,low,close,- (`-` skips a column)";

/// How many orders were refused, and why; nothing where none was.
pub fn refused_orders(run: &RunReport) -> Option<String> {
    let n = run.report.pooled.rejected_orders;
    if n == 0 {
        return None;
    }
    let count = |n: usize| Format::Count.text(Some(n as f64));
    let orders = if n == 1 { "1 order was rejected".into() } else { format!("{} orders were rejected", count(n)) };
    let of_all = format!("of {} bars", count(run.data.n_bars));
    let why = match run.data.n_silent {
        // A report made before they were counted.
        0 => "bars with volume 0 fill none".into(),
        1 => format!("1 {of_all} has volume 0, and such a bar fills none"),
        silent => format!("{} {of_all} have volume 0, and such a bar fills none", count(silent)),
    };
    Some(format!("{orders}: {why} (docs/simulation.md)"))
}
