//! `sweep_walk`, `sweep_signals` and `indicator_*` beside `sweep::cpu`.

use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::gpu::GpuSweep;
use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};

use crate::grids::{GRIDS, same_rows};
use crate::random_case::Case;
use crate::support::device;

const RISK_FREE: f64 = 0.02;
/// Nearly every case compiles kernels of its own.
const CASES: u64 = 40;

/// No multiple of a warp, a tile, a restart or a chunk.
const LONG: [&str; 8] = [
    "sma-cross:fast=3..30:3,slow=20..1300:61",
    "ema-cross:fast=3..30:3,slow=20..1300:61",
    "rsi:period=2..40:2,low=20..40:5,high=60..80:10",
    "donchian:period=2..300:13,exit=1..41:5,long_only=true|false",
    "bollinger:period=5..300:20,width=0.5..3:0.25",
    "macd:fast=3..30:9,slow=40..1300:210,signal=5|9|300",
    "momentum:lookback=5..300:7,threshold=0|0.01|0.02",
    "vol-target:period=5..300:30,target=0.5|1|2,cap=1|2,trend=0|30|400",
];

#[test]
#[ignore = "needs a CUDA device"]
fn swept_grids_equal_the_cpu_under_random_rules() {
    let device = device();
    let (mut rows, mut ruined) = (0, 0);
    for seed in 0..CASES {
        let case = Case::any(seed);
        let (market, rules) = (case.market(), Rules::new(&case.config, &case.market()).unwrap());
        let window = seed as usize % 7..case.bars.len();
        let mut gpu = GpuSweep::new(&device, &market, &rules, window.clone()).unwrap();
        for text in GRIDS {
            let grid = Grid::parse(text).unwrap();
            let want = sweep::cpu(&rules, &market, window.clone(), &grid, RISK_FREE, |_, _| {}).unwrap();
            same_rows(&grid, &want, &gpu.run(&grid, RISK_FREE).unwrap(), &format!("case {seed}"));
            rows += want.len();
            ruined += want.iter().filter(|row| row.ruined).count();
        }
    }
    assert!(ruined > 0, "no set was ruined: nothing tested");
    println!("{rows} sets of {CASES} random configurations, {ruined} ruined, bit for bit");
}

#[test]
#[ignore = "needs a CUDA device"]
fn long_windows_equal_the_cpu_whatever_the_launches() {
    let device = device();
    let bars = random_walk(60_001, 6, &RandomWalkConfig::default()).unwrap();
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let plain = SimConfig { commission_bps: 1.0, half_spread_bps: 1.0, ..SimConfig::default() };
    let carried = SimConfig { carry_long: 0.05, carry_short: 0.02, max_position: 3.0, ..plain.clone() };
    let window = 1_777..60_000;
    for config in [plain, carried] {
        let rules = Rules::new(&config, &market).unwrap();
        let mut gpu = GpuSweep::new(&device, &market, &rules, window.clone()).unwrap();
        for text in LONG {
            let grid = Grid::parse(text).unwrap();
            let want = sweep::cpu(&rules, &market, window.clone(), &grid, RISK_FREE, |_, _| {}).unwrap();
            let busy = want.iter().filter(|row| row.n_trades > 3).count();
            assert!(2 * busy > want.len(), "{text}: too few trades to test anything");
            for (bytes, lanes) in [(4 << 30, None), (1 << 22, Some(32)), (1 << 26, Some(5)), (4 << 30, Some(8))] {
                gpu.limit_table(bytes);
                gpu.set_lanes(lanes);
                let before = gpu.traffic();
                let got = gpu.run(&grid, RISK_FREE).unwrap();
                let traffic = gpu.traffic().since(&before);
                same_rows(&grid, &want, &got, &format!("{bytes} B of table, lanes {lanes:?}"));
                assert_eq!(traffic.syncs, 1, "{text}: synchronisations");
            }
            let again = gpu.run(&grid, RISK_FREE).unwrap();
            same_rows(&grid, &want, &again, "a second run");
            println!("{text}: {} sets × {} bars, bit for bit", grid.len(), window.len());
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_window_outside_the_series_is_refused() {
    let device = device();
    let case = Case::any(1);
    let (market, rules) = (case.market(), Rules::new(&case.config, &case.market()).unwrap());
    let n = case.bars.len();
    let error = GpuSweep::new(&device, &market, &rules, 0..n + 1).unwrap_err();
    assert_eq!(error.to_string(), format!("end of the window, at most: expected {n}, got {}", n + 1));
    assert!(GpuSweep::new(&device, &market, &rules, 3..4).is_err());
    let mut gpu = GpuSweep::new(&device, &market, &rules, 0..n).unwrap();
    let error = gpu.run(&Grid::parse("flat").unwrap(), 0.0).unwrap_err();
    assert_eq!(error.to_string(), "strategy flat cannot be swept: it is no rule over indicators");
}
