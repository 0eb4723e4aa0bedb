#![allow(clippy::unwrap_used)]
use super::*;

fn returns(bars: &Bars) -> Vec<f64> {
    bars.close().windows(2).map(|w| (w[1] / w[0]).ln()).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn autocorrelation(x: &[f64], lag: usize) -> f64 {
    let m = mean(x);
    let variance: f64 = x.iter().map(|v| (v - m).powi(2)).sum();
    let covariance: f64 = x.windows(lag + 1).map(|w| (w[0] - m) * (w[lag] - m)).sum();
    covariance / variance
}

fn one_regime(volatility: f64) -> Vec<Regime> {
    vec![Regime { drift: 0.0, volatility, days: 100.0 }]
}

fn plain() -> MarketConfig {
    MarketConfig { regimes: one_regime(0.2), vol_of_vol: 0.0, jumps_a_year: 0.0, smile: 1.0, ..MarketConfig::default() }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let config = MarketConfig::default();
    let made = market(3000, 5, &config).unwrap();
    assert_eq!(made, market(3000, 5, &config).unwrap());
    assert_ne!(made.bars, market(3000, 6, &config).unwrap().bars);
    // A longer market begins as a shorter one does.
    assert_eq!(market(4000, 5, &config).unwrap().bars.close()[..3000], *made.bars.close());
}

#[test]
fn without_its_features_it_is_a_random_walk_of_the_volatility_set() {
    let r = returns(&market(100_000, 1, &plain()).unwrap().bars);
    let variance = mean(&r.iter().map(|r| r * r).collect::<Vec<_>>());
    let annual = (variance * 365.0 * 24.0).sqrt();
    assert!((annual / 0.2 - 1.0).abs() < 0.01, "{annual}");
    let kurtosis = mean(&r.iter().map(|r| r.powi(4)).collect::<Vec<_>>()) / variance.powi(2);
    assert!((kurtosis - 3.0).abs() < 0.1, "{kurtosis}");
}

#[test]
fn volatility_clusters_and_tails_are_fat_but_returns_do_not_correlate() {
    let config = MarketConfig { regimes: one_regime(0.2), smile: 1.0, ..MarketConfig::default() };
    let r = returns(&market(100_000, 2, &config).unwrap().bars);
    let size: Vec<f64> = r.iter().map(|r| r.abs()).collect();
    let noise = 1.0 / (r.len() as f64).sqrt();
    assert!(autocorrelation(&size, 1) > 0.08 && autocorrelation(&size, 100) > 0.04);
    assert!(autocorrelation(&size, 100) > autocorrelation(&size, 2000) + 0.03);
    assert!(autocorrelation(&r, 1).abs() < 5.0 * noise);
    let variance = mean(&r.iter().map(|r| r * r).collect::<Vec<_>>());
    let kurtosis = mean(&r.iter().map(|r| r.powi(4)).collect::<Vec<_>>()) / variance.powi(2);
    assert!(kurtosis > 4.0, "{kurtosis}");
}

#[test]
fn the_truth_is_the_truth() {
    let made = market(200_000, 3, &MarketConfig::default()).unwrap();
    let r = returns(&made.bars);
    // Returns over their standard deviations are standard normal but for drift and jumps.
    let scaled: Vec<f64> =
        (1..made.sigma.len()).filter(|t| !made.jumps.contains(t)).map(|t| (r[t - 1] / made.sigma[t]).powi(2)).collect();
    assert!((mean(&scaled) - 1.0).abs() < 0.02, "{}", mean(&scaled));
    for (i, regime) in MarketConfig::default().regimes.iter().enumerate() {
        let mut of: Vec<f64> = (0..made.sigma.len()).filter(|&t| made.regime[t] == i).map(|t| made.sigma[t]).collect();
        of.sort_by(f64::total_cmp);
        let median = of[of.len() / 2] * (365.0 * 24.0f64).sqrt();
        assert!((median / regime.volatility - 1.0).abs() < 0.15, "regime {i}: {median}");
    }
}

/// From one in a week to ten an hour, and thousands a bar of a day: number and variance are those of a compound Poisson
/// process.
#[test]
fn jumps_come_as_often_and_as_far_as_set() {
    let hour = MarketConfig::default().interval_ns;
    for (jumps_a_year, interval_ns) in
        [(50.0, hour), (8_760.0, hour), (87_600.0, hour), (87_600.0, DAY_NS), (6.0, hour)]
    {
        let config = MarketConfig { jumps_a_year, jump_size: 0.001, interval_ns, ..plain() };
        let n = if interval_ns == DAY_NS { 40_000 } else { 200_000 };
        let made = market(n, 4, &config).unwrap();
        let expected = jumps_a_year * n as f64 * interval_ns as f64 / (365.0 * DAY_NS as f64);
        assert!(
            (made.jumps.len() as f64 - expected).abs() < 4.0 * expected.sqrt(),
            "{} of {expected}",
            made.jumps.len()
        );
        // Between a close and the next open there are jumps alone.
        let b = &made.bars;
        let sum: f64 = (1..b.len()).map(|t| (b.open()[t] / b.close()[t - 1]).ln().powi(2)).sum();
        let want = expected * 0.001f64.powi(2);
        // The variance of a squared jump is twice its square, of a sum of n of them (2n² + n) times it.
        let a_bar = expected / n as f64;
        let noise = ((3.0 + 2.0 * a_bar) / expected).sqrt();
        assert!((sum / want - 1.0).abs() < 4.0 * noise, "{jumps_a_year}: {sum} of {want}");
    }
}

#[test]
fn a_draw_stands_for_as_many_events_as_the_poisson_law_says() {
    assert_eq!((poisson(0.0, 0.0), poisson(0.999, 2.0), poisson(0.5, 0.0)), (0, 0, 0));
    // P(N > 0) = 0.8647, P(N > 1) = 0.5940, P(N > 2) = 0.3233 for a mean of 2.
    assert_eq!([0.87, 0.86, 0.60, 0.59, 0.33, 0.32].map(|draw| poisson(draw, 2.0)), [0, 1, 1, 2, 2, 3]);
    // The median of a law of mean 500 is 500; an impossible draw ends all the same.
    assert_eq!(poisson(0.5, 500.0), 500);
    assert!((600..1000).contains(&poisson(0.0, 500.0)));
}

#[test]
fn sessions_are_new_yorks_over_the_change_of_the_clocks() {
    let config = MarketConfig { session: Session::Us, interval_ns: 30 * 60_000_000_000, ..MarketConfig::default() };
    let made = market(13 * 200, 6, &config).unwrap();
    let zone = TimeZone::get("America/New_York").unwrap();
    let mut days = Vec::new();
    for &ts in made.bars.ts() {
        let local = zone.to_datetime(Timestamp::from_nanosecond(i128::from(ts)).unwrap());
        let minute = i32::from(local.hour()) * 60 + i32::from(local.minute());
        assert!((570..960).contains(&minute) && minute % 30 == 0, "{local}");
        assert!(!matches!(local.weekday(), Weekday::Saturday | Weekday::Sunday));
        days.push(local.date());
    }
    days.dedup();
    assert_eq!(days.len(), 200);
    assert_eq!(made.bars.periods_per_year(), 252.0 * 13.0);
}

#[test]
fn a_session_is_busy_at_its_ends_and_the_night_moves_the_open() {
    let config = MarketConfig {
        session: Session::Us,
        interval_ns: 30 * 60_000_000_000,
        smile: 3.0,
        night_share: 0.3,
        vol_of_vol: 0.0,
        jumps_a_year: 0.0,
        regimes: one_regime(0.2),
        ..MarketConfig::default()
    };
    let made = market(13 * 6000, 7, &config).unwrap();
    let b = &made.bars;
    let mut slots = [0.0; 13];
    let mut night = 0.0;
    for t in 0..b.len() {
        slots[t % 13] += (b.close()[t] / b.open()[t]).ln().powi(2) / 6000.0;
        if t % 13 == 0 && t > 0 {
            night += (b.open()[t] / b.close()[t - 1]).ln().powi(2) / 6000.0;
        }
    }
    let day = 0.2f64.powi(2) / 252.0;
    assert!((night / (0.3 * day) - 1.0).abs() < 0.06, "{night}");
    assert!((slots.iter().sum::<f64>() / (0.7 * day) - 1.0).abs() < 0.03);
    // Volatility 1 + 2x², x = 12/13 in the first and last half hour.
    let ratio = (slots[0] + slots[12]) / (2.0 * slots[6]);
    assert!((ratio / (1.0f64 + 2.0 * (12.0f64 / 13.0).powi(2)).powi(2) - 1.0).abs() < 0.06, "{ratio}");
}

#[test]
fn daily_bars_carry_their_dates() {
    let config = MarketConfig { session: Session::Us, interval_ns: DAY_NS, ..MarketConfig::default() };
    let made = market(500, 8, &config).unwrap();
    assert!(made.bars.ts().iter().all(|ts| ts % DAY_NS == 0));
    assert_eq!(made.bars.periods_per_year(), 252.0);
}

#[test]
fn what_cannot_be_made_is_refused() {
    let error = |config: MarketConfig, n| market(n, 1, &config).unwrap_err().to_string();
    let with = MarketConfig::default;
    assert_eq!(
        error(MarketConfig { night_share: 1.0, ..with() }, 10),
        "night_share is 1; it must be at least 0 and below 1"
    );
    assert_eq!(error(MarketConfig { interval_ns: 7, ..with() }, 10), "interval_ns is 7; it must be a divisor of a day");
    assert_eq!(error(MarketConfig { regimes: vec![], ..with() }, 10), "regimes is 0; it must be one or more");
    let often = MarketConfig { jumps_a_year: 4.5e6, ..with() };
    assert_eq!(error(often, 10), "jumps_a_year is 4500000; it must be at most 500 a bar");
    assert!(error(with(), 2_000_000).contains("run out of the calendar"));
}
