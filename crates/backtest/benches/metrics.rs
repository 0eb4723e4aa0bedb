//! The whole metric suite over one long window: `cargo bench -p gigabar-backtest --bench metrics [-- N_BARS]`.
//! Prints the best and the median of several runs, and the throughput of the best.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use gigabar_backtest::metric::scan::{PairStats, ReturnStats};
use gigabar_backtest::metric::{MetricConfig, PathView, WindowMetrics, compound, drawdown::Drawdown, quantiles};
use gigabar_backtest::{Counts, ExitReason, Trade};
use gigabar_market::rng::Philox;

const RUNS: usize = 9;
const BARS_PER_TRADE: usize = 50;

fn main() {
    let n_bars = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(10_000_000);
    let (returns, benchmark) = (noise(n_bars, 1), noise(n_bars, 2));
    let equity = compound(1e5, &returns);
    let trades = trades(&returns);
    let view = PathView { returns: &returns, equity: &equity, trades: &trades, counts: Counts::default() };
    println!("{n_bars} bars, {} trades, {} threads", trades.len(), rayon::current_num_threads());
    let config = MetricConfig::default();
    time("full suite", n_bars, || WindowMetrics::compute(view, &benchmark, 525_600.0, &config));
    time("  moments, downside", n_bars, || ReturnStats::of(&returns, 0.0));
    time("  drawdowns", n_bars, || Drawdown::of(&equity));
    time("  three quantiles", n_bars, || quantiles(&returns, [0.05, 0.05, 0.95]));
    time("  against the benchmark", n_bars, || PairStats::of(&returns, &benchmark));
}

fn time<T>(name: &str, n_bars: usize, run: impl Fn() -> T) {
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let (best, median) = (seconds[0], seconds[RUNS / 2]);
    println!(
        "{name:<24} best {:>7.1} ms, median {:>7.1} ms, {:>6.0} M bars/s",
        best * 1e3,
        median * 1e3,
        n_bars as f64 / best / 1e6
    );
}

/// Uniform returns, a hundredth of a percent wide.
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Philox::new(seed, 0);
    (0..n).map(|_| (rng.uniform() - 0.5) * 1e-4).collect()
}

fn trades(returns: &[f64]) -> Vec<Trade> {
    let trade = |(k, held): (usize, &[f64])| {
        let pnl = 1e5 * held.iter().sum::<f64>();
        Trade {
            side: 1,
            entry_bar: k * BARS_PER_TRADE,
            exit_bar: k * BARS_PER_TRADE + held.len(),
            units: 1.0,
            entry_price: 100.0,
            exit_price: 100.0,
            pnl,
            trade_return: pnl / 1e5,
            bars_held: held.len(),
            exit: ExitReason::Signal,
        }
    };
    returns.chunks(BARS_PER_TRADE).enumerate().map(trade).collect()
}
