//! Drawdowns of the equity: d_t = 1 − E_t/peak_t with peak_t = max(E_0, …, E_t). The peak is seeded with E_0, so the
//! first loss counts.
//!
//! - max_drawdown: the largest d_t, a fraction in [0, 1] while equity is not negative; 0 without a loss.
//! - max_drawdown_bars: the longest stretch of bars under water (E_t < peak_t), a still open one included.
//! - recovery_bars: bars from the deepest trough (the first, if several are equally deep) to the first bar back at or
//!   above its peak; undefined if never, or without a drawdown.
//! - recovered: whether the last peak was regained, i.e. the window does not end under water.
//!
//! Undefined without an equity or with E_0 ≤ 0. Equity holds no NaN.

use rayon::prelude::*;

use super::defined;
use super::sum::{BLOCK, block_sums, map_blocks, tree};

/// Everything that is said about drawdowns, from one equity curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawdown {
    /// Largest loss from a peak, a fraction.
    pub max: f64,
    /// Longest stretch under water, bars.
    pub max_bars: usize,
    /// Bars from the deepest trough back to its peak.
    pub recovery_bars: Option<usize>,
    /// Whether the window does not end under water.
    pub recovered: bool,
    /// Σd_t² over the n bars.
    pub sum_squares: f64,
    /// ΣE_t over all n + 1 points.
    pub equity_sum: f64,
    /// Bars, n.
    pub n: usize,
}

impl Drawdown {
    /// Of an equity curve E_0..E_n.
    pub fn of(equity: &[f64]) -> Option<Self> {
        if equity.first().is_none_or(|&first| first.is_nan() || first <= 0.0) {
            return None;
        }
        let maxima = map_blocks(equity, |block| block.iter().copied().fold(0.0, f64::max));
        let peaks = peaks_before(&maxima);
        let blocks: Vec<BlockDrawdown> = if equity.len() <= 4 * BLOCK {
            equity.chunks(BLOCK).zip(&peaks).map(|(block, &peak)| BlockDrawdown::of(block, peak)).collect()
        } else {
            equity.par_chunks(BLOCK).zip(&peaks).map(|(block, &peak)| BlockDrawdown::of(block, peak)).collect()
        };
        Some(Self::join(equity, &blocks))
    }

    fn join(equity: &[f64], blocks: &[BlockDrawdown]) -> Self {
        let n = equity.len() - 1;
        let mut last_peak = 0;
        let mut max_bars = 0;
        let mut deepest = Trough { depth: 0.0, index: 0, peak: equity[0] };
        for (i, block) in blocks.iter().enumerate() {
            let start = i * BLOCK;
            if let Some((first, last)) = block.peaks {
                max_bars = max_bars.max((start + first).saturating_sub(last_peak + 1)).max(block.longest_inside);
                last_peak = start + last;
            }
            if block.trough.depth > deepest.depth {
                deepest = Trough { index: start + block.trough.index, ..block.trough };
            }
        }
        let back = |trough: Trough| equity[trough.index..].iter().position(|&e| e >= trough.peak);
        let [sum_squares, equity_sum] =
            tree(blocks.iter().map(|b| b.sums).collect(), |a, b| [a[0] + b[0], a[1] + b[1]]).unwrap_or([0.0; 2]);
        Self {
            max: deepest.depth,
            max_bars: max_bars.max(n - last_peak),
            recovery_bars: if deepest.depth > 0.0 { back(deepest) } else { None },
            recovered: last_peak == n,
            sum_squares,
            equity_sum,
            n,
        }
    }
}

#[derive(Clone, Copy)]
struct Trough {
    depth: f64,
    index: usize,
    peak: f64,
}

/// One block, told the highest equity before it.
struct BlockDrawdown {
    /// First and last point at its running peak.
    peaks: Option<(usize, usize)>,
    /// Longest stretch between two peaks of this block.
    longest_inside: usize,
    trough: Trough,
    /// Σd², ΣE.
    sums: [f64; 2],
}

impl BlockDrawdown {
    fn of(block: &[f64], peak_before: f64) -> Self {
        let mut depths = [0.0; BLOCK];
        let mut peaks: Option<(usize, usize)> = None;
        let mut longest_inside = 0;
        let mut peak = peak_before;
        let mut trough = Trough { depth: 0.0, index: 0, peak };
        for (index, (&e, depth)) in block.iter().zip(&mut depths).enumerate() {
            if e >= peak {
                peak = e;
                if let Some((_, last)) = peaks {
                    longest_inside = longest_inside.max(index - last - 1);
                }
                peaks = Some((peaks.map_or(index, |(first, _)| first), index));
                continue;
            }
            *depth = 1.0 - e / peak;
            if *depth > trough.depth {
                trough = Trough { depth: *depth, index, peak };
            }
        }
        let [squares] = block_sums(&depths[..block.len()], |d| [d * d]);
        let [equity] = block_sums(block, |e| [e]);
        Self { peaks, longest_inside, trough, sums: [squares, equity] }
    }
}

/// The highest equity before each block; before the first: 0, so that E_0 is a peak.
fn peaks_before(maxima: &[f64]) -> Vec<f64> {
    maxima
        .iter()
        .scan(0.0_f64, |peak, &max| {
            let before = *peak;
            *peak = peak.max(max);
            Some(before)
        })
        .collect()
}

/// Largest fall from a peak, a fraction.
pub fn max_drawdown(equity: &[f64]) -> Option<f64> {
    Drawdown::of(equity).and_then(|d| defined(d.max))
}

/// Longest stretch under water, bars.
pub fn max_drawdown_bars(equity: &[f64]) -> Option<usize> {
    Drawdown::of(equity).map(|d| d.max_bars)
}

/// Bars from the deepest trough back to its peak.
pub fn recovery_bars(equity: &[f64]) -> Option<usize> {
    Drawdown::of(equity).and_then(|d| d.recovery_bars)
}

/// Whether the last peak was regained.
pub fn recovered(equity: &[f64]) -> Option<bool> {
    Drawdown::of(equity).map(|d| d.recovered)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        let d = Drawdown::of(&[100.0, 75.0, 100.0, 120.0, 90.0, 60.0, 80.0, 119.0, 120.0, 110.0]).unwrap();
        assert_eq!((d.max, d.max_bars, d.recovery_bars, d.recovered), (0.5, 4, Some(3), false));
        assert_eq!(d.n, 9);
        assert_eq!(d.equity_sum, 974.0);
    }

    #[test]
    fn the_first_loss_counts_and_an_open_tail_is_a_stretch() {
        let d = Drawdown::of(&[100.0, 50.0, 60.0, 70.0]).unwrap();
        assert_eq!((d.max, d.max_bars, d.recovery_bars, d.recovered), (0.5, 3, None, false));
    }

    #[test]
    fn no_loss() {
        let d = Drawdown::of(&[100.0, 100.0, 130.0]).unwrap();
        assert_eq!((d.max, d.max_bars, d.recovery_bars, d.recovered), (0.0, 0, None, true));
        assert_eq!(max_drawdown(&[100.0]), Some(0.0));
    }

    #[test]
    fn undefined_without_a_positive_start() {
        assert_eq!(Drawdown::of(&[]), None);
        assert_eq!(Drawdown::of(&[0.0, 1.0]), None);
    }

    #[test]
    fn blocks_agree_with_one_plain_loop() {
        let n = 9 * BLOCK + 123;
        // Long waves and short ones, so that stretches lie within blocks, across one edge and across several.
        let equity: Vec<f64> = (0..n)
            .map(|i| 100.0 + (i as f64 / 3000.0).sin() * 30.0 + (i as f64 / 7.0).cos() * 2.0 + i as f64 * 0.002)
            .collect();
        let (mut peak, mut max, mut run, mut longest, mut squares) = (0.0_f64, 0.0_f64, 0, 0, 0.0);
        for &e in &equity {
            peak = peak.max(e);
            run = if e < peak { run + 1 } else { 0 };
            longest = longest.max(run);
            max = max.max(1.0 - e / peak);
            squares += (1.0 - e / peak).powi(2);
        }
        let d = Drawdown::of(&equity).unwrap();
        assert_eq!((d.max, d.max_bars, d.recovered), (max, longest, run == 0));
        assert!((d.sum_squares / squares - 1.0).abs() < 1e-12);
    }
}
