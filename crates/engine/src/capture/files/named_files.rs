use std::fs::File;
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
            let _ = self.remove(&path);
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

    /// Deletes a file, complete or not, which no longer counts.
    ///
    /// # Errors
    /// [`io::Error`] if it is there and cannot be deleted.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.retention.remove(path)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use mitmcraft_protocol::schema::Catalog;

    #[test]
    fn a_file_that_is_removed_makes_room_for_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            NamedFiles::new(&folder.path().join("a-{session}.zip"), Keep::Files(3)).unwrap();
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let at = Timestamp(0);
        let context = Context::new(1, at, ([127, 0, 0, 1], 1).into(), protocol);
        let create = |is_complete: bool| {
            let (path, mut file) = files.create(&context, at).unwrap();
            file.write_all(b"x").unwrap();
            drop(file);
            if is_complete {
                files.complete(path.clone(), at).unwrap();
            }
            path
        };
        let good = [create(true), create(true)];
        for is_complete in [false, true, false, true, false, true] {
            let path = create(is_complete);
            files.remove(&path).unwrap();
            assert!(!path.exists());
        }
        let last = create(true);
        assert!(good.iter().chain([&last]).all(|path| path.exists()), "three are kept");
        assert!(create(true).exists() && !good[0].exists(), "and not more");
    }
}
