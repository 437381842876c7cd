use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use mitmcraft_protocol::codec::KeyLogLine;
#[cfg(unix)]
use rustix::fs::OFlags;

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
    /// If the file cannot be opened, or is a pipe that nobody reads.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            // Opening a pipe does not wait for its reader, nor writing to it.
            options.mode(OWNER_ONLY).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        }
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_nobody_reads_is_an_error_and_no_wait() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        KeyLog::open(&pipe).unwrap_err();
        let _reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        KeyLog::open(&pipe).unwrap();
    }
}
