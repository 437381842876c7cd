use std::cell::Cell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::from_utf8;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;

use super::super::jsonl::{JsonMap, Rebuilder};
use super::super::{Damage, Entry, EntryError, FilePosition, ReadError};
use super::field::Field;
use super::row_batch::{Found, RowBatch};
use super::table_column::{ColumnKind, io_error};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Catalog;

/// Reads the entries of a capture in Parquet, of this or another version, also if another program has
/// selected rows of it.
///
/// A row is read as the line of JSONL that it stands for. An invalid row yields an error, and iteration
/// continues with the next one.
pub struct ParquetReader {
    file: Box<dyn FileReader>,
    rebuilder: Rebuilder,
    /// The columns that are read, with their place in the file.
    columns: Vec<(Field, usize)>,
    /// The next row group.
    group: usize,
    /// The columns of the current row group.
    batches: Vec<RowBatch>,
    /// Rows of the row group that are not in the batches yet.
    left: usize,
    /// Rows of the batches that have not been returned.
    ready: usize,
    /// The number of the current row, counted from 1.
    row: u64,
    text: Vec<u8>,
    memory: usize,
    /// Receives the size in bytes of each row group that has been read.
    progress: Box<dyn Fn(u64) + Send>,
    /// The number of rows in succession that are invalid.
    invalid: u64,
    done: bool,
}

impl ParquetReader {
    /// Reads from `source` in `memory` bytes: a row group that needs more is an error. `progress` receives
    /// the size in bytes of each row group that has been read.
    ///
    /// # Errors
    /// [`ReadError`] if the file is incomplete, or does not have the columns of a capture.
    pub(in crate::capture) fn within(
        source: File,
        catalog: &Catalog,
        memory: usize,
        progress: Box<dyn Fn(u64) + Send>,
    ) -> Result<Self, ReadError> {
        let file = SerializedFileReader::new(source).map_err(|error| match error {
            ParquetError::External(_) => ReadError::Io(io_error(error)),
            error => ReadError::NoFooter(error.into()),
        })?;
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let mut columns = Vec::new();
        for (field, name, kind, _) in Field::ALL {
            let place = (0..schema.num_columns())
                .find(|place| schema.column(*place).path().parts() == [name]);
            let fits = |place: &usize| {
                let column = schema.column(*place);
                column.max_rep_level() == 0 && kind.is_of(column.self_type())
            };
            match place {
                Some(place) if fits(&place) => columns.push((field, place)),
                // What is derived from other columns may be absent or of any type.
                _ if field.is_required() => return Err(ReadError::ForeignTable { column: name }),
                _ => {}
            }
        }
        Ok(Self {
            file: Box::new(file),
            rebuilder: Rebuilder::within(catalog, memory),
            columns,
            group: 0,
            batches: Vec::new(),
            left: 0,
            ready: 0,
            row: 0,
            text: Vec::new(),
            memory,
            progress,
            invalid: 0,
            done: false,
        })
    }

    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            while self.ready == 0 {
                if self.left == 0 && self.group == self.file.num_row_groups() {
                    return Ok(None);
                }
                self.fill()?;
            }
            self.ready -= 1;
            self.row += 1;
            let place = FilePosition::Row(self.row);
            let read = self.line().and_then(|()| {
                let (length, limit) = (self.text.len(), self.memory / PER_BYTE);
                if length > limit {
                    return Err(EntryError::TooLong { length: length as u64, limit });
                }
                self.rebuilder.line(&self.text)
            });
            if let Some(entry) = read.map_err(|error| ReadError::Entry(place, error))? {
                return Ok(Some(entry));
            }
        }
    }

    /// Reads the next rows of each column.
    fn fill(&mut self) -> Result<(), ReadError> {
        let place = FilePosition::Row(self.row + 1);
        let damaged = |error| match error {
            ParquetError::External(_) => ReadError::at(place, io_error(error)),
            error => ReadError::Damaged(place, Damage::Table(error.into())),
        };
        if self.left == 0 {
            let group = self.file.get_row_group(self.group).map_err(damaged)?;
            let size = u64::try_from(group.metadata().total_byte_size()).unwrap_or(u64::MAX);
            if size > self.memory as u64 {
                let damage = Damage::TooLong { limit: self.memory as u64 };
                return Err(ReadError::Damaged(place, damage));
            }
            let codecs =
                self.columns.iter().map(|(_, place)| group.metadata().column(*place).compression());
            if let Some(codec) = codecs.into_iter().find(|it| !is_known(*it)) {
                return Err(ReadError::OtherCompression { codec: codec.to_string() });
            }
            let open = |(_, place): &(Field, usize)| {
                check(group.metadata().column(*place))?;
                group.get_column_reader(*place).map(RowBatch::new)
            };
            let batches = self.columns.iter().map(open);
            self.batches = batches.collect::<Result<_, _>>().map_err(damaged)?;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
            self.group += 1;
        }
        let rows = self.left.min(BATCH);
        for batch in &mut self.batches {
            caught(|| batch.read(rows)).map_err(damaged)?;
        }
        (self.left, self.ready) = (self.left - rows, rows);
        if self.left == 0
            && let Some(group) = self.file.metadata().row_groups().get(self.group - 1)
        {
            (self.progress)(u64::try_from(group.compressed_size()).unwrap_or_default());
        }
        Ok(())
    }

    /// Writes the line of the next row.
    fn line(&mut self) -> Result<(), EntryError> {
        self.text.clear();
        self.text.shrink_to(KEPT);
        let mut row: [Option<Found>; Field::ALL.len()] = [const { None }; Field::ALL.len()];
        for ((field, _), batch) in self.columns.iter().zip(&mut self.batches) {
            row[*field as usize] = batch.next();
        }
        if row[Field::Event as usize].is_some() {
            // Of an event the fields are all of its line.
            let Some(Found::Bytes(line)) = &row[Field::Fields as usize] else {
                return Err(EntryError::Missing("fields"));
            };
            self.text.extend_from_slice(line.data());
            return Ok(());
        }
        let mut map = JsonMap::open(&mut self.text);
        map.int("v", 2);
        let has_bytes = row[Field::Body as usize].is_some();
        for ((field, name, kind, key), found) in Field::ALL.into_iter().zip(row) {
            let (Some(key), Some(found)) = (key, found) else { continue };
            match (found, kind) {
                // They take long to parse, and are needed only to encode the body.
                _ if field == Field::Fields && has_bytes => {}
                (Found::Int(nanos), ColumnKind::Time) => {
                    map.time(key, Timestamp(nanos.cast_unsigned()));
                }
                (Found::Int(int), ColumnKind::Int) => map.count(key, int.cast_unsigned()),
                (Found::Int(int), _) => map.int(key, int),
                (Found::Flag(flag), _) => map.flag(key, flag),
                // Its shortest form, which is read back as the same number.
                (Found::Double(double), _) => map.bare(key, format_args!("{double:?}")),
                (Found::Bytes(bytes), ColumnKind::Bytes) => map.bytes(key, bytes.data()),
                (Found::Bytes(text), kind) => {
                    let text = from_utf8(text.data()).map_err(|_| {
                        EntryError::invalid(name, &String::from_utf8_lossy(text.data()))
                    })?;
                    match kind {
                        ColumnKind::Json => map.bare(key, text),
                        _ => map.text(key, text),
                    }
                }
            }
        }
        map.close();
        Ok(())
    }
}

impl Iterator for ParquetReader {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        if let Some(crowded) = self.rebuilder.take_crowded() {
            return Some(Err(ReadError::Entry(FilePosition::Row(self.row), crowded)));
        }
        let mut read = self.read();
        match read {
            Err(ReadError::Entry(..)) => self.invalid += 1,
            _ => self.invalid = 0,
        }
        // A few bytes stand for as many rows as one likes.
        if self.invalid >= MOST_INVALID {
            let damage = Damage::Rows { rows: self.invalid };
            read = Err(ReadError::Damaged(FilePosition::Row(self.row), damage));
        }
        // An invalid row is followed by others.
        self.done = !matches!(read, Ok(Some(_)) | Err(ReadError::Entry(..)));
        read.transpose()
    }
}

impl std::fmt::Debug for ParquetReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetReader").field("row", &self.row).finish_non_exhaustive()
    }
}

/// Returns whether columns with that compression can be read.
fn is_known(codec: Compression) -> bool {
    matches!(codec, Compression::UNCOMPRESSED | Compression::ZSTD(_))
}

/// Checks what the parser of Parquet takes for granted.
fn check(column: &ColumnChunkMetaData) -> Result<(), ParquetError> {
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    if start < 0 || column.compressed_size() < 0 {
        return Err(ParquetError::General("a column has no place in the file".into()));
    }
    Ok(())
}

thread_local! {
    static CATCHES: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread is caught, because it means that a Parquet file is damaged: hooks
/// do not report it.
#[must_use]
pub fn catches_panic() -> bool {
    CATCHES.get()
}

/// Returns the result of decoding, which panics on some damage; what it decoded into is dropped then.
fn caught<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let catches = CATCHES.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    CATCHES.set(catches);
    decoded.unwrap_or_else(|_| Err(ParquetError::General("invalid data in a column".into())))
}

/// Memory that reading a row takes at most per byte: its text, its members, its body.
const PER_BYTE: usize = 8;

/// Rows in succession that may be invalid: more of them are no damage to single rows.
const MOST_INVALID: u64 = 100_000;

/// Rows read at a time.
const BATCH: usize = 1024;

/// Buffer capacity kept between rows: one rare long row must not hold its memory forever.
const KEPT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_damage_and_hooks_know_it_while_it_is_caught() {
        assert!(!catches_panic());
        assert!(caught(|| Ok(catches_panic())).unwrap());
        assert!(!catches_panic());
        let error = caught(|| -> Result<(), _> { panic!("an index of the parquet crate") });
        assert!(error.unwrap_err().to_string().contains("invalid data in a column"));
        assert!(!catches_panic());
    }
}
