use std::net::SocketAddr;

use crate::link::Upstream;
use mitmcraft_protocol::packet::Timestamp;

/// The connection with which a [`ClientReplay`](super::ClientReplay) starts.
#[derive(Debug, Clone)]
pub struct ClientStart {
    /// Session number, from 1 within a run.
    pub session: u64,
    /// The time when the connection was made.
    pub at: Timestamp,
    /// Local address.
    pub client: SocketAddr,
    /// Address of the server.
    pub server: SocketAddr,
    /// The server's name and port in the handshake.
    pub upstream: Upstream,
    /// The player's name.
    pub name: String,
    /// Random bytes from which the shared secret is made.
    pub seed: [u8; 32],
}
