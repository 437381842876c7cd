use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::captures::Captures;
use super::session::Legs;
use super::{
    Annotation, Archive, CHUNK_ROWS, Chunk, InCapture, Job, Limit, Losses, OpenChunk, Rows,
    SavedNotes, Snapshot, StoreOptions, Stored,
};
use mitmcraft_engine::analysis::{CountingSink, JoinCheck};
use mitmcraft_engine::capture::{BodyPlace, Entry, Event, EventKind, Record, Sink as _};
use mitmcraft_protocol::packet::{Context, Timestamp};

/// What a [`Store`](super::Store) has in memory. Nothing here waits for the disk.
///
/// A full chunk is [work for the disk](Job): its bytes remain in memory until they are written. If too many wait
/// for that, the bytes of further chunks are dropped.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// The complete chunks, oldest first: those of the archive, then those of the window.
    pub(super) sealed: VecDeque<Chunk>,
    /// The number of contexts that each of them has and the one before has not, and their sum.
    fresh: VecDeque<usize>,
    contexts: usize,
    pub(super) archive: Option<Archive>,
    /// Why older packets are not held.
    pub(super) limit: Option<Limit>,
    pub(super) open: OpenChunk,
    /// The number of the first row in `open`.
    pub(super) first: u64,
    /// The chunks whose bytes wait to be written: their first rows and the lengths of the bytes.
    unwritten: VecDeque<(u64, usize)>,
    /// The sum of those lengths.
    unwritten_bytes: usize,
    /// Memory for the bytes of the next chunk.
    spare: Vec<u8>,
    /// Places on disk that are no longer used. Dropping them closes files, which may take a while.
    pub(super) unused: Vec<Stored>,
    /// Bytes of `sealed` on disk.
    on_disk: u64,
    pub(super) losses: Losses,
    pub(super) counts: CountingSink,
    joins: JoinCheck,
    /// For each session that closed before its player saw the world, what it still waited for, in words.
    stuck: BTreeMap<u64, String>,
    pub(super) legs: Arc<Legs>,
    /// By row.
    pub(super) annotations: Arc<BTreeMap<u64, Annotation>>,
    /// The rows about which people have noted something, also if it is what was there before.
    pub(super) touched: BTreeSet<u64>,
    /// The outcome when marks and comments were saved last; `None` if they never were.
    pub(super) saved: Option<Arc<SavedNotes>>,
    pub(super) captures: Captures,
    pub(super) complete: bool,
}

impl Inner {
    pub(super) fn new() -> Self {
        Self { counts: CountingSink::keeping(MAX_SESSIONS, MAX_SESSIONS), ..Self::default() }
    }

    /// Takes an entry. Returns `true` if that made work for the disk.
    pub(super) fn take(
        &mut self,
        entry: &Entry,
        place: Option<&InCapture>,
        also: Option<&[BodyPlace]>,
        options: &StoreOptions,
    ) -> bool {
        let also = also.filter(|_| self.archive.is_some());
        let renumbered = self.captures.renumber(entry.context());
        let context = renumbered.as_ref().unwrap_or_else(|| entry.context());
        let mut is_full = false;
        match entry {
            Entry::Packet(record) if record.notes.as_ref().is_some_and(|it| it.hidden) => {
                return false;
            }
            Entry::Packet(record) => {
                let unmarked = self.take_mark(record);
                let record = unmarked.as_ref().unwrap_or(record);
                self.open.push(record, context, place, also);
                is_full = self.open.is_full();
                if is_full {
                    self.seal();
                    self.forget(options);
                }
            }
            Entry::Event(event) => self.event(event, context),
        }
        self.count(entry, renumbered);
        self.forget_sessions();
        is_full
    }

    /// Returns the next work for the disk. [`finish`](Self::finish) must follow before it is called again.
    pub(super) fn next_job(&mut self, options: &StoreOptions) -> Option<Job> {
        // First, because the rows of these chunks are still in memory.
        if let Some(archive) = &self.archive
            && let Some(oldest) = self.sealed.get(archive.chunks)
            && self.is_beyond(oldest, options)
        {
            return Some(Job::Archive(oldest.clone()));
        }
        while let Some(&(first, length)) = self.unwritten.front() {
            if let Some(chunk) = self.sealed_mut(first)
                && let Stored::Memory(bytes) = &chunk.stored
            {
                return Some(Job::Write(first, bytes.clone()));
            }
            self.unwritten.pop_front();
            self.unwritten_bytes -= length;
        }
        None
    }

    /// Takes the places on disk of what a job has written.
    pub(super) fn finish(&mut self, job: Job, written: io::Result<Stored>, options: &StoreOptions) {
        let stored = written.unwrap_or_else(|error| {
            self.losses.error = Some(Arc::new(error));
            Stored::Lost
        });
        match job {
            Job::Write(first, bytes) => self.finish_write(first, bytes, stored),
            Job::Archive(chunk) => {
                let chunks = self.archive.as_ref().map_or(0, |archive| archive.chunks);
                match self.sealed.get(chunks) {
                    Some(oldest) if oldest.first == chunk.first => self.archive_oldest(stored),
                    // It was too late.
                    _ => self.discard(stored),
                }
            }
        }
        self.forget(options);
    }

    fn finish_write(&mut self, first: u64, mut bytes: Bytes, stored: Stored) {
        self.unwritten.pop_front();
        self.unwritten_bytes -= bytes.len();
        let on_disk = stored.on_disk();
        match self.sealed_mut(first) {
            // It may have been forgotten or archived meanwhile.
            Some(chunk) if matches!(chunk.stored, Stored::Memory(_)) => {
                let (rows, lost) = (chunk.len() as u64, matches!(stored, Stored::Lost));
                chunk.stored = stored;
                self.on_disk += on_disk;
                self.losses.bodies += if lost { rows } else { 0 };
            }
            _ => self.discard(stored),
        }
        if bytes.is_unique() {
            bytes.clear();
            self.spare = bytes.into();
        }
    }

    /// Takes the mark of a packet that was read from a capture, and returns the packet without it.
    fn take_mark(&mut self, record: &Record) -> Option<Record> {
        let rest = Annotation::without_mark(record.comment.as_deref()?)?;
        if self.captures.is_empty() || self.annotations.len() >= MAX_ANNOTATIONS {
            return None;
        }
        let row = self.end();
        let note = Annotation { marked: true, comment: String::new() };
        Arc::make_mut(&mut self.annotations).insert(row, note);
        Some(Record { comment: rest, ..record.clone() })
    }

    fn event(&mut self, event: &Event, context: &Arc<Context>) {
        if let EventKind::State(legs) = event.kind {
            let row = self.end();
            Arc::make_mut(&mut self.legs).note(context.session, row, legs);
        }
    }

    /// Counts an entry, as one of the session with the new number.
    fn count(&mut self, entry: &Entry, renumbered: Option<Arc<Context>>) {
        // Counting does not fail.
        let Some(context) = renumbered else {
            let _ = self.counts.write(entry);
            self.join(entry);
            return;
        };
        let mut entry = entry.clone();
        entry.set_context(context);
        let _ = self.counts.write(&entry);
        self.join(&entry);
    }

    /// Notes what a session waits for.
    fn join(&mut self, entry: &Entry) {
        let session = entry.context().session;
        if entry.is_close()
            && let Some(missing) = self.joins.missing(session, entry.at())
        {
            self.stuck.insert(session, missing);
        }
        self.joins.take(entry);
    }

    /// Forgets the states of sessions that are no longer listed, many at once.
    fn forget_sessions(&mut self) {
        if self.legs.len().max(self.stuck.len()) <= MAX_SESSIONS + MAX_UNLISTED {
            return;
        }
        let listed: HashSet<u64> = self.counts.sessions().map(|it| it.context.session).collect();
        Arc::make_mut(&mut self.legs).retain(&listed);
        self.stuck.retain(|session, _| listed.contains(session));
    }

    /// Returns what a session waits for at a time, or waited for when it closed.
    pub(super) fn waits(&self, session: u64, now: Timestamp) -> Option<String> {
        self.joins.missing(session, now).or_else(|| self.stuck.get(&session).cloned())
    }

    /// Completes the open chunk. Its bytes are dropped if too many wait for the disk.
    fn seal(&mut self) {
        let bytes = self.open.take_bytes(std::mem::take(&mut self.spare));
        let waiting = self.unwritten_bytes + bytes.len();
        // One chunk alone may be larger.
        let stored = if bytes.is_empty() {
            Stored::Memory(bytes.into())
        } else if waiting > MAX_UNWRITTEN && self.unwritten_bytes > 0 {
            self.spare = bytes;
            self.losses.bodies += self.open.len() as u64;
            Stored::Lost
        } else {
            self.unwritten.push_back((self.first, bytes.len()));
            self.unwritten_bytes = waiting;
            Stored::Memory(bytes.into())
        };
        let chunk = self.open.seal(self.first, stored);
        let before: HashSet<_> = self
            .sealed
            .back()
            .into_iter()
            .flat_map(|it| it.contexts.iter().map(Arc::as_ptr))
            .collect();
        let is_fresh = |it: &&Arc<Context>| !before.contains(&Arc::as_ptr(it));
        let fresh = chunk.contexts.iter().filter(is_fresh).count();
        self.fresh.push_back(fresh);
        self.contexts += fresh;
        self.first = chunk.end();
        self.sealed.push_back(chunk);
    }

    /// Forgets the oldest chunks beyond the limits. With an archive, the disk has to take them; the rows of those
    /// for which it takes too long are dropped.
    fn forget(&mut self, options: &StoreOptions) {
        while self.contexts > options.contexts && !self.sealed.is_empty() {
            self.forget_first();
        }
        loop {
            let archived = self.archive.as_ref().map_or(0, |archive| archive.chunks);
            let Some(oldest) = self.sealed.get(archived) else { return };
            if !self.is_beyond(oldest, options) {
                return;
            }
            if self.archive.is_none() {
                self.forget_first();
            } else if self.first - oldest.first > options.rows.saturating_add(MAX_LATE) {
                self.archive_oldest(Stored::Lost);
            } else {
                return;
            }
        }
    }

    /// Returns `true` if a chunk is older than the window.
    fn is_beyond(&self, chunk: &Chunk, options: &StoreOptions) -> bool {
        self.first - chunk.first > options.rows || self.on_disk > options.spool
    }

    /// Moves the oldest chunk of the window to the archive, with its rows at `stored`.
    fn archive_oldest(&mut self, stored: Stored) {
        let Some(archive) = &mut self.archive else { return };
        let Some(oldest) = self.sealed.get_mut(archive.chunks) else { return };
        if matches!(stored, Stored::Lost) {
            self.losses.packets += oldest.len() as u64;
        }
        let chunk = archive.chunk(oldest, stored);
        archive.chunks += 1;
        let is_full = archive.is_full();
        self.on_disk -= oldest.stored.on_disk();
        let stored = std::mem::replace(oldest, chunk).stored;
        self.discard(stored);
        if is_full {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(chunk) = self.sealed.pop_front() {
            self.contexts -= self.fresh.pop_front().unwrap_or_default();
            match chunk.rows {
                Rows::Memory(_) => self.on_disk -= chunk.stored.on_disk(),
                // What the archive has on disk is not counted.
                Rows::Archived { .. } => {
                    let archive = self.archive.iter_mut();
                    archive.for_each(|archive| archive.chunks -= 1);
                }
            }
            self.discard(chunk.stored);
        }
    }

    /// Returns what is held now, with a copy of the newest rows.
    pub(super) fn snapshot(&self) -> Snapshot {
        let mut chunks = Vec::with_capacity(self.sealed.len() + 1);
        chunks.extend(self.sealed.iter().cloned());
        chunks.push(self.open.copy(self.first));
        let annotations = Arc::clone(&self.annotations);
        Snapshot { chunks, legs: Arc::clone(&self.legs), annotations }
    }

    /// Returns the number of the next row.
    pub(super) fn end(&self) -> u64 {
        self.first + self.open.len() as u64
    }

    fn discard(&mut self, stored: Stored) {
        if let Stored::File { .. } = stored {
            self.unused.push(stored);
        }
    }

    fn sealed_mut(&mut self, first: u64) -> Option<&mut Chunk> {
        let place = self.sealed.binary_search_by_key(&first, |chunk| chunk.first).ok()?;
        self.sealed.get_mut(place)
    }
}

/// Most packets about which something is noted.
pub(super) const MAX_ANNOTATIONS: usize = 10_000;

/// Most bytes that wait to be written.
const MAX_UNWRITTEN: usize = 4 << 20;

/// Most rows beyond the window that wait to be written: 2 MiB.
const MAX_LATE: u64 = 16 * CHUNK_ROWS as u64;

/// Most sessions that are listed, open or not: their counts take some kilobytes each.
const MAX_SESSIONS: usize = 10_000;

/// Most sessions that are no longer listed and whose states are not forgotten yet.
const MAX_UNLISTED: usize = 1000;
