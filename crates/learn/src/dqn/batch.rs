//! A minibatch's observations, gathered in one pass from the ring and the feature table.

use candle_core::Tensor;
use gigabar_backtest::cpu::observation::N_PORTFOLIO;

use super::Trainer;
use crate::error::LearnError;
use crate::stream;

impl Trainer {
    /// Observations and next observations of the drawn transitions, each `[batch, n_input]`.
    pub(crate) fn gather(&mut self) -> Result<(Tensor, Tensor), LearnError> {
        let (ring, features) = (&self.ring, &self.data.features);
        let noise = self.config.feature_noise;
        let amplitude = (noise * 3f64.sqrt()) as f32;
        let mut noise = Noise { amplitude, seed: self.seed, block: &mut self.progress.noise_blocks };
        let capacity = self.draw.slots.len() * self.nets.online.shape().n_input;
        let (mut now, mut next) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
        for &slot in &self.draw.slots {
            let portfolio = slot * N_PORTFOLIO..(slot + 1) * N_PORTFOLIO;
            noise.extend(&mut now, features.row(ring.bar[slot] as usize));
            now.extend_from_slice(&ring.portfolio[portfolio.clone()]);
            noise.extend(&mut next, features.row(ring.next_bar[slot] as usize));
            next.extend_from_slice(&ring.next_portfolio[portfolio]);
        }
        Ok((self.nets.online.input(now)?, self.nets.online.input(next)?))
    }
}

/// Uniform noise for features; see [`DqnConfig::feature_noise`].
pub(crate) struct Noise<'a> {
    /// √3 times the standard deviation.
    pub(crate) amplitude: f32,
    pub(crate) seed: u64,
    /// Philox blocks used so far.
    pub(crate) block: &'a mut u64,
}

impl Noise<'_> {
    /// Appends `features`, with noise if there is any: 16 random bits each, eight from a block.
    pub(crate) fn extend(&mut self, out: &mut Vec<f32>, features: &[f32]) {
        if self.amplitude == 0.0 {
            return out.extend_from_slice(features);
        }
        const PER_BLOCK: usize = 8;
        let unit = |half: u32| (half as f32 + 0.5) * (2.0 / 65_536.0) - 1.0;
        for chunk in features.chunks(PER_BLOCK) {
            let words = stream::block(self.seed, stream::NOISE, *self.block);
            *self.block += 1;
            let mut noise = [0.0; PER_BLOCK];
            for (pair, word) in noise.chunks_exact_mut(2).zip(words) {
                pair.copy_from_slice(&[unit(word & 0xffff), unit(word >> 16)]);
            }
            out.extend(chunk.iter().zip(noise).map(|(x, noise)| x + self.amplitude * noise));
        }
    }
}
