use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::super::{Entry, FilePosition, JsonlReader, PcapngReader, ReadError};
use super::unpack::{peek, unpack};
use crate::schema::Catalog;

/// The entries of a capture, in order.
pub type Entries = Box<dyn Iterator<Item = Result<Entry, ReadError>> + Send>;

/// Reads a capture file, whatever its name: its first bytes tell what it is.
///
/// # Errors
/// [`ReadError`] when it cannot be opened, or is no capture.
pub fn open_capture(path: &Path, catalog: &Catalog) -> Result<Entries, ReadError> {
    read_capture(BufReader::with_capacity(CHUNK, File::open(path)?), catalog)
}

/// Reads a capture from anywhere.
///
/// # Errors
/// [`ReadError`] when it cannot be read, or is no capture.
pub fn read_capture(
    reader: impl BufRead + Send + 'static,
    catalog: &Catalog,
) -> Result<Entries, ReadError> {
    let (head, whole) = peek(unpack(reader)?).map_err(|error| ReadError::of(START, error))?;
    Ok(match is_pcapng(&head)? {
        true => Box::new(PcapngReader::new(whole, catalog)),
        false => Box::new(JsonlReader::new(whole, catalog)),
    })
}

/// Whether a file that begins so is pcapng; else it is JSONL. An empty one is a capture without
/// entries.
fn is_pcapng(head: &[u8]) -> Result<bool, ReadError> {
    match head {
        [0x0a, 0x0d, 0x0d, 0x0a] => Ok(true),
        [0xd4 | 0x4d, 0xc3 | 0x3c, 0xb2, 0xa1] | [0xa1, 0xb2, 0xc3 | 0x3c, 0xd4 | 0x4d] => {
            Err(ReadError::NoCapture("classic pcap, which has the packets and not what they mean"))
        }
        _ => match head.trim_ascii_start().first() {
            None | Some(b'{') => Ok(false),
            Some(_) => Err(ReadError::NoCapture("neither JSON lines nor pcapng")),
        },
    }
}

/// Where a file that is damaged from the start is so.
const START: FilePosition = FilePosition::Byte(0);

/// Bytes read at once.
const CHUNK: usize = 64 << 10;
