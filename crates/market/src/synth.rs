//! Seeded synthetic markets: same seed, same bits. For tests, demos and for knowing what a learner can learn.

mod market;

use rand::Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::rng::Philox;
use crate::{BarColumns, Bars, BarsError};

pub use market::{Market, MarketConfig, MarketError, Regime, Session, market};

const STREAM_PRICE: u64 = 0x5359_4e54;
const STREAM_REGIME: u64 = 0x5359_4e55;

/// What all synthetic markets share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomWalkConfig {
    /// Price before the first bar.
    pub start_price: f64,
    /// Standard deviation of a bar's log return, its gap included.
    pub volatility: f64,
    /// Expected simple return per bar; 0 makes the price a martingale.
    pub drift: f64,
    /// Share of a bar's variance in the gap between the last close and the open, `[0, 1)`.
    pub gap_share: f64,
    /// Median volume of a bar without movement.
    pub volume: f64,
    /// Distance between bars, nanoseconds.
    pub interval_ns: i64,
    /// Open of the first bar, UTC nanoseconds.
    pub start_ts: i64,
}

impl Default for RandomWalkConfig {
    /// Hourly bars from 2020-01-01, half a percent of volatility each, no drift.
    fn default() -> Self {
        Self {
            start_price: 100.0,
            volatility: 0.005,
            drift: 0.0,
            gap_share: 0.02,
            volume: 1000.0,
            interval_ns: 3_600_000_000_000,
            start_ts: 1_577_836_800_000_000_000,
        }
    }
}

/// A geometric random walk: independent normal log returns. Nothing in it can be learned.
///
/// High and low are exact draws of a Brownian bridge's extremes between open and close; volume is log-normal and rises
/// with the size of the move.
///
/// # Errors
/// [`BarsError`] when the parameters give no valid bars: fewer than two, or a price that leaves f64's range.
pub fn random_walk(n_bars: usize, seed: u64, config: &RandomWalkConfig) -> Result<Bars, BarsError> {
    generate(n_bars, seed, config, |_, _| config.drift)
}

/// [`planted`]'s market: a hidden regime gives the drift its sign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlantedConfig {
    /// The market without its pattern.
    pub walk: RandomWalkConfig,
    /// |drift| of a bar in units of its volatility: the per-bar Sharpe ratio of knowing the regime.
    pub strength: f64,
    /// Mean length of a regime, bars; lengths are uniform on `[½, 3⁄2]` of it.
    pub regime_bars: usize,
    /// Share of its log distance from the start price by which the price returns every bar. It bounds the luck of
    /// holding; at a few hundredths of a bar's volatility there is nothing else to gain from it.
    pub pull: f64,
}

impl Default for PlantedConfig {
    /// 0.4 volatilities of drift, 60 bars to a regime: 0.2 % a bar, 12 % a regime, against costs of basis points; half
    /// of a deviation from the start price is gone after 350 bars.
    fn default() -> Self {
        Self { walk: RandomWalkConfig::default(), strength: 0.4, regime_bars: 60, pull: 0.002 }
    }
}

/// A market with a learnable pattern, and the truth behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Planted {
    /// The market.
    pub bars: Bars,
    /// +1 or −1: the sign of the expected return of bar t + 1, what an oracle would hold at the close of bar t.
    /// `[n_bars]`
    pub next_sign: Vec<i8>,
}

/// A market whose drift flips its sign with a hidden, persistent regime: up and down regimes take turns.
///
/// The regime shows in `ema_distance_*`, `log_return_{10,20}`, `rsi_14`, `macd_*` and their kin after some ten bars, so
/// following the recent trend earns far more than usual costs (a Sharpe of 20 a year where the oracle has 37), while
/// buy-and-hold earns about nothing: the turns cancel, and a weak pull to the start price takes the luck out.
///
/// # Errors
/// As [`random_walk`].
pub fn planted(n_bars: usize, seed: u64, config: &PlantedConfig) -> Result<Bars, BarsError> {
    planted_with_truth(n_bars, seed, config).map(|p| p.bars)
}

/// [`planted`] together with its hidden regime.
///
/// # Errors
/// As [`random_walk`].
pub fn planted_with_truth(n_bars: usize, seed: u64, config: &PlantedConfig) -> Result<Planted, BarsError> {
    let mut signs = regimes(n_bars + 1, seed, config.regime_bars.max(1));
    let strength = config.strength * config.walk.volatility;
    let drift = |t: usize, away: f64| config.walk.drift + strength * f64::from(signs[t]) - config.pull * away;
    let bars = generate(n_bars, seed, &config.walk, drift)?;
    signs.remove(0);
    Ok(Planted { bars, next_sign: signs })
}

/// The sign of every bar's drift.
fn regimes(n_bars: usize, seed: u64, mean_bars: usize) -> Vec<i8> {
    let mut rng = Philox::new(seed, STREAM_REGIME);
    let mut sign: i8 = if rng.index(2) == 0 { -1 } else { 1 };
    let mut signs = Vec::with_capacity(n_bars);
    while signs.len() < n_bars {
        let length = (mean_bars.div_ceil(2) + rng.index(mean_bars + 1)).min(n_bars - signs.len());
        signs.resize(signs.len() + length, sign);
        sign = -sign;
    }
    signs
}

/// [`sine`]'s market: a trend and a cycle under noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SineConfig {
    /// The noise; its drift is the trend.
    pub walk: RandomWalkConfig,
    /// Bars in a cycle.
    pub period_bars: f64,
    /// Height of the cycle's crest over its middle, log price.
    pub amplitude: f64,
}

impl Default for SineConfig {
    /// A ±10 % swing every 200 bars over a fifth of the usual noise.
    fn default() -> Self {
        let walk = RandomWalkConfig { volatility: 0.001, ..RandomWalkConfig::default() };
        Self { walk, period_bars: 200.0, amplitude: 0.1 }
    }
}

/// A sine wave on a trend, with noise: for demos, where the eye should see what a policy does.
///
/// # Errors
/// As [`random_walk`].
pub fn sine(n_bars: usize, seed: u64, config: &SineConfig) -> Result<Bars, BarsError> {
    let level = |t: usize| config.amplitude * (std::f64::consts::TAU * t as f64 / config.period_bars).sin();
    generate(n_bars, seed, &config.walk, |t, _| config.walk.drift + level(t + 1) - level(t))
}

/// Bars whose log return is normal with mean drift − σ²/2, which makes the drift the expected simple return. `drift`
/// gets the bar and the log distance of the last close from the start price.
fn generate(
    n_bars: usize,
    seed: u64,
    config: &RandomWalkConfig,
    drift: impl Fn(usize, f64) -> f64,
) -> Result<Bars, BarsError> {
    let mut rng = Philox::new(seed, STREAM_PRICE);
    let mut columns = BarColumns::default();
    let variance = config.volatility * config.volatility;
    let (gap_std, body_variance) = ((variance * config.gap_share).sqrt(), variance * (1.0 - config.gap_share));
    let start = config.start_price.ln();
    let mut log_price = start;
    for t in 0..n_bars {
        let open = log_price + gap_std * normal(&mut rng);
        let body = drift(t, log_price - start) - 0.5 * variance + body_variance.sqrt() * normal(&mut rng);
        let (above, below) = (excursion(&mut rng, body, body_variance), excursion(&mut rng, -body, body_variance));
        let size = (1.0 + (body / config.volatility.max(f64::MIN_POSITIVE)).abs()) * (0.4 * normal(&mut rng)).exp();
        log_price = open + body;
        columns.ts.push(config.start_ts + t as i64 * config.interval_ns);
        columns.open.push(open.exp());
        columns.high.push((open + above).exp());
        columns.low.push((open - below).exp());
        columns.close.push(log_price.exp());
        columns.volume.push(config.volume * size);
    }
    Bars::new(columns)
}

fn normal(rng: &mut Philox) -> f64 {
    rng.sample(StandardNormal)
}

/// The highest point above its start of a Brownian bridge that ends at `end`: (end + √(end² − 2σ² ln U))/2, so at least
/// max(0, end).
fn excursion(rng: &mut Philox, end: f64, variance: f64) -> f64 {
    let tail = -2.0 * variance * (1.0 - rng.uniform()).ln();
    (0.5 * (end + (end * end + tail).sqrt())).max(end).max(0.0)
}

#[cfg(test)]
#[path = "synth_tests.rs"]
mod tests;
