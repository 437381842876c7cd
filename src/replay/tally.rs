use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How far the sessions of a replay are; its clones count together.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
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

/// What a [`Tally`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Connections that reached the game.
    pub sessions: u64,
    /// Those of them that are in it now.
    pub playing: u64,
    /// Times that the recording was played to its end.
    pub finished: u64,
    /// Steps of the recording that are done, in the session that moved last.
    pub position: u64,
    /// Milliseconds from when the recorded session was opened to there.
    pub moment: u64,
    /// Packets that were sent in the game.
    pub sent: u64,
    /// Packets that came in the game.
    pub received: u64,
    /// Packets that came and that the recording has not.
    pub extra: u64,
    /// Kinds of packets that were waited for in vain.
    pub missed: u64,
}

impl Tally {
    /// What it says now.
    #[must_use]
    pub fn counted(&self) -> Counted {
        let of = |count: &AtomicU64| count.load(Relaxed);
        Counted {
            sessions: of(&self.0.sessions),
            playing: of(&self.0.playing),
            finished: of(&self.0.finished),
            position: of(&self.0.position),
            moment: of(&self.0.moment),
            sent: of(&self.0.sent),
            received: of(&self.0.received),
            extra: of(&self.0.extra),
            missed: of(&self.0.missed),
        }
    }

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

    pub(super) fn moved(&self, position: usize, moment: std::time::Duration) {
        self.0.position.store(position as u64, Relaxed);
        self.0.moment.store(u64::try_from(moment.as_millis()).unwrap_or(u64::MAX), Relaxed);
    }
}
