//! What is written reads back as the same bars, bit for bit.

use gigabar_market::load::{LoadOptions, load};
use gigabar_market::write::{WriteError, write};
use gigabar_market::{BarColumns, Bars};
use proptest::prelude::*;

/// Bars of any positive prices, down to the smallest and up to the largest that a number holds.
fn bars() -> impl Strategy<Value = Bars> {
    let row = (1i64..1_000_000_000_000, prop::array::uniform4(1e-300..1e300f64), 0.0..1e18f64);
    let symbol = prop::option::of("[A-Z]{1,4}[./ ,\"]?[A-Z]{1,3}");
    (prop::collection::vec(row, 2..40), symbol).prop_map(|(rows, symbol)| {
        let mut c = BarColumns::default();
        let mut ts = 1_600_000_000_000_000_000;
        for (step, mut prices, volume) in rows {
            ts += step;
            prices.sort_by(f64::total_cmp);
            c.ts.push(ts);
            c.low.push(prices[0]);
            c.open.push(prices[1]);
            c.close.push(prices[2]);
            c.high.push(prices[3]);
            c.volume.push(volume);
        }
        let bars = Bars::new(c).unwrap();
        match symbol {
            Some(symbol) => bars.with_symbol(symbol),
            None => bars,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn reading_gives_what_was_written(bars in bars()) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x.csv", "x.csv.gz", "x.parquet"] {
            let path = folder.path().join(name);
            write(&path, &bars).unwrap();
            let again = load(&path, &LoadOptions::default()).unwrap().bars;
            prop_assert_eq!(&again, &bars, "{}", name);
        }
    }
}

#[test]
fn nothing_is_written_over_and_names_say_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let c = BarColumns {
        ts: vec![0, 1],
        open: vec![1.0; 2],
        high: vec![1.0; 2],
        low: vec![1.0; 2],
        close: vec![1.0; 2],
        volume: vec![0.0; 2],
    };
    let bars = Bars::new(c).unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "mine").unwrap();
    assert!(matches!(write(&path, &bars), Err(WriteError::Exists { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    assert!(matches!(write(&folder.path().join("x.xlsx"), &bars), Err(WriteError::Name { .. })));
}
