//! Train a DQN on a market with a pattern, trade bars it has not seen. `cargo run --release --example 03_train_a_dqn`

use std::sync::Arc;

use gigabar::backtest::cpu::engine::{Market, Rules, simulate};
use gigabar::backtest::metric::MetricConfig;
use gigabar::backtest::{EvalReport, RewardConfig, SimConfig};
use gigabar::learn::dqn::{DqnConfig, TrainData, Trainer};
use gigabar::market::feature::FeatureTable;
use gigabar::market::scale::Scaler;
use gigabar::market::sigma::sigma;
use gigabar::market::synth::{PlantedConfig, planted};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bars = Arc::new(planted(4_000, 1, &PlantedConfig::default())?);
    let sigma = Arc::new(sigma(bars.close()));
    let table = FeatureTable::compute(&bars)?;
    let (train, test) = (table.warmup_bars()..3_000, 3_000..bars.len());

    // Fitted on the train range only: the scaler must not see the future either.
    let features = Arc::new(Scaler::fit(&table, train.clone())?.transform(&table)?);
    let data = TrainData { bars: Arc::clone(&bars), sigma: Arc::clone(&sigma), features, range: train };
    let (config, sim) = (DqnConfig { epochs: 10, ..DqnConfig::default() }, SimConfig::default());
    let mut trainer = Trainer::new(&config, &sim, &RewardConfig::default(), data, 1)?;
    while trainer.epochs_done() < trainer.n_epochs() {
        let epoch = trainer.run_epoch()?;
        println!("epoch {:>2}  loss {:.4}  ε {:.2}", epoch.epoch, epoch.loss, epoch.epsilon);
    }

    let market = Market::new(&bars, &sigma);
    let path = simulate(&Rules::new(&sim, &market)?, &bars, &market, test, &mut trainer.policy());
    let report = EvalReport::new("dqn", &bars, &[path], &MetricConfig::default(), 1);
    println!("{}", gigabar::report::text::windows_table(&report));
    Ok(())
}
