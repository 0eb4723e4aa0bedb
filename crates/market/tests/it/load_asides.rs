//! What is decided on a reader's behalf is said: columns left aside, volumes left out, separators read by their moves.

use std::path::PathBuf;

use gigabar_market::load::{LoadError, LoadOptions, Loaded, load, load_files};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn load(&self, content: impl AsRef<[u8]>) -> Result<Loaded, LoadError> {
        load(&self.file("a.csv", content), &LoadOptions::default())
    }
}

fn with(set: impl FnOnce(&mut LoadOptions)) -> LoadOptions {
    let mut options = LoadOptions::default();
    set(&mut options);
    options
}

#[test]
fn a_file_without_volume_beside_one_with_it_leaves_none() {
    let folder = Folder::new();
    let a = folder.file("a.csv", "ts,open,high,low,close,volume\n2024-01-01,1,1,1,1,5\n2024-01-02,1,1,1,1,0\n");
    let b = folder.file("b.csv", "ts,open,high,low,close\n2024-01-03,1,1,1,1\n2024-01-04,1,1,1,1\n");
    let c = folder.file("c.csv", "ts,open,high,low,close,volume\n2024-01-03,1,1,1,1,0\n2024-01-04,1,1,1,1,7\n");
    let both = load_files(&[&a, &b], &LoadOptions::default()).unwrap();
    assert_eq!((both.bars.volume(), both.bars.has_volume()), ([0.0; 4].as_slice(), false));
    assert_eq!(both.notes, ["b.csv has no volume: that of the other files is left out"]);
    let kept = load_files(&[&a, &c], &LoadOptions::default()).unwrap();
    assert_eq!((kept.bars.volume(), kept.notes.len()), ([5.0, 0.0, 0.0, 7.0].as_slice(), 0));
}

#[test]
fn a_column_that_could_be_a_price_too_is_said_to_be_left_aside() {
    let folder = Folder::new();
    let notes = |header: &str| {
        let row = |day: u32| format!("2024-01-0{day},1,2,1{}\n", ",1".repeat(header.split(',').count() - 4));
        folder.load(format!("{header}\n{}{}", row(2), row(3))).unwrap().notes
    };
    assert_eq!(notes("Date,Open,High,Low,Last,Change,Settle"), ["close is Last; Settle is left aside"]);
    assert_eq!(notes("Date,Open,High,Low,Close,Last"), ["close is Close; Last is left aside"]);
    let twice = notes("Date,Open,High,Low,Close,Close");
    assert_eq!(twice, ["close is Close (column 5); Close (column 6) is left aside"]);
    assert_eq!(notes("Date,Open,High,Low,Close,Average"), [""; 0]);
}

#[test]
fn separators_are_read_as_closes_move() {
    let folder = Folder::new();
    let closes = |rows: &[&str], delimiter: char| {
        let rows: String =
            rows.iter().enumerate().map(|(i, r)| format!("2024-01-{:02}{delimiter}{r}\n", i + 1)).collect();
        let loaded = folder.load(format!("Date{delimiter}Close\n{rows}")).unwrap();
        (loaded.bars.close().to_vec(), loaded.notes.iter().any(|note| note.contains("jump by a thousand otherwise")))
    };
    let crossing = vec![998.0, 999.0, 1000.0, 1001.0];
    assert_eq!(closes(&["998", "999", "1.000", "1.001"], ';'), (crossing.clone(), true));
    assert_eq!(closes(&["998", "999", "1,000", "1,001"], '\t'), (crossing, true));
    assert_eq!(closes(&["1", "1.001", "1.002", "2"], ';'), (vec![1.0, 1.001, 1.002, 2.0], true));
    assert_eq!(closes(&["998.5", "999", "1.000", "1.001"], ';').0[2], 1.0, "a price shows what a point is");
    let volumes = folder.load("Date;Close;Volume\n2024-01-01;12.345;1.000.000\n2024-01-02;12.400;900\n").unwrap();
    assert_eq!(volumes.bars.close(), [12345.0, 12400.0]);
    assert!(
        volumes.notes.iter().any(|note| note.ends_with("as that of thousands: as volumes show")),
        "{:?}",
        volumes.notes
    );
}

#[test]
fn separators_are_read_as_one_symbol_moves() {
    let folder = Folder::new();
    let rows: String = (1..5)
        .map(|i| format!("A,2024-01-0{i},950,952,948,950\nE,2024-01-0{i},1.20{i},1.209,1.199,1.20{i}\n"))
        .collect();
    let path = folder.file("a.csv", format!("Symbol,Date,Open,High,Low,Close\n{rows}"));
    assert_eq!(load(&path, &with(|o| o.symbol = Some("E".into()))).unwrap().bars.open()[0], 1.201);
    // Highs alone cross a thousand.
    let rows = "2024-01-01;980;990;975;985\n2024-01-02;990;1.002;985;990\n2024-01-03;990;1.001;985;995\n";
    assert_eq!(folder.load(format!("Date;Open;High;Low;Close\n{rows}")).unwrap().bars.high()[1], 1002.0);
}

#[test]
fn files_of_other_units_are_told_where_they_meet() {
    let folder = Folder::new();
    let file = |name: &str, day: u32, price: f64| {
        folder.file(name, format!("ts,close\n2024-01-0{day},{price}\n2024-01-0{},{price}\n", day + 1))
    };
    let (a, b, c) = (file("a.csv", 1, 1.195), file("b.csv", 3, 1100.0), file("c.csv", 5, 900.0));
    let notes = load_files(&[&a, &b, &c], &LoadOptions::default()).unwrap().notes;
    let torn: Vec<&String> = notes.iter().filter(|note| note.contains("the price jumps")).collect();
    assert!(
        torn.len() == 1 && torn[0].starts_with("from a.csv to b.csv the price jumps from 1.195 to 1100: "),
        "{notes:?}"
    );
}

#[test]
fn what_is_not_utf_8_is_read_as_excel_writes_it() {
    let folder = Folder::new();
    let text = b"Datum;Er\xf6ffnung;Hoch;Tief;Schluss\n02.01.2024;1,5;2,5;1,5;2,5\n03.01.2024;2,5;3,5;2,5;3,5\n";
    let loaded = folder.load(text).unwrap();
    assert_eq!(loaded.bars.open(), [1.5, 2.5]);
    assert!(loaded.dialect.starts_with("Windows-1252, "), "{}", loaded.dialect);
}

#[test]
fn ticks_written_as_bars_are_told() {
    let folder = Folder::new();
    let row = |i: u32, ms: u32| format!("2024-01-02T09:30:{i:02}.{ms:03},{i},{i},{i},{i},1\n");
    let ticks = |odd: u32| {
        let rows: String = (1..40).map(|i| row(i, i * i * odd % 997)).collect();
        folder.load(format!(
            "ts,open,high,low,close,volume\n{rows}{}",
            if odd == 3 { row(39, 39 * 39 * 3 % 997) } else { String::new() }
        ))
    };
    let note =
        "open, high, low and close are equal in every row, and stamps are irregular: single trades, taken for bars";
    assert_eq!(ticks(7).unwrap().notes, [note]);
    assert_eq!(ticks(0).unwrap().notes, [""; 0], "bars of a second of a quiet market");
    let error = ticks(3).unwrap_err();
    assert!(
        error.to_string().ends_with(
            "a.csv, line 41: has the stamp of line 40, and in each of 40 rows open, high, low and close are equal: single trades, not bars"
        ),
        "{error}"
    );
}

#[test]
fn a_note_of_adjusted_closes_counts_the_rows_of_the_symbol() {
    let folder = Folder::new();
    let path = folder.file(
        "a.csv",
        "date,symbol,open,high,low,close,adj close\n2024-01-01,A,1,1,1,1,1\n2024-01-02,A,1,1,1,1,1\n\
         2024-01-01,B,2,2,2,2,1\n2024-01-02,B,2,2,2,2,2\n",
    );
    let notes = |symbol: &str, adjust| {
        load(&path, &with(|o| (o.symbol, o.adjust) = (Some(symbol.into()), adjust))).unwrap().notes
    };
    assert_eq!(notes("A", false), [""; 0]);
    let counted =
        "adj close differs from close in 1 of 2 rows (splits or dividends); close is used (--adjust scales to it)";
    assert_eq!(notes("B", false), [counted]);
    assert_eq!(notes("A", true), ["adj close equals close throughout: there is nothing to adjust"]);
}

#[test]
fn a_time_the_zone_skips_is_not_taken_for_an_unsorted_file() {
    let folder = Folder::new();
    let rows: String = ["01:30", "02:30", "03:00", "04:00"].map(|t| format!("2024-03-10 {t},1,1,1,1\n")).concat();
    let path = folder.file("a.csv", format!("ts,open,high,low,close\n{rows}"));
    let error = load(&path, &with(|o| o.tz = Some("America/New_York".into()))).unwrap_err();
    assert!(
        error.to_string().contains("line 3 and line 4: 2024-03-10 02:30:00 does not exist in America/New_York"),
        "{error}"
    );
}

#[test]
fn a_high_below_the_low_is_said_to_be() {
    let folder = Folder::new();
    let error = folder.load("ts,open,high,low,close\n2024-01-01,2,2,3,2\n2024-01-02,2,2,2,2\n").unwrap_err();
    assert!(error.to_string().ends_with("line 2, column high: the bar's high 2 lies below its low 3"), "{error}");
}

#[test]
fn a_workbook_is_named() {
    let folder = Folder::new();
    let path = folder.0.path().join("a.xlsx");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for name in ["[Content_Types].xml", "xl/workbook.xml"] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut archive, b"<x/>").unwrap();
    }
    archive.finish().unwrap();
    let error = load(&path, &LoadOptions::default()).unwrap_err();
    assert!(error.to_string().ends_with("a.xlsx: is an Excel workbook, which is not read"), "{error}");
}
