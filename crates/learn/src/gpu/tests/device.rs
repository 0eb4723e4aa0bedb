//! A population on a GPU against the CPU's trainers: experience bit for bit, gradient steps of every option within f32
//! rounding, the guard, one synchronisation an epoch, the same bits twice and after a resume.

use gigabar_backtest::rules::{Kelly, RewardConfig, RewardKind, SimConfig, TripleBarrier};
use gigabar_gpu::Device;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::super::Population;
use crate::collector::EpochReset;
use crate::dqn::tests::{bits, config, data, sim};
use crate::dqn::{DqnConfig, LearnStats, TargetUpdate, Trainer};
use crate::net::Activation;
use crate::replay::ReplayKind;

fn device() -> Device {
    Device::open(0).unwrap()
}

fn trainer(config: &DqnConfig, seed: u64) -> Trainer {
    Trainer::new(config, &sim(), &RewardConfig::default(), data(1), seed).unwrap()
}

/// A trainer's state through a checkpoint: the same numbers, nothing shared.
fn copy(trainer: &Trainer) -> Trainer {
    let folder = tempfile::tempdir().unwrap();
    trainer.save(folder.path()).unwrap();
    Trainer::resume(folder.path(), &trainer.config, &trainer.sim, &trainer.reward, trainer.data.clone()).unwrap()
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_million_steps_of_experience_equal_the_cpus() {
    let barrier = TripleBarrier { k_stop: Some(1.5), k_take: Some(3.0), max_hold: Some(9) };
    let sim = SimConfig {
        barrier: Some(barrier),
        kelly: Some(Kelly::default()),
        max_position: 3.0,
        carry_long: 0.05,
        ..sim()
    };
    for kind in [RewardKind::Log, RewardKind::Dsr, RewardKind::VolScaled] {
        let reward = RewardConfig { kind, turnover_penalty: 0.01, drawdown_penalty: 0.1, ..RewardConfig::default() };
        // Random actions: greedy ones would be the networks', whose ties may fall either way.
        let config = DqnConfig {
            epsilon_start: 1.0,
            epsilon_end: 1.0,
            train_every: 1 << 40,
            n_envs: 67,
            replay_capacity: 100_000,
            steps_per_epoch: 180_000,
            epochs: 2,
            // Episodes and n-step returns are under way when the second epoch begins.
            epoch_reset: EpochReset { portfolio: kind != RewardKind::Log, dsr: kind != RewardKind::VolScaled },
            ..config(ReplayKind::Proportional)
        };
        let new = || Trainer::new(&config, &sim, &reward, data(1), 11).unwrap();
        let (mut cpu, mut gpu) = (new(), Population::new(&device(), vec![new()]).unwrap());
        for _ in 0..2 {
            let (want, got) = (cpu.run_epoch().unwrap(), gpu.run_epoch(true).unwrap().remove(0));
            assert_eq!(
                (got.env_steps, &got.action_counts, got.ruins),
                (want.env_steps, &want.action_counts, want.ruins)
            );
            assert!((got.mean_reward - want.mean_reward).abs() <= 1e-6 * want.reward_std);
            assert!((got.reward_std / want.reward_std - 1.0).abs() < 1e-5);
            assert!((got.sharpe_estimate - want.sharpe_estimate).abs() < 1e-4);
        }
        let states = gpu.epoch_states().unwrap();
        for (state, env) in states.iter().zip(&cpu.collector.envs) {
            assert_eq!(state.portfolio_value, env.account.equity() as f32);
            assert_eq!((state.dsr_mean, state.step_count), (env.reward.dsr_mean as f32, env.steps as f32));
        }
        let back = &gpu.trainers().unwrap()[0];
        assert!(back.ring == cpu.ring, "a transition differs");
        assert!(back.collector == cpu.collector, "an environment differs");
        assert_eq!(back.sampler.state(), cpu.sampler.state());
        assert_eq!(bits(back.weights()), bits(cpu.weights()));
    }
}

/// Largest difference over the largest magnitude of each parameter.
fn assert_close(what: &str, got: &[Vec<f32>], want: &[Vec<f32>], tolerance: f32) {
    assert_eq!(got.len(), want.len());
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let scale = want.iter().fold(1e-6_f32, |m, x| m.max(x.abs()));
        for (j, (g, w)) in got.iter().zip(want).enumerate() {
            assert!((g - w).abs() <= tolerance * scale, "{what} {i}[{j}]: {g} against {w} (scale {scale})");
        }
    }
}

fn step_equals(config: &DqnConfig) {
    let mut cpu = trainer(config, 5);
    cpu.run_epoch().unwrap();
    let mut gpu = Population::new(&device(), vec![copy(&cpu), copy(&cpu)]).unwrap();
    if config.replay == ReplayKind::Rank {
        // The CPU keeps a heap between sorts: give it the order that the device sorted.
        let (state, n) = (gpu.trainers().unwrap()[0].sampler.state(), cpu.ring.len());
        cpu.sampler.restore(&state, n).unwrap();
    }
    gpu.queue_gradient_step().unwrap();
    cpu.learn(&mut LearnStats::default()).unwrap();
    let drawn: Vec<usize> = gpu.replay.slots.read().unwrap().iter().map(|&slot| slot as usize).collect();
    let batch = config.batch;
    for (k, back) in gpu.trainers().unwrap().iter().enumerate() {
        assert_eq!(drawn[k * batch..(k + 1) * batch], cpu.draw.slots[..], "another minibatch");
        assert_close("first moment", &back.adam.m, &cpu.adam.m, 1e-4);
        assert_close("second moment", &back.adam.v, &cpu.adam.v, 2e-4);
        assert_close("weights", back.weights(), cpu.weights(), 1e-4);
        assert_close("target weights", &back.nets.target_weights, &cpu.nets.target_weights, 1e-4);
        let (got, want) = (back.sampler.state(), cpu.sampler.state());
        for (g, w) in got.priorities.iter().zip(&want.priorities) {
            assert!((g - w).abs() <= 1e-4 * w.abs().max(1e-3), "priority {g} against {w}");
        }
        assert!((got.scalars[0] / want.scalars[0].max(1e-300) - 1.0).abs() < 1e-4 || got.scalars == want.scalars);
        let (a, b) = (back.progress, cpu.progress);
        assert_eq!((a.grad_steps, a.skipped_steps, a.noise_blocks), (b.grad_steps, b.skipped_steps, b.noise_blocks));
        assert_eq!((back.adam.step, &back.sample_rng), (cpu.adam.step, &cpu.sample_rng));
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_step_equals_the_trainers_with_every_option() {
    for replay in [ReplayKind::Uniform, ReplayKind::Proportional, ReplayKind::Rank] {
        for activation in [Activation::Relu, Activation::Tanh, Activation::Silu] {
            let cases = [(true, true, vec![256, 256]), (false, false, vec![40, 33, 9]), (true, false, vec![])];
            for (dueling, double, hidden) in cases {
                for (target, clip) in [(TargetUpdate::Soft, 0.05), (TargetUpdate::Periodic, 0.0)] {
                    step_equals(&DqnConfig {
                        replay,
                        activation,
                        dueling,
                        double,
                        hidden: hidden.clone(),
                        target,
                        target_period: 2,
                        max_grad_norm: clip,
                        batch: 67,
                        learning_starts: 70,
                        ..config(replay)
                    });
                }
            }
        }
    }
}

/// χ² of what the device draws against the exact probabilities; seeds are fixed, so the outcome is too.
#[test]
#[ignore = "needs a CUDA device"]
fn sampling_frequencies_are_the_exact_probabilities() {
    for kind in [ReplayKind::Uniform, ReplayKind::Proportional, ReplayKind::Rank] {
        let config =
            DqnConfig { batch: 256, steps_per_epoch: 400, learning_starts: 300, train_every: 1 << 40, ..config(kind) };
        let mut cpu = trainer(&config, 7);
        cpu.run_epoch().unwrap();
        let n = cpu.ring.len();
        let spread: Vec<f32> = (0..n).map(|i| 0.01 + (i * i % 97) as f32 / 20.0).collect();
        cpu.sampler.update(&(0..n).collect::<Vec<_>>(), &spread);
        let mut gpu = Population::new(&device(), vec![copy(&cpu)]).unwrap();
        let mut counts = vec![0_usize; n];
        for step in 0..200 {
            let mut states = gpu.world.state.read().unwrap();
            states[0].grad_steps = 1_000 + step;
            gpu.world.state.write(&states).unwrap();
            gpu.replay.queue_draw(&gpu.world).unwrap();
            gpu.replay.slots.read().unwrap().iter().for_each(|&slot| counts[slot as usize] += 1);
        }
        let exact = exact_probabilities(kind, &config, &cpu, n);
        let total = (200 * config.batch) as f64;
        // Draws are one of each stratum, so their counts scatter less than independent ones: χ² is small if anything.
        let term = |(&count, &p): (&usize, &f64)| (count as f64 - total * p).powi(2) / (total * p);
        let chi2: f64 = counts.iter().zip(&exact).map(term).sum();
        let p_value = 1.0 - ChiSquared::new(n as f64 - 1.0).unwrap().cdf(chi2);
        assert!(p_value > 1e-3, "{kind:?}: χ² = {chi2} over {n} slots, p = {p_value}");
        println!("{kind:?}: χ² = {chi2:.1} over {n} slots, p = {p_value:.4}");
    }
}

/// P of every slot.
fn exact_probabilities(kind: ReplayKind, config: &DqnConfig, of: &Trainer, n: usize) -> Vec<f64> {
    let priorities = of.sampler.state().priorities;
    let mass: Vec<f64> = match kind {
        ReplayKind::Uniform => vec![1.0; n],
        ReplayKind::Proportional => priorities[..n].to_vec(),
        ReplayKind::Rank => {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| priorities[b].total_cmp(&priorities[a]).then(a.cmp(&b)));
            let mut mass = vec![0.0; n];
            order.iter().enumerate().for_each(|(i, &slot)| mass[slot] = ((i + 1) as f64).powf(-config.alpha));
            mass
        }
    };
    let total: f64 = mass.iter().sum();
    mass.iter().map(|m| m / total).collect()
}

/// A minibatch that several blocks of a cluster write back.
#[test]
#[ignore = "needs a CUDA device"]
fn large_minibatches_leave_the_cpus_priorities() {
    for batch in [256, 1_024, 3_000] {
        step_equals(&DqnConfig {
            hidden: vec![256, 200],
            batch,
            n_envs: 64,
            replay_capacity: 40_000,
            steps_per_epoch: 6_400,
            learning_starts: batch,
            train_every: 1 << 40,
            ..config(ReplayKind::Proportional)
        });
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn training_follows_the_cpus_for_a_while() {
    for replay in [ReplayKind::Uniform, ReplayKind::Proportional] {
        let config = DqnConfig { steps_per_epoch: 60, learning_starts: 40, ..config(replay) };
        let (mut cpu, mut gpu) = (trainer(&config, 3), Population::new(&device(), vec![trainer(&config, 3)]).unwrap());
        let (want, got) = (cpu.run_epoch().unwrap(), gpu.run_epoch(false).unwrap().remove(0));
        assert_eq!((got.env_steps, got.grad_steps, got.skipped_steps), (want.env_steps, want.grad_steps, 0));
        assert!((got.loss / want.loss - 1.0).abs() < 1e-3, "{} against {}", got.loss, want.loss);
        assert!((got.grad_norm / want.grad_norm - 1.0).abs() < 1e-3);
        assert!((got.q_mean - want.q_mean).abs() < 1e-3 && (got.q_max - want.q_max).abs() < 1e-3);
        assert!((got.loss_ema / want.loss_ema - 1.0).abs() < 1e-3);
        assert_close("weights", gpu.trainers().unwrap()[0].weights(), cpu.weights(), 1e-3);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_same_bits_twice_alone_with_others_and_after_a_resume() {
    for replay in [ReplayKind::Uniform, ReplayKind::Proportional, ReplayKind::Rank] {
        let config = config(replay);
        let seeds = [1_u64, 2, 3];
        let start = || seeds.iter().map(|&seed| trainer(&config, seed)).collect::<Vec<_>>();
        let run = |trainers: Vec<Trainer>, n: usize, ahead: bool| {
            let mut population = Population::new(&device(), trainers).unwrap();
            (0..n).for_each(|i| drop(population.run_epoch(ahead && i + 1 < n).unwrap()));
            population.trainers().unwrap().iter().map(copy).collect::<Vec<_>>()
        };
        let straight = run(start(), 6, true);
        let resumed = run(run(start(), 2, false), 4, true);
        for (a, b) in straight.iter().zip(&resumed) {
            assert_eq!(bits(a.weights()), bits(b.weights()));
            assert_eq!(bits(&a.nets.target_weights), bits(&b.nets.target_weights));
            assert!(a.adam == b.adam && a.ring == b.ring && a.collector == b.collector && a.progress == b.progress);
            assert_eq!(a.sampler.state(), b.sampler.state());
            assert_eq!((a.guard, &a.sample_rng), (b.guard, &b.sample_rng));
        }
        assert_ne!(bits(straight[0].weights()), bits(straight[1].weights()));
        let alone = run(vec![trainer(&config, 2)], 6, true);
        assert_eq!(bits(alone[0].weights()), bits(straight[1].weights()), "a learner depends on its neighbours");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_device_checkpoint_goes_on_on_the_cpu() {
    let config = config(ReplayKind::Proportional);
    let mut gpu = Population::new(&device(), vec![trainer(&config, 4)]).unwrap();
    gpu.run_epoch(false).unwrap();
    let mut cpu = copy(&gpu.trainers().unwrap()[0]);
    let summary = cpu.run_epoch().unwrap();
    assert_eq!((summary.epoch, cpu.epochs_done()), (1, 2));
    let mut back = Population::new(&device(), vec![cpu]).unwrap();
    assert_eq!(back.run_epoch(false).unwrap()[0].epoch, 2);
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_epoch_is_one_synchronisation_and_one_copy() {
    let device = device();
    let config = config(ReplayKind::Proportional);
    let mut population = Population::new(&device, vec![trainer(&config, 1), trainer(&config, 2)]).unwrap();
    population.run_epoch(true).unwrap();
    for _ in 0..3 {
        let before = device.traffic();
        population.run_epoch(true).unwrap();
        let traffic = device.traffic().since(&before);
        assert_eq!((traffic.syncs, traffic.to_host, traffic.to_device), (1, 1, 0), "{traffic}");
        assert_eq!(population.monitoring().len(), 2);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_guard_trips_on_the_device_and_the_weights_stay_finite() {
    let mut config = config(ReplayKind::Proportional);
    config.guard.max_q = 1e-9;
    let finite = |trainer: &Trainer| trainer.weights().iter().flatten().all(|w| w.is_finite());
    let mut population = Population::new(&device(), vec![trainer(&config, 1)]).unwrap();
    let summary = population.run_epoch(false).unwrap().remove(0);
    assert_eq!(summary.guard.q_divergence, summary.skipped_steps);
    assert!(summary.skipped_steps == summary.grad_steps && summary.grad_steps > 0 && summary.guard.not_finite == 0);
    let first = trainer(&config, 1);
    assert_eq!(bits(population.trainers().unwrap()[0].weights()), bits(first.weights()));

    config.guard = Default::default();
    let mut broken = trainer(&config, 1);
    broken.run_epoch().unwrap();
    let slot = broken.ring.reward.len() / 2;
    broken.ring.reward[slot] = f32::NAN;
    let mut population = Population::new(
        &device(),
        vec![broken, {
            let mut good = trainer(&config, 2);
            good.run_epoch().unwrap();
            good
        }],
    )
    .unwrap();
    let summaries: Vec<_> = (0..2).flat_map(|_| population.run_epoch(false).unwrap()).collect();
    let tripped: Vec<u64> = summaries.iter().map(|s| s.guard.not_finite).collect();
    assert!(tripped[0] + tripped[2] > 0, "the broken transition was never drawn");
    assert_eq!((tripped[1], tripped[3]), (0, 0));
    assert!(population.trainers().unwrap().iter().all(finite));
}
