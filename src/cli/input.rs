use std::fs::File;
use std::io::{BufReader, IsTerminal as _, Read, stderr, stdin, stdout};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use mitmcraft::capture::{Entries, Entry, EntryError, ReadError, read_capture};
use mitmcraft::schema::Catalog;

use super::output::Output;
use super::recording::is_stdout;

/// The entries of a capture; `-` is stdin. Reading a large one shows how far it is, if stderr is a
/// terminal and no lines that go by on stdout show it.
pub(crate) fn open(path: &Path) -> anyhow::Result<Entries> {
    let (entries, bar) = begin(path, !stdout().is_terminal())?;
    Ok(match bar {
        Some(bar) => Box::new(Metered { entries, bar }),
        None => entries,
    })
}

/// A capture that is read as far as it goes: what is no entry is told and passed over; what ends
/// the capture too early is told by [`end`](Self::end).
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
    /// Opens a capture; `-` is stdin. `silent`: nothing that goes by shows how far it is.
    pub(crate) fn open(path: &Path, silent: bool, output: &'o Output) -> anyhow::Result<Self> {
        let (entries, bar) = begin(path, silent)?;
        Ok(Self { name: name(path), entries, bad: 0, fault: None, bar, output })
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
        let say = || self.output.warning(&format!("`{}`: {}", self.name, worded(error)));
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

/// Takes the bar away when there is no more.
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

/// The entries, and a bar if one is wanted, the capture is large and there is a terminal for it.
fn begin(path: &Path, silent: bool) -> anyhow::Result<(Entries, Option<ProgressBar>)> {
    let context = || format!("cannot read `{}`", name(path));
    let mut bar = None;
    let reader: Box<dyn Read + Send> = match is_stdout(path) {
        true => Box::new(stdin()),
        false => {
            let file = File::open(path).with_context(context)?;
            let size = file.metadata().map_or(0, |it| it.len());
            bar = (silent && size >= LARGE && stderr().is_terminal()).then(|| bar_of(size));
            match &bar {
                Some(bar) => Box::new(bar.wrap_read(file)),
                None => Box::new(file),
            }
        }
    };
    let reader = BufReader::with_capacity(CHUNK, reader);
    let entries = read_capture(reader, Catalog::embedded()).with_context(context)?;
    Ok((entries, bar))
}

/// Words an error, naming the option that is its cause.
fn worded(error: &ReadError) -> String {
    match error {
        ReadError::Entry(_, EntryError::NoBody | EntryError::Encode(_)) => {
            format!("{error} (recorded with `--no-body`)")
        }
        _ => error.to_string(),
    }
}

fn bar_of(size: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:30} {percent:>3}% of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left",
    );
    ProgressBar::new(size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn name(path: &Path) -> String {
    if is_stdout(path) { "stdin".to_owned() } else { path.display().to_string() }
}

/// A capture of so many bytes takes a while.
const LARGE: u64 = 32 << 20;

/// Entries that could not be read are told one by one up to here.
const TOLD: u64 = 10;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;
