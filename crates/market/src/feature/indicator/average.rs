//! Averages and what is built from them: SMA, EMA, MACD, standard deviation, regression slope.

use crate::feature::rolling::{padded, rolling_moments, rolling_sum};

/// Simple moving average; first value at bar `period − 1`.
pub fn sma(values: &[f64], period: usize) -> Vec<f64> {
    let sums = rolling_sum(values.len(), period, |t| values[t]);
    padded(values.len(), period - 1, sums.into_iter().map(|s| s / period as f64))
}

/// Population standard deviation (divisor `period`, as TA-Lib's STDDEV); first value at bar `period − 1`.
pub fn stddev(values: &[f64], period: usize) -> Vec<f64> {
    padded(values.len(), period - 1, rolling_moments(values, period).iter().map(|m| m.std()))
}

/// Exponential moving average, α = 2/(period + 1), seeded with the SMA of the first `period` values; first value at
/// bar `period − 1`.
pub fn ema(values: &[f64], period: usize) -> Vec<f64> {
    ema_from(values, period, 0)
}

/// [`ema`] of `values[start..]`, in place: NaN up to bar `start + period − 1`.
fn ema_from(values: &[f64], period: usize, start: usize) -> Vec<f64> {
    assert!(period > 0, "an average needs at least one bar");
    let mut out = vec![f64::NAN; values.len()];
    let first = start + period - 1;
    if first >= values.len() {
        return out;
    }
    let alpha = 2.0 / (period as f64 + 1.0);
    let mut level = values[start..=first].iter().sum::<f64>() / period as f64;
    out[first] = level;
    for t in first + 1..values.len() {
        level += (values[t] - level) * alpha;
        out[t] = level;
    }
    out
}

/// Columns of [`macd`], in price units. `[n_bars]` each
#[derive(Debug, Clone, PartialEq)]
pub struct Macd {
    /// Fast EMA − slow EMA.
    pub line: Vec<f64>,
    /// EMA of the line.
    pub signal: Vec<f64>,
    /// Line − signal.
    pub histogram: Vec<f64>,
}

/// Moving average convergence/divergence (Appel); all columns start at bar `slow + signal − 2`.
///
/// As TA-Lib does, both EMAs start at the same bar `slow − 1`: the fast one is seeded with the SMA of the `fast` bars
/// that end there.
pub fn macd(close: &[f64], fast: usize, slow: usize, signal: usize) -> Macd {
    let (fast, slow) = (fast.min(slow), fast.max(slow));
    let n = close.len();
    let (quick, lazy) = (ema_from(close, fast, slow - fast), ema(close, slow));
    let mut line: Vec<f64> = quick.iter().zip(&lazy).map(|(q, l)| q - l).collect();
    let signal_line = ema_from(&line, signal, slow - 1);
    let first = slow + signal - 2;
    line[..first.min(n)].fill(f64::NAN);
    let histogram = line.iter().zip(&signal_line).map(|(l, s)| l - s).collect();
    Macd { line, signal: signal_line, histogram }
}

/// Slope per bar of the least-squares line through the last `period` values; first value at bar `period − 1`.
///
/// Measured from the window's first value, so a far-away level costs no digits. O(n·period).
pub fn linearreg_slope(values: &[f64], period: usize) -> Vec<f64> {
    assert!(period > 1, "a line needs at least two bars");
    let middle = (period as f64 - 1.0) / 2.0;
    let spread: f64 = (0..period).map(|i| (i as f64 - middle) * (i as f64 - middle)).sum();
    let slope = |w: &[f64]| w.iter().enumerate().map(|(i, v)| (i as f64 - middle) * (v - w[0])).sum::<f64>() / spread;
    padded(values.len(), period - 1, values.windows(period).map(slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ema_is_seeded_with_the_sma() {
        let e = ema(&[1.0, 2.0, 3.0, 5.0], 3);
        assert!(e[0].is_nan() && e[1].is_nan());
        assert_eq!(&e[2..], [2.0, 3.5]);
    }

    #[test]
    fn slope_of_a_line_is_its_slope() {
        let line: Vec<f64> = (0..30).map(|i| 1e9 + 0.25 * f64::from(i)).collect();
        let s = linearreg_slope(&line, 20);
        assert!(s[18].is_nan());
        assert!(s[19..].iter().all(|v| (v - 0.25).abs() < 1e-9));
    }

    #[test]
    fn shorter_than_the_period_is_nan_throughout() {
        let x = [1.0, 2.0, 3.0];
        let m = macd(&x, 12, 26, 9);
        for column in [sma(&x, 4), ema(&x, 4), stddev(&x, 4), linearreg_slope(&x, 4), m.line, m.signal, m.histogram] {
            assert!(column.len() == 3 && column.iter().all(|v| v.is_nan()));
        }
    }
}
