use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;
use tokio::sync::watch;

use crate::proxy::{FilterFiles, read_source, write_source};
use mitmcraft_engine::filter::{RuleCount, RuleSet, SourceFault};

/// The filter files of a run, to be shown and changed while it runs. What is saved is applied as any
/// change of the files is, by [`FilterFiles::watch`].
#[derive(Debug, Clone)]
pub struct RuleEditor {
    files: FilterFiles,
    sets: watch::Receiver<Vec<RuleSet>>,
    /// Held while a file is compared and replaced.
    saving: Arc<Mutex<()>>,
}

/// The reason why a filter file was not saved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SaveError {
    /// There is no such file.
    #[error("the run has no such filter file")]
    Unknown,
    /// The file is another one than that which was changed.
    #[error("the file has changed on disk since it was read")]
    Changed {
        /// Its text now; `None` if it was deleted.
        text: Option<String>,
    },
    /// The text has errors.
    #[error("the rules have errors")]
    Faults(Vec<SourceFault>),
    /// The file cannot be read or written.
    #[error("cannot save: {0}")]
    Io(#[from] io::Error),
}

impl RuleEditor {
    /// Creates an editor of `files`, whose active rules are in `sets`.
    #[must_use]
    pub fn new(files: FilterFiles, sets: watch::Receiver<Vec<RuleSet>>) -> Self {
        Self { files, sets, saving: Arc::default() }
    }

    /// Returns the files, in the order of their rules.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        self.files.paths()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`SaveError::Unknown`], or why it cannot be read.
    pub fn read(&self, file: usize) -> Result<String, SaveError> {
        let path = self.paths().get(file).ok_or(SaveError::Unknown)?;
        Ok(read_source(path)?)
    }

    /// Returns `true` while the file of the run is not there that the first rule creates.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.files.is_awaited()
    }

    /// Checks a text as the rules of a file.
    #[must_use]
    pub fn check(&self, text: &str) -> Vec<SourceFault> {
        // Rules or a script, whichever it can be: nobody says which file it is the text of.
        let mut checked = self.paths().iter().map(|path| self.files.check(path, text));
        let first = checked.next();
        let valid = first
            .iter()
            .all(|it| it.rules.is_none())
            .then(|| checked.find(|it| it.rules.is_some()));
        valid.flatten().or(first).map(|it| it.faults).unwrap_or_default()
    }

    /// Returns a text that is another one once a file has changed, without reading it; empty if there is none.
    #[must_use]
    pub fn version(&self, file: usize) -> String {
        let metadata = self.paths().get(file).and_then(|path| path.metadata().ok());
        metadata.map_or_else(String::new, |it| format!("{:?} {}", it.modified().ok(), it.len()))
    }

    /// Saves a file whose text was `base` when it was read, or that did not exist if it is `None`.
    ///
    /// # Errors
    /// [`SaveError`]; the file is then as it was.
    pub fn save(&self, file: usize, base: Option<&str>, text: &str) -> Result<(), SaveError> {
        let path = self.paths().get(file).ok_or(SaveError::Unknown)?;
        let checked = self.files.check(path, text);
        if checked.rules.is_none() {
            return Err(SaveError::Faults(checked.faults));
        }
        // Of two that save the same file at the same time, the second finds the text of the first.
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let now = match read_source(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        if now.as_deref() != base {
            return Err(SaveError::Changed { text: now });
        }
        Ok(write_source(path, text)?)
    }

    /// Returns what the active rules of each file did.
    #[must_use]
    pub fn counts(&self) -> Vec<Vec<RuleCount>> {
        self.sets.borrow().iter().map(RuleSet::counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::schema::Catalog;

    #[test]
    fn of_several_that_save_the_same_text_at_once_one_is_told_that_it_is_saved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.toml");
        let files = FilterFiles::new(vec![path.clone()], Catalog::embedded().clone());
        let editor = RuleEditor::new(files, watch::channel(Vec::new()).1);
        for round in 0..60 {
            let base = format!("# {round}\n");
            std::fs::write(&path, &base).unwrap();
            let saved = std::thread::scope(|scope| {
                let save = |page: u32| {
                    editor.save(0, Some(&base), &format!("# {round}, {page}\n")).is_ok()
                };
                let pages: Vec<_> = (0..4).map(|page| scope.spawn(move || save(page))).collect();
                pages.into_iter().map(|page| usize::from(page.join().unwrap())).sum::<usize>()
            });
            assert_eq!(saved, 1, "round {round}");
        }
    }
}
