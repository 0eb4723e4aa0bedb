//! Write a policy. `cargo run --release --example 02_your_own_policy`

use std::ops::Range;
use std::path::Path;

use gigabar::backtest::cpu::engine::{Market, Rules, simulate};
use gigabar::backtest::metric::MetricConfig;
use gigabar::backtest::policy::Observation;
use gigabar::backtest::{EvalReport, Policy, SimConfig};
use gigabar::market::load::{LoadOptions, load};
use gigabar::market::sigma::sigma;

/// Long after a year of gains, else flat. An observation holds nothing later than the bar that has just closed.
struct Momentum {
    lookback_bars: usize,
}

impl Policy for Momentum {
    fn name(&self) -> String {
        format!("momentum over {} bars", self.lookback_bars)
    }

    fn reset(&mut self, _window: Range<usize>) {}

    fn level(&mut self, observation: &Observation<'_>) -> f64 {
        let close = observation.close();
        let now = close[observation.t()];
        match observation.t().checked_sub(self.lookback_bars) {
            Some(then) if now > close[then] => 1.0,
            _ => 0.0,
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bars = load(Path::new("examples/data/ibm-daily.csv"), &LoadOptions::default())?.bars;
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let rules = Rules::new(&SimConfig::default(), &market)?;
    let mut policy = Momentum { lookback_bars: 252 };
    let path = simulate(&rules, &bars, &market, 0..bars.len(), &mut policy);
    let report = EvalReport::new(&policy.name(), &bars, &[path], &MetricConfig::default(), 1);
    println!("{}", gigabar::report::text::windows_table(&report));
    Ok(())
}
