use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::proxy::RefusalError;
use mitmcraft_engine::capture::{Entry, Event, EventKind, Outcome};
use mitmcraft_engine::link::{PerSide, Side};
use mitmcraft_protocol::packet::{Content, TypeCounts};
use mitmcraft_protocol::schema::{PacketType, PerDirection, State};

/// Counters of a run.
///
/// Their number is fixed: nothing is counted by a name that a peer chooses.
#[derive(Debug, Default)]
pub struct Metrics {
    pub(super) opened: Counter,
    pub(super) closed: Counter,
    /// The open sessions whose player has reached the game.
    players: Mutex<HashSet<u64>>,
    /// Packets, indexed by state and outcome.
    pub(super) packets: PerDirection<[[Counter; Outcome::ALL.len()]; State::ALL.len()]>,
    /// Bytes received, indexed by state.
    pub(super) bytes: PerDirection<[Counter; State::ALL.len()]>,
    pub(super) raw_bytes: PerDirection<Counter>,
    pub(in crate::proxy) written: Counter,
    pub(in crate::proxy) left_out: Counter,
    /// The times from reading bytes to writing them, by the side that gets them.
    pub(in crate::proxy) forwarding: PerSide<Histogram>,
    /// Nanoseconds for which a side took no more bytes.
    pub(in crate::proxy) blocked: PerSide<Counter>,
    /// `true` while a sink takes nothing.
    stalled: AtomicBool,
    troubles: [Counter; Trouble::ALL.len()],
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Counter(AtomicU64);

impl Counter {
    pub(in crate::proxy) fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    pub(in crate::proxy) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counts of durations, by their length.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Histogram {
    /// Durations up to each of [`Self::LIMITS`], and longer ones.
    counts: [Counter; Self::LIMITS.len() + 1],
    nanos: Counter,
}

impl Histogram {
    /// The upper limits, in seconds.
    pub(super) const LIMITS: [f64; 6] = [0.0001, 0.001, 0.01, 0.05, 0.25, 1.0];

    pub(in crate::proxy) fn add(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let place = Self::LIMITS.iter().position(|limit| seconds <= *limit);
        self.counts[place.unwrap_or(Self::LIMITS.len())].add(1);
        self.nanos.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns how many durations each limit has, with all shorter ones, and how many there are.
    pub(in crate::proxy) fn cumulative(&self) -> [u64; Self::LIMITS.len() + 1] {
        let mut sum = 0;
        self.counts.each_ref().map(|count| {
            sum += count.get();
            sum
        })
    }

    /// The sum, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.nanos.get() as f64 / 1e9
    }
}

/// A kind of error that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// The server could not be reached.
    Upstream,
    /// The connection to the client broke.
    Client,
    /// The connection to the server broke.
    Server,
    /// A timeout ended a session.
    Timeout,
    /// A client was refused: its PROXY header or its destination was invalid.
    Refused,
    /// A client was refused: as many as allowed are served already.
    Full,
    /// A client was refused or not connected: the proxy is out of file descriptors.
    Descriptors,
    /// A client could not be accepted.
    Accept,
    /// A capture could not be written.
    Log,
}

impl Trouble {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Upstream,
        Self::Client,
        Self::Server,
        Self::Timeout,
        Self::Refused,
        Self::Full,
        Self::Descriptors,
        Self::Accept,
        Self::Log,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Client => "client",
            Self::Server => "server",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Full => "full",
            Self::Descriptors => "descriptors",
            Self::Accept => "accept",
            Self::Log => "log",
        }
    }
}

impl From<Side> for Trouble {
    fn from(side: Side) -> Self {
        match side {
            Side::Client => Self::Client,
            Side::Server => Self::Server,
        }
    }
}

impl From<&RefusalError> for Trouble {
    fn from(reason: &RefusalError) -> Self {
        match reason {
            RefusalError::Full { .. } => Self::Full,
            RefusalError::NoDescriptors => Self::Descriptors,
            _ => Self::Refused,
        }
    }
}

impl Metrics {
    pub(in crate::proxy) fn count(&self, entries: &[Entry]) {
        for entry in entries {
            let record = match entry {
                Entry::Packet(record) => record,
                Entry::Event(event) => {
                    self.count_event(event);
                    continue;
                }
            };
            let packet = &record.packet;
            let (direction, state) = (packet.direction(), packet.state() as usize);
            let wire = packet.wire_size() as u64;
            if let Content::Raw(..) = packet.content() {
                self.raw_bytes[direction].add(wire);
            } else {
                self.packets[direction][state][record.outcome as usize].add(1);
            }
            if record.outcome.came() {
                self.bytes[direction][state].add(wire);
            }
        }
    }

    fn count_event(&self, event: &Event) {
        let session = event.context.session;
        let players = || self.players.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            EventKind::Open => self.opened.add(1),
            EventKind::State(legs) => {
                if legs.state == State::Play && event.context.player.is_some() {
                    players().insert(session);
                }
            }
            EventKind::Close(_) => {
                self.closed.add(1);
                players().remove(&session);
            }
        }
    }

    /// Counts packets of one type that were forwarded unchanged and not recorded.
    pub(in crate::proxy) fn count_passed(&self, packet: &PacketType, passed: &TypeCounts) {
        let (direction, state) = (packet.direction(), packet.state() as usize);
        let outcome = Outcome::Pass as usize;
        self.packets[direction][state][outcome].add(passed.packets);
        self.bytes[direction][state].add(passed.wire);
    }

    pub(in crate::proxy) fn set_stalled(&self, stalled: bool) {
        self.stalled.store(stalled, Relaxed);
    }

    pub(in crate::proxy) fn is_stalled(&self) -> bool {
        self.stalled.load(Relaxed)
    }

    pub(in crate::proxy) fn count_trouble(&self, trouble: Trouble) {
        self.troubles[trouble as usize].add(1);
    }

    pub(super) fn players(&self) -> usize {
        self.players.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(in crate::proxy) fn troubles(&self, trouble: Trouble) -> u64 {
        self.troubles[trouble as usize].get()
    }
}
