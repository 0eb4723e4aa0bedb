//! `replay_given` under the emulation of [`crate::kernel_host`], beside `cpu::engine::replay`.

use gigabar_backtest::cpu::engine::replay;
use gigabar_backtest::gpu::layout::{EnvAccount, EnvTrade, RolloutPair};
use gigabar_backtest::gpu::replay::given_source;
use gigabar_backtest::metric::{max_drawdown, sharpe, total_pnl};
use gigabar_market::rng::Philox;

use crate::kernel_host::{HostKernel, PARAMETERS, World, costs, raw, summarise};
use crate::support::same_path;

#[test]
fn given_levels_and_every_summary_equal_the_engine() {
    let lengths = [2, 3, 256, 257, 258, 4_096, 4_097, 4_098, 8_300, 21_000];
    let world = World::new(costs(), lengths.iter().map(|n| 5..5 + n).collect());
    let mut arrays = world.arrays();
    let mut rng = Philox::new(2, 2);
    let (mut pairs, mut levels) = (Vec::new(), Vec::new());
    for (w, &n) in lengths.iter().enumerate() {
        pairs.push(RolloutPair { path: levels.len() as i64, window: w as u32, policy: 0 });
        levels.extend((0..n).map(|_| [-1.0, 0.0, 0.5, 1.0, f64::NAN][rng.index(5)]));
    }
    let room = 21_000;
    let mut starts: Vec<i64> = (0..=lengths.len() as i64).map(|pair| pair * room).collect();
    let mut columns = vec![vec![f64::NAN; levels.len()]; 5];
    let mut accounts = vec![EnvAccount::default(); pairs.len()];
    let mut trades = vec![EnvTrade::default(); pairs.len() * room as usize];
    let kernel = HostKernel::build(
        &given_source(arrays.rules[0].flags, true),
        PARAMETERS,
        "(n[0] + 3) / 4, 1, 1, 4, [=] { replay_given((EnvBar*)p[0], (EnvWindow*)p[1], (EnvRules*)p[2], (RolloutPair*)p[3], \
         (f64*)p[4], (EnvAccount*)p[5], (f64*)p[6], (f64*)p[7], (f64*)p[8], (f64*)p[9], (f64*)p[10], (EnvTrade*)p[11], \
         (i64*)p[12], n[0], n[1], n[2]); }",
    );
    let market = [raw(&mut arrays.bars), raw(&mut arrays.windows), raw(&mut arrays.rules), raw(&mut pairs)];
    let path: Vec<*mut u8> = columns.iter_mut().map(|column| raw(column)).collect();
    let pointers =
        [&market[..], &[raw(&mut levels), raw(&mut accounts)], &path, &[raw(&mut trades), raw(&mut starts)]].concat();
    // Two launches: the state goes over.
    kernel.run(&pointers, &[pairs.len() as u32, 0, 4_000]);
    kernel.run(&pointers, &[pairs.len() as u32, 4_000, 40_000]);
    let [equity, returns, cash, units, level] = &mut columns[..] else { unreachable!() };
    let summaries = summarise(&mut arrays, &mut pairs, &mut accounts, equity, returns);
    for (w, range) in world.ranges.iter().enumerate() {
        let (start, n) = (pairs[w].path as usize, range.len());
        let want = replay(&world.rules(), &world.market(), range.clone(), &levels[start..start + n - 1]);
        let cut = |column: &[f64], n: usize| column[start..start + n].to_vec();
        let got = gigabar_backtest::Path {
            first_bar: range.start,
            returns: cut(returns, n - 1),
            equity: cut(equity, n),
            cash: cut(cash, n),
            units: cut(units, n),
            level: cut(level, n),
            trades: trades[starts[w] as usize..][..accounts[w].trades as usize]
                .iter()
                .map(|t| t.trade().unwrap())
                .collect(),
            counts: accounts[w].counts(),
        };
        same_path(w, &want, &got);
        assert_eq!(sharpe(&want.returns, 0.0, arrays.periods[w]), summaries[w].sharpe(), "window {w}");
        assert_eq!(max_drawdown(&want.equity), Some(summaries[w].max_drawdown), "window {w}");
        assert_eq!(total_pnl(&want.equity), Some(summaries[w].total_pnl), "window {w}");
        assert_eq!(want.trades.len(), summaries[w].n_trades as usize, "window {w}");
    }
}
