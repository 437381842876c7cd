//! Files by their ending when they are written, and by their first bytes when they are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{Entry, JsonlReader, JsonlSink, PcapSink, PcapngReader, PcapngSink, ReadError, Sink};
use crate::schema::Catalog;

/// What a new capture is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateOptions {
    /// Whether the packets' bytes are kept where a format can do without (JSONL).
    pub bodies: bool,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self { bodies: true }
    }
}

/// Why a capture cannot be written.
#[derive(Debug, Error)]
pub enum CreateError {
    /// The name does not say which format.
    #[error("`{}`: a capture's name ends in `.jsonl`, `.pcapng` or `.pcap`", .0.display())]
    Ending(PathBuf),
    /// The file cannot be made.
    #[error("cannot write `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The entries of a capture, in order.
pub type Entries = Box<dyn Iterator<Item = Result<Entry, ReadError>> + Send>;

/// Makes a capture file in the format that its ending names, in the place of one that is there.
///
/// # Errors
/// [`CreateError`] when the ending names none, or the file cannot be made.
pub fn create_sink(path: &Path, options: &CreateOptions) -> Result<Box<dyn Sink>, CreateError> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let format = match ending.to_ascii_lowercase().as_str() {
        "jsonl" => Format::Jsonl,
        "pcapng" => Format::Pcapng,
        "pcap" => Format::Pcap,
        _ => return Err(CreateError::Ending(path.to_owned())),
    };
    let create = || -> io::Result<Box<dyn Sink>> {
        let file = File::create(path)?;
        Ok(match format {
            Format::Jsonl if options.bodies => Box::new(JsonlSink::new(file)),
            Format::Jsonl => Box::new(JsonlSink::new(file).without_bodies()),
            Format::Pcapng => Box::new(PcapngSink::new(file)?),
            Format::Pcap => Box::new(PcapSink::new(file)?),
        })
    };
    create().map_err(|source| CreateError::Io { path: path.to_owned(), source })
}

/// Reads a capture file, whatever its name.
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
    mut reader: impl BufRead + Send + 'static,
    catalog: &Catalog,
) -> Result<Entries, ReadError> {
    let mut head = Vec::new();
    (&mut reader).take(MAGIC).read_to_end(&mut head)?;
    let format = sniff(&head)?;
    let whole = io::Cursor::new(head).chain(reader);
    Ok(match format {
        Format::Pcapng => Box::new(PcapngReader::new(whole, catalog)),
        _ => Box::new(JsonlReader::new(whole, catalog)),
    })
}

/// A capture format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Jsonl,
    Pcapng,
    Pcap,
}

/// The format of a file that begins so. An empty one is a capture without entries.
fn sniff(head: &[u8]) -> Result<Format, ReadError> {
    match head {
        [0x0a, 0x0d, 0x0d, 0x0a] => Ok(Format::Pcapng),
        [0xd4 | 0x4d, 0xc3 | 0x3c, 0xb2, 0xa1] | [0xa1, 0xb2, 0xc3 | 0x3c, 0xd4 | 0x4d] => {
            Err(ReadError::NoCapture("classic pcap, which has the packets and not what they mean"))
        }
        [0x1f, 0x8b, ..] => Err(ReadError::NoCapture("compressed with gzip: unpack it first")),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            Err(ReadError::NoCapture("compressed with zstd: unpack it first"))
        }
        _ => match head.trim_ascii_start().first() {
            None | Some(b'{') => Ok(Format::Jsonl),
            Some(_) => Err(ReadError::NoCapture("neither JSON lines nor pcapng")),
        },
    }
}

/// Bytes that tell the formats apart.
const MAGIC: u64 = 4;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;
