//! Grids on all processors: `cargo bench -p gigabar-backtest --bench sweep [-- N_BARS]`. Bar evaluations are sets ×
//! bars.
//! Times are the best and the median of several runs; the first grid has 10,000 sets.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

const RUNS: usize = 5;

fn main() {
    let n_bars = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(200_000);
    let bars = random_walk(n_bars, 1, &RandomWalkConfig::default()).unwrap();
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let config = SimConfig { half_spread_bps: 1.0, commission_bps: 1.0, ..SimConfig::default() };
    let rules = Rules::new(&config, &market).unwrap();
    println!("{n_bars} bars, {} threads", rayon::current_num_threads());
    for text in [
        "sma-cross:fast=2..101,slow=102..201",
        "sma-cross:fast=5..54:5,slow=55..254:20",
        "ema-cross:fast=5..54:5,slow=55..254:20",
        "rsi:period=2..101:5,low=20..40:10,high=60..80:20",
        "donchian:period=5..104:10,exit=1..100:10",
        "bollinger:period=10..109:10,width=0.5..3:0.25",
    ] {
        let grid = Grid::parse(text).unwrap();
        let mut secs: Vec<f64> = (0..RUNS)
            .map(|_| {
                let start = Instant::now();
                black_box(sweep::cpu(&rules, &market, 0..n_bars, &grid, 0.0, |_, _| {}).unwrap());
                start.elapsed().as_secs_f64()
            })
            .collect();
        secs.sort_by(f64::total_cmp);
        let median = secs[RUNS / 2];
        let rate = grid.len() as f64 * (n_bars - 1) as f64 / median / 1e6;
        println!(
            "{:<50} {:>5} sets, best {:.3} s, median {median:.3} s, {rate:.1} M bars/s",
            text,
            grid.len(),
            secs[0]
        );
    }
}
