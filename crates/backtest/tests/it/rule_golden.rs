//! Rule strategies on GOOG daily beside numpy: the equity of `golden/rules.csv`, made by `make_rule_golden.py`.

use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::engine::{Market, Rules, simulate};
use gigabar_backtest::policy::parse;
use gigabar_market::load::{LoadOptions, load};
use gigabar_market::sigma::sigma;

use crate::backtesting_py::data;

#[test]
fn equity_on_goog_equals_numpy() {
    let Some(data) = data() else { return };
    let bars = load(&data.join("backtesting.py/GOOG.csv"), &LoadOptions::default()).unwrap().bars;
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let costs = SimConfig { commission_bps: 2.0, half_spread_bps: 1.0, ..SimConfig::default() };
    let rules = Rules::new(&SimConfig { initial_cash: 10_000.0, ..costs }, &market).unwrap();
    let mut golden = csv::Reader::from_reader(include_str!("golden/rules.csv").as_bytes());
    let names: Vec<String> = golden.headers().unwrap().iter().map(str::to_owned).collect();
    let rows: Vec<csv::StringRecord> = golden.records().map(Result::unwrap).collect();
    assert_eq!((names.len(), rows.len()), (4, bars.len()));
    for (column, name) in names.iter().enumerate() {
        let path = simulate(&rules, &bars, &market, 0..bars.len(), parse(name).unwrap().as_mut());
        assert!(path.trades.len() > 20, "{name}: {} trades", path.trades.len());
        for (t, (row, got)) in rows.iter().zip(&path.equity).enumerate() {
            let want: f64 = row[column].parse().unwrap();
            assert!((got - want).abs() < 1e-3, "{name} at bar {t}: {got}, numpy has {want}");
        }
    }
}
