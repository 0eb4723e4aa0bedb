//! Probability of backtest overfitting by combinatorially symmetric cross-validation (Bailey, Borwein, López de Prado &
//! Zhu 2015).
//!
//! The T bars of N trials' returns are cut into S blocks. For each of the C(S, S/2) halves: the trial with the best
//! in-sample Sharpe ratio is ranked out of sample, on the other half, ω = rank/(N + 1) with rank 1 the worst (ties take
//! their mean rank), and λ = ln(ω/(1 − ω)). PBO is the share of halves with λ ≤ 0: the best in sample is no better than
//! the median out of sample. An undefined Sharpe ratio ranks below every defined one.
//!
//! Blocks are [⌊k·T/S⌋, ⌊(k+1)·T/S⌋), so that no bar is dropped when S does not divide T. NaN returns are skipped.
//! Undefined for fewer than 2 trials, an odd or zero S, S > 24 (2.7 million halves), T < 2·S or rows of unequal length.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Moments;

/// Blocks more than this make more halves than anyone waits for.
const MAX_BLOCKS: usize = 24;

/// The result of the cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overfitting {
    /// Share of the halves whose in-sample best ranks at or below the median out of sample.
    pub probability: f64,
    /// λ of each half, in the order of their bit masks. `[n_halves]`
    pub logits: Vec<f64>,
    /// Share of the halves whose in-sample best has an out-of-sample Sharpe ratio below 0 or undefined.
    pub probability_of_loss: f64,
}

/// Cross-validates `returns[trial][bar]` over `n_blocks` blocks; 16 is the paper's choice.
pub fn probability_of_overfitting<R: AsRef<[f64]> + Sync>(returns: &[R], n_blocks: usize) -> Option<Overfitting> {
    let n_bars = returns.first()?.as_ref().len();
    let blocks_fit = n_blocks >= 2 && n_blocks.is_multiple_of(2) && n_blocks <= MAX_BLOCKS && n_bars >= 2 * n_blocks;
    if returns.len() < 2 || !blocks_fit || returns.iter().any(|row| row.as_ref().len() != n_bars) {
        return None;
    }
    let moments: Vec<Vec<Moments>> = returns.par_iter().map(|row| block_moments(row.as_ref(), n_blocks)).collect();
    let halves: Vec<u32> = (0..1_u32 << n_blocks).filter(|mask| mask.count_ones() as usize == n_blocks / 2).collect();
    let outcomes: Vec<Outcome> = halves.par_iter().map(|&mask| validate(&moments, mask)).collect();
    let share = |hit: fn(&Outcome) -> bool| {
        outcomes.iter().filter(|outcome| hit(outcome)).count() as f64 / outcomes.len() as f64
    };
    Some(Overfitting {
        probability: share(|outcome| outcome.logit <= 0.0),
        probability_of_loss: share(|outcome| outcome.sharpe.is_none_or(|sharpe| sharpe < 0.0)),
        logits: outcomes.iter().map(|outcome| outcome.logit).collect(),
    })
}

struct Outcome {
    logit: f64,
    sharpe: Option<f64>,
}

fn block_moments(row: &[f64], n_blocks: usize) -> Vec<Moments> {
    let edge = |k: usize| k * row.len() / n_blocks;
    (0..n_blocks).map(|k| Moments::of(&row[edge(k)..edge(k + 1)])).collect()
}

/// One half: in sample the blocks whose bit is set, out of sample the others.
fn validate(moments: &[Vec<Moments>], mask: u32) -> Outcome {
    let half = |blocks: &[Moments], wanted: u32| {
        let chosen = blocks.iter().enumerate().filter(|&(k, _)| wanted >> k & 1 == 1).map(|(_, &m)| m);
        let joined = chosen.fold(Moments::EMPTY, Moments::join);
        joined.spread().map(|std| joined.mean / std)
    };
    // `None` sorts below every `Some`; ratios are never NaN. Of equals the first trial is taken.
    let mut best: (usize, Option<f64>) = (0, None);
    for (trial, blocks) in moments.iter().enumerate() {
        let sharpe = half(blocks, mask);
        if sharpe > best.1 {
            best = (trial, sharpe);
        }
    }
    let outside: Vec<Option<f64>> = moments.iter().map(|blocks| half(blocks, !mask)).collect();
    let own = outside[best.0];
    let below = outside.iter().filter(|&&other| other < own).count() as f64;
    let equal = outside.iter().filter(|&&other| other == own).count() as f64;
    let omega = (below + (equal + 1.0) / 2.0) / (moments.len() + 1) as f64;
    Outcome { logit: (omega / (1.0 - omega)).ln(), sharpe: own }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn noise(trial: usize, bar: usize) -> f64 {
        let mut x = (trial as u64 * 1_000_003 + bar as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((x ^ (x >> 29)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    #[test]
    fn by_hand() {
        // Two blocks, two trials that swap places: the best of either half is the worst of the other. ω = 1/3.
        let a = [0.03, 0.01, -0.03, -0.01];
        let b = [-0.03, -0.01, 0.03, 0.01];
        let result = probability_of_overfitting(&[a, b], 2).unwrap();
        assert_eq!((result.probability, result.probability_of_loss), (1.0, 1.0));
        assert!(result.logits.iter().all(|&logit| (logit - 0.5_f64.ln()).abs() < 1e-15));
        assert_eq!(result.logits.len(), 2);
    }

    #[test]
    fn skill_is_not_overfitting_and_noise_is_a_coin() {
        let rows = |edge: f64| -> Vec<Vec<f64>> {
            (0..20).map(|k| (0..800).map(|t| noise(k, t) + if k == 7 { edge } else { 0.0 }).collect()).collect()
        };
        let skill = probability_of_overfitting(&rows(0.3), 8).unwrap();
        assert_eq!((skill.probability, skill.probability_of_loss, skill.logits.len()), (0.0, 0.0, 70));
        let chance = probability_of_overfitting(&rows(0.0), 8).unwrap();
        assert!((0.1..0.95).contains(&chance.probability), "{}", chance.probability);
    }

    #[test]
    fn identical_trials_share_the_middle_rank() {
        let row: Vec<f64> = (0..40).map(|t| noise(0, t)).collect();
        let result = probability_of_overfitting(&[row.clone(), row.clone(), row], 4).unwrap();
        assert_eq!(result.probability, 1.0);
        assert!(result.logits.iter().all(|&logit| logit == 0.0));
    }

    #[test]
    fn undefined() {
        let row = vec![0.1; 40];
        assert_eq!(probability_of_overfitting::<Vec<f64>>(&[], 4), None);
        assert_eq!(probability_of_overfitting(std::slice::from_ref(&row), 4), None);
        for blocks in [0, 3, 26, 22] {
            assert_eq!(probability_of_overfitting(&[row.clone(), row.clone()], blocks), None);
        }
        assert_eq!(probability_of_overfitting(&[row.clone(), vec![0.1; 41]], 4), None);
    }
}
