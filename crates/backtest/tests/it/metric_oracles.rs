//! Published expected values of other libraries. Values stand in the code where they need no data file; the others read
//! the folder named by GIGABAR_DATA and are skipped, with a note, where it is absent.
//!
//! Where a definition differs, ours is asserted and the difference said.

use std::path::PathBuf;

use gigabar_backtest::metric::{
    Moments, TradeStats, compound, downside_deviation, kurtosis, max_drawdown, omega, quantile, sharpe, skew, sortino,
    tail_ratio, total_return, ulcer_index, value_at_risk, volatility,
};
use gigabar_backtest::metric::{cagr, calmar, conditional_value_at_risk};
use gigabar_backtest::{ExitReason, Trade};
use serde_json::Value;
use statrs::distribution::{ContinuousCDF, Normal};

const NAN: f64 = f64::NAN;

fn percent(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v / 100.0).collect()
}

fn mixed() -> Vec<f64> {
    percent(&[NAN, 1.0, 10.0, -4.0, 2.0, 3.0, 2.0, 1.0, -10.0])
}

fn negative() -> Vec<f64> {
    percent(&[0.0, -6.0, -7.0, -1.0, -9.0, -2.0, -6.0, -8.0, -5.0])
}

fn simple() -> Vec<f64> {
    percent(&[0.0, 1.0, 10.0, -4.0, 2.0, 3.0, 2.0, 1.0, -10.0])
}

fn positive() -> Vec<f64> {
    percent(&[1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
}

fn changes(prices: &[f64]) -> Vec<f64> {
    prices.windows(2).map(|pair| pair[1] / pair[0] - 1.0).collect()
}

/// `tolerance` relative, and absolute below 1.
#[track_caller]
fn near(got: Option<f64>, want: f64, tolerance: f64) {
    let got = got.unwrap_or_else(|| panic!("undefined, expected {want}"));
    assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "got {got}, expected {want}");
}

// empyrical-reloaded, tests/test_stats.py; the fixtures' NaN is a bar without a return, which counts in the length.

#[test]
fn empyrical_returns_and_drawdowns() {
    let equity = |r: &[f64]| compound(1.0, r);
    near(total_return(&equity(&mixed())), 0.03893, 2e-6);
    near(total_return(&equity(&negative())), -0.36590, 1e-5);
    near(max_drawdown(&equity(&mixed())), 0.1, 1e-12);
    near(max_drawdown(&equity(&negative())), 0.365_907_30, 1e-8);
    let all_negative = percent(&[-2.0, -6.0, -7.0, -1.0, -9.0, -2.0, -6.0, -8.0, -5.0]);
    near(max_drawdown(&equity(&all_negative)), 0.378_589_157, 1e-8);
    near(max_drawdown(&equity(&positive())), 0.0, 0.0);
    near(cagr(&equity(&mixed()), 252.0), 1.913_592_537_319_423_1, 1e-12);
    near(cagr(&equity(&mixed()[1..]), 252.0), 2.330_293, 1e-6);
    near(cagr(&equity(&simple()), 52.0), 0.246_908_305_139_982_08, 1e-12);
    near(cagr(&equity(&simple()), 12.0), 0.052_242_061_386_048_144, 1e-12);
    near(calmar(&equity(&mixed()), 252.0), 19.135_925_373_194_233, 1e-12);
    near(calmar(&equity(&mixed()[1..]), 252.0), 23.302_928, 1e-7);
    near(calmar(&equity(&simple()), 52.0), 2.469_083_051_399_821, 1e-12);
    near(calmar(&equity(&simple()), 12.0), 0.522_420_613_860_481_4, 1e-12);
}

#[test]
fn empyrical_rolling_drawdown_and_sharpe() {
    let rolling = [-0.2282, -0.2745, -0.2899, -0.2747];
    for (window, want) in negative().windows(6).zip(rolling) {
        near(max_drawdown(&compound(1.0, window)), -want, 5e-5);
    }
    let of_mixed = [7.574_452_59, 8.227_841_05, 8.227_841_05, -3.137_475_1];
    for (window, want) in mixed().windows(6).zip(of_mixed) {
        near(sharpe(window, 0.0, 252.0), want, 1e-8);
    }
    let of_negative = [-18.091_620_52, -26.798_974_86, -26.691_382_63, -25.722_988_38];
    for (window, want) in negative().windows(6).zip(of_negative) {
        near(sharpe(window, 0.0, 252.0), want, 1e-8);
    }
}

#[test]
fn empyrical_risk_and_ratios() {
    near(volatility(&mixed(), 252.0), 0.913_646_539_970_463_7, 1e-12);
    near(volatility(&simple(), 52.0), 0.388_515_693_948_705_8, 1e-12);
    near(volatility(&simple(), 12.0), 0.186_636_902_388_925_6, 1e-12);
    near(sharpe(&mixed(), 0.0, 252.0), 1.723_861_396_170_686_6, 1e-12);
    near(sharpe(&negative(), 0.0, 252.0), -24.406_808_633_910_085, 1e-12);
    near(sharpe(&positive(), 0.0, 252.0), 52.915_026_221_291_804, 1e-12);
    near(sortino(&mixed(), 0.0, 252.0), 2.605_531_251_673_693, 1e-12);
    near(sortino(&negative(), 0.0, 252.0), -13.532_743_075_043_4, 1e-12);
    near(sortino(&simple(), 0.0, 52.0), 1.115_890_105_686_644, 1e-12);
    near(sortino(&simple(), 0.0, 12.0), 0.536_056_267_418_897_6, 1e-12);
    // Their required return is one of a bar; ours, `mar`, one of a year.
    near(downside_deviation(&mixed(), 0.0, 252.0), 0.604_483_250_388_296_5, 1e-12);
    near(downside_deviation(&mixed(), 0.1 * 252.0, 252.0), 1.716_173_068_195_629_5, 1e-12);
    near(downside_deviation(&simple(), 0.0, 52.0), 0.258_886_504_519_301_3, 1e-12);
    near(downside_deviation(&simple(), 0.1 * 52.0, 52.0), 0.773_304_597_167_248_2, 1e-12);
}

#[test]
fn empyrical_omega() {
    // Their annual requirement of 1000 % compounds: 11^(1/252) − 1 a bar. Ours divides, so it is given that bar's rate.
    let bar = 11.0_f64.powf(1.0 / 252.0) - 1.0;
    near(omega(&mixed(), bar * 252.0, 252.0), 0.833_542_634_975_579_3, 1e-12);
    near(omega(&mixed(), 0.01 * 252.0, 252.0), 0.8125, 1e-12);
    near(omega(&negative(), 0.01 * 252.0, 252.0), 0.0, 0.0);
    near(omega(&positive(), 0.011 * 252.0, 252.0), 1.125, 1e-12);
}

#[test]
fn empyrical_says_infinite_or_nan_where_we_say_undefined() {
    assert_eq!(sharpe(&[0.01; 9], 0.0, 252.0), None, "they: +inf");
    assert_eq!(sortino(&positive(), 0.0, 252.0), None, "they: +inf");
    assert_eq!(calmar(&compound(1.0, &[0.01]), 252.0), None, "they: NaN");
}

#[test]
fn empyrical_value_at_risk() {
    // Ours is −quantile and undefined below 20 returns; the quantile itself is theirs.
    for (values, level, want) in [
        (vec![1.0, 2.0], 0.0, 1.0),
        (vec![1.0, 2.0], 0.3, 1.3),
        (vec![1.0, 2.0], 1.0, 2.0),
        (vec![1.0, 81.0, 82.0, 83.0, 84.0, 85.0], 0.1, 41.0),
        (vec![1.0, 81.0, 82.0, 83.0, 84.0, 85.0], 0.2, 81.0),
        (vec![1.0, 81.0, 82.0, 83.0, 84.0, 85.0], 0.3, 81.5),
    ] {
        near(quantile(&values, level), want, 1e-12);
        assert_eq!(value_at_risk(&values, level), None);
    }
}

#[test]
fn vectorbt_returns() {
    // tests/test_returns.py: rf 0.01 and required 0.1 a bar, 365 bars a year.
    let a = changes(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let b = changes(&[5.0, 4.0, 3.0, 2.0, 1.0]);
    let c = changes(&[1.0, 2.0, 3.0, 2.0, 1.0]);
    let rows = [
        (&a, 6.417_884_083_645_567, 29.052_280_196_490_333, 0.0, 3.523_809_523_809_523_7),
        (&b, 2.512_261_597_312_933_4, -48.065_920_681_119_74, 8.329_186_468_210_578, 0.436_842_105_263_157_86),
        (&c, 13.509_256_086_106_296, 4.232_900_240_313_306, 7.069_987_427_302_981, 1.947_368_421_052_631),
    ];
    for (r, vol, ratio, downside, tails) in rows {
        near(volatility(r, 365.0), vol, 1e-12);
        near(sharpe(r, 0.01 * 365.0, 365.0), ratio, 1e-12);
        near(downside_deviation(r, 0.1 * 365.0, 365.0), downside, 1e-12);
        near(tail_ratio(r, 0.05), tails, 1e-12);
    }
    near(sortino(&b, 0.1 * 365.0, 365.0), -18.441_677_017_667_562, 1e-12);
    near(sortino(&c, 0.1 * 365.0, 365.0), 3.441_778_869_275_285_8, 1e-12);
    assert_eq!(sortino(&a, 0.1 * 365.0, 365.0), None, "they: inf");
    assert_eq!(calmar(&compound(1.0, &a), 365.0), None, "they: NaN");
    near(calmar(&compound(1.0, &b), 365.0), -1.25, 1e-12);
    near(calmar(&compound(1.0, &c), 365.0), 0.0, 1e-9);
    // Their omega takes rf 0.01 off and compares with a required 0.1 a year, (1 + 0.1)^(1/365) − 1 a bar.
    let threshold = 365.0 * (0.01 + 1.1_f64.powf(1.0 / 365.0) - 1.0);
    assert_eq!(omega(&a, threshold, 365.0), None, "they: inf");
    near(omega(&b, threshold, 365.0), 0.0, 0.0);
    near(omega(&c, threshold, 365.0), 1.732_702_343_578_184_8, 1e-12);
}

// Values that need the data folder.

fn data_file(name: &str) -> Option<String> {
    let folder = std::env::var_os("GIGABAR_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let text = std::fs::read_to_string(folder.join(name)).ok();
    if text.is_none() {
        println!("skipped: {name} is not in the data folder; set GIGABAR_DATA");
    }
    text
}

/// A column of a comma-separated table with a header, NaN where a cell is empty.
fn column(text: &str, name: &str) -> Vec<f64> {
    let mut lines = text.lines();
    let index = lines.next().unwrap().split(',').position(|cell| cell == name).unwrap();
    lines.map(|line| line.split(',').nth(index).and_then(|cell| cell.parse().ok()).unwrap_or(NAN)).collect()
}

#[test]
fn ernie_chan_sharpe_ratio() {
    // Quantitative Trading (2008), example 3.4: buying and holding IGE at a risk-free 4 % a year.
    let Some(text) = data_file("pyalgotrade/sharpe-ratio-test-ige.csv") else { return };
    let mut returns = changes(&column(&text, "Adj Close"));
    near(sharpe(&returns, 0.04, 252.0), 0.789_317_5, 1e-7);
    returns.insert(0, 0.0);
    near(sharpe(&returns, 0.04, 252.0), 0.788_930_0, 1e-7);
    near(sharpe(&returns, 0.04, 252.0).map(|s| s / 252.0_f64.sqrt()), 0.0497, 5e-5);
}

#[test]
fn lean_parametric_value_at_risk() {
    // mean + std(ddof 1)·Φ⁻¹(1 − c) over 252 returns: our moments under their formula.
    let Some(text) = data_file("lean/oracle-spy_valueatrisk.csv") else { return };
    let returns = &changes(&column(&text, "close"));
    let mut compared = 0;
    for (name, level) in [("VaR_99", 0.01), ("VaR_95", 0.05), ("VaR_90", 0.10)] {
        let z = Normal::standard().inverse_cdf(level);
        for (row, want) in column(&text, name).into_iter().enumerate().filter(|(_, want)| !want.is_nan()) {
            let m = Moments::of(&returns[row.saturating_sub(252)..row]);
            near(m.std().map(|std| m.mean + std * z), want, 1e-14);
            compared += 1;
        }
    }
    assert!(compared > 17_000, "{compared}");
}

#[test]
fn lean_rolling_sortino() {
    let Some(text) = data_file("lean/oracle-spy_sortino.csv") else { return };
    let returns = changes(&column(&text, "close"));
    let mut compared = 0;
    for (name, mar) in [("sortino_rf_0_period_15", 0.0), ("sortino_rf_0.01_period_15", 0.01)] {
        for (row, want) in column(&text, name).into_iter().enumerate().filter(|(_, want)| !want.is_nan()) {
            near(sortino(&returns[row - 15..row], mar, 1.0), want, 1e-9);
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn tradingview_rolling_sharpe() {
    // Theirs divides by the population deviation.
    let Some(text) = data_file("lean/tradingview-spy_sr.txt") else { return };
    let returns = changes(&column(&text, "close"));
    let published = column(&text, "SR_10");
    for (row, &want) in published.iter().enumerate().skip(10) {
        near(sharpe(&returns[row - 10..row], 0.0, 1.0).map(|s| s * (10.0_f64 / 9.0).sqrt()), want, 1e-4);
    }
    assert_eq!(published.len(), 77);
}

/// One block of the cross-computed file against the same series through our functions.
fn cross_check(block: &Value, returns: &[f64]) {
    let value = |library: &str, key: &str| block[library][key].as_f64().unwrap();
    let (emp, qs) = (|key| value("empyrical", key), |key| value("quantstats", key));
    let equity = compound(1.0, returns);
    near(total_return(&equity), emp("cum_returns_final"), 1e-9);
    near(cagr(&equity, 252.0), emp("annual_return"), 1e-9);
    near(volatility(returns, 252.0), emp("annual_volatility"), 1e-12);
    near(sharpe(returns, 0.0, 252.0), emp("sharpe_ratio"), 1e-11);
    near(sortino(returns, 0.0, 252.0), emp("sortino_ratio"), 1e-11);
    near(calmar(&equity, 252.0), emp("calmar_ratio"), 1e-9);
    near(max_drawdown(&equity), -emp("max_drawdown"), 1e-11);
    near(omega(returns, 0.0, 252.0), emp("omega_ratio"), 1e-11);
    near(tail_ratio(returns, 0.05), emp("tail_ratio"), 1e-12);
    near(downside_deviation(returns, 0.0, 252.0), emp("downside_risk"), 1e-12);
    near(skew(returns), qs("skew"), 1e-10);
    near(kurtosis(returns), qs("kurtosis"), 1e-10);
    // quantstats divides the squares by n − 1.
    let n = returns.len() as f64;
    near(ulcer_index(&equity).map(|u| u * (n / (n - 1.0)).sqrt()), qs("ulcer_index"), 1e-11);
    if returns.len() >= 20 {
        near(value_at_risk(returns, 0.05), -emp("value_at_risk_5pct"), 1e-14);
        near(conditional_value_at_risk(returns, 0.05), -emp("cvar_5pct"), 1e-12);
    } else {
        near(quantile(returns, 0.05), emp("value_at_risk_5pct"), 1e-14);
        assert_eq!(value_at_risk(returns, 0.05), None);
    }
}

#[test]
fn cross_computed_series() {
    let files =
        ["oracles/metrics_empyrical_quantstats.json", "backtesting.py/GOOG.csv", "lean/oracle-spy_valueatrisk.csv"];
    let [Some(json), Some(goog), Some(spy)] = files.map(data_file) else { return };
    let blocks: Value = serde_json::from_str(&json).unwrap();
    let block = |prefix: &str| {
        blocks.as_object().unwrap().iter().find(|(key, _)| key.starts_with(prefix)).map(|(_, block)| block).unwrap()
    };
    cross_check(block("GOOG"), &changes(&column(&goog, "Close")));
    cross_check(block("SPY"), &changes(&column(&spy, "close")));
    cross_check(block("empyrical fixture mixed"), &mixed()[1..]);
    cross_check(block("empyrical fixture negative"), &negative());
}

#[test]
fn backtesting_py_trades() {
    // Its test suite's SMA(10)/SMA(30) run on GOOG. Its profit factor and expectancy are of returns on the trade's own
    // value: given those as P&L, ours says the same.
    let Some(text) = data_file("oracles/backtesting.py-0.6.6_GOOG_SmaCross10-30_testsuite.trades.csv") else { return };
    let (pnl, relative) = (column(&text, "PnL"), column(&text, "ReturnPct"));
    let stats = |profits: &[f64]| {
        let trades: Vec<Trade> = profits.iter().zip(&relative).map(|(&pnl, &r)| trade(pnl, r)).collect();
        TradeStats::of(&trades)
    };
    let money = stats(&pnl);
    assert_eq!(money.pnl.n, 66);
    near(money.win_rate(), 0.469_696_969_696_969_7, 1e-12);
    near(money.sqn(), 1.076_618_735_669_770_5, 1e-9);
    near(money.expectancy(), (51_422.99 - 10_000.0) / 66.0, 1e-9);
    near(money.avg_trade_return(), 0.032_748_078_066_748_834, 1e-9);
    near(stats(&relative).profit_factor(), 2.167_945_974_262_033, 1e-9);
    near(stats(&relative).expectancy(), 0.032_748_078_066_748_834, 1e-9);
}

fn trade(pnl: f64, trade_return: f64) -> Trade {
    Trade {
        side: 1,
        entry_bar: 0,
        exit_bar: 1,
        units: 1.0,
        entry_price: 1.0,
        exit_price: 1.0,
        pnl,
        trade_return,
        bars_held: 1,
        exit: ExitReason::Flip,
    }
}
