//! [`Stream`]: an indicator bar by bar. The recurrences are told in [`super`].

use std::collections::VecDeque;
use std::ops::Range;

use super::{Indicator, Prices, RECENTRE_BELOW, RESTART_BARS, VARIANCE_FLOOR};

/// An indicator computed bar by bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    indicator: Indicator,
    /// The bar to come.
    next: usize,
    /// Running sum; EMA; average gain; fast average; mean square.
    a: f64,
    /// Running sum of squares; average loss; slow average.
    b: f64,
    /// What squares are taken about; average of the averages' difference.
    centre: f64,
    /// Largest sum of squares since that was chosen.
    peak: f64,
    /// Candidates for the extreme: (bar, price), the price ever less extreme.
    queue: VecDeque<(usize, f64)>,
    value: f64,
}

impl Stream {
    /// At the first bar of a series.
    pub fn new(indicator: Indicator) -> Self {
        Self { indicator, next: 0, a: 0.0, b: 0.0, centre: 0.0, peak: 0.0, queue: VecDeque::new(), value: f64::NAN }
    }

    /// What it computes.
    pub fn indicator(&self) -> Indicator {
        self.indicator
    }

    /// The value at the close of bar `t`, from bars 0 to `t` of `prices`; O(1) when `t` is the bar after the last one
    /// asked for, else it catches up.
    pub fn at(&mut self, prices: Prices<'_>, t: usize) -> f64 {
        let start = self.indicator.start(t);
        if self.next > t || self.next < start {
            *self = Self { next: start, ..Self::new(self.indicator) };
        }
        while self.next <= t {
            self.step(prices, self.next);
            self.next += 1;
        }
        self.value
    }

    /// Appends the values at the closes of `span`, as [`Self::at`] gives them.
    pub fn fill(&mut self, prices: Prices<'_>, span: Range<usize>, to: &mut Vec<f64>) {
        let Range { mut start, end } = span;
        to.reserve(span.len());
        while start < end {
            to.push(self.at(prices, start));
            start += 1;
            let stretch = start..end.min((start / RESTART_BARS + 1) * RESTART_BARS);
            match self.indicator {
                Indicator::Sma(n) if start >= n && !stretch.is_empty() && !restarts(start, n) => {
                    self.fill_sma(prices.close, stretch.clone(), n, to);
                    start = stretch.end;
                }
                _ => {}
            }
        }
    }

    /// The running sum alone, between two restarts.
    fn fill_sma(&mut self, close: &[f64], bars: Range<usize>, n: usize, to: &mut Vec<f64>) {
        let old = &close[bars.start - n..bars.end - n];
        to.extend(close[bars.clone()].iter().zip(old).map(|(new, old)| {
            self.a += new - old;
            self.a / n as f64
        }));
        self.next = bars.end;
        self.value = self.a / n as f64;
    }

    fn step(&mut self, prices: Prices<'_>, t: usize) {
        match self.indicator {
            Indicator::Sma(n) => self.sma(prices.close, t, n),
            Indicator::Ema(n) => self.ema(prices.close, t, n),
            Indicator::Rsi(n) => self.rsi(prices.close, t, n),
            Indicator::StdDev(n) => self.stddev(prices.close, t, n),
            Indicator::Highest(n) => self.extreme(prices.high, t, n, |a, b| a >= b),
            Indicator::Lowest(n) => self.extreme(prices.low, t, n, |a, b| a <= b),
            Indicator::Macd { fast, slow, signal } => self.macd(prices.close, t, [fast, slow, signal]),
            Indicator::Momentum(n) if t >= n => self.value = change(prices.close, t, n),
            Indicator::Momentum(_) => {}
            Indicator::Volatility(n) => self.volatility(prices.close, t, n),
        }
    }

    fn sma(&mut self, close: &[f64], t: usize, n: usize) {
        if t + 1 < n {
            return;
        }
        if restarts(t, n) {
            self.a = close[t + 1 - n..=t].iter().fold(0.0, |sum, x| sum + x);
        } else {
            self.a += close[t] - close[t - n];
        }
        self.value = self.a / n as f64;
    }

    fn ema(&mut self, close: &[f64], t: usize, n: usize) {
        if t < n {
            self.a += close[t];
            if t + 1 == n {
                self.value = self.a / n as f64;
            }
            return;
        }
        self.value += (close[t] - self.value) * rate(n);
    }

    fn rsi(&mut self, close: &[f64], t: usize, n: usize) {
        if t == 0 {
            return;
        }
        let change = close[t] - close[t - 1];
        let gain = if change > 0.0 { change } else { 0.0 };
        let loss = if change < 0.0 { -change } else { 0.0 };
        let share = 1.0 / n as f64;
        if t <= n {
            self.a += gain;
            self.b += loss;
            if t < n {
                return;
            }
            self.a *= share;
            self.b *= share;
        } else {
            self.a += (gain - self.a) * share;
            self.b += (loss - self.b) * share;
        }
        self.value = 100.0 * (self.a / (self.a + self.b));
    }

    /// Squares are taken about the close of the restart, so that little cancels.
    fn stddev(&mut self, close: &[f64], t: usize, n: usize) {
        if t + 1 < n {
            return;
        }
        if restarts(t, n) {
            self.recentre(&close[t + 1 - n..=t]);
        } else {
            let (new, old) = (close[t] - self.centre, close[t - n] - self.centre);
            self.a += new - old;
            self.b += new * new - old * old;
        }
        self.peak = self.peak.max(self.b);
        let (mut variance, mut square) = self.variance(n);
        if variance < RECENTRE_BELOW * (self.peak / n as f64) {
            self.recentre(&close[t + 1 - n..=t]);
            (variance, square) = self.variance(n);
        }
        self.value = if variance > VARIANCE_FLOOR * square { variance.sqrt() } else { 0.0 };
    }

    /// Takes sums and squares of the closes about the last of them.
    fn recentre(&mut self, closes: &[f64]) {
        self.centre = closes.last().copied().unwrap_or_default();
        (self.a, self.b) = closes.iter().fold((0.0, 0.0), |(sum, squares), x| {
            let d = x - self.centre;
            (sum + d, squares + d * d)
        });
        self.peak = self.b;
    }

    /// The variance of the last `n` closes, and the mean of the squares it is left over from.
    fn variance(&self, n: usize) -> (f64, f64) {
        let (mean, square) = (self.a / n as f64, self.b / n as f64);
        (square - mean * mean, square)
    }

    /// Bars before `t` only: bar `t` joins after the value is taken.
    fn extreme(&mut self, column: &[f64], t: usize, n: usize, beats: impl Fn(f64, f64) -> bool) {
        while self.queue.front().is_some_and(|&(bar, _)| bar + n < t) {
            self.queue.pop_front();
        }
        self.value = match self.queue.front() {
            Some(&(_, price)) if t >= n => price,
            _ => f64::NAN,
        };
        while self.queue.back().is_some_and(|&(_, price)| beats(column[t], price)) {
            self.queue.pop_back();
        }
        self.queue.push_back((t, column[t]));
    }
}

impl Stream {
    fn macd(&mut self, close: &[f64], t: usize, [fast, slow, signal]: [usize; 3]) {
        if t < slow {
            self.b += close[t];
            if t + fast >= slow {
                self.a += close[t];
            }
            if t + 1 < slow {
                return;
            }
            (self.a, self.b) = (self.a / fast as f64, self.b / slow as f64);
        } else {
            self.a += (close[t] - self.a) * rate(fast);
            self.b += (close[t] - self.b) * rate(slow);
        }
        let line = self.a - self.b;
        // Lines before this one.
        let n = t + 1 - slow;
        if n < signal {
            self.centre += line;
            if n + 1 < signal {
                return;
            }
            self.centre /= signal as f64;
        } else {
            self.centre += (line - self.centre) * rate(signal);
        }
        self.value = line - self.centre;
    }

    fn volatility(&mut self, close: &[f64], t: usize, n: usize) {
        if t == 0 {
            return;
        }
        let ret = change(close, t, 1);
        if t <= n {
            self.a += ret * ret;
            if t < n {
                return;
            }
            self.a /= n as f64;
        } else {
            self.a += (ret * ret - self.a) * rate(n);
        }
        self.value = self.a.sqrt();
    }
}

/// Weight of the newest value in an exponential average over `n` bars.
fn rate(n: usize) -> f64 {
    2.0 / (n as f64 + 1.0)
}

/// Return of the `n` bars up to bar `t`.
fn change(close: &[f64], t: usize, n: usize) -> f64 {
    let before = close[t - n];
    (close[t] - before) / before
}

/// Whether the running sums over `n` bars are computed afresh at bar `t`.
fn restarts(t: usize, n: usize) -> bool {
    t.is_multiple_of(RESTART_BARS) || t + 1 == n
}
