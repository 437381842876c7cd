use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;

/// A column of a row group, read some rows at a time.
pub(super) struct RowBatch {
    reader: ColumnReader,
    /// For each row 1, or 0 if its value is null.
    levels: std::vec::IntoIter<i16>,
    values: Values,
}

/// The values that are not null.
enum Values {
    Flags(std::vec::IntoIter<bool>),
    Shorts(std::vec::IntoIter<i32>),
    Ints(std::vec::IntoIter<i64>),
    Doubles(std::vec::IntoIter<f64>),
    Bytes(std::vec::IntoIter<ByteArray>),
}

/// A value that is not null.
pub(super) enum Found {
    Flag(bool),
    Int(i64),
    Double(f64),
    Bytes(ByteArray),
}

impl RowBatch {
    pub(super) fn new(reader: ColumnReader) -> Self {
        let (levels, values) = (Vec::new().into_iter(), Values::Flags(Vec::new().into_iter()));
        Self { reader, levels, values }
    }

    /// Reads the next `rows` values.
    pub(super) fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        let (levels, values) = match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => read(reader, rows, Values::Flags),
            ColumnReader::Int32ColumnReader(reader) => read(reader, rows, Values::Shorts),
            ColumnReader::Int64ColumnReader(reader) => read(reader, rows, Values::Ints),
            ColumnReader::DoubleColumnReader(reader) => read(reader, rows, Values::Doubles),
            ColumnReader::ByteArrayColumnReader(reader) => read(reader, rows, Values::Bytes),
            _ => Err(ParquetError::NYI("a column of this type".into())),
        }?;
        (self.levels, self.values) = (levels.into_iter(), values);
        Ok(())
    }

    /// Takes the value of the next row; `None` if it is null.
    pub(super) fn next(&mut self) -> Option<Found> {
        if self.levels.next()? == 0 {
            return None;
        }
        match &mut self.values {
            Values::Flags(flags) => flags.next().map(Found::Flag),
            Values::Shorts(shorts) => shorts.next().map(|short| Found::Int(short.into())),
            Values::Ints(ints) => ints.next().map(Found::Int),
            Values::Doubles(doubles) => doubles.next().map(Found::Double),
            Values::Bytes(bytes) => bytes.next().map(Found::Bytes),
        }
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    wrap: fn(std::vec::IntoIter<T::T>) -> Values,
) -> Result<(Vec<i16>, Values), ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (read, count, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if read != rows {
        return Err(ParquetError::EOF("a column has fewer rows than its row group".into()));
    }
    if levels.is_empty() {
        // No value of the column may be null.
        levels.resize(count, 1);
    }
    Ok((levels, wrap(values.into_iter())))
}
