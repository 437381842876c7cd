use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use crate::codec::KeyLogLine;

/// A file that collects what decrypts the legs of all sessions, a line a leg. Cheap to clone.
///
/// Lines are appended, each in one write, so that several runs can share a file.
#[derive(Debug, Clone)]
pub struct KeyLog {
    file: Arc<File>,
}

impl KeyLog {
    /// Opens the file to append to it. One that is new can be read by its owner alone.
    ///
    /// # Errors
    /// When the system does not let us.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, OWNER_ONLY);
        Ok(Self { file: Arc::new(options.open(path)?) })
    }

    /// Appends a line.
    pub(super) fn put(&self, line: KeyLogLine) -> io::Result<()> {
        (&*self.file).write_all(format!("{line}\n").as_bytes())
    }
}

/// Read and write for the owner, nothing for anybody else.
#[cfg(unix)]
const OWNER_ONLY: u32 = 0o600;
