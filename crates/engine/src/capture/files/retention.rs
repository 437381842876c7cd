use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Keeps the newest files of a capture that has several, and deletes the others.
#[derive(Debug, Clone)]
pub(super) struct Retention {
    keep: Option<usize>,
    files: Arc<Mutex<Files>>,
}

#[derive(Debug, Default)]
struct Files {
    /// Complete files, the oldest first.
    done: VecDeque<PathBuf>,
    /// Number of files being written, which are never deleted.
    open: usize,
}

impl Retention {
    /// Keeps at most `keep` files, or all of them if `keep` is `None`.
    pub(super) fn new(keep: Option<usize>) -> Self {
        Self { keep, files: Arc::default() }
    }

    /// Registers a complete file of an earlier run.
    pub(super) fn found(&self, path: PathBuf) {
        self.with(|files| files.done.push_back(path));
    }

    /// Registers that a file was begun, and deletes the oldest beyond the limit.
    pub(super) fn opened(&self) -> io::Result<()> {
        self.with(|files| files.open += 1);
        self.trim()
    }

    /// Registers that a file was completed, and deletes the oldest beyond the limit.
    pub(super) fn done(&self, path: PathBuf) -> io::Result<()> {
        self.with(|files| {
            files.open -= 1;
            files.done.push_back(path);
        });
        self.trim()
    }

    fn trim(&self) -> io::Result<()> {
        let Some(keep) = self.keep else { return Ok(()) };
        loop {
            let oldest = self.with(|files| {
                let over = files.done.len() + files.open > keep;
                if over { files.done.pop_front() } else { None }
            });
            let Some(oldest) = oldest else { return Ok(()) };
            match std::fs::remove_file(&oldest) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    let message = format!("cannot remove `{}`: {error}", oldest.display());
                    return Err(io::Error::new(error.kind(), message));
                }
                _ => {}
            }
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Files) -> T) -> T {
        change(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
