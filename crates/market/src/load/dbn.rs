//! Reads Databento's DBN, versions 1 to 3, with bars of one schema: prices are whole numbers of 1e-9.

use std::collections::HashMap;

use dbn::decode::DbnMetadata;
use dbn::decode::dbn::Decoder;
use dbn::{OhlcvMsg, RType, RecordHeader, Schema, TsSymbolMap, UNDEF_PRICE};

use super::columns::Roles;
use super::container::Part;
use super::csv::undone;
use super::dialect::Layout;
use super::guard::guarded;
use super::table::{Fault, FaultKind, Origin, Raw, Table};
use super::time::in_bounds;
use super::{LoadError, LoadOptions, Place};

const NAMES: [&str; 7] = ["ts_event", "open", "high", "low", "close", "volume", "symbol"];
/// The newest version read.
const NEWEST: u8 = 3;
/// Bytes before the metadata: `DBN`, the version, the metadata's length.
const PREFIX: usize = 8;
/// Length of a record, in its first byte, in words of so many bytes.
const WORD: usize = 4;
/// Prices to one unit.
const DIVISOR: f64 = 1e9;

/// Reads a part's records.
pub(crate) fn read(part: Part, options: &LoadOptions) -> Result<Table, LoadError> {
    let Part { path, bytes, wrapping, .. } = part;
    let broken = |detail: String| LoadError::Broken { path: path.clone(), format: "DBN", detail };
    if options.columns.is_some() {
        let reason = "the columns of a DBN file are its schema's".to_owned();
        return Err(LoadError::Columns { path, given: options.columns.clone().unwrap_or_default(), reason });
    }
    if bytes.get(3).is_some_and(|&version| version > NEWEST) {
        let remedy = "fetch it as DBN of version 3, as CSV or as Parquet";
        return Err(LoadError::Format { path, kind: "DBN of a version above 3", remedy });
    }
    whole(&bytes).map_err(broken)?;
    // A length that lies makes the decoder panic.
    let decoded = guarded(|| decode(&bytes));
    let read = decoded.ok_or_else(|| broken("its records are not as long as they say".to_owned()))?;
    let read = read.map_err(|error| match error {
        Refusal::Broken(detail) => broken(detail),
        Refusal::Schema(schema) => LoadError::NotBarFile {
            path: path.clone(),
            what: format!("records of schema {schema}"),
            remedy: "fetch one of the schemas ohlcv-1s, ohlcv-1m, ohlcv-1h or ohlcv-1d",
        },
    })?;
    let roles =
        Roles { time: Some(0), price: [1, 2, 3, 4].map(Some), volumes: vec![5], symbol: Some(6), ..Roles::default() };
    let mut notes = Vec::new();
    if read.others > 0 {
        notes.push(format!("{} records are no bars and are left aside", read.others));
    }
    let dialect = format!(
        "{}DBN version {}, dataset {}, schema {}, stamps are UTC instants",
        undone(&wrapping),
        bytes.get(3).copied().unwrap_or_default(),
        read.dataset,
        read.schema
    );
    let origin = Origin { path, place: Place::Record, dialect };
    let layout = Layout::of_columns(NAMES.map(str::to_owned).to_vec(), roles, Vec::new());
    Ok(read.raw.finish(layout, origin, notes))
}

/// Refuses a file that ends inside a record: the decoder takes that for its end.
fn whole(bytes: &[u8]) -> Result<(), String> {
    let length = bytes.get(4..PREFIX).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    let Some(mut rest) = bytes.get(PREFIX.saturating_add(length as usize)..) else {
        return Err("ends inside its metadata".to_owned());
    };
    let mut record = 0_u64;
    while let Some(&words) = rest.first() {
        record += 1;
        let size = usize::from(words) * WORD;
        let known = rest.get(1).is_none_or(|&rtype| RType::try_from(rtype).is_ok());
        if size < size_of::<RecordHeader>() || !known {
            return Err(format!("what follows record {} is no record", record - 1));
        }
        rest = rest.get(size..).ok_or_else(|| format!("ends inside record {record}"))?;
    }
    Ok(())
}

enum Refusal {
    Broken(String),
    Schema(String),
}

impl From<dbn::Error> for Refusal {
    fn from(error: dbn::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

struct Decoded {
    raw: Raw,
    dataset: String,
    schema: String,
    /// Records other than bars.
    others: u64,
}

fn decode(bytes: &[u8]) -> Result<Decoded, Refusal> {
    let mut decoder = Decoder::new(bytes)?;
    let metadata = decoder.metadata();
    let schema = metadata.schema;
    let is_bars =
        |s| matches!(s, Schema::Ohlcv1S | Schema::Ohlcv1M | Schema::Ohlcv1H | Schema::Ohlcv1D | Schema::OhlcvEod);
    if let Some(schema) = schema.filter(|s| !is_bars(*s)) {
        return Err(Refusal::Schema(schema.to_string()));
    }
    // A file without mappings, as of live data, names its instruments by number.
    let symbols = metadata.symbol_map().unwrap_or_else(|_| TsSymbolMap::new());
    let mut read = Decoded {
        raw: Raw { volumes: vec![Vec::new()], ..Raw::default() },
        dataset: metadata.dataset.clone(),
        schema: schema.map_or_else(|| "mixed".to_owned(), |s| s.to_string()),
        others: 0,
    };
    let mut index: HashMap<String, u32> = HashMap::new();
    let mut first_type = None;
    let mut record_number = 0;
    while let Some(record) = decoder.decode_ref()? {
        record_number += 1;
        if !record.has::<OhlcvMsg>() {
            read.others += 1;
            continue;
        }
        let bar = record.try_get::<OhlcvMsg>()?;
        if *first_type.get_or_insert(bar.hd.rtype) != bar.hd.rtype {
            return Err(Refusal::Schema("mixed: bars of several intervals".to_owned()));
        }
        let (ts, id) = (bar.hd.ts_event, bar.hd.instrument_id);
        let name = symbols.get_for_ts(ts, id).cloned().unwrap_or_else(|| id.to_string());
        let next = index.len() as u32;
        let raw = &mut read.raw;
        let symbol = *index.entry(name).or_insert_with_key(|name| {
            raw.symbols.push(name.clone());
            next
        });
        push(raw, record_number, symbol, bar);
    }
    if record_number > 0 && read.raw.rows == 0 {
        return Err(Refusal::Schema(format!("{}, none of them a bar", read.schema)));
    }
    Ok(read)
}

fn push(raw: &mut Raw, line: u64, symbol: u32, bar: &OhlcvMsg) {
    raw.rows += 1;
    let ts = bar.hd.ts_event;
    let Some(stamp) = in_bounds(i128::from(ts)) else {
        raw.faults.push(Fault { line, kind: FaultKind::Time, column: 0, text: ts.to_string(), symbol });
        return;
    };
    raw.columns.ts.push(stamp);
    raw.lines.push(line);
    raw.symbol_of.push(symbol);
    for (i, price) in [bar.open, bar.high, bar.low, bar.close].into_iter().enumerate() {
        let value = if price == UNDEF_PRICE {
            let text = "undefined".to_owned();
            raw.faults.push(Fault { line, kind: FaultKind::Missing, column: i + 1, text, symbol });
            f64::NAN
        } else {
            nearest(price)
        };
        let c = &mut raw.columns;
        [&mut c.open, &mut c.high, &mut c.low, &mut c.close][i].push(value);
    }
    raw.volumes[0].push(bar.volume as f64);
}

/// The f64 nearest to price·1e-9.
fn nearest(price: i64) -> f64 {
    const EXACT: u64 = 1 << 53;
    if price.unsigned_abs() <= EXACT {
        return price as f64 / DIVISOR;
    }
    format!("{price}e-9").parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn prices_are_the_nearest_numbers() {
        assert_eq!(nearest(3_720_250_000_000), 3720.25);
        assert_eq!(nearest(100_000_000_123_456_789), 100_000_000.123_456_79);
        assert_eq!(nearest(10), 1e-8);
    }
}
