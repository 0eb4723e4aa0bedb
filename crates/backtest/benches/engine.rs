//! The f64 engine over one long window: `cargo bench -p gigabar-backtest --bench engine [-- N_BARS]`.
//! Prints the best and the median of several runs: the bare path, and the path with the full metric suite.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use gigabar_backtest::cpu::engine::{Market, Rules, replay, simulate, simulate_equity};
use gigabar_backtest::metric::benchmark::close_to_close;
use gigabar_backtest::metric::{MetricConfig, WindowMetrics};
use gigabar_backtest::policy::{SmaCross, Strategy};
use gigabar_backtest::{Path, SimConfig};
use gigabar_market::rng::Philox;
use gigabar_market::sigma::sigma;
use gigabar_market::{BarColumns, Bars};

const RUNS: usize = 7;

fn main() {
    let n_bars = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(10_000_000);
    let bars = walk(n_bars);
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let config = SimConfig { half_spread_bps: 1.0, commission_bps: 1.0, ..SimConfig::default() };
    let rules = Rules::new(&config, &market).unwrap();
    let levels: Vec<f64> = (1..n_bars).map(|t| [0.0, 1.0, -1.0][t / 50 % 3]).collect();
    let benchmark = close_to_close(bars.close());
    let metrics =
        |path: &Path| WindowMetrics::compute(path, &benchmark, bars.periods_per_year(), &MetricConfig::default());
    println!("{n_bars} bars, {} threads", rayon::current_num_threads());
    time("given levels", n_bars, || replay(&rules, &market, 0..n_bars, &levels));
    time("  with the full suite", n_bars, || metrics(&replay(&rules, &market, 0..n_bars, &levels)));
    let mut cross = SmaCross::new(20, 50, false).policy();
    time("SMA cross", n_bars, || simulate(&rules, &bars, &market, 0..n_bars, &mut cross));
    time("  returns and equity alone", n_bars, || simulate_equity(&rules, &bars, &market, 0..n_bars, &mut cross));
    time("  with the full suite", n_bars, || {
        let mut cross = SmaCross::new(20, 50, false).policy();
        metrics(&simulate_equity(&rules, &bars, &market, 0..n_bars, &mut cross))
    });
}

fn time<T>(name: &str, n_bars: usize, mut run: impl FnMut() -> T) {
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
        "{name:<24} best {:>7.1} ms, median {:>7.1} ms, {:>6.1} M bars/s",
        best * 1e3,
        median * 1e3,
        n_bars as f64 / median / 1e6
    );
}

/// A random walk of minute bars.
fn walk(n: usize) -> Bars {
    let mut rng = Philox::new(1, 0);
    let mut c = BarColumns::default();
    let mut last = 100.0f64;
    for t in 0..n {
        let close = last * (1.0 + 1e-3 * (rng.uniform() - 0.5));
        c.ts.push(t as i64 * 60_000_000_000);
        c.open.push(last);
        c.high.push(last.max(close) * 1.0001);
        c.low.push(last.min(close) * 0.9999);
        c.close.push(close);
        c.volume.push(1e4);
        last = close;
    }
    Bars::new(c).unwrap()
}
