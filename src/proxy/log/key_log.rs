use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use mitmcraft_protocol::codec::KeyLogLine;

/// A file with the keys that decrypt the connections of all sessions, one line per connection. Cheap to
/// clone.
///
/// Lines are appended, each in one write, so that several runs can share a file.
#[derive(Debug, Clone)]
pub struct KeyLog {
    file: Arc<File>,
}

impl KeyLog {
    /// Opens a file to append to it, or creates one that only its owner can read.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, OWNER_ONLY);
        Ok(Self { file: Arc::new(options.open(path)?) })
    }

    /// Appends a line.
    pub(in crate::proxy) fn put(&self, line: KeyLogLine) -> io::Result<()> {
        (&*self.file).write_all(format!("{line}\n").as_bytes())
    }
}

/// File mode: read and write for the owner only.
#[cfg(unix)]
const OWNER_ONLY: u32 = 0o600;
