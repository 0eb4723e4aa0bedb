//! Simple-moving-average cross: long while the fast average is above the slow one, short (or flat) while below.

use std::ops::Range;

use super::{Observation, Policy};

/// Running sums are recomputed this often, so that rounding cannot drift over millions of bars.
const RECOMPUTE_BARS: usize = 1024;

/// Level +1 while SMA(fast) > SMA(slow) of the closes, `below` while less, unchanged while equal; 0 before `slow` bars
/// exist. Reads history before the window.
#[derive(Debug, Clone, PartialEq)]
pub struct SmaCross {
    fast: RunningMean,
    slow: RunningMean,
    below: f64,
    level: f64,
}

impl SmaCross {
    /// Averages over `fast` and `slow` bars (1 ≤ fast < slow); `long_only` holds nothing while below.
    pub fn new(fast: usize, slow: usize, long_only: bool) -> Self {
        let below = if long_only { 0.0 } else { -1.0 };
        Self { fast: RunningMean::new(fast), slow: RunningMean::new(slow), below, level: 0.0 }
    }
}

impl Policy for SmaCross {
    fn name(&self) -> String {
        let long_only = if self.below == 0.0 { ",long_only=true" } else { "" };
        format!("sma-cross:fast={},slow={}{long_only}", self.fast.bars, self.slow.bars)
    }

    fn reset(&mut self, _window: Range<usize>) {
        self.fast.reset();
        self.slow.reset();
        self.level = 0.0;
    }

    fn level(&mut self, observation: &Observation<'_>) -> f64 {
        let close = observation.close();
        if let (Some(fast), Some(slow)) = (self.fast.at_end_of(close), self.slow.at_end_of(close)) {
            if fast > slow {
                self.level = 1.0;
            } else if fast < slow {
                self.level = self.below;
            }
        }
        self.level
    }
}

/// Mean of the last `bars` values of a growing slice, O(1) a step.
#[derive(Debug, Clone, PartialEq)]
struct RunningMean {
    bars: usize,
    sum: f64,
    /// Length of the slice `sum` belongs to; 0: none.
    seen: usize,
    /// Steps since the sum was computed from its terms.
    age: usize,
}

impl RunningMean {
    fn new(bars: usize) -> Self {
        Self { bars, sum: 0.0, seen: 0, age: 0 }
    }

    fn reset(&mut self) {
        self.seen = 0;
    }

    fn at_end_of(&mut self, values: &[f64]) -> Option<f64> {
        let n = values.len();
        if n < self.bars {
            return None;
        }
        if self.seen + 1 == n && self.seen >= self.bars && self.age < RECOMPUTE_BARS {
            self.sum += values[n - 1] - values[n - 1 - self.bars];
            self.age += 1;
        } else {
            self.sum = values[n - self.bars..].iter().sum();
            self.age = 0;
        }
        self.seen = n;
        Some(self.sum / self.bars as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_mean_equals_the_plain_mean() {
        let values: Vec<f64> = (0..5000).map(|i| 100.0 + f64::from(i % 37) * 0.37).collect();
        let mut mean = RunningMean::new(20);
        for n in 1..=values.len() {
            let want = (n >= 20).then(|| values[n - 20..n].iter().sum::<f64>() / 20.0);
            match (mean.at_end_of(&values[..n]), want) {
                (Some(got), Some(want)) => assert!((got - want).abs() < 1e-10),
                (got, want) => assert_eq!(got, want),
            }
        }
    }
}
