use std::net::SocketAddr;

use bytes::Bytes;

use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Direction;

/// Bytes or an event of one of the proxy's two connections, encrypted and compressed as they
/// crossed the wire.
#[derive(Debug, Clone)]
pub struct Wire {
    /// The session's number.
    pub session: u64,
    /// The time of the event.
    pub at: Timestamp,
    /// Which of the two connections.
    pub leg: WireLeg,
    /// The address that connected: the client's, or the proxy's on the server's leg.
    pub from: SocketAddr,
    /// The address that accepted: the proxy's, or the server's on the server's leg.
    pub to: SocketAddr,
    /// The kind of the event.
    pub kind: WireKind,
}

/// One of the proxy's two connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WireLeg {
    /// The connection between the client and the proxy.
    Client,
    /// The connection between the proxy and the server.
    Server,
}

/// An event on a connection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum WireKind {
    /// The connection was established.
    Open,
    /// Bytes travelled in that direction.
    Bytes(Direction, Bytes),
    /// No more bytes follow in that direction.
    End(Direction),
}
