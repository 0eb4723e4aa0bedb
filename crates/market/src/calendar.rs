//! Interval and periods per year, read from the time stamps.

use crate::time::DAY_NS;

/// An hour, nanoseconds.
const HOUR_NS: i64 = 3_600_000_000_000;
/// Trading days of a session market in a year.
const SESSION_DAYS: f64 = 252.0;
/// Days of a market that trades on six days a week, 365 · 6 / 7.
const SIX_DAYS: f64 = 313.0;
/// Days of a market that never closes.
const CALENDAR_DAYS: f64 = 365.0;
/// Daily bars must span this many days before their Saturdays decide anything.
const MIN_DAILY_SPAN_NS: i64 = 28 * DAY_NS;
/// Time of a day of the week a file must cover before it counts: less may be Friday's last hours, or Monday's first, seen
/// from another time zone.
const MIN_DAY_NS: i64 = 6 * HOUR_NS;

/// Median distance between neighbouring bars, nanoseconds (the upper of the two middle ones where their number is
/// even).
/// `ts` is sorted; fewer than two stamps have no distance and give 0.
pub fn interval_ns(ts: &[i64]) -> i64 {
    let mut distances: Vec<i64> = ts.windows(2).map(|w| w[1].saturating_sub(w[0])).collect();
    if distances.is_empty() {
        return 0;
    }
    let middle = distances.len() / 2;
    *distances.select_nth_unstable(middle).1
}

/// Bars per year, the factor that annualises, from sorted stamps (UTC nanoseconds) and their median distance.
///
/// | bars | factor |
/// |---|---|
/// | a week apart (6–8 days), a month (27–32), a quarter (88–93), a year (360–370) | 52, 12, 4, 1 |
/// | farther than six days apart, none of these | 365 days / interval |
/// | of a market that never closes ([`is_always_open`]) | 365 days / interval |
/// | of a session market, up to a day apart | days a year · median number of bars on a calendar day (UTC) that has any |
/// | of a session market, more than a day apart | days a year / interval |
///
/// A session market has 252 days a year; one that trades on six days of the week (daily bars from Sunday to Friday, as
/// futures and currencies have them in UTC) 313.
///
/// Counting bars per day, instead of dividing a session's hours, makes sparse series (pre- and post-market minutes,
/// illiquid hours) annualise by the bars they really have. NaN when there is no interval.
pub fn periods_per_year(ts: &[i64], interval_ns: i64) -> f64 {
    if interval_ns <= 0 {
        return f64::NAN;
    }
    let days = interval_ns as f64 / DAY_NS as f64;
    if days >= 6.0 {
        return calendar_count(days);
    }
    if is_always_open(ts, interval_ns) {
        return CALENDAR_DAYS / days;
    }
    let days_a_year = if n_trading_days(ts, interval_ns) == 6 { SIX_DAYS } else { SESSION_DAYS };
    if days > 1.0 { days_a_year / days } else { days_a_year * median_bars_per_day(ts) }
}

/// Whether the market trades around the clock: its Saturdays, and its Sundays where the file covers any, hold at least
/// half the bars of its weekdays per hour. Currency markets, open from Sunday evening to Friday evening, are not.
///
/// Bars a day or more apart need four weeks to decide, shorter ones six hours of Saturday (or nothing but weekend);
/// until then the market counts as a session market.
pub fn is_always_open(ts: &[i64], interval_ns: i64) -> bool {
    let Some(week) = Week::of(ts, interval_ns) else { return false };
    let (weekday_bars, weekday_ns): (u64, i64) = (week.bars[..5].iter().sum(), week.covered[..5].iter().sum());
    if weekday_bars == 0 {
        return week.bars[SATURDAY] > 0;
    }
    let usual = 0.5 * weekday_bars as f64 / weekday_ns as f64;
    let trades = |day: usize| week.density(day).is_some_and(|density| density >= usual);
    trades(SATURDAY) && (trades(SUNDAY) || week.density(SUNDAY).is_none())
}

/// Days of the week that hold more than half the bars, per hour covered, of the one that holds most. Days that are
/// Monday to Friday where they begin may be Sunday to Thursday in UTC, for a part of the year or all of it: five.
fn n_trading_days(ts: &[i64], interval_ns: i64) -> usize {
    let Some(week) = Week::of(ts, interval_ns) else { return 5 };
    let densities: Vec<f64> = (0..7).filter_map(|day| week.density(day)).collect();
    let most = densities.iter().copied().fold(0.0, f64::max);
    densities.into_iter().filter(|density| *density > 0.5 * most).count()
}

/// What a file holds of each day of the week, Monday first.
struct Week {
    bars: [u64; 7],
    covered: [i64; 7],
}

impl Week {
    /// `None` where there is too little to tell days apart.
    fn of(ts: &[i64], interval_ns: i64) -> Option<Self> {
        let (first, end) = (*ts.first()?, ts.last()?.saturating_add(interval_ns));
        if interval_ns >= DAY_NS && end.saturating_sub(first) < MIN_DAILY_SPAN_NS {
            return None;
        }
        let mut bars = [0u64; 7];
        for &t in ts {
            bars[weekday(t.div_euclid(DAY_NS))] += 1;
        }
        Some(Self { bars, covered: covered_ns(first, end) })
    }

    /// Bars per nanosecond; `None` where the file covers too little of such days.
    fn density(&self, day: usize) -> Option<f64> {
        (self.covered[day] >= MIN_DAY_NS).then(|| self.bars[day] as f64 / self.covered[day] as f64)
    }
}

const SATURDAY: usize = 5;
const SUNDAY: usize = 6;

/// Monday 0 … Sunday 6 of a day counted from the epoch, which was a Thursday.
fn weekday(day: i64) -> usize {
    (day + 3).rem_euclid(7) as usize
}

/// How much of `first..end` falls on each weekday, Monday first, nanoseconds.
fn covered_ns(first: i64, end: i64) -> [i64; 7] {
    let mut covered = [0i64; 7];
    for day in first.div_euclid(DAY_NS)..=end.div_euclid(DAY_NS) {
        let begin = day.saturating_mul(DAY_NS);
        let overlap = end.min(begin.saturating_add(DAY_NS)).saturating_sub(first.max(begin));
        let slot = &mut covered[weekday(day)];
        *slot = slot.saturating_add(overlap.max(0));
    }
    covered
}

/// Periods per year of bars a week or more apart.
fn calendar_count(days: f64) -> f64 {
    match days {
        d if (6.0..=8.0).contains(&d) => 52.0,
        d if (27.0..=32.0).contains(&d) => 12.0,
        d if (88.0..=93.0).contains(&d) => 4.0,
        d if (360.0..=370.0).contains(&d) => 1.0,
        d => CALENDAR_DAYS / d,
    }
}

/// Median over the calendar days that have bars. Sorted stamps in.
fn median_bars_per_day(ts: &[i64]) -> f64 {
    let mut counts: Vec<u32> =
        ts.chunk_by(|a, b| a.div_euclid(DAY_NS) == b.div_euclid(DAY_NS)).map(|day| day.len() as u32).collect();
    counts.sort_unstable();
    match counts.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => f64::from(counts[n / 2]),
        n => 0.5 * (f64::from(counts[n / 2 - 1]) + f64::from(counts[n / 2])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2024-01-01, a Monday.
    const MONDAY: i64 = 19_723 * DAY_NS;

    fn factor(ts: &[i64]) -> f64 {
        periods_per_year(ts, interval_ns(ts))
    }

    /// Every `step` from Monday on, where `open(weekday, hour)` says the market trades.
    fn market(days: i64, step: i64, open: impl Fn(usize, i64) -> bool) -> Vec<i64> {
        let stamps = (0..days * DAY_NS / step).map(|i| MONDAY + i * step);
        stamps.filter(|t| open(weekday(t.div_euclid(DAY_NS)), t.rem_euclid(DAY_NS) / HOUR_NS)).collect()
    }

    /// The first stamp of every `step`, what a resampler keeps.
    fn resample(ts: &[i64], step: i64) -> Vec<i64> {
        let mut out: Vec<i64> = ts.iter().map(|t| t.div_euclid(step) * step).collect();
        out.dedup();
        out
    }

    fn forex(weekday: usize, hour: i64) -> bool {
        match weekday {
            0..=3 => true,
            4 => hour < 22,
            6 => hour >= 22,
            _ => false,
        }
    }

    #[test]
    fn crypto_is_always_open_at_every_interval() {
        let minutes = market(60, 60_000_000_000, |_, _| true);
        assert_eq!(factor(&minutes), 365.0 * 1440.0);
        assert_eq!(factor(&resample(&minutes, HOUR_NS)), 365.0 * 24.0);
        assert_eq!(factor(&resample(&minutes, DAY_NS)), 365.0);
    }

    #[test]
    fn forex_opens_on_sunday_evening_and_is_not_always_open() {
        let minutes = market(60, 60_000_000_000, forex);
        assert_eq!(factor(&minutes), 252.0 * 1440.0);
        assert_eq!(factor(&resample(&minutes, HOUR_NS)), 252.0 * 24.0);
        // Sunday evening is a bar of its own.
        assert_eq!(factor(&resample(&minutes, DAY_NS)), 313.0);
    }

    #[test]
    fn resampling_a_path_scales_the_factor_by_the_bars_kept() {
        let stocks = market(140, 60_000_000_000, |weekday, hour| weekday < 5 && (14..21).contains(&hour));
        for (path, name) in [(market(140, 60_000_000_000, |_, _| true), "crypto"), (stocks, "stocks")] {
            for step in [5 * 60_000_000_000, HOUR_NS, DAY_NS] {
                let kept = resample(&path, step);
                let factors = factor(&path) / factor(&kept);
                let bars = path.len() as f64 / kept.len() as f64;
                assert!((factors / bars - 1.0).abs() < 0.02, "{name} at {step} ns: factor {factors}, bars {bars}");
            }
        }
    }

    #[test]
    fn few_daily_bars_count_as_a_session_market() {
        let daily = market(27, DAY_NS, |_, _| true);
        assert_eq!(factor(&daily), 252.0);
        assert_eq!(factor(&market(28, DAY_NS, |_, _| true)), 365.0);
        assert_eq!(factor(&market(400, DAY_NS, |weekday, _| weekday < 5)), 252.0);
    }

    #[test]
    fn daily_bars_on_six_days_of_the_week() {
        let six = |closed: usize| factor(&market(400, DAY_NS, |weekday, _| weekday != closed));
        assert_eq!((six(SATURDAY), six(SUNDAY)), (313.0, 313.0));
        let monday_to_saturday = market(400, HOUR_NS, |weekday, hour| weekday < 6 && (9..17).contains(&hour));
        assert_eq!(factor(&monday_to_saturday), 313.0 * 8.0);
        // Weekdays of Tokyo and of London, whose summer days begin on the evening before in UTC, and of Tel Aviv.
        let weekdays = market(800, DAY_NS, |weekday, _| weekday < 5);
        let tokyo: Vec<i64> = weekdays.iter().map(|t| t - 9 * HOUR_NS).collect();
        let summer = |t: i64| (90..300).contains(&((t - MONDAY).div_euclid(DAY_NS) % 365));
        let london: Vec<i64> = weekdays.iter().map(|&t| if summer(t) { t - HOUR_NS } else { t }).collect();
        let tel_aviv = market(400, DAY_NS, |weekday, _| !(4..6).contains(&weekday));
        assert_eq!([factor(&tokyo), factor(&london), factor(&tel_aviv)], [252.0; 3]);
        let seldom = |t: &i64| weekday(t.div_euclid(DAY_NS)) != SUNDAY || t.div_euclid(7 * DAY_NS) % 3 == 0;
        let some_sundays: Vec<i64> = market(400, DAY_NS, |day, _| day != SATURDAY).into_iter().filter(seldom).collect();
        assert_eq!(factor(&some_sundays), 252.0);
    }

    #[test]
    fn weeks_months_quarters_and_years_are_counted_by_the_calendar() {
        let apart = |days: i64| (0..20).map(|i| MONDAY + i * days * DAY_NS).collect::<Vec<_>>();
        for (days, want) in [(7, 52.0), (30, 12.0), (31, 12.0), (91, 4.0), (365, 1.0), (73, 5.0)] {
            assert_eq!(factor(&apart(days)), want, "{days} days");
        }
    }

    #[test]
    fn friday_hours_that_spill_into_saturday_do_not_open_the_weekend() {
        let week = market(5, 60_000_000_000, |_, _| true);
        let spill: Vec<i64> =
            week.iter().copied().chain((0..60).map(|m| MONDAY + 5 * DAY_NS + m * 60_000_000_000)).collect();
        assert_eq!(factor(&spill), 252.0 * 1440.0);
    }

    #[test]
    fn a_file_that_ends_during_its_only_saturday_is_judged_by_the_hours_it_covers() {
        let hours = market(6, HOUR_NS, |weekday, hour| weekday < 5 || hour < 8);
        assert_eq!(factor(&hours), 365.0 * 24.0);
    }

    #[test]
    fn no_interval_gives_no_factor() {
        assert_eq!(interval_ns(&[5]), 0);
        assert!(periods_per_year(&[5], 0).is_nan());
    }
}
