//! What must be true of every implementation of the rules.

use gigabar_backtest::cpu::account::Account;
use gigabar_backtest::cpu::engine::{self, Rules, simulate};
use gigabar_backtest::cpu::reward::RewardState;
use gigabar_backtest::policy::{Signals, SmaCross, Strategy};
use gigabar_backtest::rules::{Slippage, VolumeImpactSlippage};
use gigabar_backtest::{ExitReason, RewardConfig, SimConfig};
use gigabar_market::sigma::sigma;
use gigabar_market::{BarColumns, Bars};
use proptest::prelude::*;

use crate::random_case::Case;

fn flat_bars(n: usize) -> Bars {
    let price = vec![50.0; n];
    let ts = (0..n as i64).map(|t| t * 60_000_000_000).collect();
    let volume = vec![1e6; n];
    Bars::new(BarColumns { ts, open: price.clone(), high: price.clone(), low: price.clone(), close: price, volume })
        .unwrap()
}

/// The same bars with everything after bar `t` scaled and shaken.
fn shaken_after(bars: &Bars, t: usize, by: f64) -> Bars {
    let mut c = bars.clone().into_columns();
    for i in t + 1..c.ts.len() {
        for column in [&mut c.open, &mut c.high, &mut c.low, &mut c.close] {
            column[i] *= by;
        }
        if bars.has_volume() {
            c.volume[i] += 17.0;
        }
    }
    Bars::new(c).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_trades_sum_to_the_change_of_equity(seed in any::<u64>()) {
        let case = Case::any(seed);
        let path = case.run();
        let sum: f64 = path.trades.iter().map(|t| t.pnl).sum();
        let change = path.equity[path.equity.len() - 1] - path.equity[0];
        prop_assert!((sum - change).abs() <= 1e-9 * case.config.initial_cash.max(path.counts.traded_value), "{sum} {change}");
        prop_assert_eq!(path.units[path.units.len() - 1], 0.0);
    }

    #[test]
    fn later_bars_change_nothing_earlier(seed in any::<u64>(), cut in 5usize..18, by in 0.5f64..2.0) {
        let case = Case::any(seed);
        let other = shaken_after(&case.bars, cut, by);
        let other_sigma = sigma(other.close());
        for own_rules in [false, true] {
            let run = |bars: &Bars, sigma: &[f64]| {
                let market = engine::Market::new(bars, sigma);
                let rules = Rules::new(&case.config, &market).unwrap();
                if own_rules {
                    simulate(&rules, bars, &market, 0..bars.len(), &mut SmaCross::new(2, 4, false).policy())
                } else {
                    engine::replay(&rules, &market, 0..bars.len(), &case.levels)
                }
            };
            let (a, b) = (run(&case.bars, &case.sigma), run(&other, &other_sigma));
            prop_assert_eq!(&a.equity[..=cut], &b.equity[..=cut]);
            prop_assert_eq!(&a.units[..=cut], &b.units[..=cut]);
            prop_assert_eq!(&a.level[..=cut], &b.level[..=cut]);
        }
    }

    #[test]
    fn fees_never_help(seed in any::<u64>(), which in 0usize..7, more in 0.1f64..20.0) {
        let case = Case::plain(seed);
        let base = SimConfig { half_spread_bps: 1.0, commission_bps: 1.0, ..case.config.clone() };
        let mut dearer = base.clone();
        match which {
            0 => dearer.half_spread_bps += more,
            1 => dearer.commission_bps += more,
            2 => dearer.commission_fixed += more,
            3 => dearer.carry_long += 0.01 * more,
            4 => dearer.carry_short += 0.01 * more,
            5 => dearer.slippage = Slippage::Fixed { bps: more },
            _ => dearer.slippage = Slippage::VolumeImpact(VolumeImpactSlippage { eta: more, max_impact: 0.01 }),
        }
        let (cheap, dear) = (case.run_with(&base), case.run_with(&dearer));
        prop_assume!(!cheap.counts.ruined && !dear.counts.ruined);
        let last = cheap.equity.len() - 1;
        prop_assert!(dear.equity[last] <= cheap.equity[last] * (1.0 + 1e-12));
    }

    #[test]
    fn doubling_the_cash_doubles_the_equity(seed in any::<u64>()) {
        let case = Case::any(seed);
        let config = SimConfig {
            commission_fixed: 0.0, lot_size: 0.0, max_participation: 0.0, slippage: Slippage::None, ..case.config.clone()
        };
        let twice = SimConfig { initial_cash: 2.0 * config.initial_cash, ..config.clone() };
        let (one, two) = (case.run_with(&config), case.run_with(&twice));
        for (a, b) in one.equity.iter().zip(&two.equity) {
            prop_assert_eq!(2.0 * a, *b);
        }
    }

    #[test]
    fn log_rewards_sum_to_the_log_growth(seed in any::<u64>()) {
        let case = Case::any(seed);
        let market = case.market();
        let rules = Rules::new(&case.config, &market).unwrap();
        let mut account = Account::new(&rules);
        let mut rewards = RewardState::new(&case.sigma);
        let mut sum = 0.0;
        for (t, &level) in case.levels.iter().enumerate() {
            let step = account.step(&rules, &market, t, level, t + 1 == case.levels.len(), &mut |_| {});
            prop_assume!(step.ret > -0.99);
            sum += rewards.reward(&RewardConfig { ruin_penalty: 0.0, ..RewardConfig::default() }, &step);
        }
        prop_assert!((sum - (account.equity() / case.config.initial_cash).ln()).abs() < 1e-9);
    }

    #[test]
    fn fills_lie_inside_their_bars(seed in any::<u64>()) {
        let case = Case::any(seed);
        let config = SimConfig {
            half_spread_bps: 0.0, slippage: Slippage::None, max_participation: 0.0,
            rebalance: gigabar_backtest::rules::Rebalance::OnChange, ..case.config.clone()
        };
        let levels: Vec<f64> = case.levels.iter().map(|l| if l.is_nan() { 0.0 } else { l.signum() * f64::from(*l != 0.0) }).collect();
        let path = Case { levels, ..Case::any(seed) }.run_with(&config);
        let inside = |bar: usize, p: f64| {
            let slack = 1e-12 * p;
            p >= case.bars.low()[bar] - slack && p <= case.bars.high()[bar] + slack
        };
        for trade in &path.trades {
            prop_assert!(inside(trade.entry_bar, trade.entry_price), "entry of {trade:?}");
            // A take-profit gapped through still fills at its level: outside the bar, on the unfavourable side.
            let gapped = trade.exit == ExitReason::Take && {
                let open = case.bars.open()[trade.exit_bar];
                f64::from(trade.side) * (open - trade.exit_price) > 0.0
            };
            prop_assert!(gapped || inside(trade.exit_bar, trade.exit_price), "exit of {trade:?}");
        }
    }

    #[test]
    fn equity_is_never_negative_and_ruin_is_final(seed in any::<u64>()) {
        let path = Case::any(seed).run();
        prop_assert!(path.equity.iter().all(|e| *e >= 0.0));
        if path.counts.ruined {
            let last = path.equity[path.equity.len() - 1];
            let frozen = path.equity.iter().position(|e| *e == last).unwrap();
            prop_assert!(path.returns[frozen..].iter().all(|r| *r == 0.0));
        }
    }

    /// Evaluation by policy, replay of levels and single steps, as a training environment takes them: the same bits.
    #[test]
    fn every_caller_walks_the_same_path(seed in any::<u64>()) {
        let case = Case::any(seed);
        let market = case.market();
        let rules = Rules::new(&case.config, &market).unwrap();
        let replayed = case.run();
        let mut levels = case.levels.clone();
        levels.push(f64::NAN);
        let simulated = simulate(&rules, &case.bars, &market, 0..case.bars.len(), &mut Signals::new("given", levels));
        prop_assert_eq!(&replayed, &simulated);
        let mut account = Account::new(&rules);
        for (t, &level) in case.levels.iter().enumerate() {
            account.step(&rules, &market, t, level, t + 1 == case.levels.len(), &mut |_| {});
            prop_assert_eq!(account.equity(), replayed.equity[t + 1]);
            prop_assert_eq!(account.cash(), replayed.cash[t + 1]);
        }
    }

    /// A checkpoint of an account mid-way continues bit for bit.
    #[test]
    fn an_account_survives_serialisation(seed in any::<u64>()) {
        let case = Case::any(seed);
        let market = case.market();
        let rules = Rules::new(&case.config, &market).unwrap();
        let mut account = Account::new(&rules);
        let half = case.levels.len() / 2;
        for (t, &level) in case.levels.iter().enumerate() {
            if t == half {
                account = serde_json::from_str(&serde_json::to_string(&account).unwrap()).unwrap();
            }
            account.step(&rules, &market, t, level, t + 1 == case.levels.len(), &mut |_| {});
        }
        prop_assert_eq!(account.equity(), *case.run().equity.last().unwrap());
    }
}

#[test]
fn a_flat_round_trip_loses_exactly_both_fees() {
    let bars = flat_bars(4);
    let sigma = sigma(bars.close());
    let market = engine::Market::new(&bars, &sigma);
    let config = SimConfig { commission_bps: 10.0, commission_fixed: 2.0, ..SimConfig::default() };
    let rules = Rules::new(&config, &market).unwrap();
    let path = engine::replay(&rules, &market, 0..4, &[1.0, 0.0, 0.0]);
    assert_eq!(path.equity[3], 100_000.0 - 2.0 * (100.0 + 2.0));
    assert_eq!(path.trades.len(), 1);
    assert_eq!(path.trades[0].exit, ExitReason::Signal);
    assert_eq!(path.counts.costs, 204.0);
}

#[test]
fn rounded_lots_keep_whole_numbers_whole() {
    let bars = flat_bars(3);
    let sigma = sigma(bars.close());
    let market = engine::Market::new(&bars, &sigma);
    // 0.3·100000/50 = 600 lots of 1, but 0.3 of a third is 199.99999999999997.
    let config = SimConfig { lot_size: 1.0, max_position: 0.1 * 3.0, ..SimConfig::default() };
    let rules = Rules::new(&config, &market).unwrap();
    let path = engine::replay(&rules, &market, 0..3, &[1.0, 1.0]);
    assert_eq!(path.units[1], 600.0);
}
