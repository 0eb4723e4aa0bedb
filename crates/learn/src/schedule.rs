//! Values that move between a start and an end as training progresses.

use serde::{Deserialize, Serialize};

/// The shape of the way from start to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decay {
    /// start + (end − start)·x.
    Linear,
    /// start·(end/start)^x; both ends must be above 0.
    Exponential,
}

impl Decay {
    /// The value at `progress` ∈ [0, 1] of the way; beyond it the end.
    pub fn at(self, start: f64, end: f64, progress: f64) -> f64 {
        let x = progress.clamp(0.0, 1.0);
        if x >= 1.0 {
            return end;
        }
        match self {
            Self::Linear => start + (end - start) * x,
            Self::Exponential => start * (end / start).powf(x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_exact_and_the_middle_is_the_mean() {
        for decay in [Decay::Linear, Decay::Exponential] {
            assert_eq!(decay.at(0.8, 0.2, 0.0), 0.8);
            assert_eq!(decay.at(0.8, 0.2, 1.0), 0.2);
            assert_eq!(decay.at(0.8, 0.2, 7.0), 0.2);
        }
        assert!((Decay::Linear.at(0.8, 0.2, 0.5) - 0.5).abs() < 1e-15);
        assert!((Decay::Exponential.at(0.8, 0.2, 0.5) - 0.4).abs() < 1e-15);
    }
}
