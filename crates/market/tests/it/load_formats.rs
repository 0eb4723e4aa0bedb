//! Containers, Parquet and DBN: the same bars whatever holds them, and refusals that say why. `files/make_files.py`
//! made the files.

use std::path::{Path, PathBuf};

use gigabar_market::load::{LoadOptions, Loaded, load, load_files};
use gigabar_market::time::iso;

pub(super) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/files").join(name)
}

fn good(name: &str) -> Loaded {
    load(&file(name), &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// The message after the folder.
fn refused(name: &str, options: &LoadOptions) -> String {
    let message = load(&file(name), options).unwrap_err().to_string();
    message.replace(&format!("{}/", file("").parent().unwrap().join("files").display()), "")
}

/// The table that every file of bars in the folder holds.
fn assert_same(loaded: &Loaded, name: &str, first: &str) {
    let bars = &loaded.bars;
    assert_eq!(iso(bars.ts()[0]), first, "{name}");
    assert_eq!(bars.open(), [10.0, 11.0, 12.0, 11.5, 12.25], "{name}");
    assert_eq!(bars.high(), [12.0, 13.0, 12.5, 12.5, 13.0], "{name}");
    assert_eq!(bars.low(), [9.0, 10.0, 11.0, 11.0, 12.0], "{name}");
    assert_eq!(bars.close(), [11.0, 12.0, 11.5, 12.25, 12.75], "{name}");
    assert_eq!(bars.volume(), [100.0, 200.0, 0.0, 300.0, 50.0], "{name}");
    assert_eq!(loaded.lines.len(), 5, "{name}");
}

#[test]
fn every_type_of_parquet_gives_the_same_bars() {
    let names = [
        "pandas_index",
        "pandas_unnamed_index",
        "pandas_odd_index",
        "ms",
        "us_naive",
        "ns",
        "int96",
        "text",
        "epoch_s",
        "epoch_u64_ns",
        "decimal",
        "decimal_int32",
        "decimal256",
        "float32",
        "strings",
    ];
    for name in names {
        let name = format!("{name}.parquet");
        assert_same(&good(&name), &name, "2024-01-15T09:30:00Z");
    }
    assert_same(&good("pandas_new_york.parquet"), "instants", "2024-01-15T14:30:00Z");
    let days = good("date32.parquet");
    assert_same(&days, "days", "2024-01-15T00:00:00Z");
    assert_eq!(days.bars.interval_ns(), 86_400_000_000_000);
    assert_eq!(days.lines, [1, 2, 3, 4, 5]);
    assert_eq!(good("pandas_odd_index.parquet").notes, ["when is the only column of time stamps"]);
}

#[test]
fn date_and_time_of_day_in_two_columns_of_parquet() {
    let names =
        ["date32_time64", "date_ns_text", "date_time_text", "date_time_digits", "date_time_whole", "date_time_typed"];
    for name in names {
        let name = format!("{name}.parquet");
        assert_same(&good(&name), &name, "2024-01-15T09:30:00Z");
    }
    let spans = load(&file("date_time_span.parquet"), &LoadOptions::default()).unwrap_err().to_string();
    assert!(spans.contains("row 1, column date: \"2024-01-15 34200000000000\" is not a time stamp"), "{spans}");
    assert_eq!(good("date_ns_text.parquet").notes, ["Time is the time of day beside Date"]);
    let berlin = LoadOptions { tz: Some("Europe/Berlin".into()), ..LoadOptions::default() };
    let loaded = load(&file("date_time_text.parquet"), &berlin).unwrap();
    assert_eq!(iso(loaded.bars.ts()[0]), "2024-01-15T08:30:00Z");
    let named = LoadOptions { columns: Some("date=Date,time=open".into()), ..LoadOptions::default() };
    assert_eq!(
        refused("date_ns_text.parquet", &named),
        "date_ns_text.parquet, column open: is of type double, which holds no times of day"
    );
}

#[test]
fn columns_of_yfinance_in_parquet() {
    let one = good("yfinance_1.parquet");
    assert_same(&one, "yfinance_1", "2024-01-15T09:30:00Z");
    assert_eq!(one.bars.symbol(), Some("AAA"));
    assert_eq!(refused("yfinance_2.parquet", &LoadOptions::default()), "yfinance_2.parquet: holds 2 symbols: AAA, BBB");
    let chosen = LoadOptions { symbol: Some("bbb".into()), ..LoadOptions::default() };
    let two = load(&file("yfinance_2.parquet"), &chosen).unwrap();
    assert_eq!((two.bars.symbol(), two.bars.close()[0]), (Some("BBB"), 22.0));
    assert_eq!(two.notes, [""; 0]);
}

#[test]
fn dates_of_text_in_parquet_show_their_order() {
    let days = good("date_sorted.parquet");
    assert_eq!(
        (iso(days.bars.ts()[0]).as_str(), days.bars.interval_ns()),
        ("2024-03-10T00:00:00Z", 86_400_000_000_000)
    );
    assert_eq!(
        refused("date_conflict.parquet", &LoadOptions::default()),
        "date_conflict.parquet: \"13/04/2024\" on row 1 is day first, \"04/14/2024\" on row 2 month first"
    );
}

#[test]
fn trades_with_a_header_are_no_closes() {
    let error = load(&file("trades.parquet"), &LoadOptions::default()).unwrap_err();
    let message = "prices in price beside size: single trades or quotes, not bars";
    assert!(error.to_string().ends_with(&format!("trades.parquet: {message}")), "{error}");
    assert!(error.hint().unwrap().ends_with("--columns \"time=ts,close=price\""), "{:?}", error.hint());
    let chosen = LoadOptions { columns: Some("time=ts,close=price".into()), ..LoadOptions::default() };
    assert_eq!(load(&file("trades.parquet"), &chosen).unwrap().bars.close()[1], 12.0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticks.csv");
    let of = |header: &str, first: &str, options: &LoadOptions| {
        let rows: String = (10..40).map(|i| format!("{first}:{i},{i},1\n")).collect();
        std::fs::write(&path, format!("{header}\n{rows}")).unwrap();
        load(&path, options).map(|loaded| loaded.bars.len()).map_err(|e| e.to_string())
    };
    let (none, chosen) =
        (LoadOptions::default(), LoadOptions { columns: chosen.columns.map(|c| c.replace("ts", "Time")), ..chosen });
    let refused = of("Time,Price,Qty", "2024-01-15 09:30", &none).unwrap_err();
    assert!(
        refused.ends_with("ticks.csv, line 1: prices in Price beside Qty: single trades or quotes, not bars"),
        "{refused}"
    );
    assert_eq!(of("Time,Price,Qty", "2024-01-15 09:30", &chosen), Ok(30));
    assert_eq!(of("Time,Close,Qty", "2024-01-15 09:30", &none), Ok(30));
    // One row a day is a series of closes, whatever its clock says.
    let rows: String = (10..30).map(|day| format!("2024-01-{day} 16:00:00,{day},{day},{day}\n")).collect();
    std::fs::write(&path, format!("Date,Last,Bid,Ask\n{rows}")).unwrap();
    assert_eq!(load(&path, &none).unwrap().bars.len(), 20);
}

#[test]
fn wall_clock_of_parquet_is_read_in_the_zone() {
    let options = LoadOptions { tz: Some("America/New_York".into()), ..LoadOptions::default() };
    let first = |name: &str| iso(load(&file(name), &options).unwrap().bars.ts()[0]);
    assert_eq!(first("us_naive.parquet"), "2024-01-15T14:30:00Z");
    assert_eq!(first("text.parquet"), "2024-01-15T14:30:00Z");
    assert_eq!(first("ns.parquet"), "2024-01-15T09:30:00Z");
    assert!(good("us_naive.parquet").dialect.ends_with("stamps without zone read as UTC"));
}

#[test]
fn parquet_is_refused_as_text_is() {
    let none = LoadOptions::default();
    assert_eq!(
        refused("no_prices.parquet", &none),
        "no_prices.parquet: has no column for open, high, low, close; its columns are timestamp (int64 timestamp), \
         px (double)"
    );
    assert_eq!(
        refused("fixed.parquet", &none),
        "fixed.parquet, column open: is of type fixed_len_byte_array[8], which holds no numbers"
    );
    assert_eq!(refused("null.parquet", &none), "null.parquet, row 3, column close: value missing (\"null\")");
    assert_eq!(refused("symbols.parquet", &none), "symbols.parquet: holds 2 symbols: AAA, BBB");
    let symbol = LoadOptions { symbol: Some("BBB".into()), ..LoadOptions::default() };
    let one = load(&file("symbols.parquet"), &symbol).unwrap();
    assert_same(&one, "BBB", "2024-01-15T09:30:00Z");
    assert_eq!(one.lines[0], 6);
    let columns = |given: &str| LoadOptions { columns: Some(given.into()), ..LoadOptions::default() };
    let closes = load(&file("no_prices.parquet"), &columns("close=px")).unwrap();
    assert_eq!(closes.bars.open(), closes.bars.close());
    assert_eq!(
        refused("no_prices.parquet", &columns("close=last")),
        "no_prices.parquet: columns \"close=last\": the file has no column \"last\"; its columns are timestamp, px"
    );
    assert_eq!(
        refused("brotli.parquet", &none),
        "brotli.parquet: is Parquet compressed with brotli, which is not read"
    );
    let repair = LoadOptions { repair: true, ..LoadOptions::default() };
    let mended = load(&file("null.parquet"), &repair).unwrap();
    assert_eq!(mended.bars.len(), 4);
    assert_eq!(mended.notes, ["repair: 1 row dropped, a price missing or not above zero (first on row 3)"]);
}

#[test]
fn containers_are_told_by_their_bytes() {
    for name in ["bars.csv.zst", "parquet.zip", "with_report.zip", "two_days.zip"] {
        assert_same(&good(name), name, "2024-01-15T09:30:00Z");
    }
    let folder = tempfile::tempdir().unwrap();
    let misnamed = folder.path().join("bars.txt");
    std::fs::copy(file("bars.csv.zst"), &misnamed).unwrap();
    assert_same(&load(&misnamed, &LoadOptions::default()).unwrap(), "misnamed", "2024-01-15T09:30:00Z");
    assert_eq!(good("two_days.zip").lines, [2, 3, 4, 2, 3]);
    assert_eq!(
        refused("two_symbols.zip", &LoadOptions::default()),
        "two_symbols.zip/aaa.csv and two_symbols.zip/bbb.csv: both have bars at 2024-01-15T09:30:00Z"
    );
    let member = load(&file("two_symbols.zip/bbb.csv"), &LoadOptions::default()).unwrap();
    assert_same(&member, "bbb", "2024-01-15T09:30:00Z");
    assert_eq!(
        refused("two_symbols.zip/ccc.csv", &LoadOptions::default()),
        "two_symbols.zip/ccc.csv: the archive holds no such member, but aaa.csv, bbb.csv"
    );
    assert_eq!(refused("empty.zip", &LoadOptions::default()), "empty.zip: is empty");
}

#[test]
fn archives_that_cannot_be_read_are_not_called_broken() {
    assert_eq!(
        refused("two_alike.zip", &LoadOptions::default()),
        "two_alike.zip: the archive holds two members named bars.csv"
    );
    let bzip2 = load(&file("bzip2.zip"), &LoadOptions::default()).unwrap_err();
    assert!(
        bzip2
            .to_string()
            .ends_with("bzip2.zip/bars.csv: is packed otherwise than by deflate (bzip2, lzma, …), which is not read")
    );
    assert!(bzip2.hint().unwrap().starts_with("unpack it by hand"));
    let codec = load(&file("brotli.parquet"), &LoadOptions::default()).unwrap_err();
    assert!(codec.hint().unwrap().starts_with("write it again with snappy"));
}

#[test]
fn a_volume_of_nulls_alone_is_none() {
    let loaded = good("null_volume.parquet");
    assert_eq!(loaded.notes, ["volume has no value in any row: the bars have no volume"]);
}

#[test]
fn leans_archives_say_their_date_in_their_name() {
    let trades = good("20240115_trade.zip");
    assert_same(&trades, "lean", "2024-01-15T09:30:00Z");
    assert_eq!(
        trades.notes,
        [
            "minute bars of 2024-01-15 in LEAN's layout: the date is that of its name",
            "whole numbers in LEAN's layout: prices are ten-thousandths (--price-divisor 1 takes them as they are)"
        ]
    );
    let plain = LoadOptions { price_divisor: Some(1.0), ..LoadOptions::default() };
    assert_eq!(load(&file("20240115_trade.zip"), &plain).unwrap().bars.open()[0], 100_000.0);
    assert_eq!(
        refused("20240115_quote.zip", &LoadOptions::default()),
        "20240115_quote.zip/20240115_aaa_minute_quote.csv: holds LEAN's minute quotes, not bars"
    );
}

#[test]
fn what_unpacks_to_too_much_or_not_at_all_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refuse = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let message = load(&path, &LoadOptions::default()).unwrap_err().to_string();
        message.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let zeros = vec![b'1'; 80 << 20];
    let bomb = zstd::encode_all(zeros.as_slice(), 1).unwrap();
    assert!(bomb.len() < 100_000);
    assert_eq!(
        refuse("bomb.zst", &bomb),
        "bomb.zst: unpacks to more than 64 MB, which no file of bars of its size does"
    );
    let whole = std::fs::read(file("bars.csv.zst")).unwrap();
    assert!(refuse("cut.zst", &whole[..whole.len() - 9]).starts_with("cut.zst: is broken zstd: "));
    assert!(
        refuse("cut.zip", &std::fs::read(file("two_days.zip")).unwrap()[..200]).starts_with("cut.zip: is broken zip")
    );
    let parquet = std::fs::read(file("ns.parquet")).unwrap();
    assert!(refuse("cut.parquet", &parquet[..500]).starts_with("cut.parquet: is broken Parquet"));
    assert_eq!(
        refused("lies.parquet", &LoadOptions::default()),
        "lies.parquet: is broken Parquet: its metadata and its pages contradict each other"
    );
    let mut nested = b"ts,close\n".to_vec();
    for _ in 0..6 {
        nested = zstd::encode_all(nested.as_slice(), 1).unwrap();
    }
    let want = "nested.zst: is packed more than four times over, which is not read";
    assert_eq!(refuse("nested.zst", &nested), want);
}

mod dbn_records {
    use dbn::HasRType;
    use dbn::encode::{DbnEncodable, EncodeRecord, dbn::Encoder};
    use dbn::{
        MappingInterval, Metadata, OhlcvMsg, RecordHeader, SType, Schema, SymbolMapping, TradeMsg, UNDEF_PRICE, rtype,
    };
    use time::macros::date;

    /// 2024-01-15 09:30 UTC.
    pub(super) const START: u64 = 1_705_311_000_000_000_000;

    pub(super) fn bar(minute: u64, id: u32, open: i64) -> OhlcvMsg {
        let hd = RecordHeader::new::<OhlcvMsg>(rtype::OHLCV_1M, 1, id, START + minute * 60_000_000_000);
        OhlcvMsg { hd, open, high: 12_000_000_000, low: 9_000_000_000, close: 11_000_000_000, volume: 7 }
    }

    pub(super) fn undefined(minute: u64) -> OhlcvMsg {
        bar(minute, 1, UNDEF_PRICE)
    }

    pub(super) fn trade() -> TradeMsg {
        TradeMsg::default()
    }

    pub(super) fn encode<R: DbnEncodable + HasRType>(schema: Schema, records: &[R]) -> Vec<u8>
    where
        Encoder<Vec<u8>>: EncodeRecord,
    {
        let mapping = |symbol: &str, id: &str| SymbolMapping {
            raw_symbol: symbol.into(),
            intervals: vec![MappingInterval {
                start_date: date!(2024 - 01 - 15),
                end_date: date!(2024 - 01 - 16),
                symbol: id.into(),
            }],
        };
        let metadata = Metadata::builder()
            .dataset("XNAS.ITCH".to_owned())
            .schema(Some(schema))
            .start(START)
            .stype_in(Some(SType::RawSymbol))
            .stype_out(SType::InstrumentId)
            .mappings(vec![mapping("AAA", "1"), mapping("BBB", "2")])
            .build();
        let mut encoder = Encoder::new(Vec::new(), &metadata).unwrap();
        records.iter().for_each(|record| encoder.encode_record(record).unwrap());
        encoder.get_ref().clone()
    }
}

#[test]
fn dbn_prices_symbols_and_refusals() {
    use dbn_records::{bar, encode, trade, undefined};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dbn");
    let from = |bytes: Vec<u8>, options: &LoadOptions| {
        std::fs::write(&path, bytes).unwrap();
        load(&path, options).map_err(|e| e.to_string().replace(&format!("{}/", folder.path().display()), ""))
    };
    let bars = dbn::Schema::Ohlcv1M;
    let mixed = || {
        vec![bar(0, 1, 10_000_000_001), bar(0, 2, 10_500_000_000), bar(1, 1, 9_250_000_000), bar(1, 2, 9_000_000_000)]
    };
    let none = LoadOptions::default();
    assert_eq!(from(encode(bars, &mixed()), &none).unwrap_err(), "x.dbn: holds 2 symbols: AAA, BBB");
    let symbol = LoadOptions { symbol: Some("aaa".into()), ..LoadOptions::default() };
    let one = from(encode(bars, &mixed()), &symbol).unwrap();
    assert_eq!(one.bars.open(), [10.000000001, 9.25]);
    assert_eq!((one.bars.volume(), one.lines, one.bars.symbol()), (&[7.0, 7.0][..], vec![1, 3], Some("AAA")));
    // What Databento's own package wrote.
    for (symbol, line) in [("AAA", 1), ("BBB", 2)] {
        let options = LoadOptions { symbol: Some(symbol.into()), ..LoadOptions::default() };
        let made = load(&file("bars.dbn"), &options).unwrap();
        assert_eq!(made.lines[0], line);
        assert_same(&made, symbol, "2024-01-15T09:30:00Z");
    }
    let undefined = vec![bar(0, 1, 10_000_000_000), undefined(1)];
    assert_eq!(
        from(encode(bars, &undefined), &none).unwrap_err(),
        "x.dbn, record 2, column open: value missing (\"undefined\")"
    );
    assert_eq!(
        from(encode(bars, &mixed()[..0]), &none).unwrap_err(),
        "x.dbn: holds 0 usable bars; at least 2 are needed"
    );
    let trades = from(encode(dbn::Schema::Trades, &[trade(), trade()]), &none).unwrap_err();
    assert_eq!(trades, "x.dbn: holds records of schema trades, not bars");
}

#[test]
fn dbn_that_is_cut_or_goes_on_or_is_newer_is_refused() {
    use dbn_records::{bar, encode};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dbn");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let message = load(&path, &LoadOptions::default()).unwrap_err().to_string();
        message.split_once("x.dbn: ").unwrap().1.to_owned()
    };
    let records = [bar(0, 1, 10_000_000_000), bar(1, 1, 10_000_000_000), bar(2, 1, 10_000_000_000)];
    let whole = encode(dbn::Schema::Ohlcv1M, &records);
    assert_eq!(refused(&whole[..whole.len() - 30]), "is broken DBN: ends inside record 3");
    assert_eq!(refused(&whole[..whole.len() - 56 - 55]), "is broken DBN: ends inside record 2");
    assert_eq!(refused(&whole[..60]), "is broken DBN: ends inside its metadata");
    for junk in [&b"junk"[..], &[0; 64], &[14, 200, 0, 0, 0, 0, 0, 0]] {
        let message = refused(&[&whole, junk].concat());
        assert_eq!(message, "is broken DBN: what follows record 3 is no record", "{junk:?}");
    }
    let mut newer = whole;
    newer[3] = 4;
    assert_eq!(refused(&newer), "is DBN of a version above 3, which is not read");
}

#[test]
fn several_files_make_one_series_in_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let day = |d: u32, hours: &str| -> String {
        let rows = hours.split(' ').map(|h| format!("2024-01-{d:02} {h},1,2,1,2,3\n"));
        format!("ts,open,high,low,close,volume\n{}", rows.collect::<String>())
    };
    let first = write("a.csv", &day(1, "00:00 01:00 02:00"));
    let second = write("b.csv", &day(2, "00:00 01:00 02:00"));
    let none = LoadOptions::default();
    let both = load_files(&[&second, &first], &none).unwrap();
    assert_eq!(both.bars.len(), 6);
    assert_eq!(iso(both.bars.ts()[0]), "2024-01-01T00:00:00Z");
    assert_eq!(both.files.iter().map(|f| f.path.clone()).collect::<Vec<_>>(), [second.clone(), first.clone()]);
    assert_ne!(both.files[0].sha256, both.files[1].sha256);
    let message = |paths: &[&PathBuf], options: &LoadOptions| {
        load_files(paths, options).unwrap_err().to_string().replace(&format!("{}/", folder.path().display()), "")
    };
    let again = write("c.csv", &day(1, "02:00 03:00"));
    assert_eq!(message(&[&first, &again], &none), "a.csv and c.csv: both have bars at 2024-01-01T02:00:00Z");
    let minutes = write("d.csv", &day(3, "00:00 00:01 00:02"));
    assert_eq!(message(&[&first, &minutes], &none), "a.csv has interval 1 h, d.csv has 1 min");
    let bad = write("e.csv", &day(3, "00:00 01:00").replace(",2,1,2,3\n2024-01-03 01", ",2,1,-2,3\n2024-01-03 01"));
    assert_eq!(message(&[&first, &bad], &none), "e.csv, line 2, column close: price -2 is not above zero");
    let named = |name: &str| format!("ts,symbol,close\n2024-02-01,{name},1\n2024-02-02,{name},2\n");
    let (x, y) = (write("x.csv", &named("X")), write("y.csv", &named("Y").replace("02-0", "03-0")));
    assert_eq!(message(&[&x, &y], &none), "x.csv has symbol X, y.csv has Y");
    let nameless = write("z.csv", "ts,close\n2024-02-03,1\n2024-02-04,2\n");
    let notes = load_files(&[&x, &nameless], &none).unwrap().notes;
    assert!(notes.contains(&"z.csv names no symbol: the bars are taken to be those of X".to_owned()), "{notes:?}");
    let outside = LoadOptions { from: Some("2025-01-01".into()), ..LoadOptions::default() };
    assert_eq!(
        message(&[&first, &second], &outside),
        "a.csv: 0 of its bars lie within from 2025-01-01; it runs from 2024-01-01T00:00:00Z to 2024-01-02T02:00:00Z"
    );
}
