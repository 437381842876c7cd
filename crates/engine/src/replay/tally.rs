use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Counts what the sessions of a replay have done so far. Clones share their counters.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<Counters>);

impl Tally {
    pub(super) fn begun(&self) {
        self.0.sessions.fetch_add(1, Relaxed);
        self.0.playing.fetch_add(1, Relaxed);
    }

    pub(super) fn ended(&self) {
        self.0.playing.fetch_sub(1, Relaxed);
    }

    pub(super) fn finished(&self) {
        self.0.finished.fetch_add(1, Relaxed);
    }

    pub(super) fn sent(&self) {
        self.0.sent.fetch_add(1, Relaxed);
    }

    pub(super) fn received(&self, extra: bool) {
        self.0.received.fetch_add(1, Relaxed);
        self.0.extra.fetch_add(u64::from(extra), Relaxed);
    }

    pub(super) fn missed(&self, kinds: usize) {
        self.0.missed.fetch_add(kinds as u64, Relaxed);
    }

    pub(super) fn moved(&self, position: usize, moment: Duration) {
        self.0.position.store(position as u64, Relaxed);
        self.0.moment.store(u64::try_from(moment.as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Returns the present counts.
    #[must_use]
    pub fn counts(&self) -> TallyCounts {
        let Counters { sessions, playing, finished, position, moment, .. } = &*self.0;
        let Counters { sent, received, extra, missed, .. } = &*self.0;
        TallyCounts {
            sessions: sessions.load(Relaxed),
            playing: playing.load(Relaxed),
            finished: finished.load(Relaxed),
            position: position.load(Relaxed),
            moment: moment.load(Relaxed),
            sent: sent.load(Relaxed),
            received: received.load(Relaxed),
            extra: extra.load(Relaxed),
            missed: missed.load(Relaxed),
        }
    }
}

/// The counts of a [`Tally`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TallyCounts {
    /// Connections that reached the game.
    pub sessions: u64,
    /// Connections that are in the game now.
    pub playing: u64,
    /// Times that the recording was played to its end.
    pub finished: u64,
    /// Steps of the recording that are done, in the session that moved last.
    pub position: u64,
    /// Recorded time of that position, in milliseconds since the recorded session was opened.
    pub moment: u64,
    /// Packets sent in the game.
    pub sent: u64,
    /// Packets received in the game.
    pub received: u64,
    /// Packets received that are not in the recording.
    pub extra: u64,
    /// Packet types that were not received in time.
    pub missed: u64,
}

#[derive(Debug, Default)]
struct Counters {
    sessions: AtomicU64,
    playing: AtomicU64,
    finished: AtomicU64,
    position: AtomicU64,
    moment: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    extra: AtomicU64,
    missed: AtomicU64,
}
