//! Returns by calendar month and year (by day when the run is short), for the heat map.

use std::collections::BTreeMap;

use gigabar_market::time::DAY_NS;
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use super::chain::BarReturn;
use super::format;

/// Runs shorter than this many calendar months are shown by day.
const MIN_MONTHS: usize = 3;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The heat map as the page shows it.
#[derive(Debug, Default, Serialize)]
pub(super) struct HeatMap {
    title: &'static str,
    hint: String,
    /// Head of the first column.
    corner: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, Serialize)]
struct Cell {
    text: String,
    tone: String,
    /// 0..1, how deep the colour is.
    strength: f64,
    title: String,
}

/// Compounded returns of the bars of one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Period {
    growth: f64,
    benchmark: f64,
    n_bars: usize,
}

impl Default for Period {
    fn default() -> Self {
        Self { growth: 1.0, benchmark: 1.0, n_bars: 0 }
    }
}

impl Period {
    fn add(&mut self, bar: &BarReturn) {
        self.growth *= 1.0 + bar.ret;
        self.benchmark *= 1.0 + bar.benchmark;
        self.n_bars += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.growth *= other.growth;
        self.benchmark *= other.benchmark;
        self.n_bars += other.n_bars;
    }

    fn ret(&self) -> f64 {
        self.growth - 1.0
    }
}

/// A bar belongs to the UTC day on which it opens: (year, month, day, days since the epoch).
fn civil(ts: i64) -> Option<(i16, i8, i8, i64)> {
    let date = Timestamp::from_nanosecond(i128::from(ts)).ok()?.to_zoned_datetime(TimeZone::UTC).date();
    Some((date.year(), date.month(), date.day(), ts.div_euclid(DAY_NS)))
}

/// Returns compounded by (year, month). A bar's return counts in the month in which the bar opens, UTC.
pub(super) fn by_month(bars: &[BarReturn]) -> BTreeMap<(i16, i8), Period> {
    let mut months: BTreeMap<(i16, i8), Period> = BTreeMap::new();
    for bar in bars {
        if let Some((year, month, ..)) = civil(bar.ts) {
            months.entry((year, month)).or_default().add(bar);
        }
    }
    months
}

/// The heat map of a run: months by year, or weekdays by week when it spans less than three months.
pub(super) fn heat_map(bars: &[BarReturn], interval_ns: i64) -> HeatMap {
    let months = by_month(bars);
    if months.len() >= MIN_MONTHS || interval_ns >= DAY_NS { month_map(&months) } else { day_map(bars) }
}

fn month_map(months: &BTreeMap<(i16, i8), Period>) -> HeatMap {
    let scale = scale(months.values());
    let mut years: BTreeMap<i16, [Option<Period>; 12]> = BTreeMap::new();
    for (&(year, month), period) in months {
        years.entry(year).or_default()[month as usize - 1] = Some(*period);
    }
    let rows = years.iter().map(|(year, periods)| {
        let mut total = Period::default();
        periods.iter().flatten().for_each(|p| total.merge(p));
        let name = |month: usize| format!("{} {year}", MONTHS[month]);
        let mut cells: Vec<Cell> = periods.iter().enumerate().map(|(m, p)| cell(p.as_ref(), scale, &name(m))).collect();
        let mut year_cell = cell(Some(&total), f64::INFINITY, &year.to_string());
        year_cell.tone = format!("year {}", format::tone(Some(total.ret())));
        cells.push(year_cell);
        Row { name: year.to_string(), cells }
    });
    HeatMap {
        title: "Monthly returns",
        hint: "Compounded by UTC month; hover for buy-and-hold. Partial months count what was lived through.".into(),
        corner: "",
        columns: MONTHS.into_iter().chain(["Year"]).collect(),
        rows: rows.collect(),
    }
}

fn day_map(bars: &[BarReturn]) -> HeatMap {
    let mut days: BTreeMap<i64, (String, Period)> = BTreeMap::new();
    for bar in bars {
        if let Some((.., day)) = civil(bar.ts) {
            days.entry(day).or_insert_with(|| (format::date(bar.ts), Period::default())).1.add(bar);
        }
    }
    let scale = scale(days.values().map(|(_, p)| p));
    // Day 0 of the epoch was a Thursday; weeks begin on Monday.
    let week_of = |day: i64| (day + 3).div_euclid(7);
    let mut weeks: BTreeMap<i64, Vec<Option<&(String, Period)>>> = BTreeMap::new();
    for (day, entry) in &days {
        weeks.entry(week_of(*day)).or_insert_with(|| vec![None; 7])[(day + 3).rem_euclid(7) as usize] = Some(entry);
    }
    let rows = weeks.iter().map(|(week, entries)| {
        let mut total = Period::default();
        entries.iter().flatten().for_each(|(_, p)| total.merge(p));
        let none = String::new();
        let mut cells: Vec<Cell> =
            entries.iter().map(|e| cell(e.map(|(_, p)| p), scale, e.map_or(&none, |(name, _)| name))).collect();
        let monday = format::date((week * 7 - 3) * DAY_NS);
        let mut week_cell = cell(Some(&total), f64::INFINITY, &format!("week of {monday}"));
        week_cell.tone = format!("year {}", format::tone(Some(total.ret())));
        cells.push(week_cell);
        Row { name: monday, cells }
    });
    HeatMap {
        title: "Daily returns",
        hint: "Compounded by UTC day (the run is too short for a table of months); hover for buy-and-hold.".into(),
        corner: "Week of",
        columns: DAYS.into_iter().chain(["Week"]).collect(),
        rows: rows.collect(),
    }
}

/// The return at which the colour is deepest: the largest |return|, but never below 0.1 %.
fn scale<'a>(periods: impl Iterator<Item = &'a Period>) -> f64 {
    periods.map(|p| p.ret().abs()).filter(|r| r.is_finite()).fold(0.001, f64::max)
}

fn cell(period: Option<&Period>, scale: f64, name: &str) -> Cell {
    let Some(period) = period.filter(|p| p.n_bars > 0) else {
        return Cell { text: format::UNDEFINED.into(), tone: "none".into(), strength: 0.0, title: String::new() };
    };
    let ret = Some(period.ret());
    let text = format::signed(ret, format::percent(ret, 1));
    let benchmark = Some(period.benchmark - 1.0);
    let title = format!(
        "{name}: {}; buy-and-hold {}; {}",
        format::signed(ret, format::percent(ret, 2)),
        format::signed(benchmark, format::percent(benchmark, 2)),
        format::counted(period.n_bars, "bar return")
    );
    let tone = match period.ret() {
        r if r > 0.0 => "up",
        r if r < 0.0 => "down",
        _ => "even",
    };
    let strength = format::fixed(period.ret().abs() / scale, 3).unwrap_or(0.0).min(1.0);
    Cell { text, tone: tone.into(), strength, title }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;
    /// 2024-01-31T22:00:00Z
    const START: i64 = 1_706_738_400_000_000_000;

    fn bar(hours: i64, ret: f64) -> BarReturn {
        BarReturn { ts: START + hours * HOUR, ret, benchmark: 0.01 }
    }

    #[test]
    fn months_compound_to_the_hand_value() {
        // 22:00 and 23:00 are January, 00:00 onwards February; a bar next year starts a new row.
        let bars = [bar(0, 0.10), bar(1, -0.05), bar(2, 0.02), bar(3, 0.03), bar(24 * 366, -0.5)];
        let months = by_month(&bars);
        let ret = |key| months[&key].ret();
        assert_eq!(months.keys().copied().collect::<Vec<_>>(), [(2024, 1), (2024, 2), (2025, 1)]);
        assert!((ret((2024, 1)) - 0.045).abs() < 1e-12);
        assert!((ret((2024, 2)) - 0.0506).abs() < 1e-12);
        assert!((ret((2025, 1)) + 0.5).abs() < 1e-12);
        let map = heat_map(&bars, HOUR);
        assert_eq!(map.rows.len(), 2);
        assert_eq!(map.rows[0].cells[0].text, "+4.5%");
        assert_eq!(map.rows[0].cells[2].text, format::UNDEFINED);
        // 1.045 · 1.0506 − 1 = 9.7877 %
        assert_eq!(map.rows[0].cells[12].text, "+9.8%");
        assert!(
            map.rows[0].cells[0].title.contains("buy-and-hold +2.01%; 2 bar returns"),
            "{}",
            map.rows[0].cells[0].title
        );
    }

    #[test]
    fn short_runs_are_shown_by_day() {
        let bars = [bar(0, 0.10), bar(2, 0.01), bar(3, 0.01)];
        let map = heat_map(&bars, HOUR);
        assert_eq!(map.title, "Daily returns");
        // 2024-01-31 was a Wednesday.
        assert_eq!((map.corner, map.rows[0].name.as_str()), ("Week of", "2024-01-29"));
        assert_eq!(map.rows[0].cells[2].text, "+10.0%");
        assert_eq!(map.rows[0].cells[3].text, "+2.0%");
        assert_eq!(map.rows[0].cells[7].text, "+12.2%");
    }

    #[test]
    fn ruin_and_nothing_do_not_panic() {
        assert!(heat_map(&[], HOUR).rows.is_empty());
        let map = heat_map(&[bar(0, -1.0), bar(1, 0.0)], HOUR);
        assert_eq!(map.rows[0].cells[2].text, "−100.0%");
    }
}
