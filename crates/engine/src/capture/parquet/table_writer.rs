use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use super::column_buffer::ColumnBuffer;
use super::footer_writer::FooterWriter;
use super::table_column::{ColumnKind, TableColumn, io_error};

/// Writes a table as a Parquet file, compressed with zstd.
///
/// Rows are held in memory until there are enough for a row group: 122,880, or 32 MiB. A file can be read
/// only after [`finish`](Self::finish).
pub struct TableWriter {
    file: SerializedFileWriter<FooterWriter>,
    columns: Vec<ColumnBuffer>,
    /// Number of complete rows in the buffers.
    rows: usize,
    /// Bytes of the values in the buffers.
    bytes: usize,
}

/// A value of a row that is not null.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// A boolean.
    Flag(bool),
    /// An integer of 32 bits.
    Short(i32),
    /// An integer, or nanoseconds since the Unix epoch.
    Int(i64),
    /// A float.
    Double(f64),
    /// Bytes, or text in UTF-8.
    Bytes(&'a [u8]),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Bytes(text.as_bytes())
    }
}

impl TableWriter {
    /// Creates a table with `columns` that describes itself with the keys and values of `metadata`.
    ///
    /// # Errors
    /// [`io::Error`] if the header cannot be written, or two columns have the same name.
    pub fn new(
        writer: Box<dyn Write + Send>,
        columns: &[TableColumn],
        metadata: &[(&str, String)],
    ) -> io::Result<Self> {
        let file = Self::begin(writer, columns, metadata).map_err(io_error)?;
        let columns = columns.iter().map(|column| ColumnBuffer::new(column.kind)).collect();
        Ok(Self { file, columns, rows: 0, bytes: 0 })
    }

    fn begin(
        writer: Box<dyn Write + Send>,
        columns: &[TableColumn],
        metadata: &[(&str, String)],
    ) -> Result<SerializedFileWriter<FooterWriter>, ParquetError> {
        let fields = columns.iter().map(|column| column.schema().map(Arc::new));
        let fields = fields.collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
        let pairs = metadata.iter().map(|(key, value)| KeyValue::new((*key).into(), value.clone()));
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("mitmcraft ", env!("CARGO_PKG_VERSION")).into())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
            .set_key_value_metadata(Some(pairs.collect()));
        for column in columns {
            let path = ColumnPath::from(column.name.as_str());
            properties = match column.kind {
                // Most row groups have a `b` and a `z`, between which everything else is.
                ColumnKind::Text => properties
                    .set_column_bloom_filter_enabled(path.clone(), true)
                    .set_column_bloom_filter_max_ndv(path, MAX_DISTINCT),
                ColumnKind::Json | ColumnKind::Bytes => properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_statistics_enabled(path, EnabledStatistics::None),
                ColumnKind::Time => properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                ColumnKind::Int => properties
                    .set_column_dictionary_page_size_limit(path.clone(), SMALL_DICTIONARY)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                ColumnKind::Flag | ColumnKind::Short | ColumnKind::Double => properties,
            };
        }
        let writer = FooterWriter::new(writer, columns.len());
        SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties.build()))
    }

    /// Sets the value of a column, by its place, in the current row. Columns without a value are null.
    ///
    /// # Panics
    /// If the value is not of the column's type.
    pub fn put(&mut self, column: usize, cell: Cell<'_>) {
        self.bytes += self.columns[column].push(cell);
    }

    /// Completes the row, and writes a row group if there are enough rows.
    ///
    /// # Errors
    /// [`io::Error`] if the file cannot be written.
    pub fn end_row(&mut self) -> io::Result<()> {
        self.rows += 1;
        for column in &mut self.columns {
            column.fill(self.rows);
        }
        if self.rows < MAX_ROWS && self.bytes < MAX_BYTES {
            return Ok(());
        }
        self.write_group().map_err(io_error)
    }

    /// Writes the remaining rows and the footer. No row may follow.
    ///
    /// # Errors
    /// [`io::Error`] if the file cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group().map_err(io_error)?;
        }
        self.file.finish().map_err(io_error)?;
        self.file.inner_mut().finish()
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            column.write(&mut writer)?;
            writer.close()?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// The default of the `zstd` program.
const ZSTD_LEVEL: i32 = 3;

/// Rows of a row group at most, as DuckDB writes them.
const MAX_ROWS: usize = 122_880;

/// Bytes of values from which a row group is complete.
const MAX_BYTES: usize = 32 << 20;

/// Distinct texts of a row group that a Bloom filter has room for; it shrinks to those that there are.
const MAX_DISTINCT: u64 = 4096;

/// Bytes of a dictionary of numbers from which they are written as differences instead.
const SMALL_DICTIONARY: usize = 1 << 10;
