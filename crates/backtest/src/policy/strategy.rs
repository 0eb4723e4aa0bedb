//! [`Strategy`]: a rule that turns indicators into a level. [`StrategyPolicy`] trades one; [`crate::sweep`] many at
//! once.

use std::fmt::Debug;
use std::ops::Range;

use gigabar_market::Bars;

use super::indicator::{Indicator, Prices, Stream};
use super::parameter::{Invalid, Kind, Values};
use super::{
    Bollinger, Donchian, EmaCross, MacdCross, Momentum, Observation, Policy, RsiReversal, SmaCross, VolTarget,
};

/// Indicators a strategy reads at most.
pub const MAX_INPUTS: usize = 4;

/// Numbers a strategy computes with at most.
pub const MAX_THRESHOLDS: usize = 4;

/// The indicators a strategy reads, the first ones of the array.
pub type Inputs = [Option<Indicator>; MAX_INPUTS];

/// At most [`MAX_INPUTS`] indicators.
pub(super) fn inputs(read: &[Indicator]) -> Inputs {
    std::array::from_fn(|i| read.get(i).copied())
}

/// What a strategy wants at the close of a bar. Bits, so that a device holds a bar's in four of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signal(pub u8);

impl Signal {
    /// Nothing: keep the level held.
    pub const HOLD: Self = Self(0);
    /// Be long.
    pub const LONG: Self = Self(1);
    /// Be short.
    pub const SHORT: Self = Self(2);
    /// Be flat if long.
    pub const LEAVE_LONG: Self = Self(4);
    /// Be flat if short.
    pub const LEAVE_SHORT: Self = Self(8);

    /// Go short, or with `long_only` leave a long.
    #[inline(always)]
    pub fn below(long_only: bool) -> Self {
        if long_only { Self::LEAVE_LONG } else { Self::SHORT }
    }

    /// `self` where `wanted`, else nothing.
    #[must_use]
    #[inline(always)]
    pub fn when(self, wanted: bool) -> Self {
        if wanted { self } else { Self::HOLD }
    }

    /// Both; an entry wins over an exit, long over short.
    #[must_use]
    #[inline(always)]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The side after this signal, from the side held (−1, 0 or 1).
    #[inline(always)]
    pub fn apply(self, held: f64) -> f64 {
        let has = |bit: Self| self.0 & bit.0 != 0;
        if has(Self::LONG) {
            1.0
        } else if has(Self::SHORT) {
            -1.0
        } else if (held > 0.0 && has(Self::LEAVE_LONG)) || (held < 0.0 && has(Self::LEAVE_SHORT)) {
            0.0
        } else {
            held
        }
    }
}

/// A rule: which indicators it reads and what it makes of them. Signals move it between the sides −1, 0 and 1, 0 until
/// a first one; the level is the side, or with [`Self::SIZED`] the side times a size.
pub trait Strategy: Debug + Copy + Send + Sync + 'static {
    /// What its parameters may be, in the order of its row in [`STRATEGIES`](super::STRATEGIES).
    const KINDS: &'static [Kind];

    /// Whether the level may change from bar to bar while the side does not.
    const SIZED: bool = false;

    /// The strategy with these parameter values.
    ///
    /// # Errors
    /// [`Invalid`] where they contradict each other.
    fn build(values: &Values) -> Result<Self, Invalid>;

    /// Name with parameters, as [`parse`](super::parse()) reads it.
    fn name(&self) -> String;

    /// What it reads, at least one, in the order [`Self::signal`] gets it.
    fn indicators(&self) -> Inputs;

    /// The signal at a bar's close, given the indicators there. A comparison with NaN is false, so an undefined
    /// indicator gives no signal. Mark it `#[inline(always)]`: a sweep compiles it for the processor's widest vectors.
    fn signal(&self, close: f64, inputs: &[f64; MAX_INPUTS]) -> Signal;

    /// The level at a bar's close on the side −1 or 1, given the indicators there. Asked only where [`Self::SIZED`].
    fn level(&self, side: f64, _inputs: &[f64; MAX_INPUTS], _periods_per_year: f64) -> f64 {
        side
    }

    /// The numbers [`Self::signal`] and [`Self::level`] compute with, for a device.
    fn thresholds(&self) -> [f64; MAX_THRESHOLDS] {
        [0.0; MAX_THRESHOLDS]
    }

    /// Whether it holds nothing where it would be short.
    fn long_only(&self) -> bool;

    /// As a policy.
    fn policy(self) -> StrategyPolicy<Self> {
        StrategyPolicy::new(self)
    }
}

/// A strategy trading bar by bar. Reads history before the window; begins every window flat.
#[derive(Debug, Clone)]
pub struct StrategyPolicy<S> {
    strategy: S,
    streams: Vec<Stream>,
    /// Of one span of bars. `[MAX_INPUTS][span]`
    columns: [Vec<f64>; MAX_INPUTS],
    side: f64,
}

impl<S: Strategy> StrategyPolicy<S> {
    /// Not yet in any window.
    pub fn new(strategy: S) -> Self {
        let streams = strategy.indicators().into_iter().flatten().map(Stream::new).collect();
        Self { strategy, streams, columns: Default::default(), side: 0.0 }
    }
}

impl<S: Strategy> Policy for StrategyPolicy<S> {
    fn name(&self) -> String {
        self.strategy.name()
    }

    fn reset(&mut self, _window: Range<usize>) {
        self.side = 0.0;
    }

    fn level(&mut self, observation: &Observation<'_>) -> f64 {
        let prices = Prices { high: observation.high(), low: observation.low(), close: observation.close() };
        let t = observation.t();
        let mut inputs = [f64::NAN; MAX_INPUTS];
        for (input, stream) in inputs.iter_mut().zip(&mut self.streams) {
            *input = stream.at(prices, t);
        }
        self.side = self.strategy.signal(prices.close[t], &inputs).apply(self.side);
        level(&self.strategy, self.side, &inputs, observation.periods_per_year())
    }

    fn levels_ahead(&mut self, bars: &Bars, span: Range<usize>, to: &mut Vec<f64>) -> bool {
        let prices = Prices { high: bars.high(), low: bars.low(), close: bars.close() };
        for (stream, column) in self.streams.iter_mut().zip(&mut self.columns) {
            column.clear();
            stream.fill(prices, span.clone(), column);
        }
        // Inputs that are not read repeat the first.
        let inputs: [&[f64]; MAX_INPUTS] =
            std::array::from_fn(|i| self.columns[if i < self.streams.len() { i } else { 0 }].as_slice());
        to.extend(bars.close()[span].iter().enumerate().map(|(i, &close)| {
            let inputs = inputs.map(|column| column[i]);
            self.side = self.strategy.signal(close, &inputs).apply(self.side);
            level(&self.strategy, self.side, &inputs, bars.periods_per_year())
        }));
        true
    }
}

/// The level of a strategy that is on `side`.
#[inline(always)]
pub(crate) fn level<S: Strategy>(strategy: &S, side: f64, inputs: &[f64; MAX_INPUTS], periods_per_year: f64) -> f64 {
    if S::SIZED && side != 0.0 { strategy.level(side, inputs, periods_per_year) } else { side }
}

/// Any of the rule strategies.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum AnyStrategy {
    SmaCross(SmaCross),
    EmaCross(EmaCross),
    Rsi(RsiReversal),
    Donchian(Donchian),
    Bollinger(Bollinger),
    Macd(MacdCross),
    Momentum(Momentum),
    VolTarget(VolTarget),
}

/// Does the same with whichever strategy it is.
macro_rules! each {
    ($any:expr, $strategy:ident => $do:expr) => {
        match $any {
            $crate::policy::AnyStrategy::SmaCross($strategy) => $do,
            $crate::policy::AnyStrategy::EmaCross($strategy) => $do,
            $crate::policy::AnyStrategy::Rsi($strategy) => $do,
            $crate::policy::AnyStrategy::Donchian($strategy) => $do,
            $crate::policy::AnyStrategy::Bollinger($strategy) => $do,
            $crate::policy::AnyStrategy::Macd($strategy) => $do,
            $crate::policy::AnyStrategy::Momentum($strategy) => $do,
            $crate::policy::AnyStrategy::VolTarget($strategy) => $do,
        }
    };
}

pub(crate) use each;

impl AnyStrategy {
    /// What the parameters of the strategy `name` may be; `None` if it is no rule strategy.
    pub(super) fn kinds(name: &str) -> Option<&'static [Kind]> {
        Some(match name {
            "sma-cross" => SmaCross::KINDS,
            "ema-cross" => EmaCross::KINDS,
            "rsi" => RsiReversal::KINDS,
            "donchian" => Donchian::KINDS,
            "bollinger" => Bollinger::KINDS,
            "macd" => MacdCross::KINDS,
            "momentum" => Momentum::KINDS,
            "vol-target" => VolTarget::KINDS,
            _ => return None,
        })
    }

    /// The strategy `name` with these values; `None` if it is no rule strategy.
    pub(super) fn build(name: &str, values: &Values) -> Option<Result<Self, Invalid>> {
        Some(match name {
            "sma-cross" => SmaCross::build(values).map(Self::SmaCross),
            "ema-cross" => EmaCross::build(values).map(Self::EmaCross),
            "rsi" => RsiReversal::build(values).map(Self::Rsi),
            "donchian" => Donchian::build(values).map(Self::Donchian),
            "bollinger" => Bollinger::build(values).map(Self::Bollinger),
            "macd" => MacdCross::build(values).map(Self::Macd),
            "momentum" => Momentum::build(values).map(Self::Momentum),
            "vol-target" => VolTarget::build(values).map(Self::VolTarget),
            _ => return None,
        })
    }

    /// Name with parameters, as [`parse`](super::parse()) reads it.
    pub fn name(&self) -> String {
        each!(self, strategy => strategy.name())
    }

    /// Whether its level may change while the side does not: [`Strategy::SIZED`].
    pub fn is_sized(&self) -> bool {
        fn of<S: Strategy>(_: &S) -> bool {
            S::SIZED
        }
        each!(self, strategy => of(strategy))
    }

    /// What it reads.
    pub fn indicators(&self) -> Inputs {
        each!(self, strategy => strategy.indicators())
    }

    /// The signal at a bar's close.
    pub fn signal(&self, close: f64, inputs: &[f64; MAX_INPUTS]) -> Signal {
        each!(self, strategy => strategy.signal(close, inputs))
    }

    /// The level at a bar's close on `side`.
    #[cfg(test)]
    pub(crate) fn level(&self, side: f64, inputs: &[f64; MAX_INPUTS], periods_per_year: f64) -> f64 {
        each!(self, strategy => level(strategy, side, inputs, periods_per_year))
    }

    /// As a policy.
    pub fn policy(self) -> Box<dyn Policy> {
        each!(self, strategy => Box::new(strategy.policy()))
    }
}

/// The levels of a strategy over closes that are also highs and lows, 252 bars a year.
#[cfg(test)]
pub(super) fn levels_of(strategy: impl Strategy, close: &[f64]) -> Vec<f64> {
    let prices = Prices { high: close, low: close, close };
    let mut streams: Vec<Stream> = strategy.indicators().into_iter().flatten().map(Stream::new).collect();
    let mut side = 0.0;
    let mut step = |t: usize| {
        let mut inputs = [f64::NAN; MAX_INPUTS];
        inputs.iter_mut().zip(&mut streams).for_each(|(input, stream)| *input = stream.at(prices, t));
        side = strategy.signal(close[t], &inputs).apply(side);
        level(&strategy, side, &inputs, 252.0)
    };
    (0..close.len()).map(&mut step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_by_hand() {
        let all = [-1.0, 0.0, 1.0];
        assert_eq!(all.map(|held| Signal::HOLD.apply(held)), all);
        assert_eq!(all.map(|held| Signal::LONG.apply(held)), [1.0; 3]);
        assert_eq!(all.map(|held| Signal::SHORT.apply(held)), [-1.0; 3]);
        assert_eq!(all.map(|held| Signal::LEAVE_LONG.apply(held)), [-1.0, 0.0, 0.0]);
        assert_eq!(all.map(|held| Signal::LEAVE_SHORT.apply(held)), [0.0, 0.0, 1.0]);
        let leave = Signal::LEAVE_LONG.or(Signal::LEAVE_SHORT);
        assert_eq!(all.map(|held| leave.apply(held)), [0.0; 3]);
        assert_eq!(all.map(|held| leave.or(Signal::SHORT).apply(held)), [-1.0; 3]);
    }
}
