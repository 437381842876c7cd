use std::collections::{HashMap, HashSet};
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use etherparse::{TcpSlice, UdpHeaderSlice};

use super::connection::{Connection, Segment, Shared};
use super::datagram::Datagram;
use super::end_reason::EndReason;
use super::fragments::Fragments;
use super::network::{TCP, UDP, datagram};
use super::queries::Queries;
use super::{CapturedPacket, DecodeNotice, LinkType};
use crate::capture::Entry;
use crate::session::Config;
use mitmcraft_protocol::codec::{KeyRing, MemoryBudget};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Catalog;

/// Decodes the game's sessions in a recording into entries.
#[derive(Debug)]
pub struct Traffic {
    shared: Shared,
    ports: Vec<u16>,
    fragments: Fragments,
    pub(super) connections: HashMap<ConnectionKey, Connection>,
    queries: Queries,
    /// Unsupported link types that have been reported.
    reported: HashSet<u32>,
    cut: bool,
    crowded: bool,
    last: Timestamp,
}

/// Options for decoding a recording.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TrafficOptions {
    /// The known protocols; `None` for the embedded ones.
    pub catalog: Option<Catalog>,
    /// The keys to decrypt sessions with.
    pub keys: KeyRing,
    /// The memory that all connections together may use.
    pub memory: MemoryBudget,
    /// The servers' ports; if empty, sessions are detected on any port by their content.
    pub ports: Vec<u16>,
}

/// Counts of what a recording contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrafficCounts {
    /// Number of packets in the recording.
    pub packets: u64,
    /// Number of sessions of the game, including Query.
    pub sessions: u64,
    /// Number of TCP connections that are not the game's.
    pub others: u64,
}

/// The two addresses of a connection, the smaller one first.
type ConnectionKey = (SocketAddr, SocketAddr);

impl Traffic {
    /// Creates a decoder of one recording.
    #[must_use]
    pub fn new(options: TrafficOptions) -> Self {
        let catalog = options.catalog.unwrap_or_else(|| Catalog::embedded().clone());
        let config = Arc::new(Config {
            catalog,
            memory: options.memory,
            keep_host: true,
            follow_transfers: false,
            ..Config::default()
        });
        Self {
            shared: Shared { config, keys: Arc::new(options.keys), ..Shared::default() },
            ports: options.ports,
            fragments: Fragments::default(),
            connections: HashMap::new(),
            queries: Queries::default(),
            reported: HashSet::new(),
            cut: false,
            crowded: false,
            last: Timestamp::default(),
        }
    }

    /// Takes the next packet of the recording.
    pub fn handle(&mut self, captured: &CapturedPacket) {
        self.shared.counts.packets += 1;
        self.last = self.last.max(captured.at);
        if let LinkType::Other(number) = captured.link {
            if self.reported.insert(number) {
                self.shared.notices.push(DecodeNotice::LinkType(number));
            }
            return;
        }
        let Some(datagram) = datagram(captured, &mut self.fragments) else { return };
        match datagram.protocol {
            TCP => self.handle_tcp(datagram),
            UDP => self.handle_udp(datagram),
            _ => {}
        }
    }

    /// Ends the recording and closes all open sessions.
    pub fn finish(&mut self) {
        let mut open: Vec<_> = mem::take(&mut self.connections).into_values().collect();
        open.sort_by_key(|connection| connection.last);
        let last = self.last;
        for mut connection in open {
            connection.end(last, EndReason::Recording, &mut self.shared);
        }
        self.queries.end(last, EndReason::Recording, &mut self.shared.entries);
    }

    /// Appends the entries since the last call to `into`.
    pub fn take_entries(&mut self, into: &mut Vec<Entry>) {
        into.append(&mut self.shared.entries);
    }

    /// Returns the notices since the last call.
    pub fn take_notices(&mut self) -> Vec<DecodeNotice> {
        mem::take(&mut self.shared.notices)
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> TrafficCounts {
        self.shared.counts
    }

    fn handle_tcp(&mut self, datagram: Datagram) {
        let Ok(tcp) = TcpSlice::from_slice(&datagram.bytes) else { return };
        let from = SocketAddr::new(datagram.from, tcp.source_port());
        let to = SocketAddr::new(datagram.to, tcp.destination_port());
        if !self.is_wanted(from, to) {
            return;
        }
        if datagram.missing > 0 && !mem::replace(&mut self.cut, true) {
            self.shared.notices.push(DecodeNotice::CutPackets);
        }
        let segment = Segment {
            at: datagram.at,
            seq: tcp.sequence_number(),
            ack: tcp.ack().then(|| tcp.acknowledgment_number()),
            syn: tcp.syn(),
            fin: tcp.fin(),
            rst: tcp.rst(),
            bytes: datagram.bytes.slice_ref(tcp.payload()),
            missing: datagram.missing,
        };
        let ends = (from.min(to), from.max(to));
        let asks = segment.syn && segment.ack.is_none();
        let replaced =
            asks && self.connections.get(&ends).is_some_and(|it| it.is_replaced_by(segment.seq));
        if replaced && let Some(mut old) = self.connections.remove(&ends) {
            old.end(segment.at, EndReason::PortReused, &mut self.shared);
        }
        let mut connection = match self.connections.remove(&ends) {
            Some(connection) => connection,
            // A segment without content of an unknown connection does not begin one.
            None if segment.bytes.is_empty() && !segment.syn => return,
            None => {
                self.make_room();
                self.begin(from, to, &segment)
            }
        };
        connection.handle(connection.side_of(from), segment, &mut self.shared);
        self.connections.insert(ends, connection);
    }

    /// Begins a connection with its first recorded segment.
    fn begin(&self, from: SocketAddr, to: SocketAddr, segment: &Segment) -> Connection {
        let (client, server, isn) = match (segment.syn, segment.ack) {
            (true, None) => (from, to, Some(segment.seq)),
            // The SYN was not recorded; the SYN-ACK acknowledges it.
            (true, Some(ack)) => (to, from, Some(ack.wrapping_sub(1))),
            (false, _) if self.is_server(from, to) => (to, from, None),
            (false, _) => (from, to, None),
        };
        let (named, memory) = (self.is_named(from, to), &self.shared.config.memory);
        Connection::new(client, server, segment.at, isn, named, memory)
    }

    fn handle_udp(&mut self, datagram: Datagram) {
        let Ok(udp) = UdpHeaderSlice::from_slice(&datagram.bytes) else { return };
        let from = SocketAddr::new(datagram.from, udp.source_port());
        let to = SocketAddr::new(datagram.to, udp.destination_port());
        if !self.is_wanted(from, to) {
            return;
        }
        let end = usize::from(udp.length()).clamp(UDP_HEADER, datagram.bytes.len());
        let bytes: Bytes = datagram.bytes.slice(UDP_HEADER..end);
        let Shared { counts, entries, .. } = &mut self.shared;
        self.queries.handle(datagram.at, (from, to), bytes, &mut counts.sessions, entries);
    }

    /// Drops connections that are ignored, and if there are still too many, the longest idle ones.
    fn make_room(&mut self) {
        if self.connections.len() < MAX_CONNECTIONS {
            return;
        }
        self.connections.retain(|_, connection| !connection.is_ignored());
        if self.connections.len() < MAX_CONNECTIONS {
            return;
        }
        if !mem::replace(&mut self.crowded, true) {
            self.shared.notices.push(DecodeNotice::Crowded { limit: MAX_CONNECTIONS });
        }
        let mut idle: Vec<_> = self.connections.iter().map(|(ends, it)| (it.last, *ends)).collect();
        idle.sort_unstable();
        for (last, ends) in idle.into_iter().take(MAX_CONNECTIONS / 8) {
            if let Some(mut connection) = self.connections.remove(&ends) {
                connection.end(last, EndReason::Crowded, &mut self.shared);
            }
        }
    }

    fn is_wanted(&self, from: SocketAddr, to: SocketAddr) -> bool {
        let has = |address: SocketAddr| self.ports.contains(&address.port());
        self.ports.is_empty() || has(from) || has(to)
    }

    /// Returns `true` if bytes that are not understood are kept on that connection.
    fn is_named(&self, from: SocketAddr, to: SocketAddr) -> bool {
        !self.ports.is_empty() || [from, to].iter().any(|it| it.port() == GAME_PORT)
    }

    /// Guesses whether `from` is the server of a connection whose beginning was not recorded.
    fn is_server(&self, from: SocketAddr, to: SocketAddr) -> bool {
        let known = |it: SocketAddr| self.ports.contains(&it.port()) || it.port() == GAME_PORT;
        match (known(from), known(to)) {
            (true, false) => true,
            (false, true) => false,
            _ => from.port() < to.port(),
        }
    }
}

/// Connections tracked at a time.
pub(super) const MAX_CONNECTIONS: usize = 65_536;

const GAME_PORT: u16 = 25_565;

const UDP_HEADER: usize = 8;
