//! [`EnsembleVote`]: how several models that share their actions decide one bar.
//!
//! f32, every sum in the order of the models, every comparison exact: given the same Q-values `gpu/vote.cuh` picks the
//! same action bit for bit.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// How the Q-values of K models become one action.
///
/// Each model votes for its action of largest Q (ties to the lowest index). Actions that end equal are told apart by
/// the larger sum of Q over the models, then by the lower index. A model with a Q that is not finite abstains; where
/// all abstain the action nearest to flat is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EnsembleVote {
    /// The largest mean of Q over the models.
    MeanQ,
    /// The most votes.
    Majority,
    /// The largest sum of votes, each weighing (Q₁ − Q₂) / (Q₁ − Q_min): how far the model sets its choice apart from
    /// its second, as a share of its whole range. Models whose Q differ in scale weigh alike, and a softmax would not
    /// do: Q-values of log returns are so close to one another that all probabilities are nearly equal. With two
    /// actions every vote weighs 1; a model indifferent between its two best weighs 0.
    Confidence,
    /// The most votes if that is at least this share of all models, abstainers included; else the flat action.
    Agreement(f32),
}

/// Texts of every rule, for help and messages.
pub const VOTES: [&str; 4] = ["mean-q", "majority", "confidence", "agreement:0.6"];

/// Why a text names no vote.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VoteError {
    /// No rule has this name.
    #[error("unknown vote `{text}`; known: mean-q, majority, confidence, agreement:SHARE")]
    Unknown {
        /// The text given.
        text: String,
    },
    /// The share of an agreement is missing or out of range.
    #[error(
        "vote `{text}`: expected agreement:SHARE with a share of the models above 0 and at most 1, as agreement:0.6"
    )]
    Share {
        /// The text given.
        text: String,
    },
}

/// A rule that goes flat, of policies that have no such level: the nearest one would be a position nobody voted for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{vote} goes flat where the models disagree, and these policies have no flat level: {levels}")]
pub struct NoFlatLevel {
    /// The rule.
    pub vote: String,
    /// The levels there are.
    pub levels: String,
}

impl NoFlatLevel {
    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        Some("use mean-q, majority or confidence, or policies trained with a level 0 (dqn.levels)".to_owned())
    }
}

impl FromStr for EnsembleVote {
    type Err = VoteError;

    fn from_str(text: &str) -> Result<Self, VoteError> {
        let trimmed = text.trim();
        let (name, share) = trimmed.split_once(':').map_or((trimmed, None), |(name, share)| (name, Some(share)));
        match (name, share) {
            ("mean-q", None) => Ok(Self::MeanQ),
            ("majority", None) => Ok(Self::Majority),
            ("confidence", None) => Ok(Self::Confidence),
            ("agreement", _) => {
                let share =
                    share.and_then(|share| share.trim().parse().ok()).filter(|&share| share > 0.0 && share <= 1.0);
                share.map(Self::Agreement).ok_or_else(|| VoteError::Share { text: text.to_owned() })
            }
            _ => Err(VoteError::Unknown { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for EnsembleVote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MeanQ => f.write_str("mean-q"),
            Self::Majority => f.write_str("majority"),
            Self::Confidence => f.write_str("confidence"),
            Self::Agreement(share) => write!(f, "agreement:{share}"),
        }
    }
}

/// The action that holds least: its level is nearest to 0; ties go to the lowest index.
pub fn flat_action(levels: &[f64]) -> usize {
    (0..levels.len()).fold(0, |best, a| if levels[a].abs() < levels[best].abs() { a } else { best })
}

impl EnsembleVote {
    /// Refuses levels that this rule cannot decide among, whatever computes it.
    ///
    /// # Errors
    /// [`NoFlatLevel`] for a rule that may go flat and levels without a 0.
    pub fn check_levels(self, levels: &[f64]) -> Result<(), NoFlatLevel> {
        let goes_flat = matches!(self, Self::Agreement(_));
        if !goes_flat || levels.contains(&0.0) {
            return Ok(());
        }
        Err(NoFlatLevel { vote: self.to_string(), levels: format!("{levels:?}") })
    }

    /// The action the models decide. `q` is `[n_model][n_action]`, all rows of one length; `flat` as of
    /// [`flat_action`].
    pub fn decide<Q: AsRef<[f32]>>(self, q: &[Q], flat: usize) -> usize {
        let n_action = q.first().map_or(0, |q| q.as_ref().len());
        let (mut sum, mut score) = (vec![0.0_f32; n_action], vec![0.0_f32; n_action]);
        let mut voters = 0;
        for q in q.iter().map(AsRef::as_ref).filter(|q| q.iter().all(|value| value.is_finite())) {
            sum.iter_mut().zip(q).for_each(|(sum, q)| *sum += q);
            let (choice, confidence) = ballot(q);
            score[choice] += if self == Self::Confidence { confidence } else { 1.0 };
            voters += 1;
        }
        if voters == 0 {
            return flat;
        }
        let score = if self == Self::MeanQ { &sum } else { &score };
        let better = |a: usize, b: usize| score[a] > score[b] || (score[a] == score[b] && sum[a] > sum[b]);
        let winner = (1..n_action).fold(0, |best, a| if better(a, best) { a } else { best });
        let held_back = self.quorum(q.len()).is_some_and(|quorum| score[winner] < quorum as f32);
        if held_back { flat } else { winner }
    }

    /// Votes that the winner of an agreement among `n_model` needs.
    pub(crate) fn quorum(self, n_model: usize) -> Option<u32> {
        let Self::Agreement(share) = self else { return None };
        let n_model = n_model as u32;
        Some((1..=n_model).find(|&votes| votes as f32 / n_model as f32 >= share).unwrap_or(n_model + 1))
    }
}

/// A model's choice and how far it sets it apart.
fn ballot(q: &[f32]) -> (usize, f32) {
    let choice = (1..q.len()).fold(0, |best, a| if q[a] > q[best] { a } else { best });
    let (mut second, mut least) = (f32::NEG_INFINITY, q[choice]);
    for (a, &value) in q.iter().enumerate() {
        if a != choice && value > second {
            second = value;
        }
        if value < least {
            least = value;
        }
    }
    let range = q[choice] - least;
    (choice, if range > 0.0 { (q[choice] - second) / range } else { 0.0 })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const FLAT: usize = 1;

    #[test]
    fn the_mean_can_outweigh_the_votes() {
        // Two mild votes for action 2 against one strong vote for action 0: sums 3.2, 0.6, 2.2.
        let q = [[3.0, 0.2, 0.0], [0.1, 0.2, 1.0], [0.1, 0.2, 1.2]];
        assert_eq!(EnsembleVote::MeanQ.decide(&q, FLAT), 0);
        assert_eq!(EnsembleVote::Majority.decide(&q, FLAT), 2);
        // Below zero too.
        assert_eq!(EnsembleVote::MeanQ.decide(&[[-3.0, -2.0, -1.0]], FLAT), 2);
    }

    #[test]
    fn votes_that_tie_go_to_the_larger_mean_then_to_the_lower_index() {
        // One vote each for 0 and 2; sums 1.0 + 0.0 and 0.5 + 2.0.
        assert_eq!(EnsembleVote::Majority.decide(&[[1.0, 0.0, 0.5], [0.0, 1.5, 2.0]], FLAT), 2);
        assert_eq!(EnsembleVote::Majority.decide(&[[2.0, 0.0, 1.0], [1.0, 0.0, 2.0]], FLAT), 0);
        assert_eq!(EnsembleVote::MeanQ.decide(&[[1.0, 1.0], [1.0, 1.0]], FLAT), 0);
        // Within a model a tie is a vote for the lowest index.
        assert_eq!(EnsembleVote::Majority.decide(&[[0.0, 4.0, 4.0]], FLAT), 1);
    }

    #[test]
    fn confidence_is_the_gap_to_the_second_as_a_share_of_the_range() {
        // Two votes for 2 that weigh (1 − 0.9)/(1 − 0) = 0.1 each; one for 0 that weighs (2 − 1)/(2 − 0) = 0.5.
        let q = [[0.0, 0.9, 1.0], [0.0, 0.9, 1.0], [2.0, 1.0, 0.0]];
        assert_eq!(EnsembleVote::Confidence.decide(&q, FLAT), 0);
        assert_eq!(EnsembleVote::Majority.decide(&q, FLAT), 2);
        assert_eq!(ballot(&q[0]), (2, 1.0 - 0.9));
        assert_eq!(ballot(&q[2]), (0, 0.5));
        assert_eq!(ballot(&[7.0, 7.0]), (0, 0.0));
        // A thousand times the scale, the same weight.
        let scaled = [[0.0, 900.0, 1000.0], [0.0, 0.9, 1.0], [2.0, 1.0, 0.0]];
        assert_eq!(EnsembleVote::Confidence.decide(&scaled, FLAT), 0);
    }

    #[test]
    fn agreement_holds_back_below_its_share() {
        let vote = |choice: usize| [0, 1, 2].map(|a| if a == choice { 1.0 } else { 0.0 });
        let three_of_five = [0, 2, 2, 0, 2].map(vote);
        assert_eq!(EnsembleVote::Agreement(0.6).decide(&three_of_five, FLAT), 2);
        assert_eq!(EnsembleVote::Agreement(0.61).decide(&three_of_five, FLAT), FLAT);
        assert_eq!(EnsembleVote::Agreement(1.0).decide(&[vote(2), vote(2)], FLAT), 2);
        for (share, n_model, quorum) in
            [(0.6, 5, 3), (0.7, 10, 7), (0.1, 10, 1), (1.0, 7, 7), (0.01, 3, 1), (0.34, 3, 2)]
        {
            assert_eq!(EnsembleVote::Agreement(share).quorum(n_model), Some(quorum), "{share} of {n_model}");
        }
    }

    #[test]
    fn a_model_without_finite_values_abstains() {
        let broken = [f32::NAN, 9.0, 0.0];
        assert_eq!(EnsembleVote::MeanQ.decide(&[broken, [0.0, 0.1, 1.0]], FLAT), 2);
        assert_eq!(EnsembleVote::Agreement(0.6).decide(&[broken, [0.0, 0.1, 1.0]], FLAT), FLAT);
        assert_eq!(EnsembleVote::Majority.decide(&[broken, [f32::INFINITY, 0.0, 0.0]], FLAT), FLAT);
    }

    #[test]
    fn only_a_rule_that_goes_flat_needs_a_flat_level() {
        for text in VOTES {
            let vote: EnsembleVote = text.parse().unwrap();
            assert_eq!(vote.check_levels(&[-1.0, -0.0, 1.0]), Ok(()));
            assert_eq!(vote.check_levels(&[-1.0, 1.0]).is_err(), text.starts_with("agreement"), "{text}");
        }
        let error = EnsembleVote::Agreement(0.6).check_levels(&[0.5, 1.0]).unwrap_err();
        let said =
            "agreement:0.6 goes flat where the models disagree, and these policies have no flat level: [0.5, 1.0]";
        assert_eq!(error.to_string(), said);
        assert!(error.hint().unwrap().contains("majority"));
    }

    #[test]
    fn the_flat_action_is_the_level_nearest_to_zero() {
        assert_eq!(flat_action(&[-1.0, -0.5, 0.0, 0.5, 1.0]), 2);
        assert_eq!(flat_action(&[-0.5, 0.5]), 0);
        assert_eq!(flat_action(&[1.0, 0.25]), 1);
    }

    #[test]
    fn texts_round_trip_and_mistakes_are_told() {
        for text in VOTES {
            assert_eq!(text.parse::<EnsembleVote>().unwrap().to_string(), text);
        }
        let fails = |text: &str| text.parse::<EnsembleVote>().unwrap_err().to_string();
        assert_eq!(fails("mean"), "unknown vote `mean`; known: mean-q, majority, confidence, agreement:SHARE");
        assert_eq!(
            fails("majority:1"),
            "unknown vote `majority:1`; known: mean-q, majority, confidence, agreement:SHARE"
        );
        for text in ["agreement", "agreement:", "agreement:0", "agreement:1.1", "agreement:NaN", "agreement:all"] {
            assert!(fails(text).starts_with(&format!("vote `{text}`: expected agreement:SHARE")), "{text}");
        }
    }
}
