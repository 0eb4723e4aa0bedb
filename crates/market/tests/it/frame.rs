//! Tables that are not bars, read row by row: the same containers, types and stamps as bars.

use std::path::Path;

use gigabar_market::load::{Frame, LoadError, LoadOptions, Number, Place, load};

use super::load_formats::file;

/// Stamps and the numbers of `column` by name, case and all.
fn read(path: &Path, column: &str, options: &LoadOptions) -> Result<(Vec<i64>, Vec<f64>), LoadError> {
    let frame = Frame::open(path, options)?;
    let column = frame.names().iter().position(|name| name == column).unwrap();
    let (mut stamps, mut ts, mut numbers) = (frame.stamps(), Vec::new(), Vec::new());
    frame.for_each(&[column], &[], |row| {
        ts.push(row.instant(&mut stamps).unwrap());
        numbers.push(match row.number(column) {
            Number::Value(value) => value,
            Number::Missing => f64::NAN,
            Number::Bad => panic!("{}: {}", row.place(), row.text(column)),
        });
        Ok::<_, LoadError>(())
    })?;
    Ok((ts, numbers))
}

/// Whatever holds bars gives the same stamps and closes when it is read as any table.
#[test]
fn files_of_bars_as_tables() {
    for (name, column) in [
        ("ms.parquet", "close"),
        ("pandas_index.parquet", "close"),
        ("pandas_new_york.parquet", "close"),
        ("pandas_unnamed_index.parquet", "close"),
        ("decimal.parquet", "close"),
        ("float32.parquet", "close"),
        ("int96.parquet", "close"),
        ("date32.parquet", "close"),
        ("epoch_s.parquet", "close"),
        ("text.parquet", "close"),
        ("bars.csv.zst", "close"),
        ("parquet.zip", "close"),
    ] {
        let options = LoadOptions::default();
        let bars = load(&file(name), &options).unwrap().bars;
        let (ts, closes) = read(&file(name), column, &options).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((ts.as_slice(), closes.as_slice()), (bars.ts(), bars.close()), "{name}");
    }
}

#[test]
fn a_text_row_by_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, "\n\nDate;Time; Höhe ;x\n01/02/2024;09:30; ½;0,5\n01/02/2024;09:31;a b;\n").unwrap();
    let open = |order: Option<&str>| {
        let date_order = order.map(|order| serde_json::from_str(&format!("\"{order}\"")).unwrap());
        Frame::open(&path, &LoadOptions { date_order, tz: Some("Europe/Berlin".into()), ..LoadOptions::default() })
    };
    assert!(matches!(open(None), Err(LoadError::DateOrder { at: Place::Line(4), .. })));
    let frame = open(Some("dmy")).unwrap();
    assert_eq!(
        (frame.names(), frame.header()),
        (&["Date", "Time", "Höhe", "x"].map(String::from)[..], Some(Place::Line(3)))
    );
    assert!(frame.is_time(0) && frame.is_time(1) && !frame.is_time(2));
    let (mut seen, mut stamps) = (Vec::new(), frame.stamps());
    let all = frame.for_each(&[3], &[2], |row| {
        let ts = gigabar_market::time::iso(row.instant(&mut stamps).unwrap());
        seen.push((row.place(), ts, row.text(2).into_owned(), row.character(2), row.number(3)));
        Ok::<_, LoadError>(())
    });
    all.unwrap();
    let first = (Place::Line(4), "2024-02-01T08:30:00Z".into(), "½".into(), Some(19), Number::Value(0.5));
    let second = (Place::Line(5), "2024-02-01T08:31:00Z".into(), "a b".into(), Some(18), Number::Missing);
    assert_eq!(seen, [first, second]);
    let mut n = 0;
    let stopped = frame.for_each(&[], &[], |_| {
        n += 1;
        Err(LoadError::Empty { path: path.clone() })
    });
    assert!(stopped.is_err() && n == 1, "it stops where the visitor does");
}

#[test]
fn what_is_no_single_table_is_refused() {
    let refused = |name: &str| Frame::open(&file(name), &LoadOptions::default()).err().unwrap();
    let error = refused("two_days.zip");
    assert!(matches!(&error, LoadError::Members { found, .. } if found.len() == 2), "{error}");
    assert_eq!(error.hint().as_deref(), Some("give one of them, as ARCHIVE/MEMBER"));
    assert!(matches!(refused("bars.dbn"), LoadError::Format { .. }));
    assert!(read(&file("brotli.parquet"), "close", &LoadOptions::default()).is_err());
    assert!(matches!(refused("absent.csv"), LoadError::Read { .. }));
    let fixed = read(&file("fixed.parquet"), "close", &LoadOptions::default()).unwrap_err();
    assert!(matches!(fixed, LoadError::ColumnType { .. }), "{fixed}");
    assert!(read(&file("lies.parquet"), "close", &LoadOptions::default()).is_err(), "no panic gets out");
}
