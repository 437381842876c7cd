use std::io;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::Type;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// The name, unique in the table.
    pub name: String,
    /// The type of the values.
    pub kind: ColumnKind,
}

/// The type of the values of a column. Every value may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Booleans.
    Flag,
    /// Integers of 32 bits.
    Short,
    /// Integers of 64 bits.
    Int,
    /// Floats of 64 bits.
    Double,
    /// Moments in UTC, in nanoseconds.
    Time,
    /// Texts, many of which are equal.
    Text,
    /// JSON as text, most of which differ.
    Json,
    /// Bytes.
    Bytes,
}

impl ColumnKind {
    pub(super) fn physical(self) -> PhysicalType {
        match self {
            Self::Flag => PhysicalType::BOOLEAN,
            Self::Short => PhysicalType::INT32,
            Self::Int | Self::Time => PhysicalType::INT64,
            Self::Double => PhysicalType::DOUBLE,
            Self::Text | Self::Json | Self::Bytes => PhysicalType::BYTE_ARRAY,
        }
    }

    fn logical(self) -> Option<LogicalType> {
        match self {
            Self::Time => Some(LogicalType::timestamp(true, TimeUnit::NANOS)),
            Self::Text | Self::Json => Some(LogicalType::String),
            _ => None,
        }
    }

    /// Returns whether a column of a file has such values.
    pub(super) fn is_of(self, column: &Type) -> bool {
        column.is_primitive()
            && column.get_physical_type() == self.physical()
            && (self != Self::Time
                || column.get_basic_info().logical_type_ref() == self.logical().as_ref())
    }
}

impl TableColumn {
    /// Returns the type in the schema of a file.
    pub(super) fn schema(&self) -> Result<Type, ParquetError> {
        Type::primitive_type_builder(&self.name, self.kind.physical())
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(self.kind.logical())
            .build()
    }
}

/// Returns the error of a file's writer, if it was that.
pub(super) fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    }
}
