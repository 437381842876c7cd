//! Parquet: columns for programs that analyse many captures. Entries are rows; tables can have other
//! columns too.

mod column_buffer;
mod field;
mod footer_writer;
mod reader;
mod row_batch;
mod sink;
mod table_column;
mod table_writer;

pub use reader::{ParquetReader, catches_panic};
pub use sink::{ParquetSink, session_id};
pub use table_column::{ColumnKind, TableColumn};
pub use table_writer::{Cell, TableWriter};
