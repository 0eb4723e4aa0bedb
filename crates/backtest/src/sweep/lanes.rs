//! [`Lanes`]: the [`Statistics`] of eight sets, a block of bars at a time.
//!
//! Lane by lane the operations and their order are those of [`Statistics::push`], so the bits are the same; eight lanes
//! side by side fill a processor's vectors, and their divisions overlap.

use std::array::from_fn;

use super::statistics::{BLOCK, Statistics};

/// Sets side by side.
pub(super) const LANES: usize = 8;
/// Bars of a block.
pub(super) const ROWS: usize = BLOCK as usize;

/// One number per set.
pub(super) type Eight = [f64; LANES];

/// Above 1 by more than the product and the quotient it guards can be off.
const SHALLOW_MARGIN: f64 = 1.0 + 1e-15;

/// Eight [`Statistics`] at the edge of a block, and what each account holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes {
    pub(super) cash: Eight,
    pub(super) units: Eight,
    equity: Eight,
    peak: Eight,
    trough: Eight,
    max_drawdown: Eight,
    /// A trough above this share of its peak is no deeper than the deepest.
    shallow: Eight,
    mean: Eight,
    m2: Eight,
    largest: Eight,
    n: u32,
}

/// What the accounts hold after each bar of a block. `[ROWS][LANES]`
pub(super) struct Holdings {
    pub(super) cash: [Eight; ROWS],
    pub(super) units: [Eight; ROWS],
}

impl Lanes {
    /// Flat accounts that hold `cash`.
    pub(super) fn new(cash: f64) -> Self {
        Self {
            cash: [cash; LANES],
            units: [0.0; LANES],
            equity: [cash; LANES],
            peak: [cash; LANES],
            trough: [cash; LANES],
            max_drawdown: [0.0; LANES],
            shallow: [SHALLOW_MARGIN; LANES],
            mean: [0.0; LANES],
            m2: [0.0; LANES],
            largest: [0.0; LANES],
            n: 0,
        }
    }

    /// A block in which no account trades.
    #[inline(always)]
    pub(super) fn held(&mut self, close: &[f64; ROWS]) {
        let (cash, units) = (self.cash, self.units);
        self.block(close, |_| (cash, units));
    }

    /// A block in which some do.
    #[inline(always)]
    pub(super) fn traded(&mut self, close: &[f64; ROWS], holdings: &Holdings) {
        self.block(close, |row| (holdings.cash[row], holdings.units[row]));
        (self.cash, self.units) = (holdings.cash[ROWS - 1], holdings.units[ROWS - 1]);
    }

    #[inline(always)]
    fn block(&mut self, close: &[f64; ROWS], holds: impl Fn(usize) -> (Eight, Eight)) {
        let (first, peaks, troughs) = (self.n == 0, self.peak, self.trough);
        let mut equities = [[0.0; LANES]; ROWS];
        let (mut sums, mut squares) = ([0.0; LANES], [0.0; LANES]);
        let (mut last, mut mean, mut largest) = (self.equity, self.mean, self.largest);
        let (mut peak, mut trough, shallow) = (self.peak, self.trough, self.shallow);
        let mut deep = [0_u64; LANES];
        for (row, &close) in close.iter().enumerate() {
            let (cash, units) = holds(row);
            let equity: Eight = from_fn(|l| cash[l] + units[l] * close);
            let ret: Eight = from_fn(|l| if last[l] <= 0.0 { 0.0 } else { equity[l] / last[l] - 1.0 });
            if first && row == 0 {
                mean = ret;
            }
            for l in 0..LANES {
                let d = ret[l] - mean[l];
                sums[l] += d;
                squares[l] += d * d;
                let size = ret[l].abs();
                largest[l] = if size > largest[l] { size } else { largest[l] };
            }
            for l in 0..LANES {
                let top = equity[l] >= peak[l];
                deep[l] |= u64::from(top) & u64::from(trough[l] < peak[l] * shallow[l]);
                let lower = if equity[l] < trough[l] { equity[l] } else { trough[l] };
                trough[l] = if top { equity[l] } else { lower };
                peak[l] = if top { equity[l] } else { peak[l] };
            }
            equities[row] = equity;
            last = equity;
        }
        (self.equity, self.largest, self.peak, self.trough) = (last, largest, peak, trough);
        self.n += BLOCK;
        let n = f64::from(self.n);
        for l in 0..LANES {
            let shift = sums[l] / n;
            self.mean[l] = mean[l] + shift;
            self.m2[l] += squares[l] - sums[l] * shift;
        }
        for (l, _) in deep.iter().enumerate().filter(|(_, deep)| **deep != 0) {
            self.deepen(l, (peaks[l], troughs[l]), &equities);
        }
    }

    /// A trough may have been the deepest when its peak was passed: the block's drawdowns again, one by one.
    #[cold]
    #[inline(never)]
    fn deepen(&mut self, lane: usize, (peak, trough): (f64, f64), equities: &[Eight; ROWS]) {
        let mut one = Statistics { peak, trough, ..self.statistics(lane) };
        for equity in equities {
            one.push_drawdown(equity[lane]);
        }
        self.max_drawdown[lane] = one.max_drawdown;
        self.shallow[lane] = (1.0 - one.max_drawdown) * SHALLOW_MARGIN;
    }

    /// One lane.
    pub(super) fn statistics(&self, lane: usize) -> Statistics {
        Statistics {
            equity: self.equity[lane],
            peak: self.peak[lane],
            trough: self.trough[lane],
            max_drawdown: self.max_drawdown[lane],
            mean: self.mean[lane],
            m2: self.m2[lane],
            largest: self.largest[lane],
            n: self.n,
            ..Statistics::new(self.equity[lane])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigabar_market::rng::Philox;

    /// Against [`Statistics::push`], with accounts that trade now and then, go broke, or earn the same in every bar.
    #[test]
    fn every_lane_has_the_bits_of_the_statistics() {
        for (seed, drift) in [(1, 0.0), (2, 1e-3), (3, -2e-3), (4, 0.02)] {
            let mut rng = Philox::new(seed, 0);
            let mut lanes = Lanes::new(1_000.0);
            let mut single = [Statistics::new(1_000.0); LANES];
            let mut price = 100.0;
            for _ in 0..200 {
                let close: [f64; ROWS] = from_fn(|_| {
                    price *= 1.0 + 0.01 * (rng.uniform() - 0.5) + drift;
                    price
                });
                let mut holdings = Holdings { cash: [lanes.cash; ROWS], units: [lanes.units; ROWS] };
                let trades = rng.uniform() < 0.3;
                for _ in 0..if trades { 9 } else { 0 } {
                    let (lane, row) = (rng.index(LANES - 1), rng.index(ROWS));
                    let equity = holdings.cash[row][lane] + holdings.units[row][lane] * close[row];
                    let units = (rng.uniform() - 0.5) * 3.0 * equity.max(0.0) / close[row];
                    for (row, close) in close.iter().enumerate().skip(row) {
                        (holdings.cash[row][lane], holdings.units[row][lane]) = (equity - units * close, units);
                        if rng.uniform() < 1e-3 {
                            (holdings.cash[row][lane], holdings.units[row][lane]) = (0.0, 0.0);
                        }
                    }
                }
                for (lane, one) in single.iter_mut().enumerate() {
                    for (row, close) in close.iter().enumerate() {
                        let equity = holdings.cash[row][lane] + holdings.units[row][lane] * close;
                        let ret = if one.equity <= 0.0 { 0.0 } else { equity / one.equity - 1.0 };
                        one.push(ret, equity);
                    }
                }
                if trades {
                    lanes.traded(&close, &holdings);
                } else {
                    lanes.held(&close);
                }
                for (lane, one) in single.iter().enumerate() {
                    let initial = lanes.statistics(lane).initial;
                    assert_eq!(lanes.statistics(lane), Statistics { initial, ..*one }, "seed {seed}, lane {lane}");
                }
            }
        }
    }
}
