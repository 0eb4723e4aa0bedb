//! Uniform replay: every stored transition is equally likely.

use gigabar_market::rng::Philox;

use super::Draw;

/// Draws every slot with probability 1/N, independently; all importance weights are 1.
#[derive(Debug, Clone, Default)]
pub struct Uniform {
    len: usize,
}

impl Uniform {
    /// An empty sampler.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn insert(&mut self, slot: usize) {
        self.len = self.len.max(slot + 1);
    }

    pub(super) fn draw(&mut self, n: usize, rng: &mut Philox, out: &mut Draw) {
        out.slots.clear();
        out.slots.extend((0..n).map(|_| rng.index(self.len)));
        out.weights.clear();
        out.weights.resize(n, 1.0);
    }

    pub(super) fn restore(&mut self, len: usize) {
        self.len = len;
    }
}
