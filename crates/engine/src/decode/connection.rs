use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::end_reason::EndReason;
use super::stream::{Piece, Stream};
use super::{DecodeNotice, DecodedConnection, TrafficCounts};
use crate::capture::Entry;
use crate::link::Upstream;
use crate::link::{Engine as _, Input, PerSide, Side, is_minecraft};
use crate::session::{Config, Session, Start};
use mitmcraft_protocol::codec::{KeyRing, MemoryBudget};
use mitmcraft_protocol::packet::{Cause, Timestamp};

/// A TCP connection and the session found in it, if it is the game's.
#[derive(Debug)]
pub(super) struct Connection {
    client: SocketAddr,
    server: SocketAddr,
    opened: Timestamp,
    /// The time of the last segment.
    pub(super) last: Timestamp,
    streams: PerSide<Stream>,
    /// `true` if a side's first gap has been reported.
    gaps: PerSide<bool>,
    /// Sequence number of the client's SYN; `None` if it was not recorded.
    isn: Option<u32>,
    /// `true` if bytes that are not understood are kept: the user named the port, or it is the
    /// game's.
    named: bool,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Not detected yet: the bytes that the client has sent.
    Undecided(BytesMut),
    /// A session of the game, with its number.
    Session(u64, Box<Session>),
    /// Not the game, or the rest of a session that has ended.
    Ignored,
}

/// The parts of a TCP segment that matter here.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) at: Timestamp,
    pub(super) seq: u32,
    pub(super) ack: Option<u32>,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) bytes: Bytes,
    /// Number of bytes at the end that were not recorded.
    pub(super) missing: usize,
}

/// The parts of a recording that its connections share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    pub(super) keys: Arc<KeyRing>,
    pub(super) entries: Vec<Entry>,
    pub(super) notices: Vec<DecodeNotice>,
    /// The counts so far; `sessions` is also the number of the last session.
    pub(super) counts: TrafficCounts,
}

impl Connection {
    pub(super) fn new(
        client: SocketAddr,
        server: SocketAddr,
        opened: Timestamp,
        isn: Option<u32>,
        named: bool,
        memory: &MemoryBudget,
    ) -> Self {
        let phase = Phase::Undecided(BytesMut::new());
        let streams = PerSide::from_fn(|_| Stream::new(memory));
        let (last, gaps) = (opened, PerSide::default());
        Self { client, server, opened, last, streams, gaps, isn, named, phase }
    }

    /// Returns the side with that address.
    pub(super) fn side_of(&self, address: SocketAddr) -> Side {
        if address == self.client { Side::Client } else { Side::Server }
    }

    /// Returns `true` if a SYN with that sequence number begins a new connection.
    pub(super) fn is_replaced_by(&self, seq: u32) -> bool {
        self.isn != Some(seq)
    }

    /// Returns `true` if the rest of the connection is ignored.
    pub(super) fn is_ignored(&self) -> bool {
        matches!(self.phase, Phase::Ignored)
    }

    pub(super) fn handle(&mut self, side: Side, segment: Segment, around: &mut Shared) {
        self.last = segment.at;
        if self.is_ignored() {
            return;
        }
        let mut seq = segment.seq;
        if segment.syn {
            seq = seq.wrapping_add(1);
            self.streams[side].begin(seq);
        }
        if let Some(ack) = segment.ack {
            self.streams[side.other()].acknowledge(segment.at, ack);
        }
        self.streams[side].push(seq, segment.bytes, segment.missing, segment.fin);
        self.drain(segment.at, around);
        if segment.rst && self.streams[side].is_near(seq) {
            self.finish(segment.at, around);
            let why = ErrorKind::ConnectionReset.into();
            self.tell(segment.at, Input::Lost(side, why), around);
            self.settle();
        }
    }

    /// Ends the connection: the recording has no more of it.
    pub(super) fn end(&mut self, at: Timestamp, why: EndReason, around: &mut Shared) {
        self.finish(at, around);
        self.tell(at, Input::Stop(Cause::new(why)), around);
        self.settle();
        self.phase = Phase::Ignored;
    }

    /// Passes on the bytes that are in order, of each side in turn.
    fn drain(&mut self, at: Timestamp, around: &mut Shared) {
        for side in Side::ALL {
            while let Some(piece) = self.streams[side].poll(at) {
                self.take(at, side, piece, around);
            }
        }
        self.settle();
    }

    /// Passes on the remaining bytes and reports what is missing.
    fn finish(&mut self, at: Timestamp, around: &mut Shared) {
        for side in Side::ALL {
            while let Some(piece) = self.streams[side].poll_last() {
                self.take(at, side, piece, around);
            }
        }
    }

    fn take(&mut self, at: Timestamp, side: Side, piece: Piece, around: &mut Shared) {
        if let Phase::Undecided(held) = &mut self.phase {
            let last = match (&piece, side) {
                (Piece::Bytes(bytes), Side::Client) => {
                    held.extend_from_slice(bytes);
                    false
                }
                _ => true,
            };
            let held = std::mem::take(held);
            match is_minecraft(&held, last) {
                None => {
                    self.phase = Phase::Undecided(held);
                    return;
                }
                Some(true) => self.open(at, &held, around),
                Some(false) if self.named => self.open(at, &held, around),
                Some(false) => {
                    let silent = held.is_empty() && !matches!(piece, Piece::Bytes(_));
                    around.counts.others += u64::from(!silent);
                    self.phase = Phase::Ignored;
                    return;
                }
            }
            if side == Side::Client && matches!(piece, Piece::Bytes(_)) {
                return;
            }
        }
        match piece {
            Piece::Bytes(bytes) => self.tell(at, Input::Received(side, &bytes), around),
            Piece::Missing(bytes) => {
                if !std::mem::replace(&mut self.gaps[side], true) {
                    self.notice(around, |connection| DecodeNotice::Gap {
                        connection,
                        from: side,
                        bytes,
                    });
                }
                self.tell(at, Input::Missing(side, bytes), around);
            }
            Piece::End => self.tell(at, Input::Closed(side), around),
        }
    }

    /// Begins the session with the bytes that the client has sent.
    fn open(&mut self, at: Timestamp, held: &[u8], around: &mut Shared) {
        around.counts.sessions += 1;
        let upstream = Upstream { host: self.server.ip().to_string(), port: self.server.port() };
        let number = around.counts.sessions;
        let start = Start { session: number, at: self.opened, client: self.client, upstream };
        let (config, keys) = (Arc::clone(&around.config), Arc::clone(&around.keys));
        let Some(session) = Session::observe(config, start, self.server, keys) else {
            self.phase = Phase::Ignored;
            return;
        };
        self.phase = Phase::Session(number, Box::new(session));
        if self.isn.is_none() && is_minecraft(held, true) != Some(true) {
            self.tell(at, Input::StartMissed, around);
        }
        self.tell(at, Input::Received(Side::Client, held), around);
    }

    fn tell(&mut self, at: Timestamp, input: Input<'_>, around: &mut Shared) {
        let Phase::Session(_, session) = &mut self.phase else { return };
        let before = session.relayed().is_some();
        session.handle(at, input);
        while session.poll_output().is_some() {}
        session.take_entries(&mut around.entries);
        if before {
            return;
        }
        if let Some(reason) = session.relayed() {
            let reason = reason.clone();
            self.notice(around, |connection| DecodeNotice::Opaque { connection, reason });
        }
    }

    fn notice(&self, around: &mut Shared, notice: impl FnOnce(DecodedConnection) -> DecodeNotice) {
        if let Phase::Session(session, _) = self.phase {
            let (client, server) = (self.client, self.server);
            around.notices.push(notice(DecodedConnection { session, client, server }));
        }
    }

    /// Drops a session that is over.
    fn settle(&mut self) {
        if let Phase::Session(_, session) = &self.phase
            && session.is_over()
        {
            self.phase = Phase::Ignored;
        }
    }
}
