use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _};
use std::path::Path;

use super::super::{
    Entry, FilePosition, JsonlReader, MEMBER, McprReader, ParquetReader, PcapngReader, ReadError,
    ZipFault, ZippedForm, read_zipped,
};
use super::unpack::{peek, unpack};
use mitmcraft_protocol::codec::MemoryBudget;
use mitmcraft_protocol::schema::Catalog;

/// An iterator over the entries of a capture, in order.
pub type Entries = Box<dyn Iterator<Item = Result<Entry, ReadError>> + Send>;

/// Opens a capture file. The format is detected by the first bytes, not by the name.
///
/// # Errors
/// [`ReadError`] if the file cannot be opened or is not a capture.
pub fn open_capture(path: &Path, catalog: &Catalog) -> Result<Entries, ReadError> {
    let mut file = File::open(path)?;
    if is_table(&mut file)? {
        return open_table(file, catalog, MemoryBudget::DEFAULT, |_| {});
    }
    read_capture(BufReader::with_capacity(CHUNK, file), catalog)
}

/// Returns `true` if a regular file begins as a Parquet file does, which only [`open_table`] reads.
///
/// # Errors
/// [`io::Error`] if the file cannot be read.
pub fn is_table(file: &mut File) -> io::Result<bool> {
    // Taking bytes out of a pipe would leave it without them.
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    file.take(PARQUET.len() as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head == PARQUET)
}

/// Opens a capture in Parquet, which is read in `memory` bytes. `done` receives the size in bytes of each
/// part of the file that has been read.
///
/// # Errors
/// [`ReadError`] if the file is incomplete or is not a capture.
pub fn open_table(
    file: File,
    catalog: &Catalog,
    memory: usize,
    done: impl Fn(u64) + Send + 'static,
) -> Result<Entries, ReadError> {
    Ok(Box::new(ParquetReader::within(file, catalog, memory, Box::new(done))?))
}

/// Reads a capture from any reader, see [`open_capture`].
///
/// # Errors
/// [`ReadError`] if the first bytes cannot be read or are not those of a capture.
pub fn read_capture(
    reader: impl BufRead + Send + 'static,
    catalog: &Catalog,
) -> Result<Entries, ReadError> {
    read_capture_within(reader, catalog, MemoryBudget::DEFAULT)
}

/// Reads a capture like [`read_capture`], in `memory` bytes: an entry that needs more is an error,
/// and iteration continues after it.
///
/// # Errors
/// [`ReadError`] if the first bytes cannot be read or are not those of a capture.
pub fn read_capture_within(
    reader: impl BufRead + Send + 'static,
    catalog: &Catalog,
    memory: usize,
) -> Result<Entries, ReadError> {
    read_unpacked(unpack(reader)?, catalog, memory)
}

/// Does what [`read_capture_within`] promises. It is compiled once for all readers.
fn read_unpacked(
    reader: Box<dyn BufRead + Send>,
    catalog: &Catalog,
    memory: usize,
) -> Result<Entries, ReadError> {
    let (head, whole) = peek(reader).map_err(|error| ReadError::at(START, error))?;
    if head == MEMBER {
        return read_zipped(Box::new(whole), |member, form| match form {
            ZippedForm::Plain => read_plain(member, catalog, memory),
            ZippedForm::Recording(metadata) => {
                Ok(Box::new(McprReader::within(member, metadata, catalog, memory)?))
            }
        });
    }
    read_plain(Box::new(whole), catalog, memory)
}

/// Reads a capture that is neither compressed nor in an archive.
fn read_plain(
    reader: Box<dyn BufRead + Send>,
    catalog: &Catalog,
    memory: usize,
) -> Result<Entries, ReadError> {
    let (head, whole) = peek(reader).map_err(|error| ReadError::at(START, error))?;
    if is_pcapng(&head)? {
        return Ok(Box::new(PcapngReader::within(whole, catalog, memory)));
    }
    Ok(Box::new(JsonlReader::within(whole, catalog, memory)))
}

/// Tells pcapng (`true`) from JSONL (`false`) by a file's first bytes. An empty file is JSONL without
/// entries.
fn is_pcapng(head: &[u8]) -> Result<bool, ReadError> {
    match head {
        [0x0a, 0x0d, 0x0d, 0x0a] => Ok(true),
        b"PK\x05\x06" => Err(ReadError::Zip(ZipFault::NoCapture)),
        PARQUET => Err(ReadError::Pipe),
        [0xd4 | 0x4d, 0xc3 | 0x3c, 0xb2, 0xa1] | [0xa1, 0xb2, 0xc3 | 0x3c, 0xd4 | 0x4d] => {
            Err(ReadError::ClassicPcap)
        }
        _ => match head.trim_ascii_start().first() {
            None | Some(b'{') => Ok(false),
            Some(_) => Err(ReadError::UnknownFormat),
        },
    }
}

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// The position of damage in the first bytes.
const START: FilePosition = FilePosition::Byte(0);

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;
