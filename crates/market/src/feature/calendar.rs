//! Time of day and weekday, UTC, of the bar's open: known before the bar closes.

use std::f64::consts::TAU;

use super::{Column, Job};
use crate::Bars;
use crate::time::DAY_NS;

/// This family's features.
pub(super) const JOBS: &[Job] = &[hour, weekday];

fn hour(bars: &Bars) -> Vec<Column> {
    circle("hour", bars, |ts| ts.rem_euclid(DAY_NS) as f64 / DAY_NS as f64)
}

fn weekday(bars: &Bars) -> Vec<Column> {
    circle("weekday", bars, |ts| monday_based(ts) as f64 / 7.0)
}

/// 0 for Monday to 6 for Sunday; day 0 of the Unix epoch was a Thursday.
fn monday_based(ts: i64) -> i64 {
    (ts.div_euclid(DAY_NS) + 3).rem_euclid(7)
}

fn circle(name: &str, bars: &Bars, share: impl Fn(i64) -> f64) -> Vec<Column> {
    let (sin, cos) = bars.ts().iter().map(|&ts| (TAU * share(ts)).sin_cos()).unzip();
    vec![Column::new(format!("{name}_sin"), 0, sin), Column::new(format!("{name}_cos"), 0, cos)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekdays_before_and_after_the_epoch() {
        assert_eq!(monday_based(0), 3);
        assert_eq!(monday_based(-1), 2);
        // 2024-01-01, a Monday
        assert_eq!(monday_based(1_704_067_200_000_000_000), 0);
    }
}
