use std::io;
use std::net::SocketAddr;

use bytes::Bytes;

use crate::packet::Timestamp;
use crate::schema::Direction;

/// What happened on one of the proxy's two connections: the bytes as they crossed it, encrypted
/// and compressed.
#[derive(Debug, Clone)]
pub struct Wire {
    /// The session's number.
    pub session: u64,
    /// When it happened.
    pub at: Timestamp,
    /// Which connection.
    pub leg: WireLeg,
    /// Who connected: the client, or the proxy on the server's leg.
    pub from: SocketAddr,
    /// To whom: the proxy, or the server.
    pub to: SocketAddr,
    /// What happened.
    pub kind: WireKind,
}

/// One of the proxy's two connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WireLeg {
    /// The client's with the proxy.
    Client,
    /// The proxy's with the server.
    Server,
}

/// What happened on a connection.
#[derive(Debug, Clone)]
pub enum WireKind {
    /// It was made.
    Open,
    /// Bytes that travelled that way.
    Bytes(Direction, Bytes),
    /// No more come that way.
    End(Direction),
}

/// What takes frames of the view `wire`.
pub(crate) trait WireFrameSink {
    /// Takes an Ethernet frame of that leg.
    fn wire(
        &mut self,
        leg: WireLeg,
        at: Timestamp,
        frame: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()>;
}
