use std::net::SocketAddr;
use std::sync::Arc;

use super::Timestamp;
use crate::schema::Protocol;

/// What all packets of a session have in common, for a while: it is replaced as more is known.
#[derive(Debug, Clone)]
pub struct Context {
    /// Counts from 1 within a run.
    pub session: u64,
    /// When the client connected.
    pub opened: Timestamp,
    /// The client's address.
    pub client: SocketAddr,
    /// The server's address, once connected.
    pub server: Option<SocketAddr>,
    /// The server as the user named it, `host:port`.
    pub upstream: String,
    /// The player's name, once said.
    pub player: Option<String>,
    /// The description that packets are decoded by.
    pub protocol: Arc<Protocol>,
    /// The protocol number that the client said; None before the handshake.
    pub version: Option<i32>,
    /// Whether the description is another version's, so that every decode is a guess.
    pub guess: bool,
}
