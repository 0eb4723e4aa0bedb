//! The f64 engine (`cpu::account`) against the Decimal reference (`cpu::reference`), every option on.

use std::collections::BTreeSet;

use gigabar_backtest::cpu::reference::{self, ReferencePath};
use gigabar_backtest::{ExitReason, Path};
use rust_decimal::{Decimal, prelude::ToPrimitive};

use crate::random_case::Case;

const TOLERANCE: f64 = 1e-9;
const CASES: u64 = 3_000;

fn assert_close(what: &str, got: f64, want: Decimal, scale: f64, case: &dyn Fn() -> String) {
    let want = want.to_f64().unwrap();
    let error = (got - want).abs() / scale.max(want.abs());
    assert!(error <= TOLERANCE, "{what}: engine {got}, reference {want}\n{}", case());
}

fn compare(seed: u64) -> (Path, ReferencePath) {
    let case = Case::any(seed);
    let path = case.run();
    let market = case.market();
    let exact = reference::replay(&case.config, &market, 0..case.bars.len(), &case.levels);
    let describe = || format!("seed {seed}: {:#?}", case.config);
    // Cash and P&L are small differences of large flows: measured against the money at work.
    let cash = case.config.initial_cash * case.config.max_position.max(1.0);
    assert_eq!(path.equity.len(), exact.equity.len());
    for t in 0..path.equity.len() {
        let at = |field: &str| format!("{field} after bar {t}");
        assert_close(&at("equity"), path.equity[t], exact.equity[t], cash, &describe);
        assert_close(&at("cash"), path.cash[t], exact.cash[t], cash, &describe);
        assert_close(&at("units"), path.units[t], exact.units[t], cash / 100.0, &describe);
    }
    assert_eq!(path.trades.len(), exact.trades.len(), "number of trades\n{}", describe());
    for (i, (a, b)) in path.trades.iter().zip(&exact.trades).enumerate() {
        let at = |field: &str| format!("{field} of trade {i}");
        let got = (a.side, (a.entry_bar, a.exit_bar), a.bars_held, a.exit);
        assert_eq!(got, (b.side, b.bars, b.bars_held, b.exit), "trade {i}\n{}", describe());
        assert_close(&at("P&L"), a.pnl, b.pnl, cash, &describe);
        assert_close(&at("entry price"), a.entry_price, b.entry_price, 1.0, &describe);
        assert_close(&at("exit price"), a.exit_price, b.exit_price, 1.0, &describe);
    }
    let counts = (path.counts.rejected_orders, path.counts.capped_orders, path.counts.ruined);
    assert_eq!(counts, (exact.rejected_orders, exact.capped_orders, exact.ruined), "counts\n{}", describe());
    (path, exact)
}

#[test]
fn engine_equals_reference_on_random_configurations() {
    let mut seen = BTreeSet::new();
    for seed in 0..CASES {
        let (path, _) = compare(seed);
        seen.extend(path.trades.iter().map(|t| format!("{:?}", t.exit)));
        let c = path.counts;
        let events = [("rejected", c.rejected_orders > 0), ("capped", c.capped_orders > 0), ("nan", c.nan_levels > 0)];
        seen.extend(events.iter().filter(|(_, happened)| *happened).map(|(name, _)| (*name).to_owned()));
    }
    let reasons = [
        ExitReason::Signal,
        ExitReason::Flip,
        ExitReason::Stop,
        ExitReason::Take,
        ExitReason::Time,
        ExitReason::Liquidation,
        ExitReason::End,
    ];
    for name in reasons.iter().map(|r| format!("{r:?}")).chain(["rejected", "capped", "nan"].map(String::from)) {
        assert!(seen.contains(&name), "no case exercised {name}");
    }
}
