//! Which points of long curves a page needs: per bucket the first, the last and every series' extremes.

use std::ops::Range;

/// Indices to keep, ascending, of `series` that share an index of `n` points. All of them when they fit `max_points`;
/// otherwise the range is cut into equal buckets and each keeps its first and last point and the lowest and highest
/// point of every series, so no spike and no end is lost. At most about `max_points` come back.
pub(super) fn keep(series: &[&[f64]], n: usize, max_points: usize) -> Vec<usize> {
    if n <= max_points {
        return (0..n).collect();
    }
    let per_bucket = 2 + 2 * series.len();
    let n_bucket = (max_points / per_bucket).max(1);
    let mut kept = Vec::with_capacity(max_points);
    for bucket in 0..n_bucket {
        let range = bucket * n / n_bucket..(bucket + 1) * n / n_bucket;
        if range.is_empty() {
            continue;
        }
        let start = kept.len();
        kept.extend([range.start, range.end - 1]);
        for values in series {
            kept.extend(extremes(values, range.clone()));
        }
        kept[start..].sort_unstable();
    }
    kept.dedup();
    kept
}

/// Where a range is lowest and where it is highest; nothing where every value is NaN.
fn extremes(values: &[f64], range: Range<usize>) -> impl Iterator<Item = usize> {
    let mut found: Option<(usize, usize)> = None;
    for i in range.filter(|&i| values[i].is_finite()) {
        let (low, high) = found.get_or_insert((i, i));
        if values[i] < values[*low] {
            *low = i;
        }
        if values[i] > values[*high] {
            *high = i;
        }
    }
    found.into_iter().flat_map(|(low, high)| [low, high])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_series_stay_whole() {
        assert_eq!(keep(&[&[1.0, 2.0, 3.0]], 3, 10), [0, 1, 2]);
        assert_eq!(keep(&[&[]], 0, 10), [0usize; 0]);
    }

    #[test]
    fn extremes_and_ends_survive() {
        let mut a: Vec<f64> = (0..100_000).map(|i| f64::from(i % 97)).collect();
        let mut b = vec![0.0; 100_000];
        a[54_321] = 1e6;
        a[54_322] = -1e6;
        b[77_777] = 5.0;
        b[3] = f64::NAN;
        let kept = keep(&[&a, &b], a.len(), 3_000);
        assert!(kept.len() <= 3_000, "{}", kept.len());
        for i in [0, 54_321, 54_322, 77_777, 99_999] {
            assert!(kept.binary_search(&i).is_ok(), "{i} is gone");
        }
        assert!(kept.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn every_bucket_is_represented() {
        let values: Vec<f64> = (0..10_000).map(f64::from).collect();
        let kept = keep(&[&values], values.len(), 400);
        assert!(kept.windows(2).all(|w| w[1] - w[0] <= 101), "a gap wider than a bucket");
    }
}
