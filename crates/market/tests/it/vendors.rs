//! Three bars as each vendor writes them: instants and numbers, without a flag.

use gigabar_market::load::{LoadOptions, load};
use gigabar_market::time::iso;

use super::load_formats::file;

/// Stamp, then open, high, low, close, volume.
type Row = (&'static str, [f64; 5]);

const APPLE: [[f64; 5]; 3] = [
    [182.16, 184.26, 180.93, 183.63, 65_603_000.0],
    [181.27, 182.93, 180.3, 182.68, 47_317_400.0],
    [186.09, 189.14, 185.83, 188.63, 78_005_800.0],
];
const MINUTES: [[f64; 5]; 3] = [
    [182.16, 184.26, 180.93, 183.63, 656_030.0],
    [183.6, 183.9, 183.1, 183.2, 41_230.0],
    [183.21, 183.4, 182.95, 183.0, 39_870.0],
];
const EURO: [[f64; 5]; 3] = [
    [1.08912, 1.08934, 1.08801, 1.08825, 3512.0],
    [1.08825, 1.0886, 1.08702, 1.08744, 4120.0],
    [1.08743, 1.08799, 1.08655, 1.0869, 3907.0],
];
const BITCOIN: [[f64; 5]; 3] = [
    [42_511.1, 42_545.0, 42_500.0, 42_520.5, 31.25],
    [42_520.5, 42_530.0, 42_480.0, 42_490.0, 28.5],
    [42_490.01, 42_499.99, 42_470.0, 42_471.25, 22.75],
];

fn rows(stamps: [&'static str; 3], bars: [[f64; 5]; 3]) -> [Row; 3] {
    [0, 1, 2].map(|i| (stamps[i], bars[i]))
}

#[test]
fn vendors_files_load_as_they_come() {
    let days = ["2024-01-16T00:00:00Z", "2024-01-17T00:00:00Z", "2024-01-18T00:00:00Z"];
    let opens = ["2024-01-16T14:30:00Z", "2024-01-17T14:30:00Z", "2024-01-18T14:30:00Z"];
    let minutes = ["2024-01-16T14:30:00Z", "2024-01-16T14:31:00Z", "2024-01-16T14:32:00Z"];
    let hours = ["2024-01-16T09:00:00Z", "2024-01-16T10:00:00Z", "2024-01-16T11:00:00Z"];
    let midnight = ["2024-01-16T00:00:00Z", "2024-01-16T00:01:00Z", "2024-01-16T00:02:00Z"];
    let hundredth = APPLE.map(|[o, h, l, c, v]| [o, h, l, c, v / 100.0]);
    let files = [
        ("stooq", rows(days, APPLE)),
        ("stooq_bulk", rows(days, APPLE)),
        ("metatrader5", rows(hours, EURO)),
        ("metatrader4", rows(hours, EURO)),
        ("tradingview_unix", rows(opens, APPLE)),
        ("tradingview_iso", rows(opens, APPLE)),
        ("binance_vision_ms", rows(midnight, BITCOIN)),
        ("binance_vision_us", rows(midnight, BITCOIN)),
        ("binance_futures_header", rows(midnight, BITCOIN)),
        ("kraken_ohlcvt", rows(midnight, BITCOIN)),
        ("coinbase", rows(midnight, BITCOIN)),
        ("coinbase_advanced", rows(midnight, BITCOIN)),
        ("alpha_vantage_adjusted", rows(days, APPLE)),
        ("alpha_vantage_crypto", rows(midnight, BITCOIN)),
        ("interactive_brokers", rows(minutes, MINUTES)),
        ("interactive_brokers_daily", rows(days, hundredth)),
        ("polygon", rows(minutes, MINUTES)),
    ];
    for (name, want) in files {
        let loaded = load(&file(&format!("vendors/{name}.csv")), &LoadOptions::default());
        let b = loaded.unwrap_or_else(|e| panic!("{e}")).bars;
        let got: Vec<(String, [f64; 5])> = (0..b.len())
            .map(|t| (iso(b.ts()[t]), [b.open()[t], b.high()[t], b.low()[t], b.close()[t], b.volume()[t]]))
            .collect();
        let want: Vec<(String, [f64; 5])> = want.iter().map(|(ts, row)| ((*ts).to_owned(), *row)).collect();
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn yahoos_adjusted_close_is_at_hand() {
    let adjust = LoadOptions { adjust: true, ..LoadOptions::default() };
    let bars = load(&file("vendors/yahoo.csv"), &adjust).unwrap().bars;
    assert_eq!(bars.close(), [181.901581, 180.96051, 186.854507]);
    assert_eq!(bars.open()[0], 182.160004 * (181.901581 / 183.630005));
}

/// Coinbase's own order (time, low, high, open, close) without its header is told by the bars.
#[test]
fn coinbases_rows_without_a_header_are_noticed() {
    let text = std::fs::read_to_string(file("vendors/coinbase.csv")).unwrap();
    let bare = text.split_once('\n').unwrap().1;
    let error = super::load_texts::load_with(bare, &LoadOptions::default()).unwrap_err();
    assert_eq!(error.hint().as_deref(), Some("pass --columns ts,low,high,open,close,volume"));
}
