use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::super::{
    Describe, FileType, Format, JsonlSink, PcapSink, PcapngSink, Sink, Views, no_description,
};
use super::compressed_writer::pack;
use super::name_pattern::{NamePattern, UnknownPlace};
use super::retention::Shelf;
use super::rotating_sink::RotatingSink;
use super::session_sink::SessionSink;

/// What a new capture is to hold.
#[derive(Debug, Clone, Copy)]
pub struct CreateOptions {
    /// Whether the packets' bytes are kept where a format can do without (JSONL).
    pub bodies: bool,
    /// What a pcapng file shows.
    pub views: Views,
    /// Bytes of a file after which another is begun; it may have an entry and 64 KiB more.
    pub rotate: Option<u64>,
    /// Of a capture in several files, how many of them stay.
    pub keep: Option<usize>,
    /// Writes the Info column of the pcapng view `json`.
    pub describe: Describe,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self {
            bodies: true,
            views: Views::PLAIN,
            rotate: None,
            keep: None,
            describe: no_description,
        }
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
    /// The name has braces that mean nothing.
    #[error(transparent)]
    Name(#[from] UnknownPlace),
    /// The file cannot be made.
    #[error("cannot write `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Makes a capture in the format that the name's ending says, in the place of one that is there.
///
/// `{session}`, `{player}` and `{time}` in the name make one file a session, and
/// [`rotate`](CreateOptions::rotate) makes a row of numbered files; these are never written in the
/// place of others.
///
/// # Errors
/// [`CreateError`] when the name says no format, or the file cannot be made.
pub fn create_sink(path: &Path, options: &CreateOptions) -> Result<Box<dyn Sink>, CreateError> {
    let Some(kind) = FileType::of(path) else { return Err(CreateError::Ending(path.to_owned())) };
    if let Some(pattern) = NamePattern::parse(path)? {
        return Ok(Box::new(SessionSink::new(pattern, kind, options)));
    }
    let create = || match options.rotate {
        Some(_) => {
            let shelf = Shelf::new(options.keep);
            Ok(Box::new(RotatingSink::create(path, kind, options, shelf)?) as Box<dyn Sink>)
        }
        None => write_sink(Box::new(File::create(path)?), kind, options),
    };
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
        Format::Pcapng => {
            Box::new(PcapngSink::with_views(writer, options.views, options.describe)?)
        }
        Format::Pcap => Box::new(PcapSink::new(writer)?),
    })
}
