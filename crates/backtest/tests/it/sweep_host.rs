//! The kernels of a sweep, compiled for the host and launched as the device would be, beside `sweep::cpu`: bit for bit.

use std::ops::Range;

use gigabar_backtest::SimConfig;
use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::gpu::indicator::{IndicatorColumns, IndicatorState, TableStep, indicator_source};
use gigabar_backtest::gpu::layout::{EnvAccount, EnvBar, EnvRules};
use gigabar_backtest::gpu::sweep::{SweepPlan, SweepSpan, SweepState, sweep_source};
use gigabar_backtest::policy::Grid;
use gigabar_backtest::policy::indicator::{Prices, Stream};
use gigabar_backtest::sweep::{self, SweepRow};
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};
use gigabar_market::{BarColumns, Bars};

use crate::grids::{GRIDS, same_rows};
use crate::host_kernel::{HostKernel, PARAMETERS, raw};
use crate::random_case::Case;

const RISK_FREE: f64 = 0.01;
const TILE: u32 = 16;

/// `indicator.cu` on the host; n: grid x, y, threads, kernel, then its own numbers.
fn indicator_kernels() -> HostKernel {
    let table = "(EnvBar*)p[0], (u32*)p[1], (f64*)p[2]";
    let columns = "*(IndicatorColumns*)p[4]";
    let launch = format!(
        "n[0], n[1], 1, n[2], [=] {{ switch (n[3]) {{ \
         case 0: indicator_sma({table}, {columns}); break; \
         case 1: indicator_stddev({table}, {columns}); break; \
         case 2: indicator_ema({table}, (IndicatorState*)p[3], {columns}, n[4]); break; \
         case 3: indicator_rsi({table}, (IndicatorState*)p[3], {columns}, n[4], n[5]); break; \
         case 4: indicator_strength((f64*)p[2], {columns}, n[4]); break; \
         case 5: indicator_extreme_base((EnvBar*)p[0], (f64*)p[6], n[4], n[5], n[6]); break; \
         case 6: indicator_extreme_double((f64*)p[5], (f64*)p[6], n[4], n[5], n[6]); break; \
         case 8: indicator_macd({table}, (IndicatorState*)p[3], {columns}, n[4]); break; \
         case 9: indicator_volatility({table}, (IndicatorState*)p[3], {columns}, n[4]); break; \
         case 10: indicator_momentum({table}, {columns}); break; \
         default: indicator_extreme_gather((f64*)p[5], (u32*)p[1], (f64*)p[2], {columns}, n[4], n[5], n[6]); }} }}"
    );
    HostKernel::build(&indicator_source(), PARAMETERS, &launch)
}

/// `sweep.cu` on the host; n: grid x, y, threads, kernel, then its own numbers.
fn sweep_kernels(flags: u32, sized: bool) -> HostKernel {
    let span = "*(SweepSpan*)p[7]";
    let launch = format!(
        "n[0], n[1], 1, n[2], [=] {{ switch (n[3]) {{ \
         case 0: sweep_extremes((EnvBar*)p[0], (f64*)p[1], (f64*)p[2], n[4], n[5]); break; \
         case 1: sweep_signals((EnvBar*)p[0], (f64*)p[3], (SweepSet*)p[4], (u64*)p[5], {span}, n[4], n[5]); break; \
         default: sweep_walk((EnvRules*)p[6], (EnvBar*)p[0], (f64*)p[1], (f64*)p[2], (u64*)p[5], (EnvAccount*)p[8], \
         (SweepState*)p[9], {span}, (f64*)p[3], (SweepSet*)p[4], n[4], *(f64*)p[10]); }} }}"
    );
    HostKernel::build(&sweep_source(flags, sized), PARAMETERS, &launch)
}

/// The table of one stretch of bars.
struct Table {
    values: Vec<f64>,
    levels: Vec<f64>,
    states: Vec<IndicatorState>,
}

impl Table {
    fn new(plan: &SweepPlan, n_bar: usize) -> Self {
        Self {
            // Zero is a value an indicator may have; NaN is not one that is left by accident.
            values: vec![-1.0; n_bar * plan.table.stride as usize],
            levels: vec![f64::NAN; plan.table.level_elements(n_bar)],
            states: vec![IndicatorState::default(); plan.table.lengths.len() / 3],
        }
    }

    fn fill(&mut self, kernels: &HostKernel, plan: &SweepPlan, bars: &mut [EnvBar], stretch: Range<u32>, from: u32) {
        let mut lengths = plan.table.lengths.clone();
        for step in plan.table.steps(stretch.clone(), from) {
            let mut columns = IndicatorColumns::default();
            let [mut level_in, mut level_out] = [0, 0];
            let over_bars = |n_row: u32| [n_row.div_ceil(256), 1, 256];
            let with = |[x, y]: [u32; 2]| [x, y, 32];
            let (launch, numbers) = match step {
                TableStep::Running { kernel, columns: own, grid } => {
                    columns = own;
                    (with(grid), vec![u32::from(kernel == "indicator_stddev")])
                }
                TableStep::Recurrence { kernel, columns: own, from, losses, grid } => {
                    columns = own;
                    let number = match kernel {
                        "indicator_ema" => 2,
                        "indicator_rsi" => 3,
                        "indicator_macd" => 8,
                        "indicator_volatility" => 9,
                        other => panic!("{other}"),
                    };
                    (with(grid), [number, from].into_iter().chain(losses).collect())
                }
                TableStep::Momentum { columns: own, grid } => {
                    columns = own;
                    (with(grid), vec![10])
                }
                TableStep::Strength { columns: own, losses, grid } => {
                    columns = own;
                    (with(grid), vec![4, losses])
                }
                TableStep::ExtremeBase { base, n_row, highest } => {
                    (over_bars(n_row), vec![5, base, n_row, u32::from(highest)])
                }
                TableStep::ExtremeDouble { level, n_row, highest } => {
                    level_in = (level * n_row) as usize;
                    level_out = ((level + 1) * n_row) as usize;
                    (over_bars(n_row), vec![6, 1 << level, n_row, u32::from(highest)])
                }
                TableStep::ExtremeGather { columns: own, base, n_row, highest, grid } => {
                    columns = own;
                    (with(grid), vec![7, base, n_row, u32::from(highest)])
                }
            };
            let first = columns.first as usize;
            let pointers = [
                raw(bars),
                raw(&mut lengths[first..]),
                raw(&mut self.values),
                raw(&mut self.states[first..]),
                raw(std::slice::from_mut(&mut columns)),
                raw(&mut self.levels[level_in..]),
                raw(&mut self.levels[level_out..]),
            ];
            kernels.run(&pointers, &[&launch[..], &numbers].concat());
        }
    }
}

fn plan_of(grid: &Grid) -> SweepPlan {
    let strategies: Vec<_> = (0..grid.len()).map(|i| grid.strategy_of(i).unwrap()).collect();
    SweepPlan::new(&strategies)
}

fn env_bars(market: &Market<'_>, n: usize) -> Vec<EnvBar> {
    (0..n).map(|t| EnvBar::of(market, t)).collect()
}

/// A grid swept by the kernels in stretches of `chunk` decisions with `lanes` sets a warp.
fn swept(
    (indicators, kernels): (&HostKernel, &HostKernel),
    rules: &Rules,
    market: &Market<'_>,
    window: Range<usize>,
    grid: &Grid,
    (chunk, lanes): (u32, u32),
) -> Vec<SweepRow> {
    let mut plan = plan_of(grid);
    let mut bars = env_bars(market, window.end);
    let mut env_rules = [EnvRules::new(rules, market)];
    let (n_set, n_decision) = (plan.sets.len(), window.len() as u32 - 1);
    let n_tile = n_decision.div_ceil(TILE);
    let (mut lows, mut highs) = (vec![f64::NAN; n_tile as usize], vec![f64::NAN; n_tile as usize]);
    let mut table = Table::new(&plan, chunk as usize);
    let mut signals = vec![u64::MAX; n_set * chunk.div_ceil(TILE) as usize];
    let mut accounts = vec![EnvAccount::default(); n_set];
    let mut states = vec![SweepState::default(); n_set];
    let start = window.start as u32;
    let mut root_year = [market.periods_per_year.sqrt()];
    for from in (0..n_decision).step_by(chunk as usize) {
        let n = chunk.min(n_decision - from);
        let mut span = [SweepSpan { start, n_decision, from, n, n_set: n_set as u32, lanes }];
        let first = start + from;
        table.fill(indicators, &plan, &mut bars, first..first + n, if from == 0 { 0 } else { first });
        let pointers = [
            raw(&mut bars),
            raw(&mut lows),
            raw(&mut highs),
            raw(&mut table.values),
            raw(&mut plan.sets),
            raw(&mut signals),
            raw(&mut env_rules),
            raw(&mut span),
            raw(&mut accounts),
            raw(&mut states),
            raw(&mut root_year),
        ];
        if from == 0 {
            kernels.run(&pointers, &[n_tile.div_ceil(128), 1, 128, 0, start, n_decision]);
        }
        let (stride, strategy) = (plan.table.stride, plan.strategy);
        kernels.run(&pointers, &[(n_set as u32).div_ceil(128), n.div_ceil(TILE), 128, 1, stride, strategy]);
        kernels.run(&pointers, &[(n_set as u32).div_ceil(lanes), 1, 32, 2, stride]);
    }
    let row = |state: &SweepState| state.row(rules.initial_cash(), RISK_FREE, market.periods_per_year);
    states.iter().map(row).collect()
}

#[test]
fn indicator_tables_equal_the_streams() {
    let walk = random_walk(3_400, 8, &RandomWalkConfig::default()).unwrap();
    tables_equal_streams(&walk);
    // A collapse, after which a deviation must be computed afresh, and bars that do not move.
    let scale = |t: usize| if t < 1_200 { 1.0 } else { 1e-6 };
    let column = |values: &[f64]| {
        let at = |t: usize| if (1_500..1_700).contains(&t) { walk.close()[1_500] } else { values[t] };
        (0..values.len()).map(|t| at(t) * scale(t)).collect()
    };
    tables_equal_streams(
        &Bars::new(BarColumns {
            ts: walk.ts().to_vec(),
            open: column(walk.open()),
            high: column(walk.high()),
            low: column(walk.low()),
            close: column(walk.close()),
            volume: walk.volume().to_vec(),
        })
        .unwrap(),
    );
}

fn tables_equal_streams(walk: &Bars) {
    let sigma = sigma(walk.close());
    let market = Market::new(walk, &sigma);
    let kernels = indicator_kernels();
    let mut bars = env_bars(&market, walk.len());
    let prices = Prices { high: walk.high(), low: walk.low(), close: walk.close() };
    for text in [
        "sma-cross:fast=1..40:13,slow=50|1023|1024|1025|2000",
        "ema-cross:fast=1..40:13,slow=50|1500",
        "rsi:period=2..50",
        "donchian:period=1|2|3|64|100|1300,exit=1..9",
        "bollinger:period=2..50:7",
        "macd:fast=1..12:11,slow=13|26|800,signal=2|9|300",
        "momentum:lookback=1..50:7",
        "momentum:lookback=1000|2500",
        "vol-target:period=2|20|60|1500,trend=0|1|100",
    ] {
        let grid = Grid::parse(text).unwrap();
        let plan = plan_of(&grid);
        let mut streams: Vec<Stream> = plan.table.indicators().map(Stream::new).collect();
        let mut table = Table::new(&plan, 1_500);
        // History before the first stretch; ends that are no restarts.
        for (stretch, from) in [(700..1_900, 0), (1_900..3_400, 1_900)] {
            table.fill(&kernels, &plan, &mut bars, stretch.clone(), from);
            for t in stretch.clone() {
                for (column, stream) in streams.iter_mut().enumerate() {
                    let want = stream.at(prices, t as usize);
                    let got = table.values[(t - stretch.start) as usize * plan.table.stride as usize + column];
                    let same = want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan());
                    assert!(same, "{} at bar {t}: stream {want:e}, table {got:e}", stream.indicator());
                }
            }
        }
    }
}

#[test]
fn swept_grids_equal_the_cpu_under_every_kind_of_rules() {
    let indicators = indicator_kernels();
    let kernels = [false, true].map(|sized| sweep_kernels(u32::MAX, sized));
    let mut ruined = 0;
    for seed in 0..60 {
        let case = Case::any(seed);
        let (market, rules) = (case.market(), Rules::new(&case.config, &case.market()).unwrap());
        let window = seed as usize % 7..case.bars.len();
        for text in GRIDS {
            let grid = Grid::parse(text).unwrap();
            let want = sweep::cpu(&rules, &market, window.clone(), &grid, RISK_FREE, |_, _| {}).unwrap();
            ruined += want.iter().filter(|row| row.ruined).count();
            let shape = [(1_024, 32), (32, 5), (64, 8)][seed as usize % 3];
            let kernels = &kernels[usize::from(plan_of(&grid).sized)];
            let got = swept((&indicators, kernels), &rules, &market, window.clone(), &grid, shape);
            same_rows(&grid, &want, &got, &format!("case {seed}"));
        }
    }
    assert!(ruined > 0, "no set was ruined: nothing tested");
}

/// Accounts that pass over quiet bars: plain rules, up to leverage that liquidates in the middle of them.
#[test]
fn long_windows_under_plain_rules_equal_the_cpu() {
    let walk = random_walk(6_000, 4, &RandomWalkConfig { volatility: 0.03, ..RandomWalkConfig::default() }).unwrap();
    let sigma = sigma(walk.close());
    let market = Market::new(&walk, &sigma);
    let indicators = indicator_kernels();
    let (mut ruined, mut smallest) = (0, f64::INFINITY);
    // Costs of 45 % a trade bring equities down to subnormal numbers.
    for (max_position, maintenance_margin, commission_bps) in
        [(0.5, 0.0, 1.0), (3.0, 0.02, 1.0), (6.0, 0.1, 1.0), (1.0, 0.0, 4_500.0)]
    {
        let config = SimConfig { max_position, maintenance_margin, commission_bps, ..SimConfig::default() };
        let rules = Rules::new(&config, &market).unwrap();
        let flags = EnvRules::new(&rules, &market).flags;
        let kernels = [false, true].map(|sized| sweep_kernels(flags, sized));
        for text in [
            "sma-cross:fast=3..30:9,slow=20..120:20",
            "donchian:period=20|60,exit=5|30",
            "bollinger:width=1|2|3",
            "macd:fast=5|12,slow=26|60",
            "momentum:lookback=20|100,threshold=0|0.1",
            "vol-target:period=10|60,target=0.5|2,cap=1|2,trend=0|50",
        ] {
            let grid = Grid::parse(text).unwrap();
            let want = sweep::cpu(&rules, &market, 500..5_990, &grid, RISK_FREE, |_, _| {}).unwrap();
            let kernels = &kernels[usize::from(plan_of(&grid).sized)];
            let got = swept((&indicators, kernels), &rules, &market, 500..5_990, &grid, (2_048, 4));
            same_rows(&grid, &want, &got, &format!("leverage {max_position}, {commission_bps} bps"));
            smallest = want.iter().fold(smallest, |smallest, row| row.final_equity.min(smallest));
            ruined += want.iter().filter(|row| row.ruined && row.bars_in_market > 100).count();
        }
    }
    assert!(smallest < 1e-200, "no equity grew subnormal: nothing tested");
    assert!(ruined > 0, "no account was liquidated on its way: nothing tested");
}
