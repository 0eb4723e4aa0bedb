//! Grids that tests on any machine sweep, and how their rows are held together.

use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep::SweepRow;

/// One grid per strategy, each with disallowed combinations or a flag.
pub(crate) const GRIDS: [&str; 8] = [
    "sma-cross:fast=1..4,slow=2..12:3,long_only=true|false",
    "ema-cross:fast=1..4,slow=2..12:3",
    "rsi:period=2|5,low=20..40:10,high=30..70:20,long_only=true|false",
    "donchian:period=2..8:3,exit=1..7:2,long_only=true|false",
    "bollinger:period=2..10:4,width=0.5..2:0.5",
    "macd:fast=1..3,slow=2..6:2,signal=2|4,long_only=true|false",
    "momentum:lookback=1..9:4,threshold=0|0.01|0.05,long_only=true|false",
    "vol-target:period=2|5,target=0.2|1,cap=0.5|1.5,trend=0|1|4,long_only=true|false",
];

/// Every row, bit for bit; `at` says where when one is not.
pub(crate) fn same_rows(grid: &Grid, cpu: &[SweepRow], device: &[SweepRow], at: &str) {
    assert_eq!(cpu.len(), device.len(), "{at}: rows");
    for (i, (cpu, device)) in cpu.iter().zip(device).enumerate() {
        assert!(cpu == device, "{at}, set {i} {}:\nCPU    {cpu:?}\ndevice {device:?}", grid.name(i));
    }
}
