//! Log returns over several horizons, and the gap between bars.

use super::rolling::padded;
use super::{Column, Job};
use crate::Bars;

/// This family's features.
pub(super) const JOBS: &[Job] = &[log_returns, open_gap];

const HORIZONS: [usize; 7] = [1, 2, 3, 5, 10, 20, 60];

fn log_returns(bars: &Bars) -> Vec<Column> {
    HORIZONS.map(|h| Column::new(format!("log_return_{h}"), h, log_return(bars.close(), h))).into()
}

fn open_gap(bars: &Bars) -> Vec<Column> {
    let (open, close) = (bars.open(), bars.close());
    let gaps = close.iter().zip(&open[1..]).map(|(before, now)| (now / before).ln());
    vec![Column::new("open_gap_1", 1, padded(open.len(), 1, gaps))]
}

/// ln(close_t/close_{t−horizon}), NaN for the first `horizon` bars. `[n_bars]`
pub(super) fn log_return(close: &[f64], horizon: usize) -> Vec<f64> {
    let later = close.iter().skip(horizon);
    padded(close.len(), horizon, close.iter().zip(later).map(|(before, now)| (now / before).ln()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn horizons_by_hand() {
        let r = log_return(&[1.0, 2.0, 8.0, 4.0], 2);
        assert!(r[0].is_nan() && r[1].is_nan());
        assert_eq!(&r[2..], [8.0f64.ln(), 2.0f64.ln()]);
    }
}
