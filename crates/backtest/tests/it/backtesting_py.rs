//! An outside witness of the accounting: backtesting.py 0.6.6 on GOOG daily (66 trades, published in its test suite).
//!
//! Its sizes are replayed through our engine; its equity curve must come out, to the cent and better.

use std::io::Read;
use std::path::PathBuf;

use gigabar_backtest::cpu::account::Account;
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::{SimConfig, Trade};
use gigabar_market::load::{LoadOptions, load};
use gigabar_market::sigma::sigma;

pub(crate) fn data() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..").join("shared/data");
    let folder = std::env::var_os("GIGABAR_DATA").map_or(root, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("no market data at {}: not compared", folder.display());
    None
}

fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn goog_equity_equals_backtesting_py() {
    let Some(data) = data() else { return };
    let stem = "oracles/backtesting.py-0.6.6_GOOG_SmaCross10-30_testsuite";
    let bars = load(&data.join("backtesting.py/GOOG.csv"), &LoadOptions::default()).unwrap().bars;
    let trades = csv_rows(&std::fs::read_to_string(data.join(format!("{stem}.trades.csv"))).unwrap());
    let mut text = String::new();
    let file = std::fs::File::open(data.join(format!("{stem}.equity.csv.gz"))).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let equity: Vec<f64> = csv_rows(&text).iter().map(|r| r[1].parse().unwrap()).collect();

    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let config = SimConfig { initial_cash: 10_000.0, lot_size: 1.0, ..SimConfig::default() };
    let rules = Rules::new(&config, &market).unwrap();
    let mut account = Account::new(&rules);
    let mut ours: Vec<Trade> = Vec::new();
    assert_eq!(equity.len(), bars.len());
    let mut held = 0.0;
    for t in 0..bars.len() - 1 {
        // The size that backtesting.py holds after the open of bar t + 1; its last trade is closed at the last close.
        let wanted: f64 = trades
            .iter()
            .filter(|r| (r[1].parse::<usize>().unwrap()..r[2].parse().unwrap()).contains(&(t + 1)))
            .map(|r| r[0].parse::<f64>().unwrap())
            .sum();
        // An unchanged size asks for the level held: no order, as there.
        let level = if wanted == held { account.level() } else { wanted * bars.close()[t] / account.equity() };
        held = wanted;
        let last = t + 2 == bars.len();
        account.step(&rules, &market, t, level, last, &mut |trade| ours.push(trade));
        let error = (account.equity() - equity[t + 1]).abs();
        assert!(error < 1e-6, "equity after bar {}: {} against {}", t + 1, account.equity(), equity[t + 1]);
    }
    assert_eq!(ours.len(), 66);
    for (a, b) in ours.iter().zip(&trades) {
        assert_eq!(f64::from(a.side) * a.units, b[0].parse::<f64>().unwrap());
        assert!((a.pnl - b[7].parse::<f64>().unwrap()).abs() < 1e-6, "{a:?} against {b:?}");
    }
    assert!((account.equity() - 51_422.99).abs() < 1e-6);
}
