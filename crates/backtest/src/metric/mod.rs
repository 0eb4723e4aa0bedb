//! The metric suite, one file per metric or tight family, each with formula, convention, reference and tests by hand.
//!
//! - Inputs of a window: simple returns r_1..r_n per bar, equity E_0..E_n, closed trades, event counts, and N, the
//!   periods per year. [`WindowMetrics::compute`] makes everything of them in a few passes: [`WindowStats`] first, then
//!   formulas of those. The functions of the single files make one metric of a slice.
//! - An undefined metric is `None` (`null` in JSON, `–` in tables), never 0 and never infinite.
//! - A NaN return is a missing value: it is skipped, and n of the return metrics does not count it. (The simulator makes
//!   none.) Metrics of the equity count every bar.
//! - Sums are fixed trees ([`sum`](mod@sum)): the same input gives the same bits on any number of threads.
//! - [`CATALOG`] names, formats and reads every metric; tables, reports and objectives use that one list.

pub mod benchmark;
pub mod catalog;
pub mod drawdown;
pub mod moments;
pub mod overfitting;
pub mod probabilistic_sharpe;
pub mod quantile;
pub mod scan;
pub mod stats;
pub mod sum;
pub mod trades;
pub mod value_at_risk;

mod cagr;
mod calmar;
mod exposure;
mod extremes;
mod omega;
mod shape;
mod sharpe;
mod sortino;
mod tail_ratio;
mod total_return;
mod turnover;
mod ulcer_index;
mod volatility;
mod window;

pub use benchmark::{alpha, benchmark_return, beta, information_ratio};
pub use cagr::cagr;
pub use calmar::calmar;
pub use catalog::{Better, CATALOG, Format, Group, MetricInfo, UnknownMetric};
pub use drawdown::{max_drawdown, max_drawdown_bars, recovered, recovery_bars};
pub use exposure::exposure;
pub use extremes::{best_bar, worst_bar};
pub use moments::Moments;
pub use omega::omega;
pub use overfitting::{Overfitting, probability_of_overfitting};
pub use probabilistic_sharpe::{Trials, deflated_sharpe, expected_max_sharpe, probabilistic_sharpe};
pub use quantile::{quantile, quantiles};
pub use shape::{kurtosis, skew};
pub use sharpe::sharpe;
pub(crate) use sharpe::sharpe_of;
pub use sortino::{downside_deviation, sortino};
pub use stats::WindowStats;
pub use tail_ratio::tail_ratio;
pub use total_return::{compound, total_pnl, total_return};
pub use trades::TradeStats;
pub use turnover::turnover;
pub use ulcer_index::ulcer_index;
pub use value_at_risk::{conditional_value_at_risk, value_at_risk};
pub use volatility::volatility;
pub use window::{MetricConfig, MetricConfigError, PathView, WindowMetrics};

/// What is not finite is undefined.
pub(crate) fn defined(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
