//! The bars of one symbol in order of time, as `adjust` and `repair` leave them, or else as they stand in the file.

use crate::BarColumns;
use crate::load::table::Table;
use crate::load::{LoadOptions, finish};

/// Bars that may break any rule but the order of time, and the line of each.
pub(super) struct Series {
    pub(super) columns: BarColumns,
    pub(super) lines: Vec<u64>,
}

impl Series {
    /// Of the rows of one symbol; `None` for those of several.
    pub(super) fn new(table: &Table, options: &LoadOptions) -> Option<Self> {
        let unknown = |name: &String| !table.symbols.is_empty() && table.symbol_named(name).is_none();
        if options.symbol.as_ref().map_or(table.symbols.len() > 1, unknown) {
            return None;
        }
        let mended = || {
            let whole = LoadOptions { from: None, to: None, resample: None, ..options.clone() };
            let loaded = finish(std::slice::from_ref(table), &whole).ok()?;
            Some(Self { columns: loaded.bars.into_columns(), lines: loaded.lines })
        };
        let mends = options.adjust || options.repair;
        mends.then(mended).flatten().or_else(|| Some(Self::as_it_stands(table)))
    }

    fn as_it_stands(table: &Table) -> Self {
        let mut order: Vec<usize> = (0..table.lines.len()).collect();
        order.sort_by_key(|&row| table.columns.ts[row]);
        let of = |column: &[f64]| order.iter().map(|&row| column[row]).collect::<Vec<f64>>();
        let c = &table.columns;
        let columns = BarColumns {
            ts: order.iter().map(|&row| c.ts[row]).collect(),
            open: of(&c.open),
            high: of(&c.high),
            low: of(&c.low),
            close: of(&c.close),
            volume: of(&c.volume),
        };
        Self { columns, lines: order.iter().map(|&row| table.lines[row]).collect() }
    }

    /// Number of bars.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Open, high, low and close of a bar.
    pub(super) fn prices(&self, row: usize) -> [f64; 4] {
        let c = &self.columns;
        [c.open[row], c.high[row], c.low[row], c.close[row]]
    }
}
