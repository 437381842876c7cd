use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The files of one capture that is written to several: so many stay, and the oldest go.
#[derive(Debug, Clone)]
pub(crate) struct Retention {
    keep: Option<usize>,
    files: Arc<Mutex<Files>>,
}

#[derive(Debug, Default)]
struct Files {
    /// Those that are complete, the oldest first.
    done: VecDeque<PathBuf>,
    /// How many are being written: these stay.
    open: usize,
}

impl Retention {
    /// Keeps so many files at most; without a number, all.
    pub(crate) fn new(keep: Option<usize>) -> Self {
        Self { keep, files: Arc::default() }
    }

    /// A file was there before, complete.
    pub(crate) fn found(&self, path: PathBuf) {
        self.with(|files| files.done.push_back(path));
    }

    /// Another file is begun: the oldest go, until there are no more than are kept.
    pub(crate) fn opened(&self) -> io::Result<()> {
        self.with(|files| files.open += 1);
        self.trim()
    }

    /// A file is complete.
    pub(crate) fn done(&self, path: PathBuf) -> io::Result<()> {
        self.with(|files| {
            files.open -= 1;
            files.done.push_back(path);
        });
        self.trim()
    }

    fn trim(&self) -> io::Result<()> {
        let Some(keep) = self.keep else { return Ok(()) };
        loop {
            let oldest = self.with(|files| match files.done.len() + files.open > keep {
                true => files.done.pop_front(),
                false => None,
            });
            let Some(oldest) = oldest else { return Ok(()) };
            match std::fs::remove_file(&oldest) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    let said = format!("cannot remove `{}`: {error}", oldest.display());
                    return Err(io::Error::new(error.kind(), said));
                }
                _ => {}
            }
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Files) -> T) -> T {
        change(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
