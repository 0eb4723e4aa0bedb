//! Interval and periods per year, read from the time stamps.

/// Median distance between neighbouring bars, nanoseconds.
pub fn interval_ns(ts: &[i64]) -> i64 {
    let mut gaps: Vec<i64> = ts.windows(2).map(|w| w[1] - w[0]).collect();
    let middle = gaps.len() / 2;
    *gaps.select_nth_unstable(middle).1
}

/// 365·24·3600 s / interval.
pub fn periods_per_year(_ts: &[i64], interval_ns: i64) -> f64 {
    365.0 * 86_400.0e9 / interval_ns as f64
}
