use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::spool::Disk;
use super::{Archive, Chunk, Spool, Stored};

/// Work for the disk.
#[derive(Debug)]
pub(super) enum Job {
    /// Write the bytes of the chunk with this first row.
    Write(u64, Bytes),
    /// Write the rows of a chunk that is older than the window.
    Archive(Chunk),
}

/// The temporary files of a store.
#[derive(Debug)]
pub(super) struct Spools {
    bytes: Spool,
    rows: Spool,
}

impl Spools {
    pub(super) fn new(disk: &Arc<dyn Disk>) -> Self {
        Self { bytes: Spool::new(Arc::clone(disk)), rows: Spool::new(Arc::clone(disk)) }
    }

    /// Does a job, which may take as long as the disk likes.
    pub(super) fn run(&mut self, job: &Job) -> io::Result<Stored> {
        match job {
            Job::Write(_, bytes) => self.bytes.write(bytes),
            Job::Archive(chunk) => self.rows.write(&Archive::index(chunk)),
        }
    }
}
