use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{CountsByPacket, RoundTrip};
use crate::capture::{Entry, EventKind, Sink, Summary};
use mitmcraft_protocol::packet::{Context, Timestamp};

/// A sink that counts packets by session and kind.
///
/// Memory is bounded: kinds are those of the protocol, and only the last sessions that have closed are
/// counted separately.
#[derive(Debug)]
pub struct CountingSink {
    sessions: BTreeMap<u64, SessionCounts>,
    /// The sum of sessions that are no longer counted separately.
    earlier: CountsByPacket,
    /// The number of sessions that are no longer counted separately.
    pub(super) forgotten: u64,
    /// The number of closed ones in `sessions`.
    closed: usize,
    /// The greatest number of them.
    max_closed: usize,
    /// The greatest number of `sessions`.
    max: usize,
}

/// The counts of a session.
#[derive(Debug, Clone)]
pub struct SessionCounts {
    /// The context of the last entry.
    pub context: Arc<Context>,
    /// The packets by kind.
    pub totals: CountsByPacket,
    /// The time of the last entry.
    pub last: Timestamp,
    /// The time at which the session closed, and its summary.
    pub closed: Option<(Timestamp, Summary)>,
    /// The round trips of its keep-alives, if they are measured.
    pub keep_alives: RoundTrip,
}

impl Default for CountingSink {
    fn default() -> Self {
        Self::keeping(MAX_CLOSED, MAX_SESSIONS)
    }
}

impl CountingSink {
    /// Creates a sink that counts at most `max` sessions separately, of which the last `max_closed` that have closed,
    /// and the earlier ones together.
    #[must_use]
    pub fn keeping(max_closed: usize, max: usize) -> Self {
        let (sessions, earlier) = (BTreeMap::new(), CountsByPacket::default());
        Self { sessions, earlier, forgotten: 0, closed: 0, max_closed, max }
    }

    /// The number of sessions that are no longer counted separately.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Iterates over the sessions that are counted separately, in order.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionCounts> {
        self.sessions.values()
    }

    /// Sums up all sessions.
    #[must_use]
    pub fn overall(&self) -> CountsByPacket {
        let mut overall = self.earlier.clone();
        for session in self.sessions.values() {
            overall.add(&session.totals);
        }
        overall
    }

    /// Counts a round trip of a keep-alive in a session.
    pub(super) fn count_keep_alive(&mut self, session: u64, took: Duration) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.keep_alives.count(took);
        }
    }

    /// Merges the oldest closed sessions, or the oldest ones if none has closed, into `earlier`.
    fn forget(&mut self) {
        while self.closed > self.max_closed || self.sessions.len() > self.max {
            // Without this, each entry of many open sessions would search all of them.
            let sessions = (self.closed > 0).then_some(&self.sessions);
            let mut sessions = sessions.into_iter().flatten();
            let oldest = sessions.find(|(_, session)| session.closed.is_some());
            let oldest = oldest.or_else(|| self.sessions.first_key_value()).map(|(id, _)| *id);
            let Some(session) = oldest.and_then(|id| self.sessions.remove(&id)) else { return };
            self.earlier.add(&session.totals);
            self.forgotten += 1;
            self.closed -= usize::from(session.closed.is_some());
        }
    }
}

impl Sink for CountingSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let context = entry.context();
        let session = self.sessions.entry(context.session).or_insert_with(|| SessionCounts {
            context: Arc::clone(context),
            totals: CountsByPacket::default(),
            last: entry.at(),
            closed: None,
            keep_alives: RoundTrip::default(),
        });
        session.last = session.last.max(entry.at());
        if !Arc::ptr_eq(&session.context, context) {
            session.context = Arc::clone(context);
        }
        match entry {
            Entry::Packet(record) => session.totals.count(record),
            Entry::Event(event) => {
                if let EventKind::Close(summary) = &event.kind {
                    self.closed += usize::from(session.closed.is_none());
                    session.closed = Some((event.at, summary.clone()));
                }
            }
        }
        self.forget();
        Ok(())
    }
}

/// Closed sessions that are counted separately unless the caller says otherwise.
const MAX_CLOSED: usize = 64;

/// Sessions that are counted separately unless the caller says otherwise. A capture may lack the events of their
/// closing.
const MAX_SESSIONS: usize = 1024;
