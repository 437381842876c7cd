use std::fs::File;
use std::io::{IsTerminal as _, Read, stderr};
use std::path::PathBuf;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::stdio::is_stdio;

/// The progress bar of reading several files, if there is one. It is removed when the last copy is dropped.
#[derive(Clone)]
pub(crate) struct Progress(Option<Arc<Bar>>);

struct Bar(ProgressBar);

impl Progress {
    /// Begins to read these files. A bar is shown if they are large, stderr is a terminal, and no lines on
    /// stdout show progress: `silent`.
    pub(crate) fn new(files: &[PathBuf], silent: bool) -> Self {
        let length = |path: &PathBuf| match is_stdio(path) {
            true => 0,
            false => path.metadata().map_or(0, |it| it.len()),
        };
        let size = files.iter().map(length).sum();
        let shown = silent && size >= LARGE && stderr().is_terminal();
        Self(shown.then(|| Arc::new(Bar::of(size))))
    }

    /// Ends: the bar is removed once all copies have ended.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }

    /// Returns a reader of a file that moves the bar.
    pub(crate) fn of(&self, file: File) -> Box<dyn Read + Send> {
        match &self.0 {
            Some(bar) => Box::new(bar.0.wrap_read(file)),
            None => Box::new(file),
        }
    }

    /// Moves the bar by `bytes`.
    pub(super) fn add(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.0.inc(bytes);
        }
    }

    /// Prints a message, above the bar if there is one.
    pub(crate) fn say(&self, say: impl FnOnce()) {
        match &self.0 {
            Some(bar) => bar.0.suspend(say),
            None => say(),
        }
    }
}

impl Bar {
    fn of(size: u64) -> Self {
        let style = ProgressStyle::with_template(
            "{bar:30} {percent:>3}% of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left",
        );
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(ProgressBar::new(size).with_style(style))
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Size of files, in bytes, from which reading them takes noticeable time.
const LARGE: u64 = 32 << 20;
