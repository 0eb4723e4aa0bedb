//! Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a counter-based generator.
//!
//! A draw is a pure function of (key, counter), so the same numbers come out on any thread, in any order and, later, on
//! any device; a checkpoint stores a counter, not a state.

use rand::RngCore;
use serde::{Deserialize, Serialize};

const M0: u32 = 0xD251_1F53;
const M1: u32 = 0xCD9E_8D57;
const W0: u32 = 0x9E37_79B9;
const W1: u32 = 0xBB67_AE85;

/// One block of Philox4x32-10: four random words for a key and a counter.
pub fn philox4x32(key: [u32; 2], counter: [u32; 4]) -> [u32; 4] {
    let [mut k0, mut k1] = key;
    let mut c = counter;
    for _ in 0..10 {
        let p0 = u64::from(M0) * u64::from(c[0]);
        let p1 = u64::from(M1) * u64::from(c[2]);
        c = [(p1 >> 32) as u32 ^ c[1] ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k1, p0 as u32];
        k0 = k0.wrapping_add(W0);
        k1 = k1.wrapping_add(W1);
    }
    c
}

/// The top 24 bits of a word as f32 in `[0, 1)`: exact, and never 1.
pub fn unit_f32(word: u32) -> f32 {
    (word >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// 53 bits of two words as f64 in `[0, 1)`.
pub fn unit_f64(high: u32, low: u32) -> f64 {
    let bits = (u64::from(high) << 32 | u64::from(low)) >> 11;
    bits as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// A sequential reader of one Philox stream; implements [`RngCore`], so `rand_distr` distributions work on it.
///
/// Keyed by `seed`; `stream` separates uses (learner, environment, purpose) that must not share draws.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Philox {
    seed: u64,
    stream: u64,
    /// 32-bit words already handed out.
    drawn: u64,
}

impl Philox {
    /// The stream `stream` of `seed`, at its beginning.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { seed, stream, drawn: 0 }
    }

    /// The stream after `words` 32-bit words of it.
    pub fn after(seed: u64, stream: u64, words: u64) -> Self {
        Self { seed, stream, drawn: words }
    }

    /// A uniform f64 in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        let high = self.next_u32();
        let low = self.next_u32();
        unit_f64(high, low)
    }

    /// A uniform index in `0..n` (Lemire's multiply-shift on 64 bits; bias below 2⁻³² for any `n` up to 2³²).
    pub fn index(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }
}

impl RngCore for Philox {
    fn next_u32(&mut self) -> u32 {
        let block = self.drawn / 4;
        let word = (self.drawn % 4) as usize;
        self.drawn += 1;
        let key = [self.seed as u32, (self.seed >> 32) as u32];
        let counter = [block as u32, (block >> 32) as u32, self.stream as u32, (self.stream >> 32) as u32];
        philox4x32(key, counter)[word]
    }

    fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        low | u64::from(self.next_u32()) << 32
    }

    fn fill_bytes(&mut self, dst: &mut [u8]) {
        for chunk in dst.chunks_mut(4) {
            let word = self.next_u32().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known-answer vectors of Random123 (`kat_vectors`, philox4x32 10).
    #[test]
    fn random123_known_answers() {
        let f = u32::MAX;
        assert_eq!(philox4x32([0, 0], [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox4x32([f, f], [f; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        let want = [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1];
        assert_eq!(philox4x32([0xa409_3822, 0x299f_31d0], pi), want);
    }

    #[test]
    fn unit_ranges_are_half_open() {
        assert!(unit_f32(u32::MAX) < 1.0);
        assert!(unit_f64(u32::MAX, u32::MAX) < 1.0);
        assert_eq!(unit_f32(0), 0.0);
    }

    #[test]
    fn streams_differ_and_resume_from_the_counter() {
        let mut a = Philox::new(7, 0);
        let mut b = Philox::new(7, 1);
        assert_ne!(a.next_u64(), b.next_u64());
        let mut resumed = a.clone();
        assert_eq!(a.next_u64(), resumed.next_u64());
    }
}
