use std::net::SocketAddr;
use std::sync::Arc;

use super::{SentRegistries, Timestamp};
use crate::schema::Protocol;

/// The state shared by consecutive packets of a session. It is replaced as more becomes known.
///
/// The fields are public because no field depends on another one. A packet's cached id depends on
/// `protocol`; the packet shares its context through an [`Arc`], which
/// [`Packet::set_context`](super::Packet::set_context) replaces as a whole.
#[derive(Debug, Clone)]
pub struct Context {
    /// The session's number, from 1 within a run.
    pub session: u64,
    /// The time when the client connected.
    pub opened: Timestamp,
    /// The client's address.
    pub client: SocketAddr,
    /// The server's address, once connected.
    pub server: Option<SocketAddr>,
    /// The server as the user named it, `host:port`.
    pub upstream: String,
    /// The player's name, once known.
    pub player: Option<String>,
    /// The protocol by which packets are decoded.
    pub protocol: Arc<Protocol>,
    /// The protocol version that the client sent; `None` before the handshake.
    pub version: Option<i32>,
    /// `true` if `protocol` is that of another version, so that decoding is a guess.
    pub guess: bool,
    /// The registries that the server has sent.
    pub registries: Arc<SentRegistries>,
}

impl Context {
    /// Creates the context of a session that is just beginning: nothing is known of it but its number, the
    /// time, the client, and the protocol by which its first packets are decoded.
    #[must_use]
    pub fn new(
        session: u64,
        opened: Timestamp,
        client: SocketAddr,
        protocol: Arc<Protocol>,
    ) -> Self {
        Self {
            session,
            opened,
            client,
            server: None,
            upstream: String::new(),
            player: None,
            protocol,
            version: None,
            guess: false,
            registries: Arc::default(),
        }
    }
}
