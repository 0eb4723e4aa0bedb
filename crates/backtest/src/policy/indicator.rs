//! The indicators that rule strategies read, one value per bar.
//!
//! An [`Indicator`] is a pure function of the series up to and including its bar, whatever window is traded: a
//! [`Stream`] starts where its recurrence starts, so a strategy sees the same values in every window. NaN where not yet
//! defined.
//! Every value is made by `+ − × ÷ √` in a fixed order, which `gpu/indicator.cu` repeats bit for bit.
//!
//! | indicator of n bars | definition | first defined at bar |
//! |---|---|---|
//! | `Sma` | mean of the last n closes, running sum | n − 1 |
//! | `Ema` | α = 2/(n + 1), seeded with the SMA of the first n closes, as TA-Lib | n − 1 |
//! | `Rsi` | Wilder 1978: 100·G/(G + L), averages seeded over the first n changes, as TA-Lib | n |
//! | `StdDev` | population standard deviation of the last n closes, as TA-Lib | n − 1 |
//! | `Highest`, `Lowest` | highest high, lowest low of the n bars before this one | n |
//! | `Macd` | EMA(fast) − EMA(slow) less the EMA(signal) of that difference, as TA-Lib's histogram | slow + signal − 2 |
//! | `Momentum` | (close − close n bars ago) / close n bars ago, as TA-Lib's ROCP | n |
//! | `Volatility` | per bar, √v: v the mean of the first n squared returns, then v + (r² − v)·2/(n + 1) | n |

use std::fmt;

mod stream;

pub use stream::Stream;

/// Running sums are recomputed at every multiple of this bar index, so that rounding cannot drift over millions of bars
/// and any stretch of bars can be computed on its own.
pub const RESTART_BARS: usize = 1024;

/// A variance below this share of the squares it is left over from is rounding: the closes are all the same.
pub const VARIANCE_FLOOR: f64 = 1e-12;

/// A variance below this share of the largest squares that its sums have held is left with too few digits: the closes
/// have moved far, or have calmed down. Squares are taken about the newest close from there on.
pub const RECENTRE_BELOW: f64 = 1e-4;

/// An indicator of one length, in bars (at least 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Indicator {
    /// Simple moving average of the closes.
    Sma(usize),
    /// Exponential moving average of the closes.
    Ema(usize),
    /// Relative strength index, 0 to 100; NaN while the closes have never moved.
    Rsi(usize),
    /// Population standard deviation of the closes.
    StdDev(usize),
    /// Highest high of the bars before this one.
    Highest(usize),
    /// Lowest low of the bars before this one.
    Lowest(usize),
    /// Histogram of the moving average convergence/divergence (Appel). Both averages of the closes start at bar
    /// `slow` − 1, the fast one from the mean of the `fast` closes that end there.
    Macd {
        /// Bars of the fast average, fewer than `slow`.
        fast: usize,
        /// Bars of the slow average.
        slow: usize,
        /// Bars of the average of their difference.
        signal: usize,
    },
    /// Return over that many bars.
    Momentum(usize),
    /// Volatility to expect of the next bar: exponentially weighted root mean square of the returns (RiskMetrics 1996).
    Volatility(usize),
}

/// The columns indicators read: bars 0 to at least the one asked for.
#[derive(Debug, Clone, Copy)]
pub struct Prices<'a> {
    /// Highest price of each bar.
    pub high: &'a [f64],
    /// Lowest price.
    pub low: &'a [f64],
    /// Last price.
    pub close: &'a [f64],
}

impl Indicator {
    /// Its lengths, bars; all but [`Self::Macd`] have one.
    pub fn lengths(self) -> [usize; 3] {
        match self {
            Self::Sma(n) | Self::Ema(n) | Self::Rsi(n) | Self::StdDev(n) | Self::Highest(n) | Self::Lowest(n) => {
                [n, 0, 0]
            }
            Self::Momentum(n) | Self::Volatility(n) => [n, 0, 0],
            Self::Macd { fast, slow, signal } => [fast, slow, signal],
        }
    }

    /// Last bar at or before `t` from which the value at `t` can be computed.
    fn start(self, t: usize) -> usize {
        match self {
            Self::Sma(n) | Self::StdDev(n) if t + 1 >= n => (t / RESTART_BARS * RESTART_BARS).max(n - 1),
            Self::Sma(_) | Self::StdDev(_) => t,
            Self::Ema(_) | Self::Rsi(_) | Self::Macd { .. } | Self::Volatility(_) => 0,
            Self::Momentum(_) => t,
            Self::Highest(n) | Self::Lowest(n) => t.saturating_sub(n),
        }
    }
}

impl fmt::Display for Indicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [fn(usize) -> Indicator; 9] = [
        Indicator::Sma,
        Indicator::Ema,
        Indicator::Rsi,
        Indicator::StdDev,
        Indicator::Highest,
        Indicator::Lowest,
        |n| Indicator::Macd { fast: n, slow: n + 2, signal: 3 },
        Indicator::Momentum,
        Indicator::Volatility,
    ];

    fn series(n: usize) -> Vec<f64> {
        (0..n).map(|t| 100.0 + ((t * 7919) % 613) as f64 * 0.01 + t as f64 * 1e-3).collect()
    }

    fn prices(close: &[f64]) -> Prices<'_> {
        Prices { high: close, low: close, close }
    }

    fn column(indicator: Indicator, close: &[f64]) -> Vec<f64> {
        let mut stream = Stream::new(indicator);
        (0..close.len()).map(|t| stream.at(prices(close), t)).collect()
    }

    #[test]
    fn by_hand() {
        let close = [1.0, 2.0, 4.0, 3.0, 5.0, 5.0];
        let tail = |indicator, from: usize| column(indicator, &close)[from..].to_vec();
        assert_eq!(tail(Indicator::Sma(2), 1), [1.5, 3.0, 3.5, 4.0, 5.0]);
        // Seed 1.5, then + (close − ema)·2/3.
        assert_eq!(tail(Indicator::Ema(2), 1)[..2], [1.5, 1.5 + 2.5 * (2.0 / 3.0)]);
        // Changes 1, 2, −1, 2, 0: averages over two, then (gain + average)/2.
        assert_eq!(tail(Indicator::Rsi(2), 2)[..2], [100.0, 100.0 * (0.75 / 1.25)]);
        assert_eq!(tail(Indicator::StdDev(2), 1), [0.5, 1.0, 0.5, 1.0, 0.0]);
        assert_eq!(tail(Indicator::Highest(2), 2), [2.0, 4.0, 4.0, 5.0]);
        assert_eq!(tail(Indicator::Lowest(2), 2), [1.0, 2.0, 3.0, 3.0]);
        assert_eq!(tail(Indicator::Momentum(2), 2), [3.0, 0.5, 0.25, 2.0 / 3.0]);
        // Squared returns 1, 1, 1/16: the mean of two, then 1 + (1/16 − 1)·2/3.
        assert_eq!(tail(Indicator::Volatility(2), 2)[..2], [1.0, (1.0 - 15.0 / 16.0 * (2.0 / 3.0_f64)).sqrt()]);
        // Fast averages are the closes, slow ones 1.5, 19/6, …: lines 0.5, 5/6; their mean is 2/3.
        let macd = tail(Indicator::Macd { fast: 1, slow: 2, signal: 2 }, 1);
        assert!(macd[0].is_nan() && (macd[1] - 1.0 / 6.0).abs() < 1e-12, "{macd:?}");
    }

    #[test]
    fn nothing_is_defined_early() {
        let close = series(30);
        for (kind, first) in KINDS.into_iter().zip([6, 6, 7, 6, 7, 7, 10, 7, 7]) {
            let column = column(kind(7), &close);
            assert!(column[..first].iter().all(|x| x.is_nan()), "{}", kind(7));
            assert!(column[first..].iter().all(|x| x.is_finite()), "{}", kind(7));
        }
    }

    #[test]
    fn values_do_not_depend_on_where_one_starts_to_ask() {
        let close = series(3_000);
        for kind in KINDS {
            for n in [1, 2, 5, 300, 1_500] {
                let whole = column(kind(n), &close);
                for from in [0, 1, n, 1_023, 1_024, 1_700] {
                    let mut stream = Stream::new(kind(n));
                    // Forward, with gaps, then back to the start.
                    for t in (from..close.len()).step_by(97).chain([from, from + 1, 2_999, 3]) {
                        let (got, want) = (stream.at(prices(&close), t), whole[t]);
                        assert!(got.to_bits() == want.to_bits(), "{} at {t}: {got} {want}", kind(n));
                    }
                }
            }
        }
    }

    #[test]
    fn running_sums_do_not_drift() {
        let close: Vec<f64> = series(50_000).iter().map(|x| x * 1e4).collect();
        let n = 20;
        let (means, deviations) = (column(Indicator::Sma(n), &close), column(Indicator::StdDev(n), &close));
        for t in (n - 1..close.len()).step_by(311) {
            let last = &close[t + 1 - n..=t];
            let mean = last.iter().sum::<f64>() / n as f64;
            let std = (last.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
            assert!((means[t] / mean - 1.0).abs() < 1e-13);
            assert!((deviations[t] / std - 1.0).abs() < 1e-10, "{} {std}", deviations[t]);
        }
    }

    #[test]
    fn a_series_that_never_moved_has_no_strength() {
        assert!(column(Indicator::Rsi(3), &[5.0; 20]).iter().all(|x| x.is_nan()));
        assert_eq!(column(Indicator::Rsi(3), &[5.0, 5.0, 5.0, 6.0])[3], 100.0);
    }

    #[test]
    fn a_deviation_survives_a_collapse() {
        // 200 days around 85, six of collapse, 400 around 2e-4.
        let mut close: Vec<f64> = (0..200).map(|t| 85.0 + f64::from((t * 37) % 29) * 0.1).collect();
        close.extend([40.0, 6.0, 0.7, 0.02, 1e-3, 1.7e-4]);
        close.extend((0..400).map(|t| 2e-4 + f64::from((t * 37) % 29) * 1e-6));
        for n in [5, 20, 50] {
            let column = column(Indicator::StdDev(n), &close);
            for t in n - 1..close.len() {
                let window = &close[t + 1 - n..=t];
                let mean = window.iter().sum::<f64>() / n as f64;
                let want = (window.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
                assert!((column[t] - want).abs() <= 1e-9 * want, "bar {t}, {n} bars: {} for {want}", column[t]);
            }
        }
    }
}
