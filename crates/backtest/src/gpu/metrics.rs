//! [`WindowSummary`]: the few numbers of a pair that leave the device, and the launch of `metrics.cu`.

use gigabar_gpu::{Buffer, Device, GpuError, Kernel, LaunchShape, Plain};

use super::rollout::{MarketBuffers, PathBuffers};
use crate::metric::sum::{BLOCK, LANES};

/// Bits of [`WindowSummary::flags`].
const HAS_SHARPE: u32 = 1;
const RUINED: u32 = 2;
/// Statistics of one block of elements.
pub(crate) const METRIC: (&str, &str) = ("metric.cuh", include_str!("metric.cuh"));

/// The constants `metrics.cu` needs.
pub(crate) const CONSTANTS: [(&str, u32); 4] =
    [("SUMMARY_HAS_SHARPE", HAS_SHARPE), ("SUMMARY_RUINED", RUINED), ("LANES", LANES as u32), ("BLOCK", BLOCK as u32)];

/// What one policy earned in one window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct WindowSummary {
    /// E_n − E_0, quote currency.
    pub total_pnl: f64,
    /// E_n/E_0 − 1.
    pub total_return: f64,
    /// Annualised; meaningful where [`Self::sharpe`] is `Some`.
    sharpe: f64,
    /// Largest fall from a peak, a fraction.
    pub max_drawdown: f64,
    /// E_n, quote currency.
    pub final_equity: f64,
    /// Commission, spread and slippage paid, quote currency.
    pub costs: f64,
    /// Closed trades.
    pub n_trades: u32,
    /// Bars in which a position was open.
    pub bars_in_market: u32,
    /// Bars of the window.
    pub n_bars: u32,
    flags: u32,
}
const _: () = assert!(size_of::<WindowSummary>() == 64);

impl WindowSummary {
    /// Annualised Sharpe ratio; `None` where [`metric::sharpe`](crate::metric::sharpe) is.
    pub fn sharpe(&self) -> Option<f64> {
        (self.flags & HAS_SHARPE != 0).then_some(self.sharpe)
    }

    /// Whether equity was exhausted or the position liquidated.
    pub fn ruined(&self) -> bool {
        self.flags & RUINED != 0
    }
}

#[allow(unsafe_code)]
mod plain {
    use super::{Plain, WindowSummary};
    // SAFETY: repr(C) of numbers; metrics.cu asserts the same size.
    unsafe impl Plain for WindowSummary {}
}

/// Runs `metrics_summarise`: one block per pair; out `[n_pair]`.
///
/// # Errors
/// [`GpuError::Launch`].
#[allow(unsafe_code)]
pub(crate) fn launch_summarise(
    device: &Device,
    kernel: &Kernel,
    market: &MarketBuffers,
    path: &PathBuffers,
    risk_free: f64,
    out: &Buffer<WindowSummary>,
) -> Result<(), GpuError> {
    let launch = kernel
        .launch()
        .buffer(&market.windows)
        .buffer(&path.pairs)
        .buffer(&path.accounts)
        .buffer(&path.equity)
        .buffer(&path.returns)
        .buffer(&market.periods_per_year)
        .value(risk_free)
        .buffer(out);
    // SAFETY: the arguments are metrics_summarise's; all buffers come from the same list of pairs.
    unsafe { launch.run(device, LaunchShape::line(path.pairs.len(), LANES)) }
}
