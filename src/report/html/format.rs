//! Numbers, dates and durations as a reader wants them: separators, a true minus sign, `–` for undefined.

use gigabar_market::time::DAY_NS;
use jiff::{Timestamp, tz::TimeZone};

/// What an undefined figure looks like.
pub(super) const UNDEFINED: &str = "–";

/// `1,234.50`; `–` when undefined or not finite.
pub(super) fn number(value: Option<f64>, decimals: usize) -> String {
    let Some(value) = value.filter(|v| v.is_finite()) else { return UNDEFINED.into() };
    if value.abs() >= 1e15 {
        return format!("{value:.3e}").replace('-', "−");
    }
    let digits = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let mut out = String::with_capacity(digits.len() + 8);
    // A value that rounds to zero has no sign.
    if value < 0.0 && digits.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        out.push('−');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A count with thousands separators.
pub(super) fn count(value: usize) -> String {
    number(Some(value as f64), 0)
}

/// A count with its noun: `1 trade`, `2,000 trades`.
pub(super) fn counted(value: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// A share as `12.3%`; from a hundredfold on decimals are noise.
pub(super) fn percent(value: Option<f64>, decimals: usize) -> String {
    match value.filter(|v| v.is_finite()) {
        Some(v) if v.abs() >= 1e6 => format!("{}%", format!("{:.1e}", v * 100.0).replace('-', "−")),
        Some(v) if v.abs() >= 100.0 => format!("{}%", number(Some(v * 100.0), 0)),
        Some(v) => format!("{}%", number(Some(v * 100.0), decimals)),
        None => UNDEFINED.into(),
    }
}

/// `text` of a value, with `+` in front when the value is above zero and the text does not round it away.
pub(super) fn signed(value: Option<f64>, text: String) -> String {
    let plus = value.is_some_and(|v| v.is_finite() && v > 0.0) && text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if plus { format!("+{text}") } else { text }
}

/// CSS class of a gain or a loss.
pub(super) fn tone(value: Option<f64>) -> &'static str {
    match value {
        Some(v) if v > 0.0 => "pos",
        Some(v) if v < 0.0 => "neg",
        _ => "",
    }
}

fn utc(ts_ns: i64, pattern: &str) -> String {
    let zoned = Timestamp::from_nanosecond(i128::from(ts_ns)).map(|t| t.to_zoned_datetime(TimeZone::UTC));
    zoned.map_or_else(|_| UNDEFINED.into(), |t| t.strftime(pattern).to_string())
}

/// UTC date of a time stamp in nanoseconds.
pub(super) fn date(ts_ns: i64) -> String {
    utc(ts_ns, "%Y-%m-%d")
}

/// UTC date, with the time of day when bars are shorter than a day.
pub(super) fn moment(ts_ns: i64, interval_ns: i64) -> String {
    utc(ts_ns, if interval_ns >= DAY_NS { "%Y-%m-%d" } else { "%Y-%m-%d %H:%M" })
}

/// `1 hour`, `5 minutes`, `1 day`: the bar interval in the largest unit that divides it.
pub(super) fn interval(ns: i64) -> String {
    let units = [(DAY_NS, "day"), (3_600_000_000_000, "hour"), (60_000_000_000, "minute"), (1_000_000_000, "second")];
    match units.iter().find(|(unit, _)| ns >= *unit && ns % unit == 0) {
        Some((unit, noun)) => counted((ns / unit) as usize, noun),
        None => format!("{} ms", number(Some(ns as f64 / 1e6), 0)),
    }
}

/// Six significant digits, as a JSON number; `None` (JSON null) for what is not finite.
pub(super) fn rounded(value: f64) -> Option<f64> {
    value.is_finite().then(|| format!("{value:.5e}").parse().unwrap_or(value))
}

/// Rounded to a fixed number of decimals; `None` for what is not finite.
pub(super) fn fixed(value: f64, decimals: i32) -> Option<f64> {
    let scale = 10f64.powi(decimals);
    let rounded = (value * scale).round() / scale;
    // Adding zero turns −0 into 0.
    rounded.is_finite().then_some(rounded + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_separators_and_a_true_minus() {
        assert_eq!(number(Some(1_234_567.891), 2), "1,234,567.89");
        assert_eq!(number(Some(-1234.5), 1), "−1,234.5");
        assert_eq!(number(Some(-0.001), 2), "0.00");
        assert_eq!(number(Some(999.999), 2), "1,000.00");
        assert_eq!(number(Some(f64::NAN), 2), UNDEFINED);
        assert_eq!(number(Some(f64::INFINITY), 2), UNDEFINED);
        assert_eq!(number(None, 2), UNDEFINED);
        assert_eq!(counted(1, "trade"), "1 trade");
        assert_eq!(counted(12_000, "trade"), "12,000 trades");
    }

    #[test]
    fn percents_and_signs() {
        assert_eq!(percent(Some(0.12345), 1), "12.3%");
        assert_eq!(percent(Some(1234.567), 2), "123,457%");
        assert_eq!(percent(Some(58_385_205.9), 2), "5.8e9%");
        assert_eq!(signed(Some(0.12), percent(Some(0.12), 1)), "+12.0%");
        assert_eq!(signed(Some(0.00001), percent(Some(0.00001), 1)), "0.0%");
        assert_eq!(signed(Some(-0.12), percent(Some(-0.12), 1)), "−12.0%");
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(moment(1_704_067_200_000_000_000, 3_600_000_000_000), "2024-01-01 00:00");
        assert_eq!(date(1_704_067_200_000_000_000 - 1), "2023-12-31");
        assert_eq!(interval(300_000_000_000), "5 minutes");
        assert_eq!(interval(DAY_NS), "1 day");
        assert_eq!(interval(250_000_000), "250 ms");
    }

    #[test]
    fn json_numbers_are_short_and_finite() {
        assert_eq!(rounded(123.456_789), Some(123.457));
        assert_eq!(rounded(f64::NAN), None);
        assert_eq!(fixed(-0.000_001, 4).map(f64::to_bits), Some(0f64.to_bits()));
        assert_eq!(fixed(f64::NEG_INFINITY, 4), None);
    }
}
