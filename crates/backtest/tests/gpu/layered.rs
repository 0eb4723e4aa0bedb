//! The layered form beside `cpu::account`, a plain forward pass, the CPU's votes and the resident form.

use gigabar_backtest::cpu::account::Account;
use gigabar_backtest::cpu::engine::Rules;
use gigabar_backtest::ensemble::{EnsembleVote, VOTES, flat_action};
use gigabar_backtest::gpu::layered::{VOTE, vote_constants};
use gigabar_backtest::gpu::{
    DevicePath, EvaluateError, Form, GpuBacktestEvaluator, MlpActivation, MlpPolicy, MlpShape,
};
use gigabar_backtest::metric;
use gigabar_gpu::header::PRELUDE;
use gigabar_gpu::{Device, KernelSource, LaunchShape};
use gigabar_market::rng::Philox;

use crate::greedy::{World, costs, everything};
use crate::support::{balanced, decided, device, forward, random_features, random_policy, same_column, shape};

fn policies(world: &World, shape: &MlpShape, n: u64) -> Vec<MlpPolicy> {
    (0..n).map(|seed| balanced(random_policy(shape, seed), &world.features)).collect()
}

/// Holds a device path to the engine given its own actions, bit for bit, and its actions to what the models want, each
/// on features of its own `[n_bars, n_feature]` for all bars. Counts steps and ties decided otherwise.
fn check(
    world: &World,
    w: usize,
    (models, features): (&[MlpPolicy], &[&[f32]]),
    vote: Option<EnsembleVote>,
    got: &DevicePath,
) -> (usize, usize) {
    let (market, range) = (world.market(), world.ranges[w].clone());
    let rules = Rules::new(&world.config, &market).unwrap();
    let (levels, n_feature) = (&models[0].levels, models[0].shape.n_feature);
    let mut account = Account::new(&rules);
    let (mut equity, mut returns, mut ties) = (vec![rules.initial_cash()], Vec::new(), 0);
    for (i, t) in (range.start..range.end - 1).enumerate() {
        let portfolio = account.observation(&market, t);
        let row = t * n_feature..(t + 1) * n_feature;
        let q = models.iter().zip(features).map(|(model, own)| forward(model, &own[row.clone()], &portfolio));
        let (q, action) = (q.collect::<Vec<_>>(), got.actions[i] as usize);
        let tie = decided(vote, &q, flat_action(levels), action);
        ties += usize::from(tie.unwrap_or_else(|reason| panic!("window {w}, step {i}: {reason}")));
        let step = account.step(&rules, &market, t, levels[action], t + 2 == range.end, &mut |_| {});
        returns.push(step.ret);
        equity.push(step.equity);
    }
    same_column(w, "equity", &equity, &got.path.equity);
    same_column(w, "returns", &returns, &got.path.returns);
    assert_eq!(*account.counts(), got.path.counts, "window {w}: counts");
    (returns.len(), ties)
}

fn parity(device: &Device, shape: &MlpShape, lengths: &[usize], n_policy: u64, everything_on: bool) {
    let world = World::new(lengths, shape.n_feature, if everything_on { everything() } else { costs() });
    let policies = policies(&world, shape, n_policy);
    let mut evaluator = world.evaluator(device);
    let summaries = evaluator.evaluate_with_actions(&policies, 0.0).unwrap();
    assert_eq!(evaluator.form(), Some(Form::Layered));
    let (mut steps, mut ties, mut used) = (0, 0, vec![0_usize; shape.n_action]);
    for k in 0..policies.len() {
        for w in 0..lengths.len() {
            let got = evaluator.path(k, w).unwrap();
            let (n, tied) = check(&world, w, (&policies[k..=k], &[&world.features]), None, &got);
            (steps, ties) = (steps + n, ties + tied);
            got.actions.iter().for_each(|&action| used[action as usize] += 1);
            let summary = &summaries[k * lengths.len() + w];
            assert_eq!(Some(summary.total_pnl), metric::total_pnl(&got.path.equity));
            assert_eq!(Some(summary.max_drawdown), metric::max_drawdown(&got.path.equity));
        }
    }
    println!("{:?}: {steps} steps, {ties} ties decided otherwise, actions {used:?}", shape.hidden);
    assert!(ties * 1_000 <= steps, "{ties} of {steps} disagree");
    assert!(used.iter().filter(|&&n| n > 0).count() > 1, "one action only: nothing tested");
}

#[test]
#[ignore = "needs a CUDA device"]
fn large_and_deep_networks_take_the_engines_path() {
    let device = device();
    let relu = MlpActivation::Relu;
    parity(&device, &shape(&[1024, 1024], 5, relu, false), &[700, 699, 300, 3, 2], 1, false);
    parity(&device, &shape(&[1024, 1024], 5, relu, true), &[300, 200], 2, true);
    parity(&device, &shape(&[100, 256, 128, 64, 70], 5, MlpActivation::Tanh, false), &[2_000, 1_500, 64], 2, true);
    parity(&device, &shape(&[3000], 3, MlpActivation::Silu, true), &[700, 64, 7], 2, false);
    parity(&device, &shape(&[16, 600, 24], 9, MlpActivation::Silu, false), &[1_500], 1, false);
}

#[test]
#[ignore = "needs a CUDA device"]
fn many_windows_fill_many_tiles() {
    let device = device();
    let lengths: Vec<usize> = (0..67).map(|i| 60 + 7 * (i % 13)).collect();
    parity(&device, &shape(&[64, 128, 64, 64], 5, MlpActivation::Relu, false), &lengths, 3, false);
}

/// Actions and path of every window, resident or layered.
fn paths(
    evaluator: &mut GpuBacktestEvaluator,
    policies: &[MlpPolicy],
    n_windows: usize,
    form: Form,
) -> Vec<DevicePath> {
    evaluator.force_layered(form == Form::Layered);
    evaluator.evaluate_with_actions(policies, 0.0).unwrap();
    assert_eq!(evaluator.form(), Some(form));
    let pairs = (0..policies.len()).flat_map(|k| (0..n_windows).map(move |w| (k, w)));
    pairs.map(|(k, w)| evaluator.path(k, w).unwrap()).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn both_forms_go_the_same_way_up_to_ties() {
    let device = device();
    let shape = shape(&[256, 256], 5, MlpActivation::Relu, false);
    let world = World::new(&[5_000, 4_999, 700, 64, 3, 2], shape.n_feature, costs());
    let policies = policies(&world, &shape, 2);
    let mut evaluator = world.evaluator(&device);
    let resident = paths(&mut evaluator, &policies, world.ranges.len(), Form::Resident);
    let layered = paths(&mut evaluator, &policies, world.ranges.len(), Form::Layered);
    let mut apart = 0;
    for (i, (resident, layered)) in resident.iter().zip(&layered).enumerate() {
        let (k, w) = (i / world.ranges.len(), i % world.ranges.len());
        // Whatever differs must be a tie: each form is held to the plain network along its own path.
        for path in [resident, layered] {
            check(&world, w, (&policies[k..=k], &[&world.features]), None, path);
        }
        if resident.actions == layered.actions {
            same_column(w, "equity", &resident.path.equity, &layered.path.equity);
            same_column(w, "returns", &resident.path.returns, &layered.path.returns);
            assert_eq!(resident.path.counts, layered.path.counts, "window {w}: counts");
        } else {
            let first = resident.actions.iter().zip(&layered.actions).position(|(a, b)| a != b);
            println!("policy {k}, window {w}: first apart at step {first:?}");
            apart += 1;
        }
    }
    assert!(apart * 2 <= resident.len(), "{apart} of {} paths differ", resident.len());
}

#[test]
#[ignore = "needs a CUDA device"]
fn ensembles_decide_as_the_cpu_does() {
    let device = device();
    let relu = MlpActivation::Relu;
    let shapes =
        [shape(&[256, 256], 5, relu, false), shape(&[300], 5, relu, true), shape(&[64, 64, 64, 64], 5, relu, true)];
    for (i, n_member) in [3, 7, 7].into_iter().enumerate() {
        let shape = &shapes[i];
        let world = World::new(&[900, 700, 33, 2], shape.n_feature, costs());
        let members = policies(&world, shape, n_member);
        let mut evaluator = world.evaluator(&device);
        // The last member has a scaler of its own.
        let n_bars = world.features.len() / shape.n_feature;
        let own = random_features(n_bars, shape.n_feature, 99);
        let cut = |range: &std::ops::Range<usize>| &own[range.start * shape.n_feature..range.end * shape.n_feature];
        let windows: Vec<&[f32]> = world.ranges.iter().map(cut).collect();
        evaluator.upload_member_features(n_member as usize - 1, &windows).unwrap();
        let mut features = vec![world.features.as_slice(); n_member as usize];
        features[n_member as usize - 1] = &own;
        for text in VOTES {
            let vote: EnsembleVote = text.parse().unwrap();
            let summaries = evaluator.evaluate_ensemble_with_actions(&members, vote, 0.0).unwrap();
            assert_eq!(summaries.len(), world.ranges.len());
            let (mut steps, mut ties, mut used) = (0, 0, [0_usize; 5]);
            for (w, summary) in summaries.iter().enumerate() {
                let got = evaluator.path(0, w).unwrap();
                let (n, tied) = check(&world, w, (&members, &features), Some(vote), &got);
                (steps, ties) = (steps + n, ties + tied);
                got.actions.iter().for_each(|&action| used[action as usize] += 1);
                assert_eq!(Some(summary.total_pnl), metric::total_pnl(&got.path.equity));
            }
            println!("{n_member} × {:?}, {text}: {steps} steps, {ties} ties, actions {used:?}", shape.hidden);
            assert!(ties * 500 <= steps, "{ties} of {steps} disagree");
            assert!(used.iter().filter(|&&n| n > 0).count() > 1, "one action only: nothing tested");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_ensemble_of_one_is_the_policy() {
    let device = device();
    let shape = shape(&[700, 64], 5, MlpActivation::Relu, false);
    let world = World::new(&[1_000, 900], shape.n_feature, costs());
    let policies = policies(&world, &shape, 1);
    let mut evaluator = world.evaluator(&device);
    let alone = evaluator.evaluate(&policies, 0.0).unwrap();
    for text in VOTES {
        assert_eq!(evaluator.evaluate_ensemble(&policies, text.parse().unwrap(), 0.0).unwrap(), alone, "{text}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn runs_launch_lengths_and_company_give_the_same_bits() {
    let device = device();
    let shape = shape(&[1024, 512], 5, MlpActivation::Relu, false);
    let world = World::new(&[1_500, 1_200, 7], shape.n_feature, costs());
    let policies = policies(&world, &shape, 2);
    let mut evaluator = world.evaluator(&device);
    let first = evaluator.evaluate_with_actions(&policies, 0.0).unwrap();
    let path = evaluator.path(1, 0).unwrap();
    assert_eq!(evaluator.evaluate_with_actions(&policies, 0.0).unwrap(), first, "two runs differ");
    assert_eq!(evaluator.path(1, 0).unwrap(), path, "two runs differ");
    // 6 rows · 1024 · 4 B a step: 333 steps a launch.
    evaluator.limit_projection(6 * 1024 * 4 * 333);
    assert_eq!(evaluator.evaluate_with_actions(&policies, 0.0).unwrap(), first, "shorter launches differ");
    assert_eq!(evaluator.path(1, 0).unwrap(), path, "shorter launches differ");
    assert_eq!(evaluator.evaluate(&policies[1..], 0.0).unwrap(), first[3..], "a policy alone differs");
    assert_eq!(evaluator.evaluate(&policies, 0.0).unwrap(), first, "without actions it differs");
}

#[test]
#[ignore = "needs a CUDA device"]
fn one_read_and_one_synchronisation() {
    let device = device();
    let shape = shape(&[1024, 1024], 5, MlpActivation::Relu, false);
    let world = World::new(&[500, 400], shape.n_feature, costs());
    let policies = policies(&world, &shape, 3);
    let mut evaluator = world.evaluator(&device);
    for run in 0..4 {
        let before = evaluator.traffic();
        let summaries = match run {
            0 | 1 => evaluator.evaluate(&policies, 0.0).unwrap(),
            _ => evaluator.evaluate_ensemble(&policies, EnsembleVote::Majority, 0.0).unwrap(),
        };
        let traffic = evaluator.traffic().since(&before);
        println!("{traffic}");
        assert_eq!((traffic.to_host, traffic.syncs), (1, 1));
        assert_eq!(traffic.to_host_bytes, summaries.len() as u64 * 64);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn members_and_features_that_do_not_fit_are_refused() {
    let device = device();
    let shape = shape(&[64, 64], 3, MlpActivation::Relu, false);
    let world = World::new(&[100, 50], shape.n_feature, costs());
    let mut members = policies(&world, &shape, 2);
    let mut evaluator = world.evaluator(&device);
    members[1].levels[0] = -0.7;
    let error = evaluator.evaluate_ensemble(&members, EnsembleVote::MeanQ, 0.0).unwrap_err();
    assert!(error.to_string().ends_with("member 1 has other levels than member 0; they must share them to vote"));
    let error = evaluator.upload_member_features(1, &[&[], &[]]).unwrap_err();
    let (what, expected) = ("feature values of window 0 for member 1".to_owned(), 100 * shape.n_feature);
    assert_eq!(error, EvaluateError::Mismatch { what, expected, got: 0 });
    assert!(evaluator.evaluate_ensemble(&[], EnsembleVote::MeanQ, 0.0).is_err());
}

const VOTE_KERNEL: &str = r#"
extern "C" __global__ void vote_all(const f32* q, const f64* levels, u32* out, u32 n_case, u32 n_model) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_case) return;
    VoteTally tally;
    tally.clear();
    for (u32 m = 0; m < n_model; ++m) tally.add(q + (i64)(i * n_model + m) * N_ACTION);
    out[i] = tally.decide(vote_flat(levels));
}
"#;

/// `vote.cuh` on the device beside [`EnsembleVote::decide`]: the same actions, ties and broken models included.
#[test]
#[ignore = "needs a CUDA device"]
fn votes_are_the_cpus() {
    const N_CASE: usize = 20_000;
    let (device, levels, mut rng) = (device(), [-1.0, -0.5, 0.0, 0.5, 1.0], Philox::new(5, 6));
    let n_action = levels.len();
    for text in VOTES {
        let vote: EnsembleVote = text.parse().unwrap();
        for n_model in [1_usize, 3, 7] {
            let source = KernelSource::new("vote").texts(&[PRELUDE, VOTE]).text("test.cu", VOTE_KERNEL);
            let constants = vote_constants(Some(vote), n_model);
            let source = constants.into_iter().fold(source, |source, (name, value)| source.define(name, value));
            let kernel = device.kernel(&source.exact().define("N_ACTION", n_action), "vote_all").unwrap();
            // A coarse grid makes ties of every kind; now and then a value is broken.
            let mut draw = |i: usize| match rng.uniform() {
                u if u < 0.002 => f32::NAN,
                u if u < 0.003 => f32::NEG_INFINITY,
                u if (i / (n_model * n_action)).is_multiple_of(2) => (u * 4.0).floor() as f32 - 2.0,
                u => (u * 2.0 - 1.0) as f32,
            };
            let q: Vec<f32> = (0..N_CASE * n_model * n_action).map(&mut draw).collect();
            let out = device.zeros::<u32>("actions", N_CASE).unwrap();
            let (q_there, levels_there) = (device.upload("q", &q).unwrap(), device.upload("levels", &levels).unwrap());
            let launch = kernel.launch().buffer(&q_there).buffer(&levels_there).buffer(&out);
            let launch = launch.value(N_CASE as u32).value(n_model as u32);
            // SAFETY: the arguments are vote_all's, which stays below n_case.
            unsafe { launch.run(&device, LaunchShape::covering(N_CASE, 128)).unwrap() };
            for (case, (q, got)) in q.chunks(n_model * n_action).zip(out.read().unwrap()).enumerate() {
                let models: Vec<&[f32]> = q.chunks(n_action).collect();
                let want = vote.decide(&models, flat_action(&levels));
                assert_eq!(got as usize, want, "{text}, {n_model} models, case {case}: {models:?}");
            }
        }
    }
}
