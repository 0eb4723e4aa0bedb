//! Series of every kind the metrics must cope with, at every length around an edge of the reductions; and how two
//! [`WindowStats`] are held to each other.

use gigabar_backtest::metric::{PathView, WindowStats, compound};
use gigabar_backtest::{Counts, ExitReason, Trade};
use gigabar_market::rng::Philox;

/// Numbers of returns: below every metric's least, around a warp, the lanes, a block; several blocks.
pub(crate) const LENGTHS: [usize; 18] =
    [1, 2, 3, 4, 19, 20, 31, 32, 33, 255, 256, 257, 1_000, 4_095, 4_096, 4_097, 8_191, 10_000];

/// What the metrics read of one window.
pub(crate) struct Series {
    pub(crate) kind: &'static str,
    pub(crate) returns: Vec<f64>,
    pub(crate) benchmark: Vec<f64>,
    pub(crate) equity: Vec<f64>,
    pub(crate) trades: Vec<Trade>,
}

impl Series {
    pub(crate) fn view(&self) -> PathView<'_> {
        let counts = Counts { fills: self.trades.len(), traded_value: 1e6, ..Counts::default() };
        PathView { returns: &self.returns, equity: &self.equity, trades: &self.trades, counts }
    }

    pub(crate) fn name(&self) -> String {
        format!("{} of {} returns, {} trades", self.kind, self.returns.len(), self.trades.len())
    }
}

/// One of every kind, `n` returns each.
pub(crate) fn every_kind(n: usize) -> Vec<Series> {
    let mut rng = Philox::new(n as u64, 40);
    let mut draw = |f: &dyn Fn(usize, f64, f64) -> f64| {
        (0..n).map(|i| f(i, rng.uniform() - 0.5, rng.uniform())).collect::<Vec<f64>>()
    };
    let (walk, other) = (draw(&|_, u, v| 0.02 * u * v), draw(&|_, u, v| 0.02 * u * v));
    let holes = |column: &[f64], every: usize| {
        column.iter().enumerate().map(|(i, &x)| if i % every == 1 { f64::NAN } else { x }).collect::<Vec<f64>>()
    };
    let waves = draw(&|i, u, _| 0.01 * (i as f64 / 900.0).sin() + 0.003 * u);
    let flat = draw(&|_, u, v| if v < 0.97 { 0.0 } else { 0.02 * u });
    let rising = draw(&|_, u, _| 0.001 * (u + 0.6));
    let columns = [
        ("random walk", walk.clone(), other.clone(), n / 9),
        ("walk with holes", holes(&walk, 7), holes(&other, 5), n + 3),
        ("mostly flat", flat, other.clone(), 1),
        ("constant", vec![1e-5; n], other.clone(), 0),
        ("its own benchmark", walk.clone(), walk.clone(), n / 2),
        ("long waves", waves, vec![0.001; n], 2),
        ("always rising", rising, holes(&other, 3), n.min(31)),
        ("all missing", vec![f64::NAN; n], other.clone(), 0),
    ];
    let mut out: Vec<Series> = columns
        .into_iter()
        .map(|(kind, returns, benchmark, n_trades)| {
            let equity = compound(1e5, &returns);
            Series { kind, returns, benchmark, equity, trades: trades(n_trades, &mut Philox::new(n as u64, 41)) }
        })
        .collect();
    // An account that is lost half-way.
    let mut ruined = compound(1e5, &walk);
    ruined[n / 2 + 1..].fill(0.0);
    let returns = ruined.windows(2).map(|e| if e[0] == 0.0 { 0.0 } else { e[1] / e[0] - 1.0 }).collect();
    out.push(Series { kind: "ruin", returns, benchmark: other, equity: ruined, trades: Vec::new() });
    out
}

/// P&L of both signs, every fifth exactly 0.
fn trades(n: usize, rng: &mut Philox) -> Vec<Trade> {
    let mut trade = |i: usize| {
        let pnl = if i % 5 == 4 { 0.0 } else { 1_000.0 * (rng.uniform() - 0.45) };
        Trade {
            side: if i.is_multiple_of(2) { 1 } else { -1 },
            entry_bar: 3 * i,
            exit_bar: 3 * i + 2,
            units: 1.0,
            entry_price: 100.0,
            exit_price: 100.0 + pnl,
            pnl,
            trade_return: pnl / 9.9e4,
            bars_held: 1 + i % 17,
            exit: ExitReason::Signal,
        }
    };
    (0..n).map(&mut trade).collect()
}

/// Every number equal bit for bit (of two zeros, of either sign), said by group where it is not.
pub(crate) fn same_stats(name: &str, want: &WindowStats, got: &WindowStats) {
    assert_eq!(want.returns, got.returns, "{name}: returns");
    assert_eq!(want.equity, got.equity, "{name}: equity");
    assert_eq!(want.trades, got.trades, "{name}: trades");
    assert_eq!(want.pair, got.pair, "{name}: against the benchmark");
    // Beyond the quantile counts only where the value at risk does.
    let tails = |stats: &WindowStats| (stats.tails.cut, stats.tails.low, stats.tails.high);
    assert_eq!(tails(want), tails(got), "{name}: quantiles");
    if want.tails.beyond.is_some() {
        assert_eq!(want.tails.beyond, got.tails.beyond, "{name}: mean beyond the quantile");
    }
    let rest = |stats: &WindowStats| (stats.n_bars, stats.n_trades, stats.counts);
    assert_eq!(rest(want), rest(got), "{name}");
}
