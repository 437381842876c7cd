use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Counts what the sessions of a replay have done so far. Clones share their counts.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<Mutex<TallyCounts>>);

impl Tally {
    pub(super) fn begin(&self) {
        self.count(|it| (it.sessions, it.playing) = (it.sessions + 1, it.playing + 1));
    }

    pub(super) fn end(&self) {
        self.count(|it| it.playing -= 1);
    }

    /// Counts a packet, which is `known` if the recording has it.
    pub(super) fn receive(&self, known: bool) {
        self.count(|it| {
            it.received += 1;
            it.extra += u64::from(!known);
        });
    }

    /// Counts that the recording was played to its end, and the types of packets that the peer did not send.
    pub(super) fn finish(&self, missed: usize) {
        self.count(|it| {
            it.missed += missed as u64;
            it.finished += 1;
        });
    }

    pub(super) fn move_to(&self, position: usize, moment: Duration) {
        let moment = u64::try_from(moment.as_millis()).unwrap_or(u64::MAX);
        self.count(|it| (it.position, it.moment) = (position as u64, moment));
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut TallyCounts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the present counts.
    #[must_use]
    pub fn counts(&self) -> TallyCounts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
