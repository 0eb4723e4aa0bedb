//! Writes bars as files that [`load`](crate::load::load) reads back bit for bit.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::{Compression, GzBuilder};
use parquet::basic::{
    Compression as ParquetCompression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use thiserror::Error;

use crate::Bars;
use crate::time::iso;
use crate::whole::Unfinished;

/// Bars in a row group.
const ROW_GROUP: usize = 1 << 20;
const NUMBERS: [&str; 5] = ["open", "high", "low", "close", "volume"];

/// How bars are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated text with a header: `ts` as ISO 8601 in UTC, `symbol` where there is one, and shortest decimals
    /// that read back as the same numbers.
    Csv,
    /// The same, gzipped.
    CsvGz,
    /// Parquet: `ts` as UTC nanoseconds, doubles, zstd.
    Parquet,
}

/// Why bars were not written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// A name that says no format.
    #[error("{}: its name ends in none of .csv, .csv.gz and .parquet", path.display())]
    Name {
        /// The path.
        path: PathBuf,
    },
    /// A file that is there already.
    #[error("{}: exists already", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// A file that another process is writing.
    #[error("{}: is being written by another process", path.display())]
    Busy {
        /// The path.
        path: PathBuf,
    },
    /// The system's refusal.
    #[error("{}: cannot be written", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl WriteError {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Name { .. } => Some("end the name in one of them".to_owned()),
            Self::Exists { .. } => Some("give another name, or move the file away".to_owned()),
            Self::Busy { .. } => Some("wait for it to end, or give another name".to_owned()),
            Self::Io { .. } => None,
        }
    }
}

impl Format {
    /// The format that a name's end stands for.
    ///
    /// # Errors
    /// [`WriteError::Name`] for any other end.
    pub fn of(path: &Path) -> Result<Self, WriteError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let ends = [(".csv", Self::Csv), (".csv.gz", Self::CsvGz), (".parquet", Self::Parquet)];
        let found = ends.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| format);
        found.ok_or_else(|| WriteError::Name { path: path.to_owned() })
    }
}

/// A file that bars are to be written to, begun before they are there: a place that cannot be written is known early.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    format: Format,
    file: Unfinished,
}

impl Target {
    /// Begins a new file, under a temporary name beside it.
    ///
    /// # Errors
    /// [`WriteError`]: also for a file that exists, which is left as it is.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let format = Format::of(path)?;
        let file = Unfinished::begin_new(path).map_err(|source| refusal(path, source))?;
        Ok(Self { path: path.to_owned(), format, file })
    }

    /// Writes bars in the format of the name, and gives the file its name. A write that fails leaves no file.
    ///
    /// # Errors
    /// [`WriteError`]: also for a file that came to be there meanwhile, which is left as it is.
    pub fn write(self, bars: &Bars) -> Result<(), WriteError> {
        let Self { path, format, mut file } = self;
        let written = match format {
            Format::Csv => csv(&mut file, bars),
            Format::CsvGz => {
                // No name and no time: the same bars make the same bytes.
                let mut gz = GzBuilder::new().write(&mut file, Compression::default());
                csv(&mut gz, bars).and_then(|()| gz.finish().map(|_| ()))
            }
            Format::Parquet => parquet(&mut file, bars).map_err(io::Error::other),
        };
        written.and_then(|()| file.keep()).map_err(|source| refusal(&path, source))
    }
}

/// Writes bars to a new file in the format its name says, as [`Target`] does.
///
/// # Errors
/// [`WriteError`]: also for a file that exists, which is left as it is.
pub fn write(path: &Path, bars: &Bars) -> Result<(), WriteError> {
    Target::create(path)?.write(bars)
}

fn refusal(path: &Path, source: io::Error) -> WriteError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists { path },
        io::ErrorKind::ResourceBusy => WriteError::Busy { path },
        _ => WriteError::Io { path, source },
    }
}

/// Writes bars as comma-separated text.
///
/// # Errors
/// What the writer says.
pub fn csv(to: impl Write, bars: &Bars) -> io::Result<()> {
    let mut out = csv::Writer::from_writer(to);
    let symbol = bars.symbol();
    out.write_record(std::iter::once("ts").chain(symbol.map(|_| "symbol")).chain(NUMBERS)).map_err(cause)?;
    for t in 0..bars.len() {
        let numbers = columns(bars).map(|column| column[t].to_string());
        let text = std::iter::once(iso(bars.ts()[t])).chain(symbol.map(str::to_owned));
        out.write_record(text.chain(numbers)).map_err(cause)?;
    }
    out.flush()
}

/// The system's error itself, so that a reader who leaves early is known as such.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn columns(bars: &Bars) -> [&[f64]; NUMBERS.len()] {
    [bars.open(), bars.high(), bars.low(), bars.close(), bars.volume()]
}

fn parquet(to: impl Write + Send, bars: &Bars) -> Result<(), ParquetError> {
    let properties = WriterProperties::builder().set_compression(ParquetCompression::ZSTD(ZstdLevel::try_new(3)?));
    let schema = Arc::new(schema(bars.symbol().is_some())?);
    let mut writer = SerializedFileWriter::new(to, schema, Arc::new(properties.build()))?;
    for start in (0..bars.len()).step_by(ROW_GROUP) {
        let range = start..bars.len().min(start + ROW_GROUP);
        let mut group = writer.next_row_group()?;
        column::<Int64Type>(&mut group, &bars.ts()[range.clone()])?;
        if let Some(symbol) = bars.symbol() {
            column::<ByteArrayType>(&mut group, &vec![ByteArray::from(symbol); range.len()])?;
        }
        for values in columns(bars) {
            column::<DoubleType>(&mut group, &values[range.clone()])?;
        }
        group.close()?;
    }
    writer.close().map(|_| ())
}

fn column<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".to_owned()));
    };
    writer.typed::<T>().write_batch(values, None, None)?;
    writer.close()
}

fn schema(with_symbol: bool) -> Result<Type, ParquetError> {
    let field = |name: &str, physical, logical| {
        let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        builder.with_logical_type(logical).build().map(Arc::new)
    };
    let mut fields = vec![field("ts", Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS)))?];
    if with_symbol {
        fields.push(field("symbol", Physical::BYTE_ARRAY, Some(LogicalType::String))?);
    }
    for name in NUMBERS {
        fields.push(field(name, Physical::DOUBLE, None)?);
    }
    Type::group_type_builder("bars").with_fields(fields).build()
}
