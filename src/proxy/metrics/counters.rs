use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::proxy::RefusalError;
use mitmcraft_engine::capture::{Entry, Event, EventKind, Outcome};
use mitmcraft_engine::link::Side;
use mitmcraft_protocol::packet::{Content, TypeCounts};
use mitmcraft_protocol::schema::{Direction, PacketType, PerDirection, State};

/// Counters of a run.
///
/// Their number is fixed: nothing is counted by a name that a peer chooses.
#[derive(Debug, Default)]
pub struct Metrics {
    opened: AtomicU64,
    closed: AtomicU64,
    /// The open sessions whose player has reached the game.
    players: Mutex<HashSet<u64>>,
    /// Packets, indexed by state and outcome.
    packets: PerDirection<[[AtomicU64; Outcome::ALL.len()]; State::ALL.len()]>,
    /// Bytes received, indexed by state.
    bytes: PerDirection<[AtomicU64; State::ALL.len()]>,
    raw_bytes: PerDirection<AtomicU64>,
    written: AtomicU64,
    left_out: AtomicU64,
    /// `true` while a sink takes nothing.
    stalled: AtomicBool,
    troubles: [AtomicU64; Trouble::ALL.len()],
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
                self.raw_bytes[direction].fetch_add(wire, Relaxed);
            } else {
                self.packets[direction][state][record.outcome as usize].fetch_add(1, Relaxed);
            }
            if record.outcome.came() {
                self.bytes[direction][state].fetch_add(wire, Relaxed);
            }
        }
    }

    fn count_event(&self, event: &Event) {
        let session = event.context.session;
        let players = || self.players.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            EventKind::Open => {
                self.opened.fetch_add(1, Relaxed);
            }
            EventKind::State(legs) => {
                if legs.state == State::Play && event.context.player.is_some() {
                    players().insert(session);
                }
            }
            EventKind::Close(_) => {
                self.closed.fetch_add(1, Relaxed);
                players().remove(&session);
            }
        }
    }

    /// Counts packets of one type that were forwarded unchanged and not recorded.
    pub(in crate::proxy) fn count_passed(&self, packet: &PacketType, passed: &TypeCounts) {
        let (direction, state) = (packet.direction(), packet.state() as usize);
        let outcome = Outcome::Pass as usize;
        self.packets[direction][state][outcome].fetch_add(passed.packets, Relaxed);
        self.bytes[direction][state].fetch_add(passed.wire, Relaxed);
    }

    pub(in crate::proxy) fn count_written(&self, entries: usize) {
        self.written.fetch_add(entries as u64, Relaxed);
    }

    pub(in crate::proxy) fn count_left_out(&self, entries: usize) {
        self.left_out.fetch_add(entries as u64, Relaxed);
    }

    pub(in crate::proxy) fn set_stalled(&self, stalled: bool) {
        self.stalled.store(stalled, Relaxed);
    }

    pub(in crate::proxy) fn is_stalled(&self) -> bool {
        self.stalled.load(Relaxed)
    }

    pub(in crate::proxy) fn count_trouble(&self, trouble: Trouble) {
        self.troubles[trouble as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn opened(&self) -> u64 {
        self.opened.load(Relaxed)
    }

    pub(super) fn closed(&self) -> u64 {
        self.closed.load(Relaxed)
    }

    pub(super) fn players(&self) -> usize {
        self.players.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn packets(&self, direction: Direction, state: State, outcome: Outcome) -> u64 {
        self.packets[direction][state as usize][outcome as usize].load(Relaxed)
    }

    pub(super) fn bytes(&self, direction: Direction, state: State) -> u64 {
        self.bytes[direction][state as usize].load(Relaxed)
    }

    pub(super) fn raw_bytes(&self, direction: Direction) -> u64 {
        self.raw_bytes[direction].load(Relaxed)
    }

    pub(super) fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Relaxed)
    }

    pub(in crate::proxy) fn troubles(&self, trouble: Trouble) -> u64 {
        self.troubles[trouble as usize].load(Relaxed)
    }
}
