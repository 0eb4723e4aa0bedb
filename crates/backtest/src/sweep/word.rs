//! What a strategy wants in up to 64 bars: [`Word`], its signals as sets of bits, so that the next bar that matters is
//! a count of zeros away; [`Levels`], the levels of a strategy that sizes its positions.

use crate::policy::strategy::{MAX_INPUTS, Signal, Strategy, level};

/// Bars of a word.
pub(super) const WORD_BARS: usize = 64;

/// What is wanted at the closes of a word.
pub(super) trait Wants {
    /// The first bar from `at` on that wants another level than `held`, the account's; 64 or more where none does.
    fn next(&self, at: usize, held: f64) -> usize;

    /// The level wanted at bar `i`. Asked of bars in order, and of every one that [`Self::next`] names.
    fn level(&mut self, i: usize) -> f64;
}

/// Signals and the side that they have led to.
pub(super) struct Signals {
    pub(super) word: Word,
    pub(super) side: f64,
}

impl Wants for Signals {
    #[inline(always)]
    fn next(&self, at: usize, held: f64) -> usize {
        let rests = held == self.side;
        at + if rests { (self.word.changes(held) >> at).trailing_zeros() as usize } else { 0 }
    }

    #[inline(always)]
    fn level(&mut self, i: usize) -> f64 {
        self.side = self.word.signal(i).apply(self.side);
        self.side
    }
}

/// A level per bar.
pub(super) struct Levels([f64; WORD_BARS]);

impl Levels {
    /// The levels at the closes `close` (at most 64), given the indicators there, each as long. Takes `side`, where the
    /// strategy is before, to where it is after.
    #[inline(always)]
    pub(super) fn of<S: Strategy>(
        strategy: &S,
        close: &[f64],
        inputs: [&[f64]; MAX_INPUTS],
        periods_per_year: f64,
        side: &mut f64,
    ) -> Self {
        let mut levels = [0.0; WORD_BARS];
        for (i, (to, &close)) in levels.iter_mut().zip(close).enumerate() {
            let inputs = inputs.map(|column| column[i]);
            *side = strategy.signal(close, &inputs).apply(*side);
            *to = level(strategy, *side, &inputs, periods_per_year);
        }
        Self(levels)
    }
}

impl Wants for Levels {
    #[inline(always)]
    fn next(&self, at: usize, held: f64) -> usize {
        at + self.0[at..].iter().take_while(|&&level| level == held).count()
    }

    #[inline(always)]
    fn level(&mut self, i: usize) -> f64 {
        self.0[i]
    }
}

/// Bit i of each: whether bar i gives that signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    long: u64,
    short: u64,
    leave_long: u64,
    leave_short: u64,
}

impl Word {
    /// The signals at the closes `close` (at most 64), given the indicators there, each as long.
    #[inline(always)]
    pub(super) fn of<'a, S: Strategy>(strategy: &S, close: &'a [f64], inputs: [&'a [f64]; MAX_INPUTS]) -> Self {
        let whole = |column: &'a [f64]| column.first_chunk::<WORD_BARS>();
        let mut bytes = [0_u8; WORD_BARS];
        // Of a length known beforehand no bar is left over from the vectors.
        if let (Some(close), [Some(a), Some(b), Some(c), Some(d)]) = (whole(close), inputs.map(whole)) {
            for i in 0..WORD_BARS {
                bytes[i] = strategy.signal(close[i], &[a[i], b[i], c[i], d[i]]).0;
            }
        } else {
            for (i, (byte, &close)) in bytes.iter_mut().zip(close).enumerate() {
                *byte = strategy.signal(close, &inputs.map(|column| column[i])).0;
            }
        }
        Self::gather(&bytes)
    }

    /// Bit 0 of every byte to `long`, bit 1 to `short`, and so on.
    #[inline(always)]
    fn gather(bytes: &[u8; WORD_BARS]) -> Self {
        const LOW_BITS: u64 = 0x0101_0101_0101_0101;
        // Brings bit 0 of byte i to bit 56 + i.
        const TO_TOP: u64 = 0x0102_0408_1020_4080;
        let mut eights = [0; WORD_BARS / 8];
        for (eight, bytes) in eights.iter_mut().zip(bytes.as_chunks().0) {
            *eight = u64::from_le_bytes(*bytes);
        }
        let used = eights.iter().fold(0, |all, eight| all | eight);
        let plane = |signal: Signal| {
            let bit = signal.0.trailing_zeros();
            if used >> bit & LOW_BITS == 0 {
                return 0;
            }
            let top = |eight: u64| (eight >> bit & LOW_BITS).wrapping_mul(TO_TOP) >> 56;
            eights.iter().rev().fold(0, |plane, &eight| plane << 8 | top(eight))
        };
        Self {
            long: plane(Signal::LONG),
            short: plane(Signal::SHORT),
            leave_long: plane(Signal::LEAVE_LONG),
            leave_short: plane(Signal::LEAVE_SHORT),
        }
    }

    /// The bars whose signal changes the level `held`.
    #[inline(always)]
    pub(super) fn changes(&self, held: f64) -> u64 {
        let leaves = if held > 0.0 {
            self.short | self.leave_long
        } else if held < 0.0 {
            return self.long | self.leave_short & !self.short;
        } else {
            return self.long | self.short;
        };
        leaves & !self.long
    }

    /// The signal of bar `i`.
    #[inline(always)]
    pub(super) fn signal(&self, i: usize) -> Signal {
        let bit = |plane: u64, signal: Signal| signal.when(plane >> i & 1 != 0);
        bit(self.long, Signal::LONG)
            .or(bit(self.short, Signal::SHORT))
            .or(bit(self.leave_long, Signal::LEAVE_LONG))
            .or(bit(self.leave_short, Signal::LEAVE_SHORT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigabar_market::rng::Philox;

    #[test]
    fn signals_come_back_and_changes_are_where_the_level_changes() {
        let mut rng = Philox::new(1, 2);
        for quiet in [0, 3, 60] {
            let bytes: [u8; WORD_BARS] =
                std::array::from_fn(|_| if rng.index(64) < quiet { 0 } else { rng.index(16) as u8 });
            let word = Word::gather(&bytes);
            for (i, &byte) in bytes.iter().enumerate() {
                assert_eq!(word.signal(i), Signal(byte));
                for held in [-1.0, 0.0, 1.0] {
                    let changes = Signal(byte).apply(held) != held;
                    assert_eq!(word.changes(held) >> i & 1 != 0, changes, "{byte} from {held}");
                }
            }
        }
    }
}
