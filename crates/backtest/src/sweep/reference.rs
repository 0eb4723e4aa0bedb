//! The sweep stated plainly, bar by bar and set by set: what [`cpu`](super::cpu) must equal bit for bit.

#![allow(clippy::unwrap_used)]

use std::ops::Range;

use gigabar_market::rng::Philox;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};
use gigabar_market::{BarColumns, Bars};
use proptest::prelude::*;

use super::*;
use crate::SimConfig;
use crate::cpu::account::Account;
use crate::path::Trade;
use crate::policy::indicator::{Prices, Stream};
use crate::policy::strategy::MAX_INPUTS;
use crate::rules::{Fill, Kelly, Rebalance, Slippage, TripleBarrier, VolumeImpactSlippage};

fn plain(rules: &Rules, market: &Market<'_>, window: Range<usize>, strategy: AnyStrategy) -> SweepRow {
    let prices = Prices { high: market.high, low: market.low, close: market.close };
    let mut streams: Vec<Stream> = strategy.indicators().into_iter().flatten().map(Stream::new).collect();
    let (mut account, mut statistics) = (Account::new(rules), Statistics::new(rules.initial_cash()));
    let (mut side, mut n_trades, mut n_wins) = (0.0, 0, 0);
    for t in window.start..window.end - 1 {
        let mut inputs = [f64::NAN; MAX_INPUTS];
        inputs.iter_mut().zip(&mut streams).for_each(|(input, stream)| *input = stream.at(prices, t));
        side = strategy.signal(market.close[t], &inputs).apply(side);
        let level = strategy.level(side, &inputs, market.periods_per_year);
        let mut count = |trade: Trade| {
            n_trades += 1;
            n_wins += u32::from(trade.pnl > 0.0);
        };
        let step = account.step(rules, market, t, level, t + 2 == window.end, &mut count);
        statistics.push(step.ret, account.equity());
    }
    let counts = account.counts();
    SweepRow {
        costs: counts.costs,
        n_trades,
        n_wins,
        bars_in_market: counts.bars_in_market as u32,
        ruined: counts.ruined,
        ..statistics.row(0.02, market.periods_per_year)
    }
}

const GRIDS: [&str; 12] = [
    "sma-cross:fast=1|2|5|9,slow=10|31|300,long_only=true|false",
    "ema-cross:fast=1|3|8,slow=9|40|200",
    "rsi:period=2|5|14,low=20..40:10,high=50..70:20,long_only=true|false",
    "donchian:period=2|8|50,exit=1|5|30,long_only=true|false",
    "bollinger:period=2|10|60,width=0.5..2:0.5",
    "sma-cross:fast=1,slow=2",
    "rsi:period=2..10",
    "macd:fast=1|3|12,slow=13|26,signal=2|9,long_only=true|false",
    "momentum:lookback=1|5|60,threshold=0|0.01,long_only=true|false",
    "vol-target:period=2|20,target=0.1|0.6,cap=0.7|2,step=0.01|0.25",
    "vol-target:period=5|60,target=0.3,cap=1,step=0.1|1,trend=1|30,long_only=true|false",
    "vol-target:period=3,target=0.001,step=0.5",
];

/// Bars whose volatility changes and which now and then trade nothing.
fn bars(rng: &mut Philox, n: usize) -> Bars {
    let mut c = BarColumns::default();
    let (with_volume, mut last, mut vol) = (rng.uniform() < 0.5, 100.0, 0.01);
    for t in 0..n {
        if rng.uniform() < 0.02 {
            vol = [1e-4, 0.003, 0.02, 0.1][rng.index(4)];
        }
        // Some bars repeat the last close, so that averages may be equal.
        let still = rng.uniform() < 0.1;
        let open: f64 = last * (if still { 0.0 } else { vol * (rng.uniform() - 0.5) }).exp();
        let close = open * (if still { 0.0 } else { 3.0 * vol * (rng.uniform() - 0.5) }).exp();
        c.ts.push(t as i64 * 3_600_000_000_000);
        c.open.push(open);
        c.high.push(open.max(close) * (vol * rng.uniform()).exp());
        c.low.push(open.min(close) * (-vol * rng.uniform()).exp());
        c.close.push(close);
        let silent = !with_volume || (t > 0 && rng.uniform() < 0.05);
        c.volume.push(if silent { 0.0 } else { 1.0 + 5_000.0 * rng.uniform() });
        last = close;
    }
    Bars::new(c).unwrap()
}

/// Half of the cases leave every option off that would make an account step through every bar.
fn config(rng: &mut Philox, has_volume: bool) -> SimConfig {
    fn pick<T: Copy>(rng: &mut Philox, of: &[T]) -> T {
        of[rng.index(of.len())]
    }
    let mut often = rng.uniform() < 0.5;
    let impact = Slippage::VolumeImpact(VolumeImpactSlippage { eta: 0.9, max_impact: 0.03 });
    let mut config = SimConfig {
        initial_cash: pick(rng, &[1_000.0, 100_000.0]),
        max_position: pick(rng, &[0.5, 1.0, 3.0, 12.0]),
        lot_size: pick(rng, &[0.0, 0.0, 1.0]),
        fill: pick(rng, &[Fill::NextOpen, Fill::Close]),
        half_spread_bps: pick(rng, &[0.0, 1.7, 25.0]),
        commission_bps: pick(rng, &[0.0, 2.3]),
        commission_fixed: pick(rng, &[0.0, 0.0, 1.1]),
        slippage: if has_volume { pick(rng, &[Slippage::None, impact]) } else { Slippage::Fixed { bps: 3.1 } },
        max_participation: if has_volume { pick(rng, &[0.0, 0.05]) } else { 0.0 },
        maintenance_margin: pick(rng, &[0.0, 0.0, 0.07]),
        kelly: (rng.uniform() < 0.3).then_some(Kelly { fraction: 0.7, cap: 1.5, min_trades: 3 }),
        ..SimConfig::default()
    };
    while often {
        match rng.index(3) {
            0 => (config.carry_long, config.carry_short) = (0.07, -0.03),
            1 => config.barrier = Some(TripleBarrier { k_stop: Some(1.0), k_take: Some(1.5), max_hold: Some(7) }),
            _ => (config.rebalance, config.rebalance_threshold) = (Rebalance::EveryBar, 0.013),
        }
        often = rng.uniform() < 0.4;
    }
    config
}

/// NaN is no Sharpe ratio's value: rows can be compared as they are. −0 and 0 would compare equal; text tells them
/// apart.
fn same(case: &str, rules: &Rules, market: &Market<'_>, window: Range<usize>, grid: &Grid) {
    let rows = cpu(rules, market, window.clone(), grid, 0.02, |_, _| {}).unwrap();
    assert_eq!(rows.len(), grid.len());
    for (i, row) in rows.iter().enumerate() {
        let want = plain(rules, market, window.clone(), grid.strategy_of(i).unwrap());
        assert_eq!(format!("{row:?}"), format!("{want:?}"), "{case}, {}", grid.name(i));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_row_has_the_bits_of_the_plain_one(seed in any::<u64>()) {
        let mut rng = Philox::new(seed, 7);
        let n = 3 + rng.index(1_200);
        let bars = bars(&mut rng, n);
        let sigma = sigma(bars.close());
        let market = Market::new(&bars, &sigma);
        let rules = Rules::new(&config(&mut rng, market.has_volume), &market).unwrap();
        let start = rng.index(n - 2);
        let end = start + 2 + rng.index(n - start - 1);
        for text in GRIDS {
            same(&format!("seed {seed}"), &rules, &market, start..end, &Grid::parse(text).unwrap());
        }
    }
}

/// More columns than a cache holds for a long stretch, several stretches, and a last group that is not full.
#[test]
fn many_sets_over_many_stretches() {
    let bars = random_walk(9_000, 3, &RandomWalkConfig::default()).unwrap();
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let rules = Rules::new(&SimConfig { commission_bps: 1.0, ..SimConfig::default() }, &market).unwrap();
    let grid = Grid::parse("sma-cross:fast=3|50|100,slow=101..363").unwrap();
    assert!(!grid.len().is_multiple_of(LANES));
    same("long", &rules, &market, 17..8_992, &grid);
}

#[test]
fn windows_side_by_side_are_windows_one_by_one() {
    let bars = random_walk(3_000, 5, &RandomWalkConfig::default()).unwrap();
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let rules = Rules::new(&SimConfig::default(), &market).unwrap();
    let grid = Grid::parse("ema-cross:fast=3..9,slow=10|20").unwrap();
    let windows = [0..900, 900..2_100, 2_000..3_000];
    let mut heard = Vec::new();
    let rows = cpu_windows(&rules, &market, &windows, &grid, 0.0, |done, all| heard.push((done, all))).unwrap();
    let total = 14 * (899 + 1_199 + 999);
    assert!(heard.is_sorted() && heard.last() == Some(&(total, total)), "{heard:?}");
    for (rows, window) in rows.iter().zip(windows) {
        assert_eq!(rows, &cpu(&rules, &market, window, &grid, 0.0, |_, _| {}).unwrap());
    }
}
