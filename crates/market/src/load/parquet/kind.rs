//! What the type of a Parquet column says its values are.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::schema::types::ColumnDescriptor;

/// What a column's values are to a reader of bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Instants (or wall-clock times) in units of this many nanoseconds.
    Stamp { unit_ns: i64, utc: bool },
    /// Days since 1970.
    Date,
    /// A time of day in units of this many nanoseconds.
    TimeOfDay { unit_ns: i64 },
    /// Days and nanoseconds in twelve bytes.
    Int96,
    /// Whole numbers, as plain as they are.
    Integer { signed: bool },
    /// Numbers in units of 10^-scale.
    Decimal { scale: i32 },
    /// Numbers.
    Float,
    /// Numbers of two bytes.
    Half,
    /// Nothing at all: a column whose every value is null, which has no other type.
    Null,
    /// Text.
    Text,
    /// True (1) or false (0).
    Boolean,
    /// Anything else: raw bytes.
    Other,
}

impl Kind {
    pub(crate) fn of(column: &ColumnDescriptor) -> Self {
        let physical = column.physical_type();
        match (physical, column.logical_type_ref()) {
            (Type::INT64, Some(LogicalType::Timestamp(stamp))) => {
                Self::Stamp { unit_ns: unit_ns(&stamp.unit), utc: stamp.is_adjusted_to_u_t_c }
            }
            (Type::INT32 | Type::INT64, Some(LogicalType::Time(time))) => {
                Self::TimeOfDay { unit_ns: unit_ns(&time.unit) }
            }
            (Type::INT32, Some(LogicalType::Date)) => Self::Date,
            (_, Some(LogicalType::Decimal(decimal))) => Self::Decimal { scale: decimal.scale },
            (Type::INT32 | Type::INT64, Some(LogicalType::Integer(int))) => Self::Integer { signed: int.is_signed },
            (Type::BYTE_ARRAY, Some(LogicalType::String | LogicalType::Enum)) => Self::Text,
            (Type::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16)) => Self::Half,
            (_, Some(LogicalType::Unknown)) => Self::Null,
            (_, Some(_)) => Self::Other,
            (_, None) => Self::of_converted(physical, column),
        }
    }

    /// The types of files older than logical types.
    fn of_converted(physical: Type, column: &ColumnDescriptor) -> Self {
        match (physical, column.converted_type()) {
            (Type::INT64, ConvertedType::TIMESTAMP_MILLIS) => Self::Stamp { unit_ns: 1_000_000, utc: true },
            (Type::INT64, ConvertedType::TIMESTAMP_MICROS) => Self::Stamp { unit_ns: 1_000, utc: true },
            (Type::INT32, ConvertedType::DATE) => Self::Date,
            (Type::INT32, ConvertedType::TIME_MILLIS) => Self::TimeOfDay { unit_ns: 1_000_000 },
            (Type::INT64, ConvertedType::TIME_MICROS) => Self::TimeOfDay { unit_ns: 1_000 },
            (_, ConvertedType::DECIMAL) => Self::Decimal { scale: column.type_scale() },
            (Type::INT32 | Type::INT64, converted) => {
                let unsigned = matches!(
                    converted,
                    ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
                );
                Self::Integer { signed: !unsigned }
            }
            (Type::INT96, _) => Self::Int96,
            (Type::FLOAT | Type::DOUBLE, _) => Self::Float,
            (Type::BYTE_ARRAY, _) => Self::Text,
            (Type::BOOLEAN, _) => Self::Boolean,
            _ => Self::Other,
        }
    }

    /// Whether the type itself says that the values are moments.
    pub(crate) fn is_stamp(self) -> bool {
        matches!(self, Self::Stamp { .. } | Self::Date | Self::Int96)
    }

    /// Whether a time stamp can be made of a value.
    pub(crate) fn is_stamp_like(self) -> bool {
        self.is_stamp() || matches!(self, Self::Integer { .. } | Self::Float | Self::Text)
    }

    /// Whether a time of day beside a date can be made of a value.
    pub(crate) fn is_clock_like(self) -> bool {
        matches!(self, Self::TimeOfDay { .. } | Self::Integer { .. } | Self::Text)
    }

    /// Whether a number can be made of a value.
    pub(crate) fn is_number_like(self) -> bool {
        matches!(self, Self::Integer { .. } | Self::Decimal { .. } | Self::Float | Self::Half | Self::Null | Self::Text)
    }

    /// A column's type for people: `double`, `fixed_len_byte_array[8]`, `int64 timestamp`.
    pub(crate) fn describe(column: &ColumnDescriptor) -> String {
        let physical = format!("{:?}", column.physical_type()).to_lowercase();
        let length = match column.physical_type() {
            Type::FIXED_LEN_BYTE_ARRAY => format!("[{}]", column.type_length()),
            _ => String::new(),
        };
        let logical = match column.logical_type_ref() {
            Some(logical) => {
                let name = format!("{logical:?}");
                format!(" {}", name.split(['(', ' ', '{']).next().unwrap_or_default().to_lowercase())
            }
            None if column.max_rep_level() > 0 => " list".to_owned(),
            None => String::new(),
        };
        format!("{physical}{length}{logical}")
    }
}

fn unit_ns(unit: &TimeUnit) -> i64 {
    match unit {
        TimeUnit::MILLIS => 1_000_000,
        TimeUnit::MICROS => 1_000,
        TimeUnit::NANOS => 1,
    }
}
