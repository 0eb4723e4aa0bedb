#![allow(clippy::unwrap_used)]

use gigabar_market::feature::FeatureTable;
use gigabar_market::scale::Scaler;
use gigabar_market::sigma::sigma;

use super::*;
use crate::guard;
use crate::net::Activation;
use crate::replay::ReplayKind;

/// A small planted market, trained on its first two thirds.
pub(super) fn data(seed: u64) -> TrainData {
    let bars = gigabar_market::synth::planted(600, seed, &Default::default()).unwrap();
    let table = FeatureTable::compute(&bars).unwrap();
    let range = table.warmup_bars()..400;
    let features = Scaler::fit(&table, range.clone()).unwrap().transform(&table).unwrap();
    let sigma = Arc::new(sigma(bars.close()));
    TrainData { bars: Arc::new(bars), sigma, features: Arc::new(features), range }
}

pub(super) fn config(replay: ReplayKind) -> DqnConfig {
    DqnConfig {
        replay,
        hidden: vec![12, 8],
        activation: Activation::Silu,
        batch: 16,
        replay_capacity: 300,
        learning_starts: 32,
        steps_per_epoch: 200,
        epochs: 6,
        n_envs: 3,
        episode_bars: 40,
        ..DqnConfig::default()
    }
}

pub(super) fn sim() -> SimConfig {
    SimConfig { half_spread_bps: 2.0, commission_bps: 1.0, ..SimConfig::default() }
}

fn trainer(config: &DqnConfig, seed: u64) -> Trainer {
    Trainer::new(config, &sim(), &RewardConfig::default(), data(1), seed).unwrap()
}

pub(super) fn bits(weights: &[Vec<f32>]) -> Vec<u32> {
    weights.iter().flatten().map(|w| w.to_bits()).collect()
}

#[test]
fn same_seed_same_bits_and_seeds_differ() {
    let run = |seed: u64| {
        let mut trainer = trainer(&config(ReplayKind::Proportional), seed);
        let summaries: Vec<EpochSummary> = (0..3).map(|_| trainer.run_epoch().unwrap()).collect();
        (bits(trainer.weights()), summaries.last().unwrap().loss.to_bits())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn inside_a_pool_the_bits_are_the_same() {
    let alone = {
        let mut trainer = trainer(&config(ReplayKind::Rank), 3);
        trainer.run_epoch().unwrap();
        bits(trainer.weights())
    };
    let threads: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                let mut trainer = trainer(&config(ReplayKind::Rank), 3);
                trainer.run_epoch().unwrap();
                bits(trainer.weights())
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), alone);
    }
}

#[test]
fn every_option_trains_and_keeps_its_counts() {
    for dueling in [false, true] {
        for double in [false, true] {
            for target in [TargetUpdate::Soft, TargetUpdate::Periodic] {
                let options =
                    DqnConfig { dueling, double, target, target_period: 5, n_step: 2, ..config(ReplayKind::Uniform) };
                let mut trainer = trainer(&options, 5);
                let before = bits(trainer.weights());
                let summary = trainer.run_epoch().unwrap();
                assert_ne!(bits(trainer.weights()), before);
                assert!(summary.loss.is_finite() && summary.grad_norm > 0.0 && summary.skipped_steps == 0);
                // 201 steps: 67 rounds of 3 environments; one gradient step per 4 after the first 32.
                assert_eq!((summary.env_steps, summary.grad_steps), (201, (201 - 32) / 4));
                assert_eq!(summary.action_counts.iter().sum::<u64>(), 201);
            }
        }
    }
}

/// The loss the gradient belongs to: mean of w·Huber, against central differences of `loss` itself.
#[test]
fn the_loss_gradient_is_its_derivative() {
    let mut trainer = trainer(&config(ReplayKind::Proportional), 1);
    trainer.run_epoch().unwrap();
    let (n, n_action) = (trainer.draw.slots.len(), 5);
    let targets: Vec<f32> = (0..n).map(|i| (i as f32 * 0.7).sin()).collect();
    let q: Vec<f32> = (0..n * n_action).map(|i| (i as f32 * 1.3).cos() * 3.0).collect();
    let loss = trainer.loss(&q, &targets);
    for k in 0..q.len() {
        let at = |step: f32| {
            let mut moved = q.clone();
            moved[k] += step;
            trainer.loss(&moved, &targets).loss
        };
        let numeric = (at(1e-2) - at(-1e-2)) / 2e-2;
        assert!((numeric - f64::from(loss.dloss_dq[k])).abs() < 1e-3, "{k}: {numeric} against {}", loss.dloss_dq[k]);
    }
    assert!(loss.dloss_dq.iter().filter(|&&d| d != 0.0).count() <= n);
}

/// y = R after ruin, R + γⁿ·Q⁻(s′, argmax Q) otherwise; truncations are of the second kind.
#[test]
fn targets_bootstrap_except_after_ruin() {
    for double in [false, true] {
        let mut trainer = trainer(&DqnConfig { double, ..config(ReplayKind::Uniform) }, 1);
        (0..2).for_each(|_| drop(trainer.run_epoch().unwrap()));
        trainer.draw.slots = (0..trainer.ring.len()).collect();
        let short = trainer.ring.discount.iter().filter(|&&d| d > 0.95f32.powi(3) + 1e-6).count();
        assert!(short > 0, "no truncated transition was collected");
        trainer.ring.done[7] = 1;
        let (_, next) = trainer.gather().unwrap();
        let target_q = trainer.nets.target.infer(&next).unwrap();
        let online_q = trainer.nets.online.infer(&next).unwrap();
        for (i, y) in trainer.targets(&next).unwrap().into_iter().enumerate() {
            let row = |q: &[f32]| q[i * 5..(i + 1) * 5].to_vec();
            let chosen = argmax(&row(if double { &online_q } else { &target_q }));
            let bootstrap = trainer.ring.discount[i] * row(&target_q)[chosen];
            let want = trainer.ring.reward[i] + if i == 7 { 0.0 } else { bootstrap };
            assert_eq!(y, want);
        }
    }
}

#[test]
fn a_soft_target_trails_and_a_periodic_one_jumps() {
    let mut soft = trainer(&DqnConfig { tau: 1.0, ..config(ReplayKind::Uniform) }, 1);
    soft.run_epoch().unwrap();
    let close = |(t, o): (&f32, &f32)| (t - o).abs() <= 1e-6;
    assert!(soft.nets.target_weights.iter().flatten().zip(soft.weights().iter().flatten()).all(close));
    let periodic = DqnConfig { target: TargetUpdate::Periodic, target_period: 1_000, ..config(ReplayKind::Uniform) };
    let mut periodic = trainer(&periodic, 1);
    let first = bits(periodic.weights());
    periodic.run_epoch().unwrap();
    assert_eq!(bits(&periodic.nets.target_weights), first);
}

/// The guard: a NaN reward reaches the loss; the step is counted and changes nothing, and training goes on.
#[test]
fn a_step_that_is_not_finite_changes_nothing() {
    for kind in [ReplayKind::Uniform, ReplayKind::Proportional, ReplayKind::Rank] {
        for poison in [f32::NAN, f32::INFINITY] {
            let mut trainer = trainer(&config(kind), 1);
            trainer.run_epoch().unwrap();
            let clean = trainer.ring.reward.clone();
            trainer.ring.reward.iter_mut().for_each(|r| *r = poison);
            let before = (bits(trainer.weights()), bits(&trainer.nets.target_weights), trainer.adam.clone());
            let mut stats = LearnStats::default();
            (0..5).for_each(|_| trainer.learn(&mut stats).unwrap());
            let after = (bits(trainer.weights()), bits(&trainer.nets.target_weights), trainer.adam.clone());
            assert!(before == after, "a poisoned step changed the learner");
            assert_eq!((stats.skipped, trainer.skipped_steps(), stats.loss.n), (5, 5, 0));
            trainer.ring.reward = clean;
            let summary = trainer.run_epoch().unwrap();
            assert!(summary.loss.is_finite() && summary.skipped_steps == 0);
            assert_ne!(bits(trainer.weights()), before.0);
        }
    }
}

/// The guard on what is finite: each kind of bad step leaves every weight as it was and is counted as its kind.
#[test]
fn a_step_beyond_the_limits_changes_nothing() {
    type Spoil = fn(&mut Trainer);
    let cases: [(u32, Spoil); 4] = [
        (guard::NOT_FINITE, |t| t.ring.reward.iter_mut().for_each(|r| *r = f32::NAN)),
        // Of a loss that explodes: Huber is linear in it.
        (guard::LOSS_SPIKE, |t| t.ring.reward.iter_mut().for_each(|r| *r = 1e6)),
        (guard::GRADIENT_COLLAPSE, |t| t.config.guard.min_grad_norm = 1e6),
        (guard::Q_DIVERGENCE, |t| t.config.guard.max_q = 1e-6),
    ];
    for (bit, spoil) in cases {
        let mut trainer = trainer(&DqnConfig { train_every: 1, ..config(ReplayKind::Proportional) }, 1);
        let summary = trainer.run_epoch().unwrap();
        assert!(!summary.guard.any() && (summary.loss_ema - trainer.guard.loss_mean).abs() == 0.0);
        assert!(trainer.guard.loss_count >= guard::MEMORY, "too few losses to know a spike");
        spoil(&mut trainer);
        let all =
            |t: &Trainer| (bits(t.weights()), bits(&t.nets.target_weights), bits(&t.nets.online.weights().unwrap()));
        let (before, adam, mean) = (all(&trainer), trainer.adam.clone(), trainer.guard.loss_mean);
        let mut stats = LearnStats::default();
        (0..3).for_each(|_| trainer.learn(&mut stats).unwrap());
        assert!(all(&trainer) == before && trainer.adam == adam, "verdict {bit}: a bad step changed the learner");
        assert!(trainer.weights().iter().flatten().all(|w| w.is_finite()));
        let mut want = GuardCounts::default();
        (0..3).for_each(|_| want.add(bit));
        assert_eq!((stats.guard, stats.skipped, stats.loss.n), (want, 3, 0));
        assert_eq!(trainer.guard.loss_mean == mean, bit == guard::NOT_FINITE);
    }
}

#[test]
fn the_policy_is_the_online_network() {
    let mut trainer = trainer(&config(ReplayKind::Uniform), 1);
    trainer.run_epoch().unwrap();
    let mut policy = trainer.policy();
    let portfolio = [0.1, 0.5, -0.02, 0.0, 1.0, 0.2, 0.0, 0.9];
    let mut observation = trainer.data.features.row(450).to_vec();
    observation.extend_from_slice(&portfolio);
    let net = &trainer.nets.online;
    let want = net.infer(&net.input(observation).unwrap()).unwrap();
    for (got, want) in policy.q(450, &portfolio).iter().zip(want) {
        assert!((got - want).abs() < 1e-5 * (1.0 + want.abs()));
    }
}

#[test]
fn wrong_ranges_and_settings_are_refused() {
    let build = |config: &DqnConfig, data: TrainData| Trainer::new(config, &sim(), &RewardConfig::default(), data, 1);
    let config = config(ReplayKind::Uniform);
    for range in [100..700, 100..103] {
        let error = build(&config, TrainData { range, ..data(1) }).unwrap_err();
        assert!(matches!(error, LearnError::Range { .. }) && error.hint().is_some(), "{error}");
    }
    let error = build(&DqnConfig { gamma: 2.0, ..config.clone() }, data(1)).unwrap_err();
    assert!(error.to_string().contains("dqn.gamma"));
    let shortest = TrainData { range: 100..105, ..data(1) };
    build(&config, shortest).unwrap().run_epoch().unwrap();
}
