use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use mitmcraft_engine::capture::{Entry, Wire, WireKind};

/// The queue between sessions and the log thread: in order within a session, in turn between
/// sessions, and bounded in bytes.
///
/// A session waits for its own entries only. Each may have an eighth of the limit waiting, and less if
/// so many have entries waiting that they would exceed the limit together. The batch that exceeds a
/// session's share is still taken, since its memory is in use already; the session then waits.
///
/// A batch wakes the log thread if it sleeps. For a few milliseconds after it has emptied the queue, it
/// is not woken but looks by itself: waking it for every packet would delay the sessions, not the log.
#[derive(Debug)]
pub(in crate::proxy) struct LogQueue {
    /// Bytes that all sessions together may have waiting.
    pub(super) limit: usize,
    lanes: Mutex<Lanes>,
    /// Wakes the log thread.
    changed: Condvar,
}

/// The waiting batches of all sessions.
#[derive(Debug, Default)]
struct Lanes {
    /// The sessions with waiting batches, by number.
    by_session: HashMap<u64, Lane>,
    /// The sessions with waiting batches, in the order of their turns.
    turns: VecDeque<u64>,
    depth: Depth,
    /// The bytes that wake the log thread; `None` while it works.
    wakes_at: Option<usize>,
    /// No handle is left that could add a batch.
    closed: bool,
    /// Sessions no longer wait.
    released: bool,
}

/// The waiting batches of one session.
#[derive(Debug, Default)]
struct Lane {
    batches: VecDeque<(Batch, usize)>,
    bytes: usize,
    /// Wakes the session when a batch has left.
    left: Arc<Notify>,
}

/// The amount of data that waits in a [`LogQueue`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) struct Depth {
    pub(in crate::proxy) batches: usize,
    pub(in crate::proxy) entries: usize,
    /// Approximate memory of the batches.
    pub(in crate::proxy) bytes: usize,
}

/// The next task of the log thread.
#[derive(Debug)]
pub(in crate::proxy) enum Next {
    /// Write this batch.
    Batch(Batch),
    /// The deadline has passed.
    Timeout,
    /// No batch will follow.
    End,
}

/// New entries of a session.
#[derive(Debug)]
pub(in crate::proxy) struct Batch {
    /// The bytes on its connections from which the entries were decoded.
    pub(in crate::proxy) wires: Vec<Wire>,
    pub(in crate::proxy) entries: Vec<Entry>,
}

impl Batch {
    /// Returns the session's number.
    pub(in crate::proxy) fn session(&self) -> u64 {
        let entry = || self.entries.first().map(|entry| entry.context().session);
        self.wires.first().map(|wire| wire.session).or_else(entry).unwrap_or_default()
    }

    /// Returns about how many bytes the batch keeps in memory.
    pub(in crate::proxy) fn memory(&self) -> usize {
        let entries = self.entries.iter().map(|entry| match entry {
            Entry::Packet(record) => size_of::<Entry>() + record.memory(),
            Entry::Event(_) => size_of::<Entry>(),
        });
        let wires = self.wires.iter().map(|wire| match &wire.kind {
            WireKind::Bytes(_, bytes) => size_of::<Wire>() + bytes.len(),
            _ => size_of::<Wire>(),
        });
        entries.chain(wires).sum()
    }
}

impl LogQueue {
    /// Creates a queue of `limit` bytes.
    pub(in crate::proxy) fn new(limit: usize) -> Self {
        Self { limit, lanes: Mutex::default(), changed: Condvar::new() }
    }

    /// Adds a batch, and returns without it if its session has too much waiting.
    pub(in crate::proxy) fn offer(&self, batch: Batch) -> Result<(), Batch> {
        let mut lanes = self.lock();
        if lanes.is_full(batch.session(), self.limit) {
            return Err(batch);
        }
        self.push(&mut lanes, batch);
        Ok(())
    }

    /// Adds a batch, and waits until its session may go on.
    pub(in crate::proxy) async fn put(&self, batch: Batch) {
        let session = batch.session();
        {
            let mut lanes = self.lock();
            self.push(&mut lanes, batch);
        }
        while let Some(left) = self.wait_for(session) {
            left.notified().await;
        }
    }

    /// Returns what a session waits for before it may add a batch.
    fn wait_for(&self, session: u64) -> Option<Arc<Notify>> {
        let lanes = self.lock();
        let full = !lanes.released && lanes.is_full(session, self.limit);
        lanes.by_session.get(&session).filter(|_| full).map(|lane| Arc::clone(&lane.left))
    }

    fn push(&self, lanes: &mut Lanes, batch: Batch) {
        let session = batch.session();
        lanes.push(batch);
        let full = lanes.is_full(session, self.limit);
        if lanes.wakes_at.take_if(|bytes| full || lanes.depth.bytes >= *bytes).is_some() {
            self.changed.notify_one();
        }
    }

    /// Waits for the next batch, until `deadline` if there is one. If `lingers`, a batch that comes soon
    /// may wait a few milliseconds for those behind it.
    pub(in crate::proxy) fn next(&self, deadline: Option<Instant>, lingers: bool) -> Next {
        let mut lanes = self.lock();
        if lingers && lanes.turns.is_empty() && !lanes.closed {
            lanes.wakes_at = Some(MANY);
            let waited = self.changed.wait_timeout(lanes, LINGER);
            lanes = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        loop {
            lanes.wakes_at = None;
            if let Some(batch) = lanes.pop() {
                return Next::Batch(batch);
            }
            if lanes.closed {
                return Next::End;
            }
            let Some(deadline) = deadline else {
                lanes.wakes_at = Some(0);
                lanes = self.changed.wait(lanes).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Timeout;
            }
            lanes.wakes_at = Some(0);
            let waited = self.changed.wait_timeout(lanes, left);
            lanes = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// No batch will be added.
    pub(in crate::proxy) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Lets sessions go on without waiting from now on: the run ends. What waits is taken one session after the
    /// other, those with the least first, so that one which has filled its share costs the others nothing.
    pub(in crate::proxy) fn release(&self) {
        let mut guard = self.lock();
        let lanes = &mut *guard;
        lanes.released = true;
        lanes.turns.make_contiguous().sort_by_key(|session| lanes.by_session[session].bytes);
        lanes.by_session.values().for_each(|lane| lane.left.notify_one());
    }

    /// Returns whether the run ends.
    pub(in crate::proxy) fn is_released(&self) -> bool {
        self.lock().released
    }

    pub(in crate::proxy) fn depth(&self) -> Depth {
        self.lock().depth
    }

    /// Returns how many entries of each session wait, the most first.
    pub(super) fn waiting(&self) -> Vec<(u64, usize)> {
        let lanes = self.lock();
        let entries =
            |lane: &Lane| lane.batches.iter().map(|(batch, _)| batch.entries.len()).sum::<usize>();
        let waiting = lanes.by_session.iter().map(|(session, lane)| (*session, entries(lane)));
        let mut waiting: Vec<_> = waiting.filter(|(_, entries)| *entries > 0).collect();
        waiting.sort_by_key(|(session, entries)| (Reverse(*entries), *session));
        waiting
    }

    fn lock(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lanes {
    /// Returns `true` if a session has more than its share of the queue waiting.
    fn is_full(&self, session: u64, limit: usize) -> bool {
        let share = limit / self.by_session.len().max(8);
        self.by_session.get(&session).is_some_and(|lane| lane.bytes > share)
    }

    fn push(&mut self, batch: Batch) {
        let (session, bytes) = (batch.session(), batch.memory());
        let lane = self.by_session.entry(session).or_default();
        match lane.batches.is_empty() {
            // The little that is still recorded at the end does not wait for what has piled up.
            true if self.released => self.turns.push_front(session),
            true => self.turns.push_back(session),
            false => {}
        }
        self.depth.batches += 1;
        self.depth.entries += batch.entries.len();
        self.depth.bytes += bytes;
        lane.bytes += bytes;
        lane.batches.push_back((batch, bytes));
    }

    fn pop(&mut self) -> Option<Batch> {
        let session = self.turns.pop_front()?;
        let lane = self.by_session.get_mut(&session)?;
        let (batch, bytes) = lane.batches.pop_front()?;
        lane.bytes -= bytes;
        lane.left.notify_one();
        if lane.batches.is_empty() {
            self.by_session.remove(&session);
        } else if self.released {
            self.turns.push_front(session);
        } else {
            self.turns.push_back(session);
        }
        self.depth.batches -= 1;
        self.depth.entries -= batch.entries.len();
        self.depth.bytes -= bytes;
        Some(batch)
    }
}

/// Divides entries where the session changes: sessions take turns in the queue, which would otherwise
/// change the order of a session's entries.
pub(super) fn runs_of_sessions(mut entries: Vec<Entry>) -> Vec<Vec<Entry>> {
    let mut runs = Vec::new();
    while let Some(session) = entries.first().map(|entry| entry.context().session) {
        let other = entries.iter().position(|entry| entry.context().session != session);
        let rest = entries.split_off(other.unwrap_or(entries.len()));
        runs.push(std::mem::replace(&mut entries, rest));
    }
    runs
}

/// Time for which the log thread is not woken after it has emptied the queue.
const LINGER: Duration = Duration::from_millis(5);

/// Bytes that wake it even then.
const MANY: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::task::yield_now;

    use super::*;
    use mitmcraft_engine::capture::WireLeg;
    use mitmcraft_protocol::packet::Timestamp;
    use mitmcraft_protocol::schema::Direction;

    const LIMIT: usize = 64 << 20;

    /// A batch of a session, with its number in place of a time.
    fn batch(session: u64, number: u64, bytes: usize) -> Batch {
        let address = ([127, 0, 0, 1], 1).into();
        let kind = WireKind::Bytes(Direction::Clientbound, Bytes::from(vec![0; bytes]));
        let (at, leg) = (Timestamp(number), WireLeg::Client);
        let wire = Wire { session, at, leg, from: address, to: address, kind };
        Batch { wires: vec![wire], entries: Vec::new() }
    }

    fn next(queue: &LogQueue) -> Option<(u64, u64)> {
        match queue.next(Some(Instant::now()), false) {
            Next::Batch(batch) => Some((batch.session(), batch.wires[0].at.0)),
            Next::Timeout | Next::End => None,
        }
    }

    #[test]
    fn sessions_take_turns_and_each_keeps_its_order() {
        let queue = LogQueue::new(LIMIT);
        for (session, number) in [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (2, 2)] {
            queue.offer(batch(session, number, 10)).unwrap();
        }
        assert_eq!(queue.depth().batches, 6);
        let order: Vec<_> = std::iter::from_fn(|| next(&queue)).collect();
        assert_eq!(order, [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (1, 3)]);
        assert_eq!(queue.depth(), Depth::default());
        assert!(queue.lock().by_session.is_empty(), "a session without batches takes no memory");
        queue.close();
        assert!(matches!(queue.next(None, true), Next::End));
    }

    #[test]
    fn at_the_end_sessions_with_little_are_written_before_one_that_has_filled_its_share() {
        let queue = LogQueue::new(LIMIT);
        for number in 0..5 {
            queue.offer(batch(1, number, 1 << 20)).unwrap();
        }
        for (session, number) in [(2, 1), (3, 1), (2, 2)] {
            queue.offer(batch(session, number, 10)).unwrap();
        }
        assert_eq!(next(&queue), Some((1, 0)));
        queue.release();
        assert_eq!(next(&queue), Some((3, 1)));
        // A session closes.
        queue.offer(batch(3, 2, 1)).unwrap();
        let order: Vec<_> = std::iter::from_fn(|| next(&queue)).collect();
        assert_eq!(order, [(3, 2), (2, 1), (2, 2), (1, 1), (1, 2), (1, 3), (1, 4)]);
        assert_eq!(queue.depth(), Depth::default());
    }

    #[test]
    fn a_session_that_fills_its_share_leaves_room_for_the_others() {
        let queue = LogQueue::new(LIMIT);
        let mut taken = 0;
        while queue.offer(batch(1, taken, 1 << 20)).is_ok() {
            taken += 1;
        }
        assert_eq!(taken, 8);
        queue.offer(batch(2, 1, 1 << 20)).unwrap();
        next(&queue).unwrap();
        queue.offer(batch(1, taken, 1 << 20)).unwrap();
    }

    #[test]
    fn many_sessions_share_the_limit() {
        let queue = LogQueue::new(LIMIT);
        for number in 0..100 {
            for session in 0..64 {
                let _ = queue.offer(batch(session, number, 64 << 10));
            }
        }
        let (bytes, batch) = (queue.depth().bytes, 65 << 10);
        assert!(bytes > LIMIT / 2 && bytes < LIMIT + 64 * batch, "{bytes}");
    }

    #[test]
    fn the_log_thread_is_woken_when_it_sleeps_or_much_waits() {
        let queue = LogQueue::new(LIMIT);
        let wakes = |wakes_at, bytes| {
            queue.lock().wakes_at = wakes_at;
            queue.offer(batch(1, 1, bytes)).unwrap();
            queue.lock().wakes_at.is_none()
        };
        assert!(wakes(Some(0), 1));
        assert!(!wakes(Some(MANY), 1));
        assert!(wakes(Some(MANY), MANY));
        // A session that must wait for it, too.
        let small = LogQueue::new(80);
        small.lock().wakes_at = Some(MANY);
        small.offer(batch(1, 1, 100)).unwrap();
        assert!(small.lock().wakes_at.is_none());
        // It lingers once, and then sleeps.
        let soon = Some(Instant::now() + 3 * LINGER);
        assert!(matches!(small.next(soon, true), Next::Batch(_)));
        assert!(matches!(small.next(soon, true), Next::Timeout));
    }

    #[tokio::test]
    async fn a_session_waits_for_its_own_batches_until_the_end_of_the_run() {
        let queue = Arc::new(LogQueue::new(LIMIT));
        let put = |session, bytes| {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move { queue.put(batch(session, 1, bytes)).await })
        };
        let large = put(1, LIMIT / 8 + 1);
        put(2, 1).await.unwrap();
        yield_now().await;
        assert!(!large.is_finished());
        assert_eq!(next(&queue), Some((1, 1)));
        large.await.unwrap();

        let large = put(3, LIMIT / 8 + 1);
        yield_now().await;
        assert!(!large.is_finished());
        queue.release();
        large.await.unwrap();
        put(3, LIMIT / 8 + 1).await.unwrap();
    }

    #[test]
    fn entries_of_sessions_are_queued_one_session_at_a_time() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/query.jsonl");
        let catalog = mitmcraft_protocol::schema::Catalog::embedded();
        let entries = mitmcraft_engine::capture::open_capture(path.as_ref(), catalog).unwrap();
        let mut entries: Vec<Entry> = entries.map(Result::unwrap).take(3).collect();
        let mut other = (**entries[0].context()).clone();
        let one = other.session;
        other.session += 1;
        let Entry::Event(event) = &mut entries[0] else { panic!("a session begins with an event") };
        event.context = Arc::new(other);
        entries.push(entries[0].clone());
        let numbers = |entries: &[Entry]| -> Vec<u64> {
            entries.iter().map(|entry| entry.context().session).collect()
        };
        assert_eq!(numbers(&entries), [one + 1, one, one, one + 1]);
        let queue = LogQueue::new(LIMIT);
        for entries in runs_of_sessions(entries.clone()) {
            queue.offer(Batch { wires: Vec::new(), entries }).unwrap();
        }
        assert_eq!(queue.waiting(), [(one, 2), (one + 1, 2)]);
        let runs = runs_of_sessions(entries);
        let runs: Vec<Vec<u64>> = runs.iter().map(|run| numbers(run)).collect();
        assert_eq!(runs, [vec![one + 1], vec![one, one], vec![one + 1]]);
        assert!(runs_of_sessions(Vec::new()).is_empty());
    }
}
