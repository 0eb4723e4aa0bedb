//! The histogram of bar returns and the rolling Sharpe ratio.

use serde::Serialize;

use super::chain::BarReturn;
use super::format;
use crate::report::decimate;

/// Bins of the histogram.
const N_BIN: usize = 61;
/// Share of the returns on either side that is gathered in the outermost bins.
const TAIL: f64 = 0.002;
/// Points of the rolling curve.
const MAX_POINTS: usize = 3_000;

/// Counts of bar returns in equal bins over `[lo, hi]`; the outermost bins also hold what lies beyond.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Histogram {
    pub(super) lo: f64,
    pub(super) hi: f64,
    pub(super) counts: Vec<usize>,
    /// Returns below `lo`, counted in the first bin.
    pub(super) below: usize,
    /// Returns above `hi`, counted in the last bin.
    pub(super) above: usize,
    /// Bars left out because their return is exactly zero.
    #[serde(skip)]
    pub(super) n_zero: usize,
    /// Value at risk, positive is a loss.
    pub(super) var: Option<f64>,
    /// Conditional value at risk.
    pub(super) cvar: Option<f64>,
    /// What these two are called.
    pub(super) names: [String; 2],
}

impl Histogram {
    /// The histogram of the returns that are not exactly zero (a flat account's are); `None` when all are.
    pub(super) fn new(bars: &[BarReturn]) -> Option<Self> {
        let mut values: Vec<f64> = bars.iter().map(|b| b.ret).filter(|r| r.is_finite() && *r != 0.0).collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |share: f64| values[(share * last as f64).round() as usize];
        // Zero is a bin edge's neighbour, not its middle, when both sides are symmetric; one width rules both sides.
        let reach = at(TAIL).abs().max(at(1.0 - TAIL).abs());
        let (lo, hi) = (-reach, reach);
        let mut counts = vec![0; N_BIN - 1];
        let n = counts.len();
        let (mut below, mut above) = (0, 0);
        for &v in &values {
            below += usize::from(v < lo);
            above += usize::from(v > hi);
            counts[(((v - lo) / (hi - lo) * n as f64).floor().max(0.0) as usize).min(n - 1)] += 1;
        }
        let n_zero = bars.iter().filter(|b| b.ret == 0.0).count();
        Some(Self { lo, hi, counts, below, above, n_zero, var: None, cvar: None, names: Default::default() })
    }
}

/// Sharpe ratio over the last `n_bars` bars, annualised, without a risk-free rate; thinned for the page.
#[derive(Debug, Default, Serialize)]
pub(super) struct Rolling {
    /// Bars in the moving window; 0 when there is no curve.
    #[serde(skip)]
    pub(super) n_bars: usize,
    /// ms since the epoch.
    t: Vec<i64>,
    agent: Vec<Option<f64>>,
    benchmark: Vec<Option<f64>>,
}

impl Rolling {
    /// Over a quarter of a year, but at most a quarter of the bars; empty when that leaves fewer than 20.
    pub(super) fn new(bars: &[BarReturn], periods_per_year: f64) -> Self {
        let n_bars = ((periods_per_year / 4.0) as usize).max(20).min(bars.len() / 4);
        if n_bars < 20 {
            return Self::default();
        }
        let agent = rolling_sharpe(bars.iter().map(|b| b.ret), n_bars, periods_per_year);
        let benchmark = rolling_sharpe(bars.iter().map(|b| b.benchmark), n_bars, periods_per_year);
        let kept = decimate::keep(&[&agent, &benchmark], agent.len(), MAX_POINTS);
        Self {
            n_bars,
            t: kept.iter().map(|&i| bars[i + n_bars - 1].ts.div_euclid(1_000_000)).collect(),
            agent: kept.iter().map(|&i| format::fixed(agent[i], 3)).collect(),
            benchmark: kept.iter().map(|&i| format::fixed(benchmark[i], 3)).collect(),
        }
    }
}

/// One value per full window, NaN where the window has no spread. Sums are rebuilt every 4,096 bars, so that rounding
/// does not pile up.
fn rolling_sharpe(returns: impl Iterator<Item = f64>, n_bars: usize, periods_per_year: f64) -> Vec<f64> {
    let returns: Vec<f64> = returns.collect();
    let n = n_bars as f64;
    let (mut sum, mut square) = (0.0, 0.0);
    let mut out = Vec::with_capacity(returns.len() + 1 - n_bars);
    for start in 0..=returns.len() - n_bars {
        let window = &returns[start..start + n_bars];
        if start % 4096 == 0 {
            sum = window.iter().sum();
            square = window.iter().map(|r| r * r).sum();
        } else {
            let (gone, come) = (returns[start - 1], window[n_bars - 1]);
            sum += come - gone;
            square += come * come - gone * gone;
        }
        let variance = (square - sum * sum / n) / (n - 1.0);
        let flat = variance <= 1e-12 * square / n;
        out.push(if flat { f64::NAN } else { sum / n / variance.sqrt() * periods_per_year.sqrt() });
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn bars(returns: &[f64]) -> Vec<BarReturn> {
        returns.iter().zip(0..).map(|(&ret, ts)| BarReturn { ts: ts * 1_000_000, ret, benchmark: 0.0 }).collect()
    }

    #[test]
    fn histogram_counts_every_bar_that_moved() {
        let h = Histogram::new(&bars(&[0.0, 0.01, -0.01, 0.02, -0.02, 0.0, 0.005])).unwrap();
        assert_eq!((h.counts.iter().sum::<usize>(), h.n_zero), (5, 2));
        assert_eq!((h.lo, h.hi), (-0.02, 0.02));
        assert_eq!((h.counts[0], h.counts[59]), (1, 1));
        assert!(Histogram::new(&bars(&[0.0, 0.0])).is_none());
        assert!(Histogram::new(&[]).is_none());
    }

    #[test]
    fn tails_go_into_the_outer_bins() {
        let mut returns: Vec<f64> = (0..2_000).map(|i| f64::from(i % 20 - 10) * 1e-3 + 1e-4).collect();
        returns.push(-0.9);
        let h = Histogram::new(&bars(&returns)).unwrap();
        assert!(h.lo > -0.02 && h.below == 1, "{h:?}");
        assert_eq!(h.counts.iter().sum::<usize>(), 2_001);
    }

    #[test]
    fn rolling_sharpe_equals_the_direct_formula() {
        let returns: Vec<f64> = (0..10_000).map(|i| (f64::from(i) * 0.7).sin() * 0.01 + 0.001).collect();
        let rolling = rolling_sharpe(returns.iter().copied(), 250, 252.0);
        for start in [0, 1, 4095, 4096, 9_750] {
            let w = &returns[start..start + 250];
            let mean = w.iter().sum::<f64>() / 250.0;
            let std = (w.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / 249.0).sqrt();
            assert!((rolling[start] - mean / std * 252f64.sqrt()).abs() < 1e-8);
        }
    }

    #[test]
    fn constant_returns_have_no_rolling_sharpe() {
        assert!(rolling_sharpe([0.001; 300].into_iter(), 50, 252.0).iter().all(|s| s.is_nan()));
        assert!(rolling_sharpe([0.0; 300].into_iter(), 50, 252.0).iter().all(|s| s.is_nan()));
        assert_eq!(Rolling::new(&bars(&[0.01; 30]), 252.0).n_bars, 0);
    }
}
