//! How sure one may be of a Sharpe ratio.
//!
//! Probabilistic (Bailey & López de Prado 2012): PSR(SR*) = Φ((SR − SR*)·√(n − 1)/√(1 − γ₃·SR + (γ₄ − 1)/4·SR²)),
//! the probability that the true Sharpe ratio exceeds SR*. SR is that of one bar, γ₃ and γ₄ are the population skewness
//! and (not excess) kurtosis of the returns; with those the radicand is never negative, for γ₄ ≥ 1 + γ₃².
//!
//! Deflated (Bailey & López de Prado 2014): PSR at SR* = E[max SR of K trials without skill]
//! = √V·((1 − γ)·Φ⁻¹(1 − 1/K) + γ·Φ⁻¹(1 − 1/(K·e))), γ Euler's constant, V the variance of the trials' Sharpe ratios of
//! one bar. Where the trials' ratios are not at hand, V = 1/(n − 1), the sampling variance of a Sharpe ratio of 0. One
//! trial: SR* = 0.
//!
//! Undefined where the Sharpe ratio is, when the radicand is 0, or for 0 trials.

use std::f64::consts::E;

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::statistics::Statistics;

use super::shape::{population_kurtosis, population_skew};
use super::sharpe::bar_sharpe_of;
use super::{Moments, defined};

const EULER: f64 = 0.577_215_664_901_532_9;

/// The trials a result was chosen from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trials {
    /// Their number, the chosen one included.
    pub n: usize,
    /// Variance (ddof 1) of their Sharpe ratios of one bar (annualised variance / periods per year); `None`: the
    /// sampling variance of a Sharpe ratio of 0.
    pub sharpe_variance: Option<f64>,
}

impl Trials {
    /// Only their number is known.
    pub fn count(n: usize) -> Self {
        Self { n, sharpe_variance: None }
    }

    /// From the annualised Sharpe ratios of all trials; undefined ones count as trials but not in the variance.
    pub fn from_sharpes(annualised: &[Option<f64>], periods_per_year: f64) -> Self {
        let known: Vec<f64> = annualised.iter().copied().flatten().collect();
        let variance = (known.len() >= 2).then(|| known.variance() / periods_per_year);
        Self { n: annualised.len(), sharpe_variance: variance.and_then(defined) }
    }
}

/// Probability that the true Sharpe ratio exceeds `target_sharpe` (annualised), given the returns.
pub fn probabilistic_sharpe(returns: &[f64], target_sharpe: f64, risk_free: f64, periods_per_year: f64) -> Option<f64> {
    let target = target_sharpe / periods_per_year.sqrt();
    probabilistic_sharpe_of(&Moments::of(returns), target, risk_free, periods_per_year)
}

/// Probability that the true Sharpe ratio exceeds the best one to expect of `trials` without skill.
pub fn deflated_sharpe(returns: &[f64], trials: Trials, risk_free: f64, periods_per_year: f64) -> Option<f64> {
    deflated_sharpe_of(&Moments::of(returns), trials, risk_free, periods_per_year)
}

/// The largest Sharpe ratio to expect of `n_trials` without skill, in units of √`variance`.
pub fn expected_max_sharpe(n_trials: usize, variance: f64) -> Option<f64> {
    let k = n_trials as f64;
    match n_trials {
        0 => None,
        1 => Some(0.0),
        _ => {
            let quantile = |p| Normal::standard().inverse_cdf(p);
            defined(variance.sqrt() * ((1.0 - EULER) * quantile(1.0 - 1.0 / k) + EULER * quantile(1.0 - 1.0 / (k * E))))
        }
    }
}

/// `target` is a Sharpe ratio of one bar.
pub(crate) fn probabilistic_sharpe_of(moments: &Moments, target: f64, risk_free: f64, ppy: f64) -> Option<f64> {
    let sharpe = bar_sharpe_of(moments, risk_free, ppy)?;
    let skew = population_skew(moments)?;
    let kurtosis = population_kurtosis(moments)?;
    let radicand = 1.0 - skew * sharpe + (kurtosis - 1.0) / 4.0 * sharpe * sharpe;
    // Two-valued returns can bring it to 0, give or take rounding: there is no error left to speak of.
    if radicand <= 1e-12 {
        return None;
    }
    let z = (sharpe - target) * ((moments.n - 1) as f64).sqrt() / radicand.sqrt();
    defined(Normal::standard().cdf(z))
}

pub(crate) fn deflated_sharpe_of(moments: &Moments, trials: Trials, risk_free: f64, ppy: f64) -> Option<f64> {
    if moments.n < 2 {
        return None;
    }
    let variance = trials.sharpe_variance.unwrap_or(1.0 / (moments.n - 1) as f64);
    let target = expected_max_sharpe(trials.n, variance)?;
    probabilistic_sharpe_of(moments, target, risk_free, ppy)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn returns() -> Vec<f64> {
        (0..500).map(|i| f64::from((i * 37) % 101) * 1e-4 - 0.0045).collect()
    }

    #[test]
    fn paper_example_of_the_expected_maximum() {
        // Bailey & López de Prado (2014), numerical example: K = 100 trials, annualised variance 1/2, 250 bars a year;
        // SR* = 0.1132 a day; n = 1250, γ₃ = −3, γ₄ = 10, annualised SR 2.5: DSR = 0.9004.
        let target = expected_max_sharpe(100, 0.5 / 250.0).unwrap();
        assert!((target - 0.1132).abs() < 5e-5, "{target}");
        let sharpe = 2.5 / 250.0_f64.sqrt();
        let radicand: f64 = 1.0 + 3.0 * sharpe + 9.0 / 4.0 * sharpe * sharpe;
        let z = (sharpe - target) * 1249.0_f64.sqrt() / radicand.sqrt();
        assert!((Normal::standard().cdf(z) - 0.9004).abs() < 5e-5);
    }

    #[test]
    fn even_odds_at_its_own_value() {
        let own = super::super::sharpe(&returns(), 0.0, 252.0).unwrap();
        assert!((probabilistic_sharpe(&returns(), own, 0.0, 252.0).unwrap() - 0.5).abs() < 1e-12);
        assert!(probabilistic_sharpe(&returns(), own - 1.0, 0.0, 252.0).unwrap() > 0.5);
    }

    #[test]
    fn one_trial_deflates_nothing_and_more_trials_deflate_more() {
        let with = |n| deflated_sharpe(&returns(), Trials::count(n), 0.0, 252.0).unwrap();
        assert_eq!(Some(with(1)), probabilistic_sharpe(&returns(), 0.0, 0.0, 252.0));
        assert!(with(1) > with(2) && with(2) > with(10) && with(10) > with(1000));
        assert_eq!(deflated_sharpe(&returns(), Trials::count(0), 0.0, 252.0), None);
    }

    #[test]
    fn trials_from_annualised_ratios() {
        let trials = Trials::from_sharpes(&[Some(1.0), None, Some(3.0)], 4.0);
        assert_eq!(trials, Trials { n: 3, sharpe_variance: Some(0.5) });
        assert_eq!(Trials::from_sharpes(&[Some(1.0)], 4.0).sharpe_variance, None);
    }

    #[test]
    fn undefined() {
        assert_eq!(probabilistic_sharpe(&[0.1; 50], 0.0, 0.0, 252.0), None);
        assert_eq!(deflated_sharpe(&[0.1], Trials::count(5), 0.0, 252.0), None);
        // Returns 0 and 1 in equal shares: SR (population) 1, γ₃ 0, γ₄ 1: radicand 1. Shares 1:3 make it smaller.
        assert!(probabilistic_sharpe(&[0.0, 1.0], 0.0, 0.0, 1.0).is_some());
    }
}
