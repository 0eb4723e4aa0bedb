//! `simulate` and `replay`, which jump over bars where nothing can happen, beside an account that steps through every bar.

use std::ops::Range;

use gigabar_backtest::cpu::account::Account;
use gigabar_backtest::cpu::engine::{Market, Rules, replay, simulate, simulate_equity};
use gigabar_backtest::policy::{self, Signals};
use gigabar_backtest::{Observation, Path, Policy, SimConfig};
use gigabar_market::rng::Philox;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{RandomWalkConfig, random_walk};
use proptest::prelude::*;

use crate::random_case::Case;

fn stepped(rules: &Rules, market: &Market<'_>, window: Range<usize>, levels: &[f64]) -> Path {
    let mut account = Account::new(rules);
    let cash = account.cash();
    let mut path = Path {
        first_bar: window.start,
        equity: vec![cash],
        cash: vec![cash],
        units: vec![0.0],
        level: vec![0.0],
        ..Path::default()
    };
    for (t, &level) in (window.start..window.end - 1).zip(levels) {
        let last = t + 2 == window.end;
        let step = account.step(rules, market, t, level, last, &mut |trade| path.trades.push(trade));
        path.returns.push(step.ret);
        path.equity.push(account.equity());
        path.cash.push(account.cash());
        path.units.push(account.units());
        path.level.push(account.level());
    }
    path.counts = *account.counts();
    path
}

/// As text: −0 is not 0.
fn same(got: &Path, want: &Path, what: &str) {
    let columns = |p: &Path| {
        [&p.returns, &p.equity, &p.cash, &p.units, &p.level].map(|c| c.iter().map(|x| x.to_bits()).collect())
    };
    let (got_bits, want_bits): ([Vec<u64>; 5], [Vec<u64>; 5]) = (columns(got), columns(want));
    for (name, (got, want)) in
        ["returns", "equity", "cash", "units", "level"].iter().zip(got_bits.iter().zip(&want_bits))
    {
        assert_eq!(got.len(), want.len(), "{what}: {name}");
        if let Some(i) = (0..got.len()).find(|&i| got[i] != want[i]) {
            panic!("{what}: {name}[{i}] is {}, stepped {}", f64::from_bits(got[i]), f64::from_bits(want[i]));
        }
    }
    assert_eq!(format!("{:?}", got.trades), format!("{:?}", want.trades), "{what}: trades");
    assert_eq!(format!("{:?}", got.counts), format!("{:?}", want.counts), "{what}: counts");
}

/// A policy that does not tell its levels beforehand.
struct Opaque(Box<dyn Policy>);

impl Policy for Opaque {
    fn name(&self) -> String {
        self.0.name()
    }

    fn reset(&mut self, window: Range<usize>) {
        self.0.reset(window);
    }

    fn level(&mut self, observation: &Observation<'_>) -> f64 {
        self.0.level(observation)
    }
}

/// Half of the cases as they come, half with all off that keeps a position from resting.
fn case(seed: u64) -> Case {
    let mut case = Case::any(seed);
    if seed.is_multiple_of(2) {
        let plain = SimConfig::default();
        (case.config.barrier, case.config.rebalance) = (None, plain.rebalance);
        (case.config.carry_long, case.config.carry_short) = (0.0, 0.0);
    }
    case
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn paths_are_those_of_every_step(seed in any::<u64>(), start in 0usize..10, cut in 0usize..9) {
        let case = case(seed);
        let market = case.market();
        let rules = Rules::new(&case.config, &market).unwrap();
        let window = start..case.bars.len() - cut.min(8);
        let levels = &case.levels[start..window.end - 1];
        let want = stepped(&rules, &market, window.clone(), levels);
        same(&replay(&rules, &market, window.clone(), levels), &want, "replayed");
        let mut signals = Signals::new("given", case.levels.clone());
        same(&simulate(&rules, &case.bars, &market, window.clone(), &mut signals), &want, "simulated");
        let bare = Path { cash: vec![], units: vec![], level: vec![], ..want };
        same(&simulate_equity(&rules, &case.bars, &market, window.clone(), &mut signals), &bare, "equity alone");
        let mut opaque = Opaque(Box::new(signals));
        same(&simulate_equity(&rules, &case.bars, &market, window.clone(), &mut opaque), &bare, "equity alone, stepped");
        // Levels that end early.
        let some = &levels[..levels.len() / 2];
        same(&replay(&rules, &market, window.clone(), some), &stepped(&rules, &market, window, some), "ending early");
    }

    #[test]
    fn a_policy_that_tells_its_levels_trades_the_same(seed in any::<u64>(), start in 0usize..10) {
        let case = case(seed);
        let market = case.market();
        let rules = Rules::new(&case.config, &market).unwrap();
        for (name, _) in policy::STRATEGIES {
            // Short enough to be defined here.
            let text = match name {
                "sma-cross" | "ema-cross" => format!("{name}:fast=2,slow=5"),
                "donchian" | "bollinger" | "rsi" => format!("{name}:period=4"),
                _ => name.to_owned(),
            };
            let run = |policy: &mut dyn Policy| {
                simulate(&rules, &case.bars, &market, start..case.bars.len(), policy)
            };
            let want = run(&mut Opaque(policy::parse(&text).unwrap()));
            same(&run(policy::parse(&text).unwrap().as_mut()), &want, &text);
        }
    }
}

/// Several stretches and many pieces, a short held to the end, and every kind of rule.
#[test]
fn long_windows() {
    let bars = random_walk(1_200_000, 9, &RandomWalkConfig::default()).unwrap();
    let sigma = sigma(bars.close());
    let market = Market::new(&bars, &sigma);
    let config = SimConfig { commission_bps: 0.1, max_position: 1.5, ..SimConfig::default() };
    let rules = Rules::new(&config, &market).unwrap();
    let mut rng = Philox::new(3, 3);
    let (mut level, n) = (0.0, bars.len() - 1);
    let levels: Vec<f64> = (0..n)
        .map(|_| {
            if rng.uniform() < 0.003 {
                level = [-0.5, 0.0, 0.5, 1.0, f64::NAN][rng.index(5)];
            }
            level
        })
        .collect();
    let want = stepped(&rules, &market, 0..bars.len(), &levels);
    assert!(want.trades.len() > 1_000);
    same(&replay(&rules, &market, 0..bars.len(), &levels), &want, "replayed");
    let held = vec![-1.0; n];
    let want = stepped(&rules, &market, 5..bars.len() - 3, &held[..n - 8]);
    same(&replay(&rules, &market, 5..bars.len() - 3, &held[..n - 8]), &want, "held");
    for text in ["sma-cross", "ema-cross:fast=3,slow=700", "rsi", "donchian", "bollinger", "buy-and-hold"] {
        let run = |policy: &mut dyn Policy| simulate(&rules, &bars, &market, 1_111..bars.len(), policy);
        let want = run(&mut Opaque(policy::parse(text).unwrap()));
        same(&run(policy::parse(text).unwrap().as_mut()), &want, text);
    }
}
