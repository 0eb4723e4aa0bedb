//! Where in a file something is.

use std::fmt;

/// A position in a file as its format counts, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of (unpacked) text.
    Line(u64),
    /// A row of a Parquet file.
    Row(u64),
    /// A record of a DBN file.
    Record(u64),
}

impl Place {
    /// What is counted.
    pub fn counted(self) -> &'static str {
        match self {
            Self::Line(_) => "line",
            Self::Row(_) => "row",
            Self::Record(_) => "record",
        }
    }

    /// The number alone.
    pub fn number(self) -> u64 {
        match self {
            Self::Line(n) | Self::Row(n) | Self::Record(n) => n,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.counted(), self.number())
    }
}
