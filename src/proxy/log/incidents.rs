use std::collections::HashMap;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use mitmcraft_engine::capture::{Entry, EntryRing, EventKind, LeftOut, NamedFiles, Sink};
use mitmcraft_engine::explain::{Acquaintance, Incident, Trigger, Tripwire};
use mitmcraft_protocol::packet::{Context, Timestamp};

/// Options of an [`IncidentRecorder`].
#[derive(Debug)]
pub struct IncidentOptions {
    /// How long entries are kept.
    pub age: Duration,
    /// The bytes of the entries of all sessions together. Beyond them, the session that has most loses the bodies of
    /// chunks, and then its oldest entries.
    pub bytes: u64,
    /// The files.
    pub files: NamedFiles,
    /// Those of sessions that never log in.
    pub visits: NamedFiles,
    /// What they are written for.
    pub tripwire: Tripwire,
    /// The seed of the replacements; `None` if the files are not redacted.
    pub seed: Option<Vec<u8>>,
}

/// Something about incident files that the person who runs the proxy should know.
#[derive(Debug)]
#[non_exhaustive]
pub enum IncidentNotice<'a> {
    /// A file has been written.
    Written {
        /// The file.
        path: &'a Path,
        /// Why.
        trigger: Trigger,
    },
    /// A file cannot be written.
    Fails(&'a io::Error),
    /// A file has been written, but an older one cannot be deleted.
    OldStays(&'a io::Error),
}

/// Keeps the last minutes of each session, and writes them to a file when something happens: the sink for entries,
/// and the thread that writes.
///
/// The packets of a session cause no second file while the first one has some of what it would have, nor one within a
/// minute: what happens meanwhile has its file after that time, or at the end. The end within the minute replaces the
/// file, because it has more to say. One file is written while one more waits, and
/// all of them together hold no more than the sessions may; what comes then is counted.
#[derive(Debug)]
pub struct IncidentRecorder {
    counts: Arc<Counts>,
    /// Is closed when the thread ends.
    done: Receiver<()>,
}

/// What became of the triggers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncidentCounts {
    /// Files that were written.
    pub written: u64,
    /// Files that could not be written, or not in time.
    pub failed: u64,
    /// Triggers for which there was no room: two files were being written, or they held too much memory.
    pub left_out: u64,
}

#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    failed: AtomicU64,
    left_out: AtomicU64,
}

impl IncidentRecorder {
    /// Starts the thread. `report` is called on it.
    ///
    /// # Errors
    /// [`io::Error`] if the thread cannot be started.
    pub fn start(
        options: IncidentOptions,
        report: impl Fn(&IncidentNotice<'_>) + Send + 'static,
    ) -> io::Result<(Box<dyn Sink>, Self)> {
        let (sink, recorder) = Self::begin(options, report)?;
        Ok((Box::new(sink), recorder))
    }

    fn begin(
        options: IncidentOptions,
        report: impl Fn(&IncidentNotice<'_>) + Send + 'static,
    ) -> io::Result<(IncidentSink, Self)> {
        let IncidentOptions { age, bytes, files, visits, tripwire, seed } = options;
        let counts: Arc<Counts> = Arc::default();
        let (jobs, waiting) = sync_channel::<Box<Job>>(WAITING);
        let (ending, done) = mpsc::channel::<()>();
        let writer = Writer { files, visits, seed, counts: Arc::clone(&counts), report };
        std::thread::Builder::new().name("incidents".into()).spawn(move || {
            let _ending = ending;
            waiting.into_iter().for_each(|job| writer.run(*job));
        })?;
        let sink = IncidentSink {
            age,
            bytes,
            tripwire,
            jobs: Some(jobs),
            sessions: HashMap::new(),
            held: 0,
            pending: Vec::new(),
            swept: Timestamp(0),
            counts: Arc::clone(&counts),
        };
        Ok((sink, Self { counts, done }))
    }

    /// Waits until the last file is written, once the sink was finished or dropped, but no longer than `patience`.
    pub fn finish(self, patience: Duration) -> IncidentCounts {
        let is_late = matches!(self.done.recv_timeout(patience), Err(RecvTimeoutError::Timeout));
        let Counts { written, failed, left_out } = &*self.counts;
        IncidentCounts {
            written: written.load(Relaxed),
            failed: failed.load(Relaxed) + u64::from(is_late),
            left_out: left_out.load(Relaxed),
        }
    }
}

/// A sink that keeps the last minutes of each session.
struct IncidentSink {
    age: Duration,
    bytes: u64,
    tripwire: Tripwire,
    /// `None` once the run has ended.
    jobs: Option<SyncSender<Box<Job>>>,
    sessions: HashMap<u64, Kept>,
    /// Bytes of the entries of all sessions.
    held: u64,
    /// Files that wait or are written: at most three.
    pending: Vec<Pending>,
    /// The time when ended sessions were last looked for.
    swept: Timestamp,
    counts: Arc<Counts>,
}

/// A file that waits or is written.
struct Pending {
    session: u64,
    bytes: u64,
    /// `true` once its session has ended: until then, the session's ring holds the same entries.
    is_alone: bool,
    token: Weak<()>,
}

/// What is kept of a session.
struct Kept {
    ring: EntryRing,
    /// The entry with which it began.
    open: Option<Entry>,
    known: Acquaintance,
    /// The time of its last entry.
    seen: Timestamp,
    /// Its last file.
    last: Option<LastFile>,
}

/// The newest file of a session.
struct LastFile {
    at: Timestamp,
    is_visit: bool,
    /// Its name, once it is written.
    path: Arc<OnceLock<PathBuf>>,
    left_out: LeftOut,
    /// What has happened since, and has no file yet: the first of it.
    missed: Option<(Trigger, Option<String>)>,
}

/// A file to be written.
struct Job {
    incident: Incident,
    context: Arc<Context>,
    /// Is dropped with the entries.
    token: Arc<()>,
    /// Receives the name.
    path: Arc<OnceLock<PathBuf>>,
    /// `true` if the player was not let in.
    is_visit: bool,
    /// An older file of the session, which this one replaces.
    replaces: Option<Arc<OnceLock<PathBuf>>>,
}

impl IncidentSink {
    /// Makes room if all sessions together hold too much: the one that holds most gives way.
    ///
    /// Files of ended sessions count as well. What a ring drops while its file is written does not: the file keeps it,
    /// and dropping more would free nothing.
    fn make_room(&mut self) {
        self.pending.retain(|it| it.token.strong_count() > 0);
        let pending = self.pending.iter().filter(|it| it.is_alone).map(|it| it.bytes).sum();
        let limit = self.bytes.saturating_sub(pending);
        while self.held > limit {
            let rings = self.sessions.values_mut().map(|kept| &mut kept.ring);
            let Some(largest) = rings.max_by_key(|ring| ring.held()).filter(|it| it.held() > 0)
            else {
                return;
            };
            let before = largest.held();
            let over = (self.held - limit).max(self.bytes / STEPS);
            largest.shrink(before.saturating_sub(over));
            self.held -= before - largest.held();
        }
    }

    /// Has the file of a session written, if it may have one now.
    fn report(&mut self, entry: &Entry, trigger: Trigger, rule: Option<String>) {
        let (at, context) = (entry.at(), entry.context());
        let Some(kept) = self.sessions.get_mut(&context.session) else { return };
        self.pending.retain(|it| it.token.strong_count() > 0);
        let pending: u64 = self.pending.iter().map(|it| it.bytes).sum();
        if pending > 0 && pending + kept.ring.held() > self.bytes {
            self.counts.left_out.fetch_add(1, Relaxed);
            return;
        }
        let is_visit = !kept.known.has_entered();
        let is_near = |last: &&LastFile| at.since(last.at) < APART && last.is_visit == is_visit;
        let mut replaces = None;
        if let Some(last) = kept.last.as_ref().filter(is_near) {
            let (now, before) = (kept.ring.left_out(), last.left_out);
            // If entries were left out since then, the older file is kept: it still has them.
            if (now.dropped, now.bodies) == (before.dropped, before.bodies) {
                replaces = Some(Arc::clone(&last.path));
            }
        }
        let entries = kept.open.iter().chain(kept.ring.iter()).cloned().collect();
        let (left_out, bytes) = (kept.ring.left_out(), kept.ring.held());
        let known = kept.known.clone();
        let incident = Incident { entries, left_out, trigger, rule, at, known };
        let path: Arc<OnceLock<PathBuf>> = Arc::default();
        let (session, token) = (context.session, Arc::new(()));
        let pending = Pending { session, bytes, is_alone: false, token: Arc::downgrade(&token) };
        let (context, named) = (Arc::clone(context), Arc::clone(&path));
        let job = Box::new(Job { incident, context, token, path: named, is_visit, replaces });
        match self.jobs.as_ref().map(|jobs| jobs.try_send(job)) {
            Some(Ok(())) => {
                kept.last = Some(LastFile { at, is_visit, path, left_out, missed: None });
                self.pending.push(pending);
            }
            Some(Err(_)) | None => drop(self.counts.left_out.fetch_add(1, Relaxed)),
        }
    }

    /// Forgets sessions whose end did not come here, because the log was full.
    fn sweep(&mut self, now: Timestamp) {
        self.swept = now;
        let idle = self.age.max(IDLE);
        for kept in self.sessions.values_mut() {
            let before = kept.ring.held();
            kept.ring.trim(now);
            self.held -= before - kept.ring.held();
        }
        self.sessions.retain(|_, kept| kept.ring.held() > 0 || now.since(kept.seen) <= idle);
    }
}

impl Kept {
    fn new(age: Duration, bytes: u64) -> Self {
        Self {
            ring: EntryRing::new(age, bytes).thinning(),
            open: None,
            known: Acquaintance::default(),
            seen: Timestamp(0),
            last: None,
        }
    }

    /// Notes what is needed of the session's beginning. Returns whether the entry belongs in the ring.
    fn note(&mut self, entry: &Entry) -> bool {
        match entry {
            Entry::Packet(record) => {
                self.known.take(&record.packet);
                !record.notes.as_ref().is_some_and(|notes| notes.unrecorded)
            }
            Entry::Event(event) if event.kind == EventKind::Open => {
                self.open = Some(entry.clone());
                false
            }
            Entry::Event(_) => true,
        }
    }
}

impl Sink for IncidentSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let session = entry.context().session;
        let (age, bytes, at) = (self.age, self.bytes, entry.at());
        if at.since(self.swept) >= APART {
            self.sweep(at);
        }
        let kept = self.sessions.entry(session).or_insert_with(|| Kept::new(age, bytes));
        kept.seen = at;
        if !kept.note(entry) {
            return Ok(());
        }
        let before = kept.ring.held();
        kept.ring.push(entry.clone());
        self.held = self.held - before + kept.ring.held();
        let apart = age.max(APART);
        let is_due = kept.last.as_ref().is_none_or(|last| at.since(last.at) >= apart);
        let missed = kept.last.as_mut().map(|last| &mut last.missed);
        match missed {
            Some(missed) if !is_due && !entry.is_close() => {
                if missed.is_none() {
                    *missed = self.tripwire.judge(entry, &kept.known);
                }
            }
            missed => {
                let missed = missed.and_then(Option::take);
                let found = self.tripwire.judge(entry, &kept.known).or(missed);
                if let Some((trigger, rule)) = found {
                    // Before there is room: the file needs this entry.
                    self.report(entry, trigger, rule);
                }
            }
        }
        if entry.is_close()
            && let Some(kept) = self.sessions.remove(&session)
        {
            self.held -= kept.ring.held();
            let mut files = self.pending.iter_mut().rev();
            // Older ones of the session share its entries.
            if let Some(newest) = files.find(|it| it.session == session) {
                newest.is_alone = true;
            }
        }
        self.make_room();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.jobs = None;
        Ok(())
    }
}

/// Writes files, on a thread of its own: no session waits for it.
struct Writer<R> {
    files: NamedFiles,
    visits: NamedFiles,
    seed: Option<Vec<u8>>,
    counts: Arc<Counts>,
    report: R,
}

impl<R: Fn(&IncidentNotice<'_>)> Writer<R> {
    fn run(&self, job: Job) {
        let trigger = job.incident.trigger;
        match self.write(job) {
            Ok(path) => {
                self.counts.written.fetch_add(1, Relaxed);
                (self.report)(&IncidentNotice::Written { path: &path, trigger });
            }
            Err(error) => {
                self.counts.failed.fetch_add(1, Relaxed);
                (self.report)(&IncidentNotice::Fails(&error));
            }
        }
    }

    fn write(&self, job: Job) -> io::Result<PathBuf> {
        let Job { incident, context, path: named, is_visit, replaces, token: _token } = job;
        let at = incident.at;
        let files = if is_visit { &self.visits } else { &self.files };
        let (path, file) = files.create(&context, at)?;
        let written = incident.write(BufWriter::new(file), self.seed.as_deref());
        if let Err(error) = written {
            // What is there of it explains nothing.
            let _ = files.remove(&path);
            let message = format!("`{}`: {error}", path.display());
            return Err(io::Error::new(error.kind(), message));
        }
        if let Err(error) = files.complete(path.clone(), at) {
            (self.report)(&IncidentNotice::OldStays(&error));
        }
        if let Some(before) = replaces.as_ref().and_then(|it| it.get()) {
            // Somebody may have taken it away.
            let _ = files.remove(before);
        }
        let _ = named.set(path.clone());
        Ok(path)
    }
}

/// Files that may wait while one is written.
const WAITING: usize = 1;

/// Least time between two files of a session, unless its end is the second.
const APART: Duration = Duration::from_secs(60);

/// A session without entries for so long has ended; the game ends it after half a minute.
const IDLE: Duration = Duration::from_secs(600);

/// A session that gives way loses at least this part of the memory, so that this is rare.
const STEPS: u64 = 64;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use mitmcraft_engine::capture::{Event, Keep, open_capture};
    use mitmcraft_engine::lang::Expr;
    use mitmcraft_protocol::schema::Catalog;

    use super::*;

    /// The only session of a capture.
    fn session(version: &str) -> Vec<Entry> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
        let path = folder.join(format!("session-{version}.jsonl"));
        let entries = open_capture(&path, Catalog::embedded()).unwrap();
        entries.map(Result::unwrap).collect()
    }

    fn later(mut entry: Entry, session: u64, seconds: u64) -> Entry {
        let at = Timestamp(entry.at().0 + seconds * 1_000_000_000);
        let context = Context { session, ..Context::clone(entry.context()) };
        entry.set_context(Arc::new(context));
        match &mut entry {
            Entry::Packet(record) => record.packet.set_at(at),
            Entry::Event(event) => event.at = at,
        }
        entry
    }

    fn options(folder: &Path, bytes: u64, condition: &str, keep: usize) -> IncidentOptions {
        let (condition, _) = Expr::parse(condition, Catalog::embedded()).unwrap();
        let (name, keep) = (folder.join(Incident::NAME), Keep::Files(keep));
        IncidentOptions {
            age: Duration::from_secs(600),
            bytes,
            files: NamedFiles::new(&name, keep).unwrap(),
            visits: NamedFiles::of_visits(&name, keep).unwrap(),
            tripwire: Tripwire { condition: Some(condition) },
            seed: None,
        }
    }

    /// Records entries, each of which waits until what it triggers is written. Returns the triggers of the files that
    /// were written, and the counts.
    fn record(options: IncidentOptions, entries: &[Entry]) -> (Vec<&'static str>, IncidentCounts) {
        let written: Arc<Mutex<Vec<&str>>> = Arc::default();
        let shown = Arc::clone(&written);
        let (done, writes) = mpsc::channel();
        let report = move |notice: &IncidentNotice<'_>| {
            let IncidentNotice::Written { trigger, .. } = notice else { panic!("{notice:?}") };
            shown.lock().unwrap().push(trigger.name());
            done.send(()).unwrap();
        };
        let IncidentOptions { age, bytes, .. } = options;
        let (mut sink, recorder) = IncidentRecorder::begin(options, report).unwrap();
        assert!(age > APART && bytes > 0);
        for entry in entries {
            assert!(sink.pending.is_empty());
            sink.write(entry).unwrap();
            for _ in std::mem::take(&mut sink.pending) {
                writes.recv().unwrap();
            }
        }
        sink.finish().unwrap();
        let counts = recorder.finish(Duration::from_secs(600));
        let written = written.lock().unwrap().clone();
        (written, counts)
    }

    fn all_written(written: u64) -> IncidentCounts {
        IncidentCounts { written, failed: 0, left_out: 0 }
    }

    fn files(folder: &Path) -> Vec<(String, usize)> {
        let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap());
        let zips = files.filter(|it| it.path().extension().is_some_and(|end| end == "zip"));
        let mut found: Vec<_> = zips
            .map(|it| {
                let entries = open_capture(&it.path(), Catalog::embedded()).unwrap();
                let count = entries.map(Result::unwrap).count();
                (it.file_name().into_string().unwrap(), count)
            })
            .collect();
        found.sort();
        found
    }

    #[test]
    fn a_session_has_one_file_per_minute_which_its_end_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let entries = session("1.8");
        let options = options(folder.path(), 16 << 20, "keep_alive", 20);
        let (written, counts) = record(options, &entries);
        // The second of two keep-alives comes too soon for a file of its own.
        assert_eq!(written, ["expression", "kick"]);
        assert_eq!(counts, all_written(2));
        let found = files(folder.path());
        let [(name, length)] = &*found else { panic!("{found:?}") };
        assert!(name.starts_with("incident-2026") && !name.contains("unknown"), "{name}");
        assert_eq!(*length, entries.len());
    }

    #[test]
    fn the_newest_files_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let entries = session("26.3");
        let runs = (0..5).flat_map(|run| {
            let entries = entries.clone().into_iter();
            entries.map(move |entry| later(entry, run, 1000 * run))
        });
        let all: Vec<Entry> = runs.collect();
        let (written, counts) = record(options(folder.path(), 16 << 20, "false", 3), &all);
        assert_eq!((written, counts), (vec!["kick"; 5], all_written(5)));
        assert_eq!(files(folder.path()).len(), 3);
    }

    #[test]
    fn the_session_that_holds_most_gives_way_to_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path(), 64 << 10, "false", 3);
        let bytes = options.bytes;
        let entries = session("beta-1.7.3");
        let small = entries.len() / 4;
        let mut sink = IncidentSink {
            age: options.age,
            bytes,
            tripwire: options.tripwire,
            jobs: None,
            sessions: HashMap::new(),
            held: 0,
            pending: Vec::new(),
            swept: Timestamp(0),
            counts: Arc::default(),
        };
        for entry in &entries[..small] {
            sink.write(&later(entry.clone(), 1, 0)).unwrap();
        }
        let first = sink.sessions[&1].ring.held();
        assert!(first < bytes / 2, "{first}");
        for run in 0..20 {
            for entry in entries.iter().filter(|it| !it.is_close()) {
                sink.write(&later(entry.clone(), 2, run)).unwrap();
                assert!(sink.held <= bytes, "{}", sink.held);
            }
        }
        assert_eq!(sink.sessions[&1].ring.held(), first);
        let left_out = sink.sessions[&2].ring.left_out();
        assert!(left_out.bodies > 0 && left_out.dropped > 0, "{left_out:?}");
        let sum: u64 = sink.sessions.values().map(|kept| kept.ring.held()).sum();
        assert_eq!(sink.held, sum);
        // What is being written counts as well.
        let held = sink.held;
        let token = Arc::new(());
        let pending =
            |is_alone| Pending { session: 2, bytes, is_alone, token: Arc::downgrade(&token) };
        sink.pending.push(pending(false));
        sink.make_room();
        assert_eq!(sink.held, held, "the ring holds the same entries");
        sink.pending.push(pending(true));
        sink.make_room();
        assert_eq!(sink.held, 0);
        drop(token);
        assert_eq!(sink.counts.left_out.load(Relaxed), 0);
        // A session whose end was dropped is forgotten.
        let late = later(entries[1].clone(), 3, 10_000);
        sink.write(&late).unwrap();
        assert_eq!(sink.sessions.keys().collect::<Vec<_>>(), [&3]);
        assert!(sink.pending.is_empty());
    }

    #[test]
    fn the_file_of_an_end_has_it_and_replaces_no_file_that_has_more() {
        let entries = session("1.8");
        let most: u64 = entries.iter().map(Entry::size).sum();
        let first = entries.iter().filter(|it| !it.is_close()).map(Entry::size).sum::<u64>();
        for (bytes, count) in [(most, 1), (first * 3 / 4, 2)] {
            let folder = tempfile::tempdir().unwrap();
            let (written, counts) =
                record(options(folder.path(), bytes, "keep_alive", 9), &entries);
            assert_eq!((written, counts), (vec!["expression", "kick"], all_written(2)));
            let found = files(folder.path());
            assert_eq!(found.len(), count, "{bytes}");
            let has_end = |(name, _): &(String, usize)| {
                let path = folder.path().join(name);
                let entries = open_capture(&path, Catalog::embedded()).unwrap().map(Result::unwrap);
                entries.last().is_some_and(|entry| entry.is_close())
            };
            assert_eq!(found.iter().filter(|it| has_end(it)).count(), 1, "{found:?}");
        }
    }

    #[test]
    fn packets_cause_no_second_file_with_the_same_entries() {
        let folder = tempfile::tempdir().unwrap();
        let mut entries = session("1.8");
        let close = entries.pop().unwrap();
        assert!(close.is_close());
        let is_alive = |it: &&Entry| {
            it.record()
                .and_then(|it| it.packet.kind())
                .is_some_and(|it| &**it.name() == "keep_alive")
        };
        let alive = entries.iter().find(is_alive).unwrap().clone();
        let number = alive.context().session;
        entries.extend([100, 599, 601].map(|seconds| later(alive.clone(), number, seconds)));
        let (written, counts) = record(options(folder.path(), 16 << 20, "keep_alive", 9), &entries);
        assert_eq!((written, counts), (vec!["expression"; 2], all_written(2)));
    }

    #[test]
    fn what_happens_soon_after_a_file_has_one_later_or_at_the_end() {
        let mut entries = session("1.8");
        let close = entries.pop().unwrap();
        let named = |name: &str| {
            let is = |it: &&Entry| {
                let kind = it.record().and_then(|it| it.packet.kind());
                kind.is_some_and(|it| &**it.name() == name)
            };
            entries.iter().find(is).unwrap().clone()
        };
        let (alive, chunk) = (named("keep_alive"), named("map_chunk"));
        let number = alive.context().session;
        let Entry::Event(event) = &close else { panic!() };
        let EventKind::Close(summary) = &event.kind else { panic!() };
        let mut summary = summary.clone();
        summary.reason = "stopped by the user".into();
        let stop = Entry::Event(Event { kind: EventKind::Close(summary), ..event.clone() });
        for more in [later(chunk, number, 601), later(stop, number, 400)] {
            let folder = tempfile::tempdir().unwrap();
            let alive = later(alive.clone(), number, 100);
            let entries = [&entries[..], &[alive, more]].concat();
            let (written, counts) =
                record(options(folder.path(), 16 << 20, "keep_alive", 9), &entries);
            assert_eq!((written, counts), (vec!["expression"; 2], all_written(2)));
            assert_eq!(files(folder.path()).len(), 2);
        }
    }

    #[test]
    fn sessions_that_never_log_in_push_out_no_files_of_players() {
        let folder = tempfile::tempdir().unwrap();
        let is_success = |it: &Entry| {
            let kind = it.record().and_then(|it| it.packet.kind());
            kind.is_some_and(|it| ["success", "login"].contains(&&**it.name()))
        };
        let whole = session("1.8");
        let visit: Vec<Entry> = whole.iter().filter(|it| !is_success(it)).cloned().collect();
        assert!(visit.len() < whole.len());
        let visits = (1..6).flat_map(|run| visit.iter().map(move |it| (it, run)));
        let all = whole.iter().map(|it| (it, 0)).chain(visits);
        let all: Vec<Entry> = all.map(|(it, run)| later(it.clone(), run, 1000 * run)).collect();
        let (_, counts) = record(options(folder.path(), 16 << 20, "false", 2), &all);
        assert_eq!(counts, all_written(6));
        let found = files(folder.path());
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0].1, whole.len(), "the player's is the oldest");
    }

    #[test]
    fn files_that_are_written_hold_no_more_than_all_sessions_may() {
        let folder = tempfile::tempdir().unwrap();
        let entries = session("1.8");
        let is_kept = |it: &&Entry| !matches!(it, Entry::Event(it) if it.kind == EventKind::Open);
        let all: u64 = entries.iter().filter(is_kept).map(Entry::size).sum();
        for (bytes, left_out) in [(1 << 30, 0), (2 * all, 1)] {
            let options = options(folder.path(), bytes, "false", 9);
            let (jobs, waiting) = sync_channel(9);
            let mut sink = IncidentSink {
                age: options.age,
                bytes,
                tripwire: options.tripwire,
                jobs: Some(jobs),
                sessions: HashMap::new(),
                held: 0,
                pending: Vec::new(),
                swept: Timestamp(0),
                counts: Arc::default(),
            };
            for session in 1..4 {
                entries.iter().for_each(|it| sink.write(&later(it.clone(), session, 0)).unwrap());
            }
            assert_eq!(sink.counts.left_out.load(Relaxed), left_out);
            assert_eq!(waiting.try_iter().count() as u64, 3 - left_out);
        }
    }
}
