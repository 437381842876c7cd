use std::net::SocketAddr;

use bytes::Bytes;
use tokio::net::TcpStream;

use crate::proxy::net::canonical;
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
        let (peer, local) = (canonical(peer), canonical(local));
        self.ends[side] = Some(match side {
            Side::Client => (peer, local),
            Side::Server => (local, peer),
        });
        self.push(at, side, WireKind::Open);
    }

    /// Records bytes received from a side, or sent to it.
    pub(in crate::proxy) fn bytes(
        &mut self,
        at: Timestamp,
        side: Side,
        to: Direction,
        bytes: &[u8],
    ) {
        self.push(at, side, WireKind::Bytes(to, Bytes::copy_from_slice(bytes)));
    }

    /// Records that a direction of the connection to a side was closed.
    pub(in crate::proxy) fn end(&mut self, at: Timestamp, side: Side, direction: Direction) {
        self.push(at, side, WireKind::End(direction));
    }

    /// Records the end of both connections.
    pub(in crate::proxy) fn close(&mut self, at: Timestamp) {
        for side in Side::ALL {
            for direction in Direction::ALL {
                self.end(at, side, direction);
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
