//! `sweep::cpu` beside one backtest per set.

use gigabar_backtest::cpu::engine::{Rules, simulate};
use gigabar_backtest::metric::{max_drawdown, sharpe, total_pnl};
use gigabar_backtest::policy::Grid;
use gigabar_backtest::sweep::{self, SweepError, SweepRow};
use gigabar_backtest::{Path, SimConfig};
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};
use proptest::prelude::*;

use crate::grids::GRIDS;
use crate::random_case::Case;

const RISK_FREE: f64 = 0.03;

pub(crate) fn same_row(what: &str, path: &Path, periods_per_year: f64, row: &SweepRow) {
    assert_eq!(total_pnl(&path.equity), Some(row.total_pnl), "{what}: P&L");
    assert_eq!(max_drawdown(&path.equity), Some(row.max_drawdown), "{what}: drawdown");
    assert_eq!(path.trades.len(), row.n_trades as usize, "{what}: trades");
    assert_eq!(path.trades.iter().filter(|t| t.pnl > 0.0).count(), row.n_wins as usize, "{what}: wins");
    assert_eq!(path.counts.bars_in_market, row.bars_in_market as usize, "{what}: bars in the market");
    assert_eq!((path.counts.costs, path.counts.ruined), (row.costs, row.ruined), "{what}: costs, ruined");
    assert_eq!(path.returns.len(), row.n_bars as usize, "{what}: bars");
    match (sharpe(&path.returns, RISK_FREE, periods_per_year), row.sharpe) {
        (Some(want), Some(got)) => assert!((want - got).abs() <= 1e-9 * want.abs().max(1.0), "{what}: {want} {got}"),
        (want, got) => assert_eq!(want, got, "{what}: Sharpe"),
    }
}

/// Every set of every grid on one random market under random rules.
fn same_as_backtests(case: &Case, window: std::ops::Range<usize>) {
    let market = case.market();
    let rules = Rules::new(&case.config, &market).unwrap();
    for text in GRIDS {
        let grid = Grid::parse(text).unwrap();
        let rows = sweep::cpu(&rules, &market, window.clone(), &grid, RISK_FREE, |_, _| {}).unwrap();
        assert_eq!(rows.len(), grid.len());
        for (i, row) in rows.iter().enumerate() {
            let path = simulate(&rules, &case.bars, &market, window.clone(), grid.policy(i).as_mut());
            same_row(&grid.name(i), &path, market.periods_per_year, row);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_sweep_is_a_backtest_per_set(seed in any::<u64>(), start in 0usize..12) {
        let case = Case::any(seed);
        same_as_backtests(&case, start..case.bars.len());
    }

    #[test]
    fn later_bars_change_no_level(seed in any::<u64>(), cut in 2usize..18) {
        let case = Case::any(seed);
        let mut columns = case.bars.clone().into_columns();
        for column in [&mut columns.open, &mut columns.high, &mut columns.low, &mut columns.close] {
            column[cut + 1..].iter_mut().for_each(|x| *x *= 1.7);
        }
        let other = gigabar_market::Bars::new(columns).unwrap();
        let rules = Rules::new(&SimConfig::default(), &case.market()).unwrap();
        for text in GRIDS {
            let grid = Grid::parse(text).unwrap();
            for i in 0..grid.len() {
                let run = |bars: &gigabar_market::Bars| {
                    let sigma = sigma(bars.close());
                    let market = gigabar_backtest::cpu::engine::Market::new(bars, &sigma);
                    simulate(&rules, bars, &market, 0..bars.len(), grid.policy(i).as_mut())
                };
                prop_assert_eq!(&run(&case.bars).level[..=cut], &run(&other).level[..=cut], "{}", grid.name(i));
            }
        }
    }
}

/// Beyond a chunk of bars, with history before the window.
#[test]
fn long_windows_carry_their_state() {
    let bars = random_walk(30_000, 3, &RandomWalkConfig::default()).unwrap();
    let sigma = sigma(bars.close());
    let market = gigabar_backtest::cpu::engine::Market::new(&bars, &sigma);
    let rules = Rules::new(&SimConfig { commission_bps: 1.0, ..SimConfig::default() }, &market).unwrap();
    for text in [
        "sma-cross:fast=5|20,slow=50..1100:1050",
        "rsi",
        "donchian:period=20|400",
        "bollinger:width=1|2",
        "macd",
        "momentum:lookback=50|900",
        "vol-target:target=1,trend=30|90",
    ] {
        let grid = Grid::parse(text).unwrap();
        let mut heard = (0, 0);
        let rows =
            sweep::cpu(&rules, &market, 1_234..29_999, &grid, RISK_FREE, |done, all| heard = (done, all)).unwrap();
        assert_eq!(heard, (28_764 * grid.len() as u64, 28_764 * grid.len() as u64));
        for (i, row) in rows.iter().enumerate() {
            let path = simulate(&rules, &bars, &market, 1_234..29_999, grid.policy(i).as_mut());
            assert!(row.n_trades > 3, "{}", grid.name(i));
            same_row(&grid.name(i), &path, market.periods_per_year, row);
        }
    }
}

#[test]
fn what_is_no_rule_is_refused() {
    let case = Case::any(1);
    let rules = Rules::new(&SimConfig::default(), &case.market()).unwrap();
    let grid = Grid::parse("random").unwrap();
    let error = sweep::cpu(&rules, &case.market(), 0..20, &grid, 0.0, |_, _| {}).unwrap_err();
    assert_eq!(error, SweepError::NotARule { strategy: "random" });
}
