#![allow(clippy::unwrap_used)]
use super::*;
use crate::feature::FeatureTable;

fn returns(bars: &Bars) -> Vec<f64> {
    bars.close().windows(2).map(|w| w[1] / w[0] - 1.0).collect()
}

fn sharpe(bars: &Bars, returns: &[f64]) -> f64 {
    let n = returns.len() as f64;
    let mean = returns.iter().sum::<f64>() / n;
    let variance = returns.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / (n - 1.0);
    mean / variance.sqrt() * bars.periods_per_year().sqrt()
}

/// Returns of holding `held[t]` over bar t + 1, less `cost` per unit of exposure traded.
fn traded(bars: &Bars, held: &[f64], cost: f64) -> Vec<f64> {
    let mut before = 0.0;
    let earn = |(r, &h): (f64, &f64)| {
        let net = h * r - cost * (h - before).abs();
        before = h;
        net
    };
    returns(bars).into_iter().zip(held).map(earn).collect()
}

#[test]
fn same_seed_same_bits_and_another_seed_another_market() {
    let config = PlantedConfig::default();
    assert_eq!(planted(500, 9, &config).unwrap(), planted(500, 9, &config).unwrap());
    assert_ne!(planted(500, 9, &config).unwrap(), planted(500, 10, &config).unwrap());
    let walk = RandomWalkConfig::default();
    assert_eq!(random_walk(500, 9, &walk).unwrap(), random_walk(500, 9, &walk).unwrap());
}

#[test]
fn a_longer_market_begins_with_the_shorter_one() {
    let config = PlantedConfig::default();
    let (short, long) = (planted(300, 4, &config).unwrap(), planted(900, 4, &config).unwrap());
    assert_eq!(short.close(), &long.close()[..300]);
}

#[test]
fn the_walk_has_the_asked_moments() {
    let config = RandomWalkConfig { drift: 0.001, ..RandomWalkConfig::default() };
    let bars = random_walk(200_000, 3, &config).unwrap();
    let r = returns(&bars);
    let mean = r.iter().sum::<f64>() / r.len() as f64;
    let std = (r.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / r.len() as f64).sqrt();
    // four standard errors
    assert!((mean - 0.001).abs() < 4.0 * 0.005 / 200_000f64.sqrt(), "mean {mean}");
    assert!((std / 0.005 - 1.0).abs() < 0.02, "std {std}");
}

/// Parkinson's estimator reads the variance from the extremes alone: they are a Brownian path's.
#[test]
fn the_extremes_fit_the_volatility() {
    let config = RandomWalkConfig { gap_share: 0.0, ..RandomWalkConfig::default() };
    let bars = random_walk(100_000, 3, &config).unwrap();
    let squares = bars.high().iter().zip(bars.low()).map(|(h, l)| (h / l).ln().powi(2));
    let volatility = (squares.sum::<f64>() / 100_000.0 / (4.0 * 2f64.ln())).sqrt();
    // high and low are drawn independently given open and close, which costs a little
    assert!((volatility / 0.005 - 1.0).abs() < 0.05, "{volatility}");
}

#[test]
fn only_the_oracle_and_the_trend_earn_on_the_planted_market() {
    for seed in 0..8 {
        let market = planted_with_truth(20_000, seed, &PlantedConfig::default()).unwrap();
        let bars = &market.bars;
        let oracle: Vec<f64> = market.next_sign.iter().map(|&s| f64::from(s)).collect();
        let table = FeatureTable::compute(bars).unwrap();
        let at = table.position("ema_distance_10").unwrap();
        let trend: Vec<f64> = (0..bars.len()).map(|t| table.row(t)[at].signum()).collect();
        // 10 bp per unit traded, both ways
        let oracle = sharpe(bars, &traded(bars, &oracle, 1e-3));
        let trend = sharpe(bars, &traded(bars, &trend, 1e-3));
        let hold = sharpe(bars, &returns(bars));
        println!("seed {seed}: oracle {oracle:.1}, trend {trend:.1}, buy and hold {hold:.2}");
        assert!(oracle > 30.0, "seed {seed}: oracle {oracle}");
        assert!(trend > 15.0, "seed {seed}: trend {trend}");
        assert!(hold.abs() < 0.7, "seed {seed}: buy and hold {hold}");
    }
}

#[test]
fn following_the_trend_of_a_random_walk_earns_nothing() {
    let bars = random_walk(50_000, 6, &RandomWalkConfig::default()).unwrap();
    let table = FeatureTable::compute(&bars).unwrap();
    let at = table.position("ema_distance_10").unwrap();
    let trend: Vec<f64> = (0..bars.len()).map(|t| table.row(t)[at].signum()).collect();
    assert!(sharpe(&bars, &traded(&bars, &trend, 0.0)).abs() < 1.5);
}

#[test]
fn the_sine_swings_as_far_as_asked() {
    let bars = sine(400, 1, &SineConfig::default()).unwrap();
    let (low, high) = bars.close().iter().fold((f64::MAX, 0.0f64), |(l, h), &c| (l.min(c), h.max(c)));
    let swing = (high / low).ln();
    assert!((0.15..0.35).contains(&swing), "{swing}");
}

#[test]
fn parameters_without_valid_bars_are_errors() {
    assert!(matches!(random_walk(1, 0, &RandomWalkConfig::default()), Err(BarsError::TooFew { .. })));
    let zero = RandomWalkConfig { start_price: 0.0, ..RandomWalkConfig::default() };
    assert!(matches!(random_walk(10, 0, &zero), Err(BarsError::Price { .. })));
}
