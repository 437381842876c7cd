use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use crate::capture::{Entry, EventKind, Outcome, Record, Sink, Summary};
use crate::packet::{Context, Packet, Timestamp};
use crate::schema::{Direction, Name, State};
use crate::text::{ByteSize, Escaped};

/// Counts what it is given, by session and by kind of packet.
///
/// Its memory is bounded: kinds are those of the protocol's description, and of sessions that have
/// closed only the last are kept apart.
#[derive(Debug, Default)]
pub struct CountingSink {
    sessions: BTreeMap<u64, SessionCounts>,
    /// Sessions that are not kept apart any more.
    earlier: CountsByPacket,
    /// How many these are.
    forgotten: u64,
    /// How many of `sessions` have closed.
    closed: usize,
}

/// What a session has come to.
#[derive(Debug, Clone)]
pub struct SessionCounts {
    /// What is known of it.
    pub context: Arc<Context>,
    /// Its packets.
    pub totals: CountsByPacket,
    /// When its last entry was made.
    pub last: Timestamp,
    /// When it closed, and what was said of it then.
    pub closed: Option<(Timestamp, Summary)>,
}

/// Counts by kind of packet.
#[derive(Debug, Clone, Default)]
pub struct CountsByPacket {
    kinds: HashMap<(Direction, State), HashMap<Name, PacketCounts>>,
}

/// Counts of one kind of packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketCounts {
    /// Packets that came from a peer.
    pub packets: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Bytes of them on the wire.
    pub wire: u64,
    /// Bytes of the smallest body.
    pub smallest: u64,
    /// Bytes of the largest body.
    pub largest: u64,
    /// How many of them were dropped.
    pub dropped: u64,
    /// How many of them were rewritten.
    pub rewritten: u64,
    /// Packets of the kind that the proxy made, beside those that came.
    pub made: u64,
}

/// One kind of packet, and how many there were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedPacket {
    /// Which way it travels.
    pub direction: Direction,
    /// In which state.
    pub state: State,
    /// The packet's name; `(unknown)` or `(no packet)` for what has none.
    pub name: Name,
    /// How many.
    pub counts: PacketCounts,
}

impl CountingSink {
    /// Sessions that are kept apart, in order.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionCounts> {
        self.sessions.values()
    }

    /// How many sessions are not kept apart any more.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// All sessions together.
    #[must_use]
    pub fn overall(&self) -> CountsByPacket {
        let mut overall = self.earlier.clone();
        for session in self.sessions.values() {
            overall.add(&session.totals);
        }
        overall
    }

    /// Gives up the oldest sessions that have closed, and if none has, the oldest.
    fn forget(&mut self) {
        while self.closed > MAX_CLOSED || self.sessions.len() > MAX_SESSIONS {
            let oldest = self.sessions.iter().find(|(_, session)| session.closed.is_some());
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

impl CountsByPacket {
    /// Every kind, that with the most bytes first.
    #[must_use]
    pub fn rows(&self) -> Vec<CountedPacket> {
        let mut rows: Vec<CountedPacket> = self
            .kinds
            .iter()
            .flat_map(|(&(direction, state), names)| {
                names.iter().map(move |(name, &counts)| {
                    let name = Name::clone(name);
                    CountedPacket { direction, state, name, counts }
                })
            })
            .collect();
        rows.sort_unstable_by(|a, b| {
            let order = (b.counts.bytes, b.counts.packets).cmp(&(a.counts.bytes, a.counts.packets));
            let place = |row: &CountedPacket| (row.direction, row.state, Name::clone(&row.name));
            order.then_with(|| place(a).cmp(&place(b)))
        });
        rows
    }

    /// All kinds together.
    #[must_use]
    pub fn total(&self) -> PacketCounts {
        let mut total = PacketCounts::default();
        for counts in self.kinds.values().flat_map(HashMap::values) {
            total.add(counts);
        }
        total
    }

    /// Appends a table of all kinds, that with the most bytes first, and their sum.
    pub fn write_table(&self, out: &mut String) {
        let head = ["packets", "bytes", "on the wire"];
        let _ = writeln!(out, "{:>9}  {:>11}  {:>11}  packet", head[0], head[1], head[2]);
        for row in self.rows() {
            let arrow = match row.direction {
                Direction::Serverbound => '→',
                Direction::Clientbound => '←',
            };
            let name = format!("{arrow} {} {}", row.state, Escaped(&row.name));
            write_row(out, &row.counts, &name);
        }
        write_row(out, &self.total(), "total");
    }

    fn count(&mut self, record: &Record) {
        let packet = &record.packet;
        let name = packet.kind().map(|packet| packet.name());
        let key = packet_name(packet);
        let names = self.kinds.entry((packet.direction, packet.state)).or_default();
        let counts = match names.get_mut(key) {
            Some(counts) => counts,
            None => {
                let name = name.map_or_else(|| Name::from(key), Name::clone);
                names.entry(name).or_default()
            }
        };
        counts.count(record);
    }

    /// Adds the counts of more packets.
    pub(crate) fn add(&mut self, other: &Self) {
        for (place, names) in &other.kinds {
            let mine = self.kinds.entry(*place).or_default();
            for (name, counts) in names {
                mine.entry(Name::clone(name)).or_default().add(counts);
            }
        }
    }
}

impl PacketCounts {
    /// Counts a packet.
    pub(crate) fn count(&mut self, record: &Record) {
        self.add(&Self::of(record));
    }

    /// Adds the counts of more packets.
    pub(crate) fn add(&mut self, other: &Self) {
        if other.packets > 0 {
            self.smallest = match self.packets {
                0 => other.smallest,
                _ => self.smallest.min(other.smallest),
            };
        }
        self.largest = self.largest.max(other.largest);
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.wire += other.wire;
        self.dropped += other.dropped;
        self.rewritten += other.rewritten;
        self.made += other.made;
    }

    /// What was done to them, in words; empty when all went on as they came.
    pub(crate) fn done(&self) -> String {
        let done = [(self.dropped, "dropped"), (self.rewritten, "rewritten"), (self.made, "made")];
        let done = done.iter().filter(|(count, _)| *count > 0);
        let done: Vec<String> = done.map(|(count, what)| format!("{count} {what}")).collect();
        done.join(", ")
    }

    fn of(record: &Record) -> Self {
        if record.outcome == Outcome::Send {
            // What went in the place of another was counted as that.
            return Self { made: u64::from(record.of.is_none()), ..Self::default() };
        }
        Self {
            packets: 1,
            bytes: record.packet.size() as u64,
            wire: record.packet.wire_size() as u64,
            smallest: record.packet.size() as u64,
            largest: record.packet.size() as u64,
            dropped: u64::from(record.outcome == Outcome::Drop),
            rewritten: u64::from(record.outcome == Outcome::Rewrite),
            made: 0,
        }
    }
}

/// The packet's name, or what stands for it in tables.
pub(crate) fn packet_name(packet: &Packet) -> &str {
    match (packet.kind(), packet.frame()) {
        (Some(packet), _) => packet.name(),
        (None, Some(_)) => UNKNOWN,
        (None, None) => NO_PACKET,
    }
}

fn write_row(out: &mut String, counts: &PacketCounts, name: &str) {
    let (bytes, wire) = (ByteSize(counts.bytes).to_string(), ByteSize(counts.wire).to_string());
    let _ = write!(out, "{:>9}  {bytes:>11}  {wire:>11}  {name}", counts.packets);
    let done = counts.done();
    if !done.is_empty() {
        let _ = write!(out, " ({done})");
    }
    out.push('\n');
}

const UNKNOWN: &str = "(unknown)";
const NO_PACKET: &str = "(no packet)";

/// Sessions that have closed and are kept apart.
const MAX_CLOSED: usize = 64;

/// Sessions that are kept apart at all: a capture may not say when they close.
const MAX_SESSIONS: usize = 1024;
