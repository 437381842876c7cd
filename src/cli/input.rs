use std::fs::File;
use std::io::{BufReader, IsTerminal as _, Read, stderr, stdin};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use mitmcraft::capture::{Entries, Entry, ReadError, read_capture};
use mitmcraft::schema::Catalog;

use super::output::Output;
use super::recording::is_stdout;

/// A capture that is read: `-` is stdin. What is no entry is told and passed over; what ends the
/// capture too early is told by [`end`](Self::end).
pub(crate) struct Input<'o> {
    name: String,
    entries: Entries,
    /// Entries that could not be read.
    bad: u64,
    fault: Option<ReadError>,
    bar: Option<ProgressBar>,
    output: &'o Output,
}

impl<'o> Input<'o> {
    /// Opens a capture. A large one gets a bar on a terminal's stderr, if wanted.
    pub(crate) fn open(
        path: &Path,
        catalog: &Catalog,
        wants_bar: bool,
        output: &'o Output,
    ) -> anyhow::Result<Self> {
        let name = match is_stdout(path) {
            true => "stdin".to_owned(),
            false => path.display().to_string(),
        };
        let context = || format!("cannot read `{name}`");
        let mut bar = None;
        let reader: Box<dyn Read + Send> = match is_stdout(path) {
            true => Box::new(stdin()),
            false => {
                let file = File::open(path).with_context(context)?;
                let size = file.metadata().map_or(0, |it| it.len());
                bar = (wants_bar && size >= LARGE && stderr().is_terminal()).then(|| begin(size));
                match &bar {
                    Some(bar) => Box::new(bar.wrap_read(file)),
                    None => Box::new(file),
                }
            }
        };
        let reader = BufReader::with_capacity(CHUNK, reader);
        let entries = read_capture(reader, catalog).with_context(context)?;
        Ok(Self { name, entries, bad: 0, fault: None, bar, output })
    }

    /// Says how it ended: an error when the capture is damaged or cut off, or had what is no entry.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(fault) = self.fault {
            return Err(fault).with_context(|| format!("`{}`", self.name));
        }
        match self.bad {
            0 => Ok(()),
            1 => Err(anyhow!("`{}`: one entry could not be read", self.name)),
            bad => Err(anyhow!("`{}`: {bad} entries could not be read", self.name)),
        }
    }

    fn tell(&self, error: &ReadError) {
        let say = || self.output.warning(&format!("`{}`: {error}", self.name));
        match (self.bad, &self.bar) {
            (..=TOLD, Some(bar)) => bar.suspend(say),
            (..=TOLD, None) => say(),
            _ => {}
        }
    }
}

impl Iterator for Input<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            match self.entries.next()? {
                Ok(entry) => return Some(entry),
                Err(error @ ReadError::Entry(..)) => {
                    self.bad += 1;
                    self.tell(&error);
                }
                Err(error) => {
                    self.fault = Some(error);
                    return None;
                }
            }
        }
    }
}

fn begin(size: u64) -> ProgressBar {
    let template =
        "{bar:30} {percent:>3}% of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(size).with_style(style)
}

/// A capture of so many bytes takes a while.
const LARGE: u64 = 32 << 20;

/// Entries that could not be read are told one by one up to here.
const TOLD: u64 = 10;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;
