use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::super::{CreateOptions, Entry, EventKind, FileType, Sink, Wire};
use super::claim::{claim_new, named};
use super::file_sink::FileSink;
use super::retention::Retention;
use super::rotation::Rotation;
use mitmcraft_protocol::packet::Timestamp;

/// Writes a capture to a series of numbered files, `session-00001.jsonl` and so on, beginning the
/// next one when a file has reached its size or age.
///
/// Each file is a complete capture: a session's first entry in it is preceded by the session's
/// opening and its last change of state. Numbering continues after existing files.
pub(super) struct RotatingSink {
    series: FileSeries,
    file_type: FileType,
    options: CreateOptions,
    rotation: Rotation,
    /// For the parts of a lake: their age, and who compacts them.
    lake: Option<(Duration, Sender<PathBuf>)>,
    retention: Retention,
    current: Option<CurrentFile>,
    /// The open sessions.
    sessions: HashMap<u64, SessionHistory>,
    /// Time of the last entry.
    last: Timestamp,
}

/// The names of the files of a series.
struct FileSeries {
    folder: PathBuf,
    stem: String,
    ending: String,
    /// The number to try for the next file.
    number: u64,
}

/// The file being written.
struct CurrentFile {
    path: PathBuf,
    sink: FileSink,
    /// Time of its first entry.
    first: Option<Timestamp>,
    /// The sessions with an entry in the file.
    introduced: HashSet<u64>,
}

/// The events that introduce a session in a new file.
#[derive(Default)]
struct SessionHistory {
    open: Option<Entry>,
    state: Option<Entry>,
}

impl RotatingSink {
    /// Creates the first file.
    pub(super) fn create(
        path: &Path,
        file_type: FileType,
        options: &CreateOptions,
        rotation: Rotation,
        retention: Retention,
    ) -> io::Result<Self> {
        let mut series = FileSeries::of(path)?;
        series.number = series.after_existing()?;
        let mut sink = Self {
            series,
            file_type,
            options: *options,
            rotation,
            lake: None,
            retention,
            current: None,
            sessions: HashMap::new(),
            last: Timestamp(0),
        };
        sink.current = Some(sink.next()?);
        Ok(sink)
    }

    /// Also closes a file at that age and at midnight (UTC), and passes on each that is closed.
    pub(super) fn into_lake(self, age: Duration, closed: Sender<PathBuf>) -> Self {
        Self { lake: Some((age, closed)), ..self }
    }

    /// Closes a file with entries that is full at the time `at`.
    pub(super) fn close_due(&mut self, at: Timestamp) -> io::Result<()> {
        if self.is_due(at) { self.close(at) } else { Ok(()) }
    }

    fn is_due(&self, at: Timestamp) -> bool {
        let Some(CurrentFile { sink, first, .. }) = &self.current else { return false };
        let day = |at: Timestamp| at.0 / NANOS_PER_DAY;
        self.rotation.is_due(sink.written(), *first, at)
            || self.lake.as_ref().is_some_and(|(age, _)| {
                first.is_some_and(|first| at >= first.plus(*age) || day(at) != day(first))
            })
    }

    /// Completes the current file.
    fn close(&mut self, at: Timestamp) -> io::Result<()> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        if let Err(error) = current.sink.finish() {
            self.current = Some(current);
            return Err(error);
        }
        let CurrentFile { path, sink, .. } = current;
        // Windows neither renames nor deletes what is open.
        drop(sink);
        if let Some((_, closed)) = &self.lake {
            // Without a receiver, the next program finds it.
            let _ = closed.send(path.clone());
        }
        self.retention.done(path, at)
    }

    fn next(&mut self) -> io::Result<CurrentFile> {
        let (file, path) = self.series.create()?;
        let sink = FileSink::new(file, &path, self.file_type, &self.options)?;
        self.retention.opened(&path, self.last)?;
        Ok(CurrentFile { path, sink, first: None, introduced: HashSet::new() })
    }

    /// Returns the file for what happened at `at`, beginning a new one if the current one is full.
    fn current(&mut self, at: Timestamp) -> io::Result<&mut CurrentFile> {
        self.last = at;
        self.close_due(at)?;
        let current = match self.current.take() {
            Some(current) => current,
            None => self.next()?,
        };
        let current = self.current.insert(current);
        current.first.get_or_insert(at);
        Ok(current)
    }

    /// Writes an entry, behind the events that introduce its session to the file.
    fn put(&mut self, entry: &Entry) -> io::Result<()> {
        let session = entry.context().session;
        self.current(entry.at())?;
        let Some(current) = &mut self.current else { return Ok(()) };
        if !current.introduced.contains(&session)
            && let Some(known) = self.sessions.get(&session)
        {
            for before in known.open.iter().chain(&known.state) {
                current.sink.write(before)?;
            }
        }
        current.introduced.insert(session);
        current.sink.write(entry)
    }

    /// Remembers the events that introduce a session.
    fn remember(&mut self, entry: &Entry) {
        let Entry::Event(event) = entry else { return };
        let session = event.context.session;
        match event.kind {
            EventKind::Open => {
                self.sessions
                    .insert(session, SessionHistory { open: Some(entry.clone()), state: None });
            }
            EventKind::State(_) => {
                self.sessions.entry(session).or_default().state = Some(entry.clone());
            }
            EventKind::Close(_) => {
                self.sessions.remove(&session);
                if let Some(current) = &mut self.current {
                    current.introduced.remove(&session);
                }
            }
        }
    }
}

impl Sink for RotatingSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let written = self.put(entry);
        // Also if it is not in this file: the next one begins with it.
        self.remember(entry);
        written
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        self.current(wire.at)?.sink.wire(wire)
    }

    fn wants_wire(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.sink.wants_wire())
    }

    fn inner(&mut self) -> Option<&mut dyn Sink> {
        self.current.as_mut().map(|current| &mut current.sink as &mut dyn Sink)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.close(self.last)
    }
}

/// Nanoseconds.
const NANOS_PER_DAY: u64 = 24 * 3600 * 1_000_000_000;

impl FileSeries {
    fn of(path: &Path) -> io::Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str());
        let split = name.and_then(FileType::split_name);
        let (stem, ending) = split.ok_or(ErrorKind::InvalidInput)?;
        let folder = path.parent().unwrap_or_else(|| Path::new("")).to_owned();
        Ok(Self { folder, stem: format!("{stem}-"), ending: ending.to_owned(), number: 1 })
    }

    /// Returns the number behind those of the existing files of the series.
    fn after_existing(&self) -> io::Result<u64> {
        let here = self.folder.as_os_str().is_empty();
        let folder = if here { Path::new(".") } else { &self.folder };
        let mut next = self.number;
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let digits = name.to_str().and_then(|name| {
                let digits = name.strip_prefix(&*self.stem)?.strip_suffix(&*self.ending)?;
                digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)
            });
            let number = digits.and_then(|digits| digits.parse::<u64>().ok());
            next = next.max(number.and_then(|number| number.checked_add(1)).unwrap_or(next));
        }
        Ok(next)
    }

    /// Creates the next file. Never replaces an existing one.
    fn create(&mut self) -> io::Result<(File, PathBuf)> {
        loop {
            let name = format!("{}{:05}{}", self.stem, self.number, self.ending);
            let path = self.folder.join(name);
            self.number += 1;
            match claim_new(&path) {
                Ok(file) => return Ok((file, path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(named(&path, error)),
            }
        }
    }
}
