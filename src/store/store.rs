use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::session::Legs;
use super::{
    Annotation, Archive, Chunk, InCapture, OpenChunk, Snapshot, Spool, StoreOptions, Stored,
    StoredSession,
};
use crate::analysis::CountingSink;
use crate::capture::{
    BodyPlace, CommentEditor, Comments, Entry, Event, EventKind, Record, Sink as _,
};
use crate::packet::Context;

/// Holds packets for browsing, within the limits of its [`StoreOptions`]. Shared between the thread that
/// feeds it and those that look at it; none of them holds its lock for longer than it takes to copy the
/// newest rows.
#[derive(Debug, Default)]
pub struct Store {
    inner: Mutex<Inner>,
    /// The captures in which notes can be saved, each with the number that is added to those of its sessions.
    editors: Mutex<Vec<(u64, CommentEditor)>>,
    options: StoreOptions,
    /// Bytes of the files that feed it that were read, and of all of them.
    read: AtomicU64,
    to_read: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    /// The complete chunks, oldest first: those of the archive, then those of the window.
    sealed: VecDeque<Chunk>,
    archive: Option<Archive>,
    /// Why older packets are not held, for the user.
    limit: Option<Arc<str>>,
    open: OpenChunk,
    /// The number of the first row in `open`.
    first: u64,
    spool: Spool,
    /// Bytes of `sealed` on disk.
    on_disk: u64,
    /// Why the bytes of some chunks could not be written.
    fault: Option<String>,
    counts: CountingSink,
    legs: Arc<Legs>,
    /// By row.
    annotations: Arc<BTreeMap<u64, Annotation>>,
    /// The rows about which people have noted something, also if it is what was there before.
    touched: BTreeSet<u64>,
    /// The message about marks and comments when they were saved last; `None` if they never were.
    saved: Option<Arc<str>>,
    captures: Captures,
    complete: bool,
}

/// The captures that a store was fed with, each of which numbers its own sessions.
#[derive(Debug, Default)]
struct Captures {
    /// The name of each capture, and the number that is added to those of its sessions.
    begun: Vec<(Arc<str>, u64)>,
    /// The name of the capture that is written at the same time.
    written: Option<Arc<str>>,
    /// The greatest number of a session.
    last: u64,
    /// The context of the last entry, as it came and with its session's new number.
    renumbered: Option<(Arc<Context>, Arc<Context>)>,
}

impl Store {
    /// Creates an empty store.
    #[must_use]
    pub fn new(options: StoreOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Begins another capture: the numbers of its sessions follow those of the captures before.
    pub fn begin(&self, name: &str) {
        let captures = &mut self.lock().captures;
        captures.begun.push((name.into(), captures.last));
        captures.renumbered = None;
    }

    /// Sets the name of the capture that a run writes.
    pub fn set_name(&self, name: &str) {
        self.lock().captures.written = Some(name.into());
    }

    /// Returns the name of the capture that has the packets, if it is one.
    #[must_use]
    pub fn capture(&self) -> Option<Arc<str>> {
        let captures = &self.lock().captures;
        match &captures.begun[..] {
            [(name, _)] => Some(Arc::clone(name)),
            [] => captures.written.clone(),
            _ => None,
        }
    }

    /// Lets what people note be saved in the capture that was begun last, or in that of a run that has ended.
    pub fn save_in(&self, editor: CommentEditor) {
        let offset = self.lock().captures.begun.last().map_or(0, |(_, offset)| *offset);
        self.editors.lock().unwrap_or_else(PoisonError::into_inner).push((offset, editor));
    }

    /// Saves what people noted in the captures, which may take a while, and returns what became of it; `None` if
    /// nobody has noted anything.
    pub fn save_notes(&self) -> Option<String> {
        let (snapshot, touched) = (self.snapshot(), self.lock().touched.clone());
        let records = touched.iter().filter_map(|row| snapshot.record(*row));
        let ids = records.map(|it| ((it.packet.context().session, it.packet.seq()), it.comment));
        let comments: Vec<_> = ids.collect();
        if comments.is_empty() {
            return None;
        }
        let mut editors = self.editors.lock().unwrap_or_else(PoisonError::into_inner);
        let offsets: Vec<u64> = editors.iter().map(|(offset, _)| *offset).collect();
        let mut told = Vec::new();
        for (offset, editor) in editors.iter_mut() {
            let next = offsets.iter().find(|it| *it > offset).copied().unwrap_or(u64::MAX);
            let here = |session: u64| *offset < session && session <= next;
            let here = comments.iter().filter(|((session, _), _)| here(*session));
            let here: Comments = here
                .map(|((session, seq), comment)| ((session - *offset, *seq), comment.clone()))
                .collect();
            if here.is_empty() {
                continue;
            }
            let path = editor.path().display().to_string();
            told.push(match editor.save(&here) {
                Ok(count) if count == here.len() => {
                    format!("marks and comments of {count} packets are kept in `{path}`")
                }
                Ok(count) => {
                    let all = here.len();
                    format!("marks and comments of {count} of {all} packets are kept in `{path}`, which does not have the others")
                }
                Err(error) => format!("`{path}` is as it was: {error}"),
            });
        }
        let nowhere =
            || "marks and comments cannot be kept: there is no capture; export packets".into();
        Some(if told.is_empty() { nowhere() } else { told.join("; ") })
    }

    /// Saves what people noted on a thread of its own; [`saved`](Self::saved) then has what became of it.
    pub fn start_saving(self: &Arc<Self>) {
        if self.lock().captures.begun.is_empty() {
            let told = "marks and comments are kept in the capture of the run when that ends";
            self.lock().saved = Some(told.into());
            return;
        }
        let store = Arc::clone(self);
        let save = move || {
            let told = store.save_notes();
            let told = told.unwrap_or_else(|| "there are no new marks or comments".to_owned());
            store.lock().saved = Some(told.into());
        };
        let begun = std::thread::Builder::new().name("notes".into()).spawn(save);
        self.lock().saved = match begun {
            Ok(_) => None,
            Err(error) => Some(format!("cannot save: {error}").into()),
        };
    }

    /// Returns what became of the notes when they were saved last; `None` until that is known.
    #[must_use]
    pub fn saved(&self) -> Option<Arc<str>> {
        self.lock().saved.clone()
    }

    /// Takes an entry. Packets that rules hide are left out.
    ///
    /// Never fails: if the bytes of packets cannot be written to the spool file, their rows remain, and
    /// [`fault`](Self::fault) has the reason.
    pub fn push(&self, entry: &Entry) {
        self.push_from(entry, None);
    }

    /// Takes an entry like [`push`](Self::push). The body of the packet is left in the capture at
    /// `place`, if that is known, and read there when it is asked for.
    pub fn push_from(&self, entry: &Entry, place: Option<&InCapture>) {
        self.lock().take(entry, place, None, &self.options);
    }

    /// Takes entries like [`push`](Self::push). The capture that is [written](Self::set_capture) at the
    /// same time has the bytes of each packet at the places that come with it.
    pub fn push_all<'a>(&self, entries: impl IntoIterator<Item = (Entry, &'a [BodyPlace])>) {
        let mut inner = self.lock();
        for (entry, places) in entries {
            inner.take(&entry, None, Some(places), &self.options);
        }
    }

    /// Sets the capture that is written at the same time, open for reading: packets that are older than
    /// the window are read there.
    pub fn set_capture(&self, capture: File) {
        self.lock().archive = Some(Archive::new(capture));
    }

    /// Sets the reason why packets that are too old are not held, as users are told it.
    pub fn set_limit(&self, reason: &str) {
        self.lock().limit = Some(reason.into());
    }

    /// Returns why packets that are too old are not held.
    #[must_use]
    pub fn limit(&self) -> Option<Arc<str>> {
        self.lock().limit.clone()
    }

    /// Notes that so many more bytes of files are going to be read.
    pub fn expect_bytes(&self, bytes: u64) {
        self.to_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes that more bytes of the files were read.
    pub fn note_bytes(&self, bytes: usize) {
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns how much of the files was read, from 0 to 1; `None` if their length is not known.
    #[must_use]
    pub fn reading(&self) -> Option<f64> {
        let all = self.to_read.load(Ordering::Relaxed);
        let read = self.read.load(Ordering::Relaxed);
        (all > 0).then(|| (read as f64 / all as f64).min(1.0))
    }

    /// Notes that nothing follows: what is held is all there is.
    pub fn set_complete(&self) {
        self.lock().complete = true;
    }

    /// Returns whether nothing follows.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lock().complete
    }

    /// Returns the number of the oldest row that is still held, and of the next row.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        let inner = self.lock();
        let first = inner.sealed.front().map_or(inner.first, |chunk| chunk.first);
        (first, inner.first + inner.open.len() as u64)
    }

    /// Returns what the store holds now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let inner = self.lock();
        let mut chunks = Vec::with_capacity(inner.sealed.len() + 1);
        chunks.extend(inner.sealed.iter().cloned());
        chunks.push(inner.open.copy(inner.first));
        let annotations = Arc::clone(&inner.annotations);
        Snapshot { chunks, legs: Arc::clone(&inner.legs), annotations }
    }

    /// Notes something about a packet, which its comment has from now on; what was noted before is
    /// replaced. Does nothing if too many packets have such notes.
    pub fn annotate(&self, row: u64, annotation: Annotation) {
        let mut inner = self.lock();
        if inner.touched.len() < MAX_ANNOTATIONS {
            inner.touched.insert(row);
        } else if !inner.touched.contains(&row) {
            return;
        }
        let annotations = Arc::make_mut(&mut inner.annotations);
        if annotation == Annotation::default() {
            annotations.remove(&row);
        } else if annotations.len() < MAX_ANNOTATIONS || annotations.contains_key(&row) {
            let comment = annotation.comment.chars().take(Annotation::MAX).collect();
            annotations.insert(row, Annotation { comment, ..annotation });
        }
    }

    /// Returns what people noted, by row.
    #[must_use]
    pub fn annotations(&self) -> Arc<BTreeMap<u64, Annotation>> {
        Arc::clone(&self.lock().annotations)
    }

    /// Returns the sessions, in order. Of those that have closed, the last ones are kept.
    #[must_use]
    pub fn sessions(&self) -> Vec<StoredSession> {
        let inner = self.lock();
        let sessions = inner.counts.sessions().map(|session| {
            let total = session.totals.total();
            let number = session.context.session;
            StoredSession {
                context: Arc::clone(&session.context),
                capture: inner.captures.name(number),
                legs: inner.legs.last(number),
                packets: total.packets,
                bytes: total.bytes,
                wire: total.wire,
                last: session.last,
                closed: session.closed.clone(),
            }
        });
        sessions.collect()
    }

    /// Returns why the bytes of some packets could not be kept, if so.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.lock().fault.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn take(
        &mut self,
        entry: &Entry,
        place: Option<&InCapture>,
        also: Option<&[BodyPlace]>,
        options: &StoreOptions,
    ) {
        let also = also.filter(|_| self.archive.is_some());
        let renumbered = self.captures.renumber(entry.context());
        let context = renumbered.as_ref().unwrap_or_else(|| entry.context());
        match entry {
            Entry::Packet(record) if record.notes.as_ref().is_some_and(|it| it.hidden) => return,
            Entry::Packet(record) => {
                let unmarked = self.take_mark(record);
                let record = unmarked.as_ref().unwrap_or(record);
                self.open.push(record, context, place, also);
                self.seal_full(options);
            }
            Entry::Event(event) => self.event(event, context),
        }
        self.count(entry, renumbered);
    }

    fn seal_full(&mut self, options: &StoreOptions) {
        if self.open.is_full() {
            self.seal();
            self.forget(options);
        }
    }

    /// Takes the mark of a packet that was read from a capture, and returns the packet without it.
    fn take_mark(&mut self, record: &Record) -> Option<Record> {
        let rest = Annotation::without_mark(record.comment.as_deref()?)?;
        if self.captures.begun.is_empty() || self.annotations.len() >= MAX_ANNOTATIONS {
            return None;
        }
        let row = self.first + self.open.len() as u64;
        let note = Annotation { marked: true, comment: String::new() };
        Arc::make_mut(&mut self.annotations).insert(row, note);
        Some(Record { comment: rest, ..record.clone() })
    }

    fn event(&mut self, event: &Event, context: &Arc<Context>) {
        if let EventKind::State(legs) = event.kind {
            let row = self.first + self.open.len() as u64;
            Arc::make_mut(&mut self.legs).note(context.session, row, legs);
        }
    }

    /// Counts an entry, as one of the session with the new number.
    fn count(&mut self, entry: &Entry, renumbered: Option<Arc<Context>>) {
        // Counting does not fail.
        let Some(context) = renumbered else {
            let _ = self.counts.write(entry);
            return;
        };
        let mut entry = entry.clone();
        entry.set_context(context);
        let _ = self.counts.write(&entry);
    }

    fn seal(&mut self) {
        let stored = self.spool.write(self.open.bytes()).unwrap_or_else(|error: io::Error| {
            self.fault.get_or_insert_with(|| error.to_string());
            Stored::Lost
        });
        self.on_disk += stored.on_disk();
        let chunk = self.open.seal(self.first, stored);
        self.first = chunk.end();
        self.sealed.push_back(chunk);
    }

    /// Archives the oldest chunks beyond the limits, or forgets them.
    fn forget(&mut self, options: &StoreOptions) {
        loop {
            let archived = self.archive.as_ref().map_or(0, |archive| archive.chunks);
            let Some(oldest) = self.sealed.get_mut(archived) else { return };
            let rows = self.first - oldest.first;
            if rows <= options.rows && self.on_disk <= options.spool {
                return;
            }
            self.on_disk -= oldest.stored.on_disk();
            match self.archive.as_mut().map(|archive| archive.take(oldest)) {
                None => drop(self.sealed.pop_front()),
                Some(Ok(chunk)) => *oldest = chunk,
                Some(Err(error)) => {
                    self.fault.get_or_insert_with(|| error.to_string());
                    // There must be no gap.
                    self.sealed.drain(..=archived);
                    self.archive = None;
                }
            }
            if let Some(archive) = self.archive.as_mut().filter(|it| it.is_full()) {
                archive.chunks -= 1;
                self.sealed.pop_front();
            }
        }
    }
}

impl Captures {
    /// Returns the context of an entry with the number that its session has in the store, if that is not
    /// its own.
    fn renumber(&mut self, context: &Arc<Context>) -> Option<Arc<Context>> {
        let offset = self.begun.last().map_or(0, |(_, offset)| *offset);
        let session = context.session + offset;
        self.last = self.last.max(session);
        if offset == 0 {
            return None;
        }
        if let Some((_, new)) =
            self.renumbered.as_ref().filter(|(old, _)| Arc::ptr_eq(old, context))
        {
            return Some(Arc::clone(new));
        }
        let new = Arc::new(Context { session, ..Context::clone(context) });
        self.renumbered = Some((Arc::clone(context), Arc::clone(&new)));
        Some(new)
    }

    /// Returns the name of a session's capture, if there are several.
    fn name(&self, session: u64) -> Option<Arc<str>> {
        let begun = self.begun.iter().rev().find(|(_, offset)| session > *offset);
        begun.filter(|_| self.begun.len() > 1).map(|(name, _)| Arc::clone(name))
    }
}

/// Most packets about which something is noted.
const MAX_ANNOTATIONS: usize = 10_000;
