//! [`CATALOG`]: the one list of all metrics that tables, reports and objectives use.

use std::cmp::Ordering;

use thiserror::Error;

use super::{MetricConfig, WindowMetrics};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A fraction, shown in percent with two decimals.
    Percent,
    /// A bare number, three decimals.
    Ratio,
    /// Quote currency, two decimals.
    Money,
    /// A count of things.
    Count,
    /// A number of bars; a mean has one decimal.
    Bars,
    /// 1 or 0, shown as yes or no.
    Flag,
}

impl Format {
    /// Text for tables; an undefined value is `–`.
    pub fn text(self, value: Option<f64>) -> String {
        let Some(value) = value else { return "–".into() };
        match self {
            Self::Percent => format!("{:.2} %", positive_zero(value * 100.0, 0.005)),
            Self::Ratio => format!("{:.3}", positive_zero(value, 0.0005)),
            Self::Money => grouped(positive_zero(value, 0.005), 2),
            Self::Count => grouped(value, 0),
            Self::Bars if value.fract() == 0.0 => grouped(value, 0),
            Self::Bars => grouped(value, 1),
            Self::Flag => if value == 0.0 { "no" } else { "yes" }.into(),
        }
    }

    /// Unit of the stored (not the shown) value.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Percent => "fraction",
            Self::Ratio => "",
            Self::Money => "quote currency",
            Self::Count => "count",
            Self::Bars => "bars",
            Self::Flag => "flag",
        }
    }
}

/// No "-0.00".
fn positive_zero(value: f64, half_unit: f64) -> f64 {
    if value.abs() < half_unit { 0.0 } else { value }
}

/// Thousands separated by commas.
fn grouped(value: f64, decimals: usize) -> String {
    let plain = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = plain.split_once('.').map_or((plain.as_str(), None), |(w, f)| (w, Some(f)));
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it describes.
    Neither,
}

/// Where a metric stands in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Profit and growth.
    Return,
    /// Return per unit of risk.
    RiskAdjusted,
    /// Dispersion, drawdowns and tails.
    Risk,
    /// Closed trades.
    Trades,
    /// Exposure, orders, costs.
    Activity,
    /// Against holding the instrument.
    Benchmark,
}

impl Group {
    /// Heading.
    pub fn label(self) -> &'static str {
        match self {
            Self::Return => "Return",
            Self::RiskAdjusted => "Risk-adjusted",
            Self::Risk => "Risk",
            Self::Trades => "Trades",
            Self::Activity => "Activity",
            Self::Benchmark => "Against buy and hold",
        }
    }
}

/// One metric of [`WindowMetrics`].
#[derive(Debug, Clone, Copy)]
pub struct MetricInfo {
    /// Field name; the key in JSON and of objectives.
    pub key: &'static str,
    /// Short name for tables.
    pub label: &'static str,
    /// How the value is written.
    pub format: Format,
    /// Which way it improves.
    pub better: Better,
    /// Where it stands.
    pub group: Group,
    /// One sentence for a tooltip.
    pub about: &'static str,
    /// Reads it; flags as 1 or 0.
    pub value: fn(&WindowMetrics) -> Option<f64>,
}

impl MetricInfo {
    /// Orders two values, the better one greater; undefined ranks below every defined value. `Equal` for metrics that
    /// only describe.
    pub fn rank(&self, a: Option<f64>, b: Option<f64>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => match self.better {
                Better::Higher => a.total_cmp(&b),
                Better::Lower => b.total_cmp(&a),
                Better::Neither => Ordering::Equal,
            },
            _ => a.is_some().cmp(&b.is_some()),
        }
    }

    /// Label that names the confidence of the tail metrics: `VaR 95 %`.
    pub fn full_label(&self, config: &MetricConfig) -> String {
        match self.key {
            // Rounded, for 1 − 0.05 is not quite 0.95.
            "var" | "cvar" => format!("{} {} %", self.label, ((1.0 - config.var_level) * 1e6).round() / 1e4),
            _ => self.label.into(),
        }
    }

    /// Text of this metric of a window.
    pub fn text(&self, metrics: &WindowMetrics) -> String {
        self.format.text((self.value)(metrics))
    }
}

/// A key that names no metric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown metric `{key}`; the nearest is `{nearest}`")]
pub struct UnknownMetric {
    /// The key as written.
    pub key: String,
    /// The key nearest to it.
    pub nearest: &'static str,
}

impl UnknownMetric {
    /// All keys there are.
    pub fn hint(&self) -> Option<String> {
        let keys: Vec<&str> = CATALOG.iter().map(|info| info.key).collect();
        Some(format!("metrics are {}", keys.join(", ")))
    }
}

/// The metric named `key`.
///
/// # Errors
/// [`UnknownMetric`], which names the nearest key.
pub fn find(key: &str) -> Result<&'static MetricInfo, UnknownMetric> {
    CATALOG.iter().find(|info| info.key == key).ok_or_else(|| {
        let distance = |info: &&MetricInfo| {
            let closeness = strsim::jaro_winkler(&key.to_lowercase(), info.key);
            (closeness * 1e9) as u64
        };
        let nearest = CATALOG.iter().max_by_key(distance).map_or("", |info| info.key);
        UnknownMetric { key: key.into(), nearest }
    })
}

macro_rules! metrics {
    ($($group:ident { $($key:ident $read:ident, $label:literal, $format:ident, $better:ident, $about:literal;)* })*) => {
        /// Every metric, in the order of tables.
        pub const CATALOG: &[MetricInfo] = &[$($(MetricInfo {
            key: stringify!($key),
            label: $label,
            format: Format::$format,
            better: Better::$better,
            group: Group::$group,
            about: $about,
            value: |m| metrics!(@$read m.$key),
        },)*)*];
    };
    (@real $value:expr) => { $value };
    (@count $value:expr) => { Some($value as f64) };
    (@bars $value:expr) => { $value.map(|bars| bars as f64) };
    (@flag $value:expr) => { Some(f64::from($value)) };
    (@maybe $value:expr) => { $value.map(f64::from) };
}

metrics! {
    Return {
        total_return real, "Total return", Percent, Higher, "Final over initial equity, less 1.";
        cagr real, "CAGR", Percent, Higher, "Compound annual growth rate; −100 % when the equity is exhausted.";
        total_pnl real, "P&L", Money, Higher, "Final less initial equity, net of every cost.";
        final_equity real, "Final equity", Money, Higher, "Cash and position at the last close.";
        best_bar real, "Best bar", Percent, Higher, "Largest return of one bar.";
        worst_bar real, "Worst bar", Percent, Higher, "Smallest return of one bar.";
        n_bars count, "Bars", Count, Neither, "Bars lived through: of each window all but the first, which has no return.";
    }
    RiskAdjusted {
        sharpe real, "Sharpe", Ratio, Higher, "Mean excess return over its standard deviation, annualised.";
        sortino real, "Sortino", Ratio, Higher, "Mean excess return over the downside deviation, annualised.";
        calmar real, "Calmar", Ratio, Higher, "CAGR over the largest drawdown.";
        omega real, "Omega", Ratio, Higher, "Sum of gains over sum of losses, bar by bar.";
        psr real, "P(Sharpe > 0)", Percent, Higher, "Probabilistic Sharpe ratio: the probability that the true Sharpe ratio exceeds 0, given length, skew and tails.";
    }
    Risk {
        volatility real, "Volatility", Percent, Lower, "Standard deviation of the returns, annualised.";
        max_drawdown real, "Max drawdown", Percent, Lower, "Largest fall from a peak of the equity.";
        max_drawdown_bars bars, "Longest drawdown", Bars, Lower, "Longest stretch below a peak, a still open one included.";
        recovery_bars bars, "Recovery", Bars, Lower, "Bars from the deepest trough back to its peak; undefined if never.";
        recovered maybe, "Recovered", Flag, Higher, "Whether the last peak was regained.";
        ulcer_index real, "Ulcer index", Percent, Lower, "Root mean square drawdown.";
        var real, "VaR", Percent, Lower, "Loss of one bar exceeded with the tail probability (5 % unless set), historical.";
        cvar real, "CVaR", Percent, Lower, "Mean loss of the bars at or beyond the VaR.";
        skew real, "Skew", Ratio, Neither, "Sample skewness of the returns.";
        kurtosis real, "Excess kurtosis", Ratio, Neither, "Sample excess kurtosis of the returns; 0 for a normal distribution.";
        tail_ratio real, "Tail ratio", Ratio, Higher, "95 % quantile of the returns over the 5 % quantile, absolute.";
    }
    Trades {
        n_trades count, "Trades", Count, Neither, "Closed trades.";
        win_rate real, "Win rate", Percent, Higher, "Share of trades with a net profit.";
        profit_factor real, "Profit factor", Ratio, Higher, "Gross profit over gross loss of the trades.";
        payoff_ratio real, "Payoff ratio", Ratio, Higher, "Mean win over mean loss.";
        expectancy real, "Expectancy", Money, Higher, "Mean net P&L of a trade.";
        avg_trade_return real, "Avg trade", Percent, Higher, "Mean of a trade's P&L over the equity at its entry.";
        sqn real, "SQN", Ratio, Higher, "System quality number: √n · mean P&L over its standard deviation.";
        avg_bars_held real, "Avg bars held", Bars, Neither, "Mean bars a trade lived through.";
    }
    Activity {
        exposure real, "Exposure", Percent, Neither, "Share of bars with an open position.";
        turnover real, "Turnover / year", Ratio, Neither, "Traded value a year in multiples of the mean equity.";
        fills count, "Fills", Count, Neither, "Executions, exits included.";
        costs real, "Costs", Money, Lower, "Commission, spread and slippage paid.";
        carry real, "Carry", Money, Lower, "Carry paid; negative when received.";
        rejected_orders count, "Rejected orders", Count, Lower, "Orders refused because the bar did not trade.";
        capped_orders count, "Capped orders", Count, Lower, "Orders cut by the participation cap.";
        nan_levels count, "NaN decisions", Count, Lower, "Decisions that were NaN, taken as flat.";
        ruined flag, "Ruined", Flag, Lower, "Whether equity was exhausted or the position liquidated.";
    }
    Benchmark {
        benchmark_return real, "Buy & hold", Percent, Neither, "Return of holding the instrument, close to close.";
        alpha real, "Alpha / year", Percent, Higher, "Annual return that the exposure to buy and hold does not explain.";
        beta real, "Beta", Ratio, Neither, "Sensitivity of the returns to those of buy and hold.";
        information_ratio real, "Information ratio", Ratio, Higher, "Mean return in excess of buy and hold over its deviation, annualised.";
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lists_every_field_once() {
        let json = serde_json::to_value(WindowMetrics::default()).unwrap();
        let fields: BTreeSet<String> = json.as_object().unwrap().keys().cloned().collect();
        let keys: BTreeSet<String> = CATALOG.iter().map(|info| info.key.to_owned()).collect();
        assert_eq!(fields, keys);
        assert_eq!(CATALOG.len(), keys.len());
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        assert_eq!(find("sharpe").unwrap().label, "Sharpe");
        for (wrong, nearest) in [("sharp", "sharpe"), ("Sortino", "sortino"), ("max_dd", "max_drawdown")] {
            assert_eq!(find(wrong).unwrap_err(), UnknownMetric { key: wrong.into(), nearest });
        }
        let metrics = WindowMetrics { sharpe: Some(1.5), ruined: true, n_trades: 3, ..Default::default() };
        assert_eq!(metrics.get("sharpe"), Some(Some(1.5)));
        assert_eq!(metrics.get("calmar"), Some(None));
        assert_eq!(metrics.get("nonsense"), None);
        assert_eq!((metrics.get("ruined"), metrics.get("n_trades")), (Some(Some(1.0)), Some(Some(3.0))));
        assert!(metrics.objective("sharpy").unwrap_err().hint().unwrap().contains("sortino"));
    }

    #[test]
    fn undefined_ranks_below_everything() {
        let sharpe = find("sharpe").unwrap();
        assert_eq!(sharpe.rank(None, Some(-1e9)), Ordering::Less);
        assert_eq!(sharpe.rank(Some(2.0), Some(1.0)), Ordering::Greater);
        assert_eq!(sharpe.rank(None, None), Ordering::Equal);
        let drawdown = find("max_drawdown").unwrap();
        assert_eq!(drawdown.rank(Some(0.1), Some(0.2)), Ordering::Greater);
        assert_eq!(drawdown.rank(Some(0.9), None), Ordering::Greater);
    }

    #[test]
    fn tail_metrics_are_labelled_with_their_confidence() {
        let label = |key, var_level| find(key).unwrap().full_label(&MetricConfig { var_level, ..Default::default() });
        assert_eq!(label("var", 0.05), "VaR 95 %");
        assert_eq!(label("cvar", 0.025), "CVaR 97.5 %");
        assert_eq!(label("sharpe", 0.05), "Sharpe");
    }

    #[test]
    fn texts() {
        assert_eq!(Format::Percent.text(Some(0.12345)), "12.35 %");
        assert_eq!(Format::Percent.text(Some(-1e-9)), "0.00 %");
        assert_eq!(Format::Ratio.text(Some(-0.5)), "-0.500");
        assert_eq!(Format::Money.text(Some(-1_234_567.891)), "-1,234,567.89");
        assert_eq!(Format::Count.text(Some(1000.0)), "1,000");
        assert_eq!(Format::Bars.text(Some(12.0)), "12");
        assert_eq!(Format::Bars.text(Some(12.34)), "12.3");
        assert_eq!(Format::Flag.text(Some(1.0)), "yes");
        assert_eq!(Format::Money.text(None), "–");
    }
}
