use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;

/// A column of a row group, read some rows at a time.
pub(super) struct RowBatch {
    reader: ColumnReader,
    /// For each row 1, or 0 if its value is null.
    levels: std::vec::IntoIter<i16>,
    /// The values that are not null.
    values: std::vec::IntoIter<Found>,
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
        Self { reader, levels: Vec::new().into_iter(), values: Vec::new().into_iter() }
    }

    /// Reads the next `rows` values.
    pub(super) fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        let (levels, values) = match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => read(reader, rows, Found::Flag),
            ColumnReader::Int32ColumnReader(reader) => {
                read(reader, rows, |short| Found::Int(short.into()))
            }
            ColumnReader::Int64ColumnReader(reader) => read(reader, rows, Found::Int),
            ColumnReader::DoubleColumnReader(reader) => read(reader, rows, Found::Double),
            ColumnReader::ByteArrayColumnReader(reader) => read(reader, rows, Found::Bytes),
            _ => Err(ParquetError::NYI("a column of this type".into())),
        }?;
        (self.levels, self.values) = (levels.into_iter(), values.into_iter());
        Ok(())
    }

    /// Takes the value of the next row; `None` if it is null.
    pub(super) fn next(&mut self) -> Option<Found> {
        if self.levels.next()? == 0 {
            return None;
        }
        self.values.next()
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    wrap: fn(T::T) -> Found,
) -> Result<(Vec<i16>, Vec<Found>), ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (read, count, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if read != rows {
        return Err(ParquetError::EOF("a column has fewer rows than its row group".into()));
    }
    if levels.is_empty() {
        // No value of the column may be null.
        levels.resize(count, 1);
    }
    Ok((levels, values.into_iter().map(wrap).collect()))
}
