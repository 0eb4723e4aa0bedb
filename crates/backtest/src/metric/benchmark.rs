//! Against the benchmark, the close-to-close return b of holding the instrument over the same bars:
//!
//! - benchmark_return = Π(1 + b) − 1;
//! - beta = cov(r, b)/var(b);
//! - alpha = (mean(r) − rf/N − beta·(mean(b) − rf/N))·N, Jensen's (1968), a year, arithmetic;
//! - information_ratio = mean(r − b)/std(r − b, ddof 1)·√N (Grinold & Kahn 2000).
//!
//! Only bars where neither return is NaN enter (benchmark_return: every b that is not NaN). Undefined when n = 0; beta
//! and alpha when n < 2 or b is constant up to rounding; the information ratio when n < 2 or r − b is.

use rayon::prelude::*;

use super::defined;
use super::moments::is_rounding;
use super::scan::PairStats;
use super::sum::BLOCK;
use crate::cpu::pages::column;
use crate::cpu::widest::{Work, widest};

/// Close-to-close returns of holding the instrument. `[close.len() − 1]`
pub fn close_to_close(close: &[f64]) -> Vec<f64> {
    let n = close.len().saturating_sub(1);
    let mut returns = column(n);
    let fill = |(to, close): (&mut [f64], &[f64])| widest(Returns { close, to });
    // A piece reads one close more than it has returns.
    let pieces = (0..n).step_by(BLOCK).map(|at| &close[at..=n.min(at + BLOCK)]).collect::<Vec<_>>();
    returns.par_chunks_mut(BLOCK).zip(pieces).with_min_len(16).for_each(fill);
    returns
}

struct Returns<'a> {
    close: &'a [f64],
    to: &'a mut [f64],
}

impl Work for Returns<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (to, pair) in self.to.iter_mut().zip(self.close.windows(2)) {
            *to = pair[1] / pair[0] - 1.0;
        }
    }
}

/// Return of the benchmark over the window.
pub fn benchmark_return(benchmark: &[f64]) -> Option<f64> {
    benchmark_return_of(&PairStats::of(benchmark, benchmark))
}

/// Sensitivity of the returns to the benchmark's.
///
/// # Panics
/// When the lengths differ, as do [`alpha`] and [`information_ratio`].
pub fn beta(returns: &[f64], benchmark: &[f64]) -> Option<f64> {
    beta_of(&PairStats::of(returns, benchmark))
}

/// Annual return that the exposure to the benchmark does not explain.
pub fn alpha(returns: &[f64], benchmark: &[f64], risk_free: f64, periods_per_year: f64) -> Option<f64> {
    alpha_of(&PairStats::of(returns, benchmark), risk_free, periods_per_year)
}

/// Annualised mean active return per unit of its deviation.
pub fn information_ratio(returns: &[f64], benchmark: &[f64], periods_per_year: f64) -> Option<f64> {
    information_ratio_of(&PairStats::of(returns, benchmark), periods_per_year)
}

pub(crate) fn benchmark_return_of(pair: &PairStats) -> Option<f64> {
    if pair.n == 0 { None } else { defined(pair.benchmark_growth - 1.0) }
}

pub(crate) fn beta_of(pair: &PairStats) -> Option<f64> {
    sample_std(pair.benchmark_m2, pair.n, pair.benchmark_max_abs)?;
    defined(pair.cross / pair.benchmark_m2)
}

pub(crate) fn alpha_of(pair: &PairStats, risk_free: f64, periods_per_year: f64) -> Option<f64> {
    let bar_rate = risk_free / periods_per_year;
    let explained = beta_of(pair)? * (pair.benchmark_mean - bar_rate);
    defined((pair.mean - bar_rate - explained) * periods_per_year)
}

pub(crate) fn information_ratio_of(pair: &PairStats, periods_per_year: f64) -> Option<f64> {
    let std = sample_std(pair.active_m2, pair.n, pair.active_max_abs)?;
    defined((pair.mean - pair.benchmark_mean) / std * periods_per_year.sqrt())
}

fn sample_std(m2: f64, n: usize, max_abs: f64) -> Option<f64> {
    if n < 2 {
        return None;
    }
    let std = (m2 / (n - 1) as f64).sqrt();
    if is_rounding(std, max_abs) { None } else { Some(std) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        // r = 0.01 + 2b exactly.
        let b = [0.01, -0.02, 0.04];
        let r = b.map(|b| 0.01 + 2.0 * b);
        assert!((beta(&r, &b).unwrap() - 2.0).abs() < 1e-14);
        assert!((alpha(&r, &b, 0.0, 4.0).unwrap() - 0.04).abs() < 1e-15);
        // rf = 4 %, 0.01 a bar: alpha loses 0.01 and regains 2·0.01.
        assert!((alpha(&r, &b, 0.04, 4.0).unwrap() - 0.08).abs() < 1e-15);
        assert!((benchmark_return(&b).unwrap() - (1.01 * 0.98 * 1.04 - 1.0)).abs() < 1e-15);
        // Active returns 0.02, −0.01, 0.05: mean 0.02, std 0.03.
        assert!((information_ratio(&r, &b, 9.0).unwrap() - 2.0).abs() < 1e-14);
    }

    #[test]
    fn the_benchmark_against_itself() {
        let b = [0.01, -0.02, 0.04];
        assert!((beta(&b, &b).unwrap() - 1.0).abs() < 1e-15);
        assert!(alpha(&b, &b, 0.02, 252.0).unwrap().abs() < 1e-15);
        assert_eq!(information_ratio(&b, &b, 252.0), None);
    }

    #[test]
    fn undefined() {
        assert_eq!(benchmark_return(&[]), None);
        assert_eq!(beta(&[0.1, 0.2], &[0.1, 0.1]), None);
        assert_eq!(alpha(&[0.1, 0.2], &[0.1, 0.1], 0.0, 252.0), None);
        assert_eq!(beta(&[0.1], &[0.2]), None);
        // A constant lead over the benchmark has no deviation but rounding.
        assert_eq!(information_ratio(&[0.11, 0.31, 0.21], &[0.1, 0.3, 0.2], 252.0), None);
    }

    #[test]
    #[should_panic(expected = "same bars")]
    fn lengths_must_agree() {
        beta(&[0.1, 0.2], &[0.1]);
    }
}
