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

    /// Keeps as many of the files of sessions that never log in: they push out none of the others.
    ///
    /// # Errors
    /// [`UnknownPlaceholder`] in the name.
    pub fn of_visits(name: &Path, keep: Keep) -> Result<Self, UnknownPlaceholder> {
        let pattern = NamePattern::of(name)?;
        Ok(Self { pattern, retention: Retention::of_visits(Some(keep), name) })
    }

    /// Creates the file of a session at a time. Only its owner can read it.
    ///
    /// # Errors
    /// [`io::Error`] if the file cannot be created.
    pub fn create(&self, context: &Context, at: Timestamp) -> io::Result<(PathBuf, File)> {
        let (path, file) = claim_numbered(&self.pattern.fill(context, at))?;
        if let Err(error) = self.retention.begun(&path) {
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
    /// [`io::Error`] if one cannot be deleted. The new file counts nevertheless.
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

    #[test]
    fn visits_push_out_no_others_and_an_old_file_that_stays_hinders_no_new_one() {
        let folder = tempfile::tempdir().unwrap();
        // Without an ending that is known, the number goes to the end.
        let name = folder.path().join("a-{session}");
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let at = Timestamp(0);
        let context = Context::new(1, at, ([127, 0, 0, 1], 1).into(), protocol);
        let players = NamedFiles::new(&name, Keep::Files(1)).unwrap();
        let visits = NamedFiles::of_visits(&name, Keep::Files(1)).unwrap();
        let made = |files: &NamedFiles| {
            let (path, _) = files.create(&context, at).unwrap();
            (files.complete(path.clone(), at).is_ok(), path)
        };
        let (_, player) = made(&players);
        assert_eq!(player, folder.path().join("a-1"));
        let (_, first) = made(&visits);
        assert_eq!(first, folder.path().join("a-1-2"));
        let (is_trimmed, second) = made(&visits);
        assert!(is_trimmed && player.exists() && !first.exists() && second.exists());
        // What is there now cannot be deleted as a file.
        std::fs::remove_file(&second).unwrap();
        std::fs::create_dir(&second).unwrap();
        let (is_trimmed, third) = made(&visits);
        assert!(!is_trimmed && third.exists());
    }
}
