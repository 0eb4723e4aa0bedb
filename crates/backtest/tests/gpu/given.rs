//! `replay_given` beside `cpu::engine::replay`, and `metrics_summarise` beside the CPU metrics.

use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::engine::{Market, Rules, replay};
use gigabar_backtest::gpu::{GpuBacktestEvaluator, WindowInput, WindowSummary};
use gigabar_backtest::metric::{max_drawdown, sharpe, total_pnl, total_return};
use gigabar_market::rng::Philox;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

use crate::random_case::Case;
use crate::support::{device, same_path};

/// No multiple of a block; more than a million steps.
const CASES: u64 = 9_301;
const CAPACITY: usize = 256;
const RISK_FREE: f64 = 0.03;

fn close(what: &str, window: usize, cpu: Option<f64>, gpu: Option<f64>) {
    match (cpu, gpu) {
        (Some(cpu), Some(gpu)) => {
            assert!((cpu - gpu).abs() <= 1e-9 * cpu.abs().max(1.0), "window {window}, {what}: {cpu} against {gpu}");
        }
        _ => assert_eq!(cpu, gpu, "window {window}, {what}"),
    }
}

fn same_summary(window: usize, path: &gigabar_backtest::Path, periods: f64, summary: &WindowSummary) {
    close("total P&L", window, total_pnl(&path.equity), Some(summary.total_pnl));
    close("total return", window, total_return(&path.equity), Some(summary.total_return));
    close("Sharpe", window, sharpe(&path.returns, RISK_FREE, periods), summary.sharpe());
    close("max drawdown", window, max_drawdown(&path.equity), Some(summary.max_drawdown));
    assert_eq!(path.trades.len(), summary.n_trades as usize, "window {window}, number of trades");
    assert_eq!(path.counts.ruined, summary.ruined(), "window {window}, ruined");
}

#[test]
#[ignore = "needs a CUDA device"]
fn given_levels_give_the_engines_path_bit_for_bit() {
    let device = device();
    let cases: Vec<Case> = (0..CASES).map(Case::any).collect();
    let rules: Vec<Rules> = cases.iter().map(|c| Rules::new(&c.config, &c.market()).unwrap()).collect();
    let inputs: Vec<WindowInput<'_>> = cases
        .iter()
        .zip(&rules)
        .map(|(case, rules)| WindowInput { market: case.market(), rules, range: 0..case.bars.len(), features: &[] })
        .collect();
    let evaluator = GpuBacktestEvaluator::upload_windows(&device, &inputs).unwrap();
    let levels: Vec<(usize, &[f64])> = cases.iter().enumerate().map(|(i, case)| (i, case.levels.as_slice())).collect();
    let (paths, summaries) = evaluator.replay(&levels, CAPACITY, RISK_FREE).unwrap();
    let mut steps = 0;
    for (i, case) in cases.iter().enumerate() {
        let want = case.run();
        assert_eq!(paths[i].trades_lost, 0, "window {i}");
        same_path(i, &want, &paths[i].path);
        same_summary(i, &want, case.bars.periods_per_year(), &summaries[i]);
        steps += want.returns.len();
    }
    assert!(steps >= 1_000_000, "{steps}");
    println!("{steps} steps of {CASES} random configurations, bit for bit");
    let again = evaluator.replay(&levels, CAPACITY, RISK_FREE).unwrap();
    assert_eq!(again.1, summaries, "two runs differ");
    assert!(again.0.iter().zip(&paths).all(|(a, b)| a.path.equity == b.path.equity), "two runs differ");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_trade_buffer_too_small_says_so() {
    let device = device();
    let case = (0..).map(Case::any).find(|case| case.run().trades.len() > 3).unwrap();
    let rules = Rules::new(&case.config, &case.market()).unwrap();
    let input = WindowInput { market: case.market(), rules: &rules, range: 0..case.bars.len(), features: &[] };
    let evaluator = GpuBacktestEvaluator::upload_windows(&device, &[input]).unwrap();
    let (paths, summaries) = evaluator.replay(&[(0, &case.levels)], 2, 0.0).unwrap();
    let want = case.run();
    assert_eq!(paths[0].path.trades.len(), 2);
    assert_eq!(paths[0].trades_lost, want.trades.len() - 2);
    assert_eq!(summaries[0].n_trades as usize, want.trades.len());
}

/// Lengths around every edge of the reduction's blocks and lanes; the window begins inside the series.
#[test]
#[ignore = "needs a CUDA device"]
fn metrics_hold_at_every_length() {
    let device = device();
    let bars = random_walk(120_000, 5, &RandomWalkConfig::default()).unwrap();
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let rules = Rules::new(&SimConfig { commission_bps: 1.0, ..SimConfig::default() }, &market).unwrap();
    let lengths = [2, 3, 31, 32, 33, 34, 255, 256, 257, 258, 4095, 4096, 4097, 4098, 8192, 8194, 40_961, 100_001];
    let mut rng = Philox::new(3, 3);
    let levels: Vec<Vec<f64>> =
        lengths.iter().map(|&n| (1..n).map(|_| [-1.0, 0.0, 0.5, 1.0][rng.index(4)]).collect()).collect();
    let window = |&n: &usize| WindowInput { market, rules: &rules, range: 1_000..1_000 + n, features: &[] };
    let inputs: Vec<WindowInput<'_>> = lengths.iter().map(window).collect();
    let evaluator = GpuBacktestEvaluator::upload_windows(&device, &inputs).unwrap();
    let cases: Vec<(usize, &[f64])> = levels.iter().enumerate().map(|(i, levels)| (i, levels.as_slice())).collect();
    let (paths, summaries) = evaluator.replay(&cases, 100_001, RISK_FREE).unwrap();
    for (i, &n) in lengths.iter().enumerate() {
        let want = replay(&rules, &market, 1_000..1_000 + n, &levels[i]);
        same_path(i, &want, &paths[i].path);
        same_summary(i, &want, market.periods_per_year, &summaries[i]);
    }
}
