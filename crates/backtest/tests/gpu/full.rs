//! `full_metrics.cu` beside `metric::WindowStats::of`, and whole evaluations beside `EvalReport::new` of the engine's paths.

use std::time::Instant;

use gigabar_backtest::cpu::engine::{Rules, replay};
use gigabar_backtest::gpu::{GpuBacktestEvaluator, MlpActivation, MlpPolicy, window_stats};
use gigabar_backtest::metric::{CATALOG, MetricConfig, PathView, WindowMetrics, WindowStats};
use gigabar_backtest::{EvalReport, Path, SimConfig};
use gigabar_market::rng::Philox;

use crate::greedy::{World, costs, everything};
use crate::series_case::{LENGTHS, Series, every_kind, same_stats};
use crate::support::{device, random_policy, same_path, shape};

const PERIODS: f64 = 8_760.0;
const TRIALS: usize = 7;

fn measured() -> MetricConfig {
    MetricConfig { risk_free: 0.02, mar: 0.05, var_level: 0.1 }
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_statistic_of_every_kind_of_series_equals_the_cpus() {
    let device = device();
    for lengths in [&LENGTHS[..], &[100_000], &[1_000_000]] {
        let all: Vec<Series> = lengths.iter().copied().flat_map(every_kind).collect();
        let views: Vec<(PathView<'_>, &[f64])> = all.iter().map(|s| (s.view(), s.benchmark.as_slice())).collect();
        for config in [measured(), MetricConfig::default()] {
            let start = Instant::now();
            let got = window_stats(&device, &views, PERIODS, &config).unwrap();
            println!("{} series: {:.1} ms with the copies", all.len(), start.elapsed().as_secs_f64() * 1e3);
            for (series, got) in all.iter().zip(&got) {
                let want = WindowStats::of(series.view(), &series.benchmark, PERIODS, &config);
                same_stats(&series.name(), &want, got);
                let metrics = |stats| WindowMetrics::from_stats(stats, PERIODS, &config);
                same_metrics(&series.name(), &metrics(&want), &metrics(got));
            }
            let again = window_stats(&device, &views, PERIODS, &config).unwrap();
            for (series, (first, second)) in all.iter().zip(got.iter().zip(&again)) {
                same_stats(&format!("two runs of {}", series.name()), first, second);
            }
        }
    }
}

/// Within 1e-9 where defined, defined in the same cases; counts and flags exactly.
fn same_metrics(name: &str, want: &WindowMetrics, got: &WindowMetrics) {
    for info in CATALOG {
        let key = info.key;
        match ((info.value)(want), (info.value)(got)) {
            (Some(cpu), Some(gpu)) => {
                assert!((cpu - gpu).abs() <= 1e-9 * cpu.abs(), "{name}, {key}: engine {cpu:e}, device {gpu:e}");
            }
            (cpu, gpu) => assert_eq!(cpu, gpu, "{name}, {key}"),
        }
    }
}

fn same_report(want: &EvalReport, got: &EvalReport) {
    assert_eq!(want.windows.len(), got.windows.len(), "{}", want.policy);
    for (want, got) in want.windows.iter().zip(&got.windows) {
        same_metrics(&format!("window {}", want.index), &want.metrics, &got.metrics);
        same_metrics(&format!("holding, window {}", want.index), &want.benchmark, &got.benchmark);
    }
    same_metrics("pooled", &want.pooled, &got.pooled);
    same_metrics("holding, pooled", &want.benchmark, &got.benchmark);
    // Counts, dates, spread, and by construction every bit.
    assert_eq!(want, got, "{}", want.policy);
}

/// The engine's path for the actions the device took, trades and all.
fn engine_path(world: &World, evaluator: &GpuBacktestEvaluator, k: usize, w: usize, policy: &MlpPolicy) -> Path {
    let rules = Rules::new(&world.config, &world.market()).unwrap();
    let actions = evaluator.path(k, w).unwrap().actions;
    let levels: Vec<f64> = actions.iter().map(|&action| policy.levels[action as usize]).collect();
    replay(&rules, &world.market(), world.ranges[w].clone(), &levels)
}

fn evaluation(lengths: &[usize], n_policy: u64, config: SimConfig) {
    let device = device();
    let shape = shape(&[64, 64], 5, MlpActivation::Relu, false);
    let world = World::new(lengths, shape.n_feature, config);
    let policies: Vec<MlpPolicy> = (0..n_policy).map(|seed| random_policy(&shape, seed)).collect();
    let names: Vec<String> = (0..n_policy).map(|k| format!("policy {k}")).collect();
    let mut evaluator = world.evaluator(&device);
    let full = |evaluator: &mut GpuBacktestEvaluator| {
        evaluator.evaluate_full(&world.bars, &policies, &names, &measured(), TRIALS).unwrap()
    };
    let reports = full(&mut evaluator);
    for (k, policy) in policies.iter().enumerate() {
        let want: Vec<Path> = (0..lengths.len()).map(|w| engine_path(&world, &evaluator, k, w, policy)).collect();
        let got = evaluator.paths_full(k).unwrap();
        assert_eq!(got.len(), want.len());
        want.iter().zip(&got).enumerate().for_each(|(w, (want, got))| same_path(w, want, got));
        same_report(&EvalReport::new(&names[k], &world.bars, &want, &measured(), TRIALS), &reports[k]);
        let n_trades: usize = want.iter().map(|path| path.trades.len()).sum();
        println!("{}: {n_trades} trades, pooled Sharpe {:?}", names[k], reports[k].pooled.sharpe);
        assert!(n_trades > 0, "no trade: nothing tested");
    }
    let summaries = evaluator.evaluate_with_actions(&policies, measured().risk_free).unwrap();
    for (i, summary) in summaries.iter().enumerate() {
        let metrics = &reports[i / lengths.len()].windows[i % lengths.len()].metrics;
        assert_eq!(metrics.sharpe, summary.sharpe(), "pair {i}");
        assert_eq!(metrics.total_pnl, Some(summary.total_pnl), "pair {i}");
    }
    assert!(evaluator.paths_full(0).is_err(), "paths of an evaluation that is gone");
    assert_eq!(full(&mut evaluator), reports, "two runs differ");
    // A policy at a time.
    evaluator.limit_replay(1);
    assert_eq!(full(&mut evaluator), reports, "turns differ");
}

#[test]
#[ignore = "needs a CUDA device"]
fn whole_evaluations_equal_the_report_of_the_engines_paths() {
    evaluation(&[6_000, 5_999, 4_097, 300, 21, 3, 2], 3, costs());
    evaluation(&[9_000, 1_000], 2, everything());
    evaluation(&[5_000], 2, costs());
}

/// Levels that somebody gives, NaN among them.
#[test]
#[ignore = "needs a CUDA device"]
fn given_levels_are_reported_as_the_engines_paths() {
    let device = device();
    for config in [costs(), everything()] {
        let world = World::new(&[6_000, 5_999, 4_097, 300, 3, 2], 1, config);
        let rules = Rules::new(&world.config, &world.market()).unwrap();
        let names = ["often".to_owned(), "rarely".to_owned(), "never".to_owned()];
        let mut rng = Philox::new(4, 4);
        let mut levels: Vec<Vec<f64>> = Vec::new();
        for keep in [0.0, 0.98, 1.0] {
            for range in &world.ranges {
                let mut level = 0.0;
                let mut next = || {
                    if rng.uniform() >= keep {
                        level = [-1.0, 0.0, 0.5, 1.0, f64::NAN][rng.index(5)];
                    }
                    level
                };
                levels.push(range.clone().skip(1).map(|_| next()).collect());
            }
        }
        let mut evaluator = world.evaluator(&device);
        let borrowed: Vec<&[f64]> = levels.iter().map(Vec::as_slice).collect();
        let reports = evaluator.replay_full(&world.bars, &names, &borrowed, &measured(), TRIALS).unwrap();
        for (k, levels) in levels.chunks(world.ranges.len()).enumerate() {
            let run = |(range, levels): (&std::ops::Range<usize>, &Vec<f64>)| {
                replay(&rules, &world.market(), range.clone(), levels)
            };
            let want: Vec<Path> = world.ranges.iter().zip(levels).map(run).collect();
            let got = evaluator.paths_full(k).unwrap();
            want.iter().zip(&got).enumerate().for_each(|(w, (want, got))| same_path(w, want, got));
            same_report(&EvalReport::new(&names[k], &world.bars, &want, &measured(), TRIALS), &reports[k]);
        }
        evaluator.limit_replay(1);
        let again = evaluator.replay_full(&world.bars, &names, &borrowed, &measured(), TRIALS).unwrap();
        assert_eq!(again, reports, "turns differ");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_a_whole_evaluation_costs_beside_the_summaries() {
    let device = device();
    let shape = shape(&[256, 256], 5, MlpActivation::Relu, false);
    let world = World::new(&[100_000; 8], shape.n_feature, costs());
    let policies = [random_policy(&shape, 1)];
    let names = ["policy".to_owned()];
    let mut evaluator = world.evaluator(&device);
    for _ in 0..3 {
        let start = Instant::now();
        evaluator.evaluate_with_actions(&policies, 0.0).unwrap();
        let summaries = start.elapsed();
        let before = evaluator.traffic();
        let start = Instant::now();
        let reports = evaluator.evaluate_full(&world.bars, &policies, &names, &measured(), 1).unwrap();
        let whole = start.elapsed();
        let traffic = evaluator.traffic().since(&before);
        println!(
            "8 windows × 100000 bars: summaries {:.1} ms, whole reports {:.1} ms, {} trades; {traffic}",
            summaries.as_secs_f64() * 1e3,
            whole.as_secs_f64() * 1e3,
            reports[0].pooled.n_trades
        );
        // Summaries, hold, statistics, accounts: what comes to the host does not grow with the bars.
        assert!(traffic.to_host_bytes < 16_384, "{traffic}");
    }
}
