//! Moves that a market seldom makes and a file's errors and splits often do.

use crate::time::day;
use crate::{BarColumns, Bars};

/// A ratio is that of a split when it is this near, in logarithms. Apple's four splits since 2000 lie within 0.022 of
/// their ratios, night included; its fall by 52 % in September 2000 lies 0.052 from one half.
const NEAR: f64 = 0.03;
/// Median absolute deviations to one standard deviation of a normal law.
const MAD_TO_SIGMA: f64 = 1.4826;
/// A split moves the price by more than this many robust deviations.
const SPLIT_Z: f64 = 8.0;
/// And by more than this many of those of the twenty bars before: oil's fall by half in April 2020 was 7 of them,
/// Oracle's split in January 2000 was 8.3.
const LOCAL_Z: f64 = 8.0;
/// Shares traded grow with their number in a split, and a little beyond; of a crash they grow many times more.
const MOST_SHARES: f64 = 2.5;
/// In a reverse split shares traded get fewer; of a takeover they grow.
const MOST_MERGED: f64 = 1.5;
/// Bars on either side of a jump that show prices and volumes before and after.
const AROUND: usize = 20;
/// Bars that show what is usual.
const MIN_BARS: usize = 60;
/// Robust standard deviations that make a move suspicious. Real markets have some: they are to be looked at, not
/// mended.
pub const SUSPICIOUS_Z: f64 = 15.0;
/// New shares for old ones, as companies choose them.
const RATIOS: [(u32, u32); 18] = [
    (3, 2),
    (2, 1),
    (5, 2),
    (3, 1),
    (4, 1),
    (5, 1),
    (6, 1),
    (7, 1),
    (8, 1),
    (10, 1),
    (12, 1),
    (15, 1),
    (20, 1),
    (25, 1),
    (30, 1),
    (40, 1),
    (50, 1),
    (100, 1),
];

/// A close far from the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct Jump {
    /// The later bar, from 0.
    pub row: usize,
    /// Close before.
    pub before: f64,
    /// Open of the bar.
    pub open: f64,
    /// Close of the bar.
    pub close: f64,
    /// Log return between the closes, in robust standard deviations (1.4826 times the median absolute
    /// deviation of all that are not 0).
    pub z: f64,
    /// New shares for old that would explain the open; the old number is the larger one in a reverse split.
    pub split: Option<(u32, u32)>,
}

/// Jumps of `min_z` robust deviations or more, in order of time. None where prices hardly ever move, and none of fewer
/// than sixty bars: what is usual needs some to show.
pub fn jumps(bars: &BarColumns, min_z: f64) -> Vec<Jump> {
    let close = &bars.close;
    if close.len() < MIN_BARS {
        return Vec::new();
    }
    let Some(sigma) = robust(close) else { return Vec::new() };
    let z = |row: usize| (close[row] / close[row - 1]).ln() / sigma;
    let jump = |row: usize| {
        let z = z(row);
        let is_one = z.abs() >= min_z && z.is_finite();
        is_one.then(|| {
            let jump = Jump { row, before: close[row - 1], open: bars.open[row], close: close[row], z, split: None };
            let is_split = |ratio: &(u32, u32)| {
                z.abs() >= SPLIT_Z && stays(close, &jump) && trades_alike(&bars.volume, row, *ratio)
            };
            Jump { split: ratio(jump.before, jump.open).filter(is_split), ..jump }
        })
    };
    (1..close.len()).filter_map(jump).collect()
}

/// Whether a jump stands out of the days around it as a split does: far beyond the moves of the bars before it, to a
/// level that stays.
fn stays(close: &[f64], jump: &Jump) -> bool {
    let row = jump.row;
    let (mut before, mut after) =
        (close[row.saturating_sub(AROUND)..row].to_vec(), close[row..close.len().min(row + AROUND)].to_vec());
    let Some(usual) = robust_locally(&before) else { return true };
    let moved = (jump.before / jump.open).ln();
    let (Some(before), Some(after)) = (median(&mut before), median(&mut after)) else { return false };
    moved.abs() > LOCAL_Z * usual && ((before / after).ln() - moved).abs() < 0.35 * moved.abs()
}

/// Whether the volumes before and after are those of a split rather than of news; true without volumes.
fn trades_alike(volume: &[f64], row: usize, (new, old): (u32, u32)) -> bool {
    let usual = |rows: std::ops::Range<usize>| {
        median(&mut volume[rows].iter().copied().filter(|v| v.is_finite() && *v > 0.0).collect::<Vec<_>>())
    };
    let before = usual(row.saturating_sub(AROUND)..row);
    let Some((before, after)) = before.zip(usual(row..volume.len().min(row + AROUND))) else { return true };
    after < before * if new > old { MOST_SHARES * f64::from(new) / f64::from(old) } else { MOST_MERGED }
}

/// What to say of bars that look as if splits were left in.
pub fn split_note(bars: &Bars) -> Option<String> {
    let found: Vec<Jump> = jumps(bars.columns(), SPLIT_Z).into_iter().filter(|jump| jump.split.is_some()).collect();
    let first = found.first()?;
    let named = |jump: &Jump| {
        let (new, old) = jump.split.unwrap_or_default();
        format!("{} ({new}:{old})", day(bars.ts()[jump.row]))
    };
    const SHOWN: usize = 4;
    let shown: Vec<String> = found.iter().take(SHOWN).map(named).collect();
    let more = if found.len() > SHOWN { format!(" and {} more", found.len() - SHOWN) } else { String::new() };
    let word = if found.len() == 1 && first.row > 0 { "a split" } else { "splits" };
    Some(format!("prices jump as at {word}: {}{more}; nothing is adjusted", shown.join(", ")))
}

/// Robust standard deviation of the log returns that are not 0: 1.4826 times the median of their sizes. About 0 and not
/// about their median, which is a tick where most moves are of one; `None` where there are none.
pub fn robust(close: &[f64]) -> Option<f64> {
    Some(MAD_TO_SIGMA * median(&mut moves(close).map(f64::abs).collect::<Vec<_>>())?)
}

/// The same about the median: of a few bars, which may all go one way.
fn robust_locally(close: &[f64]) -> Option<f64> {
    let mut moves: Vec<f64> = moves(close).collect();
    let center = median(&mut moves)?;
    moves.iter_mut().for_each(|r| *r = (*r - center).abs());
    Some(MAD_TO_SIGMA * median(&mut moves)?).filter(|&sigma| sigma > 0.0)
}

/// Log returns that are not 0.
fn moves(close: &[f64]) -> impl Iterator<Item = f64> {
    close.windows(2).map(|w| (w[1] / w[0]).ln()).filter(|r| r.is_finite() && *r != 0.0)
}

/// The upper of the two middle ones where their number is even.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The split that turns `before` into `open`, nearly.
fn ratio(before: f64, open: f64) -> Option<(u32, u32)> {
    let log = (before / open).ln();
    let distance = |(new, old): (u32, u32)| (log.abs() - (f64::from(new) / f64::from(old)).ln()).abs();
    // Companies merge whole numbers of shares into one: 2:3 is no reverse split, but a bid.
    let known = |(_, old): &(u32, u32)| log > 0.0 || *old == 1;
    let best = RATIOS.into_iter().filter(known).min_by(|a, b| distance(*a).total_cmp(&distance(*b)))?;
    (distance(best) < NEAR).then_some(if log > 0.0 { best } else { (best.1, best.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(close: Vec<f64>, volume: Vec<f64>) -> BarColumns {
        BarColumns { open: close.clone(), high: close.clone(), low: close.clone(), close, volume, ts: Vec::new() }
    }

    /// A jump to `to` and volumes that rise to `traded` of what they were.
    fn split(to: f64, traded: f64) -> Option<(u32, u32)> {
        let at = |i: u32| if i < 60 { 1.0 } else { to };
        let close = (0..120).map(|i| at(i) * (100.0 + f64::from(i * i % 7) / 10.0)).collect();
        let volume = (0..120).map(|i| if i < 60 { 1000.0 } else { 1000.0 * traded }).collect();
        jumps(&flat(close, volume), SPLIT_Z).first().and_then(|jump| jump.split)
    }

    #[test]
    fn moves_of_a_tick_are_no_jumps() {
        // Most bars rise by a tick, some fall by one, some stay; bar 400 on the price is half as much again.
        let mut price = 1.1;
        let close = (0..600_u32).map(|i| {
            price += [1e-4, 1e-4, -1e-4, 0.0, 1e-4, -1e-4, 1e-4][(i * i % 7) as usize];
            if i < 400 { price } else { price * 1.5 }
        });
        let found = jumps(&flat(close.collect(), vec![0.0; 600]), SUSPICIOUS_Z);
        assert_eq!(found.iter().map(|jump| jump.row).collect::<Vec<_>>(), [400]);
    }

    #[test]
    fn volumes_tell_splits_from_news() {
        assert_eq!([split(0.5, 2.0), split(0.5, 1.0), split(0.5, 9.0)], [Some((2, 1)), Some((2, 1)), None]);
        assert_eq!([split(10.0, 0.1), split(10.0, 1.0), split(2.0, 4.0)], [Some((1, 10)), Some((1, 10)), None]);
        // No company merges three shares into two: it is a bid, or oil after it was paid for to be taken away.
        assert_eq!([split(1.5, 0.7), split(1.0 / 1.5, 1.5)], [None, Some((3, 2))]);
    }

    #[test]
    fn splits_are_told_from_crashes() {
        assert_eq!(ratio(645.57, 92.70), Some((7, 1)));
        assert_eq!(ratio(499.23, 127.58), Some((4, 1)));
        assert_eq!(ratio(53.5, 28.19), None);
        assert_eq!(ratio(1.0, 10.05), Some((1, 10)));
        assert_eq!(ratio(1.0, 1.01), None);
    }

    #[test]
    fn a_jump_stands_out_of_what_is_usual() {
        let mut close: Vec<f64> = (0..200).map(|i| 100.0 + f64::from(i * i % 7)).collect();
        close[120] = 300.0;
        let found = jumps(&flat(close, vec![0.0; 200]), 15.0);
        assert_eq!(found.iter().map(|jump| jump.row).collect::<Vec<_>>(), [120, 121]);
        assert!(jumps(&flat(vec![1.0; 500], vec![1.0; 500]), 1.0).is_empty());
    }
}
