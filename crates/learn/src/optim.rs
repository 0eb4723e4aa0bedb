//! Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019) with a state that can be saved, and clipping by global
//! norm.
//!
//! Plain loops over host vectors: one thread, fixed order, the same arithmetic a device kernel can repeat.

use serde::{Deserialize, Serialize};

/// Settings of [`Adam`] other than the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AdamConfig {
    /// β₁, decay of the first moment.
    pub beta1: f64,
    /// β₂, decay of the second moment.
    pub beta2: f64,
    /// ε added to √v̂.
    pub eps: f64,
    /// Decoupled weight decay per step and unit of learning rate; 0 is Adam.
    pub weight_decay: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 }
    }
}

/// Moments and step count.
#[derive(Debug, Clone, PartialEq)]
pub struct Adam {
    config: AdamConfig,
    /// Updates made.
    pub step: u64,
    /// First moments, one vector per parameter.
    pub m: Vec<Vec<f32>>,
    /// Second moments, one vector per parameter.
    pub v: Vec<Vec<f32>>,
}

impl Adam {
    /// Zero moments for parameters of the given lengths.
    pub fn new(config: AdamConfig, lengths: &[usize]) -> Self {
        let zeros: Vec<Vec<f32>> = lengths.iter().map(|&n| vec![0.0; n]).collect();
        Self { config, step: 0, m: zeros.clone(), v: zeros }
    }

    /// θ ← θ·(1 − lr·weight_decay) − lr·m̂/(√v̂ + ε). All three lists have one vector per parameter.
    pub fn update(&mut self, lr: f64, grads: &[Vec<f32>], weights: &mut [Vec<f32>]) {
        self.step += 1;
        let AdamConfig { beta1, beta2, eps, weight_decay } = self.config;
        let t = self.step as f64;
        let step_size = (lr / (1.0 - beta1.powf(t))) as f32;
        let root_bias2 = (1.0 - beta2.powf(t)).sqrt() as f32;
        let keep = (1.0 - lr * weight_decay) as f32;
        let (b1, b2, eps) = (beta1 as f32, beta2 as f32, eps as f32);
        for (((theta, grad), m), v) in weights.iter_mut().zip(grads).zip(&mut self.m).zip(&mut self.v) {
            for (((theta, &g), m), v) in theta.iter_mut().zip(grad).zip(m).zip(v) {
                *m = b1 * *m + (1.0 - b1) * g;
                *v = b2 * *v + (1.0 - b2) * (g * g);
                *theta = *theta * keep - step_size * *m / (v.sqrt() / root_bias2 + eps);
            }
        }
    }
}

/// The Euclidean norm of all gradients together, accumulated in f64.
pub fn global_norm(grads: &[Vec<f32>]) -> f64 {
    grads.iter().flatten().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>().sqrt()
}

/// Scales all gradients so that their global norm, `norm`, becomes at most `max_norm`; 0 means no limit.
pub fn clip_by_norm(grads: &mut [Vec<f32>], norm: f64, max_norm: f64) {
    if max_norm > 0.0 && norm > max_norm {
        let scale = (max_norm / norm) as f32;
        grads.iter_mut().flatten().for_each(|g| *g *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `tests/golden/adam.py` (numpy, f64, textbook form): five steps on three weights.
    #[test]
    fn equals_the_numpy_sequence() {
        let golden = include_str!("../tests/golden/adam.csv");
        let mut checked = 0;
        for weight_decay in [0.0, 0.1] {
            let mut adam = Adam::new(AdamConfig { weight_decay, ..AdamConfig::default() }, &[3]);
            let mut theta = vec![vec![0.5f32, -1.0, 2.0]];
            for step in 1..=5u32 {
                let s = step as f32;
                let grads = vec![vec![0.1 * s, -0.3, 1e-3 * s * s - 0.01]];
                adam.update(1e-2, &grads, &mut theta);
                let prefix = format!("{weight_decay},{step},");
                let line = golden.lines().find_map(|l| l.strip_prefix(&prefix));
                let want: Vec<f64> =
                    line.into_iter().flat_map(|l| l.split(',')).filter_map(|x| x.parse().ok()).collect();
                assert_eq!(want.len(), 3, "golden line {prefix}");
                for (got, want) in theta[0].iter().zip(want) {
                    assert!((f64::from(*got) - want).abs() < 2e-6, "step {step}: {got} against {want}");
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, 30);
    }

    #[test]
    fn clips_the_norm_over_all_parameters() {
        let mut grads = vec![vec![3.0], vec![0.0, 4.0]];
        let norm = global_norm(&grads);
        assert_eq!(norm, 5.0);
        clip_by_norm(&mut grads, norm, 1.0);
        assert!((global_norm(&grads) - 1.0).abs() < 1e-6);
        assert!((grads[0][0] - 0.6).abs() < 1e-6);
        let before = grads.clone();
        clip_by_norm(&mut grads, 1.0, 2.0);
        clip_by_norm(&mut grads, 1.0, 0.0);
        assert_eq!(grads, before);
    }
}
