use std::net::SocketAddr;

use mitmcraft_protocol::packet::Timestamp;

/// The connection with which a [`ServerReplay`](super::ServerReplay) starts.
#[derive(Debug, Clone)]
pub struct ServerStart {
    /// Session number, from 1 within a run.
    pub session: u64,
    /// The time when the client connected.
    pub at: Timestamp,
    /// Address of the client.
    pub client: SocketAddr,
    /// Local address.
    pub server: SocketAddr,
    /// Random number from which keep-alives are numbered.
    pub seed: u64,
}
