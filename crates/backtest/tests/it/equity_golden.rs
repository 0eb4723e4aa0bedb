//! The same backtest in vectorbt and backtesting.py, under the settings where their conventions meet ours
//! (docs/conventions.md): their equity must come out. Origin: golden/make_equity_golden.py.

use std::path::Path as FilePath;

use gigabar_backtest::cpu::engine::{Market, Rules, simulate};
use gigabar_backtest::{Path, SimConfig, policy};
use gigabar_market::load::{LoadOptions, load};
use gigabar_market::sigma::sigma;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    bars: Vec<usize>,
    vectorbt: Vectorbt,
    backtesting_py: BacktestingPy,
}

#[derive(Deserialize)]
struct Vectorbt {
    orders: usize,
    equity: Vec<f64>,
}

#[derive(Deserialize)]
struct BacktestingPy {
    closed_trades: usize,
    equity: Vec<f64>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/equity.json")).unwrap()
}

fn cross(config: &SimConfig) -> Path {
    let csv = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/ibm-daily.csv");
    let bars = load(&csv, &LoadOptions::default()).unwrap().bars;
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let rules = Rules::new(config, &market).unwrap();
    let mut policy = policy::parse("sma-cross:fast=11,slow=37").unwrap();
    simulate(&rules, &bars, &market, 0..bars.len(), policy.as_mut())
}

fn same(bars: &[usize], want: &[f64], path: &Path) {
    assert_eq!(bars.len(), want.len());
    assert!(bars.len() > 300 && want.last() != want.first());
    for (&bar, want) in bars.iter().zip(want) {
        let got = path.equity[bar];
        assert!((got / want - 1.0).abs() < 1e-11, "equity after bar {bar}: {got} against {want}");
    }
}

#[test]
fn an_sma_cross_earns_what_it_earns_in_vectorbt() {
    let half = SimConfig { max_position: 0.5, commission_bps: 2.0, half_spread_bps: 1.0, ..SimConfig::default() };
    let (path, Golden { bars, vectorbt, .. }) = (cross(&half), golden());
    same(&bars, &vectorbt.equity, &path);
    // Ours closes at the end, theirs stays open.
    assert_eq!(path.counts.fills, vectorbt.orders + 1);
}

#[test]
fn an_sma_cross_of_whole_units_earns_what_it_earns_in_backtesting_py() {
    let half = SimConfig { max_position: 0.5, commission_bps: 2.0, lot_size: 1.0, ..SimConfig::default() };
    let (path, Golden { bars, backtesting_py, .. }) = (cross(&half), golden());
    same(&bars, &backtesting_py.equity, &path);
    assert_eq!(path.trades.len(), backtesting_py.closed_trades + 1);
}
