use std::net::SocketAddr;

use bytes::Bytes;
use tokio::net::TcpStream;

use mitmcraft_engine::capture::{Wire, WireKind, WireLeg};
use mitmcraft_engine::link::{PerSide, Side};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Direction;

/// Records the bytes on a session's two connections, for captures of the wire.
#[derive(Debug)]
pub(in crate::proxy) struct WireTap {
    session: u64,
    /// The two addresses of each connection, that of the connecting end first.
    ends: PerSide<Option<(SocketAddr, SocketAddr)>>,
    /// Not yet returned by [`take`](Self::take).
    crossed: Vec<Wire>,
}

impl WireTap {
    pub(in crate::proxy) fn new(session: u64) -> Self {
        Self { session, ends: PerSide::default(), crossed: Vec::new() }
    }

    /// Records that a connection was opened.
    pub(in crate::proxy) fn open(&mut self, at: Timestamp, side: Side, socket: &TcpStream) {
        let (Ok(peer), Ok(local)) = (socket.peer_addr(), socket.local_addr()) else { return };
        self.ends[side] = Some(match side {
            Side::Client => (peer, local),
            Side::Server => (local, peer),
        });
        self.push(at, side, WireKind::Open);
    }

    /// Records bytes received from a side.
    pub(in crate::proxy) fn received(&mut self, at: Timestamp, side: Side, bytes: &[u8]) {
        self.push(at, side, WireKind::Bytes(side.sends(), Bytes::copy_from_slice(bytes)));
    }

    /// Records bytes sent to a side.
    pub(in crate::proxy) fn sent(&mut self, at: Timestamp, side: Side, bytes: &[u8]) {
        let direction = side.other().sends();
        self.push(at, side, WireKind::Bytes(direction, Bytes::copy_from_slice(bytes)));
    }

    /// Records that a side has closed its sending direction.
    pub(in crate::proxy) fn ended(&mut self, at: Timestamp, side: Side) {
        self.push(at, side, WireKind::End(side.sends()));
    }

    /// Records that the proxy has closed its sending direction to a side.
    pub(in crate::proxy) fn shut(&mut self, at: Timestamp, side: Side) {
        self.push(at, side, WireKind::End(side.other().sends()));
    }

    /// Records the end of both connections.
    pub(in crate::proxy) fn close(&mut self, at: Timestamp) {
        for side in Side::ALL {
            for direction in Direction::ALL {
                self.push(at, side, WireKind::End(direction));
            }
        }
    }

    /// Returns what was recorded since the last call.
    pub(in crate::proxy) fn take(&mut self) -> Vec<Wire> {
        std::mem::take(&mut self.crossed)
    }

    fn push(&mut self, at: Timestamp, side: Side, kind: WireKind) {
        let Some((from, to)) = self.ends[side] else { return };
        let leg = match side {
            Side::Client => WireLeg::Client,
            Side::Server => WireLeg::Server,
        };
        self.crossed.push(Wire { session: self.session, at, leg, from, to, kind });
    }
}
