//! Exposure: share of the n bars in which a position was open at any time.
//!
//! Undefined when n = 0.

/// bars in the market / n.
pub fn exposure(bars_in_market: usize, n_bars: usize) -> Option<f64> {
    if n_bars == 0 { None } else { Some(bars_in_market as f64 / n_bars as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(exposure(3, 4), Some(0.75));
        assert_eq!(exposure(0, 4), Some(0.0));
        assert_eq!(exposure(0, 0), None);
    }
}
