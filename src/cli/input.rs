use std::fs::File;
use std::io::{BufReader, IsTerminal as _, Read, stderr, stdin, stdout};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use mitmcraft_engine::capture::{
    Entries, Entry, EntryError, ReadError, is_table, open_table, read_capture_within,
};
use mitmcraft_protocol::schema::Catalog;

use super::args::Memory;
use super::followed_file::FollowedFile;
use super::notice::read_error;
use super::output::Output;
use super::read_ahead::{ReadAhead, entry_size};
use super::stdio::is_stdio;

/// Opens a capture; `-` is stdin. Reading a large one shows a progress bar, if stderr is a terminal
/// and no lines on stdout show progress already.
pub(crate) fn open(path: &Path, catalog: &Catalog, memory: &Memory) -> anyhow::Result<Entries> {
    let (entries, bar) = begin(path, !stdout().is_terminal(), catalog, memory)?;
    Ok(match bar {
        Some(bar) => Box::new(Metered { entries, bar }),
        None => entries,
    })
}

/// A capture that is read as far as possible: invalid entries are reported and skipped;
/// [`end`](Self::end) reports what ended the capture early.
pub(crate) struct Input<'o> {
    name: String,
    entries: Entries,
    /// The entry that [`read_ahead`](Self::read_ahead) has read.
    ahead: Option<Entry>,
    /// Entries that could not be read.
    invalid: u64,
    fault: Option<ReadError>,
    /// `true` if more open sessions than fit the memory end reading.
    strict: bool,
    bar: Option<ProgressBar>,
    output: &'o Output,
}

impl<'o> Input<'o> {
    /// Opens a capture; `-` is stdin. A progress bar is shown only if `silent`: no lines on stdout
    /// show progress.
    pub(crate) fn open(
        path: &Path,
        silent: bool,
        catalog: &Catalog,
        memory: &Memory,
        output: &'o Output,
    ) -> anyhow::Result<Self> {
        let (entries, bar) = begin(path, silent, catalog, memory)?;
        Ok(Self {
            name: name(path),
            entries,
            ahead: None,
            invalid: 0,
            fault: None,
            strict: false,
            bar,
            output,
        })
    }

    /// Opens a capture that is still being written: reading waits at its end for more.
    pub(crate) fn follow(
        path: &Path,
        catalog: &Catalog,
        memory: &Memory,
        output: &'o Output,
    ) -> anyhow::Result<Self> {
        if is_stdio(path) {
            bail!("`--follow` cannot follow stdin, which is read to its end anyway");
        }
        let context = || format!("cannot follow `{}`", name(path));
        if is_table(&mut File::open(path).with_context(context)?)? {
            bail!("`--follow` cannot follow `{}`: a Parquet file is complete", name(path));
        }
        let file = FollowedFile::open(path).with_context(context)?;
        let reader = BufReader::with_capacity(CHUNK, file);
        let entries = read_capture_within(reader, catalog, memory.bytes()).with_context(context)?;
        Ok(Self {
            name: name(path),
            entries,
            ahead: None,
            invalid: 0,
            fault: None,
            strict: false,
            bar: None,
            output,
        })
    }

    /// Ends reading with an error when more sessions are open than fit the memory: what is made of the
    /// entries needs all that is known of them.
    pub(crate) fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Reads the first entry, which [`next`](Self::next) returns later. A verb that writes a file does
    /// this before it creates the file.
    ///
    /// # Errors
    /// If no entry can be read because the capture is damaged; an empty capture is valid.
    pub(crate) fn read_ahead(mut self) -> anyhow::Result<Self> {
        self = self.strict();
        self.ahead = self.next();
        match self.ahead {
            Some(_) => Ok(self),
            None => self.damage().map_or_else(|| Ok(self), Err),
        }
    }

    /// Ends reading.
    ///
    /// # Errors
    /// If the capture is damaged or truncated, or had invalid entries.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.damage().map_or(Ok(()), Err)
    }

    /// Returns what is wrong with the capture, as far as it was read, and removes the progress bar.
    fn damage(&mut self) -> Option<anyhow::Error> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let name = &self.name;
        match (self.fault.take(), self.invalid) {
            (Some(fault), _) => Some(anyhow!("`{name}`: {}", read_error(&fault))),
            (None, 0) => None,
            (None, 1) => Some(anyhow!("`{name}`: 1 entry could not be read")),
            (None, invalid) => Some(anyhow!("`{name}`: {invalid} entries could not be read")),
        }
    }

    fn report(&self, error: &ReadError) {
        let say = || self.output.warning(&format!("`{}`: {}", self.name, read_error(error)));
        match (self.invalid, &self.bar) {
            (..=REPORTED, Some(bar)) => bar.suspend(say),
            (..=REPORTED, None) => say(),
            _ => {}
        }
    }
}

impl Iterator for Input<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if let Some(entry) = self.ahead.take() {
            return Some(entry);
        }
        loop {
            match self.entries.next()? {
                Ok(entry) => return Some(entry),
                Err(error @ ReadError::Entry(_, EntryError::Sessions { .. })) if !self.strict => {
                    self.report(&error);
                }
                Err(error @ ReadError::Entry(_, EntryError::Sessions { .. })) => {
                    self.fault = Some(error);
                    return None;
                }
                Err(error @ ReadError::Entry(..)) => {
                    self.invalid += 1;
                    self.report(&error);
                }
                Err(error) => {
                    self.fault = Some(error);
                    return None;
                }
            }
        }
    }
}

/// Removes the progress bar after the last entry.
struct Metered {
    entries: Entries,
    bar: ProgressBar,
}

impl Iterator for Metered {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.entries.next();
        if !matches!(next, Some(Ok(_))) {
            self.bar.finish_and_clear();
        }
        next
    }
}

/// Opens a capture, with a progress bar if `silent`, the capture is large and stderr is a terminal.
fn begin(
    path: &Path,
    silent: bool,
    catalog: &Catalog,
    memory: &Memory,
) -> anyhow::Result<(Entries, Option<ProgressBar>)> {
    let context = || format!("cannot read `{}`", name(path));
    let (mut bar, mut size) = (None, 0);
    let reader: Box<dyn Read + Send> = if is_stdio(path) {
        Box::new(stdin())
    } else {
        let mut file = File::open(path).with_context(context)?;
        if is_table(&mut file).with_context(context)? {
            let entries = open_table(file, catalog, memory.bytes());
            let entries = entries.map_err(|error| anyhow!(read_error(&error)));
            let entries = ReadAhead::new(entries.with_context(context)?, entry_size);
            return Ok((Box::new(entries.with_context(context)?), None));
        }
        size = file.metadata().map_or(0, |it| it.len());
        bar = (silent && size >= LARGE && stderr().is_terminal()).then(|| bar_of(size));
        match &bar {
            Some(bar) => Box::new(bar.wrap_read(file)),
            None => Box::new(file),
        }
    };
    let reader = BufReader::with_capacity(CHUNK, reader);
    let entries = read_capture_within(reader, catalog, memory.bytes());
    let entries = entries.map_err(|error| anyhow!(read_error(&error))).with_context(context)?;
    if size < AHEAD {
        return Ok((entries, bar));
    }
    Ok((Box::new(ReadAhead::new(entries, entry_size).with_context(context)?), bar))
}

fn bar_of(size: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:30} {percent:>3}% of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left",
    );
    ProgressBar::new(size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn name(path: &Path) -> String {
    if is_stdio(path) { "stdin".to_owned() } else { path.display().to_string() }
}

/// Size of a file, in bytes, from which reading it takes noticeable time.
const LARGE: u64 = 32 << 20;

/// Size of a file, in bytes, from which another thread reads ahead.
const AHEAD: u64 = 1 << 20;

/// Number of invalid entries that are reported one by one.
const REPORTED: u64 = 10;

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;
