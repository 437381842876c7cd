use std::collections::VecDeque;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use super::claim::is_claimed;
use super::keep::Keep;
use super::manifest::Manifest;
use mitmcraft_protocol::packet::Timestamp;

/// Keeps the newest files of a capture that has several, and deletes the others, also those of earlier
/// runs: files that its [`Manifest`] contains, and nobody writes.
#[derive(Debug, Clone)]
pub(super) struct Retention(Option<Arc<Mutex<Files>>>);

#[derive(Debug)]
struct Files {
    keep: Keep,
    manifest: Manifest,
    /// Complete files, the oldest first; `None` until the manifest was read.
    done: Option<VecDeque<PathBuf>>,
    /// Files being written, which are never deleted.
    open: Vec<PathBuf>,
}

impl Retention {
    /// Keeps what `keep` says of the files of a capture with that name, or all of them.
    pub(super) fn new(keep: Option<Keep>, capture: &Path) -> Self {
        Self::by(keep, Manifest::of(capture))
    }

    /// Keeps what `keep` says of the files of sessions that never log in, and nothing of the others.
    pub(super) fn of_visits(keep: Option<Keep>, capture: &Path) -> Self {
        Self::by(keep, Manifest::of_visits(capture))
    }

    fn by(keep: Option<Keep>, manifest: Manifest) -> Self {
        let files = |keep| Files { keep, manifest, done: None, open: Vec::new() };
        Self(keep.map(|keep| Arc::new(Mutex::new(files(keep)))))
    }

    /// Registers that a file was begun at that time, and deletes the oldest beyond the limit.
    pub(super) fn opened(&self, path: &Path, at: Timestamp) -> io::Result<()> {
        self.begun(path)?;
        self.with(|files| files.trim(at))
    }

    /// Registers that a file was begun, and deletes none.
    pub(super) fn begun(&self, path: &Path) -> io::Result<()> {
        self.with(|files| {
            let before = files.manifest.add(path)?;
            files.done.get_or_insert_with(|| before.into());
            files.open.push(path.to_owned());
            Ok(())
        })
    }

    /// Registers that a file was completed, and deletes the oldest others beyond the limit.
    pub(super) fn done(&self, path: PathBuf, at: Timestamp) -> io::Result<()> {
        self.with(|files| {
            let trimmed = files.trim(at);
            files.open.retain(|open| *open != path);
            files.done.get_or_insert_default().push_back(path);
            trimmed
        })
    }

    /// Deletes a file, which no longer counts.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        self.with(|files| {
            files.open.retain(|open| open != path);
            files.done.iter_mut().for_each(|done| done.retain(|done| done != path));
            remove(path)
        })
    }

    fn with(&self, change: impl FnOnce(&mut Files) -> io::Result<()>) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |files| {
            change(&mut files.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

impl Files {
    fn trim(&mut self, at: Timestamp) -> io::Result<()> {
        let Some(done) = &mut self.done else { return Ok(()) };
        let mut over = match self.keep {
            Keep::Files(count) => (done.len() + self.open.len()).saturating_sub(count) as u64,
            Keep::Bytes(most) => {
                let all: u64 = done.iter().chain(&self.open).map(|path| length(path)).sum();
                all.saturating_sub(most)
            }
            Keep::Age(_) => u64::MAX,
        };
        let mut place = 0;
        while over > 0 && place < done.len() {
            let path = &done[place];
            let counts = match self.keep {
                Keep::Files(_) => 1,
                Keep::Bytes(_) => length(path),
                Keep::Age(age) if written(path).plus(age) < at => 0,
                Keep::Age(_) => return Ok(()),
            };
            // Another run may write a file of the list.
            if is_claimed(path) == Some(true) {
                place += 1;
                continue;
            }
            remove(path)?;
            done.remove(place);
            over = over.saturating_sub(counts);
        }
        Ok(())
    }
}

/// Deletes a file, which may be gone.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let message = format!("cannot remove `{}`: {error}", path.display());
            Err(io::Error::new(error.kind(), message))
        }
        _ => Ok(()),
    }
}

/// Returns a file's length in bytes, 0 if it is gone.
fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// Returns when a file was last written; the beginning of time if it is gone.
fn written(path: &Path) -> Timestamp {
    let modified = fs::metadata(path).and_then(|found| found.modified()).ok();
    let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let nanos = since.map_or(0, |since| since.as_nanos());
    Timestamp(u64::try_from(nanos).unwrap_or(u64::MAX))
}
