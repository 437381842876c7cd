use std::net::SocketAddr;

use mitmcraft_protocol::packet::Timestamp;

/// A connection that has just been made, for an [`Engine`](super::Engine) that is one of its ends.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The session number, counted from 1 within a run.
    pub session: u64,
    /// The time at which the connection was made.
    pub at: Timestamp,
    /// The client's address.
    pub client: SocketAddr,
    /// The server's address.
    pub server: SocketAddr,
    /// Random bytes, for secrets too.
    pub seed: [u8; 32],
}
