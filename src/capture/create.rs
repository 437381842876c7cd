use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::packer::pack;
use super::{FileType, Format, JsonlSink, PcapSink, PcapngSink, Sink};

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
    #[error(
        "`{}`: a capture's name ends in `.jsonl`, `.pcapng` or `.pcap`, and `.gz` or `.zst` behind \
         it to compress it",
        .0.display()
    )]
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

/// Makes a capture file in the format that its ending names, in the place of one that is there.
///
/// # Errors
/// [`CreateError`] when the ending names none, or the file cannot be made.
pub fn create_sink(path: &Path, options: &CreateOptions) -> Result<Box<dyn Sink>, CreateError> {
    let Some(kind) = FileType::of(path) else { return Err(CreateError::Ending(path.to_owned())) };
    let create = || write_sink(Box::new(File::create(path)?), kind, options);
    create().map_err(|source| CreateError::Io { path: path.to_owned(), source })
}

/// Writes a capture to anywhere.
///
/// # Errors
/// When its head cannot be written.
pub fn write_sink(
    writer: Box<dyn Write + Send>,
    kind: FileType,
    options: &CreateOptions,
) -> io::Result<Box<dyn Sink>> {
    let writer = pack(writer, kind.packing);
    Ok(match kind.format {
        Format::Jsonl if options.bodies => Box::new(JsonlSink::new(writer)),
        Format::Jsonl => Box::new(JsonlSink::new(writer).without_bodies()),
        Format::Pcapng => Box::new(PcapngSink::new(writer)?),
        Format::Pcap => Box::new(PcapSink::new(writer)?),
    })
}
