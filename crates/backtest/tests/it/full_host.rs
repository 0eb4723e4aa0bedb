//! `full_metrics.cu` and `pool.cu` under the emulation of [`crate::host_kernel`], beside `metric::WindowStats::of` and
//! `EvalReport::new`.

use gigabar_backtest::cpu::engine::replay;
use gigabar_backtest::gpu::full_metrics::{FullPart, FullSeries, FullStats, SELECT_THREADS, full_source, number_parts};
use gigabar_backtest::gpu::layout::{EnvTrade, RolloutPair};
use gigabar_backtest::gpu::pool::{PoolSpan, accounts_of, pool_source, spans, takeovers};
use gigabar_backtest::gpu::replay::given_source;
use gigabar_backtest::metric::{MetricConfig, WindowMetrics, WindowStats};
use gigabar_backtest::{Counts, EvalReport, Path};
use gigabar_market::rng::Philox;

use crate::host_kernel::{HostKernel, PARAMETERS, raw};
use crate::kernel_host::{World, costs};
use crate::series_case::{LENGTHS, every_kind, same_stats};

const PERIODS: f64 = 8_760.0;

fn address<T>(column: &[T]) -> u64 {
    column.as_ptr() as u64
}

/// The four kernels in turn over all series.
struct Full([HostKernel; 4]);

impl Full {
    fn build() -> Self {
        let select = format!(
            "n[1], 1, 1, {SELECT_THREADS}, [=] {{ full_select((FullSeries*)p[0], (FullStats*)p[3], ((f64*)p[4])[1], 0.05); }}"
        );
        let launches = [
            "n[0], 1, 1, LANES, [=] { full_measure((FullSeries*)p[0], (u32*)p[1], (FullPart*)p[2], *(f64*)p[4]); }",
            &select,
            "n[0], 1, 1, LANES, [=] { full_fall((FullSeries*)p[0], (u32*)p[1], (FullPart*)p[2], (FullStats*)p[3]); }",
            "n[1], 1, 1, LANES, [=] { full_join((FullSeries*)p[0], (FullPart*)p[2], (FullStats*)p[3]); }",
        ];
        Self(launches.map(|launch| HostKernel::build(&full_source(), PARAMETERS, launch)))
    }

    fn run(&self, series: &mut [FullSeries], threshold: f64, var_level: f64) -> Vec<FullStats> {
        let mut series_of = number_parts(series);
        // NaN where nothing is written.
        let mut parts = vec![[f64::NAN; size_of::<FullPart>() / 8]; series_of.len()];
        let mut stats = vec![FullStats::default(); series.len()];
        let mut levels = [threshold, var_level];
        let numbers = [series_of.len() as u32, series.len() as u32];
        let columns = [raw(series), raw(&mut series_of), raw(&mut parts), raw(&mut stats), raw(&mut levels)];
        self.0.iter().for_each(|kernel| kernel.run(&columns, &numbers));
        stats
    }
}

#[test]
fn every_statistic_of_every_kind_of_series_equals_the_cpus() {
    let full = Full::build();
    let mut all: Vec<_> = LENGTHS.into_iter().flat_map(every_kind).collect();
    all.extend(every_kind(70_000).into_iter().step_by(4));
    for config in [
        MetricConfig { mar: 0.1, ..MetricConfig::default() },
        MetricConfig { var_level: 0.013, ..MetricConfig::default() },
    ] {
        let trades: Vec<Vec<EnvTrade>> =
            all.iter().map(|series| series.trades.iter().map(EnvTrade::of).collect()).collect();
        let on_device = |(series, trades): (&crate::series_case::Series, &Vec<EnvTrade>)| FullSeries {
            returns: address(&series.returns),
            equity: address(&series.equity),
            benchmark: address(&series.benchmark),
            trades: address(trades),
            n: series.returns.len() as i64,
            n_trades: trades.len() as i64,
            first_part: 0,
        };
        let mut series: Vec<FullSeries> = all.iter().zip(&trades).map(on_device).collect();
        let threshold = config.mar / PERIODS;
        let stats = full.run(&mut series, threshold, config.var_level);
        for (series, stats) in all.iter().zip(stats) {
            let view = series.view();
            let want = WindowStats::of(view, &series.benchmark, PERIODS, &config);
            let got = stats.stats(series.returns.len(), threshold, series.trades.len(), view.counts);
            same_stats(&series.name(), &want, &got);
            let metrics = |stats| WindowMetrics::from_stats(stats, PERIODS, &config);
            assert_eq!(metrics(&want), metrics(&got), "{}", series.name());
        }
    }
}

/// Windows that overlap, of unequal length, two policies: holding, stringing together, and every number of the report.
#[test]
fn pooled_and_held_accounts_equal_the_report() {
    let world = World::new(costs(), vec![3..900, 0..2, 10..77, 400..5_000, 300..4_396]);
    let arrays = &mut world.arrays();
    let rules = world.rules();
    let mut rng = Philox::new(8, 8);
    let mut path = |range: &std::ops::Range<usize>| {
        let levels: Vec<f64> = range.clone().skip(1).map(|_| [-1.0, 0.0, 0.0, 1.0][rng.index(4)]).collect();
        replay(&rules, &world.market(), range.clone(), &levels)
    };
    let policies: Vec<Vec<Path>> = (0..2).map(|_| world.ranges.iter().map(&mut path).collect()).collect();
    let (n_window, n): (usize, usize) = (world.ranges.len(), world.ranges.iter().map(|range| range.len() - 1).sum());

    let mut held = [vec![f64::NAN; arrays.bars.len()], vec![f64::NAN; arrays.bars.len()]];
    let launch =
        "n[0], 3, 1, 32, [=] { pool_hold((EnvBar*)p[0], (EnvWindow*)p[1], (EnvRules*)p[2], (f64*)p[3], (f64*)p[4]); }";
    let [equity, returns] = &mut held;
    let market = [raw(&mut arrays.bars), raw(&mut arrays.windows), raw(&mut arrays.rules)];
    HostKernel::build(&pool_source(), PARAMETERS, launch)
        .run(&[&market[..], &[raw(equity), raw(returns)]].concat(), &[n_window as u32]);
    let hold = |w: usize| {
        let row = arrays.windows[w].row as usize;
        let (equity, returns) = (address(&held[0][row..]), address(&held[1][row..]));
        FullSeries { equity, returns, benchmark: returns, n: world.ranges[w].len() as i64 - 1, ..FullSeries::default() }
    };
    let holds: Vec<FullSeries> = (0..n_window).map(hold).collect();
    // Trades of a policy's windows side by side.
    let trades: Vec<EnvTrade> =
        policies.iter().flatten().flat_map(|path| path.trades.iter().map(EnvTrade::of)).collect();
    let mut own = Vec::new();
    let mut next = 0;
    for (path, w) in policies.iter().flatten().zip((0..n_window).cycle()) {
        own.push(FullSeries {
            equity: address(&path.equity),
            returns: address(&path.returns),
            trades: address(&trades[next..]),
            n_trades: path.trades.len() as i64,
            ..holds[w]
        });
        next += path.trades.len();
    }
    let mut pooled = [vec![f64::NAN; 3 * (n + 1)], vec![f64::NAN; 3 * n]];
    let ends = |equity: &[f64]| (equity[0], equity[equity.len() - 1]);
    let mut scales = Vec::new();
    for policy in &policies {
        scales.extend(takeovers(policy.iter().map(|path| ends(&path.equity))));
    }
    let row = |w: usize| arrays.windows[w].row as usize;
    scales.extend(takeovers((0..n_window).map(|w| ends(&held[0][row(w)..row(w) + world.ranges[w].len()]))));
    let windows = [&own[..], &holds].concat();
    let to = (address(&pooled[0]), address(&pooled[1]));
    let mut chained = spans(&windows, n_window, &scales, to.0, to.1);
    let launch = "n[0], 3, 1, 32, [=] { pool_chain((PoolSpan*)p[0]); }";
    HostKernel::build(&pool_source(), PARAMETERS, launch)
        .run(&[raw::<PoolSpan>(&mut chained)], &[windows.len() as u32]);
    assert!(pooled.iter_mut().flatten().all(|x| !x.is_nan()), "a point of a pooled account that nobody wrote");

    let benchmark = address(&pooled[1][2 * n..]);
    let mut series = [&windows[..], &accounts_of(&windows, n_window, to, benchmark)].concat();
    let config = MetricConfig { risk_free: 0.01, mar: 0.02, var_level: 0.1 };
    let periods = world.bars.periods_per_year();
    let stats = Full::build().run(&mut series, config.mar / periods, config.var_level);
    let metrics = |i: usize, counts: Counts| {
        let stats = stats[i].stats(series[i].n as usize, config.mar / periods, series[i].n_trades as usize, counts);
        WindowMetrics::from_stats(&stats, periods, &config)
    };
    let always = |n: usize| Counts { bars_in_market: n, ..Counts::default() };
    for (k, paths) in policies.iter().enumerate() {
        let report = EvalReport::new("p", &world.bars, paths, &config, 1);
        for (w, window) in report.windows.iter().enumerate() {
            assert_eq!(window.metrics, metrics(k * n_window + w, paths[w].counts), "policy {k}, window {w}");
            let n = world.ranges[w].len() - 1;
            assert_eq!(window.benchmark, metrics(2 * n_window + w, always(n)), "holding, window {w}");
        }
        assert_eq!(report.benchmark, metrics(3 * n_window + 2, always(n)), "holding, pooled");
        let mut whole = metrics(3 * n_window + k, Counts::default());
        // Events are the host's to add.
        let known = &report.pooled;
        (whole.exposure, whole.turnover, whole.fills) = (known.exposure, known.turnover, known.fills);
        (whole.costs, whole.carry) = (known.costs, known.carry);
        assert_eq!(*known, whole, "policy {k}, pooled");
    }
}

#[test]
fn actions_become_levels_where_the_replay_looks_for_them() {
    let world = World::new(costs(), vec![3..900, 0..2, 10..77]);
    let arrays = &mut world.arrays();
    // Two policies, replayed in another order than the actions lie.
    let (mut pairs, mut from, mut n_path) = (Vec::new(), Vec::new(), 0_usize);
    for policy in 0..2_u32 {
        for window in 0..3_u32 {
            pairs.push(RolloutPair { path: n_path as i64, window, policy });
            n_path += world.ranges[window as usize].len();
        }
    }
    for pair in &pairs {
        from.push((n_path - pair.path as usize - world.ranges[pair.window as usize].len()) as i64);
    }
    let mut rng = Philox::new(6, 6);
    let mut actions: Vec<u8> = (0..n_path).map(|_| rng.index(3) as u8).collect();
    let mut of_action = [-1.0, 0.0, 1.0, 10.0, 20.0, 30.0];
    let mut levels = vec![f64::NAN; n_path];
    let launch = "n[0], 3, 1, 32, [=] { replay_levels((EnvWindow*)p[0], (RolloutPair*)p[1], (i64*)p[2], (u8*)p[3], \
                  (f64*)p[4], 3, (f64*)p[5]); }";
    let columns = [raw(&mut arrays.windows), raw(&mut pairs), raw(&mut from), raw(&mut actions), raw(&mut of_action)];
    HostKernel::build(&given_source(0, false), PARAMETERS, launch)
        .run(&[&columns[..], &[raw(&mut levels)]].concat(), &[pairs.len() as u32]);
    for (pair, from) in pairs.iter().zip(&from) {
        let n = world.ranges[pair.window as usize].len() - 1;
        for t in 0..n {
            let want = of_action[pair.policy as usize * 3 + actions[*from as usize + t] as usize];
            assert_eq!(levels[pair.path as usize + t], want, "policy {}, window {}, {t}", pair.policy, pair.window);
        }
        assert!(levels[pair.path as usize + n].is_nan(), "a level beyond the last decision");
    }
}
