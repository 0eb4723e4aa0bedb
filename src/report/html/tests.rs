//! Whole pages from simulated runs.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use gigabar_backtest::cpu::engine::{Market, Rules, simulate};
use gigabar_backtest::metric::{MetricConfig, WindowMetrics};
use gigabar_backtest::policy::Grid;
use gigabar_backtest::{EvalReport, SimConfig, policy};
use gigabar_market::Bars;
use gigabar_market::rng::Philox;
use gigabar_market::sigma::sigma;
use gigabar_market::synth::{self, PlantedConfig, RandomWalkConfig};

use super::render;

mod comparison;
use crate::report::{DataSummary, RunReport, SweepReport, TrainingCurve, WindowCurve, sweep};

fn random_walk(n_bars: usize, seed: u64) -> Bars {
    synth::random_walk(n_bars, seed, &RandomWalkConfig::default()).unwrap()
}

/// A run of `strategy` over `n_windows` equal windows of a synthetic market.
fn run(bars: &Bars, strategy: &str, n_windows: usize) -> RunReport {
    let sigma = sigma(bars.close());
    let market = Market::new(bars, &sigma);
    let rules = Rules::new(&SimConfig::default(), &market).unwrap();
    let mut policy = policy::parse(strategy).unwrap();
    let size = bars.len() / n_windows;
    let paths: Vec<_> =
        (0..n_windows).map(|w| simulate(&rules, bars, &market, w * size..(w + 1) * size, policy.as_mut())).collect();
    let curves = paths.iter().enumerate().map(|(i, path)| WindowCurve::new(i, bars, path, None));
    RunReport {
        version: "0.1.0".into(),
        command: format!("gigabar backtest bars.csv --strategy {strategy}"),
        created: "2026-01-01T00:00:00Z".into(),
        data: DataSummary::new("data/bars.csv", "0123456789abcdef", bars, &["3 duplicate rows dropped".into()]),
        device: "cpu".into(),
        seed: 7,
        settings_toml: "seed = 7\n\n[sim]\ncommission_bps = 1.0\n".into(),
        report: EvalReport::new(strategy, bars, &paths, &MetricConfig::default(), 1),
        curves: curves.collect(),
        training: vec![],
        seen: None,
        sweep: None,
        seeds: None,
        choices: None,
    }
}

fn small() -> RunReport {
    run(&random_walk(2_000, 3), "sma-cross:fast=5,slow=20", 4)
}

/// A sweep of `grid` over all bars, and the run of its best set.
fn swept(bars: &Bars, grid: &str) -> RunReport {
    let (sigma, column) = (sigma(bars.close()), sweep::column("sharpe").unwrap());
    let market = Market::new(bars, &sigma);
    let rules = Rules::new(&SimConfig::default(), &market).unwrap();
    let parsed = Grid::parse(grid).unwrap();
    let rows = gigabar_backtest::sweep::cpu(&rules, &market, 0..bars.len(), &parsed, 0.0, |_, _| {}).unwrap();
    let mut report = run(bars, &parsed.name(sweep::best(&rows, column, 1)[0]), 1);
    report.report.n_trials = rows.len();
    report.sweep = Some(SweepReport::new(grid, &parsed, &rows, 1, column, bars.periods_per_year()));
    report
}

/// Curves as a trainer leaves them: a falling loss, noise on everything, one undefined epoch.
fn training(fold: usize, n_epochs: usize) -> TrainingCurve {
    let mut rng = Philox::new(5, fold as u64);
    let names = ["loss", "q_mean", "mean_reward", "epsilon", "grad_norm", "sharpe_estimate", "action_share_0"];
    let mut series: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for epoch in 0..n_epochs {
        for (k, name) in names.iter().enumerate() {
            let decay = (-(epoch as f64) / (4.0 + k as f64)).exp();
            series.entry((*name).into()).or_default().push(decay + 0.1 * rng.uniform());
        }
    }
    if let Some(loss) = series.get_mut("loss").and_then(|values| values.get_mut(1)) {
        *loss = f64::NAN;
    }
    TrainingCurve { fold, epoch: (0..n_epochs).collect(), series }
}

/// The JSON that the scripts read.
fn data(page: &str) -> serde_json::Value {
    let start = page.find(r#"id="data">"#).unwrap() + r#"id="data">"#.len();
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

#[test]
fn a_run_renders_with_every_part() {
    let mut report = small();
    report.training = vec![training(0, 10), training(1, 10)];
    let page = render(&report).unwrap();
    for part in [
        "Out-of-sample equity",
        "Underwater",
        "Exposure",
        "Rolling Sharpe",
        "Windows",
        "returns</h2>",
        "Bar returns",
        "Training",
        "Trades",
        "Every metric",
        "Where this comes from",
        "commission_bps = 1.0",
        "0123456789abcdef",
        "3 duplicate rows dropped",
        "gigabar backtest bars.csv",
        "prefers-color-scheme: dark",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    let data = data(&page);
    assert_eq!(data["windows"].as_array().unwrap().len(), 4);
    assert_eq!(data["windows"][0]["equity"][0], 100.0);
    assert_eq!(data["training"]["series"][0]["folds"][0]["y"][1], serde_json::Value::Null);
}

#[test]
fn the_chain_ends_where_the_pooled_return_does() {
    let report = small();
    let data = data(&render(&report).unwrap());
    let last = data["windows"][3]["equity"].as_array().unwrap().last().unwrap().as_f64().unwrap();
    let pooled = report.report.pooled.total_return.unwrap();
    assert!((last / 100.0 - 1.0 - pooled).abs() < 1e-5, "{last} against {pooled}");
    let deepest = (0..4).flat_map(|w| data["windows"][w]["drawdown"].as_array().unwrap().iter());
    let deepest = deepest.map(|v| v.as_f64().unwrap()).fold(0.0, f64::min);
    assert!((deepest + report.report.pooled.max_drawdown.unwrap()).abs() < 1e-4);
}

#[test]
fn a_sweep_shows_its_best_sets_and_a_map() {
    let report = swept(&random_walk(1_000, 4), "sma-cross:fast=2..9,slow=10..30:2,long_only=true|false");
    let page = render(&report).unwrap();
    for part in [
        "The best of 176 parameter sets",
        "Sharpe by fast and slow",
        "The slice through the best set, at long_only=",
        "without any skill, the best of 176 sets",
        "report on a parameter sweep",
        "176 sets of sma-cross:fast=2..9,slow=10..30:2",
        "It was chosen on these very bars",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(!page.contains("ut-of-sample equity") && !page.contains("the agent has not seen"));
    let (map, sweep) = (&data(&page)["sweep"], report.sweep.as_ref().unwrap());
    assert_eq!((map["label"].as_str(), map["x"]["name"].as_str()), (Some("Sharpe"), Some("slow")));
    let values = map["values"].as_array().unwrap();
    assert_eq!(values.len(), 8 * 11);
    let [x, y] = [0, 1].map(|axis| map["best"][axis].as_u64().unwrap() as usize);
    let best = values[y * 11 + x].as_f64().unwrap();
    assert!((best - sweep.best[0].row.sharpe.unwrap()).abs() < 1e-5, "the best cell holds the best set");
    assert_eq!(map["x"]["labels"][x], sweep.best[0].labels[1].as_str());
    assert_eq!(data(&render(&small()).unwrap())["sweep"], serde_json::Value::Null);
}

#[test]
fn bars_trained_on_are_no_evidence() {
    let mut report = small();
    (report.report.dsr, report.seen) = (Some(0.99), Some("fold-0 was trained on these bars".into()));
    let page = render(&report).unwrap();
    assert!(page.contains("Not out of sample") && page.contains("fold-0 was trained on these bars"));
    for claim in ["Distinguishable from luck", "ut-of-sample equity", "out-of-sample bars", "has not seen"] {
        assert!(!page.contains(claim), "{claim}");
    }
}

#[test]
fn a_large_sweep_stays_small() {
    let bars = random_walk(200, 4);
    let plain = render(&run(&bars, "flat", 1)).unwrap().len();
    let page = render(&swept(&bars, "sma-cross:fast=1..150,slow=151..450")).unwrap();
    assert!(page.len() - plain < 150_000, "{} bytes more", page.len() - plain);
    assert!(page.contains("Every cell is the mean of 2 × 3 neighbouring sets"), "45,000 sets share cells");
}

#[test]
fn nothing_is_fetched() {
    let mut report = small();
    report.data.path = "https://example.com/bars.csv".into();
    let page = render(&report).unwrap();
    let lower = page.to_lowercase();
    for forbidden in ["src=", "url(http", "url(//", "@import", "fetch(", "xmlhttprequest", "import(", "<iframe", "<img"]
    {
        assert!(!lower.contains(forbidden), "{forbidden}");
    }
    let hrefs: Vec<&str> = lower.split("href=").skip(1).map(|rest| &rest[..7.min(rest.len())]).collect();
    assert_eq!(hrefs, ["\"data:,"], "the only link is the empty icon");
    assert!(page.contains("default-src 'none'"), "a browser would refuse to fetch anything");
}

#[test]
fn names_cannot_run_as_markup() {
    let evil = "</script><script>alert(1)</script>";
    let mut report = small();
    report.data.symbol = Some(evil.into());
    report.report.policy = evil.into();
    report.command = evil.into();
    report.settings_toml = evil.into();
    report.data.notes = vec![evil.into()];
    report.training = vec![TrainingCurve { fold: 0, epoch: vec![0], series: [(evil.into(), vec![1.0])].into() }];
    let page = render(&report).unwrap();
    assert!(!page.contains("<script>alert"), "unescaped");
    assert_eq!(page.matches("</script>").count(), 2, "the two scripts of the page itself");
    assert_eq!(data(&page)["policy"], evil, "the name itself arrives intact");
}

#[test]
fn runs_without_content_render() {
    let bars = random_walk(600, 1);
    let flat = render(&run(&bars, "flat", 1)).unwrap();
    assert!(flat.contains("It never traded.") && flat.contains("The account never closed a trade."));
    assert!(flat.contains("Every bar's return is zero"));
    assert!(!flat.contains(">Training<"), "a backtest has no training curves");

    let mut empty = small();
    empty.curves.clear();
    empty.report.windows.clear();
    empty.report.across.clear();
    empty.report.pooled = WindowMetrics::default();
    empty.report.benchmark = WindowMetrics::default();
    (empty.report.psr, empty.report.dsr) = (None, None);
    let page = render(&empty).unwrap();
    assert!(page.contains("There is nothing to judge") && page.contains("This run holds no equity curve."));
    assert!(page.contains(super::format::UNDEFINED));

    let short = run(&random_walk(4, 1), "buy-and-hold", 2);
    assert_eq!(data(&render(&short).unwrap())["rolling"]["t"], serde_json::json!([]));
}

#[test]
fn ruin_and_undefined_numbers_leave_no_nan() {
    let mut report = small();
    let curve = &mut report.curves[1];
    let n = curve.equity.len();
    curve.equity[n / 2..].fill(0.0);
    curve.exposure[3] = f64::NAN;
    curve.trades[0].trade_return = f64::INFINITY;
    curve.trades[0].pnl = f64::NAN;
    report.report.windows[1].metrics.ruined = true;
    report.report.pooled.ruined = true;
    report.report.pooled.sharpe = None;
    report.report.pooled.var = Some(f64::NAN);
    report.training = vec![training(0, 1), training(1, 0)];
    let page = render(&report).unwrap();
    assert!(page.contains("The account was ruined.") && page.contains("ruined in window 1"));
    let data = data(&page);
    assert_eq!(data["windows"][1]["exposure"][3], serde_json::Value::Null);
    assert_eq!(data["windows"][3]["equity"].as_array().unwrap().last().unwrap(), 0.0, "ruin stays");
    assert_eq!(data["windows"][3]["drawdown"].as_array().unwrap().last().unwrap(), -1.0);
    let visible = &page[..page.find("<script").unwrap()];
    assert!(!visible.contains("NaN<") && !visible.contains("inf<") && !visible.contains("nan%"), "a raw NaN is shown");
}

#[test]
fn the_verdict_follows_the_evidence() {
    let mut report = small();
    let mut title = |dsr: Option<f64>| {
        (report.report.dsr, report.report.psr) = (dsr, dsr);
        super::Verdict::new(&report).title
    };
    assert_eq!(title(Some(0.97)), "Distinguishable from luck, at 95% confidence.");
    assert_eq!(title(Some(0.90)), "Suggestive, but not distinguishable from luck.");
    assert_eq!(title(Some(0.50)), "Not distinguishable from luck.");
    assert_eq!(title(Some(0.01)), "Worse than luck: the evidence is that it loses money.");
    assert_eq!(title(None), "Too little or too uniform data to tell skill from luck.");
    let free =
        |report: &RunReport| super::Verdict::new(report).lines.iter().any(|line| line.starts_with("No commission"));
    assert!(free(&report), "the default simulation is free of cost");
    report.report.pooled.costs = Some(1.0);
    assert!(!free(&report));
    report.report.n_trials = 64;
    (report.report.dsr, report.report.psr) = (Some(0.02), Some(0.61));
    let chosen = super::Verdict::new(&report);
    assert!(
        chosen.title.starts_with("Not distinguishable from luck") && chosen.lines[0].contains("the best of 64 trials")
    );
    report.report.psr = Some(0.03);
    let losing = super::Verdict::new(&report);
    assert!(losing.title.starts_with("Worse than luck") && losing.lines[0].contains("is above zero is 3.0%"));
}

#[test]
fn bars_are_counted_alike_and_returns_are_called_returns() {
    let page = render(&run(&random_walk(3_270, 3), "sma-cross:fast=5,slow=20", 1)).unwrap();
    assert!(page.contains("· 1 window · 3,270 bars of "), "as the file and the table count");
    assert!(page.contains("From 3,269 out-of-sample bar returns") && !page.contains("3,269 bars"));
}

#[test]
fn sets_that_never_traded_have_no_place_on_the_map() {
    let bars = random_walk(300, 5);
    let (sigma, column) = (sigma(bars.close()), sweep::column("max_drawdown").unwrap());
    let market = Market::new(&bars, &sigma);
    let rules = Rules::new(&SimConfig::default(), &market).unwrap();
    // No close is a thousand deviations from the mean.
    let grid = Grid::parse("bollinger:period=10|20,width=1|1000").unwrap();
    let rows = gigabar_backtest::sweep::cpu(&rules, &market, 0..bars.len(), &grid, 0.0, |_, _| {}).unwrap();
    let report = SweepReport::new("x", &grid, &rows, 1, column, bars.periods_per_year());
    let defined: Vec<bool> = report.map.as_ref().unwrap().values.iter().map(Option::is_some).collect();
    let median = gigabar_backtest::metric::quantile(&[rows[0].max_drawdown, rows[2].max_drawdown], 0.5);
    assert!(report.median == median && median > Some(0.0), "{:?} of {rows:?}", report.median);
    let traded: Vec<bool> = rows.iter().map(|row| row.bars_in_market > 0).collect();
    assert_eq!((defined.iter().filter(|is| **is).count(), report.n_idle), (2, 2), "{defined:?} {traded:?}");
}

#[test]
fn columns_that_differ_are_refused() {
    let mut report = small();
    report.curves[2].exposure.pop();
    assert_eq!(render(&report).unwrap_err().to_string(), "curve 2: exposure has 499 values, ts has 500");
    let mut report = small();
    report.curves[2].index = 9;
    assert_eq!(render(&report).unwrap_err().to_string(), "curve 9: the report has no window of that index");
}

#[test]
fn long_runs_stay_small() {
    let report = run(&random_walk(800_000, 11), "sma-cross:fast=3,slow=9", 8);
    let n_trades: usize = report.curves.iter().map(|c| c.trades.len()).sum();
    assert!(n_trades > super::MAX_TRADES, "{n_trades} trades do not test the limit");
    let page = render(&report).unwrap();
    assert!(page.len() < 8_000_000, "{} bytes", page.len());
    let data = data(&page);
    assert_eq!(data["trades"]["pnl"].as_array().unwrap().len(), super::MAX_TRADES);
    let best = report.curves.iter().flat_map(|c| &c.trades).map(|t| t.pnl).fold(f64::MIN, f64::max);
    let shown = data["trades"]["pnl"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).fold(f64::MIN, f64::max);
    assert!((best - shown).abs() < 1e-4, "the best trade is listed");
}

/// Writes pages to look at in a browser, of made-up runs and of every `report.json` put there as `DIR/NAME.json`:
/// `GIGABAR_PAGES=DIR cargo test --release --lib html::tests::pages -- --ignored`.
#[test]
#[ignore = "writes files for a person to look at"]
fn pages() {
    let dir = std::path::PathBuf::from(std::env::var_os("GIGABAR_PAGES").unwrap());
    let mut trained = run(&synth::planted(6_000, 3, &PlantedConfig::default()).unwrap(), "sma-cross:fast=5,slow=20", 6);
    trained.training = (0..6).map(|fold| training(fold, 40)).collect();
    let mut ruined = small();
    let half = ruined.curves[1].equity.len() / 2;
    ruined.curves[1].equity[half..].fill(0.0);
    ruined.report.windows[1].metrics.ruined = true;
    ruined.report.pooled.ruined = true;
    let bars = random_walk(600, 1);
    let long = random_walk(800_000, 11);
    for (name, report) in [
        ("trained", trained),
        ("ruined", ruined),
        ("flat", run(&bars, "flat", 1)),
        ("one", run(&bars, "buy-and-hold", 1)),
        ("long", run(&long, "sma-cross:fast=3,slow=9", 8)),
        ("sweep", swept(&random_walk(3_000, 5), "sma-cross:fast=2..30,slow=20..80")),
        ("comparison", comparison::compared(&random_walk(3_000, 5), &comparison::CROSSES)),
        ("sweep-line", swept(&random_walk(3_000, 5), "donchian:period=2..80")),
    ] {
        std::fs::write(dir.join(format!("{name}.html")), render(&report).unwrap()).unwrap();
    }
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "json") {
            let report = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            std::fs::write(path.with_extension("html"), render(&report).unwrap()).unwrap();
        }
    }
}
