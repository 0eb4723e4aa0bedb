//! Whether what a trainer holds can be had at all: asked before anything is allocated, because an allocation that fails
//! later ends the process without a word.

use gigabar_backtest::cpu::observation::N_PORTFOLIO;

use super::DqnConfig;
use crate::error::LearnError;

/// A transition and its place in a priority tree, bytes.
const PER_TRANSITION: f64 = 86.0 + 32.0;
/// An account, its reward state and its counters, bytes; rounded up.
const PER_ENV: f64 = 1024.0;
/// A step waiting for its n-step return, bytes.
const PER_PENDING: f64 = 64.0;
/// Online and target weights on both sides, two moments, gradients: copies of the parameters.
const COPIES: f64 = 7.0;
/// Observations, activations and their gradients: copies of a minibatch's rows.
const ROWS: f64 = 6.0;

/// Refuses settings whose memory the system would not give.
///
/// # Errors
/// [`LearnError::Memory`] with what needs how much.
pub(super) fn check(config: &DqnConfig, n_feature: usize) -> Result<(), LearnError> {
    let parts = parts(config, (n_feature + N_PORTFOLIO) as f64);
    let bytes: f64 = parts.iter().map(|part| part.1).sum();
    let granted = bytes < isize::MAX as f64 && Vec::<u8>::new().try_reserve_exact(bytes as usize).is_ok();
    if granted {
        return Ok(());
    }
    let gib = |bytes: f64| format!("{:.1} GiB", bytes / f64::from(1 << 30));
    let shown: Vec<String> = parts.iter().map(|(what, bytes)| format!("{what} {}", gib(*bytes))).collect();
    Err(LearnError::Memory { total: gib(bytes), parts: shown.join(", ") })
}

/// What needs how many bytes.
fn parts(config: &DqnConfig, n_input: f64) -> [(&'static str, f64); 4] {
    let widths: Vec<f64> = std::iter::once(n_input)
        .chain(config.hidden.iter().map(|&h| h as f64))
        .chain(std::iter::once(config.levels.len() as f64 + 1.0))
        .collect();
    let weights: f64 = widths.windows(2).map(|pair| (pair[0] + 1.0) * pair[1]).sum();
    let row: f64 = widths.iter().sum();
    let env = PER_ENV + PER_PENDING * config.n_step as f64 + 4.0 * row;
    [
        ("replay", PER_TRANSITION * config.replay_capacity as f64),
        ("environments", env * config.n_envs as f64),
        ("networks", 4.0 * COPIES * weights),
        ("minibatch", 4.0 * ROWS * row * config.batch as f64),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_default_fits_and_the_absurd_is_refused_by_name() {
        check(&DqnConfig::default(), 48).unwrap();
        let absurd = [
            DqnConfig { replay_capacity: u32::MAX as usize * 1000, ..DqnConfig::default() },
            DqnConfig { n_envs: 1 << 50, ..DqnConfig::default() },
            DqnConfig { hidden: vec![1 << 40, 1 << 40], ..DqnConfig::default() },
            DqnConfig { batch: 1 << 50, ..DqnConfig::default() },
        ];
        for (config, what) in absurd.iter().zip(["replay", "environments", "networks", "minibatch"]) {
            let message = check(config, 48).unwrap_err().to_string();
            assert!(message.contains(what) && message.contains("GiB"), "{message}");
        }
    }
}
