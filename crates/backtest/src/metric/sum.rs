//! Fixed-shape reductions: the same input gives the same bits on any number of threads.
//!
//! The shape, which a kernel can copy lane for lane:
//! 1. the input is cut into blocks of [`BLOCK`] = 4096 elements, the last one possibly shorter;
//! 2. inside a block, lane l of [`LANES`] = 256 adds elements l, l + 256, l + 512, … in that order, starting from 0;
//! 3. the lanes fold as a binary tree: for stride 128, 64, …, 1, lane l < stride takes lane l + stride;
//! 4. the blocks' results fold as a binary tree over neighbours: (0, 1), (2, 3), …; a last odd one passes unchanged.

use rayon::prelude::*;

/// Accumulators of one block.
pub const LANES: usize = 256;
/// Elements of one block; 32 KiB of f64, so that a second look at a block is served by the first-level cache.
pub const BLOCK: usize = 4096;
/// Below this many elements handing blocks to other threads costs more than it saves.
const PARALLEL_FROM: usize = 16 * BLOCK;

/// Sum over all elements; NaN propagates.
pub fn sum(values: &[f64]) -> f64 {
    tree(map_blocks(values, |block| block_sums(block, |x| [x])[0]), |a, b| a + b).unwrap_or(0.0)
}

/// Applies `f` to every block, in parallel for long inputs; results are in block order.
pub fn map_blocks<I: Sync, T: Send>(values: &[I], f: impl Fn(&[I]) -> T + Sync + Send) -> Vec<T> {
    if values.len() < PARALLEL_FROM {
        values.chunks(BLOCK).map(f).collect()
    } else {
        values.par_chunks(BLOCK).with_min_len(8).map(f).collect()
    }
}

/// As [`map_blocks`], over two columns of one length.
pub fn map_block_pairs<T: Send>(a: &[f64], b: &[f64], f: impl Fn(&[f64], &[f64]) -> T + Sync + Send) -> Vec<T> {
    if a.len() < PARALLEL_FROM {
        a.chunks(BLOCK).zip(b.chunks(BLOCK)).map(|(a, b)| f(a, b)).collect()
    } else {
        a.par_chunks(BLOCK).zip(b.par_chunks(BLOCK)).with_min_len(8).map(|(a, b)| f(a, b)).collect()
    }
}

/// K sums over one block, of the K contributions `f` makes of an element.
#[inline]
pub fn block_sums<I: Copy, const K: usize>(block: &[I], f: impl Fn(I) -> [f64; K]) -> [f64; K] {
    block_fold(block, 0.0, f, |a, b| a + b)
}

/// As [`block_sums`], over two columns of one length.
#[inline]
pub fn block_pair_sums<const K: usize>(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> [f64; K]) -> [f64; K] {
    let mut lanes = [[0.0; LANES]; K];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for (lane, (&x, &y)) in a.iter().zip(b).enumerate() {
            for (sums, term) in lanes.iter_mut().zip(f(x, y)) {
                sums[lane] += term;
            }
        }
    }
    lanes.map(|lanes| fold_lanes(lanes, &|a, b| a + b))
}

/// The lane shape with any operation that has `identity`: sums, products, extremes.
#[inline]
pub fn block_fold<I: Copy, const K: usize>(
    block: &[I],
    identity: f64,
    f: impl Fn(I) -> [f64; K],
    join: impl Fn(f64, f64) -> f64,
) -> [f64; K] {
    let mut lanes = [[identity; LANES]; K];
    for row in block.chunks(LANES) {
        for (lane, &x) in row.iter().enumerate() {
            for (sums, term) in lanes.iter_mut().zip(f(x)) {
                sums[lane] = join(sums[lane], term);
            }
        }
    }
    lanes.map(|lanes| fold_lanes(lanes, &join))
}

fn fold_lanes(mut lanes: [f64; LANES], join: &impl Fn(f64, f64) -> f64) -> f64 {
    let mut stride = LANES / 2;
    while stride > 0 {
        let (low, high) = lanes.split_at_mut(stride);
        for (a, &b) in low.iter_mut().zip(high.iter()) {
            *a = join(*a, b);
        }
        stride /= 2;
    }
    lanes[0]
}

/// Folds the blocks' results as a binary tree over neighbours; `None` of nothing.
pub fn tree<T: Copy>(mut parts: Vec<T>, join: impl Fn(T, T) -> T) -> Option<T> {
    while parts.len() > 1 {
        let half = parts.len().div_ceil(2);
        for i in 0..half {
            let left = parts[2 * i];
            parts[i] = parts.get(2 * i + 1).map_or(left, |&right| join(left, right));
        }
        parts.truncate(half);
    }
    parts.first().copied()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sums_of_integers_are_exact_at_every_length_around_the_block_edges() {
        for n in [0_usize, 1, 2, 255, 256, 257, 4095, 4096, 4097, 3 * 4096 + 17, 100_003] {
            let values: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            assert_eq!(sum(&values), (n * (n + 1) / 2) as f64, "n = {n}");
        }
    }

    #[test]
    fn shape_is_the_documented_one() {
        // Values whose sum depends on the order: the tree by hand on 3 blocks, lanes by explicit indices.
        let values: Vec<f64> = (0..2 * BLOCK + 300).map(|i| 1.0 / (1.0 + i as f64) - 0.3).collect();
        let by_hand = |block: &[f64]| {
            let mut lanes: Vec<f64> =
                (0..LANES).map(|lane| (lane..block.len()).step_by(LANES).fold(0.0, |acc, i| acc + block[i])).collect();
            for stride in [128, 64, 32, 16, 8, 4, 2, 1] {
                for lane in 0..stride {
                    lanes[lane] += lanes[lane + stride];
                }
            }
            lanes[0]
        };
        let parts: Vec<f64> = values.chunks(BLOCK).map(by_hand).collect();
        assert_eq!(sum(&values), (parts[0] + parts[1]) + parts[2]);
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        let values: Vec<f64> = (0..500_000_u64).map(|i| ((i * 7919) % 1009) as f64 * 1e-3 - 0.5).collect();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sum(&values)).to_bits()
        };
        assert_eq!(with(1), with(2));
        assert_eq!(with(1), with(5));
    }

    #[test]
    fn tree_pairs_neighbours_and_passes_the_odd_one() {
        let words = [97.0, 98.0, 99.0, 100.0, 101.0];
        let joined = tree(words.iter().map(|&w| (w, 1)).collect(), |a, b| (a.0 - b.0, a.1 + b.1));
        // ((97 − 98) − (99 − 100)) − 101 = ((-1) - (-1)) - 101
        assert_eq!(joined, Some((-101.0, 5)));
        assert_eq!(tree(Vec::<f64>::new(), |a, _| a), None);
    }
}
