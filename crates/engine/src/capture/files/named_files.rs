use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::keep::Keep;
use super::name_pattern::{NamePattern, UnknownPlaceholder};
use super::retention::Retention;
use super::session_sink::claim_numbered;
use mitmcraft_protocol::packet::{Context, Timestamp};

/// Files with `{session}`, `{player}` and `{time}` in their name, of which the newest are kept. None replaces
/// another: `-2` and so on is added to the name.
#[derive(Debug)]
pub struct NamedFiles {
    pattern: NamePattern,
    retention: Retention,
}

impl NamedFiles {
    /// Keeps what `keep` says of the files with that name, also of those of earlier runs.
    ///
    /// # Errors
    /// [`UnknownPlaceholder`] in the name.
    pub fn new(name: &Path, keep: Keep) -> Result<Self, UnknownPlaceholder> {
        let pattern = NamePattern::of(name)?;
        Ok(Self { pattern, retention: Retention::new(Some(keep), name) })
    }

    /// Creates the file of a session at a time, and deletes the oldest beyond the limit. Only its owner can read it.
    ///
    /// # Errors
    /// [`io::Error`] if the file cannot be created, or another cannot be deleted.
    pub fn create(&self, context: &Context, at: Timestamp) -> io::Result<(PathBuf, File)> {
        let (path, file) = claim_numbered(&self.pattern.fill(context, at))?;
        if let Err(error) = self.retention.opened(&path, at) {
            drop(file);
            // It is empty, and the error is the one that counts.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok((path, file))
    }

    /// Notes that a file is complete, and deletes the oldest others beyond the limit.
    ///
    /// # Errors
    /// [`io::Error`] if one cannot be deleted.
    pub fn complete(&self, path: PathBuf, at: Timestamp) -> io::Result<()> {
        self.retention.done(path, at)
    }
}
