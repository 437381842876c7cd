use std::fs::File;
use std::io::{BufReader, Read, stdin};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use mitmcraft_engine::capture::{
    Entries, Entry, ReadError, is_table, open_table, read_capture_within,
};
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::schema::Catalog;

use super::{Progress, entry_size, read_ahead};
use crate::cli::args::Memory;
use crate::cli::notice::read_error;
use crate::cli::output::Output;
use crate::cli::stdio::is_stdio;

/// The options of reading captures: the descriptions, the memory, and one progress bar for all of them.
#[derive(Clone)]
pub(crate) struct Reading {
    pub(super) catalog: Catalog,
    pub(super) memory: usize,
    pub(super) output: Output,
    pub(super) progress: Progress,
    /// The only packets that are passed on.
    condition: Option<Expr>,
    /// `true` if another thread decodes the entries of a large file.
    ahead: bool,
}

impl Reading {
    /// Prepares reading these files. A progress bar is shown only if `silent`: no lines on stdout show
    /// progress.
    pub(crate) fn new(
        files: &[PathBuf],
        silent: bool,
        catalog: &Catalog,
        memory: &Memory,
        output: &Output,
    ) -> Self {
        Self {
            catalog: catalog.clone(),
            memory: memory.bytes(),
            output: *output,
            progress: Progress::new(files, silent),
            condition: None,
            ahead: files.len() == 1,
        }
    }

    /// Leaves out packets that do not match, on the threads that decode them.
    pub(crate) fn only(self, condition: Option<Expr>) -> Self {
        Self { condition, ..self }
    }

    /// Decodes entries on the thread that asks for them, which does little else.
    pub(crate) fn inline(self) -> Self {
        Self { ahead: false, ..self }
    }

    /// Opens a capture; `-` is stdin.
    pub(super) fn entries(&self, path: &Path) -> anyhow::Result<Entries> {
        let context = || format!("cannot read `{}`", name(path));
        let opened = self.open(path).map_err(|error| anyhow!(read_error(&error)));
        let (entries, size) = opened.with_context(context)?;
        let entries = self.selected(entries);
        if !self.ahead || size < AHEAD {
            return Ok(entries);
        }
        Ok(Box::new(read_ahead(entries, entry_size).with_context(context)?))
    }

    /// Returns the entries of a capture, and the size of its file.
    fn open(&self, path: &Path) -> Result<(Entries, u64), ReadError> {
        let (reader, size): (Box<dyn Read + Send>, u64) = if is_stdio(path) {
            (Box::new(stdin()), 0)
        } else {
            let mut file = File::open(path)?;
            if is_table(&mut file)? {
                let progress = self.progress.clone();
                let done = move |bytes| progress.add(bytes);
                // A small one has many entries, too.
                return Ok((open_table(file, &self.catalog, self.memory, done)?, u64::MAX));
            }
            let size = file.metadata().map_or(0, |it| it.len());
            (self.progress.of(file), size)
        };
        let reader = BufReader::with_capacity(CHUNK, reader);
        Ok((read_capture_within(reader, &self.catalog, self.memory)?, size))
    }

    /// Prints what is said of a capture.
    pub(super) fn say(&self, say: impl FnOnce(&Output)) {
        self.progress.say(|| say(&self.output));
    }

    fn selected(&self, entries: Entries) -> Entries {
        let Some(condition) = self.condition.clone() else { return entries };
        Box::new(entries.filter(move |read| match read {
            Ok(Entry::Packet(record)) => condition.matches(record),
            _ => true,
        }))
    }
}

/// Returns the name of a capture in messages.
pub(super) fn name(path: &Path) -> String {
    if is_stdio(path) { "stdin".to_owned() } else { path.display().to_string() }
}

/// Size of a file, in bytes, from which another thread reads ahead.
const AHEAD: u64 = 1 << 20;

/// Bytes read at a time.
pub(super) const CHUNK: usize = 64 << 10;
