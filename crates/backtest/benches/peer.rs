//! One run over given columns, for a comparison with other programs: `benches/peers/cpu.py` builds and calls it.
//!
//! `peer backtest|sweep DIR`: DIR holds `open.f64`, `high.f64`, `low.f64` and `close.f64`, little-endian. Prints one line of JSON: the seconds,
//! loading apart, and what came out.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;
use std::time::Instant;

use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::engine::{Market, Rules, simulate_equity};
use gigabar_backtest::metric::benchmark::close_to_close;
use gigabar_backtest::metric::{MetricConfig, WindowMetrics};
use gigabar_backtest::policy::{Grid, SmaCross, Strategy};
use gigabar_backtest::sweep;
use gigabar_market::sigma::sigma;
use gigabar_market::{BarColumns, Bars};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [what, dir] = &args[..] else {
        return println!("usage: peer backtest|sweep DIR");
    };
    let bars = bars(Path::new(dir));
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let config = SimConfig { max_position: 0.5, commission_bps: 1.0, ..SimConfig::default() };
    let rules = Rules::new(&config, &market).unwrap();
    let start = Instant::now();
    match what.as_str() {
        "backtest" => {
            let path =
                simulate_equity(&rules, &bars, &market, 0..bars.len(), &mut SmaCross::new(20, 50, false).policy());
            let benchmark = close_to_close(bars.close());
            let metrics = WindowMetrics::compute(&path, &benchmark, market.periods_per_year, &MetricConfig::default());
            let secs = start.elapsed().as_secs_f64();
            println!("{}", serde_json::json!({ "secs": secs, "metrics": metrics }));
        }
        _ => {
            let grid = Grid::parse("sma-cross:fast=2..101,slow=102..201").unwrap();
            let rows = sweep::cpu(&rules, &market, 0..bars.len(), &grid, 0.0, |_, _| {}).unwrap();
            let secs = start.elapsed().as_secs_f64();
            println!("{}", serde_json::json!({ "secs": secs, "rows": rows }));
        }
    }
}

fn bars(dir: &Path) -> Bars {
    let column = |name: &str| -> Vec<f64> {
        let bytes = std::fs::read(dir.join(format!("{name}.f64"))).unwrap();
        bytes.as_chunks().0.iter().map(|&word| f64::from_le_bytes(word)).collect()
    };
    let close = column("close");
    Bars::new(BarColumns {
        ts: (0..close.len() as i64).map(|t| t * 60_000_000_000).collect(),
        volume: vec![0.0; close.len()],
        open: column("open"),
        high: column("high"),
        low: column("low"),
        close,
    })
    .unwrap()
}
