//! One Parquet column read whole, and what its values mean.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int96};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::FileReader;

use super::super::csv::shortened;
use super::super::date_order::{OpenDates, Run};
use super::super::number::{self, Comma, Number};
use super::super::time::{self, DateOrder, Moment, in_bounds};
use super::super::{LoadError, LoadOptions, Place};
use super::File;
use super::kind::Kind;
use super::stamp::Stamp;
use crate::time::{DAY_NS, iso};

/// Records decoded at once.
const BATCH: usize = 8192;

/// One value as stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Float(f64),
    /// Nanoseconds since 1970.
    Nanos(i128),
    Bytes(Box<[u8]>),
}

/// A column's values.
pub(crate) struct Column {
    pub(crate) kind: Kind,
    cells: Vec<Cell>,
}

impl Column {
    /// Reads a column of all row groups.
    pub(crate) fn read(file: &File, column: usize, max_rows: usize) -> Result<Self> {
        let kind = Kind::of(&file.metadata().file_metadata().schema_descr().column(column));
        let mut cells = Vec::new();
        for group in 0..file.num_row_groups() {
            let mut stream = Stream::open(file, group, column)?;
            while stream.next(&mut cells)? > 0 {
                if cells.len() > max_rows {
                    return Err(too_many(max_rows));
                }
            }
        }
        Ok(Self { kind, cells })
    }

    /// Of values read already.
    pub(crate) fn of(file: &File, column: usize, cells: Vec<Cell>) -> Self {
        Self { kind: Kind::of(&file.metadata().file_metadata().schema_descr().column(column)), cells }
    }

    /// The first value that is one, for people.
    pub(crate) fn first_text(&self) -> Option<String> {
        (0..self.len()).find(|&row| self.cells[row] != Cell::Null).map(|row| self.text(row))
    }

    /// Without values yet.
    pub(crate) fn empty(kind: Kind) -> Self {
        Self { kind, cells: Vec::new() }
    }

    /// Holds the next values of `stream` instead of its own; how many.
    pub(crate) fn refill(&mut self, stream: &mut Stream) -> Result<usize> {
        self.cells.clear();
        stream.next(&mut self.cells)
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn cell(&self, row: usize) -> &Cell {
        &self.cells[row]
    }

    /// Whether its bytes are a number's.
    pub(crate) fn is_decimal(&self) -> bool {
        matches!(self.kind, Kind::Decimal { .. })
    }

    /// A value for people.
    pub(crate) fn text(&self, row: usize) -> String {
        match &self.cells[row] {
            Cell::Int(_) | Cell::Bytes(_) if self.is_decimal() => match self.number(row, Comma::Thousands) {
                Number::Value(value) => value.to_string(),
                _ => "a decimal too large".to_owned(),
            },
            Cell::Null => "null".to_owned(),
            Cell::Int(value) => value.to_string(),
            Cell::Float(value) => value.to_string(),
            Cell::Nanos(value) => value.to_string(),
            Cell::Bytes(bytes) if matches!(self.kind, Kind::Decimal { .. }) => match self.number(row, Comma::Thousands)
            {
                Number::Value(value) => value.to_string(),
                _ => format!("a decimal of {} bytes", bytes.len()),
            },
            Cell::Bytes(bytes) => shortened(bytes),
        }
    }

    /// A stamp for people: a date where the type says that it is one.
    pub(crate) fn stamp_text(&self, row: usize) -> String {
        match self.kind.is_stamp().then(|| self.moment(row, DateOrder::Dmy)) {
            Some(Ok(Moment::Instant(ns))) => iso(ns),
            Some(Ok(Moment::Civil(at))) => at.to_string(),
            Some(Err(text)) => text,
            _ => self.text(row),
        }
    }

    /// A row's moment, or what stands there instead.
    pub(crate) fn moment(&self, row: usize, order: DateOrder) -> std::result::Result<Moment, String> {
        let moment = match (self.kind, &self.cells[row]) {
            (Kind::Stamp { unit_ns, utc }, Cell::Int(value)) => {
                let ns = i128::from(*value) * i128::from(unit_ns);
                if utc { in_bounds(ns).map(Moment::Instant) } else { civil(ns) }
            }
            (Kind::Date, Cell::Int(days)) => civil(i128::from(*days) * i128::from(DAY_NS)),
            (_, Cell::Nanos(ns)) => in_bounds(*ns).map(Moment::Instant),
            (_, Cell::Int(_) | Cell::Float(_)) => time::parse(self.text(row).as_bytes(), order),
            (_, Cell::Bytes(bytes)) => time::parse(bytes, order),
            (_, Cell::Null) => None,
        };
        moment.ok_or_else(|| self.text(row))
    }

    pub(crate) fn number(&self, row: usize, comma: Comma) -> Number {
        let finite = |value: f64| match value {
            v if v.is_nan() => Number::Missing,
            v if v.is_infinite() => Number::Bad,
            v => Number::Value(v),
        };
        match (self.kind, &self.cells[row]) {
            (_, Cell::Null) => Number::Missing,
            (_, Cell::Float(value)) => finite(*value),
            (Kind::Decimal { scale }, Cell::Int(value)) => decimal(i128::from(*value), scale),
            (Kind::Decimal { scale }, Cell::Bytes(bytes)) => match big_endian(bytes) {
                Some(value) => decimal(value, scale),
                None => nearest(&digits(bytes), scale),
            },
            (Kind::Integer { signed: false }, Cell::Int(value)) => Number::Value(*value as u64 as f64),
            (_, Cell::Int(value)) => Number::Value(*value as f64),
            (_, Cell::Bytes(bytes)) => number::parse(bytes.trim_ascii(), comma),
            (_, Cell::Nanos(_)) => Number::Bad,
        }
    }
}

impl Column {
    /// As [`Self::number`], of text only bare numbers.
    pub(crate) fn bare_number(&self, row: usize) -> Number {
        match (self.kind, &self.cells[row]) {
            (Kind::Decimal { .. }, _) => self.number(row, Comma::Thousands),
            (_, Cell::Bytes(bytes)) => number::bare(bytes.trim_ascii(), false),
            _ => self.number(row, Comma::Thousands),
        }
    }
}

/// How dates like `01/02/2024` in a column of text are read: as the option says, else as they show.
pub(crate) fn date_order(
    path: &Path,
    name: &str,
    stamp: Stamp<'_>,
    options: &LoadOptions,
) -> std::result::Result<DateOrder, LoadError> {
    if let Some(order) = options.date_order {
        return Ok(order);
    }
    let mut dates = OpenDates::default();
    for (row, cell) in stamp.time.cells.iter().enumerate() {
        if let Cell::Bytes(bytes) = cell {
            dates.see(row as u64 + 1, bytes);
        }
    }
    let sorted = |order| {
        let mut run = Run::default();
        (0..stamp.time.len()).all(|row| run.goes_on(stamp.moment(row, order).ok()))
    };
    Ok(dates.decide(path, name, Place::Row, sorted)?.unwrap_or(DateOrder::Dmy))
}

fn civil(ns: i128) -> Option<Moment> {
    let stamp = Timestamp::from_nanosecond(i128::from(in_bounds(ns)?)).ok()?;
    Some(Moment::Civil(TimeZone::UTC.to_datetime(stamp)))
}

/// Nanosecond of the day in the first eight bytes, the Julian day in the last four.
fn nanos(value: &Int96) -> i128 {
    const EPOCH_JULIAN: i128 = 2_440_588;
    let data = value.data();
    let of_day = i128::from((u64::from(data[1]) << 32) | u64::from(data[0]));
    (i128::from(data[2] as i32) - EPOCH_JULIAN) * i128::from(DAY_NS) + of_day
}

/// Two's complement of up to sixteen bytes, or of more that hold no more.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let start = if bytes.first()? & 0x80 == 0 { 0_i128 } else { -1 };
    let (ahead, bytes) = bytes.split_at(bytes.len().saturating_sub(16));
    let sign = start as u8;
    if ahead.iter().any(|&b| b != sign) || (!ahead.is_empty() && (bytes[0] ^ sign) & 0x80 != 0) {
        return None;
    }
    Some(bytes.iter().fold(start, |value, &b| value << 8 | i128::from(b)))
}

/// The f64 nearest to value·10^-scale.
fn decimal(value: i128, scale: i32) -> Number {
    const EXACT: i128 = 1 << 53;
    let exact = match scale {
        // Both exact in f64, so that the quotient is rounded once.
        0..=22 if value.abs() <= EXACT => value as f64 / 10f64.powi(scale),
        _ => return nearest(&value.to_string(), scale),
    };
    Number::Value(exact)
}

/// The f64 nearest to digits·10^-scale.
fn nearest(digits: &str, scale: i32) -> Number {
    match format!("{digits}e{}", -i64::from(scale)).parse::<f64>() {
        Ok(value) if value.is_finite() => Number::Value(value),
        _ => Number::Bad,
    }
}

/// Two's complement of any length as decimal digits.
fn digits(bytes: &[u8]) -> String {
    const BASE: u64 = 1_000_000_000;
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    // Least significant first, each below BASE. Of a negative number −(value + 1), whose bytes are the complements.
    let mut limbs = vec![0_u64];
    for &byte in bytes {
        let mut carry = u64::from(if negative { !byte } else { byte });
        for limb in &mut limbs {
            let value = *limb * 256 + carry;
            (*limb, carry) = (value % BASE, value / BASE);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    if negative {
        limbs.push(0);
        let full = limbs.iter().take_while(|&&limb| limb == BASE - 1).count();
        limbs[..full].fill(0);
        limbs[full] += 1;
    }
    let all: String = limbs.iter().rev().map(|limb| format!("{limb:09}")).collect();
    let sign = if negative { "-" } else { "" };
    match all.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => format!("{sign}{digits}"),
    }
}

/// An IEEE half: a sign, five bits of exponent, ten of fraction, low byte first.
fn half(bytes: &[u8]) -> f64 {
    let &[low, high] = bytes else { return f64::NAN };
    let (exponent, fraction) = (i32::from(high >> 2 & 0x1f), f64::from(u16::from(high & 3) << 8 | u16::from(low)));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    if high & 0x80 == 0 { magnitude } else { -magnitude }
}

/// More rows than a file of its size has.
pub(crate) fn too_many(max_rows: usize) -> ParquetError {
    ParquetError::General(format!("more than {max_rows} rows, more than its size holds"))
}

/// One column of one row group, a batch of values at a time.
pub(crate) struct Stream {
    kind: Kind,
    max_def: i16,
    reader: ColumnReader,
}

impl Stream {
    pub(crate) fn open(file: &File, group: usize, column: usize) -> Result<Self> {
        let descriptor = file.metadata().file_metadata().schema_descr().column(column);
        let reader = file.get_row_group(group)?.get_column_reader(column)?;
        Ok(Self { kind: Kind::of(&descriptor), max_def: descriptor.max_def_level(), reader })
    }

    /// Appends the next values, some thousands at most; how many. None: the group has ended.
    pub(crate) fn next(&mut self, cells: &mut Vec<Cell>) -> Result<usize> {
        let max_def = self.max_def;
        match &mut self.reader {
            ColumnReader::BoolColumnReader(r) => fill(r, max_def, cells, |v| Cell::Int(i64::from(*v))),
            ColumnReader::Int32ColumnReader(r) => match self.kind {
                Kind::Integer { signed: false } => fill(r, max_def, cells, |v| Cell::Int(i64::from(*v as u32))),
                _ => fill(r, max_def, cells, |v| Cell::Int(i64::from(*v))),
            },
            ColumnReader::Int64ColumnReader(r) => fill(r, max_def, cells, |v| Cell::Int(*v)),
            ColumnReader::Int96ColumnReader(r) => fill(r, max_def, cells, |v| Cell::Nanos(nanos(v))),
            ColumnReader::FloatColumnReader(r) => fill(r, max_def, cells, |v| Cell::Float(f64::from(*v))),
            ColumnReader::DoubleColumnReader(r) => fill(r, max_def, cells, |v| Cell::Float(*v)),
            ColumnReader::ByteArrayColumnReader(r) => fill(r, max_def, cells, |v| Cell::Bytes(v.data().into())),
            ColumnReader::FixedLenByteArrayColumnReader(r) => match self.kind {
                Kind::Half => fill(r, max_def, cells, |v| Cell::Float(half(v.data()))),
                _ => fill(r, max_def, cells, |v| Cell::Bytes(v.data().into())),
            },
        }
    }
}

fn fill<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    max_def: i16,
    cells: &mut Vec<Cell>,
    cell: impl Fn(&T::T) -> Cell,
) -> Result<usize> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let before = cells.len();
    reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
    if max_def == 0 {
        cells.extend(values.iter().map(&cell));
    } else {
        let mut present = values.iter();
        let at = |level: &i16| if *level == max_def { present.next() } else { None };
        cells.extend(levels.iter().map(at).map(|value| value.map_or(Cell::Null, &cell)));
    }
    Ok(cells.len() - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_the_nearest_numbers() {
        assert_eq!(decimal(123_456, 4), Number::Value(12.3456));
        assert_eq!(decimal(-1, 8), Number::Value(-1e-8));
        assert_eq!(decimal(3, -2), Number::Value(300.0));
        assert_eq!(decimal(123_456_789_012_345_678_901_234_567, 18), Number::Value(123_456_789.012_345_67));
        assert_eq!(big_endian(&[0xff, 0xfe]), Some(-2));
        assert_eq!(big_endian(&[0x01, 0x00]), Some(256));
        assert_eq!(big_endian(&[]), None);
        let wide = |value: i128, high: u8| [[high; 16].as_slice(), &value.to_be_bytes()].concat();
        assert_eq!(big_endian(&wide(1_050_000, 0)), Some(1_050_000));
        assert_eq!(big_endian(&wide(-5, 0xff)), Some(-5));
        assert_eq!(big_endian(&wide(-5, 0)), None, "no more than 2^128");
    }

    #[test]
    fn decimals_wider_than_sixteen_bytes() {
        let wide = |value: i128| {
            let mut bytes = vec![if value < 0 { 0xff } else { 0 }; 16];
            bytes.extend(value.to_be_bytes());
            bytes
        };
        for value in [0, 1, -1, 5, -256, 999_999_999, -1_000_000_000, 1_000_000_000_000_000_001, i128::MAX, i128::MIN] {
            assert_eq!(digits(&wide(value)), value.to_string());
        }
        // 2^248.
        let mut bytes = vec![0; 32];
        bytes[0] = 1;
        assert_eq!(nearest(&digits(&bytes), 0), Number::Value(2f64.powi(248)));
        assert_eq!(nearest("1", -400), Number::Bad);
    }

    #[test]
    fn halves_are_numbers() {
        let of = |bits: u16| half(&bits.to_le_bytes());
        for (bits, want) in [
            (0x3c00, 1.0),
            (0xb800, -0.5),
            (0, 0.0),
            (0x7bff, 65504.0),
            (1, 2f64.powi(-24)),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(of(bits), want, "{bits:04x}");
        }
        assert!(of(0x7e00).is_nan());
    }

    #[test]
    fn twelve_bytes_are_a_day_and_a_nanosecond() {
        let mut value = Int96::new();
        value.set_data(1, 0, 2_440_589);
        assert_eq!(nanos(&value), 86_400_000_000_001);
    }
}
