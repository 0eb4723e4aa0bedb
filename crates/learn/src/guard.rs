//! The training guard: which gradient steps are bad, told from three numbers. A bad step changes neither weights nor
//! optimizer; it is counted, and a run may end for it. The device judges by the same arithmetic in the same order.

use serde::{Deserialize, Serialize};

/// Loss, gradient or a Q-value is not finite.
pub const NOT_FINITE: u32 = 1;
/// The loss is far above its running mean.
pub const LOSS_SPIKE: u32 = 2;
/// The gradient has all but vanished.
pub const GRADIENT_COLLAPSE: u32 = 4;
/// A Q-value is beyond anything a reward could explain.
pub const Q_DIVERGENCE: u32 = 8;

/// Losses of which the running mean is the mean; of more it forgets the older ones. Fewer are too few to call a spike.
pub const MEMORY: u64 = 100;

/// What the guard calls bad. A value of 0 means that it does not ask.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardConfig {
    /// A loss above this many times its running mean is a spike; asked after the first 100 gradient steps.
    pub loss_spike: f64,
    /// A gradient whose global norm, before clipping, is below this has collapsed.
    pub min_grad_norm: f64,
    /// |Q| above this in a minibatch has diverged; in scaled reward units.
    pub max_q: f64,
    /// Whether a run ends, with exit code 1 and a checkpoint, after the epoch in which a step was bad. A device then
    /// waits after every epoch to be told to go on.
    pub stop: bool,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self { loss_spike: 100.0, min_grad_norm: 1e-9, max_q: 1e6, stop: false }
    }
}

/// What the guard remembers: a running mean of the loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    /// The mean; 0 before the first loss.
    pub loss_mean: f64,
    /// Losses taken in.
    pub loss_count: u64,
}

impl Guard {
    /// The verdict on a step, 0 when it is good: every bit that applies, [`NOT_FINITE`] alone where it does.
    /// `grad_norm` is taken before clipping, `max_q` is the largest |Q| of the minibatch.
    pub fn judge(&mut self, config: &GuardConfig, loss: f64, grad_norm: f64, max_q: f64) -> u32 {
        if !(loss.is_finite() && grad_norm.is_finite() && max_q.is_finite()) {
            return NOT_FINITE;
        }
        let most = config.loss_spike * self.loss_mean;
        let spike = config.loss_spike > 0.0 && self.loss_count >= MEMORY && loss > most;
        // A spike counts as the largest loss that is none, so that a lasting change of scale is taken in.
        self.take_in(if spike { most } else { loss });
        let mut verdict = if spike { LOSS_SPIKE } else { 0 };
        if grad_norm < config.min_grad_norm {
            verdict |= GRADIENT_COLLAPSE;
        }
        if config.max_q > 0.0 && max_q > config.max_q {
            verdict |= Q_DIVERGENCE;
        }
        verdict
    }

    /// The running mean; NaN before the first loss.
    pub fn loss_ema(&self) -> f64 {
        if self.loss_count == 0 { f64::NAN } else { self.loss_mean }
    }

    fn take_in(&mut self, loss: f64) {
        self.loss_mean += (loss - self.loss_mean) / (self.loss_count + 1).min(MEMORY) as f64;
        self.loss_count += 1;
    }
}

/// How many steps were bad, by kind; a step may be bad in several ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardCounts {
    /// Steps with [`NOT_FINITE`].
    pub not_finite: u64,
    /// Steps with [`LOSS_SPIKE`].
    pub loss_spike: u64,
    /// Steps with [`GRADIENT_COLLAPSE`].
    pub gradient_collapse: u64,
    /// Steps with [`Q_DIVERGENCE`].
    pub q_divergence: u64,
}

impl GuardCounts {
    /// Counts a step's verdict.
    pub fn add(&mut self, verdict: u32) {
        let count = |bit: u32, n: &mut u64| *n += u64::from(verdict & bit != 0);
        count(NOT_FINITE, &mut self.not_finite);
        count(LOSS_SPIKE, &mut self.loss_spike);
        count(GRADIENT_COLLAPSE, &mut self.gradient_collapse);
        count(Q_DIVERGENCE, &mut self.q_divergence);
    }

    /// Names and counts, as they are logged.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("not_finite", self.not_finite),
            ("loss_spike", self.loss_spike),
            ("gradient_collapse", self.gradient_collapse),
            ("q_divergence", self.q_divergence),
        ]
    }

    /// Whether any step was bad.
    pub fn any(&self) -> bool {
        self.named().iter().any(|(_, n)| *n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: GuardConfig = GuardConfig { loss_spike: 10.0, min_grad_norm: 1e-3, max_q: 50.0, stop: false };

    /// After `n` losses of 2.
    fn guard(n: u64) -> Guard {
        let mut guard = Guard::default();
        (0..n).for_each(|_| assert_eq!(guard.judge(&CONFIG, 2.0, 1.0, 1.0), 0));
        guard
    }

    #[test]
    fn the_mean_is_exact_until_it_forgets() {
        let mut guard = Guard::default();
        assert!(guard.loss_ema().is_nan());
        for loss in [1.0, 2.0, 6.0] {
            guard.judge(&CONFIG, loss, 1.0, 1.0);
        }
        assert_eq!((guard.loss_ema(), guard.loss_count), (3.0, 3));
        let mut old = Guard { loss_mean: 2.0, loss_count: 1_000 };
        old.judge(&CONFIG, 3.0, 1.0, 1.0);
        assert_eq!(old, Guard { loss_mean: 2.0 + 1.0 / 100.0, loss_count: 1_001 });
    }

    #[test]
    fn what_is_not_finite_is_that_alone_and_changes_nothing() {
        for (loss, norm, q) in
            [(f64::NAN, 0.0, 99.0), (1e9, f64::INFINITY, 99.0), (1e9, 0.0, f64::NAN), (f64::NEG_INFINITY, 1.0, 1.0)]
        {
            let mut guard = guard(200);
            let before = guard;
            assert_eq!(guard.judge(&CONFIG, loss, norm, q), NOT_FINITE);
            assert_eq!(guard, before);
        }
    }

    #[test]
    fn a_spike_needs_a_hundred_losses_and_counts_as_the_limit() {
        assert_eq!(guard(99).judge(&CONFIG, 1e6, 1.0, 1.0), 0);
        let mut guard = guard(100);
        assert_eq!(guard.judge(&CONFIG, 20.0, 1.0, 1.0), 0, "the limit itself is none");
        let mut guard = Guard { loss_mean: 2.0, loss_count: 100 };
        assert_eq!(guard.judge(&CONFIG, 20.1, 1.0, 1.0), LOSS_SPIKE);
        assert_eq!(guard, Guard { loss_mean: 2.0 + 18.0 / 100.0, loss_count: 101 });
        // A loss that stays at 1000 is ordinary after 45 steps: 2·1.09^n passes 100 there.
        let steps = (0..).take_while(|_| guard.judge(&CONFIG, 1_000.0, 1.0, 1.0) == LOSS_SPIKE).count();
        assert_eq!(steps, 45);
    }

    #[test]
    fn collapse_and_divergence_lie_beyond_their_limits() {
        let verdict = |loss, norm, q| guard(100).judge(&CONFIG, loss, norm, q);
        assert_eq!((verdict(2.0, 1e-3, 50.0), verdict(2.0, 0.9e-3, 50.0)), (0, GRADIENT_COLLAPSE));
        assert_eq!(verdict(2.0, 1.0, 50.1), Q_DIVERGENCE);
        assert_eq!(verdict(1e3, 0.0, 1e3), LOSS_SPIKE | GRADIENT_COLLAPSE | Q_DIVERGENCE);
    }

    #[test]
    fn zero_does_not_ask() {
        let silent = GuardConfig { loss_spike: 0.0, min_grad_norm: 0.0, max_q: 0.0, stop: false };
        assert_eq!(guard(100).judge(&silent, 1e300, 0.0, 1e300), 0);
        assert_eq!(guard(100).judge(&silent, 1.0, f64::NAN, 1.0), NOT_FINITE);
    }

    #[test]
    fn every_bit_is_counted() {
        let mut counts = GuardCounts::default();
        assert!(!counts.any());
        [NOT_FINITE, LOSS_SPIKE, LOSS_SPIKE | Q_DIVERGENCE, GRADIENT_COLLAPSE, 0]
            .into_iter()
            .for_each(|v| counts.add(v));
        assert_eq!(counts, GuardCounts { not_finite: 1, loss_spike: 2, gradient_collapse: 1, q_divergence: 1 });
        assert!(counts.any());
    }
}
