//! Quantiles by selection, with linear interpolation (type 7 of Hyndman & Fan 1996, NumPy's default):
//! h = (n − 1)·q, x₍⌊h⌋₎ + (h − ⌊h⌋)·(x₍⌊h⌋₊₁₎ − x₍⌊h⌋₎) over the sorted elements x₍₀₎ ≤ x₍₁₎ ≤ ….
//!
//! NaN never enters: it is dropped first. Undefined for q outside [0, 1] or when nothing is left.
//!
//! Long series are not sorted or copied: a sorted sample brackets the wanted rank, one pass counts what lies below the
//! bracket and keeps what lies inside (Floyd & Rivest 1975), and the rank is selected among those few. Should the rank
//! fall outside its bracket, the whole series is selected from; either way the result is the exact order statistic.

use super::sum::map_blocks;

/// Series longer than this are bracketed first.
const BRACKET_FROM: usize = 1 << 16;
/// Elements of the sample that yields the brackets.
const SAMPLE: usize = 4096;

/// One quantile.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let [value] = quantiles(values, [q]);
    value
}

/// Several quantiles in one pass.
pub fn quantiles<const K: usize>(values: &[f64], q: [f64; K]) -> [Option<f64>; K] {
    let n = map_blocks(values, |block| block.iter().filter(|x| !x.is_nan()).count()).iter().sum();
    quantiles_counted(values, n, q)
}

/// As [`quantiles`], when the number of elements that are not NaN is known.
pub(crate) fn quantiles_counted<const K: usize>(values: &[f64], n: usize, q: [f64; K]) -> [Option<f64>; K] {
    if n == 0 {
        return [None; K];
    }
    let places = q.map(|q| (0.0..=1.0).contains(&q).then(|| Place::new(n, q)));
    if n <= BRACKET_FROM {
        let mut scratch = without_nan(values);
        return places.map(|place| place.map(|place| place.select(&mut scratch, 0)));
    }
    let brackets = brackets(values, n, &places);
    let kept = keep(values, &brackets);
    let mut results = [None; K];
    for (k, place) in places.into_iter().enumerate() {
        results[k] = place.map(|place| place.narrow(values, &brackets[k], &kept, k));
    }
    results
}

fn without_nan(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|x| !x.is_nan()).collect()
}

/// Where a quantile lies among n sorted elements.
#[derive(Clone, Copy)]
struct Place {
    rank: usize,
    weight: f64,
    next: bool,
}

impl Place {
    fn new(n: usize, q: f64) -> Self {
        let h = (n - 1) as f64 * q;
        let rank = h.floor() as usize;
        Self { rank, weight: h - h.floor(), next: rank + 1 < n }
    }

    /// Interpolates at this place; `below` elements of the series are smaller than all of `scratch`.
    fn select(&self, scratch: &mut [f64], below: usize) -> f64 {
        let (_, &mut low, above) = scratch.select_nth_unstable_by(self.rank - below, f64::total_cmp);
        if self.weight == 0.0 || !self.next {
            return low;
        }
        let high = above.iter().copied().fold(f64::INFINITY, f64::min);
        low + self.weight * (high - low)
    }

    /// Interpolates at this place from the elements kept of its bracket, the `k`-th.
    fn narrow<const K: usize>(&self, values: &[f64], bracket: &Bracket, kept: &[Kept<K>], k: usize) -> f64 {
        let below: usize = kept.iter().map(|part| part.below[k]).sum();
        let inside: usize = kept.iter().map(|part| part.inside[k]).sum();
        let last = self.rank + usize::from(self.next);
        if self.rank < below || last >= below + inside {
            return self.select(&mut without_nan(values), 0);
        }
        if bracket.low == bracket.high {
            return bracket.low;
        }
        let mut scratch = Vec::with_capacity(inside);
        kept.iter().for_each(|part| scratch.extend_from_slice(&part.values[k]));
        self.select(&mut scratch, below)
    }
}

/// Values between which a rank is expected, both ends inside.
#[derive(Clone, Copy)]
struct Bracket {
    low: f64,
    high: f64,
}

fn brackets<const K: usize>(values: &[f64], n: usize, places: &[Option<Place>; K]) -> [Bracket; K] {
    let mut sample: Vec<f64> =
        values.iter().step_by((values.len() / SAMPLE).max(1)).copied().filter(|x| !x.is_nan()).collect();
    sample.sort_unstable_by(f64::total_cmp);
    places.map(|place| {
        let share = place.map_or(0.0, |place| place.rank as f64 / n as f64);
        let m = sample.len() as f64;
        // Five standard deviations of a binomial count, and a little for the ends.
        let margin = 5.0 * (m * share * (1.0 - share)).sqrt() + 5.0;
        let (low, high) = (share * m - margin, share * m + margin);
        let at = |position: f64| sample.get(position as usize).copied();
        Bracket {
            low: (low >= 0.0).then(|| at(low)).flatten().unwrap_or(f64::NEG_INFINITY),
            high: at(high).unwrap_or(f64::INFINITY),
        }
    })
}

/// What one run of blocks holds below and inside each bracket.
struct Kept<const K: usize> {
    below: [usize; K],
    inside: [usize; K],
    values: [Vec<f64>; K],
}

fn keep<const K: usize>(values: &[f64], brackets: &[Bracket; K]) -> Vec<Kept<K>> {
    map_blocks(values, |block| {
        let mut kept = Kept { below: [0; K], inside: [0; K], values: std::array::from_fn(|_| Vec::new()) };
        for (k, &Bracket { low, high }) in brackets.iter().enumerate() {
            kept.below[k] = block.iter().filter(|&&x| x < low).count();
            kept.inside[k] = block.iter().filter(|&&x| x >= low && x <= high).count();
            // One value only: the count says it all, however long the run of equal elements.
            if low != high {
                kept.values[k].reserve_exact(kept.inside[k]);
                kept.values[k].extend(block.iter().copied().filter(|&x| x >= low && x <= high));
            }
        }
        kept
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn by_sorting(values: &[f64], q: f64) -> f64 {
        let mut sorted = without_nan(values);
        sorted.sort_unstable_by(f64::total_cmp);
        let h = (sorted.len() - 1) as f64 * q;
        let low = sorted[h as usize];
        let high = sorted[(h as usize + 1).min(sorted.len() - 1)];
        if h.fract() == 0.0 { low } else { low + h.fract() * (high - low) }
    }

    #[test]
    fn published_values() {
        // empyrical's and NumPy's: percentiles of [1, 2] and of [1, 81, 82, 83, 84, 85].
        assert_eq!(quantile(&[1.0, 2.0], 0.0), Some(1.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.3), Some(1.3));
        assert_eq!(quantile(&[1.0, 2.0], 1.0), Some(2.0));
        let values = [82.0, 1.0, 85.0, 81.0, 84.0, 83.0];
        assert_eq!(quantiles(&values, [0.1, 0.2, 0.3]), [Some(41.0), Some(81.0), Some(81.5)]);
    }

    #[test]
    fn nothing_and_levels_outside_the_unit_interval_are_undefined() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[f64::NAN], 0.5), None);
        assert_eq!(quantiles(&[1.0], [-0.1, 1.1, f64::NAN, 0.5]), [None, None, None, Some(1.0)]);
    }

    #[test]
    fn long_series_equal_a_full_sort() {
        let n = 300_007;
        let hash = |i: usize| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1u64 << 53) as f64;
        let random: Vec<f64> = (0..n).map(|i| if i % 101 == 0 { f64::NAN } else { hash(i) - 0.5 }).collect();
        let ascending: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let mostly_zero: Vec<f64> = (0..n).map(|i| if i % 50 == 0 { hash(i) - 0.5 } else { 0.0 }).collect();
        // The sample sees only every 73rd element; these are where it misleads most.
        let misleading: Vec<f64> =
            (0..n).map(|i| if i % (n / SAMPLE) == 0 { 1e3 + hash(i) } else { hash(i) }).collect();
        for values in [random, ascending, mostly_zero, misleading] {
            let levels = [0.0, 0.001, 0.05, 0.5, 0.95, 1.0];
            for (q, got) in levels.into_iter().zip(quantiles(&values, levels)) {
                assert_eq!(got.unwrap(), by_sorting(&values, q), "q = {q}");
            }
        }
    }
}
