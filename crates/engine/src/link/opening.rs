use std::net::SocketAddr;
use std::sync::Arc;

use mitmcraft_protocol::packet::{Context, Timestamp};
use mitmcraft_protocol::schema::Protocol;

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

impl Opening {
    /// Returns what is known of the session at first, and the protocol that it is decoded with.
    #[must_use]
    pub fn context(&self, protocol: Arc<Protocol>) -> Context {
        let context = Context::new(self.session, self.at, self.client, protocol);
        Context { server: Some(self.server), ..context }
    }
}
