//! [`Statistics`]: the metrics of a path, bar by bar, without the path.
//!
//! Mean and deviation: returns are gathered in blocks of [`BLOCK`] about the mean of all blocks before (the first block
//! about its first return), so nothing cancels and constant returns have no deviation:
//! n′ = n + m, mean′ = mean + S₁/n′, M₂′ = M₂ + S₂ − S₁²/n′ with S₁ = Σ(r − mean), S₂ = Σ(r − mean)².
//! Drawdown: the lowest equity since the peak is divided by it when the next peak comes; rounding is monotone, so the
//! result has the bits of the largest of all quotients.
//!
//! Device twin: `sweep_*` in `gpu/sweep.cu`, the same operations in the same order.

use super::SweepRow;
use crate::metric::Moments;
use crate::metric::sharpe_of;

/// Returns of a block; the bars of a tile of `gpu/sweep.cu`.
pub(crate) const BLOCK: u32 = 16;

/// Statistics of the bars so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Statistics {
    pub(crate) initial: f64,
    pub(crate) equity: f64,
    pub(crate) peak: f64,
    /// Lowest equity since the peak.
    pub(crate) trough: f64,
    /// Before this peak.
    pub(crate) max_drawdown: f64,
    pub(crate) mean: f64,
    pub(crate) m2: f64,
    /// Largest |r|.
    pub(crate) largest: f64,
    /// Σ(r − mean), Σ(r − mean)² of the block in progress.
    pub(crate) sums: [f64; 2],
    /// Bars in finished blocks.
    pub(crate) n: u32,
    pub(crate) in_block: u32,
}

impl Statistics {
    pub(crate) fn new(equity: f64) -> Self {
        Self {
            initial: equity,
            equity,
            peak: equity,
            trough: equity,
            max_drawdown: 0.0,
            mean: 0.0,
            m2: 0.0,
            largest: 0.0,
            sums: [0.0; 2],
            n: 0,
            in_block: 0,
        }
    }

    /// A bar's return and the equity after it.
    pub(crate) fn push(&mut self, ret: f64, equity: f64) {
        if self.n == 0 && self.in_block == 0 {
            self.mean = ret;
        }
        let d = ret - self.mean;
        self.sums[0] += d;
        self.sums[1] += d * d;
        let size = ret.abs();
        if size > self.largest {
            self.largest = size;
        }
        self.push_drawdown(equity);
        self.equity = equity;
        self.in_block += 1;
        if self.in_block == BLOCK {
            self.close_block();
        }
    }

    /// The part of [`Self::push`] that is about drawdowns.
    pub(crate) fn push_drawdown(&mut self, equity: f64) {
        if equity >= self.peak {
            self.close_peak();
            (self.peak, self.trough) = (equity, equity);
        } else if equity < self.trough {
            self.trough = equity;
        }
    }

    /// The drawdown from the present peak joins the largest.
    fn close_peak(&mut self) {
        let drawdown = 1.0 - self.trough / self.peak;
        if drawdown > self.max_drawdown {
            self.max_drawdown = drawdown;
        }
    }

    fn close_block(&mut self) {
        if self.in_block == 0 {
            return;
        }
        self.n += self.in_block;
        let shift = self.sums[0] / f64::from(self.n);
        self.mean += shift;
        self.m2 += self.sums[1] - self.sums[0] * shift;
        (self.sums, self.in_block) = ([0.0; 2], 0);
    }

    /// The row, without the account's counts.
    pub(crate) fn row(mut self, risk_free: f64, periods_per_year: f64) -> SweepRow {
        self.close_block();
        self.close_peak();
        let moments = Moments {
            n: self.n as usize,
            mean: self.mean,
            m2: self.m2.max(0.0),
            min: -self.largest,
            max: self.largest,
            ..Moments::EMPTY
        };
        SweepRow {
            total_pnl: self.equity - self.initial,
            total_return: self.equity / self.initial - 1.0,
            sharpe: sharpe_of(&moments, risk_free, periods_per_year),
            max_drawdown: self.max_drawdown,
            final_equity: self.equity,
            n_bars: self.n,
            ..SweepRow::default()
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::metric::{max_drawdown, sharpe};
    use gigabar_market::rng::Philox;

    fn row(returns: &[f64]) -> (SweepRow, Vec<f64>) {
        let mut equity = vec![1_000.0];
        let mut statistics = Statistics::new(1_000.0);
        for &r in returns {
            equity.push(equity[equity.len() - 1] * (1.0 + r));
            statistics.push(r, equity[equity.len() - 1]);
        }
        (statistics.row(0.02, 252.0), equity)
    }

    #[test]
    fn equal_to_the_metrics_of_the_path() {
        let mut rng = Philox::new(5, 5);
        for n in [1, 2, 15, 16, 17, 31, 100, 4_099] {
            for (size, drift) in [(1e-2, 0.0), (1e-3, 1e-2), (1e-9, 1e-3), (0.5, 0.0)] {
                let mut returns: Vec<f64> = (0..n).map(|_| size * (rng.uniform() - 0.5) + drift).collect();
                returns[0] = 0.3;
                let (row, equity) = row(&returns);
                assert_eq!(Some(row.max_drawdown), max_drawdown(&equity));
                match (row.sharpe, sharpe(&returns, 0.02, 252.0)) {
                    (Some(got), Some(want)) => assert!((got / want - 1.0).abs() < 1e-9, "{n} {size}: {got} {want}"),
                    (got, want) => assert_eq!(got, want),
                }
            }
        }
    }

    #[test]
    fn constant_returns_have_no_sharpe() {
        for constant in [0.0, 0.1, -1e-3, 1e-9] {
            assert_eq!(row(&[constant; 1_000]).0.sharpe, None, "{constant}");
        }
    }
}
