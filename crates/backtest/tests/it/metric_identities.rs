//! What must hold of the metrics and of the report whatever the numbers.

use gigabar_backtest::metric::{
    CATALOG, Format, MetricConfig, Moments, PathView, WindowMetrics, compound, conditional_value_at_risk, max_drawdown,
    quantile, sharpe, value_at_risk,
};
use gigabar_backtest::report::MeanStd;
use gigabar_backtest::{Counts, EvalReport, ExitReason, Path, Trade};
use gigabar_market::{BarColumns, Bars};
use proptest::collection::vec;
use proptest::prelude::*;

fn returns(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    vec(prop_oneof![4 => -0.2..0.2_f64, 1 => Just(0.0)], n)
}

fn bars(close: &[f64]) -> Bars {
    let day = 86_400_000_000_000_i64;
    Bars::new(BarColumns {
        ts: (0..close.len() as i64).map(|i| i * day).collect(),
        open: close.to_vec(),
        high: close.to_vec(),
        low: close.to_vec(),
        close: close.to_vec(),
        volume: vec![1.0; close.len()],
    })
    .unwrap()
}

/// A path over `returns` with a trade every third bar.
fn path(first_bar: usize, returns: Vec<f64>) -> Path {
    let equity = compound(1000.0, &returns);
    let trades: Vec<Trade> = (0..returns.len())
        .step_by(3)
        .map(|t| Trade {
            side: 1,
            entry_bar: first_bar + t,
            exit_bar: first_bar + t + 1,
            units: 1.0,
            entry_price: equity[t],
            exit_price: equity[t + 1],
            pnl: equity[t + 1] - equity[t],
            trade_return: returns[t],
            bars_held: 1,
            exit: ExitReason::Signal,
        })
        .collect();
    let counts = Counts {
        bars_in_market: trades.len(),
        fills: 2 * trades.len(),
        traded_value: 2000.0 * trades.len() as f64,
        costs: 1.5 * trades.len() as f64,
        rejected_orders: 2,
        capped_orders: 1,
        ..Counts::default()
    };
    Path { first_bar, returns, equity, trades, counts, ..Path::default() }
}

fn close_to(a: Option<f64>, b: Option<f64>, tolerance: f64) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= tolerance * a.abs().max(b.abs()) + 1e-13,
        (a, b) => a == b,
    }
}

proptest! {
    #[test]
    fn scaling_returns_leaves_the_sharpe_ratio(r in returns(2..300), factor in 1e-3..1e3_f64) {
        let scaled: Vec<f64> = r.iter().map(|x| x * factor).collect();
        prop_assert!(close_to(sharpe(&r, 0.0, 252.0), sharpe(&scaled, 0.0, 252.0), 1e-10));
        let doubled: Vec<f64> = r.iter().map(|x| x * 2.0).collect();
        prop_assert_eq!(sharpe(&r, 0.0, 252.0), sharpe(&doubled, 0.0, 252.0));
    }

    #[test]
    fn drawdown_lies_in_the_unit_interval(r in vec(-1.0..3.0_f64, 0..300)) {
        let d = max_drawdown(&compound(1.0, &r)).unwrap();
        prop_assert!((0.0..=1.0).contains(&d));
    }

    #[test]
    fn moments_do_not_depend_on_the_order(r in returns(2..9000), seed in any::<u64>()) {
        let mut shuffled = r.clone();
        let mut state = seed | 1;
        for i in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(i, (state >> 33) as usize % (i + 1));
        }
        let (a, b) = (Moments::of(&r), Moments::of(&shuffled));
        // Relative to the sums of the terms' sizes, of which mean and m3 may cancel nearly all.
        let n = r.len() as f64;
        prop_assert!((a.mean - b.mean).abs() <= 1e-12 * a.max_abs());
        prop_assert!((a.m2 - b.m2).abs() <= 1e-12 * n * a.max_abs().powi(2));
        prop_assert!((a.m3 - b.m3).abs() <= 1e-12 * n * a.max_abs().powi(3));
        prop_assert!((a.m4 - b.m4).abs() <= 1e-12 * n * a.max_abs().powi(4));
        prop_assert_eq!((a.n, a.min, a.max), (b.n, b.min, b.max));
        prop_assert_eq!(quantile(&r, 0.05), quantile(&shuffled, 0.05));
    }

    #[test]
    fn the_tail_beyond_the_value_at_risk_is_no_better(r in returns(20..400), level in 0.01..0.5_f64) {
        let (var, cvar) = (value_at_risk(&r, level).unwrap(), conditional_value_at_risk(&r, level).unwrap());
        prop_assert!(cvar >= var - 1e-15, "{cvar} {var}");
    }

    #[test]
    fn nothing_is_ever_infinite_and_json_is_lossless(r in vec(-1.0..2.0_f64, 0..60), close in vec(1.0..2.0_f64, 61)) {
        let bars = bars(&close[..=r.len().max(1)]);
        let report = EvalReport::new("p", &bars, &[path(0, r)], &MetricConfig::default(), 3);
        for info in CATALOG {
            prop_assert!((info.value)(&report.pooled).is_none_or(f64::is_finite), "{}", info.key);
        }
        let json = serde_json::to_string(&report).unwrap();
        prop_assert_eq!(serde_json::from_str::<EvalReport>(&json).unwrap(), report);
    }

    #[test]
    fn pooled_of_one_window_is_that_window(r in returns(1..200), close in vec(1.0..2.0_f64, 210)) {
        let report = EvalReport::new("p", &bars(&close), &[path(5, r)], &MetricConfig::default(), 1);
        prop_assert_eq!(&report.pooled, &report.windows[0].metrics);
        prop_assert_eq!(&report.benchmark, &report.windows[0].benchmark);
        prop_assert_eq!(report.psr, report.dsr);
    }

    #[test]
    fn pooled_is_the_concatenation(a in returns(1..80), b in returns(1..80), close in vec(1.0..2.0_f64, 200)) {
        let bars = bars(&close);
        let ppy = bars.periods_per_year();
        let config = MetricConfig { risk_free: 0.02, mar: 0.01, var_level: 0.1 };
        let paths = [path(0, a.clone()), path(100, b.clone())];
        let report = EvalReport::new("p", &bars, &paths, &config, 1);
        let returns = [a, b].concat();
        let equity = compound(1000.0, &returns);
        let trades = [paths[0].trades.clone(), paths[1].trades.clone()].concat();
        let hold: Vec<f64> = paths
            .iter()
            .flat_map(|p| close[p.first_bar..=p.first_bar + p.returns.len()].windows(2).map(|w| w[1] / w[0] - 1.0))
            .collect();
        let counts = Counts { rejected_orders: 4, capped_orders: 2, ..Counts::default() };
        let view = PathView { returns: &returns, equity: &equity, trades: &trades, counts };
        let whole = WindowMetrics::compute(view, &hold, ppy, &config);
        for info in CATALOG {
            // Bars within rounding of a peak may fall on either side of it; money counts are scaled, checked below.
            let skip = ["max_drawdown_bars", "recovery_bars", "recovered", "exposure", "turnover", "fills", "costs"];
            if !skip.contains(&info.key) {
                let (got, want) = ((info.value)(&report.pooled), (info.value)(&whole));
                prop_assert!(close_to(got, want, 1e-9), "{}: {got:?} {want:?}", info.key);
            }
        }
        let n_trades = trades.len();
        prop_assert_eq!(report.pooled.fills, 2 * n_trades);
        prop_assert_eq!(report.pooled.exposure, Some(n_trades as f64 / returns.len() as f64));
        let growth = paths[0].equity.last().unwrap() / 1000.0;
        let costs = 1.5 * (paths[0].trades.len() as f64 + paths[1].trades.len() as f64 * growth);
        prop_assert!(close_to(report.pooled.costs, Some(costs), 1e-12));
    }

    #[test]
    fn buy_and_hold_moves_as_its_benchmark(close in vec(1.0..2.0_f64, 3..100)) {
        let report = EvalReport::new("p", &bars(&close), &[path(0, vec![0.0; close.len() - 1])], &MetricConfig::default(), 1);
        let hold = &report.benchmark;
        prop_assert!(close_to(hold.total_return, Some(close.last().unwrap() / close[0] - 1.0), 1e-12));
        prop_assert!(close_to(hold.benchmark_return, hold.total_return, 1e-12));
        prop_assert!(close_to(hold.beta, Some(1.0), 1e-12));
        prop_assert_eq!((hold.information_ratio, hold.exposure, hold.turnover), (None, Some(1.0), Some(0.0)));
    }
}

#[test]
fn windows_know_their_bars_and_the_spread_counts_what_is_defined() {
    let close: Vec<f64> = (0..60).map(|i| 100.0 + f64::from(i % 7)).collect();
    let flat = vec![0.0; 10];
    let wavy: Vec<f64> = (0..10).map(|i| f64::from(i % 3) * 0.01 - 0.008).collect();
    let paths = [path(3, flat), path(20, wavy.clone()), path(40, wavy.iter().map(|r| -r).collect())];
    let bars = bars(&close);
    let report = EvalReport::new("p", &bars, &paths, &MetricConfig::default(), 7);
    let window = &report.windows[1];
    assert_eq!((window.index, window.first_bar, window.last_bar, window.n_bars), (1, 20, 30, 11));
    assert_eq!((window.first_ts, window.last_ts), (bars.ts()[20], bars.ts()[30]));
    // A flat window has no Sharpe ratio and does not enter the mean, nor does it count.
    let sharpes: Vec<f64> = report.windows.iter().filter_map(|w| w.metrics.sharpe).collect();
    assert_eq!(report.across["sharpe"], MeanStd::of([None, Some(sharpes[0]), Some(sharpes[1])]));
    assert_eq!((report.across["sharpe"].n, report.across["total_return"].n, report.across["var"].n), (2, 3, 0));
    assert_eq!(report.across["var"], MeanStd { mean: None, std: None, n: 0 });
    let mean = (sharpes[0] + sharpes[1]) / 2.0;
    let std = (sharpes[0] - sharpes[1]).abs() / 2.0_f64.sqrt();
    assert!(close_to(report.across["sharpe"].mean, Some(mean), 1e-12));
    assert!(close_to(report.across["sharpe"].std, Some(std), 1e-12));
    let numeric = CATALOG.iter().filter(|info| info.format != Format::Flag).count();
    assert_eq!((report.across.len(), report.n_trials), (numeric, 7));
    assert!(report.dsr.unwrap() < report.psr.unwrap());
}

#[test]
fn ruin_stays_ruined_through_the_windows_that_follow() {
    let close: Vec<f64> = (0..30).map(|i| 100.0 + f64::from(i)).collect();
    let mut ruined = path(0, vec![0.1, -1.0, 0.0]);
    ruined.counts.ruined = true;
    let report = EvalReport::new("p", &bars(&close), &[ruined, path(10, vec![0.1; 5])], &MetricConfig::default(), 1);
    let pooled = &report.pooled;
    assert_eq!((pooled.final_equity, pooled.cagr, pooled.max_drawdown), (Some(0.0), Some(-1.0), Some(1.0)));
    assert_eq!((pooled.total_return, pooled.ruined, pooled.recovered), (Some(-1.0), true, Some(false)));
    assert!(!report.windows[1].metrics.ruined);
}

#[test]
fn no_paths_leave_everything_undefined() {
    let report = EvalReport::new("p", &bars(&[1.0, 2.0]), &[], &MetricConfig::default(), 1);
    assert_eq!((report.pooled.total_return, report.pooled.sharpe, report.pooled.exposure), (None, None, None));
    assert_eq!(report.dsr, None);
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let r: Vec<f64> = (0..300_000_u64).map(|i| ((i * 7919) % 10_007) as f64 * 1e-6 - 0.005).collect();
    let path = path(0, r.clone());
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| WindowMetrics::compute(&path, &r, 525_600.0, &MetricConfig::default()))
    };
    assert_eq!(with(1), with(2));
    assert_eq!(with(1), with(3));
}

#[test]
fn settings_are_checked() {
    assert!(MetricConfig::default().validate().is_ok());
    for (config, field) in [
        (MetricConfig { risk_free: f64::NAN, ..Default::default() }, "risk_free"),
        (MetricConfig { mar: f64::INFINITY, ..Default::default() }, "mar"),
        (MetricConfig { var_level: 1.0, ..Default::default() }, "var_level"),
    ] {
        assert_eq!(config.validate().unwrap_err().field, field);
    }
    assert!(serde_json::from_str::<MetricConfig>(r#"{"risk_fre": 0.1}"#).unwrap_err().to_string().contains("risk_fre"));
}
