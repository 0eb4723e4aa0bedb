//! Longer bars of shorter ones: first open, highest high, lowest low, last close, sum of volumes.
//!
//! Buckets are those of the clock in a time zone. A step of an hour or less is counted from the full hour (or from the
//! anchor) in elapsed time, so that a day of 25 hours has 25 hourly bars. A longer step within the day is counted on
//! the wall clock from midnight (or the anchor), so that 4-hour bars begin at 00, 04, 08 … every day, and the one in
//! which the clocks change is an hour shorter or longer. Days, weeks (from Monday) and months begin at local midnight
//! (or at the anchor) of their first day. A bucket without bars makes none; a bar is labelled with the bucket's begin.
//!
//! Buckets that would begin inside of bars are refused: such a bucket's close would be known only after its end. Bars
//! that have the length wanted already, but another begin, stay as they are.

pub(crate) mod grid;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

use crate::time::{DAY_NS, interval, skipped_at};
use crate::{BarColumns, Bars};

pub use grid::Refusal;
use grid::{Fit, hours_minutes};

const HOUR_NS: i64 = 3_600_000_000_000;

/// A length of bars to be made, and where the buckets begin.
#[derive(Debug, Clone)]
pub struct Resample {
    step: Step,
    /// As given, without the anchor.
    length: String,
    /// Time of day at which the first bucket of a day begins; midnight where none is given.
    anchor: Option<Time>,
    zone: TimeZone,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// Nanoseconds; a divisor of the day.
    Within(i64),
    Day,
    Week,
    Month,
}

/// What was made.
#[derive(Debug, Clone)]
pub struct Resampled {
    /// The bars.
    pub columns: BarColumns,
    /// First source bar of each. `[n_bars]`
    pub first_row: Vec<usize>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Reads `15min`, `4h`, `1d`, `1w`, `1mo`, each with or without an anchor, `1h@09:30`, `1d@17:00`.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse(text: &str, zone: TimeZone) -> Result<Resample, String> {
    let (length, anchor) = text.split_once('@').map_or((text, None), |(length, anchor)| (length, Some(anchor)));
    let anchor = match anchor {
        None => None,
        Some(clock) => Some(clock.trim().parse().map_err(|_| format!("{clock:?} is not a time of day"))?),
    };
    let length = length.trim();
    let digits = length.bytes().take_while(u8::is_ascii_digit).count();
    let count: i64 = if digits == 0 { 1 } else { length[..digits].parse().map_err(|_| not_a_length(text))? };
    let unit = length[digits..].trim();
    if unit == "M" {
        // A minute to some programs and a month to others.
        return Err(format!("{text:?} may mean minutes or months: write {count}min or {count}mo"));
    }
    let step = match unit.to_ascii_lowercase().as_str() {
        "s" | "sec" => within(count, 1_000_000_000, text)?,
        "m" | "min" | "t" => within(count, HOUR_NS / 60, text)?,
        "h" => within(count, HOUR_NS, text)?,
        "d" | "day" if count == 1 => Step::Day,
        "w" | "week" if count == 1 => Step::Week,
        "mo" | "month" if count == 1 => Step::Month,
        "d" | "day" | "w" | "week" | "mo" | "month" => {
            return Err(format!("{text:?}: days, weeks and months are made one at a time"));
        }
        _ => return Err(not_a_length(text)),
    };
    Ok(Resample { step, length: length.to_owned(), anchor, zone })
}

/// Nanoseconds of a length that divides a day, or of a day: `15min`, `1h`, `1d`.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn length_ns(text: &str) -> Result<i64, String> {
    match parse(text, TimeZone::UTC)? {
        Resample { step: Step::Within(ns), anchor: None, .. } => Ok(ns),
        Resample { step: Step::Day, anchor: None, .. } => Ok(DAY_NS),
        _ => Err(format!("{text:?} is neither a day nor a part of one")),
    }
}

fn not_a_length(text: &str) -> String {
    format!("{text:?} is not a length of bars")
}

fn within(count: i64, unit: i64, text: &str) -> Result<Step, String> {
    match count.checked_mul(unit).filter(|ns| *ns > 0) {
        Some(DAY_NS) => Ok(Step::Day),
        Some(ns) if DAY_NS % ns == 0 => Ok(Step::Within(ns)),
        Some(_) => Err(format!("{text:?} does not divide a day")),
        None => Err(not_a_length(text)),
    }
}

impl Resample {
    /// Makes the bars.
    ///
    /// # Errors
    /// [`Refusal`], when the bars at hand are longer than those wanted, or buckets would begin inside of them.
    pub fn apply(&self, bars: &Bars) -> Result<Resampled, Refusal> {
        let refused = |reason: String| Refusal { reason, remedy: None };
        let (ts, length) = (bars.ts(), grid::length(bars.ts()));
        if length > self.longest_ns() {
            return Err(refused(format!("bars of {} cannot be made shorter", interval(length))));
        }
        let opens = self.opens(ts).ok_or_else(|| refused("a stamp lies outside the calendar".to_owned()))?;
        let mut notes = Vec::new();
        match grid::fit(ts, length, opens.iter().copied()) {
            Fit::Whole(0) | Fit::Irregular(0) => {}
            // Months stamped at their ends are as irregular as months are.
            Fit::Irregular(_) if self.step == Step::Month && self.anchor.is_none() && self.is_length(length) => {
                return Ok(as_they_are(bars, length));
            }
            Fit::Whole(cut) => notes.push(format!("a bucket begins inside of {cut} bars: they count where they open")),
            Fit::Irregular(cut) => notes.push(format!(
                "the bars are of no regular length; a bucket begins inside of about {cut}: they count where they open"
            )),
            Fit::Cut if self.anchor.is_none() && self.is_length(length) => return Ok(as_they_are(bars, length)),
            Fit::Cut => return Err(grid::refusal(self, bars, length)),
        }
        let mut made = Resampled { columns: BarColumns::default(), first_row: Vec::new(), notes: Vec::new() };
        let mut opens = opens.into_iter().peekable();
        for row in 0..ts.len() {
            match opens.next_if(|(first, _)| *first == row) {
                Some((_, start)) => begin(&mut made, bars, row, start),
                None => grow(&mut made.columns, bars, row),
            }
        }
        self.describe(bars, &mut made);
        made.notes.extend(notes);
        Ok(made)
    }

    /// First row and begin of every bucket that has bars. `None` for a stamp outside the calendar.
    fn opens(&self, ts: &[i64]) -> Option<Vec<(usize, i64)>> {
        let mut out: Vec<(usize, i64)> = Vec::new();
        for (row, &stamp) in ts.iter().enumerate() {
            let start = self.start(stamp)?.min(stamp);
            // Where the clocks go back, a second 01:00 may lie before a bucket that began at the first 01:30.
            if out.last().is_none_or(|(_, open)| start > *open) {
                out.push((row, start));
            }
        }
        Some(out)
    }

    fn is_length(&self, length: i64) -> bool {
        match self.step {
            Step::Month => (28 * DAY_NS..=31 * DAY_NS).contains(&length),
            _ => length == self.longest_ns(),
        }
    }

    /// As the option is written.
    fn text(&self) -> String {
        self.anchor.map_or_else(|| self.length.clone(), |time| format!("{}@{}", self.length, hours_minutes(time)))
    }

    /// UTC nanoseconds of the begin of a stamp's bucket.
    fn start(&self, ts: i64) -> Option<i64> {
        let stamp = Timestamp::from_nanosecond(i128::from(ts)).ok()?;
        let anchor = self.anchor.map_or(SignedDuration::ZERO, |time| time.duration_since(Time::midnight()));
        let local = self.zone.to_datetime(stamp).checked_sub(anchor).ok()?;
        let of_day = i64::try_from(local.time().duration_since(Time::midnight()).as_nanos()).ok()?;
        let midnight = |date: jiff::civil::Date| date.to_datetime(Time::midnight());
        let begin = match self.step {
            Step::Within(ns) if ns <= HOUR_NS => return Some(ts - of_day % ns),
            Step::Within(ns) => local.checked_sub(SignedDuration::from_nanos(of_day % ns)).ok()?,
            Step::Day => midnight(local.date()),
            Step::Week => {
                let since = local.date().weekday().to_monday_zero_offset();
                midnight(local.date().checked_sub(i64::from(since).days()).ok()?)
            }
            Step::Month => midnight(local.date().first_of_month()),
        };
        self.instant(begin.checked_add(anchor).ok()?)
    }

    /// The first moment of a wall-clock time; where it is skipped, the moment the clocks go forward to.
    fn instant(&self, civil: DateTime) -> Option<i64> {
        let stamp = match skipped_at(&self.zone, civil) {
            Some(change) => change,
            None => self.zone.to_ambiguous_timestamp(civil).compatible().ok()?,
        };
        i64::try_from(stamp.as_nanosecond()).ok()
    }

    fn longest_ns(&self) -> i64 {
        match self.step {
            Step::Within(ns) => ns,
            Step::Day => DAY_NS,
            Step::Week => 7 * DAY_NS,
            Step::Month => 31 * DAY_NS,
        }
    }

    fn describe(&self, bars: &Bars, made: &mut Resampled) {
        let n = bars.len();
        let edges: Vec<usize> = made.first_row.iter().copied().chain([n]).collect();
        let counts: Vec<usize> = edges.windows(2).map(|w| w[1] - w[0]).collect();
        // How far from its begin the bars of a bucket begin and end.
        let since = |t: usize, row: usize| bars.ts()[row] - made.columns.ts[t];
        let begins: Vec<i64> = (0..counts.len()).map(|t| since(t, edges[t])).collect();
        let ends: Vec<i64> = (0..counts.len()).map(|t| since(t, edges[t + 1] - 1)).collect();
        let partial = [
            ("first", counts.first(), begins.first() > median(&begins).as_ref()),
            ("last", counts.last(), ends.last() < median(&ends).as_ref()),
        ];
        let usual = median(&counts).unwrap_or(0);
        let zone = self.zone.iana_name().unwrap_or("UTC");
        made.notes.push(format!("{n} bars of {} made into {}, {zone}", interval(bars.interval_ns()), counts.len()));
        for (name, count, is_partial) in partial {
            if let Some(count) = count.filter(|_| is_partial) {
                made.notes.push(format!("the {name} bar is of {count} bars, the median is {usual}: it may be partial"));
            }
        }
    }
}

fn median<T: Copy + Ord>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

/// Bars of the length wanted that begin at another time than its buckets.
fn as_they_are(bars: &Bars, length: i64) -> Resampled {
    let note = format!("the bars are of {} already, beginning at times of their own: they stay", interval(length));
    Resampled { columns: bars.clone().into_columns(), first_row: (0..bars.len()).collect(), notes: vec![note] }
}

fn begin(made: &mut Resampled, bars: &Bars, row: usize, start: i64) {
    let c = &mut made.columns;
    c.ts.push(start);
    c.open.push(bars.open()[row]);
    c.high.push(bars.high()[row]);
    c.low.push(bars.low()[row]);
    c.close.push(bars.close()[row]);
    c.volume.push(bars.volume()[row]);
    made.first_row.push(row);
}

fn grow(c: &mut BarColumns, bars: &Bars, row: usize) {
    let last = c.ts.len() - 1;
    c.high[last] = c.high[last].max(bars.high()[row]);
    c.low[last] = c.low[last].min(bars.low()[row]);
    c.close[last] = bars.close()[row];
    c.volume[last] += bars.volume()[row];
}
