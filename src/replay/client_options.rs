use std::net::SocketAddr;
use std::sync::Arc;

use super::{PlayOptions, Recording};
use crate::codec::Limits;
use crate::link::Upstream;
use crate::packet::Timestamp;

/// How a recording's client is played against a server.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// What is sent.
    pub recording: Arc<Recording>,
    /// When.
    pub play: PlayOptions,
    /// Whether it stays in the game when all is sent.
    pub hold: bool,
    /// What the server may make us hold.
    pub limits: Limits,
}

/// What a connection begins with.
#[derive(Debug, Clone)]
pub struct Departure {
    /// Counts from 1 within a run.
    pub session: u64,
    /// When the connection was made.
    pub at: Timestamp,
    /// Our own address.
    pub client: SocketAddr,
    /// The server's address.
    pub server: SocketAddr,
    /// The server as the handshake says it.
    pub upstream: Upstream,
    /// The player's name.
    pub name: String,
    /// Decides the shared secret and the padding.
    pub seed: [u8; 32],
}
