//! [`Luck`]: whether a result can be told from luck. The one judgement that the console and the page both word.
//!
//! Two probabilities, two questions. The probabilistic Sharpe ratio (above 0?) alone can say that a policy loses money.
//! The deflated one (above what the best of N shows without skill?) is low for any result that was chosen from many;
//! that makes it luck, not a loss.

use gigabar_backtest::EvalReport;

/// Probability from which a result counts as distinguishable from luck.
pub const CONFIDENT: f64 = 0.95;
/// Probability of a true Sharpe ratio above 0 below which a result is one of losing money.
pub const LOSING: f64 = 0.05;
/// Probability from which it is worth a second look.
const SUGGESTIVE: f64 = 0.80;

/// What a report's returns are evidence of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Luck {
    /// No bar was lived through.
    Empty,
    /// No order was ever filled.
    Idle,
    /// The returns are too few or too uniform for a Sharpe ratio to have an error.
    Unknown,
    /// A true Sharpe ratio above 0 is unlikely: less than 5 %.
    Losing,
    /// No better than the best of as many trials without skill; of one trial, than 0.
    Luck,
    /// Better, but not confidently so.
    Suggestive,
    /// Better, at 95 % confidence.
    Skill,
}

impl Luck {
    /// The judgement on a report.
    pub fn of(report: &EvalReport) -> Self {
        let pooled = &report.pooled;
        if pooled.n_bars == 0 {
            return Self::Empty;
        }
        if pooled.fills == 0 {
            return Self::Idle;
        }
        let losing = report.psr.is_some_and(|psr| psr < LOSING);
        match probability(report) {
            _ if losing => Self::Losing,
            None => Self::Unknown,
            Some(p) if p >= CONFIDENT => Self::Skill,
            Some(p) if p >= SUGGESTIVE => Self::Suggestive,
            Some(_) => Self::Luck,
        }
    }

    /// The judgement as a headline.
    pub fn title(self, n_trials: usize) -> &'static str {
        match self {
            Self::Empty => "There is nothing to judge: no bar was lived through.",
            Self::Idle => "It never traded.",
            Self::Unknown => "Too little or too uniform data to tell skill from luck.",
            Self::Losing => "Worse than luck: the evidence is that it loses money.",
            Self::Luck if n_trials > 1 => {
                "Not distinguishable from luck: the best of as many without skill does as well."
            }
            Self::Luck => "Not distinguishable from luck.",
            Self::Suggestive => "Suggestive, but not distinguishable from luck.",
            Self::Skill => "Distinguishable from luck, at 95% confidence.",
        }
    }
}

/// The deflated probability where there is one, else the probabilistic.
pub fn probability(report: &EvalReport) -> Option<f64> {
    report.dsr.or(report.psr).filter(|p| p.is_finite())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gigabar_backtest::metric::{MetricConfig, WindowMetrics};

    use super::*;

    fn report(psr: Option<f64>, dsr: Option<f64>, n_trials: usize) -> EvalReport {
        let pooled = WindowMetrics { n_bars: 9, fills: 2, psr, ..WindowMetrics::default() };
        EvalReport {
            policy: "x".into(),
            periods_per_year: 252.0,
            n_trials,
            config: MetricConfig::default(),
            windows: vec![],
            benchmark: pooled.clone(),
            pooled,
            across: BTreeMap::new(),
            psr,
            dsr,
        }
    }

    #[test]
    fn only_the_probability_of_a_ratio_above_zero_says_that_it_loses_money() {
        let of = |psr, dsr, n| Luck::of(&report(psr, dsr, n));
        // 61 % to be above 0, 2 % to beat the best of 1,000: luck, not a loss.
        assert_eq!(of(Some(0.61), Some(0.02), 1_000), Luck::Luck);
        assert_eq!(of(Some(0.04), Some(0.001), 1_000), Luck::Losing);
        assert_eq!(of(Some(0.04), None, 1), Luck::Losing);
        assert_eq!(of(Some(0.05), Some(0.05), 1), Luck::Luck);
        assert_eq!(of(Some(0.999), Some(0.85), 9), Luck::Suggestive);
        assert_eq!(of(Some(0.999), Some(0.95), 9), Luck::Skill);
        assert_eq!(of(Some(0.96), None, 1), Luck::Skill);
        assert_eq!(of(None, None, 1), Luck::Unknown);
        assert!(Luck::Luck.title(9).contains("the best of as many") && !Luck::Luck.title(1).contains("best"));
    }

    #[test]
    fn what_did_not_trade_is_neither() {
        let mut idle = report(None, None, 1);
        idle.pooled.fills = 0;
        assert_eq!(Luck::of(&idle), Luck::Idle);
        idle.pooled.n_bars = 0;
        assert_eq!(Luck::of(&idle), Luck::Empty);
    }
}
