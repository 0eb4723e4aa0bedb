//! The loader on random input: bars written in every format come back bit for bit, and nothing makes it panic.

use gigabar_market::check::check;
use gigabar_market::load::{LoadOptions, load};
use proptest::prelude::*;

use super::load_texts::{file, load_with};

/// How a random table is written: delimiter, decimal comma, date format.
#[derive(Debug, Clone, Copy)]
struct Format {
    delimiter: char,
    decimal_comma: bool,
    date: &'static str,
    header: bool,
}

fn any_format() -> impl Strategy<Value = Format> {
    let date = prop::sample::select(vec![
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y.%m.%d %H:%M:%S",
        "%Y/%m/%d %H:%M:%S",
        "%Y%m%d %H%M%S",
        "%Y%m%d%H%M%S",
        "%d.%m.%Y %H:%M:%S",
        "s",
        "ms",
        "us",
        "ns",
    ]);
    (prop::sample::select(vec![',', ';', '\t', '|']), any::<bool>(), date, any::<bool>()).prop_map(
        |(delimiter, comma, date, header)| Format { delimiter, decimal_comma: comma && delimiter != ',', date, header },
    )
}

fn written_stamp(seconds: i64, format: &str) -> String {
    match format {
        "s" => seconds.to_string(),
        "ms" => (seconds * 1_000).to_string(),
        "us" => (seconds * 1_000_000).to_string(),
        "ns" => (seconds * 1_000_000_000).to_string(),
        _ => jiff::Timestamp::from_second(seconds).unwrap().strftime(format).to_string(),
    }
}

fn any_bar() -> impl Strategy<Value = ([f64; 4], f64)> {
    (prop::array::uniform4(1e-6f64..1e6), 0.0f64..1e9).prop_map(|(mut p, volume)| {
        p.sort_by(f64::total_cmp);
        ([p[1], p[3], p[0], p[2]], volume)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bars_survive_every_format(
        bars in prop::collection::vec(any_bar(), 2..40),
        start in 1_000_000_000i64..4_000_000_000,
        step in 1i64..200_000,
        format in any_format(),
    ) {
        let number = |x: f64| if format.decimal_comma { x.to_string().replace('.', ",") } else { x.to_string() };
        let d = format.delimiter;
        let mut text = if format.header { format!("time{d}open{d}high{d}low{d}close{d}volume\n") } else { String::new() };
        for (i, (prices, volume)) in bars.iter().enumerate() {
            text += &written_stamp(start + step * i as i64, format.date);
            for value in prices.iter().chain([volume]) {
                text.push(d);
                text += &number(*value);
            }
            text.push('\n');
        }
        let loaded = load_with(&text, &LoadOptions::default()).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        for (i, (prices, volume)) in bars.iter().enumerate() {
            let b = &loaded.bars;
            prop_assert_eq!(b.ts()[i], (start + step * i as i64) * 1_000_000_000);
            prop_assert_eq!([b.open()[i], b.high()[i], b.low()[i], b.close()[i]], *prices);
            prop_assert_eq!(b.volume()[i], *volume);
            prop_assert_eq!(loaded.lines[i], i as u64 + 1 + u64::from(format.header));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), repair in any::<bool>()) {
        let (_folder, path) = file(&bytes);
        let options = LoadOptions { repair, ..LoadOptions::default() };
        let loads = load(&path, &options).is_ok();
        let report = check(&path, &options);
        prop_assert!(!loads || report.is_ok_and(|r| r.iter().all(|r| r.loads)));
    }

    /// Texts made of the pieces bar files are made of reach deeper than noise does.
    #[test]
    fn arbitrary_pieces_never_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "date", "time", "open", "high", "low", "close", "volume", "symbol", ",", ";", "\t", " ", "|", "\n", "\r\n", "\"", "'",
            "2024-01-02", "20240102", "01/02/24", "1.2.2024", "09:30", "T", "Z", "+01:00", "-", ".", "1", "0", "-1", "1,5", "1e400",
            "nan", "1705311000", "1705311000000", "99999999999999999999", "AM", "é", "Jan", "\u{feff}", "K", "$", "GMT+1",
        ]), 0..120),
        repair in any::<bool>(),
        tz in prop::option::of(Just("America/New_York".to_owned())),
    ) {
        let head = "date,open,high,low,close,volume\n2024-01-01,1,2,1,2,3\n";
        for text in [pieces.concat(), format!("{head}{}", pieces.concat())] {
            let (_folder, path) = file(text.as_bytes());
            let options = LoadOptions { repair, tz: tz.clone(), ..LoadOptions::default() };
            let loads = load(&path, &options).is_ok();
            let report = check(&path, &options);
            prop_assert!(!loads || report.is_ok_and(|r| r.iter().all(|r| r.loads)));
        }
    }
}
