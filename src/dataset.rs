//! A file of bars as commands use it: bars, volatility, features, and what to say about them.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use gigabar::report::{DataFile, DataSummary};
use gigabar_backtest::cpu::engine::{Market, Rules, simulate};
use gigabar_backtest::{Policy, SimConfig};
use gigabar_market::Bars;
use gigabar_market::feature::FeatureTable;
use gigabar_market::load::{LoadOptions, LoadedFile, load_files};
use gigabar_market::sigma::sigma;

use crate::printer::Printer;

/// Bars with what is computed of them once.
pub(crate) struct Dataset {
    pub(crate) bars: Arc<Bars>,
    /// `[n_bars]`
    pub(crate) sigma: Arc<Vec<f64>>,
    pub(crate) summary: DataSummary,
    /// Whether the bars' rows stand in another order in their file.
    pub(crate) reordered: bool,
}

impl Dataset {
    /// Reads a file, or several of one series, and says what was found.
    pub(crate) fn load<P: AsRef<Path>>(paths: &[P], options: &LoadOptions, printer: Printer) -> anyhow::Result<Self> {
        let loaded = load_files(paths, options)?;
        let file = |file: &LoadedFile| DataFile { path: file.path.display().to_string(), sha256: file.sha256.clone() };
        let files = loaded.files.iter().map(file).collect();
        let summary = DataSummary::of_files(files, &loaded.bars, &loaded.notes);
        printer.say(describe(&summary));
        for note in &summary.notes {
            printer.say(format_args!("  note: {note}"));
        }
        let sigma = Arc::new(sigma(loaded.bars.close()));
        Ok(Self { bars: Arc::new(loaded.bars), sigma, summary, reordered: loaded.reordered })
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
        gigabar_market::time::interval(data.interval_ns),
        iso(data.first_ts),
        iso(data.last_ts),
        (data.periods_per_year * 100.0).round() / 100.0,
    )
}
