use std::net::SocketAddr;

use bytes::Bytes;
use tokio::net::TcpStream;

use crate::capture::{Wire, WireKind, WireLeg};
use crate::link::Side;
use crate::packet::Timestamp;
use crate::schema::Direction;

/// Takes down what crosses a session's two connections, for captures that want it.
#[derive(Debug)]
pub(super) struct WireTap {
    session: u64,
    /// By side: who connected to whom.
    ends: [Option<(SocketAddr, SocketAddr)>; 2],
    /// What was not handed over yet.
    crossed: Vec<Wire>,
}

impl WireTap {
    pub(super) fn new(session: u64) -> Self {
        Self { session, ends: [None; 2], crossed: Vec::new() }
    }

    /// A connection is there.
    pub(super) fn open(&mut self, at: Timestamp, side: Side, socket: &TcpStream) {
        let (Ok(peer), Ok(local)) = (socket.peer_addr(), socket.local_addr()) else { return };
        self.ends[side as usize] = Some(match side {
            Side::Client => (peer, local),
            Side::Server => (local, peer),
        });
        self.push(at, side, WireKind::Open);
    }

    /// Bytes came from a side.
    pub(super) fn received(&mut self, at: Timestamp, side: Side, bytes: &[u8]) {
        self.push(at, side, WireKind::Bytes(side.sends(), Bytes::copy_from_slice(bytes)));
    }

    /// Bytes went to a side.
    pub(super) fn sent(&mut self, at: Timestamp, side: Side, bytes: &[u8]) {
        let direction = side.other().sends();
        self.push(at, side, WireKind::Bytes(direction, Bytes::copy_from_slice(bytes)));
    }

    /// A side sends no more.
    pub(super) fn ended(&mut self, at: Timestamp, side: Side) {
        self.push(at, side, WireKind::End(side.sends()));
    }

    /// A side gets no more.
    pub(super) fn shut(&mut self, at: Timestamp, side: Side) {
        self.push(at, side, WireKind::End(side.other().sends()));
    }

    /// Both connections are over.
    pub(super) fn close(&mut self, at: Timestamp) {
        for side in Side::ALL {
            for direction in [Direction::Serverbound, Direction::Clientbound] {
                self.push(at, side, WireKind::End(direction));
            }
        }
    }

    /// What has crossed since the last call.
    pub(super) fn take(&mut self) -> Vec<Wire> {
        std::mem::take(&mut self.crossed)
    }

    fn push(&mut self, at: Timestamp, side: Side, kind: WireKind) {
        let Some((from, to)) = self.ends[side as usize] else { return };
        let leg = match side {
            Side::Client => WireLeg::Client,
            Side::Server => WireLeg::Server,
        };
        self.crossed.push(Wire { session: self.session, at, leg, from, to, kind });
    }
}
