//! Plan, source and launches of `indicator.cu`: the table of every indicator that a grid reads, a stretch of bars at a
//! time.

use std::mem::discriminant;
use std::ops::Range;

use gigabar_gpu::header::PRELUDE;
use gigabar_gpu::{Buffer, Device, GpuError, Kernel, KernelSource, LaunchShape, Plain};

use super::layout::{self, EnvBar};
use super::rollout::{ENV, ENV_STATE};
use crate::policy::indicator::{Indicator, RECENTRE_BELOW, RESTART_BARS, VARIANCE_FLOOR};

const INDICATOR: (&str, &str) = ("indicator.cu", include_str!("indicator.cu"));
/// Threads of a block over columns.
pub(crate) const THREADS: u32 = 32;
/// Threads of a block over bars.
const BAR_THREADS: u32 = 256;
/// Rows of blocks at most, where a kernel strides over rows.
pub(crate) const ROWS_AT_ONCE: u32 = 2048;

/// Source of every `indicator_*`.
pub fn indicator_source() -> KernelSource {
    let source = KernelSource::new("indicator.cu").texts(&[PRELUDE, ENV_STATE, ENV, INDICATOR]).exact();
    layout::define(source)
        .define("RESTART_BARS", format!("{RESTART_BARS}u"))
        .define("VARIANCE_FLOOR", format!("{VARIANCE_FLOOR:e}"))
        .define("RECENTRE_BELOW", format!("{RECENTRE_BELOW:e}"))
        .define("ROWS_AT_ONCE", ROWS_AT_ONCE)
}

/// State of a recurrence between launches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct IndicatorState {
    a: f64,
    b: f64,
    value: f64,
}
const _: () = assert!(size_of::<IndicatorState>() == 24);

/// Columns of one kind, and the bars of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct IndicatorColumns {
    /// First column of the table, and first length.
    pub first: u32,
    /// Columns.
    pub n_own: u32,
    /// Columns of the whole table.
    pub stride: u32,
    /// First bar written.
    pub t0: u32,
    /// One past the last bar.
    pub t1: u32,
    /// Indicators of all kinds: how far apart the lengths of one lie.
    pub n_column: u32,
}
const _: () = assert!(size_of::<IndicatorColumns>() == 24);

#[allow(unsafe_code)]
mod plain {
    use super::{IndicatorColumns, IndicatorState, Plain};
    // SAFETY (both): repr(C) of numbers; indicator.cu asserts the same sizes.
    unsafe impl Plain for IndicatorState {}
    unsafe impl Plain for IndicatorColumns {}
}

/// One launch of `indicator.cu`: what it does and its grid (x, y).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TableStep {
    /// `indicator_sma` or `indicator_stddev`.
    Running { kernel: &'static str, columns: IndicatorColumns, grid: [u32; 2] },
    /// `indicator_ema`, `_macd`, `_volatility`, or `indicator_rsi`, whose average losses lie `losses` columns on.
    Recurrence { kernel: &'static str, columns: IndicatorColumns, from: u32, losses: Option<u32>, grid: [u32; 2] },
    /// `indicator_momentum`.
    Momentum { columns: IndicatorColumns, grid: [u32; 2] },
    /// `indicator_strength`.
    Strength { columns: IndicatorColumns, losses: u32, grid: [u32; 2] },
    /// `indicator_extreme_base` into level 0; row 0 is bar `base`.
    ExtremeBase { base: u32, n_row: u32, highest: bool },
    /// `indicator_extreme_double` from level `level` into the next.
    ExtremeDouble { level: u32, n_row: u32, highest: bool },
    /// `indicator_extreme_gather`.
    ExtremeGather { columns: IndicatorColumns, base: u32, n_row: u32, highest: bool, grid: [u32; 2] },
}

/// How a table is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePlan {
    indicators: Vec<Indicator>,
    /// Lengths of the indicators, bars. `[3, n_column]`
    pub lengths: Vec<u32>,
    /// First indicator of each kind, and the columns of that kind.
    groups: Vec<(Indicator, Range<u32>)>,
    /// Columns of the table: the indicators, then the average losses of the RSIs.
    pub stride: u32,
    /// Longest highest or lowest, bars; 0 without any.
    longest_extreme: u32,
}

impl TablePlan {
    /// Of indicators in order of kind and length.
    pub fn new(indicators: &[Indicator]) -> Self {
        let mut groups: Vec<(Indicator, Range<u32>)> = Vec::new();
        for (column, &own) in (0..).zip(indicators) {
            match groups.last_mut() {
                Some((first, columns)) if discriminant(first) == discriminant(&own) => columns.end = column + 1,
                _ => groups.push((own, column..column + 1)),
            }
        }
        let n_rsi = indicators.iter().filter(|own| matches!(own, Indicator::Rsi(_))).count();
        let extremes = indicators.iter().filter(|own| matches!(own, Indicator::Highest(_) | Indicator::Lowest(_)));
        Self {
            indicators: indicators.to_vec(),
            lengths: (0..3).flat_map(|i| indicators.iter().map(move |own| own.lengths()[i] as u32)).collect(),
            stride: (indicators.len() + n_rsi) as u32,
            longest_extreme: extremes.map(|own| own.lengths()[0] as u32).max().unwrap_or(0),
            groups,
        }
    }

    /// The indicators, column by column.
    pub fn indicators(&self) -> impl Iterator<Item = Indicator> + '_ {
        self.indicators.iter().copied()
    }

    /// Elements of the extremes' levels for a stretch of `n_bar` bars. `[n_level, n_row]`
    pub fn level_elements(&self, n_bar: usize) -> usize {
        let n_level = self.longest_extreme.checked_ilog2().map_or(0, |log| log as usize + 1);
        n_level * (n_bar + self.longest_extreme as usize)
    }

    /// The launches that fill the rows of bars `bars`; `from` is the first bar that no earlier launch has gone through.
    pub fn steps(&self, bars: Range<u32>, from: u32) -> Vec<TableStep> {
        let mut steps = Vec::new();
        for (kind, own) in &self.groups {
            let columns = IndicatorColumns {
                first: own.start,
                n_own: own.end - own.start,
                stride: self.stride,
                t0: bars.start,
                t1: bars.end,
                n_column: self.indicators.len() as u32,
            };
            let over_columns = |n_row: u32| [columns.n_own.div_ceil(THREADS), n_row.clamp(1, ROWS_AT_ONCE)];
            let restart = RESTART_BARS as u32;
            let running = |kernel| {
                let n_restart = bars.end.div_ceil(restart) - bars.start / restart;
                TableStep::Running { kernel, columns, grid: [over_columns(1)[0], n_restart] }
            };
            let recurrence = |kernel, losses| {
                let grid = over_columns(1);
                TableStep::Recurrence { kernel, columns, from, losses, grid }
            };
            let losses = self.indicators.len() as u32 - own.start;
            match kind {
                Indicator::Sma(_) => steps.push(running("indicator_sma")),
                Indicator::StdDev(_) => steps.push(running("indicator_stddev")),
                Indicator::Ema(_) => steps.push(recurrence("indicator_ema", None)),
                Indicator::Macd { .. } => steps.push(recurrence("indicator_macd", None)),
                Indicator::Volatility(_) => steps.push(recurrence("indicator_volatility", None)),
                Indicator::Momentum(_) => {
                    let grid = over_columns(bars.end - bars.start);
                    steps.push(TableStep::Momentum { columns, grid });
                }
                Indicator::Rsi(_) => {
                    steps.push(recurrence("indicator_rsi", Some(losses)));
                    let grid = over_columns(bars.end - bars.start);
                    steps.push(TableStep::Strength { columns, losses, grid });
                }
                Indicator::Highest(_) => self.extremes(columns, true, &mut steps),
                Indicator::Lowest(_) => self.extremes(columns, false, &mut steps),
            }
        }
        steps
    }

    fn extremes(&self, columns: IndicatorColumns, highest: bool, steps: &mut Vec<TableStep>) {
        let base = columns.t0.saturating_sub(self.longest_extreme);
        let n_row = columns.t1 - base;
        steps.push(TableStep::ExtremeBase { base, n_row, highest });
        let n_level = self.longest_extreme.ilog2();
        steps.extend((0..n_level).map(|level| TableStep::ExtremeDouble { level, n_row, highest }));
        let grid = [columns.n_own.div_ceil(THREADS), (columns.t1 - columns.t0).clamp(1, ROWS_AT_ONCE)];
        steps.push(TableStep::ExtremeGather { columns, base, n_row, highest, grid });
    }
}

/// The kernels of `indicator.cu`.
#[derive(Debug)]
pub(crate) struct TableKernels {
    sma: Kernel,
    stddev: Kernel,
    ema: Kernel,
    rsi: Kernel,
    macd: Kernel,
    volatility: Kernel,
    momentum: Kernel,
    strength: Kernel,
    base: Kernel,
    double: Kernel,
    gather: Kernel,
}

/// The table of a stretch of bars and what it is made with.
#[derive(Debug)]
pub(crate) struct TableBuffers {
    /// `[3, n_column]`
    pub(crate) lengths: Buffer<u32>,
    /// `[n_column]`
    pub(crate) states: Buffer<IndicatorState>,
    /// `[n_bar, stride]`
    pub(crate) table: Buffer<f64>,
    /// `[n_level, n_row]`
    pub(crate) levels: Buffer<f64>,
}

impl TableKernels {
    pub(crate) fn new(device: &Device) -> Result<Self, GpuError> {
        let source = indicator_source();
        let kernel = |name: &str| device.kernel(&source, name);
        Ok(Self {
            sma: kernel("indicator_sma")?,
            stddev: kernel("indicator_stddev")?,
            ema: kernel("indicator_ema")?,
            rsi: kernel("indicator_rsi")?,
            macd: kernel("indicator_macd")?,
            volatility: kernel("indicator_volatility")?,
            momentum: kernel("indicator_momentum")?,
            strength: kernel("indicator_strength")?,
            base: kernel("indicator_extreme_base")?,
            double: kernel("indicator_extreme_double")?,
            gather: kernel("indicator_extreme_gather")?,
        })
    }

    /// Runs one step of [`TablePlan::steps`].
    ///
    /// # Errors
    /// [`GpuError::Launch`].
    #[allow(unsafe_code)]
    pub(crate) fn launch(
        &self,
        device: &Device,
        step: TableStep,
        bars: &Buffer<EnvBar>,
        buffers: &TableBuffers,
    ) -> Result<(), GpuError> {
        let over_columns = |[x, y]: [u32; 2]| {
            let mut shape = LaunchShape::line(x as usize, THREADS as usize);
            shape.grid[1] = y;
            shape
        };
        let over_bars = |n: u32| LaunchShape::covering(n as usize, BAR_THREADS as usize);
        let TableBuffers { lengths, states, table, levels } = buffers;
        let length_at = |c: &IndicatorColumns| lengths.address() + 4 * u64::from(c.first);
        let level_at = |level: u32, n_row: u32| levels.address() + 8 * u64::from(level) * u64::from(n_row);
        let (launch, shape) = match step {
            TableStep::Running { kernel, columns, grid } => {
                let kernel = if kernel == "indicator_sma" { &self.sma } else { &self.stddev };
                (
                    kernel.launch().buffer(bars).value(length_at(&columns)).buffer(table).value(columns),
                    over_columns(grid),
                )
            }
            TableStep::Recurrence { kernel, columns, from, losses, grid } => {
                let kernel = match kernel {
                    "indicator_rsi" => &self.rsi,
                    "indicator_macd" => &self.macd,
                    "indicator_volatility" => &self.volatility,
                    _ => &self.ema,
                };
                let states = states.address() + size_of::<IndicatorState>() as u64 * u64::from(columns.first);
                let launch = kernel.launch().buffer(bars).value(length_at(&columns)).buffer(table).value(states);
                let launch = launch.value(columns).value(from);
                (losses.into_iter().fold(launch, |launch, losses| launch.value(losses)), over_columns(grid))
            }
            TableStep::Momentum { columns, grid } => {
                let launch = self.momentum.launch().buffer(bars).value(length_at(&columns)).buffer(table);
                (launch.value(columns), over_columns(grid))
            }
            TableStep::Strength { columns, losses, grid } => {
                (self.strength.launch().buffer(table).value(columns).value(losses), over_columns(grid))
            }
            TableStep::ExtremeBase { base, n_row, highest } => {
                let launch = self.base.launch().buffer(bars).buffer(levels).value(base).value(n_row);
                (launch.value(u32::from(highest)), over_bars(n_row))
            }
            TableStep::ExtremeDouble { level, n_row, highest } => {
                let launch = self.double.launch().value(level_at(level, n_row)).value(level_at(level + 1, n_row));
                (launch.value(1_u32 << level).value(n_row).value(u32::from(highest)), over_bars(n_row))
            }
            TableStep::ExtremeGather { columns, base, n_row, highest, grid } => {
                let launch = self.gather.launch().buffer(levels).value(length_at(&columns)).buffer(table);
                (launch.value(columns).value(base).value(n_row).value(u32::from(highest)), over_columns(grid))
            }
        };
        // SAFETY: the arguments are the kernel's, in order; the buffers are sized by the plan the step comes from, for
        // at least as many bars.
        unsafe { launch.run(device, shape) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_kind_lie_together() {
        let indicators =
            [Indicator::Sma(3), Indicator::Sma(9), Indicator::Rsi(2), Indicator::Rsi(7), Indicator::Highest(20)];
        let plan = TablePlan::new(&indicators);
        assert_eq!((plan.stride, plan.longest_extreme), (7, 20));
        assert_eq!(plan.lengths[..5], [3, 9, 2, 7, 20]);
        let ranges: Vec<_> = plan.groups.iter().map(|(_, columns)| columns.clone()).collect();
        assert_eq!(ranges, [0..2, 2..4, 4..5]);
        // Levels of 1, 2, 4, 8, 16 bars.
        assert_eq!(plan.level_elements(100), 5 * 120);
        let steps = plan.steps(1_000..3_000, 0);
        assert_eq!(steps.len(), 1 + 2 + 1 + 4 + 1);
        // Restarts 0, 1024 and 2048 touch bars 1000 to 2999.
        assert!(matches!(steps[0], TableStep::Running { grid: [1, 3], .. }));
        assert!(matches!(steps[1], TableStep::Recurrence { losses: Some(3), .. }));
    }
}
