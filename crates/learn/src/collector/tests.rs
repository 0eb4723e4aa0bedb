#![allow(clippy::unwrap_used)]

use gigabar_market::Bars;
use gigabar_market::feature::FeatureTable;
use gigabar_market::scale::Scaler;
use gigabar_market::sigma::sigma;

use super::*;
use gigabar_backtest::rules::SimConfig;

struct Setting {
    bars: Bars,
    sigma: Vec<f64>,
    features: ScaledFeatures,
    range: Range<usize>,
    sim: SimConfig,
    reward: RewardConfig,
}

const LEVELS: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

impl Setting {
    fn new(sim: SimConfig) -> Self {
        let bars = gigabar_market::synth::random_walk(500, 3, &Default::default()).unwrap();
        let table = FeatureTable::compute(&bars).unwrap();
        let range = table.warmup_bars()..480;
        let features = Scaler::fit(&table, range.clone()).unwrap().transform(&table).unwrap();
        Self { sigma: sigma(bars.close()), bars, features, range, sim, reward: RewardConfig::default() }
    }

    /// Transitions of `rounds` steps of two environments with ε = 1, and the collector afterwards.
    fn collect(&self, n_step: usize, episode_bars: usize, rounds: usize) -> (Vec<Transition>, CollectStats) {
        let market = Market::new(&self.bars, &self.sigma);
        let rules = Rules::new(&self.sim, &market).unwrap();
        let world = World {
            rules: &rules,
            market,
            features: &self.features,
            reward: &self.reward,
            levels: &LEVELS,
            range: &self.range,
            episode_bars,
            n_step,
            gamma: 0.9,
            reward_scale: 2.0,
            seed: 8,
        };
        let mut collector = Collector::new(2, &world);
        let (mut out, mut stats) = (Vec::new(), CollectStats::default());
        for _ in 0..rounds {
            assert!(collector.is_within(&self.range));
            collector.step(&world, &[0.0; 10], 1.0, &mut stats, &mut |t| out.push(*t));
        }
        (out, stats)
    }
}

fn costs() -> SimConfig {
    SimConfig { half_spread_bps: 3.0, commission_bps: 2.0, ..SimConfig::default() }
}

/// One-step transitions replayed through the engine alone give the same observations and rewards.
#[test]
fn the_environment_is_the_engine() {
    let setting = Setting::new(costs());
    let market = Market::new(&setting.bars, &setting.sigma);
    let rules = Rules::new(&setting.sim, &market).unwrap();
    let (transitions, _) = setting.collect(1, 30, 120);
    for e in 0..2 {
        let mut account = Account::new(&rules);
        for (k, t) in transitions.iter().skip(e).step_by(2).enumerate() {
            if k % 30 == 0 {
                account = Account::new(&rules);
            }
            let bar = t.bar as usize;
            assert_eq!(t.portfolio, account.observation(&market, bar));
            let before = account.equity();
            let level = LEVELS[t.action as usize];
            account.step(&rules, &market, bar, level, false, &mut |_| {});
            let reward = 2.0 * (account.equity() / before).ln();
            assert!((f64::from(t.reward) - reward).abs() < 1e-6);
            assert_eq!((t.next_bar, t.done), (t.bar + 1, false));
            assert_eq!(t.next_portfolio, account.observation(&market, bar + 1));
        }
    }
}

/// n-step transitions are the one-step ones put together; at a truncation they get shorter and still bootstrap.
#[test]
fn n_step_returns_are_sums_of_one_step_returns() {
    let setting = Setting::new(costs());
    let by_env = |n_step: usize| {
        let (mut all, _) = setting.collect(n_step, 30, 120);
        all.sort_by_key(|t| t.bar);
        all
    };
    let (one, three) = (by_env(1), by_env(3));
    assert_eq!(one.len(), three.len(), "every decision gives one transition");
    let mut truncated = 0;
    for long in &three {
        let span = (long.next_bar - long.bar) as usize;
        assert!((1..=3).contains(&span) && !long.done);
        truncated += usize::from(span < 3);
        assert!((f64::from(long.discount) - 0.9f64.powi(span as i32)).abs() < 1e-7);
        let first = one.iter().find(|t| (t.bar, t.portfolio) == (long.bar, long.portfolio)).unwrap();
        let (mut at, mut sum) = (first, f64::from(first.reward));
        for k in 1..span {
            let next = |t: &&Transition| (t.bar, t.portfolio) == (at.next_bar, at.next_portfolio);
            at = one.iter().find(next).unwrap();
            sum += 0.9f64.powi(k as i32) * f64::from(at.reward);
        }
        assert!((sum - f64::from(long.reward)).abs() < 1e-5);
        assert_eq!((at.next_bar, at.next_portfolio), (long.next_bar, long.next_portfolio));
    }
    // Two environments, four episodes each, two short transitions per episode.
    assert_eq!(truncated, 16);
}

/// A levered account on a walk is liquidated. A penalty larger than any return marks the transitions that hold the
/// ruin: they, and no others, are terminal.
#[test]
fn only_ruin_terminates() {
    let mut setting = Setting::new(SimConfig { max_position: 60.0, maintenance_margin: 0.01, ..costs() });
    setting.reward.ruin_penalty = 1_000.0;
    let (transitions, stats) = setting.collect(3, 30, 400);
    assert!(stats.ruins > 0, "the test needs a ruin");
    assert!(transitions.iter().all(|t| t.done == (t.reward < -1_000.0)));
    let terminal = transitions.iter().filter(|t| t.done).count() as u64;
    assert!(terminal >= stats.ruins && terminal <= 3 * stats.ruins);
    assert!(transitions.iter().all(|t| t.next_portfolio.iter().all(|x| x.is_finite())));
}

#[test]
fn random_actions_are_uniform() {
    let setting = Setting::new(SimConfig::default());
    let (_, stats) = setting.collect(1, 50, 2_000);
    for &count in &stats.action_counts {
        assert!((700..900).contains(&count), "{:?}", stats.action_counts);
    }
}

#[test]
fn without_epsilon_the_best_action_is_taken() {
    let setting = Setting::new(SimConfig::default());
    let market = Market::new(&setting.bars, &setting.sigma);
    let rules = Rules::new(&setting.sim, &market).unwrap();
    let mut env = Env {
        account: Account::new(&rules),
        reward: RewardState::new(&setting.sigma),
        bar: 0,
        end: 1,
        steps: 0,
        episodes: 0,
        pending: VecDeque::new(),
    };
    assert!((0..100).all(|e| env.choose(e, &[0.0, 2.0, 1.0], 0.0, 5) == 1));
    let explored = (0..1_000).filter(|_| env.choose(0, &[0.0, 2.0, 1.0], 0.3, 5) != 1).count();
    assert!((150..250).contains(&explored), "{explored} of 1,000 differ, 200 expected");
}

#[test]
fn state_survives_json_bit_for_bit() {
    let sim = SimConfig {
        barrier: Some(gigabar_backtest::rules::TripleBarrier { k_stop: Some(2.0), k_take: None, max_hold: None }),
        kelly: Some(gigabar_backtest::rules::Kelly::default()),
        ..costs()
    };
    let setting = Setting::new(sim);
    let market = Market::new(&setting.bars, &setting.sigma);
    let rules = Rules::new(&setting.sim, &market).unwrap();
    let reward = RewardConfig { kind: gigabar_backtest::rules::RewardKind::Dsr, ..RewardConfig::default() };
    let world = World {
        rules: &rules,
        market,
        features: &setting.features,
        reward: &reward,
        levels: &LEVELS,
        range: &setting.range,
        episode_bars: 30,
        n_step: 3,
        gamma: 0.9,
        reward_scale: 1.0,
        seed: 8,
    };
    let mut a = Collector::new(4, &world);
    let mut stats = CollectStats::default();
    for _ in 0..50 {
        a.step(&world, &[0.0; 20], 1.0, &mut stats, &mut |_| {});
        let json = serde_json::to_string(&a).unwrap();
        assert_eq!(serde_json::from_str::<Collector>(&json).unwrap(), a);
    }
}
