//! Launches of `pool.cu`: the columns of holding the instrument, and of windows strung together as one account.

use gigabar_gpu::header::PRELUDE;
use gigabar_gpu::{Buffer, Device, GpuError, KernelSource, LaunchShape, Plain};

use super::full_metrics::FullSeries;
use super::layout;
use super::rollout::{ENV, ENV_STATE, MarketBuffers, WINDOW};
use crate::report::takeover;

const POOL: (&str, &str) = ("pool.cu", include_str!("pool.cu"));
const F64: u64 = size_of::<f64>() as u64;
const THREADS: usize = 256;
/// Blocks that share one window.
const SHARES: u32 = 32;

/// Source of `pool_hold` and `pool_chain`.
pub fn pool_source() -> KernelSource {
    layout::define(KernelSource::new("pool.cu").texts(&[PRELUDE, ENV_STATE, ENV, WINDOW, POOL]).exact())
}

/// One window on its way into an account: addresses of its columns and of where they go.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct PoolSpan {
    /// f64 `[n + 1]`.
    pub equity: u64,
    /// f64 `[n]`.
    pub returns: u64,
    /// f64 `[n + 1]`, of which the first point belongs to the window before.
    pub to_equity: u64,
    /// f64 `[n]`.
    pub to_returns: u64,
    /// What its money is multiplied by.
    pub scale: f64,
    /// Returns.
    pub n: i64,
    /// 1 for the first of its account.
    pub is_first: i64,
}
const _: () = assert!(size_of::<PoolSpan>() == 56);

#[allow(unsafe_code)]
mod plain {
    use super::{Plain, PoolSpan};
    // SAFETY: repr(C) of numbers; pool.cu asserts the same size. Addresses are numbers to the host.
    unsafe impl Plain for PoolSpan {}
}

/// What the money of each window is multiplied by when windows follow each other as one account, given the equity each
/// begins and ends with.
pub fn takeovers(ends: impl IntoIterator<Item = (f64, f64)>) -> Vec<f64> {
    let mut before = None;
    let scale = |(first, last): (f64, f64)| {
        let scale = takeover(before, first);
        before = Some(last * scale);
        scale
    };
    ends.into_iter().map(scale).collect()
}

/// How `windows` (account by account, `n_window` each, with their `scales`) become accounts, whose equity `[1 + Σ n]`
/// and returns `[Σ n]` lie side by side from `equity` and `returns` on.
pub fn spans(
    windows: &[FullSeries],
    n_window: usize,
    scales: &[f64],
    mut equity: u64,
    mut returns: u64,
) -> Vec<PoolSpan> {
    let span = |(i, (window, &scale)): (usize, (&FullSeries, &f64))| {
        let span = PoolSpan {
            equity: window.equity,
            returns: window.returns,
            to_equity: equity,
            to_returns: returns,
            scale,
            n: window.n,
            is_first: i64::from(i % n_window == 0),
        };
        // After an account's last point comes the first of the next.
        equity += (window.n as u64 + u64::from((i + 1) % n_window == 0)) * F64;
        returns += window.n as u64 * F64;
        span
    };
    windows.iter().zip(scales).enumerate().map(span).collect()
}

/// The accounts that [`spans`] fills, whose windows' trades lie side by side; `benchmark` is the same for all.
pub fn accounts_of(
    windows: &[FullSeries],
    n_window: usize,
    (mut equity, mut returns): (u64, u64),
    benchmark: u64,
) -> Vec<FullSeries> {
    let account = |own: &[FullSeries]| {
        let n: i64 = own.iter().map(|window| window.n).sum();
        let n_trades = own.iter().map(|window| window.n_trades).sum();
        let account = FullSeries { returns, equity, benchmark, trades: own[0].trades, n, n_trades, first_part: 0 };
        equity += (n as u64 + 1) * F64;
        returns += n as u64 * F64;
        account
    };
    windows.chunks(n_window).map(account).collect()
}

/// Blocks for `n` windows of threads that share each.
pub(crate) fn shared_windows(n: usize) -> LaunchShape {
    let mut shape = LaunchShape::line(n, THREADS);
    shape.grid[1] = SHARES;
    shape
}

/// Equity and returns of holding the instrument over each window, both at the window's row. `[n_rows]` each
///
/// # Errors
/// The device's.
#[allow(unsafe_code)]
pub(crate) fn hold_columns(device: &Device, market: &MarketBuffers) -> Result<(Buffer<f64>, Buffer<f64>), GpuError> {
    let kernel = device.kernel(&pool_source(), "pool_hold")?;
    let equity = device.zeros("hold_equity", market.bars.len())?;
    let returns = device.zeros("hold_returns", market.bars.len())?;
    let launch = kernel.launch().buffer(&market.bars).buffer(&market.windows).buffer(&market.rules);
    let launch = launch.buffer(&equity).buffer(&returns);
    // SAFETY: the arguments are pool_hold's; every window lies inside the rows of `bars`.
    unsafe { launch.run(device, shared_windows(market.windows.len()))? };
    Ok((equity, returns))
}

/// Strings windows together.
///
/// # Errors
/// The device's.
#[allow(unsafe_code)]
pub(crate) fn chain(device: &Device, spans: &[PoolSpan]) -> Result<(), GpuError> {
    if spans.is_empty() {
        return Ok(());
    }
    let kernel = device.kernel(&pool_source(), "pool_chain")?;
    let on_device = device.upload("spans", spans)?;
    let launch = kernel.launch().buffer(&on_device);
    // SAFETY: the argument is pool_chain's; the caller's spans name columns of their lengths.
    unsafe { launch.run(device, shared_windows(spans.len())) }
}
