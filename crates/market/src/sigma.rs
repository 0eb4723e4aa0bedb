//! Per-bar volatility: the exponentially weighted standard deviation every cost, barrier and observation uses.

/// λ = 2^(−1/32): a squared return loses half its weight in 32 bars.
pub const LAMBDA: f64 = 0.978_572_062_087_700_1;

/// `sigma[t]` = √v_t with v_1 = r_1², v_t = λ·v_{t−1} + (1−λ)·r_t², r_t = ln(close_t/close_{t−1}); `sigma[0]` = 0.
///
/// Causal: entry t reads closes up to t. `[n_bars]` in, `[n_bars]` out, units: log return per bar.
pub fn sigma(close: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; close.len()];
    let mut variance = 0.0;
    for t in 1..close.len() {
        let r = (close[t] / close[t - 1]).ln();
        variance = if t == 1 { r * r } else { LAMBDA * variance + (1.0 - LAMBDA) * (r * r) };
        out[t] = variance.sqrt();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambda_halves_in_32_bars() {
        assert!((LAMBDA.powi(32) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn first_two_values_by_hand() {
        let s = sigma(&[100.0, 110.0, 99.0]);
        let (r1, r2) = ((1.1f64).ln(), (0.9f64).ln());
        assert_eq!(s[0], 0.0);
        assert!((s[1] - r1.abs()).abs() < 1e-15);
        assert!((s[2] - (LAMBDA * r1 * r1 + (1.0 - LAMBDA) * r2 * r2).sqrt()).abs() < 1e-15);
    }
}
