use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::inner::{Inner, MAX_ANNOTATIONS};
use super::job::Spools;
use super::spool::{Disk, TemporaryFolder};
use super::{Annotation, Archive, InCapture, Limit, Losses, Snapshot, StoreOptions, StoredSession};
use mitmcraft_engine::capture::{BodyPlace, CommentEditor, Entry};

/// Holds packets for browsing, within the limits of its [`StoreOptions`]. Shared between those that feed it and
/// those that look at it.
///
/// Its lock is held for work in memory only, such as to take a batch of entries or to copy the newest rows: never
/// while anything waits for the disk. [`write_waiting`](Self::write_waiting) does what the disk is needed for.
#[derive(Debug)]
pub struct Store {
    inner: Mutex<Inner>,
    /// Locked while something is written, always before `inner`.
    spools: Mutex<Spools>,
    /// The captures in which notes can be saved, each with the number that is added to those of its sessions.
    pub(super) editors: Mutex<Vec<(u64, CommentEditor)>>,
    options: StoreOptions,
    /// Bytes of the files that feed it that were read, and of all of them.
    read: AtomicU64,
    to_read: AtomicU64,
    /// Packets that were left out.
    left_out: AtomicU64,
}

impl Store {
    /// Creates an empty store.
    #[must_use]
    pub fn new(options: StoreOptions) -> Self {
        Self::on_disk(options, &(Arc::new(TemporaryFolder) as Arc<dyn Disk>))
    }

    /// Creates an empty store with its temporary files on another disk.
    pub(crate) fn on_disk(options: StoreOptions, disk: &Arc<dyn Disk>) -> Self {
        Self {
            inner: Mutex::new(Inner::new()),
            spools: Mutex::new(Spools::new(disk)),
            editors: Mutex::default(),
            options,
            read: AtomicU64::new(0),
            to_read: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// Begins another capture: the numbers of its sessions follow those of the captures before.
    pub fn begin(&self, name: &str) {
        self.lock().captures.begin(name);
    }

    /// Sets the name of the capture that a run writes.
    pub fn set_name(&self, name: &str) {
        self.lock().captures.written = Some(name.into());
    }

    /// Returns the name of the capture that has the packets, if it is one.
    #[must_use]
    pub fn capture(&self) -> Option<Arc<str>> {
        self.lock().captures.only()
    }

    /// Takes an entry. Packets that rules hide are left out.
    ///
    /// Waits for the disk when a chunk is full, without keeping anybody else waiting. Never fails: if the bytes
    /// of packets cannot be written to the spool file, their rows remain, and [`losses`](Self::losses) has the reason.
    pub fn push(&self, entry: &Entry) {
        self.push_from(entry, None);
    }

    /// Takes an entry like [`push`](Self::push). The body of the packet is left in the capture at
    /// `place`, if that is known, and read there when it is asked for.
    pub fn push_from(&self, entry: &Entry, place: Option<&InCapture>) {
        let is_work = self.lock().take(entry, place, None, &self.options);
        if is_work {
            self.write_waiting();
        }
    }

    /// Takes entries without waiting for the disk. Returns `true` if there is work for the disk, which
    /// [`write_waiting`](Self::write_waiting) does, for instance on another thread. While more than 4 MiB wait for it,
    /// the bytes of further packets are dropped; their rows remain.
    ///
    /// The capture that is [written](Self::set_capture) at the same time has the bytes of each packet at
    /// the places that come with it.
    #[must_use = "somebody has to write what waits"]
    pub fn push_all<'a>(
        &self,
        entries: impl IntoIterator<Item = (Entry, &'a [BodyPlace])>,
    ) -> bool {
        let mut inner = self.lock();
        let mut is_work = false;
        for (entry, places) in entries {
            is_work |= inner.take(&entry, None, Some(places), &self.options);
        }
        is_work
    }

    /// Writes everything that waits for the disk, and gives back what was forgotten there. This takes as long as the
    /// disk takes; nobody waits for it but those that also call this.
    pub fn write_waiting(&self) {
        let mut spools = self.spools.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let unused = std::mem::take(&mut self.lock().unused);
            drop(unused);
            let job = self.lock().next_job(&self.options);
            let Some(job) = job else { return };
            let written = spools.run(&job);
            self.lock().finish(job, written, &self.options);
        }
    }

    /// Counts packets that whoever feeds the store had to leave out.
    pub fn leave_out(&self, packets: u64) {
        self.left_out.fetch_add(packets, Ordering::Relaxed);
    }

    /// Sets the capture that is written at the same time, open for reading: packets that are older than
    /// the window are read there.
    pub fn set_capture(&self, capture: File) {
        self.lock().archive = Some(Archive::new(capture));
    }

    /// Sets the reason why packets that are too old are not held.
    pub fn set_limit(&self, limit: Limit) {
        self.lock().limit = Some(limit);
    }

    /// Returns why packets that are too old are not held; `None` if nobody has said.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
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
        (first, inner.end())
    }

    /// Returns what the store holds now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.lock().snapshot()
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
                waits: inner.waits(number, session.last),
                closed: session.closed.clone(),
            }
        });
        sessions.collect()
    }

    /// Returns the number of sessions that are not among [`sessions`](Self::sessions) any more: the oldest ones.
    #[must_use]
    pub fn forgotten_sessions(&self) -> u64 {
        self.lock().counts.forgotten()
    }

    /// Notes why a part of a file that feeds it could not be read.
    pub fn note_unread(&self, why: &str) {
        self.lock().losses.unread = Some(why.into());
    }

    /// Returns what is missing.
    #[must_use]
    pub fn losses(&self) -> Losses {
        let mut losses = self.lock().losses.clone();
        losses.packets += self.left_out.load(Ordering::Relaxed);
        losses
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
