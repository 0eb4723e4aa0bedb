//! Load a file, trade a rule, read the metrics. `cargo run --release --example 01_backtest_a_rule`

use std::path::Path;

use gigabar::backtest::cpu::engine::{Market, Rules, simulate};
use gigabar::backtest::metric::MetricConfig;
use gigabar::backtest::{EvalReport, SimConfig, policy};
use gigabar::market::load::{LoadOptions, load};
use gigabar::market::sigma::sigma;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bars = load(Path::new("examples/data/ibm-daily.csv"), &LoadOptions::default())?.bars;
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let sim = SimConfig { commission_bps: 5.0, half_spread_bps: 1.0, ..SimConfig::default() };
    let rules = Rules::new(&sim, &market)?;

    let mut rule = policy::parse("sma-cross:fast=20,slow=50")?;
    let path = simulate(&rules, &bars, &market, 0..bars.len(), rule.as_mut());
    let report = EvalReport::new(&rule.name(), &bars, &[path], &MetricConfig::default(), 1);
    println!("{}", gigabar::report::text::windows_table(&report));
    Ok(())
}
