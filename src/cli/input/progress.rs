use std::fs::File;
use std::io::{IsTerminal as _, Read, stderr};
use std::path::PathBuf;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::stdio::is_stdio;

/// The progress bar of reading several files, hidden if there is none. It is removed when the last copy is
/// dropped.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Bar>);

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
        Self(Arc::new(Bar(if shown { bar(size) } else { ProgressBar::hidden() })))
    }

    /// Ends: the bar is removed once all copies have ended.
    pub(super) fn end(&mut self) {
        self.0 = Arc::new(Bar(ProgressBar::hidden()));
    }

    /// Returns a reader of a file that moves the bar.
    pub(crate) fn of(&self, file: File) -> Box<dyn Read + Send> {
        Box::new(self.0.0.wrap_read(file))
    }

    /// Moves the bar by `bytes`.
    pub(super) fn add(&self, bytes: u64) {
        self.0.0.inc(bytes);
    }

    /// Prints a message, above the bar if there is one.
    pub(crate) fn say(&self, say: impl FnOnce()) {
        self.0.0.suspend(say);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn bar(size: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:30} {percent:>3}% of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left",
    );
    ProgressBar::new(size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Size of files, in bytes, from which reading them takes noticeable time.
const LARGE: u64 = 32 << 20;
