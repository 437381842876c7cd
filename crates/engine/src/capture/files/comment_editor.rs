use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;
use thiserror::Error;

use super::super::{Entry, JsonlReader, PcapngReader, ReadError, edit_block, edit_line};
use super::claim::{check_file, claim_new, is_claimed};
use super::compressed_writer::compress;
use super::unpack::{compression, peek, unpack};
use mitmcraft_protocol::schema::Catalog;

/// Changes the comments of packets in a capture that exists.
///
/// Everything else stays as it is, byte by byte. The file is replaced at once, when all was written
/// beside it, and only if it is still the one that was opened.
#[derive(Debug)]
pub struct CommentEditor {
    path: PathBuf,
    file: Arc<File>,
    /// Length, time of change and other metadata of the file when it was opened or saved last.
    seen: Metadata,
    catalog: Catalog,
    memory: usize,
}

/// New comments of packets, by their session and their number in it; `None` for no comment.
pub type Comments = HashMap<(u64, u64), Option<String>>;

/// The reason why a capture was not changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommentError {
    /// It was not written by mitmcraft.
    #[error("it is a recording of another program; exported captures have marks and comments")]
    Foreign,
    /// Something else has changed it.
    #[error("it has changed since it was read")]
    Changed,
    /// A packet is not in the form in which mitmcraft writes it.
    #[error("packet {1} of session #{0} has a form that cannot be changed; export it instead")]
    Form(u64, u64),
    /// Two packets have the same number.
    #[error("two packets have the number {1} in session #{0}: it consists of several captures")]
    Ambiguous(u64, u64),
    /// Another name of the file would keep the old comments.
    #[error(
        "it has another name (a hard link), which would keep the old comments; export it instead"
    )]
    Linked,
    /// The new file would belong to another user or group than the old one.
    #[error(
        "it belongs to another user or group, to which this user cannot give files; export it instead"
    )]
    Owner,
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl CommentEditor {
    /// Opens a capture. Its packets are decoded with the protocols of `catalog`, in `memory` bytes.
    ///
    /// # Errors
    /// [`io::Error`] if it cannot be opened, or is no regular file: opening a pipe would wait for its writer.
    pub fn open(path: &Path, catalog: &Catalog, memory: usize) -> io::Result<Self> {
        // Behind a link, the file is replaced, not the link.
        let path = path.canonicalize()?;
        if !path.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let file = File::open(&path)?;
        let seen = file.metadata()?;
        remove_leftovers(&path);
        Ok(Self { path, file: Arc::new(file), seen, catalog: catalog.clone(), memory })
    }

    /// Returns the capture.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the capture with these comments, in place of those that it was opened with, and returns the
    /// number of those packets that it has.
    ///
    /// # Errors
    /// [`CommentError`]; the file is as before then.
    pub fn save(&mut self, comments: &Comments) -> Result<usize, CommentError> {
        self.check()?;
        let (folder, prefix) = beside(&self.path);
        let mut name = tempfile::Builder::new();
        let new = name.prefix(&prefix).suffix(SUFFIX).make_in(folder, claim_new)?;
        self.keep_owner(&new)?;
        let compression = compression(&peek(self.raw())?.0);
        let mut out = compress(Box::new(BufWriter::new(new.as_file().try_clone()?)), compression);
        let found = self.write(&mut out, comments)?;
        out.flush()?;
        drop(out);
        new.as_file().set_permissions(self.seen.permissions())?;
        new.as_file().sync_all()?;
        self.check()?;
        // The old file is open, which `persist` does not replace on Windows.
        fs::rename(new.into_temp_path(), &self.path)?;
        self.seen = fs::metadata(&self.path)?;
        Ok(found)
    }

    /// Gives the new file the old one's owner.
    #[cfg(unix)]
    fn keep_owner(&self, new: &NamedTempFile) -> Result<(), CommentError> {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let (is, was) = (new.as_file().metadata()?, &self.seen);
        if (is.uid(), is.gid()) == (was.uid(), was.gid()) {
            return Ok(());
        }
        fchown(new.as_file(), Some(was.uid()), Some(was.gid())).map_err(|_| CommentError::Owner)
    }

    /// Does nothing: files have the owner that their folder gives them.
    #[cfg(not(unix))]
    fn keep_owner(&self, _new: &NamedTempFile) -> Result<(), CommentError> {
        Ok(())
    }

    fn write(&self, out: &mut dyn Write, comments: &Comments) -> Result<usize, CommentError> {
        let mut whole = unpack(self.raw())?;
        let mut copied = 0;
        let mut copy_to = |whole: &mut dyn Read, out: &mut dyn Write, end: u64| {
            let count = io::copy(&mut whole.take(end - copied), out)?;
            copied += count;
            if copied == end { Ok(()) } else { Err(io::Error::from(io::ErrorKind::UnexpectedEof)) }
        };
        let mut found = HashSet::new();
        let mut entries = self.spans()?;
        while let Some(read) = entries.next() {
            let record = match &read {
                Ok(Entry::Packet(record)) => record,
                Err(ReadError::Foreign) => return Err(CommentError::Foreign),
                _ => continue,
            };
            let id = (record.packet.context().session, record.packet.seq());
            let Some(new) = comments.get(&id) else { continue };
            if !found.insert(id) {
                return Err(CommentError::Ambiguous(id.0, id.1));
            }
            if *new == record.comment {
                continue;
            }
            let span = entries.span();
            copy_to(&mut whole, out, span.start)?;
            let mut old = Vec::new();
            copy_to(&mut whole, &mut old, span.end)?;
            let edited = match entries {
                Spans::Pcapng(_) => edit_block(&old, record.comment.as_deref(), new.as_deref()),
                Spans::Jsonl(_) => edit_line(&old, new.as_deref()),
            };
            out.write_all(&edited.ok_or(CommentError::Form(id.0, id.1))?)?;
        }
        io::copy(&mut whole, out)?;
        Ok(found.len())
    }

    /// Checks that nothing else has changed the file, or is writing it.
    fn check(&self) -> Result<(), CommentError> {
        check_file(&self.path, true)?;
        let now = fs::metadata(&self.path)?;
        let same = now.len() == self.seen.len() && now.modified()? == self.seen.modified()?;
        #[cfg(unix)]
        let same = {
            use std::os::unix::fs::MetadataExt as _;
            if now.nlink() > 1 {
                return Err(CommentError::Linked);
            }
            same && (now.dev(), now.ino()) == (self.seen.dev(), self.seen.ino())
        };
        if same { Ok(()) } else { Err(CommentError::Changed) }
    }

    fn spans(&self) -> Result<Spans, CommentError> {
        let (head, whole) = peek(unpack(self.raw())?)?;
        let whole: Box<dyn BufRead + Send> = Box::new(whole);
        let (catalog, memory) = (&self.catalog, self.memory);
        match (&head[..], head.trim_ascii_start()) {
            ([0x0a, 0x0d, 0x0d, 0x0a], _) => {
                Ok(Spans::Pcapng(Box::new(PcapngReader::within(whole, catalog, memory))))
            }
            (_, [b'{', ..]) => {
                Ok(Spans::Jsonl(Box::new(JsonlReader::within(whole, catalog, memory))))
            }
            _ => Err(CommentError::Foreign),
        }
    }

    /// Returns the bytes of the capture as it was opened.
    fn raw(&self) -> BufReader<FileReader> {
        BufReader::with_capacity(CHUNK, FileReader { file: Arc::clone(&self.file), at: 0 })
    }
}

/// Returns the folder of a capture, and how the names begin under which it is written anew.
fn beside(path: &Path) -> (&Path, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    (path.parent().unwrap_or_else(|| Path::new(".")), format!(".{name}."))
}

/// Removes what a program that was killed while it wrote the capture has left beside it. Nothing else
/// has such names, and a program that still writes holds a lock.
fn remove_leftovers(path: &Path) {
    let (folder, prefix) = beside(path);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|it| it.starts_with(&prefix) && it.ends_with(SUFFIX));
        if ours && is_claimed(&entry.path()) == Some(false) {
            // It is tried again when the capture is opened next.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Reads the entries of a capture, and tells where they are.
enum Spans {
    Jsonl(Box<JsonlReader<Box<dyn BufRead + Send>>>),
    Pcapng(Box<PcapngReader<Box<dyn BufRead + Send>>>),
}

impl Spans {
    fn next(&mut self) -> Option<Result<Entry, ReadError>> {
        match self {
            Self::Jsonl(reader) => reader.next(),
            Self::Pcapng(reader) => reader.next(),
        }
    }

    fn span(&self) -> Range<u64> {
        match self {
            Self::Jsonl(reader) => reader.span.clone(),
            Self::Pcapng(reader) => reader.span.clone(),
        }
    }
}

/// Reads a file that others read too, and that may have another name or none meanwhile.
#[derive(Debug)]
struct FileReader {
    file: Arc<File>,
    at: u64,
}

impl Read for FileReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(&*self.file, bytes, self.at)?;
        #[cfg(windows)]
        let count = std::os::windows::fs::FileExt::seek_read(&*self.file, bytes, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// The end of the names under which captures are written anew.
const SUFFIX: &str = ".mitmcraft-new";

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;
