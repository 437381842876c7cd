use std::mem::{replace, take};

use bytes::Bytes;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;

use super::table_column::ColumnKind;
use super::table_writer::Cell;

/// The values of a column of the row group that is being filled.
#[derive(Debug)]
pub(super) struct ColumnBuffer {
    /// For each row 1, or 0 if its value is null.
    levels: Vec<i16>,
    values: Values,
}

/// The values that are not null.
#[derive(Debug)]
enum Values {
    Flags(Vec<bool>),
    Shorts(Vec<i32>),
    Ints(Vec<i64>),
    Doubles(Vec<f64>),
    /// All bytes together, and where each value ends.
    Bytes(Vec<u8>, Vec<usize>),
}

impl ColumnBuffer {
    pub(super) fn new(kind: ColumnKind) -> Self {
        let values = match kind {
            ColumnKind::Flag => Values::Flags(Vec::new()),
            ColumnKind::Short => Values::Shorts(Vec::new()),
            ColumnKind::Int | ColumnKind::Time => Values::Ints(Vec::new()),
            ColumnKind::Double => Values::Doubles(Vec::new()),
            ColumnKind::Text | ColumnKind::Json | ColumnKind::Bytes => {
                Values::Bytes(Vec::new(), Vec::new())
            }
        };
        Self { levels: Vec::new(), values }
    }

    /// Appends the value of a row. Returns the number of bytes that it takes.
    ///
    /// # Panics
    /// If the value is not of the column's type.
    pub(super) fn push(&mut self, cell: Cell<'_>) -> usize {
        let size = match (&mut self.values, cell) {
            (Values::Flags(flags), Cell::Flag(flag)) => push(flags, flag),
            (Values::Shorts(shorts), Cell::Short(short)) => push(shorts, short),
            (Values::Ints(ints), Cell::Int(int)) => push(ints, int),
            (Values::Doubles(doubles), Cell::Double(double)) => push(doubles, double),
            (Values::Bytes(all, ends), Cell::Bytes(bytes)) => {
                all.extend_from_slice(bytes);
                ends.push(all.len());
                bytes.len() + size_of::<usize>()
            }
            (_, cell) => unreachable!("{cell:?} in a column of another type"),
        };
        self.levels.push(1);
        size
    }

    /// Appends null for each row up to number `rows` that has no value.
    pub(super) fn fill(&mut self, rows: usize) {
        self.levels.resize(rows, 0);
    }

    /// Writes the values, and forgets them.
    pub(super) fn write(
        &mut self,
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let levels = Some(&*self.levels);
        match &mut self.values {
            Values::Flags(flags) => {
                writer.typed::<BoolType>().write_batch(&take(flags), levels, None)?
            }
            Values::Shorts(shorts) => {
                writer.typed::<Int32Type>().write_batch(&take(shorts), levels, None)?
            }
            Values::Ints(ints) => {
                writer.typed::<Int64Type>().write_batch(&take(ints), levels, None)?
            }
            Values::Doubles(doubles) => {
                writer.typed::<DoubleType>().write_batch(&take(doubles), levels, None)?
            }
            Values::Bytes(all, ends) => {
                let all = Bytes::from(take(all));
                let mut start = 0;
                let values: Vec<ByteArray> = ends
                    .drain(..)
                    .map(|end| all.slice(replace(&mut start, end)..end).into())
                    .collect();
                writer.typed::<ByteArrayType>().write_batch(&values, levels, None)?
            }
        };
        self.levels.clear();
        Ok(())
    }
}

fn push<T>(values: &mut Vec<T>, value: T) -> usize {
    values.push(value);
    size_of::<T>()
}
