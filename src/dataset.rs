//! A file of bars as commands use it: bars, volatility, features, and what to say about them.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use gigabar::report::DataSummary;
use gigabar_backtest::cpu::engine::{Market, Rules, simulate};
use gigabar_backtest::{Policy, SimConfig};
use gigabar_market::Bars;
use gigabar_market::feature::FeatureTable;
use gigabar_market::load::{LoadOptions, load};
use gigabar_market::sigma::sigma;

use crate::printer::Printer;

/// Bars with what is computed of them once.
pub(crate) struct Dataset {
    pub(crate) bars: Arc<Bars>,
    /// `[n_bars]`
    pub(crate) sigma: Arc<Vec<f64>>,
    pub(crate) summary: DataSummary,
}

impl Dataset {
    /// Reads a file and says what was found.
    pub(crate) fn load(path: &Path, options: &LoadOptions, printer: Printer) -> anyhow::Result<Self> {
        let loaded = load(path, options)?;
        let summary = DataSummary::new(&path.display().to_string(), &loaded.sha256, &loaded.bars, &loaded.notes);
        printer.say(describe(&summary));
        for note in &summary.notes {
            printer.say(format_args!("  note: {note}"));
        }
        let sigma = Arc::new(sigma(loaded.bars.close()));
        Ok(Self { bars: Arc::new(loaded.bars), sigma, summary })
    }

    /// The features of all bars.
    pub(crate) fn features(&self) -> anyhow::Result<FeatureTable> {
        FeatureTable::compute(&self.bars).with_context(|| self.summary.path.clone())
    }

    /// The columns the simulator reads.
    pub(crate) fn market(&self) -> Market<'_> {
        Market::new(&self.bars, &self.sigma)
    }

    /// The rules of a bar on this data.
    pub(crate) fn rules(&self, sim: &SimConfig) -> anyhow::Result<Rules> {
        Ok(Rules::new(sim, &self.market())?)
    }

    /// Trades one window.
    pub(crate) fn trade(
        &self,
        rules: &Rules,
        window: std::ops::Range<usize>,
        policy: &mut dyn Policy,
    ) -> gigabar_backtest::Path {
        simulate(rules, &self.bars, &self.market(), window, policy)
    }
}

/// One line about a data set.
pub(crate) fn describe(data: &DataSummary) -> String {
    let iso = gigabar_market::time::iso;
    let symbol = data.symbol.as_ref().map(|symbol| format!(" {symbol}")).unwrap_or_default();
    format!(
        "{}:{symbol} {} bars of {}, {} to {}, {} a year",
        data.path,
        data.n_bars,
        interval(data.interval_ns),
        iso(data.first_ts),
        iso(data.last_ts),
        (data.periods_per_year * 100.0).round() / 100.0,
    )
}

/// A length of time in its largest whole unit.
pub(crate) fn interval(ns: i64) -> String {
    let units = [("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000)];
    match units.into_iter().find(|(_, unit)| ns >= *unit && ns % unit == 0) {
        Some((name, unit)) => format!("{} {name}", ns / unit),
        None => format!("{} ms", ns as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_in_their_largest_unit() {
        let second = 1_000_000_000;
        assert_eq!(interval(86_400 * second), "1 d");
        assert_eq!(interval(5 * 60 * second), "5 min");
        assert_eq!(interval(90 * second), "90 s");
        assert_eq!(interval(second / 4), "250 ms");
    }
}
