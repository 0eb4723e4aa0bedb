//! The suite against outside witnesses; `golden/make_metric_golden.py` made the values and says who answered what.

use gigabar_backtest::metric::{
    MetricConfig, PathView, Trials, WindowMetrics, compound, deflated_sharpe, probability_of_overfitting,
};
use gigabar_backtest::{Counts, ExitReason, Trade};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/metric.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// 1e-9 relative; the absolute part is for values that are 0 up to rounding, such as the skew of symmetric returns.
fn agree(got: Option<f64>, want: Option<f64>) -> bool {
    match (got, want) {
        (Some(got), Some(want)) => (got - want).abs() <= 1e-9 * want.abs() + 1e-13,
        (got, want) => got == want,
    }
}

/// One trade a bar with a P&L of 1000·r, as the script has it.
fn trades(returns: &[f64]) -> Vec<Trade> {
    let trade = |(bar, &r): (usize, &f64)| Trade {
        side: 1,
        entry_bar: bar,
        exit_bar: bar + 1,
        units: 1.0,
        entry_price: 1000.0,
        exit_price: 1000.0 * (1.0 + r),
        pnl: 1000.0 * r,
        trade_return: r,
        bars_held: 1,
        exit: ExitReason::Signal,
    };
    returns.iter().enumerate().map(trade).collect()
}

#[test]
fn every_metric_agrees_with_its_witness() {
    let golden = golden();
    let config: MetricConfig = serde_json::from_value(serde_json::json!({
        "risk_free": golden["settings"]["risk_free"],
        "mar": golden["settings"]["mar"],
        "var_level": golden["settings"]["var_level"],
    }))
    .unwrap();
    let periods_per_year = golden["settings"]["periods_per_year"].as_f64().unwrap();
    let mut compared = 0;
    for case in golden["cases"].as_array().unwrap() {
        let (returns, benchmark) = (numbers(&case["returns"]), numbers(&case["benchmark"]));
        let (equity, trades) = (compound(1.0, &returns), trades(&returns));
        let view = PathView { returns: &returns, equity: &equity, trades: &trades, counts: Counts::default() };
        let metrics = WindowMetrics::compute(view, &benchmark, periods_per_year, &config);
        for (key, want) in case["expected"].as_object().unwrap() {
            let deflated = |variance| {
                let trials = Trials { n: 10, sharpe_variance: variance };
                deflated_sharpe(&returns, trials, config.risk_free, periods_per_year)
            };
            let got = match key.as_str() {
                "dsr_10" => deflated(None),
                "dsr_10_v" => deflated(Some(0.003)),
                key => metrics.get(key).unwrap_or_else(|| panic!("no metric {key}")),
            };
            assert!(agree(got, want.as_f64()), "{} {key}: got {got:?}, witness {want}", case["name"]);
            compared += 1;
        }
    }
    assert_eq!(compared, 36 * 33);
}

#[test]
fn probability_of_overfitting_agrees_with_a_plain_enumeration() {
    let golden = golden();
    let case = &golden["overfitting"];
    let trials: Vec<Vec<f64>> = case["trials"].as_array().unwrap().iter().map(numbers).collect();
    let result = probability_of_overfitting(&trials, case["n_blocks"].as_u64().unwrap() as usize).unwrap();
    assert!(agree(Some(result.probability), case["expected"]["probability"].as_f64()));
    let mut logits = result.logits;
    logits.sort_unstable_by(f64::total_cmp);
    let want = numbers(&case["expected"]["logits"]);
    assert_eq!(logits.len(), want.len());
    for (got, want) in logits.into_iter().zip(want) {
        assert!(agree(Some(got), Some(want)), "{got} {want}");
    }
}
