//! Skewness and excess kurtosis, the sample estimators G₁ and G₂ (Joanes & Gill 1998; pandas, Excel):
//! G₁ = g₁·√(n(n − 1))/(n − 2), G₂ = (n − 1)/((n − 2)(n − 3))·((n + 1)·g₂ + 6), with g₁ = μ₃/μ₂^1.5, g₂ = μ₄/μ₂² − 3.
//!
//! Undefined when n < 3 (skew), n < 4 (kurtosis), or the returns are constant up to rounding. NaN returns are skipped.

use super::{Moments, defined};

/// Sample skewness G₁.
pub fn skew(returns: &[f64]) -> Option<f64> {
    skew_of(&Moments::of(returns))
}

/// Sample excess kurtosis G₂; 0 of a normal distribution.
pub fn kurtosis(returns: &[f64]) -> Option<f64> {
    kurtosis_of(&Moments::of(returns))
}

pub(crate) fn skew_of(moments: &Moments) -> Option<f64> {
    if moments.n < 3 {
        return None;
    }
    let n = moments.n as f64;
    defined(population_skew(moments)? * (n * (n - 1.0)).sqrt() / (n - 2.0))
}

pub(crate) fn kurtosis_of(moments: &Moments) -> Option<f64> {
    if moments.n < 4 {
        return None;
    }
    let n = moments.n as f64;
    let excess = population_kurtosis(moments)? - 3.0;
    defined((n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * excess + 6.0))
}

/// g₁ = μ₃/μ₂^1.5.
pub(crate) fn population_skew(moments: &Moments) -> Option<f64> {
    moments.spread()?;
    let n = moments.n as f64;
    // Divided by √m2 three times: m2^1.5 would underflow for tiny returns.
    let root = moments.m2.sqrt();
    defined(n.sqrt() * (moments.m3 / moments.m2) / root)
}

/// μ₄/μ₂², not less 3.
pub(crate) fn population_kurtosis(moments: &Moments) -> Option<f64> {
    moments.spread()?;
    defined(moments.n as f64 * (moments.m4 / moments.m2) / moments.m2)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn by_hand() {
        // 1, 2, 3, 6: m2 14, m3 18, m4 98; g₁ = 4.5/3.5^1.5, g₂ = 24.5/12.25 − 3 = −1.
        let values = [1.0, 2.0, 3.0, 6.0];
        let g1 = 4.5 / 3.5_f64.powf(1.5);
        assert!((skew(&values).unwrap() - g1 * 12.0_f64.sqrt() / 2.0).abs() < 1e-14);
        assert!((kurtosis(&values).unwrap() - 3.0 / 2.0).abs() < 1e-13);
        assert_eq!(skew(&[1.0, 2.0, 3.0]), Some(0.0));
    }

    #[test]
    fn undefined() {
        assert_eq!(skew(&[0.1, 0.2]), None);
        assert_eq!(kurtosis(&[0.1, 0.2, 0.4]), None);
        assert_eq!(skew(&[0.1; 50]), None);
        assert_eq!(kurtosis(&[0.1; 50]), None);
    }
}
