//! The tables a window leaves as CSV: its equity bar by bar, and its trades. Stamps are ISO 8601 in UTC.

use std::io::Write;

use gigabar_backtest::Path as AccountPath;
use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep::SweepRow;
use gigabar_backtest::{ExitReason, Trade};
use gigabar_market::{Bars, time};

use super::sweep::{COLUMNS, StrategyResult, SweepColumn};

/// Writes ts,equity,return,units,cash,level; one row per bar of the window. The first bar has no return.
///
/// # Errors
/// As the writer fails.
///
/// # Panics
/// When the path reaches beyond `bars`.
pub fn write_equity(to: impl Write, bars: &Bars, path: &AccountPath) -> csv::Result<()> {
    let mut out = csv::Writer::from_writer(to);
    out.write_record(["ts", "equity", "return", "units", "cash", "level"])?;
    for i in 0..path.equity.len() {
        let ts = time::iso(bars.ts()[path.first_bar + i]);
        let ret = i.checked_sub(1).map_or_else(String::new, |j| path.returns[j].to_string());
        let [equity, units, cash, level] = [path.equity[i], path.units[i], path.cash[i], path.level[i]];
        out.write_record([ts, equity.to_string(), ret, units.to_string(), cash.to_string(), level.to_string()])?;
    }
    out.flush()?;
    Ok(())
}

/// Writes one row per closed trade.
///
/// # Errors
/// As the writer fails.
///
/// # Panics
/// When a trade lies outside `bars`.
pub fn write_trades(to: impl Write, bars: &Bars, trades: &[Trade]) -> csv::Result<()> {
    let mut out = csv::Writer::from_writer(to);
    out.write_record([
        "side",
        "entry_ts",
        "exit_ts",
        "units",
        "entry_price",
        "exit_price",
        "pnl",
        "return",
        "bars_held",
        "exit",
    ])?;
    for trade in trades {
        out.write_record([
            if trade.side > 0 { "long" } else { "short" }.to_owned(),
            time::iso(bars.ts()[trade.entry_bar]),
            time::iso(bars.ts()[trade.exit_bar]),
            trade.units.to_string(),
            trade.entry_price.to_string(),
            trade.exit_price.to_string(),
            trade.pnl.to_string(),
            trade.trade_return.to_string(),
            trade.bars_held.to_string(),
            exit_name(trade.exit).to_owned(),
        ])?;
    }
    out.flush()?;
    Ok(())
}

/// Writes one row per set of a sweep: the values of all its parameters, swept or not, its metrics, and whether it was ruined. An
/// undefined metric is empty.
///
/// # Errors
/// As the writer fails.
pub fn write_sweep(to: impl Write, grid: &Grid, rows: &[SweepRow]) -> csv::Result<()> {
    let rows = rows.iter().enumerate().map(|(i, row)| (grid.labels(i), row));
    write_ranked(to, grid.parameters(), rows)
}

/// Writes one row per strategy: its name, its metrics, and whether it was ruined. An undefined metric is empty. A name
/// that a spreadsheet would take for a formula has an apostrophe before it.
///
/// # Errors
/// As the writer fails.
pub fn write_strategies(to: impl Write, strategies: &[StrategyResult]) -> csv::Result<()> {
    write_ranked(to, &["strategy"], strategies.iter().map(|one| (vec![no_formula(&one.name)], &one.row)))
}

fn no_formula(name: &str) -> String {
    let mark = if name.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("{mark}{name}")
}

/// Rows with what they are known by.
fn write_ranked<'a>(
    to: impl Write,
    names: &[&str],
    rows: impl Iterator<Item = (Vec<String>, &'a SweepRow)>,
) -> csv::Result<()> {
    let mut out = csv::Writer::from_writer(to);
    out.write_record(names.iter().copied().chain(COLUMNS.iter().map(|column| column.key)).chain(["ruined"]))?;
    for (labels, row) in rows {
        let text = |column: &SweepColumn| (column.value)(row).map_or_else(String::new, |value| value.to_string());
        let fields = labels.into_iter().chain(COLUMNS.iter().map(text));
        out.write_record(fields.chain([row.ruined.to_string()]))?;
    }
    out.flush()?;
    Ok(())
}

fn exit_name(exit: ExitReason) -> &'static str {
    match exit {
        ExitReason::Signal => "signal",
        ExitReason::Flip => "flip",
        ExitReason::Stop => "stop",
        ExitReason::Take => "take",
        ExitReason::Time => "time",
        ExitReason::Liquidation => "liquidation",
        ExitReason::End => "end",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_formulas() {
        for (name, want) in [("=1+2", "'=1+2"), ("-rsi", "'-rsi"), ("+a", "'+a"), ("@b", "'@b"), ("a=b", "a=b")] {
            assert_eq!(no_formula(name), want);
        }
    }
}
