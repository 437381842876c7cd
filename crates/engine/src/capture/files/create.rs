#[cfg(unix)]
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::super::{
    Describe, FileType, Format, JsonlSink, PcapSink, PcapngSink, Sink, Views, no_description,
};
use super::claim::{check_file, check_file_name, claim_file};
use super::compressed_writer::compress;
use super::file_sink::{FifoSink, FileSink};
use super::keep::Keep;
use super::name_pattern::{NamePattern, UnknownPlaceholder};
use super::retention::Retention;
use super::rotating_sink::RotatingSink;
use super::rotation::Rotation;
use super::session_sink::SessionSink;

/// Options for writing a capture.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CreateOptions {
    /// `true` if JSONL contains the packets' bytes; the other formats always do.
    pub bodies: bool,
    /// `true` if JSONL contains what values mean; the other formats never do.
    pub meanings: bool,
    /// The views of a pcapng file.
    pub views: Views,
    /// Size or age at which a new file is begun; a file may exceed a size by 64 KiB and one entry.
    pub rotate: Option<Rotation>,
    /// Which of the files of a capture with several to keep; `None` keeps all.
    pub keep: Option<Keep>,
    /// `true` to replace a single file that exists and is not empty; otherwise creating it fails.
    pub overwrite: bool,
    /// Writes the Info column of the pcapng view `json`.
    pub describe: Describe,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self {
            bodies: true,
            meanings: false,
            views: Views::PLAIN,
            rotate: None,
            keep: None,
            overwrite: false,
            describe: no_description,
        }
    }
}

/// An error from creating a capture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The name's ending stands for no format.
    #[error(
        "`{}`: a capture's name ends in `.jsonl`, `.pcapng` or `.pcap`, and `.gz` or `.zst` may \
         follow to compress it",
        .0.display()
    )]
    Ending(PathBuf),
    /// The name ends in `.parquet`: such a file can be read only when it is complete.
    #[error("`{}`: a Parquet file cannot be read while it grows", .0.display())]
    Parquet(PathBuf),
    /// The name contains an unknown placeholder.
    #[error(transparent)]
    Name(#[from] UnknownPlaceholder),
    /// The file cannot be created.
    #[error("cannot write `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A capture to be written: its name is valid, and nothing has been opened or created yet.
#[derive(Debug, Clone)]
pub struct CaptureTarget {
    path: PathBuf,
    file_type: FileType,
    /// Set if each session gets a file of its own.
    pattern: Option<NamePattern>,
    options: CreateOptions,
}

impl CaptureTarget {
    /// Returns whether each session gets a file of its own.
    #[must_use]
    pub fn is_per_session(&self) -> bool {
        self.pattern.is_some()
    }

    /// Checks a capture's name without touching the file system.
    ///
    /// # Errors
    /// [`CreateError::Ending`] or [`CreateError::Parquet`] if the ending names no format that can be
    /// written, [`CreateError::Name`] if the name contains an unknown placeholder.
    pub fn new(path: &Path, options: &CreateOptions) -> Result<Self, CreateError> {
        let is_parquet = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("parquet"));
        let file_type = FileType::of(path).ok_or_else(|| match is_parquet {
            true => CreateError::Parquet(path.to_owned()),
            false => CreateError::Ending(path.to_owned()),
        })?;
        let pattern = NamePattern::parse(path)?;
        Ok(Self { path: path.to_owned(), file_type, pattern, options: *options })
    }

    /// Checks that [`create`](Self::create) can succeed, and changes nothing in the file system.
    ///
    /// # Errors
    /// [`CreateError::Io`] if the file cannot be written, is not to be replaced, or its folder does
    /// not exist.
    pub fn check(&self) -> Result<(), CreateError> {
        let Self { path, pattern, options, .. } = self;
        let named = |source| CreateError::Io { path: path.clone(), source };
        check_file_name(path).map_err(named)?;
        if pattern.is_some() || options.rotate.is_some() {
            // Their files never replace existing ones.
            return Ok(());
        }
        check_file(path, options.overwrite).map_err(named)
    }

    /// Opens the capture for writing.
    ///
    /// A single file is created; if it exists and is not empty, it is replaced only with
    /// [`CreateOptions::overwrite`]. Rotated files and files named after sessions never replace
    /// existing ones; those named after sessions are created with their session's first packet. A
    /// FIFO is opened when the first entry is written. Files can be read by their owner only, and are
    /// locked against other processes that write captures.
    ///
    /// # Errors
    /// [`CreateError::Io`] if the file cannot be created, is not to be replaced (a
    /// [`ClaimError`](super::ClaimError)), or its header cannot be written.
    pub fn create(self) -> Result<Box<dyn Sink>, CreateError> {
        let Self { path, file_type, pattern, options } = self;
        if let Some(pattern) = pattern {
            return Ok(Box::new(SessionSink::new(pattern, &path, file_type, &options)));
        }
        let create = || -> io::Result<Box<dyn Sink>> {
            if is_fifo(&path) {
                return Ok(Box::new(FifoSink::new(path.clone(), file_type, options)));
            }
            let Some(rotation) = options.rotate else {
                let file = claim_file(&path, options.overwrite)?;
                return Ok(Box::new(FileSink::new(file, &path, file_type, &options)?));
            };
            let retention = Retention::new(options.keep, &path);
            Ok(Box::new(RotatingSink::create(&path, file_type, &options, rotation, retention)?))
        };
        create().map_err(|source| CreateError::Io { path: path.clone(), source })
    }
}

/// Checks a capture's name without touching the file system, as [`CaptureTarget::new`] does. Returns what is wrong
/// with it, in words for the user.
#[must_use]
pub fn check_capture_name(name: &str) -> Option<String> {
    let target = CaptureTarget::new(name.as_ref(), &CreateOptions::default());
    target.err().map(|error| error.to_string())
}

/// Checks a capture's name and opens it for writing: [`CaptureTarget::new`] and
/// [`CaptureTarget::create`] in one step.
///
/// # Errors
/// [`CreateError`] if the name is invalid or the file cannot be created.
pub fn create_sink(path: &Path, options: &CreateOptions) -> Result<Box<dyn Sink>, CreateError> {
    CaptureTarget::new(path, options)?.create()
}

/// Returns `true` if `path` is a FIFO, so that opening it would wait for its reader.
fn is_fifo(path: &Path) -> bool {
    #[cfg(unix)]
    return fs::metadata(path)
        .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_fifo(&found.file_type()));
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Returns a sink that writes a capture to any writer.
///
/// # Errors
/// [`io::Error`] if the format's header cannot be written.
pub fn write_sink(
    writer: Box<dyn Write + Send>,
    kind: FileType,
    options: &CreateOptions,
) -> io::Result<Box<dyn Sink>> {
    let writer = compress(writer, kind.compression);
    let is_limited = matches!(options.rotate, Some(Rotation::Size(_)));
    Ok(match kind.format {
        Format::Jsonl => {
            let mut sink = JsonlSink::new(writer);
            if is_limited {
                sink.limit_writes();
            }
            let sink = if options.bodies { sink } else { sink.without_bodies() };
            let sink = if options.meanings { sink.with_meanings() } else { sink };
            Box::new(sink)
        }
        Format::Pcapng => {
            let mut sink = PcapngSink::with_views(writer, options.views, options.describe)?;
            if is_limited {
                sink.limit_writes();
            }
            Box::new(sink)
        }
        Format::Pcap => {
            let mut sink = PcapSink::new(writer)?;
            if is_limited {
                sink.limit_writes();
            }
            Box::new(sink)
        }
    })
}
