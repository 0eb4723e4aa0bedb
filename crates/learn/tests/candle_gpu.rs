//! A Candle model on the GPU: `cargo test --release -p gigabar-learn --features candle-cuda --test candle_gpu --
//! --ignored`.
//! The model is a plain network, so that the resident kernel and the engine are its witnesses.
#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Instant;

use candle_core::{Tensor, Var};
use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::engine::{Market, Rules, replay};
use gigabar_backtest::gpu::{GpuBacktestEvaluator, MlpActivation, MlpPolicy, MlpShape, WindowInput};
use gigabar_backtest::metric::{max_drawdown, total_pnl};
use gigabar_gpu::Device as GpuDevice;
use gigabar_learn::candle_model::CandleGpu;
use gigabar_market::rng::Philox;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

const N_FEATURE: usize = 48;

fn policy() -> MlpPolicy {
    let shape = MlpShape {
        n_feature: N_FEATURE,
        hidden: vec![256, 256],
        n_action: 5,
        activation: MlpActivation::Relu,
        dueling: false,
    };
    let mut rng = Philox::new(4, 3);
    let mut weights = Vec::new();
    for (n_out, n_in) in shape.matrices() {
        let bound = (3.0 / n_in as f64).sqrt();
        let mut draw = |n: usize| (0..n).map(|_| ((2.0 * rng.uniform() - 1.0) * bound) as f32).collect::<Vec<f32>>();
        weights.extend([draw(n_out * n_in), draw(n_out)]);
    }
    MlpPolicy { shape, weights, levels: vec![-1.0, -0.5, 0.0, 0.5, 1.0] }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_candle_model_acts_as_the_resident_kernel_and_pays_as_the_engine() {
    let bars = random_walk(30_000, 1, &RandomWalkConfig::default()).unwrap();
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let config = SimConfig { half_spread_bps: 1.0, commission_bps: 1.0, ..SimConfig::default() };
    let rules = Rules::new(&config, &market).unwrap();
    let mut rng = Philox::new(1, 2);
    let features: Vec<f32> = (0..bars.len() * N_FEATURE).map(|_| (4.0 * rng.uniform() - 2.0) as f32).collect();
    let ranges = [0..5_000, 5_000..9_000, 100..103, 20_000..25_000];
    let inputs: Vec<WindowInput<'_>> = ranges
        .iter()
        .map(|range| {
            let features = &features[range.start * N_FEATURE..range.end * N_FEATURE];
            WindowInput { market, rules: &rules, range: range.clone(), features }
        })
        .collect();
    let policy = policy();

    let gpu = CandleGpu::open(0).unwrap();
    let device = gpu.candle();
    let layers: Vec<(Tensor, Tensor)> = policy
        .weights
        .chunks_exact(2)
        .zip(policy.shape.matrices())
        .map(|(pair, (n_out, n_in))| {
            let weight = Var::from_slice(&pair[0], (n_out, n_in), &device).unwrap();
            (weight.t().unwrap().contiguous().unwrap(), Tensor::from_slice(&pair[1], n_out, &device).unwrap())
        })
        .collect();
    let model = move |observation: &Tensor| {
        let mut x = observation.clone();
        for (i, (weight, bias)) in layers.iter().enumerate() {
            x = x.matmul(weight)?.broadcast_add(bias)?;
            if i + 1 < layers.len() {
                x = x.relu()?;
            }
        }
        Ok(x)
    };
    let mut evaluator = gpu.upload_windows(&inputs).unwrap();
    let (summaries, actions) = gpu.evaluate(&mut evaluator, &model, &policy.levels, 0.0).unwrap();
    let start = Instant::now();
    let again = gpu.evaluate(&mut evaluator, &model, &policy.levels, 0.0).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    println!("candle form: {:.1} µs per step of {} windows", seconds * 1e6 / 4_999.0, ranges.len());
    assert_eq!(again, (summaries.clone(), actions.clone()), "two runs differ");

    let mut resident = GpuBacktestEvaluator::upload_windows(&GpuDevice::open(0).unwrap(), &inputs).unwrap();
    resident.evaluate_with_actions(std::slice::from_ref(&policy), 0.0).unwrap();
    for (w, range) in ranges.iter().enumerate() {
        let levels: Vec<f64> = actions[w].iter().map(|&action| policy.levels[action as usize]).collect();
        let path = replay(&rules, &market, range.clone(), &levels);
        assert_eq!(Some(summaries[w].total_pnl), total_pnl(&path.equity), "window {w}");
        assert_eq!(Some(summaries[w].max_drawdown), max_drawdown(&path.equity), "window {w}");
        let own = resident.path(0, w).unwrap().actions;
        let same = own.iter().zip(&actions[w]).take_while(|(a, b)| a == b).count();
        println!("window {w}: the first {same} of {} actions as the resident kernel's", own.len());
        // After one tie decided otherwise the accounts, and so the observations, differ.
        assert!(same * 10 >= own.len(), "window {w}: only {same} of {} actions agree", own.len());
    }
}
