//! The strategies of a file of signals, and what to say of them.

use std::path::Path;

use gigabar_backtest::Policy;
use gigabar_backtest::policy::{Signals, SignalsFile};

use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::failure::hinted;
use crate::printer::Printer;
use crate::setup;

/// Strategies that are warned of by name at most.
const NAMED: usize = 5;

/// Reads them; at least one.
pub(super) fn read(
    path: &Path,
    config: &RunConfig,
    dataset: &Dataset,
    printer: Printer,
) -> anyhow::Result<Vec<Signals>> {
    let SignalsFile { strategies, notes, stamped } = SignalsFile::read(path, &dataset.bars, &config.data)?;
    if !stamped && dataset.reordered {
        return Err(hinted(
            format!(
                "{}: its rows have no time stamps, and {} does not hold its bars in order of time: either order could \
                 be meant",
                path.display(),
                dataset.summary.path
            ),
            "give it a column `ts` with the bars' stamps",
        ));
    }
    for note in &notes {
        printer.say(format_args!("note: {note}"));
    }
    let several = strategies.len() > 1;
    let name = |one: &Signals| match several {
        true => format!("{}, strategy {}", path.display(), one.name()),
        false => path.display().to_string(),
    };
    let levered = |one: &Signals| setup::leverage(&name(one), one.levels(), &config.sim);
    let warnings: Vec<String> = strategies.iter().filter_map(levered).collect();
    warnings.iter().take(NAMED).for_each(|line| printer.warn(line));
    if warnings.len() > NAMED {
        let more = warnings.len() - NAMED;
        printer.warn(format_args!("{}: so have {more} more strategies levels beyond ±1", path.display()));
    }
    Ok(strategies)
}
