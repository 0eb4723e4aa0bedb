//! Texts that once loaded as something they are not: refused with the reason, or read right with a note.

use gigabar_market::load::{LoadOptions, Loaded};

use super::load_texts::load_with;

fn good(text: impl AsRef<[u8]>) -> Loaded {
    load_with(text, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// The message after the path, and the hint.
fn refused_with(text: impl AsRef<[u8]>, options: &LoadOptions) -> (String, String) {
    let error = match load_with(text, options) {
        Ok(loaded) => panic!("{:?} {:?}", loaded.bars, loaded.notes),
        Err(error) => error,
    };
    let message = error.to_string();
    let after = message.split_once("bars.csv").map_or(message.as_str(), |(_, after)| after).to_owned();
    (after, error.hint().unwrap_or_default())
}

fn refused(text: impl AsRef<[u8]>) -> String {
    refused_with(text, &LoadOptions::default()).0
}

fn repair() -> LoadOptions {
    LoadOptions { repair: true, ..LoadOptions::default() }
}

#[test]
fn a_stray_quote_swallows_no_rows() {
    let rows = |third: &str| {
        format!(
            "time,open,high,low,close,volume,note\n2024-01-01,1,2,0.5,1.5,10,x\n{third}\n2024-01-03,1,2,0.5,1.5,10,y\n\
             2024-01-04,1,2,0.5,1.5,10,\"z\"\n"
        )
    };
    let open = ", line 3: a quote is opened here and never closed";
    for third in
        ["2024-01-02,1,2,0.5,1.5,10,\"5 inch", "2024-01-02,1,2,\"0.5,1.5,10,x", "\"2024-01-02,1,2,0.5,1.5,10,x"]
    {
        // The quote of the last row closes what the third opens, and its own is one too many.
        let text = rows(third).replace("\"z\"", "z");
        assert_eq!(refused(&text), open, "{third}");
        assert_eq!(refused_with(&text, &repair()).0, open, "{third}, with repair");
    }
    let closed = ", line 3: a quoted field that begins here runs on to line 5";
    assert_eq!(refused(rows("2024-01-02,1,2,0.5,1.5,10,\"5 inch")), closed);
    assert!(
        refused_with(rows("2024-01-02,1,2,0.5,1.5,10,\"5 inch"), &repair()).1.contains("rows behind a stray quote")
    );
    assert_eq!(
        refused("\"time,close\n2024-01-01,1\n2024-01-02,2\n"),
        ", line 1: a quote is opened here and never closed"
    );
    assert_eq!(
        refused("time,close\n\"2024-01-01,1\n2024-01-02,2\n"),
        ", line 2: a quote is opened here and never closed"
    );
    let fine = good("time,close,note\n2024-01-01,1,\"a, b\"\n2024-01-02,2,5\" pipe\n2024-01-03,3,\"say \"\"x\"\"\"\n");
    assert_eq!(fine.bars.len(), 3);
}

#[test]
fn a_volume_that_is_no_number_is_not_none() {
    let text = |volume: [&str; 2]| {
        format!(
            "date,open,high,low,close,volume\n2024-01-01,10,12,9,11,{}\n2024-01-02,10,12,9,11,{}\n",
            volume[0], volume[1]
        )
    };
    for word in ["abc", "inf", "1e999", "1.2.3", "82.488.70"] {
        let (message, hint) = refused_with(text([word, word]), &LoadOptions::default());
        assert_eq!(message, format!(", line 2, column volume: \"{word}\" is not a number"));
        assert!(hint.contains("--repair"));
    }
    for word in ["", "null", "NaN", "-", "N/A"] {
        let loaded = good(text([word, word]));
        assert!(!loaded.bars.has_volume());
        assert_eq!(loaded.notes, ["volume has no value in any row: the bars have no volume"], "{word}");
    }
    assert_eq!(refused(text(["5", "abc"])), ", line 3, column volume: \"abc\" is not a number");
    // Interactive Brokers, of currencies and indices.
    let none = good(text(["-1", "-1"]));
    assert_eq!(none.notes, ["volume is -1 throughout: the bars have no volume"]);
    assert_eq!(none.bars.volume(), [0.0, 0.0]);
    assert_eq!(refused(text(["5", "-1"])), ", line 3, column volume: -1 is negative");
    let two = "date,close,volume,tick volume\n2024-01-01,10,abc,1\n2024-01-02,10,abc,2\n";
    assert_eq!(good(two).notes[1], "volume holds no numbers above zero; volume is tick volume");
}

#[test]
fn a_symbol_written_so_goes_before_one_in_another_case() {
    let text = "symbol,date,close\nA,2024-01-01,1\nA,2024-01-02,2\na,2024-01-01,5\na,2024-01-02,6\nb,2024-01-02,9\n\
                b,2024-01-03,9\n";
    let symbol = |name: &str| LoadOptions { symbol: Some(name.to_owned()), ..LoadOptions::default() };
    let close = |name: &str| load_with(text, &symbol(name)).unwrap().bars.close()[0];
    assert_eq!((close("A"), close("a"), close("B")), (1.0, 5.0, 9.0));
    let twice = text.replace("a,", "AB,").replace("A,", "Ab,").replace("AbB", "AB");
    assert_eq!(refused_with(twice, &symbol("ab")).0, ": no rows of symbol \"ab\"; the file holds Ab, AB, b");
    let report = |name: &str| {
        let (_folder, path) = super::load_texts::file(text.as_bytes());
        gigabar_market::check::check(&path, &symbol(name)).unwrap().remove(0)
    };
    assert_eq!((report("a").rows, report("a").loads), (2, true));
    assert_eq!(report("a").duplicates.count, 0);
}

fn opens(text: impl AsRef<[u8]>) -> (f64, f64, Vec<String>) {
    let loaded = good(text);
    (loaded.bars.open()[0], loaded.bars.volume()[0], loaded.notes)
}

#[test]
fn one_number_that_shows_the_separators_rules_the_file() {
    let text = |price: [&str; 2], volume: [&str; 2]| {
        let row = |i: usize| format!("2024-01-0{};{p};{p};{p};{p};{v}\n", i + 2, p = price[i], v = volume[i]);
        format!("Date;Open;High;Low;Close;Volume\n{}{}", row(0), row(1))
    };
    let none: Vec<String> = Vec::new();
    // A volume, however far down.
    let (open, volume, notes) = opens(text(["16.769", "16.963"], ["82", "82.488.700"]));
    assert_eq!((open, volume), (16_769.0, 82.0));
    assert_eq!(
        notes,
        ["every point in prices stands before three digits (16.769) and is read as that of thousands: as volumes show"]
    );
    let (open, volume, notes) = opens(text(["1,234", "1,235"], ["7", "12,345,678"]));
    assert_eq!((open, volume, notes.len()), (1234.0, 7.0, 1));
    // A price goes before a volume.
    assert_eq!(opens(text(["16.769", "16.9"], ["1.5", "2"])), (16.769, 1.5, none.clone()));
    let mixed = refused(text(["16.769", "16.9"], ["82.488.700", "2"]));
    assert_eq!(mixed, ", line 2, column Volume: \"82.488.700\" is not a number");
    assert_eq!(opens(text(["1,234", "1,2"], ["7", "8"])), (1.234, 7.0, none.clone()));
    // Nothing shows it: as most files mean it, with a note.
    let (open, _, notes) = opens(text(["1,234", "1,235"], ["7", "8"]));
    assert_eq!((open, notes.len()), (1.234, 1));
    assert!(
        notes[0].starts_with("every comma in prices stands before three digits (1,234) and is read as that of dec")
    );
    let (open, _, notes) = opens(text(["16.769", "16.963"], ["7", "8"]));
    assert_eq!((open, notes.len()), (16.769, 1));
    assert!(notes[0].ends_with("(if it is not, pass --price-divisor 0.001)"), "{notes:?}");
    // Three decimals are nothing to speak of where fields are parted otherwise.
    let yen = text(["145.123", "145.124"], ["7", "8"]).replace(';', ",");
    assert_eq!(opens(yen), (145.123, 7.0, none.clone()));
    let quoted = "Date,Close\n2024-01-02,\"1,234\"\n2024-01-03,\"1,235\"\n";
    assert!(good(quoted).notes[1].contains("is read as that of thousands"));
    // Decimal commas in quotes, as investing.com's German site writes them.
    let german = "Date,Close\n2024-01-02,\"184,40\"\n2024-01-03,\"188,04\"\n";
    assert_eq!(good(german).bars.close(), [184.4, 188.04]);
}

fn stamps(loaded: &Loaded) -> Vec<String> {
    loaded.bars.ts().iter().map(|&ts| gigabar_market::time::iso(ts)).collect()
}

#[test]
fn a_time_of_day_is_found_whatever_it_is_called() {
    let text = |name: &str, clock: [&str; 2]| {
        format!(
            "Date,{name},Open,High,Low,Close\n2024-01-02,{},1,2,.5,1.5\n2024-01-02,{},1,2,.5,1.5\n",
            clock[0], clock[1]
        )
    };
    let names = [
        ("Time (ET)", ["09:30", "10:30"]),
        ("Hour", ["9", "10"]),
        ("TIME_M", ["9:00:00", "10:00:00.0"]),
        ("Bar", ["09:00", "10:00"]),
    ];
    for (name, clock) in names {
        let loaded = good(text(name, clock));
        assert_eq!(loaded.notes, [format!("{name} is the time of day beside Date")]);
        assert_eq!(loaded.bars.interval_ns(), 3_600_000_000_000, "{name}");
    }
    assert_eq!(stamps(&good(text("Hour", ["9", "10"])))[0], "2024-01-02T09:00:00Z");
    // The time of the high is not the bar's.
    let days = text("High Time", ["09:30", "10:30"]).replacen("2024-01-02", "2024-01-01", 1);
    assert_eq!(stamps(&good(days))[1], "2024-01-02T00:00:00Z");
}

#[test]
fn many_rows_of_one_stamp_are_not_offered_repair() {
    let rows =
        |f: fn(u32) -> String| (0..12).map(|i| format!("2024-01-0{},{},1\n", 2 + i / 6, f(i))).collect::<String>();
    let (message, hint) =
        refused_with(format!("Date,Slot,Close\n{}", rows(|i| format!("s{i}"))), &LoadOptions::default());
    assert_eq!(message, ", line 3: time stamp 2024-01-02T00:00:00Z is already on line 2");
    assert!(hint.starts_with("such rows differ in column Slot, which is not used"), "{hint}");
    let (_, hint) = refused_with(format!("Date,Slot,Close\n{}", rows(|_| "x".into())), &LoadOptions::default());
    assert!(hint.starts_with("10 rows repeat a stamp, too many for a slip"), "{hint}");
    let (_, hint) = refused_with("Date,Close\n2024-01-02,1\n2024-01-02,1\n2024-01-03,1\n", &LoadOptions::default());
    assert!(hint.contains("--repair"), "{hint}");
}

#[test]
fn an_hour_that_clocks_skip_is_not_the_next_ones_repeat() {
    let text = "time,close\n2024-03-10 01:00,1\n2024-03-10 02:00,2\n2024-03-10 03:00,3\n2024-03-10 04:00,4\n";
    let zone = LoadOptions { tz: Some("America/New_York".into()), ..LoadOptions::default() };
    let want = ", line 3 and line 4: 2024-03-10 02:00:00 does not exist in America/New_York, whose clocks went forward over it";
    let (message, hint) = refused_with(text, &zone);
    assert_eq!(message, want);
    assert!(hint.starts_with("the stamps are hardly those of America/New_York: leave --tz out"), "{hint}");
    assert_eq!(refused_with(text, &LoadOptions { repair: true, ..zone.clone() }).0, want);
    let alone = load_with(text.replace("2024-03-10 03:00,3\n", ""), &zone).unwrap();
    assert_eq!(stamps(&alone)[1], "2024-03-10T07:00:00Z");
    assert!(alone.notes[1].starts_with("1 of 3 stamps do not exist in America/New_York"), "{:?}", alone.notes);
}

#[test]
fn utf_16_without_its_mark_is_named() {
    let units = "date,close\n2024-01-01,1\n".encode_utf16();
    let little: Vec<u8> = units.clone().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units.flat_map(u16::to_be_bytes).collect();
    for bytes in [little, big] {
        assert_eq!(refused(bytes), ", line 1: is not text (UTF-16 without its mark: save it as UTF-8)");
    }
}

#[test]
#[cfg(unix)]
fn a_device_without_end_is_refused_at_once() {
    let error = gigabar_market::load::load(std::path::Path::new("/dev/zero"), &LoadOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "/dev/zero, line 1: is not text (a zero byte)");
}

#[test]
fn databentos_raw_prices_are_billionths() {
    let text = "rtype,publisher_id,instrument_id,ts_event,open,high,low,close,volume,symbol\n\
                33,1,5,1609160400000000000,372025000000000,372050000000000,372025000000000,372050000000000,57,ESH1\n\
                33,1,5,1609160460000000000,372050000000000,372150000000000,372050000000000,372150000000000,145,ESH1\n";
    let loaded = good(text);
    assert_eq!((loaded.bars.open(), loaded.bars.close()), (&[372_025.0, 372_050.0][..], &[372_050.0, 372_150.0][..]));
    assert!(loaded.notes[0].starts_with("whole numbers in Databento's layout"));
    let plain = LoadOptions { price_divisor: Some(1.0), ..LoadOptions::default() };
    assert_eq!(load_with(text, &plain).unwrap().bars.open()[0], 372_025_000_000_000.0);
    let undefined = text.replacen("372050000000000,372025", "9223372036854775807,372025", 1);
    assert_eq!(refused(undefined), ", line 2, column high: value missing (\"undefined\")");
    let pretty = text.replace("000000000,", ".000000001,").replace("1609160400.000000001", "1609160400000000000");
    let pretty = pretty.replace("1609160460.000000001", "1609160460000000000");
    assert_eq!(good(pretty).bars.open()[0], 372_025.000_000_001);
}

#[test]
fn headers_of_other_languages_and_sites() {
    for (header, rows) in [
        ("Datum;Eröffnung;Hoch;Tief;Schluss;Volumen", "13.01.2024;10;12;9;11;5\n14.01.2024;10;12;9;11;5\n"),
        ("Fecha;Apertura;Máximo;Mínimo;Último;Volumen", "13/01/2024;10;12;9;11;5\n14/01/2024;10;12;9;11;5\n"),
        ("Data,Otwarcie,Najwyzszy,Najnizszy,Zamkniecie,Wolumen", "2024-01-13,10,12,9,11,5\n2024-01-14,10,12,9,11,5\n"),
        (
            "Date,Open,High,Low,Close*,Adj Close**,Volume",
            "\"Jan 13, 2024\",10,12,9,11,11,5\n\"Jan 14, 2024\",10,12,9,11,11,5\n",
        ),
    ] {
        let loaded = good(format!("{header}\n   \n{rows}"));
        let bars = &loaded.bars;
        let first = (bars.open()[0], bars.high()[0], bars.low()[0], bars.close()[0], bars.volume()[0]);
        assert_eq!(first, (10.0, 12.0, 9.0, 11.0, 5.0), "{header}");
        assert_eq!(stamps(&loaded)[0], "2024-01-13T00:00:00Z", "{header}");
    }
    let metastock = good(
        "<TICKER>,<DTYYYYMMDD>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>\nX,20240102,093000,10,12,9,11,5\nX,20240102,093100,10,12,9,11,5\n",
    );
    assert_eq!(stamps(&metastock)[1], "2024-01-02T09:31:00Z");
}

#[test]
fn a_symbol_for_a_file_without_any_is_noted() {
    let named = LoadOptions { symbol: Some("X".into()), ..LoadOptions::default() };
    let loaded = load_with("date,close\n2024-01-01,1\n2024-01-02,2\n", &named).unwrap();
    assert_eq!(loaded.notes[1], "the file names no symbol: its bars are taken to be those of X");
}

#[test]
fn yfinance_writes_three_lines_of_names() {
    let one = "Price,Close,High,Low,Open,Volume\nTicker,AAPL,AAPL,AAPL,AAPL,AAPL\nDate,,,,,\n\
               2024-01-02,183.9,186.4,181.9,185.2,8248\n2024-01-03,182.5,184.1,181.7,182.6,5841\n";
    let loaded = good(one);
    assert_eq!((loaded.bars.open(), loaded.bars.close()), (&[185.2, 182.6][..], &[183.9, 182.5][..]));
    assert_eq!(loaded.bars.volume(), [8248.0, 5841.0]);
    // By ticker, two of them.
    let two = "Ticker,AAPL,AAPL,AAPL,AAPL,MSFT,MSFT,MSFT,MSFT\nPrice,Open,High,Low,Close,Open,High,Low,Close\n\
               Datetime,,,,,,,,\n2024-01-02 09:30:00-05:00,1,2,0.5,1.5,11,12,10,11.5\n\
               2024-01-02 09:31:00-05:00,1,2,0.5,1.25,11,12,10,11.25\n";
    let of = |symbol: &str| LoadOptions { symbol: Some(symbol.into()), ..LoadOptions::default() };
    assert_eq!(load_with(two, &of("MSFT")).unwrap().bars.close(), [11.5, 11.25]);
    assert_eq!(load_with(two, &of("aapl")).unwrap().bars.close(), [1.5, 1.25]);
    let (message, hint) = refused_with(two, &LoadOptions::default());
    assert!(hint.contains("AAPL") || message.contains("AAPL, MSFT"), "{message} {hint}");
    assert!(refused_with(one, &of("MSFT")).0.contains("MSFT"));
}

#[test]
fn the_side_that_is_taken_is_told() {
    let text = "ts,BidOpen,BidHigh,BidLow,BidClose,AskOpen,AskHigh,AskLow,AskClose\n\
                2024-01-02 09:30,1,2,0.5,1.5,1.1,2.1,0.6,1.6\n2024-01-02 09:31,1,2,0.5,1.5,1.1,2.1,0.6,1.6\n";
    let loaded = good(text);
    assert_eq!(loaded.bars.close(), [1.5, 1.5]);
    let want = "prices are those of the bid (BidClose); those of the ask are left aside";
    assert!(loaded.notes.iter().any(|note| note == want), "{:?}", loaded.notes);
}

#[test]
fn a_column_of_time_zones_is_told() {
    let text = "ts,timezone,open,high,low,close\n2024-01-02 09:30,America/New_York,1,2,0.5,1.5\n\
                2024-01-02 09:31,America/New_York,1,2,0.5,1.5\n";
    assert!(good(text).notes.iter().any(|note| note.starts_with("timezone says America/New_York and is not read")));
}
