//! Folds over sliding windows without subtraction (van Herk 1992, Gil & Werman 1993).
//!
//! The series is cut into blocks as long as the window; a window is the tail of one block merged with the head of the
//! next. Every result is built from at most `window` values by merging alone, so nothing drifts however long the
//! series is, at three merges per bar whatever the window's length.

/// Merges every full window of `window` items: `out[i]` covers items `i..i + window`. Empty when the series is shorter.
///
/// `merge` must be associative; it always gets the earlier part first.
pub(super) fn rolling<T: Copy>(
    n_bars: usize,
    window: usize,
    item: impl Fn(usize) -> T,
    merge: impl Fn(T, T) -> T,
) -> Vec<T> {
    assert!(window > 0, "a window needs at least one bar");
    let mut out = Vec::with_capacity((n_bars + 1).saturating_sub(window));
    // suffix[j] covers the previous block from its j-th item on
    let mut suffix: Vec<T> = Vec::with_capacity(window);
    for start in (0..n_bars).step_by(window) {
        let end = (start + window).min(n_bars);
        let mut prefix = item(start);
        for t in start..end {
            if t > start {
                prefix = merge(prefix, item(t));
            }
            let j = t - start + 1;
            if j == window {
                out.push(prefix);
            } else if let Some(&tail) = suffix.get(j) {
                out.push(merge(tail, prefix));
            }
        }
        suffix.clear();
        let mut tail = item(end - 1);
        suffix.push(tail);
        for t in (start..end - 1).rev() {
            tail = merge(item(t), tail);
            suffix.push(tail);
        }
        suffix.reverse();
    }
    out
}

/// Sum of every full window.
pub(super) fn rolling_sum(n_bars: usize, window: usize, item: impl Fn(usize) -> f64) -> Vec<f64> {
    rolling(n_bars, window, item, |a, b| a + b)
}

/// Highest value of every full window.
pub(super) fn rolling_max(values: &[f64], window: usize) -> Vec<f64> {
    rolling(values.len(), window, |t| values[t], f64::max)
}

/// Lowest value of every full window.
pub(super) fn rolling_min(values: &[f64], window: usize) -> Vec<f64> {
    rolling(values.len(), window, |t| values[t], f64::min)
}

/// A column as long as the series: NaN for its first `first` bars, then `values`.
pub(super) fn padded(n_bars: usize, first: usize, values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut column = vec![f64::NAN; first.min(n_bars)];
    column.reserve_exact(n_bars - column.len());
    column.extend(values);
    debug_assert_eq!(column.len(), n_bars, "values start at bar {first}");
    column
}

/// Count, mean and central sums of squares, merged by Chan, Golub & LeVeque (1979): exactly 0 spread on equal values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments2 {
    n: f64,
    pub(super) mean: f64,
    m2: f64,
}

impl Moments2 {
    /// Of one value.
    pub(super) fn of(value: f64) -> Self {
        Self { n: 1.0, mean: value, m2: 0.0 }
    }

    /// Of both sets together.
    pub(super) fn merge(a: Self, b: Self) -> Self {
        let n = a.n + b.n;
        let delta = b.mean - a.mean;
        let share = b.n / n;
        Self { n, mean: a.mean + delta * share, m2: a.m2 + b.m2 + delta * delta * a.n * share }
    }

    /// Population standard deviation (divisor n).
    pub(super) fn std(&self) -> f64 {
        (self.m2 / self.n).sqrt()
    }
}

/// Mean and population standard deviation of every full window.
pub(super) fn rolling_moments(values: &[f64], window: usize) -> Vec<Moments2> {
    rolling(values.len(), window, |t| Moments2::of(values[t]), Moments2::merge)
}

/// Central sums up to the fourth power, merged by Pébay (Sandia report SAND2008-6212, 2008).
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments4 {
    n: f64,
    mean: f64,
    m2: f64,
    m3: f64,
    m4: f64,
}

impl Moments4 {
    /// Of one value.
    pub(super) fn of(value: f64) -> Self {
        Self { n: 1.0, mean: value, m2: 0.0, m3: 0.0, m4: 0.0 }
    }

    /// Of both sets together.
    pub(super) fn merge(a: Self, b: Self) -> Self {
        let n = a.n + b.n;
        let d = b.mean - a.mean;
        let dn = d / n;
        let (na, nb) = (a.n, b.n);
        let between = d * dn * na * nb;
        Self {
            n,
            mean: a.mean + dn * nb,
            m2: a.m2 + b.m2 + between,
            m3: a.m3 + b.m3 + between * dn * (na - nb) + 3.0 * dn * (na * b.m2 - nb * a.m2),
            m4: a.m4
                + b.m4
                + between * dn * dn * (na * na - na * nb + nb * nb)
                + 6.0 * dn * dn * (na * na * b.m2 + nb * nb * a.m2)
                + 4.0 * dn * (na * b.m3 - nb * a.m3),
        }
    }

    /// Population standard deviation (divisor n).
    pub(super) fn std(&self) -> f64 {
        (self.m2 / self.n).sqrt()
    }

    /// m₃/m₂^1.5 with divisor n; the caller rules out zero spread.
    pub(super) fn skew(&self) -> f64 {
        let std = self.std();
        self.m3 / self.n / (std * std * std)
    }

    /// m₄/m₂² − 3 with divisor n; the caller rules out zero spread.
    pub(super) fn excess_kurtosis(&self) -> f64 {
        let variance = self.m2 / self.n;
        self.m4 / self.n / (variance * variance) - 3.0
    }
}

/// Central sums of pairs, for a correlation.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairMoments {
    n: f64,
    mean: [f64; 2],
    square: [f64; 2],
    product: f64,
}

impl PairMoments {
    /// Of one pair.
    pub(super) fn of(x: f64, y: f64) -> Self {
        Self { n: 1.0, mean: [x, y], square: [0.0; 2], product: 0.0 }
    }

    /// Of both sets together.
    pub(super) fn merge(a: Self, b: Self) -> Self {
        let n = a.n + b.n;
        let share = b.n / n;
        let weight = a.n * share;
        let [dx, dy] = [b.mean[0] - a.mean[0], b.mean[1] - a.mean[1]];
        Self {
            n,
            mean: [a.mean[0] + dx * share, a.mean[1] + dy * share],
            square: [a.square[0] + b.square[0] + dx * dx * weight, a.square[1] + b.square[1] + dy * dy * weight],
            product: a.product + b.product + dx * dy * weight,
        }
    }

    /// Pearson's correlation in `[-1, 1]`; 0 when either side's standard deviation is at most `floor`.
    pub(super) fn correlation(&self, floor: f64) -> f64 {
        let [sx, sy] = self.square.map(|s| (s / self.n).sqrt());
        if sx <= floor || sy <= floor {
            return 0.0;
        }
        (self.product / self.n / (sx * sy)).clamp(-1.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(n: usize) -> Vec<f64> {
        (0..n).map(|i| 100.0 + ((i * i) as f64).sin() * 3.0).collect()
    }

    fn central(window: &[f64], power: i32) -> f64 {
        let n = window.len() as f64;
        let mean = window.iter().sum::<f64>() / n;
        window.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n
    }

    #[test]
    fn every_window_of_every_length_equals_the_slow_loop() {
        let x = series(53);
        for w in 1..=54 {
            let sums = rolling_sum(x.len(), w, |t| x[t]);
            let (max, min) = (rolling_max(&x, w), rolling_min(&x, w));
            assert_eq!(sums.len(), 54 - w.min(54));
            for (i, part) in x.windows(w).enumerate() {
                assert!((sums[i] - part.iter().sum::<f64>()).abs() < 1e-10);
                assert_eq!(max[i], part.iter().copied().fold(f64::MIN, f64::max));
                assert_eq!(min[i], part.iter().copied().fold(f64::MAX, f64::min));
            }
        }
    }

    #[test]
    fn moments_equal_the_two_pass_formulas() {
        let x = series(200);
        let (two, four) = (rolling_moments(&x, 20), rolling(x.len(), 20, |t| Moments4::of(x[t]), Moments4::merge));
        for (i, part) in x.windows(20).enumerate() {
            let (m2, m3, m4) = (central(part, 2), central(part, 3), central(part, 4));
            assert!((two[i].std() - m2.sqrt()).abs() < 1e-12);
            assert!((four[i].std() - m2.sqrt()).abs() < 1e-12);
            assert!((four[i].skew() - m3 / m2.powf(1.5)).abs() < 1e-10);
            assert!((four[i].excess_kurtosis() - (m4 / (m2 * m2) - 3.0)).abs() < 1e-10);
        }
    }

    #[test]
    fn correlation_equals_the_two_pass_formula() {
        let (x, y) = (series(40), series(41)[1..].to_vec());
        let all = rolling(40, 40, |t| PairMoments::of(x[t], y[t]), PairMoments::merge)[0];
        let (mx, my) = (x.iter().sum::<f64>() / 40.0, y.iter().sum::<f64>() / 40.0);
        let product = x.iter().zip(&y).map(|(a, b)| (a - mx) * (b - my)).sum::<f64>() / 40.0;
        let want = product / (central(&x, 2) * central(&y, 2)).sqrt();
        assert!((all.correlation(0.0) - want).abs() < 1e-12);
    }

    #[test]
    fn equal_values_have_exactly_no_spread() {
        let flat = vec![0.1; 100];
        assert!(rolling_moments(&flat, 20).iter().all(|m| m.std() == 0.0 && m.mean == 0.1));
    }

    /// A running sum that adds and subtracts would keep the rounding of the huge values for ever.
    #[test]
    fn a_spike_leaves_no_trace_once_it_has_left_the_window() {
        let mut x = vec![0.1; 1000];
        x[100] = 1e15;
        let clean = vec![0.1; 1000];
        let (dirty, clean) = (rolling_sum(1000, 20, |t| x[t]), rolling_sum(1000, 20, |t| clean[t]));
        assert_eq!(dirty[101..], clean[101..]);
        assert_eq!(rolling_moments(&x, 20)[101].std(), 0.0);
    }
}
