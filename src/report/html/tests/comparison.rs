//! Pages of several strategies.

use super::*;
use crate::report::sweep::StrategyResult;

/// More strategies than a page draws.
pub(super) const CROSSES: [&str; 12] = [
    "sma-cross:fast=3,slow=40",
    "sma-cross:fast=4,slow=40",
    "sma-cross:fast=5,slow=40",
    "sma-cross:fast=6,slow=40",
    "sma-cross:fast=8,slow=40",
    "sma-cross:fast=10,slow=40",
    "sma-cross:fast=12,slow=40",
    "ema-cross:fast=3,slow=40",
    "ema-cross:fast=12,slow=40",
    "donchian:period=20,exit=10",
    "buy-and-hold",
    "flat",
];

/// The strategies `names` over all bars, and the run of the best of them.
pub(super) fn compared(bars: &Bars, names: &[&str]) -> RunReport {
    let by = sweep::metric("sharpe").unwrap();
    let sigma = sigma(bars.close());
    let market = Market::new(bars, &sigma);
    let rules = Rules::new(&SimConfig::default(), &market).unwrap();
    let results: Vec<StrategyResult> = names
        .iter()
        .map(|name| {
            let mut policy = policy::parse(name).unwrap();
            let path = simulate(&rules, bars, &market, 0..bars.len(), policy.as_mut());
            let report = EvalReport::new(name, bars, std::slice::from_ref(&path), &MetricConfig::default(), 1);
            StrategyResult::new(report, bars, &[path])
        })
        .collect();
    let found = SweepReport::of_strategies("signals.csv", &results, 1, by, bars.periods_per_year());
    let mut report = run(bars, &found.best[0].name, 1);
    report.report.n_trials = names.len();
    report.sweep = Some(found);
    report
}

#[test]
fn a_comparison_shows_every_strategy_and_the_curves_of_the_best() {
    let names = CROSSES;
    let report = compared(&random_walk(3_000, 4), &names);
    let page = render(&report).unwrap();
    for part in [
        "12 strategies</h2>",
        "report on several strategies",
        "Equity of the best strategy",
        "the best strategy was chosen",
        "of 100, the best 10",
        "12 strategies of signals.csv",
        "only bars that no strategy has seen",
    ] {
        assert!(page.to_lowercase().contains(&part.to_lowercase()), "no {part}");
    }
    assert!(!page.contains("parameter sets") && !page.contains("12 sets"), "a grid's words");
    assert!(names.iter().all(|name| page.contains(&format!(">{name}</th>"))));
    let data = data(&page);
    let curves = data["strategies"].as_array().unwrap();
    assert_eq!((curves.len(), &data["sweep"]), (10, &serde_json::Value::Null));
    assert_eq!(curves[0]["name"], report.report.policy.as_str());
    let last = |curve: &serde_json::Value| curve["y"].as_array().unwrap().last().unwrap().as_f64().unwrap();
    let best = &report.sweep.as_ref().unwrap().best;
    for (curve, set) in curves.iter().zip(best) {
        assert!((last(curve) / 100.0 - 1.0 - set.row.total_return).abs() < 1e-3, "{}", set.name);
        assert!(curve["x"].as_array().unwrap().len() <= 700);
    }
}
