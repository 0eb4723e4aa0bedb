//! Source and launch of `replay.cu`: given levels, one thread per pair.

use std::ops::Range;

use gigabar_gpu::header::PRELUDE;
use gigabar_gpu::{Buffer, Device, GpuError, Kernel, KernelSource, LaunchShape};

use super::layout::{self, EnvTrade, RolloutPair};
use super::pool::shared_windows;
use super::rollout::{ENV, ENV_STATE, MarketBuffers, PathBuffers, WINDOW};

const REPLAY: (&str, &str) = ("replay.cu", include_str!("replay.cu"));
/// Blocks a multiprocessor can hold at least, so that as many warps run side by side.
const BLOCKS_PER_SM: usize = 16;
const WARP: usize = 32;

/// Source of `replay_given` and `replay_levels`; `flags` are those of all rules together, `path` writes cash, units and
/// level too.
pub fn given_source(flags: u32, path: bool) -> KernelSource {
    let source = KernelSource::new("replay.cu").texts(&[PRELUDE, ENV_STATE, ENV, WINDOW, REPLAY]).exact();
    layout::define(source).define("WRITE_PATH", u32::from(path)).define("ENV_FLAGS", format!("{flags}u"))
}

/// Where closed trades go.
#[derive(Debug)]
pub(crate) struct TradeBuffers {
    /// `[Σ room]`
    pub(crate) trades: Buffer<EnvTrade>,
    /// Where each pair's trades begin, and the end of the last one's. `[n_pair + 1]`
    pub(crate) start: Buffer<i64>,
}

impl TradeBuffers {
    /// Room for `room[i]` trades of pair i.
    ///
    /// # Errors
    /// The device's, when memory is short.
    pub(crate) fn with_room(device: &Device, room: impl IntoIterator<Item = usize>) -> Result<Self, GpuError> {
        let mut start = vec![0_i64];
        start.extend(room.into_iter().scan(0, |end, room| {
            *end += room as i64;
            Some(*end)
        }));
        let n_trades = start.last().map_or(0, |&end| end as usize);
        Ok(Self { trades: device.zeros("trades", n_trades)?, start: device.upload("trade_start", &start)? })
    }
}

/// Runs `replay_given` for the decisions `steps`: `levels` is the address of f64 `[Σ n_bars]`.
///
/// # Errors
/// [`GpuError::Launch`].
#[allow(unsafe_code)]
pub(crate) fn launch_given(
    device: &Device,
    kernel: &Kernel,
    market: &MarketBuffers,
    path: &PathBuffers,
    levels: u64,
    trades: &TradeBuffers,
    steps: Range<u32>,
) -> Result<(), GpuError> {
    let n_pair = path.pairs.len();
    let launch = kernel
        .launch()
        .buffer(&market.bars)
        .buffer(&market.windows)
        .buffer(&market.rules)
        .buffer(&path.pairs)
        .value(levels)
        .buffer(&path.accounts)
        .buffer(&path.equity)
        .buffer(&path.returns)
        .buffer(&path.cash)
        .buffer(&path.units)
        .buffer(&path.level)
        .buffer(&trades.trades)
        .buffer(&trades.start)
        .value(n_pair as u32)
        .value(steps.start)
        .value(steps.end - steps.start);
    // SAFETY: the arguments are replay_given's, in order; every pair's window and path lie inside the buffers, which
    // the evaluator allocated from the same lengths, and its trades between two elements of `start`.
    unsafe { launch.run(device, LaunchShape::covering(n_pair, threads_of(n_pair, device.facts().n_sm))) }
}

/// Runs `replay_levels`: what the actions `[Σ]`, of which pair i's begin at `from[i]`, stand for in `action_levels`
/// `[n_policy, n_action]`, into `levels` at every pair's path.
///
/// # Errors
/// The device's.
#[allow(unsafe_code)]
pub(crate) fn launch_levels(
    device: &Device,
    kernel: &Kernel,
    market: &MarketBuffers,
    pairs: &Buffer<RolloutPair>,
    (from, actions): (&Buffer<i64>, &Buffer<u8>),
    (action_levels, n_action): (&Buffer<f64>, usize),
    levels: &Buffer<f64>,
) -> Result<(), GpuError> {
    let launch = kernel.launch().buffer(&market.windows).buffer(pairs).buffer(from).buffer(actions);
    let launch = launch.buffer(action_levels).value(n_action as u32).buffer(levels);
    // SAFETY: the arguments are replay_levels'; a pair has as many actions at `from` as levels at its path.
    unsafe { launch.run(device, shared_windows(pairs.len())) }
}

/// Lanes of a warp follow each other through every branch, so a pair is fastest in a warp of its own: blocks grow only
/// when there are more pairs than warps.
fn threads_of(n_pair: usize, n_sm: usize) -> usize {
    n_pair.div_ceil(n_sm.max(1) * BLOCKS_PER_SM).next_power_of_two().clamp(1, WARP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_spread_over_all_multiprocessors_before_they_share_a_warp() {
        assert_eq!([1, 8, 2_112, 2_113, 9_301, 1 << 20].map(|n| threads_of(n, 132)), [1, 1, 1, 2, 8, 32]);
    }
}
