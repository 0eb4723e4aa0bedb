//! The strategies' indicators beside TA-Lib's (golden values of crates/market, made by its `make_talib_golden.py`), and
//! the channels beside plain maxima and minima.

use std::collections::BTreeMap;
use std::path::Path;

use gigabar_backtest::policy::indicator::{Indicator, Prices, Stream};

type Columns = BTreeMap<String, Vec<f64>>;

/// Columns by name; an empty cell is NaN.
fn read(name: &str) -> Columns {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../market/tests/it/golden").join(name);
    let mut reader = csv::Reader::from_path(path).unwrap();
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let mut columns = Columns::new();
    for record in reader.records() {
        for (name, cell) in names.iter().zip(&record.unwrap()) {
            let value = if cell.is_empty() { f64::NAN } else { cell.parse().unwrap() };
            columns.entry(name.clone()).or_default().push(value);
        }
    }
    columns
}

fn column(indicator: Indicator, bars: &Columns) -> Vec<f64> {
    let [high, low, close] = ["high", "low", "close"].map(|name| bars[name].as_slice());
    let mut stream = Stream::new(indicator);
    (0..close.len()).map(|t| stream.at(Prices { high, low, close }, t)).collect()
}

#[test]
fn indicators_equal_talib() {
    let (bars, golden) = (read("bars.csv"), read("talib.csv"));
    for (name, indicator) in [
        ("sma_5", Indicator::Sma(5)),
        ("sma_20", Indicator::Sma(20)),
        ("ema_10", Indicator::Ema(10)),
        ("ema_100", Indicator::Ema(100)),
        ("rsi_2", Indicator::Rsi(2)),
        ("rsi_14", Indicator::Rsi(14)),
        ("stddev_5", Indicator::StdDev(5)),
        ("stddev_20", Indicator::StdDev(20)),
        ("macd_histogram", Indicator::Macd { fast: 12, slow: 26, signal: 9 }),
        ("macd_histogram_5_35_5", Indicator::Macd { fast: 5, slow: 35, signal: 5 }),
        ("rocp_5", Indicator::Momentum(5)),
        ("rocp_60", Indicator::Momentum(60)),
    ] {
        let got = column(indicator, &bars);
        assert_eq!(got.len(), golden[name].len());
        for (t, (got, want)) in got.iter().zip(&golden[name]).enumerate() {
            // A difference of averages of prices is as exact as those are.
            let scale = if name.starts_with("macd") { bars["close"][t] } else { want.abs() };
            let close = (got - want).abs() <= 1e-9 * scale;
            assert!(close || (got.is_nan() && want.is_nan()), "{name} at bar {t}: {got} instead of {want}");
        }
    }
}

#[test]
fn bands_equal_talib() {
    let (bars, golden) = (read("bars.csv"), read("talib.csv"));
    let (mean, std) = (column(Indicator::Sma(20), &bars), column(Indicator::StdDev(20), &bars));
    for t in 19..mean.len() {
        assert!((mean[t] + 2.0 * std[t] - golden["bb_upper"][t]).abs() < 1e-9, "upper band at bar {t}");
        assert!((mean[t] - 2.0 * std[t] - golden["bb_lower"][t]).abs() < 1e-9, "lower band at bar {t}");
    }
}

#[test]
fn channels_equal_plain_extremes_of_the_bars_before() {
    let bars = read("bars.csv");
    for n in [1, 2, 10, 55, 400] {
        let (top, bottom) = (column(Indicator::Highest(n), &bars), column(Indicator::Lowest(n), &bars));
        for t in n..top.len() {
            let before = |name: &str| bars[name][t - n..t].iter().copied();
            assert_eq!(top[t], before("high").fold(f64::NEG_INFINITY, f64::max), "{n} bars before {t}");
            assert_eq!(bottom[t], before("low").fold(f64::INFINITY, f64::min), "{n} bars before {t}");
        }
    }
}
