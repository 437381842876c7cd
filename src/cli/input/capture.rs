use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use mitmcraft_engine::capture::{
    Entries, Entry, EntryError, JoinedSessions, ReadError, Sink, is_table, read_capture_within,
};

use super::followed_file::FollowedFile;
use super::reading::{CHUNK, name};
use super::{InOrder, Reading, entry_size};
use crate::cli::exit::{chain, last_error};
use crate::cli::notice::read_error;
use crate::cli::stdio::is_stdio;

/// Captures that are read as far as possible, one after the other: invalid entries are reported and
/// skipped; [`end`](Self::end) reports what ended a capture early.
///
/// Several captures are decoded at the same time, and are one: a session of which several have parts is
/// one session, and others get numbers of their own.
pub(crate) struct Input {
    steps: Box<dyn Iterator<Item = Step> + Send>,
    /// The sessions, if there are several files.
    sessions: Option<JoinedSessions>,
    /// The names of the files.
    names: Vec<String>,
    /// The place of the current one.
    current: usize,
    /// The entry that [`read_first`](Self::read_first) has read.
    ahead: Option<Entry>,
    /// Entries of the current file that could not be read.
    invalid: u64,
    /// The error that ended the current file early.
    fault: Option<ReadError>,
    /// The errors of the files before.
    damage: Vec<anyhow::Error>,
    /// `true` if more open sessions than fit the memory end reading.
    strict: bool,
    reading: Reading,
}

/// A step of reading files.
enum Step {
    /// The file at this place begins.
    Begin(usize),
    /// It cannot be opened.
    Failed(anyhow::Error),
    Read(Result<Entry, ReadError>),
}

impl Input {
    /// Opens captures; `-` is stdin.
    pub(crate) fn open(files: &[PathBuf], reading: &Reading) -> anyhow::Result<Self> {
        let steps: Box<dyn Iterator<Item = Step> + Send> = match files {
            [file] => Box::new(reading.entries(file)?.map(Step::Read)),
            _ => Box::new(steps(files, reading)?),
        };
        Ok(Self::new(files, steps, reading))
    }

    /// Opens a capture that is still being written: reading waits at its end for more.
    pub(crate) fn follow(path: &Path, reading: &Reading) -> anyhow::Result<Self> {
        if is_stdio(path) {
            bail!("`--follow` cannot follow stdin, which is read to its end anyway");
        }
        let context = || format!("cannot follow `{}`", name(path));
        if is_table(&mut File::open(path).with_context(context)?)? {
            bail!("`--follow` cannot follow `{}`: a Parquet file is complete", name(path));
        }
        let file = FollowedFile::open(path).with_context(context)?;
        let reader = BufReader::with_capacity(CHUNK, file);
        let entries = read_capture_within(reader, &reading.catalog, reading.memory);
        let entries = entries.with_context(context)?;
        Ok(Self::new(&[path.to_owned()], Box::new(entries.map(Step::Read)), reading))
    }

    fn new(
        files: &[PathBuf],
        steps: Box<dyn Iterator<Item = Step> + Send>,
        reading: &Reading,
    ) -> Self {
        Self {
            steps,
            sessions: (files.len() > 1).then(JoinedSessions::default),
            names: files.iter().map(|path| name(path)).collect(),
            current: 0,
            ahead: None,
            invalid: 0,
            fault: None,
            damage: Vec::new(),
            strict: false,
            reading: reading.clone(),
        }
    }

    /// Ends reading with an error when more sessions are open than fit the memory: what is made of the
    /// entries needs all that is known of them.
    pub(crate) fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Keeps the sessions of different files apart: they have the numbers that they have in their file.
    pub(crate) fn apart(self) -> Self {
        Self { sessions: None, ..self }
    }

    /// Reads the first entry, which [`next`](Self::next) returns later. A verb that writes a file does
    /// this before it creates the file.
    ///
    /// # Errors
    /// If no entry can be read because the captures are damaged; an empty capture is valid.
    pub(crate) fn read_first(mut self) -> anyhow::Result<Self> {
        self = self.strict();
        self.ahead = self.next();
        match self.ahead {
            Some(_) => Ok(self),
            None => match self.take_damage() {
                None => Ok(self),
                Some(damage) => Err(damage),
            },
        }
    }

    /// Returns the entries with the errors of reading them, for those who judge errors themselves.
    pub(crate) fn into_entries(mut self) -> Entries {
        Box::new(std::iter::from_fn(move || {
            loop {
                match self.steps.next()? {
                    Step::Begin(place) => self.begin(place),
                    Step::Failed(error) => {
                        return Some(Err(ReadError::Io(std::io::Error::other(chain(&error)))));
                    }
                    Step::Read(Ok(entry)) => {
                        if let Some(entry) = self.join(entry) {
                            return Some(Ok(entry));
                        }
                    }
                    Step::Read(Err(error)) => return Some(Err(error)),
                }
            }
        }))
    }

    /// Reads a capture into a sink, which `begin` tells its name once it is open.
    pub(crate) fn judge<S: Sink>(
        path: &Path,
        reading: &Reading,
        sink: &mut S,
        begin: fn(&mut S, &str),
    ) -> anyhow::Result<()> {
        let mut input = Self::open(&[path.to_owned()], reading)?;
        begin(sink, &path.display().to_string());
        input.by_ref().try_for_each(|entry| sink.write(&entry))?;
        sink.finish()?;
        input.end()
    }

    /// Ends reading.
    ///
    /// # Errors
    /// If a capture is damaged or truncated, or had invalid entries. Of several, all but the last are
    /// reported.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.take_damage().map_or(Ok(()), Err)
    }

    fn take_damage(&mut self) -> Option<anyhow::Error> {
        self.close();
        let mut last = None;
        let damage = std::mem::take(&mut self.damage);
        self.reading.say(|output| last = last_error(damage, output));
        last
    }

    /// Begins the file at a place.
    fn begin(&mut self, place: usize) {
        self.close();
        self.current = place;
        if let Some(sessions) = &mut self.sessions {
            sessions.begin();
        }
    }

    /// Notes what is wrong with the current file, as far as it was read.
    fn close(&mut self) {
        let Some(name) = self.names.get(self.current) else { return };
        let damage = match (self.fault.take(), std::mem::take(&mut self.invalid)) {
            (Some(fault), _) => anyhow!("`{name}`: {}", read_error(&fault)),
            (None, 0) => return,
            (None, 1) => anyhow!("`{name}`: 1 entry could not be read"),
            (None, invalid) => anyhow!("`{name}`: {invalid} entries could not be read"),
        };
        self.damage.push(damage);
    }

    /// Returns an entry as one of all files; `None` if it is known from the file before.
    fn join(&mut self, entry: Entry) -> Option<Entry> {
        match &mut self.sessions {
            Some(sessions) => sessions.take(entry),
            None => Some(entry),
        }
    }

    fn report(&self, error: &ReadError) {
        if self.invalid <= REPORTED {
            let text = format!("`{}`: {}", self.names[self.current], read_error(error));
            self.reading.say(|output| output.warning(&text));
        }
    }
}

impl Iterator for Input {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if let Some(entry) = self.ahead.take() {
            return Some(entry);
        }
        loop {
            let Some(step) = self.steps.next() else {
                self.reading.progress.end();
                return None;
            };
            match step {
                Step::Begin(place) => self.begin(place),
                Step::Failed(error) => self.damage.push(error),
                Step::Read(Ok(entry)) => {
                    if let Some(entry) = self.join(entry) {
                        return Some(entry);
                    }
                }
                Step::Read(Err(error @ ReadError::Entry(_, EntryError::Sessions { .. }))) => {
                    if self.strict {
                        self.fault = Some(error);
                        self.steps = Box::new(std::iter::empty());
                        return None;
                    }
                    self.report(&error);
                }
                Step::Read(Err(error @ ReadError::Entry(..))) => {
                    self.invalid += 1;
                    self.report(&error);
                }
                Step::Read(Err(error)) if self.fault.is_some() => {
                    self.invalid += 1;
                    self.report(&error);
                }
                Step::Read(Err(error)) => self.fault = Some(error),
            }
        }
    }
}

/// Decodes several files at the same time. Those that cannot be opened are found before the first is read.
fn steps(files: &[PathBuf], reading: &Reading) -> anyhow::Result<InOrder<Step>> {
    for path in files.iter().filter(|path| !is_stdio(path)) {
        File::open(path).with_context(|| format!("cannot read `{}`", name(path)))?;
    }
    let (count, files, reading) = (files.len(), files.to_vec(), reading.clone());
    let steps = InOrder::new(count, move |place, outlet| {
        if !outlet.put(Step::Begin(place), 0) {
            return;
        }
        match reading.entries(&files[place]) {
            Ok(mut entries) => {
                let bytes = |read: &Result<Entry, _>| read.as_ref().map_or(0, entry_size);
                entries.all(|read| {
                    let bytes = bytes(&read);
                    outlet.put(Step::Read(read), bytes)
                });
            }
            Err(error) => {
                outlet.put(Step::Failed(error), 0);
            }
        }
    });
    steps.context("cannot start a thread")
}

/// Number of invalid entries of a file that are reported one by one.
const REPORTED: u64 = 10;
