//! Best and worst bar: the largest and the smallest return.
//!
//! Undefined when n = 0. NaN returns are skipped.

use super::{Moments, defined};

/// Largest return of one bar.
pub fn best_bar(returns: &[f64]) -> Option<f64> {
    best_bar_of(&Moments::of(returns))
}

/// Smallest return of one bar.
pub fn worst_bar(returns: &[f64]) -> Option<f64> {
    worst_bar_of(&Moments::of(returns))
}

pub(crate) fn best_bar_of(moments: &Moments) -> Option<f64> {
    defined(moments.max)
}

pub(crate) fn worst_bar_of(moments: &Moments) -> Option<f64> {
    defined(moments.min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(best_bar(&[-0.2, f64::NAN, 0.1, 0.0]), Some(0.1));
        assert_eq!(worst_bar(&[-0.2, f64::NAN, 0.1, 0.0]), Some(-0.2));
        assert_eq!(best_bar(&[]), None);
        assert_eq!(worst_bar(&[f64::NAN]), None);
    }
}
