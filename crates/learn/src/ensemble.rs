//! [`EnsemblePolicy`]: several trained networks that decide together.

use std::ops::Range;

use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::ensemble::{EnsembleVote, flat_action};
use gigabar_backtest::policy::{Observation, Policy};

use crate::error::LearnError;
use crate::policy::NetPolicy;

/// Networks that share their levels, each over features scaled by its own scaler, and the rule that joins them.
#[derive(Debug, Clone)]
pub struct EnsemblePolicy {
    members: Vec<NetPolicy>,
    vote: EnsembleVote,
    flat: usize,
    /// `[n_member][n_action]`
    q: Vec<Vec<f32>>,
}

impl EnsemblePolicy {
    /// An ensemble of at least one member.
    ///
    /// # Errors
    /// [`LearnError::Ensemble`] when there is no member, or one whose levels are not the first's; [`LearnError::Vote`]
    /// when the vote may go flat and the levels cannot.
    pub fn new(members: Vec<NetPolicy>, vote: EnsembleVote) -> Result<Self, LearnError> {
        let first = members.first().ok_or_else(|| LearnError::Ensemble { reason: "it has no members".into() })?;
        let levels = first.levels();
        if let Some((i, member)) = members.iter().enumerate().find(|(_, member)| member.levels() != levels) {
            let reason = format!("member {i} has the levels {:?}, member 0 has {levels:?}", member.levels());
            return Err(LearnError::Ensemble { reason });
        }
        vote.check_levels(levels)?;
        let (flat, q) = (flat_action(levels), members.iter().map(|_| Vec::new()).collect());
        Ok(Self { members, vote, flat, q })
    }

    /// The networks, in the order of their votes.
    pub fn members(&self) -> &[NetPolicy] {
        &self.members
    }

    /// The rule that joins them.
    pub fn vote(&self) -> EnsembleVote {
        self.vote
    }

    /// The exposure levels it chooses from.
    pub fn levels(&self) -> &[f64] {
        self.members[0].levels()
    }

    /// The action decided at the close of bar `t`.
    pub fn action(&mut self, t: usize, portfolio: &[f32; N_PORTFOLIO]) -> usize {
        for (member, q) in self.members.iter_mut().zip(&mut self.q) {
            q.clear();
            q.extend_from_slice(member.q(t, portfolio));
        }
        self.vote.decide(&self.q, self.flat)
    }
}

impl Policy for EnsemblePolicy {
    fn name(&self) -> String {
        format!("ensemble of {} ({})", self.members.len(), self.vote)
    }

    fn reset(&mut self, _window: Range<usize>) {}

    fn level(&mut self, observation: &Observation<'_>) -> f64 {
        let action = self.action(observation.t(), observation.portfolio());
        self.levels()[action]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Arc;

    use gigabar_market::feature::FeatureTable;
    use gigabar_market::scale::Scaler;
    use gigabar_market::synth::{RandomWalkConfig, random_walk};

    use crate::net::{Activation, NetShape};

    const LEVELS: [f64; 3] = [-1.0, 0.0, 1.0];

    /// Networks of different weights, each over features scaled on a train range of its own.
    fn members(levels: &[f64]) -> Vec<NetPolicy> {
        let bars = random_walk(1_500, 3, &RandomWalkConfig::default()).unwrap();
        let table = FeatureTable::compute(&bars).unwrap();
        let start = table.warmup_bars();
        let member = |seed: usize| {
            let scaler = Scaler::fit(&table, start..start + 100 + 50 * seed).unwrap();
            let features = Arc::new(scaler.transform(&table).unwrap());
            let n_input = table.n_feature() + N_PORTFOLIO;
            let (hidden, n_action) = (vec![8], levels.len());
            let shape = NetShape { n_input, hidden, n_action, activation: Activation::Relu, dueling: false };
            let weights = shape.initial(seed as u64);
            NetPolicy::new(shape, weights, levels.to_vec(), features).unwrap()
        };
        (0..3).map(member).collect()
    }

    #[test]
    fn every_member_sees_its_own_features_and_the_vote_decides() {
        let alone = members(&LEVELS);
        let mut together = EnsemblePolicy::new(alone.clone(), EnsembleVote::Majority).unwrap();
        assert_eq!(together.name(), "ensemble of 3 (majority)");
        let (mut disputed, portfolio) = (0, [0.1; N_PORTFOLIO]);
        for t in 1_000..1_400 {
            let choices: Vec<usize> =
                alone.clone().iter_mut().map(|member| crate::policy::argmax(member.q(t, &portfolio))).collect();
            let votes = |a: usize| choices.iter().filter(|&&choice| choice == a).count();
            let action = together.action(t, &portfolio);
            assert_eq!(votes(action), (0..3).map(votes).max().unwrap(), "bar {t}: {choices:?}");
            disputed += usize::from(votes(action) < 3);
        }
        assert!(disputed > 0, "the members always agree: nothing tested");
    }

    #[test]
    fn members_must_share_their_levels() {
        let mut mixed = members(&LEVELS);
        mixed.extend(members(&[0.0, 0.5, 1.0]));
        let error = EnsemblePolicy::new(mixed, EnsembleVote::MeanQ).unwrap_err().to_string();
        assert_eq!(
            error,
            "the ensemble cannot vote: member 3 has the levels [0.0, 0.5, 1.0], member 0 has [-1.0, 0.0, 1.0]"
        );
        let error = EnsemblePolicy::new(members(&[-1.0, 1.0]), EnsembleVote::Agreement(0.6)).unwrap_err();
        assert!(
            error.to_string().ends_with("these policies have no flat level: [-1.0, 1.0]") && error.hint().is_some()
        );
        assert!(EnsemblePolicy::new(members(&[-1.0, 1.0]), EnsembleVote::Majority).is_ok());
        let error = EnsemblePolicy::new(Vec::new(), EnsembleVote::MeanQ).unwrap_err().to_string();
        assert_eq!(error, "the ensemble cannot vote: it has no members");
    }
}
