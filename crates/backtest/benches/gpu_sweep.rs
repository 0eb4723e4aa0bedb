//! Grids on a GPU: `cargo bench -p gigabar-backtest --bench gpu_sweep`. 10,000 parameter sets of every strategy over
//! 200,000 bars of a synthetic market with costs. Every time is wall clock of `run`: indicators, the synchronisation,
//! the read and the rows are inside. Bar evaluations are sets × bars. `-- --quick` runs a small case once, for a memory
//! checker.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Instant;

use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::gpu::GpuSweep;
use gigabar_backtest::policy::Grid;
use gigabar_gpu::Device;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

const RUNS: usize = 7;
const SMA: &str = "sma-cross:fast=5..54,slow=55..254";

/// First call and median of the warm ones.
fn time(sweep: &mut GpuSweep, text: &str, runs: usize) {
    let grid = Grid::parse(text).unwrap();
    let mut secs = Vec::new();
    let (mut first, mut trades) = (0.0, 0);
    for run in 0..=runs {
        let start = Instant::now();
        let rows = sweep.run(&grid, 0.0).unwrap();
        let elapsed = start.elapsed().as_secs_f64();
        if run == 0 {
            first = elapsed;
        } else {
            secs.push(elapsed);
        }
        trades = rows.iter().map(|row| u64::from(row.n_trades)).sum();
    }
    secs.sort_by(f64::total_cmp);
    let (best, median) = (secs.first().copied().unwrap_or(first), secs.get(secs.len() / 2).copied().unwrap_or(first));
    let evaluations = sweep.evaluations(&grid) as f64;
    println!(
        "{text}: {} sets, {trades} trades\n    first {:.1} ms, warm median {:.2} ms, best {:.2} ms, {:.1} G bar evaluations/s",
        grid.len(),
        first * 1e3,
        median * 1e3,
        best * 1e3,
        evaluations / median / 1e9
    );
    let [indicators, signals, accounts] = sweep.stage_secs(&grid).unwrap().map(|secs| secs * 1e3);
    println!("    alone: indicators {indicators:.2} ms, signals {signals:.2} ms, accounts {accounts:.2} ms");
}

fn main() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => {
            println!("{error}\nhint: {}", error.hint().unwrap_or_default());
            return;
        }
    };
    println!("{}", device.facts());
    let quick = std::env::args().any(|arg| arg == "--quick");
    let n_bars = if quick { 1_200 } else { 200_000 };
    let bars = random_walk(n_bars, 1, &RandomWalkConfig::default()).unwrap();
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let config = SimConfig { half_spread_bps: 1.0, commission_bps: 1.0, ..SimConfig::default() };
    let rules = Rules::new(&config, &market).unwrap();
    let start = Instant::now();
    let mut sweep = GpuSweep::new(&device, &market, &rules, 0..n_bars).unwrap();
    println!("{n_bars} bars; kernels and upload {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    if quick {
        for text in ["sma-cross:fast=5|9,slow=55|99", "rsi:period=2..40", "donchian:exit=1..40", "bollinger:width=1|2"]
        {
            time(&mut sweep, text, 0);
        }
        return;
    }
    for lanes in [None, Some(4), Some(8), Some(16), Some(32)] {
        sweep.set_lanes(lanes);
        println!("lanes {lanes:?}");
        time(&mut sweep, SMA, RUNS);
    }
    sweep.set_lanes(None);
    for text in [
        "ema-cross:fast=5..54,slow=55..254",
        "rsi:period=2..101,low=15..42:3,high=58..85:3",
        "donchian:period=5..104,exit=1..100",
        "bollinger:period=10..109,width=0.5..5.45:0.05",
        "sma-cross:fast=1..400,slow=401..650",
    ] {
        time(&mut sweep, text, RUNS);
    }
    let carried = SimConfig { carry_long: 0.05, ..config };
    let rules = Rules::new(&carried, &market).unwrap();
    println!("with carry, every bar in turn");
    time(&mut GpuSweep::new(&device, &market, &rules, 0..n_bars).unwrap(), SMA, RUNS);
}
