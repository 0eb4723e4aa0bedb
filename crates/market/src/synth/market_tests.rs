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

#[test]
fn jumps_come_as_often_and_as_far_as_set() {
    let config = MarketConfig { jumps_a_year: 50.0, jump_size: 0.1, ..plain() };
    let made = market(200_000, 4, &config).unwrap();
    let years = 200_000.0 / (365.0 * 24.0);
    let expected = 50.0 * years;
    assert!((made.jumps.len() as f64 - expected).abs() < 4.0 * expected.sqrt(), "{} of {expected}", made.jumps.len());
    let b = &made.bars;
    let gaps: Vec<f64> =
        made.jumps.iter().filter(|&&t| t > 0).map(|&t| (b.open()[t] / b.close()[t - 1]).ln().powi(2)).collect();
    assert!((mean(&gaps).sqrt() / 0.1 - 1.0).abs() < 0.1);
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
    assert!(error(with(), 2_000_000).contains("run out of the calendar"));
}
