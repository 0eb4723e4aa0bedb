//! Random markets, configurations and level sequences: one seed, one case.

use gigabar_backtest::cpu::engine::{Market, Rules};
use gigabar_backtest::rules::{Fill, Kelly, Rebalance, Slippage, TripleBarrier, VolumeImpactSlippage};
use gigabar_backtest::{Path, SimConfig, cpu::engine};
use gigabar_market::rng::Philox;
use gigabar_market::sigma::sigma;
use gigabar_market::{BarColumns, Bars};

/// A market, rules and the levels asked for.
pub(crate) struct Case {
    pub(crate) bars: Bars,
    pub(crate) sigma: Vec<f64>,
    pub(crate) config: SimConfig,
    /// One per decision. `[n_bars − 1]`
    pub(crate) levels: Vec<f64>,
}

impl Case {
    /// Every option may be on.
    pub(crate) fn any(seed: u64) -> Self {
        let mut rng = Philox::new(seed, 0);
        let with_volume = rng.uniform() < 0.8;
        let bars = random_bars(&mut rng, with_volume);
        let config = random_config(&mut rng, with_volume);
        let levels = random_levels(&mut rng, bars.len() - 1);
        Self::new(bars, config, levels)
    }

    /// Costs and carry only, unlevered: nothing that moves a fill, so that paths can be compared across costs.
    pub(crate) fn plain(seed: u64) -> Self {
        let mut rng = Philox::new(seed, 1);
        let bars = random_bars(&mut rng, true);
        let levels = (1..bars.len()).map(|_| pick(&mut rng, &[-0.5, 0.0, 0.5])).collect();
        Self::new(bars, SimConfig::default(), levels)
    }

    fn new(bars: Bars, config: SimConfig, levels: Vec<f64>) -> Self {
        Self { sigma: sigma(bars.close()), bars, config, levels }
    }

    pub(crate) fn market(&self) -> Market<'_> {
        Market::new(&self.bars, &self.sigma)
    }

    pub(crate) fn run(&self) -> Path {
        self.run_with(&self.config)
    }

    pub(crate) fn run_with(&self, config: &SimConfig) -> Path {
        let market = self.market();
        engine::replay(&Rules::new(config, &market).unwrap(), &market, 0..self.bars.len(), &self.levels)
    }
}

pub(crate) fn pick<T: Copy>(rng: &mut Philox, of: &[T]) -> T {
    of[rng.index(of.len())]
}

fn chance(rng: &mut Philox, p: f64) -> bool {
    rng.uniform() < p
}

fn random_bars(rng: &mut Philox, with_volume: bool) -> Bars {
    let n = 20 + rng.index(180);
    let vol = pick(rng, &[0.002, 0.02, 0.08]);
    let mut c = BarColumns::default();
    let mut last = 100.0;
    for t in 0..n {
        let open = last * (vol * 0.5 * (rng.uniform() - 0.5)).exp();
        let close = open * (vol * 3.0 * (rng.uniform() - 0.5)).exp();
        c.ts.push(t as i64 * 3_600_000_000_000);
        c.open.push(open);
        c.high.push(open.max(close) * (vol * rng.uniform()).exp());
        c.low.push(open.min(close) * (-vol * rng.uniform()).exp());
        c.close.push(close);
        let silent = !with_volume || (t > 0 && chance(rng, 0.1));
        c.volume.push(if silent { 0.0 } else { 1.0 + 5_000.0 * rng.uniform() });
        last = close;
    }
    Bars::new(c).unwrap()
}

fn random_levels(rng: &mut Philox, n: usize) -> Vec<f64> {
    let keep = pick(rng, &[0.0, 0.6, 0.95]);
    let mut level = 0.0;
    (0..n)
        .map(|_| {
            if !chance(rng, keep) {
                level = pick(rng, &[-1.0, -0.5, 0.0, 0.5, 1.0, 0.37, f64::NAN]);
            }
            level
        })
        .collect()
}

fn random_config(rng: &mut Philox, with_volume: bool) -> SimConfig {
    SimConfig {
        initial_cash: pick(rng, &[1_000.0, 100_000.0]),
        max_position: pick(rng, &[0.5, 1.0, 3.0, 8.0]),
        lot_size: pick(rng, &[0.0, 0.0, 1.0, 0.25]),
        rebalance: pick(rng, &[Rebalance::OnChange, Rebalance::EveryBar]),
        rebalance_threshold: pick(rng, &[0.0, 0.013, 0.1]),
        fill: pick(rng, &[Fill::NextOpen, Fill::Close]),
        half_spread_bps: pick(rng, &[0.0, 1.7, 25.0]),
        commission_bps: pick(rng, &[0.0, 2.3, 30.0]),
        commission_fixed: pick(rng, &[0.0, 0.0, 1.1]),
        slippage: random_slippage(rng, with_volume),
        max_participation: if with_volume { pick(rng, &[0.0, 0.0, 0.05, 0.5]) } else { 0.0 },
        carry_long: pick(rng, &[0.0, 0.07, -0.02]),
        carry_short: pick(rng, &[0.0, 0.11, -0.03]),
        maintenance_margin: pick(rng, &[0.0, 0.0, 0.07]),
        barrier: chance(rng, 0.6).then(|| TripleBarrier {
            k_stop: chance(rng, 0.7).then(|| 0.3 + 2.0 * rng.uniform()),
            k_take: chance(rng, 0.7).then(|| 0.3 + 2.0 * rng.uniform()),
            max_hold: chance(rng, 0.5).then(|| 1 + rng.index(8) as u32),
        }),
        kelly: chance(rng, 0.3).then(|| Kelly { fraction: 0.7, cap: 1.5, min_trades: pick(rng, &[0, 3, 8]) }),
    }
}

fn random_slippage(rng: &mut Philox, with_volume: bool) -> Slippage {
    let impact = Slippage::VolumeImpact(VolumeImpactSlippage { eta: 0.9, max_impact: 0.03 });
    let fixed = Slippage::Fixed { bps: 3.1 };
    if with_volume { pick(rng, &[Slippage::None, fixed, impact]) } else { pick(rng, &[Slippage::None, fixed]) }
}
