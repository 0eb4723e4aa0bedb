//! What must hold of the 48 features whatever the market: causal, finite, free of units.

use gigabar_market::feature::{FeatureTable, N_FEATURE, WARMUP_BARS};
use gigabar_market::synth::{RandomWalkConfig, random_walk};
use gigabar_market::{BarColumns, Bars};
use proptest::prelude::*;

const HOUR_NS: i64 = 3_600_000_000_000;

/// A rough market: jumps, flat stretches, bars without a range, bars without volume.
fn any_columns(n_bars: usize) -> impl Strategy<Value = BarColumns> {
    let step = prop_oneof![4 => -0.05f64..0.05, 2 => Just(0.0), 1 => -1.0f64..1.0];
    let wick = prop_oneof![2 => 0.0f64..0.03, 1 => Just(0.0)];
    let volume = prop_oneof![3 => 0.0f64..1e6, 1 => Just(0.0)];
    let bar = (step.clone(), step, wick.clone(), wick, volume, 1i64..5);
    (prop::collection::vec(bar, n_bars), 1e-4f64..1e5).prop_map(|(bars, start)| columns(&bars, start))
}

fn columns(bars: &[(f64, f64, f64, f64, f64, i64)], start: f64) -> BarColumns {
    let mut c = BarColumns::default();
    let (mut price, mut ts) = (start, 0);
    for &(gap, body, above, below, volume, hours) in bars {
        let open = price * (0.1 * gap).exp();
        // a walk that returns to where it began stays in f64's comfortable middle
        price = open * (body - 0.01 * (open / start).ln()).exp();
        ts += hours * HOUR_NS;
        c.ts.push(ts);
        c.open.push(open);
        c.high.push(open.max(price) * (1.0 + above));
        c.low.push(open.min(price) * (1.0 - below));
        c.close.push(price);
        c.volume.push(volume);
    }
    c
}

fn table(columns: BarColumns) -> FeatureTable {
    FeatureTable::compute(&Bars::new(columns).unwrap()).unwrap()
}

fn scaled(columns: &BarColumns, price: f64, volume: f64) -> BarColumns {
    let times = |column: &[f64], k: f64| column.iter().map(|x| x * k).collect();
    BarColumns {
        ts: columns.ts.clone(),
        open: times(&columns.open, price),
        high: times(&columns.high, price),
        low: times(&columns.low, price),
        close: times(&columns.close, price),
        volume: times(&columns.volume, volume),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Changing every bar after t, all of its columns, changes no feature up to t: not by one bit.
    #[test]
    fn the_future_does_not_show(past in any_columns(260), future in any_columns(260), t in 0usize..259) {
        let mut mixed = past.clone();
        for (column, other) in [
            (&mut mixed.open, &future.open), (&mut mixed.high, &future.high), (&mut mixed.low, &future.low),
            (&mut mixed.close, &future.close), (&mut mixed.volume, &future.volume),
        ] {
            column[t + 1..].copy_from_slice(&other[t + 1..]);
        }
        for ts in &mut mixed.ts[t + 1..] {
            *ts += 17 * HOUR_NS;
        }
        let (a, b) = (table(past), table(mixed));
        let seen = ..(t + 1) * N_FEATURE;
        prop_assert_eq!(&a.values()[seen], &b.values()[seen]);
    }

    /// A longer series begins with the features of the shorter one, and its length does not show.
    #[test]
    fn cutting_the_data_changes_nothing(columns in any_columns(260), n in (WARMUP_BARS + 1)..260) {
        let mut cut = columns.clone();
        cut.ts.truncate(n);
        for column in [&mut cut.open, &mut cut.high, &mut cut.low, &mut cut.close, &mut cut.volume] {
            column.truncate(n);
        }
        let (long, short) = (table(columns), table(cut));
        prop_assert_eq!(&long.values()[..n * N_FEATURE], short.values());
    }

    /// `FeatureTable::compute` refuses what is not finite; bounded features stay within their bounds.
    #[test]
    fn all_are_finite_and_in_bounds(columns in any_columns(260)) {
        let table = table(columns);
        let bounds = [
            ("rsi_14", 0.0, 100.0), ("stoch_k_14_3", 0.0, 100.0), ("willr_14", -100.0, 0.0), ("mfi_14", 0.0, 100.0),
            ("adx_14", 0.0, 100.0), ("plus_di_14", 0.0, 100.0), ("minus_di_14", 0.0, 100.0), ("aroon_up_25", 0.0, 100.0),
            ("donchian_position_20", 0.0, 1.0), ("close_location_1", -1.0, 1.0), ("autocorrelation_60", -1.0, 1.0),
            ("hour_sin", -1.0, 1.0), ("weekday_cos", -1.0, 1.0), ("garman_klass_vol_20", 0.0, 10.0),
        ];
        for (name, low, high) in bounds {
            let at = table.position(name).unwrap();
            for t in WARMUP_BARS..table.n_bars() {
                let x = table.row(t)[at];
                prop_assert!(x.is_finite() && x >= low - 1e-9 && x <= high + 1e-9, "{} is {} at bar {}", name, x, t);
            }
        }
    }

    /// Doubling is exact in binary, so not a bit may change.
    #[test]
    fn doubling_all_prices_or_volumes_changes_no_bit(columns in any_columns(220)) {
        let base = table(columns.clone());
        prop_assert_eq!(&base, &table(scaled(&columns, 2.0, 1.0)));
        prop_assert_eq!(&base, &table(scaled(&columns, 1.0, 1024.0)));
    }
}

#[test]
fn other_units_change_rounding_only() {
    let columns = random_walk(2000, 8, &RandomWalkConfig::default()).unwrap().into_columns();
    let (a, b) = (table(columns.clone()), table(scaled(&columns, 117.3, 0.037)));
    for (i, (x, y)) in a.values().iter().zip(b.values()).enumerate() {
        let name = &a.names()[i % N_FEATURE];
        assert!((x - y).abs() <= 1e-8 * x.abs().max(1e-3), "{name} at bar {}: {x} and {y}", i / N_FEATURE);
    }
}

#[test]
fn a_flat_market_takes_the_documented_values() {
    let n = 300;
    let flat = vec![0.1; n];
    let columns = BarColumns {
        ts: (0..n as i64).map(|t| t * HOUR_NS).collect(),
        open: flat.clone(),
        high: flat.clone(),
        low: flat.clone(),
        close: flat,
        volume: vec![3.3; n],
    };
    let table = table(columns);
    let neutral = |name: &str| match name {
        "rsi_14" | "stoch_k_14_3" | "stoch_d_14_3_3" | "mfi_14" => 50.0,
        "willr_14" => -50.0,
        "aroon_up_25" | "aroon_down_25" => 100.0,
        "bollinger_percent_b_20" | "donchian_position_20" | "donchian_position_55" => 0.5,
        _ => 0.0,
    };
    for (j, name) in table.names().iter().enumerate().filter(|(_, n)| !n.ends_with("_sin") && !n.ends_with("_cos")) {
        for t in WARMUP_BARS..n {
            let got = table.row(t)[j];
            assert!((got - neutral(name)).abs() < 1e-13, "{name} is {got} at bar {t}");
        }
    }
}

#[test]
fn without_volume_the_volume_features_are_0() {
    let mut columns = random_walk(400, 2, &RandomWalkConfig::default()).unwrap().into_columns();
    columns.volume.fill(0.0);
    let table = table(columns);
    for name in ["volume_z_20", "volume_z_60", "mfi_14", "obv_slope_20"] {
        let at = table.position(name).unwrap();
        assert!((0..400).all(|t| table.row(t)[at] == 0.0), "{name}");
    }
}

/// The same bars after a long, wild past give the same windowed features: nothing has drifted.
#[test]
fn a_long_past_leaves_no_trace() {
    let wild = RandomWalkConfig { volatility: 0.03, volume: 1e9, ..RandomWalkConfig::default() };
    let mut long = random_walk(300_000, 4, &wild).unwrap().into_columns();
    let last = *long.close.last().unwrap();
    let calm = random_walk(3000, 5, &RandomWalkConfig { start_price: last, ..RandomWalkConfig::default() }).unwrap();
    let calm = calm.into_columns();
    let offset = long.ts.last().unwrap() + HOUR_NS - calm.ts[0];
    long.ts.extend(calm.ts.iter().map(|ts| ts + offset));
    for (column, tail) in [
        (&mut long.open, &calm.open),
        (&mut long.high, &calm.high),
        (&mut long.low, &calm.low),
        (&mut long.close, &calm.close),
        (&mut long.volume, &calm.volume),
    ] {
        column.extend(tail);
    }
    let (long, short) = (table(long), table(calm));
    for t in 2900..3000 {
        // Wilder's and the EMAs' memory of the past has faded to nothing by then
        for (j, name) in short.names().iter().enumerate().filter(|(_, n)| !n.starts_with("weekday")) {
            let (x, y) = (long.row(300_000 + t)[j], short.row(t)[j]);
            assert!((x - y).abs() <= 1e-9 * x.abs().max(1e-3), "{name} at bar {t}: {x} and {y}");
        }
    }
}
