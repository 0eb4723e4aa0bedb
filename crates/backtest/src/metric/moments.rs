//! The first four central moments and the extremes of a series, in one pass over memory.
//!
//! Each block of [`super::sum::BLOCK`] elements is read twice while it lies in the first-level cache: once for its
//! mean, once for the powers of the deviations from it. Blocks are then joined by the pairwise update of Chan, Golub &
//! LeVeque (1979), extended to the third and fourth moment by Pébay (2008). Two-pass accuracy, and a constant series
//! has a deviation of rounding size only, which [`Moments::spread`] recognises.
//!
//! NaN elements are missing values: they are skipped and not counted in n.

use super::sum::{block_fold, block_sums, map_blocks, tree};

/// A deviation at most this share of the largest |x| is rounding, not dispersion.
const DEGENERATE: f64 = 1e-12;

/// Central moments of the elements that are not NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Elements counted.
    pub n: usize,
    /// Arithmetic mean; 0 of nothing.
    pub mean: f64,
    /// Σ(x − mean)².
    pub m2: f64,
    /// Σ(x − mean)³.
    pub m3: f64,
    /// Σ(x − mean)⁴.
    pub m4: f64,
    /// Smallest element; +∞ of nothing.
    pub min: f64,
    /// Largest element; −∞ of nothing.
    pub max: f64,
}

impl Moments {
    /// Of nothing.
    pub const EMPTY: Self =
        Self { n: 0, mean: 0.0, m2: 0.0, m3: 0.0, m4: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    /// Of a series.
    pub fn of(values: &[f64]) -> Self {
        tree(map_blocks(values, Self::block), Self::join).unwrap_or(Self::EMPTY)
    }

    /// Of one block.
    pub(crate) fn block(block: &[f64]) -> Self {
        let [count, total] = block_sums(block, |x| if x.is_nan() { [0.0, 0.0] } else { [1.0, x] });
        if count == 0.0 {
            return Self::EMPTY;
        }
        let centre = total / count;
        let [s1, s2, s3, s4] = block_sums(block, |x| {
            let d = if x.is_nan() { 0.0 } else { x - centre };
            let square = d * d;
            [d, square, square * d, square * square]
        });
        let [min] = block_fold(block, f64::INFINITY, |x| [x], |a, b| if b < a { b } else { a });
        let [max] = block_fold(block, f64::NEG_INFINITY, |x| [x], |a, b| if b > a { b } else { a });
        // `centre` is a rounded mean; `shift` is what it misses.
        let shift = s1 / count;
        let shift2 = shift * shift;
        Self {
            n: count as usize,
            mean: centre + shift,
            m2: not_negative(s2 - s1 * shift),
            m3: s3 - 3.0 * shift * s2 + 2.0 * count * shift2 * shift,
            m4: s4 - 4.0 * shift * s3 + 6.0 * shift2 * s2 - 3.0 * count * shift2 * shift2,
            min,
            max,
        }
    }

    /// Of two series, one after the other.
    #[must_use]
    pub fn join(a: Self, b: Self) -> Self {
        if a.n == 0 || b.n == 0 {
            return if a.n == 0 { b } else { a };
        }
        let (na, nb) = (a.n as f64, b.n as f64);
        let n = na + nb;
        let delta = b.mean - a.mean;
        let step = delta / n;
        let cross = delta * step * na * nb;
        Self {
            n: a.n + b.n,
            mean: a.mean + nb * step,
            m2: a.m2 + b.m2 + cross,
            m3: a.m3 + b.m3 + cross * step * (na - nb) + 3.0 * step * (na * b.m2 - nb * a.m2),
            m4: a.m4
                + b.m4
                + cross * step * step * (na * na - na * nb + nb * nb)
                + 6.0 * step * step * (na * na * b.m2 + nb * nb * a.m2)
                + 4.0 * step * (na * b.m3 - nb * a.m3),
            min: a.min.min(b.min),
            max: a.max.max(b.max),
        }
    }

    /// Largest |x|; 0 of nothing.
    pub fn max_abs(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.min.abs().max(self.max.abs()) }
    }

    /// Sample standard deviation (ddof 1); `None` when n < 2.
    pub fn std(&self) -> Option<f64> {
        (self.n >= 2).then(|| (self.m2 / (self.n - 1) as f64).sqrt())
    }

    /// [`Self::std`] where it is a dispersion one may divide by; `None` when n < 2 or the series is constant up to
    /// rounding: std ≤ 1e-12·max(1e-300, max|x|). An absolute test would give constant 0.1 returns a Sharpe of 1e15.
    pub fn spread(&self) -> Option<f64> {
        self.std().filter(|&std| !is_rounding(std, self.max_abs()))
    }
}

/// Rounding below 0 becomes 0; NaN, the trace of an infinite element, stays NaN (`f64::max` would hide it).
pub(crate) fn not_negative(m2: f64) -> f64 {
    if m2 < 0.0 { 0.0 } else { m2 }
}

/// Whether a deviation is no more than rounding noise of numbers as large as `max_abs`.
pub(crate) fn is_rounding(deviation: f64, max_abs: f64) -> bool {
    // A NaN deviation is no dispersion either.
    deviation.is_nan() || deviation <= DEGENERATE * max_abs.max(1e-300)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn two_pass(values: &[f64]) -> [f64; 4] {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let power = |k| values.iter().map(|x| (x - mean).powi(k)).sum::<f64>();
        [mean, power(2), power(3), power(4)]
    }

    #[test]
    fn by_hand() {
        let m = Moments::of(&[1.0, 2.0, 3.0, 6.0]);
        assert_eq!((m.n, m.mean, m.m2, m.m3, m.m4), (4, 3.0, 14.0, 18.0, 98.0));
        assert_eq!((m.min, m.max, m.max_abs()), (1.0, 6.0, 6.0));
    }

    #[test]
    fn nan_is_skipped_and_not_counted() {
        assert_eq!(Moments::of(&[f64::NAN, 1.0, f64::NAN, 3.0]), Moments::of(&[1.0, 3.0]));
        assert_eq!(Moments::of(&[f64::NAN]), Moments::EMPTY);
        assert_eq!(Moments::of(&[]), Moments::EMPTY);
    }

    #[test]
    fn an_infinite_element_leaves_no_deviation() {
        let m = Moments::of(&[0.1, f64::INFINITY, 0.3]);
        assert!(m.std().unwrap().is_nan());
        assert_eq!(m.spread(), None);
    }

    #[test]
    fn many_blocks_agree_with_two_passes() {
        let values: Vec<f64> =
            (0..70_001_usize).map(|i| ((i * 7919) % 10_007) as f64 * 1e-6 - 0.003 + i as f64 * 1e-9).collect();
        let m = Moments::of(&values);
        for (got, want) in [m.mean, m.m2, m.m3, m.m4].into_iter().zip(two_pass(&values)) {
            assert!((got - want).abs() <= 1e-11 * want.abs().max(m.m2 * 0.01), "{got} {want}");
        }
    }

    #[test]
    fn constant_series_have_no_spread_at_any_magnitude() {
        for value in [0.1, -0.1, 1e-9, 0.0, 3e-5, 1e7] {
            let m = Moments::of(&vec![value; 10_000]);
            assert_eq!(m.spread(), None, "{value}");
            assert!(m.std().unwrap() <= 1e-12 * value.abs());
        }
        assert!(Moments::of(&[0.1, 0.1 + 1e-9]).spread().is_some());
    }
}
