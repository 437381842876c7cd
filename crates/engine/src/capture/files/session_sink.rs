use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::super::{
    CreateOptions, Entry, FileType, Format, OVERHEAD, Sink, Unrecorded, Wire, WireKind,
};
use super::claim::{claim_new, named};
use super::file_sink::FileSink;
use super::name_pattern::NamePattern;
use super::retention::Retention;
use super::rotating_sink::RotatingSink;
use mitmcraft_protocol::packet::{Context, Timestamp};

/// Writes one file per session, named after it. An existing file is never replaced: `-2` and so on
/// is added to the name.
///
/// A session gets its file with its first packet, so that clients that send nothing cost none. If the
/// name depends on the player, or only some files are kept, entries are held until the player is known, up to 1 MiB of
/// packets; a session without a player (a ping) gets the name `unknown`. Files of those are kept by themselves: however
/// many there are, they push out no player's.
///
/// A file that cannot be created affects its session only, which is reported by
/// [`take_unrecorded`](Sink::take_unrecorded).
pub(super) struct SessionSink {
    pattern: NamePattern,
    kind: FileType,
    options: CreateOptions,
    retention: Retention,
    /// That of sessions that never log in.
    visits: Retention,
    sessions: HashMap<u64, SessionFile>,
    unrecorded: Unrecorded,
    /// Time of the last entry.
    last: Timestamp,
}

/// A session's file, before and after it is created.
enum SessionFile {
    /// Nothing was sent or the name is not known yet: the items held, and the bytes that they count
    /// for.
    Waiting(Vec<HeldItem>, u64),
    Open(OpenFile),
    /// It could not be created.
    Failed,
}

/// An item held until the file's name is known.
enum HeldItem {
    Entry(Entry),
    Wire(Wire),
}

impl HeldItem {
    /// Returns `true` for a packet or for bytes on the wire, and `false` for events, which happen
    /// without a peer sending anything.
    fn is_traffic(&self) -> bool {
        match self {
            Self::Entry(Entry::Packet(_)) => true,
            Self::Wire(wire) => matches!(wire.kind, WireKind::Bytes(..)),
            Self::Entry(Entry::Event(_)) => false,
        }
    }
}

struct OpenFile {
    sink: Box<dyn Sink>,
    /// `None` if the sink itself reports its files to the retention.
    path: Option<PathBuf>,
    retention: Retention,
}

impl SessionSink {
    pub(super) fn new(
        pattern: NamePattern,
        path: &Path,
        kind: FileType,
        options: &CreateOptions,
    ) -> Self {
        let retention = Retention::new(options.keep, path);
        let visits = Retention::of_visits(options.keep, path);
        Self {
            pattern,
            kind,
            options: *options,
            retention,
            visits,
            sessions: HashMap::new(),
            unrecorded: Unrecorded::default(),
            last: Timestamp(0),
        }
    }

    /// Creates a session's file.
    fn begin(&self, context: &Context) -> io::Result<OpenFile> {
        let path = self.pattern.fill(context, context.opened);
        let retention =
            if context.player.is_some() { &self.retention } else { &self.visits }.clone();
        let named = |error| named(&path, error);
        if let Some(folder) = path.parent() {
            self.pattern.make_folders(folder).map_err(named)?;
        }
        if let Some(rotation) = self.options.rotate {
            let files = retention.clone();
            let sink = RotatingSink::create(&path, self.kind, &self.options, rotation, files)?;
            return Ok(OpenFile { sink: Box::new(sink), path: None, retention });
        }
        let (path, file) = claim_numbered(&path)?;
        let sink = FileSink::new(file, &path, self.kind, &self.options)?;
        retention.opened(&path, context.opened)?;
        Ok(OpenFile { sink: Box::new(sink), path: Some(path), retention })
    }

    /// Creates the file of a session that waits for it, and writes what was held. An error is that of the
    /// last entry that was held.
    fn open(&mut self, context: &Context) -> io::Result<()> {
        let session = context.session;
        let held = match self.sessions.remove(&session) {
            Some(SessionFile::Waiting(held, _)) => held,
            _ => Vec::new(),
        };
        let mut file = match self.begin(context) {
            Ok(file) => file,
            Err(error) => {
                self.sessions.insert(session, SessionFile::Failed);
                self.unrecorded.sessions.push((session, error));
                self.unrecorded.entries +=
                    held.iter().filter(|held| matches!(held, HeldItem::Entry(_))).count() as u64;
                return Ok(());
            }
        };
        let mut last = Ok(());
        for held in held {
            match held {
                HeldItem::Entry(entry) => {
                    self.unrecorded.entries += u64::from(last.is_err());
                    last = file.sink.write(&entry);
                }
                // The entry behind it fails for the same reason.
                HeldItem::Wire(wire) => drop(file.sink.wire(&wire)),
            }
        }
        self.sessions.insert(session, SessionFile::Open(file));
        last
    }

    /// Completes the file of a session. What cannot be written is lost, and is counted except the `reported`
    /// entries that the error stands for.
    fn end(&mut self, session: u64, at: Timestamp, reported: u64) -> io::Result<()> {
        let Some(SessionFile::Open(file)) = self.sessions.remove(&session) else {
            return Ok(());
        };
        let OpenFile { mut sink, path, retention } = file;
        let finished = sink.finish();
        self.unrecorded.entries += sink.unwritten().saturating_sub(reported);
        finished?;
        // Windows neither renames nor deletes what is open.
        drop(sink);
        path.map_or(Ok(()), |path| retention.done(path, at))
    }

    fn each(&mut self, act: impl Fn(&mut dyn Sink) -> io::Result<()>) -> io::Result<()> {
        self.sessions.values_mut().try_for_each(|file| match file {
            SessionFile::Open(writing) => act(writing.sink.as_mut()),
            SessionFile::Waiting(..) | SessionFile::Failed => Ok(()),
        })
    }
}

impl Sink for SessionSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let context = entry.context();
        self.last = entry.at();
        let last = entry.is_close();
        let waiting = || SessionFile::Waiting(Vec::new(), 0);
        let written = match self.sessions.entry(context.session).or_insert_with(waiting) {
            SessionFile::Open(writing) => writing.sink.write(entry),
            SessionFile::Failed => {
                self.unrecorded.entries += 1;
                Ok(())
            }
            SessionFile::Waiting(held, bytes) => {
                *bytes += entry.size();
                held.push(HeldItem::Entry(entry.clone()));
                // Whether it is a visit is known by then, too.
                let waits = self.pattern.needs_player() || self.options.keep.is_some();
                let has_name = !waits || context.player.is_some();
                let begins = last || has_name || *bytes >= MAX_HELD;
                match begins && held.iter().any(HeldItem::is_traffic) {
                    true => self.open(context),
                    false => Ok(()),
                }
            }
        };
        if !last {
            return written;
        }
        let ended = self.end(context.session, entry.at(), u64::from(written.is_ok()));
        written.and(ended)
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        // The bytes arrive before the entries decoded from them.
        let waiting = || SessionFile::Waiting(Vec::new(), 0);
        match self.sessions.entry(wire.session).or_insert_with(waiting) {
            SessionFile::Open(writing) => writing.sink.wire(wire),
            SessionFile::Failed => Ok(()),
            SessionFile::Waiting(held, bytes) => {
                *bytes += OVERHEAD;
                if let WireKind::Bytes(_, crossed) = &wire.kind {
                    *bytes += crossed.len() as u64;
                }
                held.push(HeldItem::Wire(wire.clone()));
                Ok(())
            }
        }
    }

    fn take_unrecorded(&mut self) -> Unrecorded {
        let mut all = std::mem::take(&mut self.unrecorded);
        for file in self.sessions.values_mut() {
            if let SessionFile::Open(open) = file {
                all.deleted.append(&mut open.sink.take_unrecorded().deleted);
            }
        }
        all
    }

    fn wants_wire(&self) -> bool {
        self.kind.format == Format::Pcapng && self.options.views.wire
    }

    fn unwritten(&mut self) -> u64 {
        let files = self.sessions.values_mut().map(|file| match file {
            SessionFile::Open(open) => open.sink.unwritten(),
            SessionFile::Waiting(..) | SessionFile::Failed => 0,
        });
        files.sum()
    }

    fn batch_done(&mut self) -> io::Result<()> {
        self.each(|sink| sink.batch_done())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.each(|sink| sink.flush())
    }

    fn finish(&mut self) -> io::Result<()> {
        let open: Vec<u64> = self.sessions.keys().copied().collect();
        let mut finished = Ok(());
        for session in open {
            if let Some(SessionFile::Waiting(held, _)) = self.sessions.get(&session)
                && held.iter().any(HeldItem::is_traffic)
                && let Some(context) = held.iter().find_map(|held| match held {
                    HeldItem::Entry(entry) => Some(entry.context().clone()),
                    HeldItem::Wire(_) => None,
                })
            {
                let opened = self.open(&context);
                self.unrecorded.entries += u64::from(opened.is_err());
                finished = finished.and(opened);
            }
            let ended = self.end(session, self.last, 0);
            finished = finished.and(ended);
        }
        finished
    }
}

/// Creates a file that does not exist. If there is one of that name, `-2` and so on is added to the name.
pub(super) fn claim_numbered(path: &Path) -> io::Result<(PathBuf, File)> {
    for place in 1.. {
        let path = numbered(path, place);
        match claim_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(named(&path, error)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Returns the name of the file at that place among those of the same name: the second one has
/// `-2` in front of its ending, or at its end if the ending is unknown.
fn numbered(path: &Path, place: u32) -> PathBuf {
    if place < 2 {
        return path.to_owned();
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let zip = |name: &'_ str| name.strip_suffix(".zip").map(str::len);
    let split = name
        .and_then(|name| FileType::split_name(name).or_else(|| Some(name.split_at(zip(name)?))));
    match split {
        Some((stem, ending)) => path.with_file_name(format!("{stem}-{place}{ending}")),
        None => {
            let mut name = path.as_os_str().to_owned();
            name.push(format!("-{place}"));
            name.into()
        }
    }
}

/// Greatest number of bytes held for a session whose name is not known.
const MAX_HELD: u64 = 1 << 20;
