#![allow(clippy::unwrap_used)]
use super::*;
use crate::synth::{RandomWalkConfig, random_walk};
use crate::{BarColumns, Bars};

fn table() -> FeatureTable {
    FeatureTable::compute(&random_walk(600, 1, &RandomWalkConfig::default()).unwrap()).unwrap()
}

#[test]
fn the_train_range_has_mean_0_and_spread_1() {
    let table = table();
    let scaler = Scaler { clip: 1e9, ..Scaler::fit(&table, 150..450).unwrap() };
    let scaled = scaler.transform(&table).unwrap();
    for j in 0..table.n_feature() {
        let x: Vec<f64> = (150..450).map(|t| f64::from(scaled.row(t)[j])).collect();
        let mean = x.iter().sum::<f64>() / 300.0;
        let std = (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 300.0).sqrt();
        assert!(mean.abs() < 1e-5 && (std - 1.0).abs() < 1e-5, "{}: {mean} {std}", scaler.names[j]);
    }
}

#[test]
fn bars_outside_the_train_range_change_nothing() {
    let bars = random_walk(600, 1, &RandomWalkConfig::default()).unwrap();
    let mut columns: BarColumns = bars.clone().into_columns();
    for t in 450..600 {
        for price in [&mut columns.open, &mut columns.high, &mut columns.low, &mut columns.close] {
            price[t] *= 3.0;
        }
    }
    let changed = FeatureTable::compute(&Bars::new(columns).unwrap()).unwrap();
    assert_eq!(Scaler::fit(&table(), 150..450).unwrap(), Scaler::fit(&changed, 150..450).unwrap());
}

#[test]
fn constant_features_become_0_and_outliers_are_clipped() {
    let mut columns = random_walk(600, 1, &RandomWalkConfig::default()).unwrap().into_columns();
    columns.volume.fill(0.0);
    columns.high[500] *= 10.0;
    let table = FeatureTable::compute(&Bars::new(columns).unwrap()).unwrap();
    let scaler = Scaler::fit(&table, 150..450).unwrap();
    let scaled = scaler.transform(&table).unwrap();
    let mfi = table.position("mfi_14").unwrap();
    assert_eq!(scaler.std[mfi], 0.0);
    assert!((99..600).all(|t| scaled.row(t)[mfi] == 0.0));
    assert_eq!(scaled.row(500)[table.position("range_1").unwrap()], 5.0);
    assert!(scaled.values().iter().all(|v| v.abs() <= 5.0));
}

#[test]
fn rows_before_the_warm_up_are_0() {
    let table = table();
    let scaled = Scaler::fit(&table, 99..600).unwrap().transform(&table).unwrap();
    assert!(scaled.values()[..99 * 48].iter().all(|&v| v == 0.0));
    assert!(scaled.row(99).iter().any(|&v| v != 0.0));
}

#[test]
fn ranges_outside_the_usable_bars_are_refused() {
    let table = table();
    for range in [98..200, 200..200, 500..601] {
        let error = Scaler::fit(&table, range).unwrap_err();
        assert!(error.to_string().contains("usable are 99..600"), "{error}");
    }
}

#[test]
fn other_features_are_named() {
    let table = table();
    let mut scaler = Scaler::fit(&table, 99..600).unwrap();
    scaler.names[3] = "bogus_7".to_owned();
    scaler.names.swap(10, 11);
    let error = scaler.transform(&table).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the scaler was fitted on other features: missing here: bogus_7; not known to it: log_return_5; \
         in another place: garman_klass_vol_20, parkinson_vol_20"
    );
    assert!(error.hint().is_some());
}

#[test]
fn a_scaler_survives_json_to_the_bit_and_damage_is_noticed() {
    let table = table();
    let scaler = Scaler::fit(&table, 99..600).unwrap();
    let json = serde_json::to_string(&scaler).unwrap();
    let mut back: Scaler = serde_json::from_str(&json).unwrap();
    assert_eq!(back, scaler);
    back.std.pop();
    assert!(matches!(back.transform(&table), Err(ScaleError::Damaged { .. })));
}
