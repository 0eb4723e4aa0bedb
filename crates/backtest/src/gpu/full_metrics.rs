//! [`FullStats`]: everything the metrics of a series are formulas of, as `full_metrics.cu` leaves it, and the launches.

use gigabar_gpu::header::{PRELUDE, REDUCE, SELECT};
use gigabar_gpu::{Buffer, Device, GpuError, Kernel, KernelSource, LaunchShape, Plain};

use super::error::EvaluateError;
use super::layout::{self, EnvTrade};
use super::metrics::METRIC;
use super::rollout::{ENV, ENV_STATE};
use crate::metric::drawdown::Drawdown;
use crate::metric::scan::{PairStats, ReturnStats};
use crate::metric::stats::{EquityStats, TAIL, TailStats};
use crate::metric::sum::{BLOCK, LANES};
use crate::metric::{MetricConfig, Moments, PathView, TradeStats, WindowStats, defined};
use crate::path::Counts;

const FULL_METRICS: (&str, &str) = ("full_metrics.cu", include_str!("full_metrics.cu"));
/// Threads that select the quantiles of one series.
pub const SELECT_THREADS: usize = 512;

/// Source of `full_measure`, `full_select`, `full_fall` and `full_join`.
pub fn full_source() -> KernelSource {
    let texts = [PRELUDE, ENV_STATE, ENV, REDUCE, SELECT, METRIC, FULL_METRICS];
    layout::define(KernelSource::new("full_metrics.cu").texts(&texts).exact())
        .define("LANES", LANES)
        .define("BLOCK", BLOCK)
        .define("SELECT_THREADS", SELECT_THREADS)
        .define("FULL_PART_BYTES", size_of::<FullPart>())
}

/// A series on the device: addresses of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct FullSeries {
    /// f64 `[n]`, NaN is missing.
    pub returns: u64,
    /// f64 `[n + 1]`.
    pub equity: u64,
    /// f64 `[n]`.
    pub benchmark: u64,
    /// [`EnvTrade`] `[n_trades]`.
    pub trades: u64,
    /// Returns.
    pub n: i64,
    /// Closed trades.
    pub n_trades: i64,
    /// Its first part among the parts of all series.
    pub first_part: i64,
}
const _: () = assert!(size_of::<FullSeries>() == 56);

impl FullSeries {
    /// Blocks of elements its longest column has.
    pub fn n_part(&self) -> usize {
        (self.n.max(self.n_trades - 1) as usize / BLOCK) + 1
    }
}

/// Numbers the series' parts in turn; returns the series of every part.
pub fn number_parts(series: &mut [FullSeries]) -> Vec<u32> {
    let mut series_of = Vec::new();
    for (i, one) in series.iter_mut().enumerate() {
        one.first_part = series_of.len() as i64;
        series_of.resize(series_of.len() + one.n_part(), i as u32);
    }
    series_of
}

/// What one part of a series leaves; the host never looks inside.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct FullPart([f64; 43]);

/// [`Moments`] on the device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
struct FullMoments {
    n: f64,
    mean: f64,
    m2: f64,
    m3: f64,
    m4: f64,
    min: f64,
    max: f64,
}

impl FullMoments {
    fn moments(&self) -> Moments {
        let Self { n, mean, m2, m3, m4, min, max } = *self;
        Moments { n: n as usize, mean, m2, m3, m4, min, max }
    }
}

/// [`WindowStats`] on the device, without what the host knows. Bars are whole numbers, −1 none; NaN is undefined.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct FullStats {
    returns: FullMoments,
    excess: f64,
    shortfall: f64,
    downside_squares: f64,
    pair_n: f64,
    pair_mean: f64,
    benchmark_mean: f64,
    benchmark_m2: f64,
    cross: f64,
    active_m2: f64,
    benchmark_max_abs: f64,
    active_max_abs: f64,
    benchmark_growth: f64,
    pnl: FullMoments,
    wins: f64,
    gross_profit: f64,
    losses: f64,
    gross_loss: f64,
    return_sum: f64,
    bars_held: f64,
    max_drawdown: f64,
    max_bars: f64,
    recovery_bars: f64,
    last_peak: f64,
    sum_squares: f64,
    equity_sum: f64,
    first: f64,
    last: f64,
    cut: f64,
    low: f64,
    high: f64,
    beyond: f64,
    beyond_sum: f64,
}
const _: () = assert!(size_of::<FullStats>() == 360);

impl FullStats {
    /// As the CPU has them, of `n_bars` returns against `threshold` and of `n_trades` trades.
    pub fn stats(&self, n_bars: usize, threshold: f64, n_trades: usize, counts: Counts) -> WindowStats {
        WindowStats {
            n_bars,
            returns: ReturnStats {
                moments: self.returns.moments(),
                threshold,
                excess: self.excess,
                shortfall: self.shortfall,
                downside_squares: self.downside_squares,
            },
            equity: (self.first > 0.0).then(|| self.equity(n_bars)),
            tails: self.tails(),
            n_trades,
            trades: self.trades(),
            counts,
            pair: Some(self.pair()),
        }
    }

    fn equity(&self, n_bars: usize) -> EquityStats {
        let drawdown = Drawdown {
            max: self.max_drawdown,
            max_bars: self.max_bars as usize,
            recovery_bars: (self.recovery_bars >= 0.0).then_some(self.recovery_bars as usize),
            recovered: self.last_peak as usize == n_bars,
            sum_squares: self.sum_squares,
            equity_sum: self.equity_sum,
            n: n_bars,
        };
        EquityStats { first: self.first, last: self.last, drawdown }
    }

    fn tails(&self) -> TailStats {
        let known = |x: f64| (!x.is_nan()).then_some(x);
        let beyond = if self.beyond > 0.0 { defined(self.beyond_sum / self.beyond) } else { None };
        TailStats { cut: known(self.cut), beyond, low: known(self.low), high: known(self.high) }
    }

    fn trades(&self) -> TradeStats {
        TradeStats {
            pnl: self.pnl.moments(),
            wins: self.wins,
            gross_profit: self.gross_profit,
            losses: self.losses,
            gross_loss: self.gross_loss,
            return_sum: self.return_sum,
            bars_held: self.bars_held,
        }
    }

    fn pair(&self) -> PairStats {
        PairStats {
            n: self.pair_n as usize,
            mean: self.pair_mean,
            benchmark_mean: self.benchmark_mean,
            benchmark_m2: self.benchmark_m2,
            cross: self.cross,
            active_m2: self.active_m2,
            benchmark_max_abs: self.benchmark_max_abs,
            active_max_abs: self.active_max_abs,
            benchmark_growth: self.benchmark_growth,
        }
    }
}

#[allow(unsafe_code)]
mod plain {
    use super::{FullPart, FullSeries, FullStats, Plain};
    // SAFETY (all): repr(C) of numbers; full_metrics.cu asserts the same sizes. Addresses are numbers to the host.
    unsafe impl Plain for FullSeries {}
    unsafe impl Plain for FullPart {}
    unsafe impl Plain for FullStats {}
}

/// The kernels of `full_metrics.cu`.
#[derive(Debug, Clone)]
pub(crate) struct FullKernels {
    measure: Kernel,
    select: Kernel,
    fall: Kernel,
    join: Kernel,
}

impl FullKernels {
    pub(crate) fn new(device: &Device) -> Result<Self, GpuError> {
        let kernel = |name| device.kernel(&full_source(), name);
        Ok(Self {
            measure: kernel("full_measure")?,
            select: kernel("full_select")?,
            fall: kernel("full_fall")?,
            join: kernel("full_join")?,
        })
    }

    /// Queues the statistics of every series: returns against `threshold` a bar, quantiles at `var_level`. Their
    /// columns must stay alive until the result is read. `[series.len()]`
    ///
    /// # Errors
    /// The device's.
    #[allow(unsafe_code)]
    pub(crate) fn run(
        &self,
        device: &Device,
        series: &mut [FullSeries],
        threshold: f64,
        var_level: f64,
    ) -> Result<Buffer<FullStats>, GpuError> {
        let series_of = number_parts(series);
        let stats = device.zeros::<FullStats>("full_stats", series.len())?;
        if series.is_empty() {
            return Ok(stats);
        }
        let parts = device.zeros::<FullPart>("full_parts", series_of.len())?;
        let n_part = series_of.len();
        let (series_of, series) = (device.upload("series_of", &series_of)?, device.upload("series", series)?);
        let by_part = LaunchShape::line(n_part, LANES);
        let measure = self.measure.launch().buffer(&series).buffer(&series_of).buffer(&parts).value(threshold);
        let select = self.select.launch().buffer(&series).buffer(&stats).value(var_level).value(TAIL);
        let fall = self.fall.launch().buffer(&series).buffer(&series_of).buffer(&parts).buffer(&stats);
        let join = self.join.launch().buffer(&series).buffer(&parts).buffer(&stats);
        // SAFETY: the arguments are the kernels', in order; the caller's series name columns of their lengths, parts
        // are numbered by them, and freeing a buffer waits for its turn in the same stream.
        unsafe {
            measure.run(device, by_part)?;
            select.run(device, LaunchShape::line(series.len(), SELECT_THREADS))?;
            fall.run(device, by_part)?;
            join.run(device, LaunchShape::line(series.len(), LANES))?;
        }
        Ok(stats)
    }
}

/// [`WindowStats::of`] every window and its benchmark returns (empty: none), computed on the device: the same bits.
///
/// # Errors
/// [`EvaluateError::Mismatch`] for columns whose lengths contradict each other; the device's.
pub fn window_stats(
    device: &Device,
    windows: &[(PathView<'_>, &[f64])],
    periods_per_year: f64,
    config: &MetricConfig,
) -> Result<Vec<WindowStats>, EvaluateError> {
    let mut kept = Vec::with_capacity(windows.len());
    let mut series = Vec::with_capacity(windows.len());
    for (i, (path, benchmark)) in windows.iter().enumerate() {
        let n = path.returns.len();
        let other = if benchmark.is_empty() { path.returns } else { benchmark };
        for (what, got, wanted) in [("equity", path.equity.len(), n + 1), ("benchmark", other.len(), n)] {
            if got != wanted {
                let what = format!("{what} of window {i}");
                return Err(EvaluateError::Mismatch { what, expected: wanted, got });
            }
        }
        let trades: Vec<EnvTrade> = path.trades.iter().map(EnvTrade::of).collect();
        let columns = [("returns", path.returns), ("equity", path.equity), ("benchmark", other)];
        let columns = columns.map(|(name, column)| device.upload(name, column));
        let [returns, equity, benchmark] = columns;
        let (returns, equity, benchmark) = (returns?, equity?, benchmark?);
        let trades = device.upload("trades", &trades)?;
        series.push(FullSeries {
            returns: returns.address(),
            equity: equity.address(),
            benchmark: benchmark.address(),
            trades: trades.address(),
            n: n as i64,
            n_trades: path.trades.len() as i64,
            first_part: 0,
        });
        kept.push((returns, equity, benchmark, trades));
    }
    let threshold = config.mar / periods_per_year;
    let stats = FullKernels::new(device)?.run(device, &mut series, threshold, config.var_level)?.read()?;
    let finish = |(stats, (path, benchmark)): (&FullStats, &(PathView<'_>, &[f64]))| {
        let mut stats = stats.stats(path.returns.len(), threshold, path.trades.len(), path.counts);
        stats.pair = stats.pair.filter(|_| !benchmark.is_empty() || path.returns.is_empty());
        stats
    };
    Ok(stats.iter().zip(windows).map(finish).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_longest_column() {
        let of = |n, n_trades| FullSeries { n, n_trades, ..FullSeries::default() };
        // An equity of n + 1 points; 4096 to a part.
        assert_eq!(
            [of(1, 0), of(4_095, 0), of(4_096, 0), of(5, 4_096), of(5, 4_097)].map(|s| s.n_part()),
            [1, 1, 2, 1, 2]
        );
        let mut series = [of(4_096, 0), of(7, 0), of(9_000, 0)];
        assert_eq!(number_parts(&mut series), [0, 0, 1, 2, 2, 2]);
        assert_eq!(series.map(|s| s.first_part), [0, 2, 3]);
    }
}
