use std::net::SocketAddr;

use crate::link::Side;
use mitmcraft_protocol::packet::RawReason;

/// A limitation of a recording that a user should know about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeNotice {
    /// Packets of an unsupported link type, by its number; reported once per type.
    LinkType(u32),
    /// A packet was not recorded completely; reported once.
    CutPackets,
    /// Bytes of a session are missing, and the rest of their direction is kept as bytes; reported once
    /// per direction.
    Gap {
        /// The session and its connection.
        connection: DecodedConnection,
        /// The peer that sent the bytes.
        from: Side,
        /// The number of missing bytes.
        bytes: u64,
    },
    /// A session is no longer understood.
    Opaque {
        /// The session and its connection.
        connection: DecodedConnection,
        /// The reason, as in the capture.
        reason: RawReason,
    },
    /// More connections were open than are tracked, so the longest idle ones were ended; reported once.
    Crowded {
        /// The number of connections tracked at a time.
        limit: usize,
    },
}

/// A session found in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodedConnection {
    /// The session's number.
    pub session: u64,
    /// The client's address.
    pub client: SocketAddr,
    /// The server's address.
    pub server: SocketAddr,
}
