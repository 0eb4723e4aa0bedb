//! [`market`]: the general generator, with what real markets show: regimes, clustered volatility, jumps, an intraday
//! pattern, sessions with nights and weekends.

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{excursion, normal};
use crate::rng::Philox;
use crate::time::DAY_NS;
use crate::{BarColumns, Bars, BarsError};

const STREAM_BARS: u64 = 0x5359_4e60;
const STREAM_REGIMES: u64 = 0x5359_4e61;
const STREAM_JUMPS: u64 = 0x5359_4e62;
const HOUR_S: i64 = 3600;
/// Jumps of a bar, on average: beyond, they are no jumps but volatility (and e⁻ⁿ leaves what an f64 holds).
const MOST_JUMPS: f64 = 500.0;

/// A state of the market.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regime {
    /// Expected log return a year.
    pub drift: f64,
    /// Median volatility a year, without jumps.
    pub volatility: f64,
    /// Mean length, trading days; lengths are exponential.
    pub days: f64,
}

/// When the market trades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Session {
    /// Around the clock, 365 days a year, as crypto currencies.
    Always,
    /// Monday to Friday, 09:30 to 16:00 in New York, as US stocks; without holidays.
    Us,
}

/// What is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MarketConfig {
    /// Price before the first bar.
    pub start_price: f64,
    /// Not before which moment the first bar opens, UTC nanoseconds.
    pub start_ts: i64,
    /// Distance between bars, nanoseconds: a day, or a divisor of an hour or of half an hour for sessions.
    pub interval_ns: i64,
    /// When the market trades.
    pub session: Session,
    /// States, entered at random, never twice in a row where there is another.
    pub regimes: Vec<Regime>,
    /// Stationary standard deviation of log volatility around its regime's.
    pub vol_of_vol: f64,
    /// Trading days in which a deviation of log volatility halves.
    pub vol_half_life_days: f64,
    /// Mean number of jumps a year.
    pub jumps_a_year: f64,
    /// Standard deviation of a jump, log price.
    pub jump_size: f64,
    /// Volatility at a session's ends against its middle: 1 is flat, 2 twice as much; around the clock, of the busiest
    /// hour against the quietest.
    pub smile: f64,
    /// Share of a day's variance in the night before its session.
    pub night_share: f64,
    /// Median volume of a bar of usual volatility.
    pub volume: f64,
}

impl Default for MarketConfig {
    /// Hours around the clock from 2020 on: long calm rises and short stormy falls.
    fn default() -> Self {
        Self {
            start_price: 100.0,
            start_ts: 1_577_836_800_000_000_000,
            interval_ns: HOUR_S * 1_000_000_000,
            session: Session::Always,
            regimes: vec![
                Regime { drift: 0.25, volatility: 0.15, days: 120.0 },
                Regime { drift: 0.0, volatility: 0.22, days: 60.0 },
                Regime { drift: -0.4, volatility: 0.45, days: 30.0 },
            ],
            vol_of_vol: 0.35,
            vol_half_life_days: 10.0,
            jumps_a_year: 6.0,
            jump_size: 0.03,
            smile: 2.0,
            night_share: 0.2,
            volume: 1000.0,
        }
    }
}

/// A market and the truth behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Market {
    /// The market.
    pub bars: Bars,
    /// Index of each bar's regime. `[n_bars]`
    pub regime: Vec<usize>,
    /// Standard deviation of each bar's log return, night included, jumps aside. `[n_bars]`
    pub sigma: Vec<f64>,
    /// Bars that opened with a jump, each as often as it has jumps.
    pub jumps: Vec<usize>,
}

/// Why no market was made.
#[derive(Debug, Error)]
pub enum MarketError {
    /// A setting out of its range.
    #[error("{setting} is {value}; it must be {rule}")]
    Setting {
        /// The field.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// What holds for it.
        rule: &'static str,
    },
    /// More bars than the calendar has room for.
    #[error("{bars} bars run out of the calendar, which ends in the year 2149")]
    Calendar {
        /// Bars wanted.
        bars: usize,
    },
    /// A machine without the time zone of the session.
    #[error("this machine does not know the time zone America/New_York")]
    Zone,
    /// Parameters that give no valid bars.
    #[error(transparent)]
    Bars(#[from] BarsError),
}

/// Makes `n_bars` bars. The same seed and settings give the same bits.
///
/// Log volatility is an Ornstein-Uhlenbeck process, sampled exactly; returns given it are normal, with drift and median
/// volatility of the regime; jumps are a compound Poisson process with normal sizes and fall between a close and the
/// next open; high and low are exact draws of a Brownian bridge's extremes. Regimes, jumps and bars draw from streams
/// of their own, so that changing one leaves the others' numbers.
///
/// # Errors
/// [`MarketError`] for settings out of range, too many bars, or a price that leaves f64's range.
pub fn market(n_bars: usize, seed: u64, config: &MarketConfig) -> Result<Market, MarketError> {
    config.validate()?;
    let ts = config.stamps(n_bars)?;
    let bars_a_day = config.bars_a_day();
    let (days_a_year, year) = (config.days_a_year(), config.days_a_year() * bars_a_day);
    let regime = regimes(n_bars, seed, bars_a_day, &config.regimes);
    let keep = 0.5f64.powf(1.0 / (config.vol_half_life_days * bars_a_day));
    let (mut rng, mut jump_rng) = (Philox::new(seed, STREAM_BARS), Philox::new(seed, STREAM_JUMPS));
    let mut deviation = config.vol_of_vol * normal(&mut rng);
    let mut log_price = config.start_price.ln();
    let mut made = Made::default();
    for (t, &(stamp, opening)) in ts.iter().enumerate() {
        let state = &config.regimes[regime[t]];
        deviation = keep * deviation + config.vol_of_vol * (1.0 - keep * keep).sqrt() * normal(&mut rng);
        let annual = (state.volatility * deviation.exp()).powi(2);
        let opens_day = config.session == Session::Us && (t == 0 || opening != ts[t - 1].1);
        let day_variance = annual / days_a_year;
        let within = if config.session == Session::Us { 1.0 - config.night_share } else { 1.0 };
        let body_variance = day_variance * within / bars_a_day * config.pattern(stamp, opening);
        let gap_variance = if opens_day { day_variance * config.night_share } else { 0.0 };
        let n_jumps = poisson(jump_rng.uniform(), config.jumps_a_year / year);
        made.jumps.extend(std::iter::repeat_n(t, n_jumps));
        // A sum of n normal jumps is a normal one of √n times the size.
        let jump = if n_jumps > 0 { config.jump_size * (n_jumps as f64).sqrt() * normal(&mut jump_rng) } else { 0.0 };
        let open = log_price + gap_variance.sqrt() * normal(&mut rng) + jump;
        let body = state.drift / year + body_variance.sqrt() * normal(&mut rng);
        let (above, below) = (excursion(&mut rng, body, body_variance), excursion(&mut rng, -body, body_variance));
        let busy = (body_variance / (state.volatility.powi(2) / year)).sqrt();
        let volume = config.volume * busy * (0.4 * normal(&mut rng)).exp();
        log_price = open + body;
        made.push(stamp, [open, open + above, open - below, log_price], volume);
        made.sigma.push((body_variance + gap_variance).sqrt());
    }
    Ok(Market { bars: Bars::new(made.columns)?, regime, sigma: made.sigma, jumps: made.jumps })
}

/// The number of events of a Poisson law that a uniform draw in `[0, 1)` stands for: the first n of which more than n
/// come with a probability of at most the draw.
fn poisson(draw: f64, mean: f64) -> usize {
    let (mut n, mut term, mut more) = (0, (-mean).exp(), -(-mean).exp_m1());
    // Beyond the mean, terms below the draw's last bit cannot change the answer.
    while draw < more && (term > f64::EPSILON * f64::EPSILON || (n as f64) < mean) {
        n += 1;
        term *= mean / n as f64;
        more -= term;
    }
    n
}

#[derive(Default)]
struct Made {
    columns: BarColumns,
    sigma: Vec<f64>,
    jumps: Vec<usize>,
}

impl Made {
    fn push(&mut self, ts: i64, logs: [f64; 4], volume: f64) {
        let [open, high, low, close] = logs.map(f64::exp);
        let c = &mut self.columns;
        c.ts.push(ts);
        c.open.push(open);
        c.high.push(high);
        c.low.push(low);
        c.close.push(close);
        c.volume.push(volume);
    }
}

/// The regime of every bar.
fn regimes(n_bars: usize, seed: u64, bars_a_day: f64, states: &[Regime]) -> Vec<usize> {
    let mut rng = Philox::new(seed, STREAM_REGIMES);
    let mut state = rng.index(states.len());
    let mut out = Vec::with_capacity(n_bars);
    while out.len() < n_bars {
        let length = (-(1.0 - rng.uniform()).ln() * states[state].days * bars_a_day).round().max(1.0) as usize;
        out.resize(out.len() + length.min(n_bars - out.len()), state);
        if states.len() > 1 {
            state = (state + 1 + rng.index(states.len() - 1)) % states.len();
        }
    }
    out
}

impl MarketConfig {
    fn validate(&self) -> Result<(), MarketError> {
        let positive = [
            ("start_price", self.start_price),
            ("vol_half_life_days", self.vol_half_life_days),
            ("volume", self.volume),
            ("smile", self.smile),
        ];
        let not_negative =
            [("vol_of_vol", self.vol_of_vol), ("jumps_a_year", self.jumps_a_year), ("jump_size", self.jump_size)];
        let error = |setting, value, rule| Err(MarketError::Setting { setting, value, rule });
        for (setting, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return error(setting, value, "above 0");
            }
        }
        for (setting, value) in not_negative {
            if !(value.is_finite() && value >= 0.0) {
                return error(setting, value, "0 or more");
            }
        }
        if !(0.0..1.0).contains(&self.night_share) {
            return error("night_share", self.night_share, "at least 0 and below 1");
        }
        let bad = |r: &&Regime| !(r.drift.is_finite() && r.volatility > 0.0 && r.days > 0.0);
        if let Some(regime) = self.regimes.iter().find(bad) {
            return error("regimes", regime.volatility, "of finite drift, with volatility and days above 0");
        }
        if self.regimes.is_empty() {
            return error("regimes", 0.0, "one or more");
        }
        self.validate_interval()?;
        if self.jumps_a_year > MOST_JUMPS * self.days_a_year() * self.bars_a_day() {
            return error("jumps_a_year", self.jumps_a_year, "at most 500 a bar");
        }
        Ok(())
    }

    fn validate_interval(&self) -> Result<(), MarketError> {
        let error = |setting, value, rule| Err(MarketError::Setting { setting, value, rule });
        let half_hour = DAY_NS / 48;
        let divides = |whole: i64| self.interval_ns > 0 && whole % self.interval_ns == 0;
        match self.session {
            Session::Always if !divides(DAY_NS) => error("interval_ns", self.interval_ns as f64, "a divisor of a day"),
            Session::Us if self.interval_ns != DAY_NS && !divides(half_hour) => {
                error("interval_ns", self.interval_ns as f64, "a day or a divisor of half an hour")
            }
            _ => Ok(()),
        }
    }

    fn days_a_year(&self) -> f64 {
        match self.session {
            Session::Always => 365.0,
            Session::Us => 252.0,
        }
    }

    fn bars_a_day(&self) -> f64 {
        match self.session {
            Session::Us if self.interval_ns == DAY_NS => 1.0,
            Session::Us => 6.5 * 3.6e12 / self.interval_ns as f64,
            Session::Always => DAY_NS as f64 / self.interval_ns as f64,
        }
    }

    /// Variance of a bar against the mean of its day; `opening` is that of its session.
    fn pattern(&self, ts: i64, opening: i64) -> f64 {
        if self.interval_ns >= DAY_NS {
            return 1.0;
        }
        let of_day = ts.rem_euclid(DAY_NS) as f64 / DAY_NS as f64;
        let shape = match self.session {
            // Quietest at 04:00 UTC, busiest at 16:00.
            Session::Always => 0.5 - 0.5 * (std::f64::consts::TAU * (of_day - 1.0 / 6.0)).cos(),
            Session::Us => {
                let place = (ts - opening) as f64 + 0.5 * self.interval_ns as f64;
                let x = 2.0 * place / (6.5 * 3.6e12) - 1.0;
                x * x
            }
        };
        // Volatility rises linearly with the shape from 1 to `smile`; divided by the mean of its square over the day.
        let (k, mean, square) = match self.session {
            Session::Always => (self.smile - 1.0, 0.5, 0.375),
            Session::Us => (self.smile - 1.0, 1.0 / 3.0, 0.2),
        };
        (1.0 + k * shape).powi(2) / (1.0 + 2.0 * k * mean + k * k * square)
    }

    /// Stamp of every bar, and the opening of its session (around the clock: 0).
    fn stamps(&self, n_bars: usize) -> Result<Vec<(i64, i64)>, MarketError> {
        const END: i64 = 5_680_281_600_000_000_000;
        let too_many = || MarketError::Calendar { bars: n_bars };
        if self.session == Session::Always {
            let last = (n_bars as i64).checked_mul(self.interval_ns).and_then(|span| span.checked_add(self.start_ts));
            if last.is_none_or(|last| last > END) {
                return Err(too_many());
            }
            return Ok((0..n_bars as i64).map(|t| (self.start_ts + t * self.interval_ns, 0)).collect());
        }
        let zone = TimeZone::get("America/New_York").map_err(|_| MarketError::Zone)?;
        let start = Timestamp::from_nanosecond(i128::from(self.start_ts)).map_err(|_| too_many())?;
        let mut date = zone.to_datetime(start).date();
        let mut out = Vec::with_capacity(n_bars.min(1 << 24));
        while out.len() < n_bars {
            let open = session_open(date, &zone).filter(|&open| open < END).ok_or_else(too_many)?;
            let weekend = matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday);
            if !weekend && self.interval_ns == DAY_NS {
                // A daily bar carries its date, as vendors write it.
                let midnight = date.to_datetime(Time::midnight());
                let stamp = TimeZone::UTC.to_timestamp(midnight).ok().and_then(ns);
                out.extend(stamp.filter(|&ts| ts >= self.start_ts).map(|ts| (ts, open)));
            } else if !weekend {
                let bars = self.bars_a_day() as i64;
                let stamps = (0..bars).map(|i| open + i * self.interval_ns);
                out.extend(stamps.filter(|&ts| ts >= self.start_ts).map(|ts| (ts, open)));
            }
            date = date.tomorrow().map_err(|_| too_many())?;
        }
        out.truncate(n_bars);
        Ok(out)
    }
}

/// 09:30 in New York, UTC nanoseconds.
fn session_open(date: Date, zone: &TimeZone) -> Option<i64> {
    let civil = date.to_datetime(Time::midnight()).checked_add(SignedDuration::from_secs(19 * HOUR_S / 2)).ok()?;
    zone.to_timestamp(civil).ok().and_then(ns)
}

fn ns(stamp: Timestamp) -> Option<i64> {
    i64::try_from(stamp.as_nanosecond()).ok()
}

#[cfg(test)]
#[path = "market_tests.rs"]
mod tests;
