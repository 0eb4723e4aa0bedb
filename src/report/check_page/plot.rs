//! Plots of bars as SVG. A plot draws at most a thousand points, whatever the number of bars: extremes stay.

use std::fmt::Write;

use gigabar_market::Bars;
use gigabar_market::jumps::{SUSPICIOUS_Z, jumps, robust};
use gigabar_market::time::{DAY_NS, day};
use jiff::tz::TimeZone;

use super::slots::{Slots, local, of_day_ns};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 20.0;
const TOP: f64 = 8.0;
/// Prices are drawn on a logarithmic scale where the highest is more than this many times the lowest.
const LOG_FROM: f64 = 5.0;

/// A plot's vertical axis.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    fn new(low: f64, high: f64, log: bool) -> Self {
        let (low, high) = if log { (low.ln(), high.ln()) } else { (low, high) };
        let room = if high > low { 0.0 } else { low.abs().max(1.0) * 0.01 };
        Self { low: low - room, high: high + room, log }
    }

    fn y(&self, value: f64) -> f64 {
        let value = if self.log { value.ln() } else { value };
        TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - (value - self.low) / (self.high - self.low))
    }

    fn frame(&self) -> String {
        let mut out = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">");
        for i in 0..=4 {
            let at = self.low + (self.high - self.low) * f64::from(i) / 4.0;
            let value = if self.log { at.exp() } else { at };
            let y = self.y(value);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                short(value)
            );
        }
        out
    }
}

/// A number in about four digits.
fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        0.0 => "0".into(),
        s if s >= 1e9 => format!("{:.3} G", value / 1e9),
        s if s >= 1e6 => format!("{:.3} M", value / 1e6),
        s if s >= 1e4 => format!("{:.1} k", value / 1e3),
        s if s >= 100.0 => format!("{value:.0}"),
        s if s >= 1.0 => format!("{value:.2}"),
        s if s >= 1e-3 => format!("{value:.5}"),
        _ => format!("{value:.2e}"),
    }
}

fn x(place: f64) -> f64 {
    LEFT + (WIDTH - LEFT) * place
}

/// First, middle and last day under a plot over time.
fn days(out: &mut String, slots: &Slots) {
    for (place, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
        let (at, below) = (x(place), HEIGHT - 5.0);
        let day = slots.day(place);
        let _ = write!(out, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"{anchor}\">{day}</text>");
    }
}

/// Closes, each column's lowest and highest, with rings around jumps.
pub(super) fn price(bars: &Bars, slots: &Slots) -> String {
    let (low, high) = bars.close().iter().fold((f64::MAX, f64::MIN), |(l, h), &c| (l.min(c), h.max(c)));
    let axis = Axis::new(low, high, high > LOG_FROM * low);
    let mut out = axis.frame();
    out.push_str("<path class=\"line\" d=\"");
    let (columns, n) = (&slots.columns, slots.n as f64);
    let mut start = 0;
    for group in columns.chunk_by(|a, b| a == b) {
        let closes = &bars.close()[start..start + group.len()];
        let (low, high) = closes.iter().fold((f64::MAX, f64::MIN), |(l, h), &c| (l.min(c), h.max(c)));
        let at = x((group[0] as f64 + 0.5) / n);
        let _ = write!(out, "{}{at:.1} {:.1}", if start == 0 { 'M' } else { 'L' }, axis.y(closes[0]));
        if group.len() > 1 {
            let _ = write!(out, "V{:.1}V{:.1}", axis.y(low), axis.y(high));
        }
        start += group.len();
    }
    out.push_str("\"/>");
    for jump in jumps(bars.columns(), SUSPICIOUS_Z).iter().take(100) {
        let at = x((columns[jump.row] as f64 + 0.5) / n);
        let title = format!("{} close {} after {}", day(bars.ts()[jump.row]), jump.close, jump.before);
        let _ = write!(
            out,
            "<circle class=\"jump\" cx=\"{at:.1}\" cy=\"{:.1}\" r=\"5\"><title>{title}</title></circle>",
            axis.y(jump.close)
        );
    }
    days(&mut out, slots);
    out + "</svg>"
}

/// Rectangles of the given heights from the axis' low end.
fn rectangles(axis: &Axis, heights: &[f64]) -> String {
    let mut out = axis.frame();
    let width = (WIDTH - LEFT) / heights.len() as f64;
    let floor = HEIGHT - BOTTOM;
    for (i, height) in heights.iter().enumerate().filter(|(_, h)| **h > 0.0) {
        let y = axis.y(*height).min(floor);
        let at = LEFT + width * i as f64;
        let _ = write!(
            out,
            "<rect class=\"bar\" x=\"{at:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{:.1}\"/>",
            (width * 0.9).max(0.5),
            floor - y
        );
    }
    out
}

fn over_time(slots: &Slots, value: impl Fn(usize) -> f64) -> String {
    let mut heights = vec![0.0; slots.n];
    slots.columns.iter().enumerate().for_each(|(t, &column)| heights[column] += value(t));
    let axis = Axis::new(0.0, heights.iter().copied().fold(0.0, f64::max), false);
    let mut out = rectangles(&axis, &heights);
    days(&mut out, slots);
    out + "</svg>"
}

/// Sum of volume.
pub(super) fn volume(bars: &Bars, slots: &Slots) -> String {
    over_time(slots, |t| bars.volume()[t])
}

/// Number of bars.
pub(super) fn coverage(slots: &Slots) -> String {
    over_time(slots, |_| 1.0)
}

/// Histogram of log returns over their robust standard deviation, −12 to 12.
pub(super) fn returns(bars: &Bars) -> Option<String> {
    const HALF: usize = 48;
    let returns: Vec<f64> = bars.close().windows(2).map(|w| (w[1] / w[0]).ln()).collect();
    let sigma = robust(bars.close())?;
    let mut counts = [0.0f64; 2 * HALF + 1];
    for r in &returns {
        let bin = (r / sigma * 4.0).round().clamp(-(HALF as f64), HALF as f64) as i64 + HALF as i64;
        counts[bin as usize] += 1.0;
    }
    let axis = Axis::new(0.5, counts.iter().copied().fold(1.0, f64::max), true);
    let mut out = rectangles(&axis, &counts);
    for z in [-12, -6, 0, 6, 12] {
        let place = (f64::from(z) * 4.0 + HALF as f64 + 0.5) / (2 * HALF + 1) as f64;
        let label = if i32::abs(z) == 12 { format!("{z} and beyond") } else { z.to_string() };
        let anchor = if z < -6 {
            "start"
        } else if z > 6 {
            "end"
        } else {
            "middle"
        };
        let _ =
            write!(out, "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{label}</text>", x(place), HEIGHT - 5.0);
    }
    Some(out + "</svg>")
}

/// Mean absolute log return by time of day, for bars shorter than six hours.
pub(super) fn time_of_day(bars: &Bars, zone: &TimeZone) -> Option<String> {
    if bars.interval_ns() > DAY_NS / 4 {
        return None;
    }
    let slots = ((DAY_NS / bars.interval_ns().max(1)) as usize).clamp(4, 96);
    let (mut sums, mut counts) = (vec![0.0; slots], vec![0.0f64; slots]);
    for (t, w) in bars.close().windows(2).enumerate() {
        let slot = (of_day_ns(&local(bars.ts()[t + 1], zone)) as f64 / DAY_NS as f64 * slots as f64) as usize;
        sums[slot] += (w[1] / w[0]).ln().abs();
        counts[slot] += 1.0;
    }
    let means: Vec<f64> = sums.iter().zip(&counts).map(|(sum, n)| if *n > 0.0 { sum / n } else { 0.0 }).collect();
    let axis = Axis::new(0.0, means.iter().copied().fold(0.0, f64::max), false);
    let mut out = rectangles(&axis, &means);
    for hour in [0, 6, 12, 18, 24] {
        let anchor = if hour == 0 {
            "start"
        } else if hour == 24 {
            "end"
        } else {
            "middle"
        };
        let place = x(f64::from(hour) / 24.0);
        let _ =
            write!(out, "<text x=\"{place:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{hour:02}:00</text>", HEIGHT - 5.0);
    }
    Some(out + "</svg>")
}
