use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

/// Writes the bytes of full chunks to temporary files, which nobody else can open and which the system
/// deletes when they are closed.
///
/// A file is closed when the last chunk in it is forgotten, so forgetting old chunks frees the disk.
#[derive(Debug)]
pub(super) struct Spool {
    disk: Arc<dyn Disk>,
    file: Option<Arc<File>>,
    /// Bytes in `file`.
    length: u64,
}

/// The disk with the temporary files. Any call may take arbitrarily long.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Creates a temporary file.
    fn create(&self) -> io::Result<File> {
        tempfile::tempfile()
    }

    /// Writes bytes at an offset of a file.
    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        write_all_at(file, bytes, at)
    }
}

/// The folder for temporary files.
#[derive(Debug)]
pub(crate) struct TemporaryFolder;

impl Disk for TemporaryFolder {}

/// The bytes of a chunk.
#[derive(Debug, Clone)]
pub(super) enum Stored {
    Memory(Bytes),
    File {
        file: Arc<File>,
        at: u64,
        length: usize,
    },
    /// They were not kept.
    Lost,
}

impl Spool {
    pub(super) fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, file: None, length: 0 }
    }

    /// Writes the bytes of a chunk.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<Stored> {
        if self.length >= FILE_LENGTH {
            self.file = None;
        }
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                self.length = 0;
                Arc::clone(self.file.insert(Arc::new(self.disk.create()?)))
            }
        };
        let at = self.length;
        self.disk.write(&file, bytes, at)?;
        self.length += bytes.len() as u64;
        Ok(Stored::File { file, at, length: bytes.len() })
    }
}

impl Stored {
    /// Returns how many bytes are on disk.
    pub(super) fn on_disk(&self) -> u64 {
        match self {
            Self::File { length, .. } => *length as u64,
            Self::Memory(_) | Self::Lost => 0,
        }
    }

    /// Returns all bytes.
    pub(super) fn all(&self) -> Option<Bytes> {
        match self {
            Self::Memory(bytes) => Some(bytes.clone()),
            Self::File { length, .. } => self.part(0, *length),
            Self::Lost => None,
        }
    }

    /// Returns the bytes from `start` up to `end`.
    pub(super) fn part(&self, start: usize, end: usize) -> Option<Bytes> {
        match self {
            Self::Memory(bytes) => {
                (start <= end && end <= bytes.len()).then(|| bytes.slice(start..end))
            }
            Self::File { file, at, .. } => {
                let mut bytes = vec![0; end.checked_sub(start)?];
                read_exact_at(file, &mut bytes, at + start as u64).ok()?;
                Some(bytes.into())
            }
            Self::Lost => None,
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let place = at + done as u64;
        match std::os::windows::fs::FileExt::seek_read(file, &mut bytes[done..], place)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => done += count,
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let place = at + done as u64;
        done += std::os::windows::fs::FileExt::seek_write(file, &bytes[done..], place)?;
    }
    Ok(())
}

/// Bytes from which the next chunk goes to another file.
const FILE_LENGTH: u64 = 128 << 20;
