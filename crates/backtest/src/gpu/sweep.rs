//! [`GpuSweep`]: every set of a grid over one window, on a device. Sources and launches of `sweep.cu`.

mod layout;

use std::ops::Range;
use std::time::Instant;

use gigabar_gpu::header::PRELUDE;
use gigabar_gpu::{Buffer, Device, GpuError, Kernel, KernelSource, LaunchShape, Plain, Traffic};

use super::error::EvaluateError;
use super::indicator::{ROWS_AT_ONCE, TableBuffers, TableKernels};
use super::layout::{self as env, EnvAccount, EnvBar, EnvRules};
use super::rollout::{ENV, ENV_STATE};
use crate::cpu::engine::{Market, Rules};
use crate::policy::Grid;
use crate::policy::indicator::RESTART_BARS;
use crate::policy::sma_cross::TIE;
use crate::policy::strategy::{MAX_INPUTS, MAX_THRESHOLDS, Signal};
use crate::policy::vol_target::STEP_SLACK;
use crate::sweep::{BLOCK, SweepRow, strategies};
pub use layout::{SweepPlan, SweepSet, SweepSpan, SweepState};

const SIGNAL: (&str, &str) = ("signal.cuh", include_str!("signal.cuh"));
const SWEEP: (&str, &str) = ("sweep.cu", include_str!("sweep.cu"));

const SIGNAL_THREADS: usize = 128;
const WARP: usize = 32;
/// Warps a multiprocessor holds at once, which bounds the registers of a thread. An H200 has four schedulers a
/// multiprocessor; three warps on each hide one another's waits.
const WALK_WARPS: usize = 12;
/// Sets in memory at a time.
const BATCH_SETS: usize = 1 << 18;
/// Table and signals of a stretch of bars take at most this much memory; a longer window runs in several stretches.
const TABLE_BYTES: usize = 4 << 30;
/// Windows end before this bar, so that a bar's words count in 32 bits.
const MAX_BARS: usize = 1 << 29;

/// Source of `sweep_*`; `flags` are those of the rules, `sized` is that of the plan.
pub fn sweep_source(flags: u32, sized: bool) -> KernelSource {
    let source = KernelSource::new("sweep.cu").texts(&[PRELUDE, ENV_STATE, ENV, SIGNAL, SWEEP]).exact();
    let signals = [
        ("SIGNAL_LONG", Signal::LONG),
        ("SIGNAL_SHORT", Signal::SHORT),
        ("SIGNAL_LEAVE_LONG", Signal::LEAVE_LONG),
        ("SIGNAL_LEAVE_SHORT", Signal::LEAVE_SHORT),
    ];
    let source = signals.into_iter().fold(env::define(source), |s, (name, bit)| s.define(name, format!("{}u", bit.0)));
    let strategies = layout::STRATEGIES.iter().enumerate();
    strategies
        .fold(source, |source, (i, name)| source.define(name, format!("{i}u")))
        .define("MAX_INPUTS", MAX_INPUTS)
        .define("MAX_THRESHOLDS", MAX_THRESHOLDS)
        .define("STEP_SLACK", format!("{STEP_SLACK:e}"))
        .define("TIE", format!("{TIE:e}"))
        .define("SIZED", u32::from(sized))
        .define("TILE", format!("{BLOCK}u"))
        .define("ROWS_AT_ONCE", ROWS_AT_ONCE)
        .define("WALK_WARPS", WALK_WARPS)
        .define("ENV_FLAGS", format!("{flags}u"))
}

/// A series on a device, and the memory to sweep grids over one window of it.
#[derive(Debug)]
pub struct GpuSweep {
    device: Device,
    rules: EnvRules,
    /// The same on the device. `[1]`
    device_rules: Buffer<EnvRules>,
    /// Bars of the window.
    range: Range<usize>,
    periods_per_year: f64,
    table_bytes: usize,
    lanes: Option<u32>,
    kernels: SweepKernels,
    /// The series from its beginning to the window's end. `[range.end]`
    bars: Buffer<EnvBar>,
    /// `[n_tile]`
    lows: Buffer<f64>,
    /// `[n_tile]`
    highs: Buffer<f64>,
    memory: Memory,
}

#[derive(Debug)]
struct SweepKernels {
    table: TableKernels,
    extremes: Kernel,
    signals: Kernel,
    walk: Kernel,
    /// Of strategies with a size, compiled when one comes.
    walk_sized: Option<Kernel>,
}

/// What a stretch of bars goes through, in order.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Indicators,
    Signals,
    Accounts,
}

/// What a run needs, kept for the next.
#[derive(Debug, Default)]
struct Memory {
    table: Option<TableBuffers>,
    signals: Option<Buffer<u64>>,
    accounts: Option<Buffer<EnvAccount>>,
    states: Option<Buffer<SweepState>>,
}

impl GpuSweep {
    /// Copies the series up to the end of the window `range` (at least 2 bars) to the device.
    ///
    /// # Errors
    /// [`EvaluateError::Mismatch`] for a window too short or outside the series; the device's.
    pub fn new(
        device: &Device,
        market: &Market<'_>,
        rules: &Rules,
        range: Range<usize>,
    ) -> Result<Self, EvaluateError> {
        let mismatch =
            |what: &str, expected, got| Err(EvaluateError::Mismatch { what: what.to_owned(), expected, got });
        if range.len() < 2 {
            return mismatch("bars of the window, at least", 2, range.len());
        }
        if range.end > market.close.len().min(MAX_BARS) {
            return mismatch("end of the window, at most", market.close.len().min(MAX_BARS), range.end);
        }
        let rules = EnvRules::new(rules, market);
        let source = sweep_source(rules.flags, false);
        let kernels = SweepKernels {
            table: TableKernels::new(device)?,
            extremes: device.kernel(&source, "sweep_extremes")?,
            signals: device.kernel(&source, "sweep_signals")?,
            walk: device.kernel(&source, "sweep_walk")?,
            walk_sized: None,
        };
        let columns: Vec<EnvBar> = (0..range.end).map(|t| EnvBar::of(market, t)).collect();
        let n_tile = (range.len() - 1).div_ceil(BLOCK as usize);
        let sweep = Self {
            device: device.clone(),
            rules,
            device_rules: device.upload("rules", &[rules])?,
            range,
            periods_per_year: market.periods_per_year,
            table_bytes: TABLE_BYTES,
            lanes: None,
            kernels,
            bars: device.upload("bars", &columns)?,
            lows: device.zeros("tile_lows", n_tile)?,
            highs: device.zeros("tile_highs", n_tile)?,
            memory: Memory::default(),
        };
        sweep.launch_extremes()?;
        Ok(sweep)
    }

    /// Bounds the memory of indicators and signals (4 GiB at first): less memory, more launches, the same bits.
    pub fn limit_table(&mut self, bytes: usize) {
        self.table_bytes = bytes;
        self.memory = Memory::default();
    }

    /// Sets of one warp, 1 to 32; fewer lanes wait less for each other, more warps share a multiprocessor. `None`
    /// chooses by the number of sets. The bits do not depend on it.
    pub fn set_lanes(&mut self, lanes: Option<u32>) {
        self.lanes = lanes.map(|lanes| lanes.clamp(1, WARP as u32));
    }

    /// Copies, waits and launches of the device so far.
    pub fn traffic(&self) -> Traffic {
        self.device.traffic()
    }

    /// Bar evaluations of a grid: sets × decisions.
    pub fn evaluations(&self, grid: &Grid) -> u64 {
        grid.len() as u64 * (self.range.len() as u64 - 1)
    }

    /// Runs every set of `grid`; rows are in the grid's order and equal [`sweep::cpu`](crate::sweep::cpu)'s.
    /// `risk_free` is an annual rate. One synchronisation and one read per 262,144 sets.
    ///
    /// # Errors
    /// [`EvaluateError::Sweep`] for a grid of a strategy that is no rule over indicators; the device's.
    pub fn run(&mut self, grid: &Grid, risk_free: f64) -> Result<Vec<SweepRow>, EvaluateError> {
        let mut rows = Vec::with_capacity(grid.len());
        for first in (0..grid.len()).step_by(BATCH_SETS) {
            let batch = strategies(grid, first..grid.len().min(first + BATCH_SETS))?;
            let states = self.run_batch(&SweepPlan::new(&batch), &mut |_| Ok(()))?;
            let row = |state: &SweepState| state.row(self.rules.initial_cash, risk_free, self.periods_per_year);
            rows.extend(states.iter().map(row));
        }
        Ok(rows)
    }

    /// Seconds the first 262,144 sets spend in indicators, signals and accounts, waiting for each: for tuning.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn stage_secs(&mut self, grid: &Grid) -> Result<[f64; 3], EvaluateError> {
        let batch = strategies(grid, 0..grid.len().min(BATCH_SETS))?;
        let device = self.device.clone();
        let (mut secs, mut last) = ([0.0; 3], Instant::now());
        self.run_batch(&SweepPlan::new(&batch), &mut |stage| {
            device.synchronize()?;
            secs[stage as usize] += last.elapsed().as_secs_f64();
            last = Instant::now();
            Ok(())
        })?;
        Ok(secs)
    }

    fn run_batch(
        &mut self,
        plan: &SweepPlan,
        after: &mut dyn FnMut(Stage) -> Result<(), GpuError>,
    ) -> Result<Vec<SweepState>, GpuError> {
        let chunk = self.chunk_bars(plan);
        if plan.sized && self.kernels.walk_sized.is_none() {
            let source = sweep_source(self.rules.flags, true);
            self.kernels.walk_sized = Some(self.device.kernel(&source, "sweep_walk")?);
        }
        let mut memory = std::mem::take(&mut self.memory);
        memory.reserve(&self.device, plan, chunk)?;
        let Memory { table: Some(table), signals: Some(signals), accounts: Some(accounts), states: Some(states) } =
            &memory
        else {
            return Ok(Vec::new());
        };
        let sets = self.device.upload("sweep_sets", &plan.sets)?;
        let n_decision = (self.range.len() - 1) as u32;
        for from in (0..n_decision).step_by(chunk) {
            let span = SweepSpan {
                start: self.range.start as u32,
                n_decision,
                from,
                n: (chunk as u32).min(n_decision - from),
                n_set: plan.sets.len() as u32,
                lanes: self.lanes.unwrap_or_else(|| lanes_for(plan.sets.len(), self.device.facts().n_sm)),
            };
            let first = span.start + from;
            for step in plan.table.steps(first..first + span.n, if from == 0 { 0 } else { first }) {
                self.kernels.table.launch(&self.device, step, &self.bars, table)?;
            }
            after(Stage::Indicators)?;
            self.launch_signals(plan, span, &sets, table, signals)?;
            after(Stage::Signals)?;
            self.launch_walk(plan, span, (&sets, table), signals, accounts, states)?;
            after(Stage::Accounts)?;
        }
        let result = states.read();
        self.memory = memory;
        result
    }

    /// Decisions of one stretch: a multiple of [`RESTART_BARS`] whose table and signals fit the limit and the device.
    fn chunk_bars(&self, plan: &SweepPlan) -> usize {
        let extremes = plan.table.level_elements(RESTART_BARS) / RESTART_BARS;
        let bytes_per_bar = (plan.table.stride as usize + extremes) * 8 + plan.sets.len() * 8 / BLOCK as usize;
        let fits = self.table_bytes / bytes_per_bar.max(1) / RESTART_BARS * RESTART_BARS;
        fits.clamp(RESTART_BARS, self.range.len().next_multiple_of(RESTART_BARS))
    }

    /// Runs `sweep_extremes` over the window.
    #[allow(unsafe_code)]
    fn launch_extremes(&self) -> Result<(), GpuError> {
        let n_decision = (self.range.len() - 1) as u32;
        let launch = self.kernels.extremes.launch().buffer(&self.bars).buffer(&self.lows).buffer(&self.highs);
        let launch = launch.value(self.range.start as u32).value(n_decision);
        // SAFETY: the arguments are sweep_extremes's; it writes one element per tile of the window.
        unsafe { launch.run(&self.device, LaunchShape::covering(self.lows.len(), SIGNAL_THREADS)) }
    }

    /// Runs `sweep_signals`: signals `[tiles, n_set]`.
    #[allow(unsafe_code)]
    fn launch_signals(
        &self,
        plan: &SweepPlan,
        span: SweepSpan,
        sets: &Buffer<SweepSet>,
        table: &TableBuffers,
        signals: &Buffer<u64>,
    ) -> Result<(), GpuError> {
        let launch = self.kernels.signals.launch().buffer(&self.bars).buffer(&table.table).buffer(sets);
        let launch = launch.buffer(signals).value(span).value(plan.table.stride).value(plan.strategy);
        let mut shape = LaunchShape::covering(plan.sets.len(), SIGNAL_THREADS);
        shape.grid[1] = span.n.div_ceil(BLOCK).min(ROWS_AT_ONCE);
        // SAFETY: the arguments are sweep_signals's; table and signals hold at least span.n bars.
        unsafe { launch.run(&self.device, shape) }
    }

    /// Runs `sweep_walk`: a warp per block.
    #[allow(unsafe_code)]
    fn launch_walk(
        &self,
        plan: &SweepPlan,
        span: SweepSpan,
        (sets, table): (&Buffer<SweepSet>, &TableBuffers),
        signals: &Buffer<u64>,
        accounts: &Buffer<EnvAccount>,
        states: &Buffer<SweepState>,
    ) -> Result<(), GpuError> {
        let kernel = self.kernels.walk_sized.as_ref().filter(|_| plan.sized).unwrap_or(&self.kernels.walk);
        let launch = kernel.launch().buffer(&self.device_rules).buffer(&self.bars).buffer(&self.lows);
        let launch = launch.buffer(&self.highs).buffer(signals).buffer(accounts).buffer(states).value(span);
        let launch = launch.buffer(&table.table).buffer(sets).value(plan.table.stride);
        let launch = launch.value(self.periods_per_year.sqrt());
        let n_block = (span.n_set as usize).div_ceil(span.lanes as usize);
        // SAFETY: the arguments are sweep_walk's; it clamps bars to the window and sets to n_set.
        unsafe { launch.run(&self.device, LaunchShape::line(n_block, WARP)) }
    }
}

/// Sets of one warp: full warps where every multiprocessor gets two, else fewer, which wait less for each other.
fn lanes_for(n_set: usize, n_sm: usize) -> u32 {
    let lanes = n_set.div_ceil(n_sm * 2).next_power_of_two();
    lanes.clamp(4, WARP) as u32
}

impl Memory {
    /// Makes room for a batch; what is large enough is kept.
    fn reserve(&mut self, device: &Device, plan: &SweepPlan, chunk: usize) -> Result<(), GpuError> {
        let (n_set, n_column) = (plan.sets.len(), plan.table.lengths.len());
        let n_table = chunk * plan.table.stride as usize;
        let n_level = plan.table.level_elements(chunk);
        let (table, levels) = match self.table.take() {
            Some(kept) => (Some(kept.table), Some(kept.levels)),
            None => (None, None),
        };
        self.table = Some(TableBuffers {
            lengths: device.upload("indicator_lengths", &plan.table.lengths)?,
            states: device.zeros("indicator_states", n_column)?,
            table: at_least(device, "indicator_table", table, n_table)?,
            levels: at_least(device, "indicator_levels", levels, n_level)?,
        });
        let n_word = n_set * chunk.div_ceil(BLOCK as usize);
        self.signals = Some(at_least(device, "sweep_signals", self.signals.take(), n_word)?);
        self.accounts = Some(at_least(device, "sweep_accounts", self.accounts.take(), n_set)?);
        // Read back whole, so exactly as long.
        let states = self.states.take().filter(|kept| kept.len() == n_set);
        self.states = Some(at_least(device, "sweep_states", states, n_set)?);
        Ok(())
    }
}

/// `kept` if it is long enough, else a new buffer; the old one is freed first.
fn at_least<T: Plain>(
    device: &Device,
    name: &'static str,
    kept: Option<Buffer<T>>,
    len: usize,
) -> Result<Buffer<T>, GpuError> {
    match kept {
        Some(kept) if kept.len() >= len => Ok(kept),
        other => {
            drop(other);
            device.zeros(name, len)
        }
    }
}
