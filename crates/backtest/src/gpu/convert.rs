//! [`Account`] to [`EnvAccount`] and back, exact both ways, so that a run can move between the CPU and a device.

use super::layout::{ACCOUNT_HAS_STOP, ACCOUNT_HAS_TAKE, ACCOUNT_RUINED, EnvAccount, RULES_HAS_KELLY};
use crate::cpu::account::{Account, OpenTrade};
use crate::cpu::kelly::Tally;

/// The flags a compilation needs so that accounts count wins and losses whether or not any rules ask for them, as the
/// CPU's do.
pub const KEEP_TALLY: u32 = RULES_HAS_KELLY;

impl EnvAccount {
    /// The account as the device keeps it.
    pub fn of(account: &Account) -> Self {
        let (trade, tally, counts) = (&account.trade, &account.tally, &account.counts);
        let bit = |has: bool, bit: u32| if has { bit } else { 0 };
        Self {
            cash: account.cash,
            units: account.units,
            level: account.level,
            equity: account.equity,
            peak: account.peak,
            entry_price: trade.entry_price,
            traded_value: counts.traded_value,
            costs: counts.costs,
            bars: trade.bars as u32,
            trades: tally.trades,
            bars_in_market: counts.bars_in_market as u32,
            fills: counts.fills as u32,
            rejected_orders: counts.rejected_orders as u32,
            capped_orders: counts.capped_orders as u32,
            nan_levels: counts.nan_levels as u32,
            flags: bit(counts.ruined, ACCOUNT_RUINED)
                | bit(trade.stop.is_some(), ACCOUNT_HAS_STOP)
                | bit(trade.take.is_some(), ACCOUNT_HAS_TAKE),
            last_return: account.last_return,
            initial: account.initial,
            carry: counts.carry,
            stop: trade.stop.unwrap_or(0.0),
            take: trade.take.unwrap_or(0.0),
            entry_equity: trade.equity,
            flow: trade.flow,
            won: tally.won,
            lost: tally.lost,
            wins: tally.wins,
            losses: tally.losses,
            max_hold: trade.max_hold.unwrap_or(0),
            entry_bar: trade.entry_bar as u32,
            max_units: trade.max_units,
        }
    }

    /// The account as the CPU keeps it. Wins and losses are there when the kernels were compiled with [`KEEP_TALLY`].
    pub fn account(&self) -> Account {
        let has = |bit: u32| self.flags & bit != 0;
        Account {
            cash: self.cash,
            units: self.units,
            level: self.level,
            equity: self.equity,
            initial: self.initial,
            peak: self.peak,
            last_return: self.last_return,
            trade: OpenTrade {
                entry_bar: self.entry_bar as usize,
                entry_price: self.entry_price,
                equity: self.entry_equity,
                flow: self.flow,
                max_units: self.max_units,
                bars: self.bars as usize,
                stop: has(ACCOUNT_HAS_STOP).then_some(self.stop),
                take: has(ACCOUNT_HAS_TAKE).then_some(self.take),
                max_hold: (self.max_hold != 0).then_some(self.max_hold),
            },
            tally: Tally { trades: self.trades, wins: self.wins, losses: self.losses, won: self.won, lost: self.lost },
            counts: self.counts(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::cpu::engine::{Market, Rules};
    use crate::rules::{Kelly, SimConfig, TripleBarrier};
    use gigabar_market::rng::Philox;
    use gigabar_market::sigma::sigma;
    use gigabar_market::synth::{RandomWalkConfig, random_walk};

    /// Every state an account goes through on its way: flat, long, short, with barriers, ruined.
    #[test]
    fn accounts_survive_the_round_trip() {
        let walk = RandomWalkConfig { volatility: 0.05, ..RandomWalkConfig::default() };
        let bars = random_walk(600, 3, &walk).unwrap();
        let sigma = sigma(bars.close());
        let market = Market::new(&bars, &sigma);
        let barrier = |k_stop, k_take, max_hold| Some(TripleBarrier { k_stop, k_take, max_hold });
        let barriers = [None, barrier(Some(1.0), None, Some(4)), barrier(None, Some(0.5), None)];
        let mut ruined = 0;
        for (seed, (barrier, max_position)) in barriers.into_iter().zip([30.0, 1.0, 2.0]).enumerate() {
            let costs =
                SimConfig { commission_bps: 3.0, carry_long: 0.1, maintenance_margin: 0.01, ..SimConfig::default() };
            let kelly = Some(Kelly::default()).filter(|_| seed == 1);
            let config = SimConfig { barrier, max_position, kelly, ..costs };
            let rules = Rules::new(&config, &market).unwrap();
            let (mut account, mut rng) = (Account::new(&rules), Philox::new(seed as u64, 0));
            for t in 20..590 {
                let level = [-1.0, -0.5, 0.0, 0.5, 1.0, f64::NAN][rng.index(6)];
                account.step(&rules, &market, t, level, false, &mut |_| {});
                let device = EnvAccount::of(&account);
                assert_eq!(device.account(), account, "bar {t}");
                assert_eq!(EnvAccount::of(&device.account()), device, "bar {t}");
            }
            ruined += u32::from(account.ruined());
        }
        assert!(ruined > 0, "the test needs a ruin");
    }
}
