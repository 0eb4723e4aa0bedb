//! The ring of transitions: 86 bytes each, because market features are gathered again from the table by bar index.

use gigabar_backtest::cpu::observation::N_PORTFOLIO;

/// One n-step transition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transition {
    /// Bar at whose close the action was chosen.
    pub bar: u32,
    /// Portfolio observation at that close.
    pub portfolio: [f32; N_PORTFOLIO],
    /// Index of the level chosen.
    pub action: u32,
    /// Σ γᵏ·r over the steps spanned.
    pub reward: f32,
    /// γⁿ for the steps spanned.
    pub discount: f32,
    /// Whether the last step was a termination (ruin): no bootstrap.
    pub done: bool,
    /// Bar at whose close the bootstrap observation is taken.
    pub next_bar: u32,
    /// Portfolio observation there.
    pub next_portfolio: [f32; N_PORTFOLIO],
}

/// A fixed-capacity ring, one array per field; the oldest transition is overwritten.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ring {
    capacity: usize,
    /// Transitions ever written.
    written: u64,
    /// `[len]`
    pub(crate) bar: Vec<u32>,
    /// `[len × 8]`
    pub(crate) portfolio: Vec<f32>,
    /// `[len]`
    pub(crate) action: Vec<u32>,
    /// `[len]`
    pub(crate) reward: Vec<f32>,
    /// `[len]`
    pub(crate) discount: Vec<f32>,
    /// `[len]`, 0 or 1
    pub(crate) done: Vec<u8>,
    /// `[len]`
    pub(crate) next_bar: Vec<u32>,
    /// `[len × 8]`
    pub(crate) next_portfolio: Vec<f32>,
}

impl Ring {
    /// An empty ring.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, ..Self::default() }
    }

    /// Transitions held.
    pub fn len(&self) -> usize {
        self.bar.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.bar.is_empty()
    }

    /// Transitions ever written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Sets the write count of a ring whose arrays were restored.
    pub(crate) fn set_written(&mut self, written: u64) {
        self.written = written;
    }

    /// Writes a transition; returns its slot.
    pub fn push(&mut self, t: &Transition) -> usize {
        let slot = (self.written % self.capacity as u64) as usize;
        self.written += 1;
        put(&mut self.bar, slot, t.bar);
        put_row(&mut self.portfolio, slot, &t.portfolio);
        put(&mut self.action, slot, t.action);
        put(&mut self.reward, slot, t.reward);
        put(&mut self.discount, slot, t.discount);
        put(&mut self.done, slot, u8::from(t.done));
        put(&mut self.next_bar, slot, t.next_bar);
        put_row(&mut self.next_portfolio, slot, &t.next_portfolio);
        slot
    }

    /// The transition in `slot`.
    pub fn get(&self, slot: usize) -> Transition {
        Transition {
            bar: self.bar[slot],
            portfolio: row(&self.portfolio, slot),
            action: self.action[slot],
            reward: self.reward[slot],
            discount: self.discount[slot],
            done: self.done[slot] != 0,
            next_bar: self.next_bar[slot],
            next_portfolio: row(&self.next_portfolio, slot),
        }
    }
}

/// Overwrites, or appends while the ring is filling.
fn put<T>(column: &mut Vec<T>, slot: usize, value: T) {
    match column.get_mut(slot) {
        Some(place) => *place = value,
        None => column.push(value),
    }
}

fn put_row(column: &mut Vec<f32>, slot: usize, values: &[f32; N_PORTFOLIO]) {
    match column.get_mut(slot * N_PORTFOLIO..(slot + 1) * N_PORTFOLIO) {
        Some(place) => place.copy_from_slice(values),
        None => column.extend_from_slice(values),
    }
}

fn row(column: &[f32], slot: usize) -> [f32; N_PORTFOLIO] {
    let mut out = [0.0; N_PORTFOLIO];
    out.copy_from_slice(&column[slot * N_PORTFOLIO..(slot + 1) * N_PORTFOLIO]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transition(i: u32) -> Transition {
        Transition {
            bar: i,
            portfolio: [i as f32; N_PORTFOLIO],
            action: i % 5,
            reward: -(i as f32),
            discount: 0.9,
            done: i.is_multiple_of(2),
            next_bar: i + 1,
            next_portfolio: [i as f32 + 0.5; N_PORTFOLIO],
        }
    }

    #[test]
    fn overwrites_the_oldest() {
        let mut ring = Ring::new(3);
        let slots: Vec<usize> = (0..5).map(|i| ring.push(&transition(i))).collect();
        assert_eq!(slots, [0, 1, 2, 0, 1]);
        assert_eq!((ring.len(), ring.written()), (3, 5));
        assert_eq!(ring.get(0), transition(3));
        assert_eq!(ring.get(1), transition(4));
        assert_eq!(ring.get(2), transition(2));
    }
}
