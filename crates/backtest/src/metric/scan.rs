//! Everything the metrics need of a window's returns, read in one pass over memory.

use super::Moments;
use super::moments::not_negative;
use super::sum::{block_fold, block_pair_sums, block_sums, map_block_pairs, map_blocks, tree};

/// Moments of the returns and their excess and shortfall against a threshold. NaN returns are skipped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReturnStats {
    /// Moments and extremes.
    pub moments: Moments,
    /// θ, the return of one bar that excess and shortfall are measured from.
    pub threshold: f64,
    /// Σmax(r − θ, 0).
    pub excess: f64,
    /// Σmax(θ − r, 0).
    pub shortfall: f64,
    /// Σmin(r − θ, 0)².
    pub downside_squares: f64,
}

impl ReturnStats {
    /// Of a series, against a threshold per bar.
    pub fn of(returns: &[f64], threshold: f64) -> Self {
        let empty = Self { moments: Moments::EMPTY, threshold, excess: 0.0, shortfall: 0.0, downside_squares: 0.0 };
        tree(map_blocks(returns, |block| Self::block(block, threshold)), Self::join).unwrap_or(empty)
    }

    fn block(block: &[f64], threshold: f64) -> Self {
        let [excess, shortfall, downside_squares] = block_sums(block, |r| {
            let d = r - threshold;
            let above = if d > 0.0 { d } else { 0.0 };
            let below = if d < 0.0 { -d } else { 0.0 };
            [above, below, below * below]
        });
        Self { moments: Moments::block(block), threshold, excess, shortfall, downside_squares }
    }

    fn join(a: Self, b: Self) -> Self {
        Self {
            moments: Moments::join(a.moments, b.moments),
            threshold: a.threshold,
            excess: a.excess + b.excess,
            shortfall: a.shortfall + b.shortfall,
            downside_squares: a.downside_squares + b.downside_squares,
        }
    }
}

/// Joint statistics of returns r and benchmark returns b, over the bars where neither is NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairStats {
    /// Bars counted.
    pub n: usize,
    /// Mean of r.
    pub mean: f64,
    /// Mean of b.
    pub benchmark_mean: f64,
    /// Σ(b − mean b)².
    pub benchmark_m2: f64,
    /// Σ(r − mean r)(b − mean b).
    pub cross: f64,
    /// Σ(a − mean a)² of the active return a = r − b.
    pub active_m2: f64,
    /// Largest |b|.
    pub benchmark_max_abs: f64,
    /// Largest |r − b|.
    pub active_max_abs: f64,
    /// Π(1 + b) over every b that is not NaN.
    pub benchmark_growth: f64,
}

impl PairStats {
    const EMPTY: Self = Self {
        n: 0,
        mean: 0.0,
        benchmark_mean: 0.0,
        benchmark_m2: 0.0,
        cross: 0.0,
        active_m2: 0.0,
        benchmark_max_abs: 0.0,
        active_max_abs: 0.0,
        benchmark_growth: 1.0,
    };

    /// Of two aligned series.
    ///
    /// # Panics
    /// When their lengths differ.
    pub fn of(returns: &[f64], benchmark: &[f64]) -> Self {
        assert_eq!(returns.len(), benchmark.len(), "returns and benchmark returns must cover the same bars");
        tree(map_block_pairs(returns, benchmark, Self::block), Self::join).unwrap_or(Self::EMPTY)
    }

    fn block(r: &[f64], b: &[f64]) -> Self {
        let [growth] = block_fold(b, 1.0, |b| [if b.is_nan() { 1.0 } else { 1.0 + b }], |a, b| a * b);
        let [count, sum_r, sum_b] = block_pair_sums(r, b, |r, b| if (r + b).is_nan() { [0.0; 3] } else { [1.0, r, b] });
        if count == 0.0 {
            return Self { benchmark_growth: growth, ..Self::EMPTY };
        }
        let (centre_r, centre_b) = (sum_r / count, sum_b / count);
        let [s_r, s_b, s_bb, s_rb, s_aa] = block_pair_sums(r, b, |r, b| {
            let (r, b) = if (r + b).is_nan() { (0.0, 0.0) } else { (r - centre_r, b - centre_b) };
            [r, b, b * b, r * b, (r - b) * (r - b)]
        });
        let (shift_r, shift_b) = (s_r / count, s_b / count);
        let shift_a = shift_r - shift_b;
        let (benchmark_max_abs, active_max_abs) = extremes(r, b);
        Self {
            n: count as usize,
            mean: centre_r + shift_r,
            benchmark_mean: centre_b + shift_b,
            benchmark_m2: not_negative(s_bb - s_b * shift_b),
            cross: s_rb - s_r * shift_b,
            active_m2: not_negative(s_aa - count * shift_a * shift_a),
            benchmark_max_abs,
            active_max_abs,
            benchmark_growth: growth,
        }
    }

    fn join(a: Self, b: Self) -> Self {
        let benchmark_growth = a.benchmark_growth * b.benchmark_growth;
        if a.n == 0 || b.n == 0 {
            return Self { benchmark_growth, ..if a.n == 0 { b } else { a } };
        }
        let (na, nb) = (a.n as f64, b.n as f64);
        let weight = na * nb / (na + nb);
        let delta_r = b.mean - a.mean;
        let delta_b = b.benchmark_mean - a.benchmark_mean;
        let delta_a = delta_r - delta_b;
        Self {
            n: a.n + b.n,
            mean: a.mean + delta_r * nb / (na + nb),
            benchmark_mean: a.benchmark_mean + delta_b * nb / (na + nb),
            benchmark_m2: a.benchmark_m2 + b.benchmark_m2 + delta_b * delta_b * weight,
            cross: a.cross + b.cross + delta_r * delta_b * weight,
            active_m2: a.active_m2 + b.active_m2 + delta_a * delta_a * weight,
            benchmark_max_abs: a.benchmark_max_abs.max(b.benchmark_max_abs),
            active_max_abs: a.active_max_abs.max(b.active_max_abs),
            benchmark_growth,
        }
    }
}

/// Largest |b| and |r − b|; an order-free fold, so eight lanes will do.
fn extremes(r: &[f64], b: &[f64]) -> (f64, f64) {
    let mut lanes = [[0.0_f64; 8]; 2];
    for (r, b) in r.chunks(8).zip(b.chunks(8)) {
        for (lane, (&r, &b)) in r.iter().zip(b).enumerate() {
            let (size, active) = (b.abs(), (r - b).abs());
            lanes[0][lane] = if size > lanes[0][lane] { size } else { lanes[0][lane] };
            lanes[1][lane] = if active > lanes[1][lane] { active } else { lanes[1][lane] };
        }
    }
    let [size, active] = lanes.map(|lanes| lanes.into_iter().fold(0.0, f64::max));
    (size, active)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_and_shortfall_by_hand() {
        let stats = ReturnStats::of(&[0.5, -0.25, f64::NAN, 0.125], 0.125);
        assert_eq!((stats.excess, stats.shortfall, stats.downside_squares), (0.375, 0.375, 0.140_625));
        assert_eq!(stats.moments.n, 3);
    }

    #[test]
    fn pairs_by_hand() {
        let stats = PairStats::of(&[1.0, 2.0, 6.0, f64::NAN], &[1.0, 3.0, 2.0, 1.0]);
        assert_eq!((stats.n, stats.mean, stats.benchmark_mean), (3, 3.0, 2.0));
        assert_eq!((stats.benchmark_m2, stats.cross), (2.0, 1.0));
        // Active returns 0, −1, 4 about 1.
        assert_eq!((stats.active_m2, stats.active_max_abs), (14.0, 4.0));
        assert_eq!(stats.benchmark_growth, 2.0 * 4.0 * 3.0 * 2.0);
    }

    #[test]
    fn blocks_join_as_one_series() {
        let n = 3 * super::super::sum::BLOCK + 5;
        let r: Vec<f64> = (0..n).map(|i| ((i * 37) % 101) as f64 * 1e-4 - 0.005 + i as f64 * 1e-7).collect();
        let b: Vec<f64> = (0..n).map(|i| ((i * 53) % 97) as f64 * 1e-4 - 0.005 - i as f64 * 1e-7).collect();
        let stats = PairStats::of(&r, &b);
        let mean = |v: &[f64]| v.iter().sum::<f64>() / n as f64;
        let (mr, mb) = (mean(&r), mean(&b));
        let cross: f64 = r.iter().zip(&b).map(|(r, b)| (r - mr) * (b - mb)).sum();
        let active: f64 = r.iter().zip(&b).map(|(r, b)| (r - b - mr + mb).powi(2)).sum();
        assert!((stats.cross / cross - 1.0).abs() < 1e-10, "{} {cross}", stats.cross);
        assert!((stats.active_m2 / active - 1.0).abs() < 1e-11);
    }
}
