use std::net::SocketAddr;

use super::{AuthMode, Timeouts};
use crate::link::{Asking, Upstream};
use mitmcraft_protocol::codec::{Limits, MemoryBudget};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Catalog;

/// Configuration shared by all sessions of a run. Start with the default.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The known protocol versions.
    pub catalog: Catalog,
    /// Limits on the memory that a peer can make the proxy use.
    pub limits: Limits,
    /// The memory that all sessions together may use for what peers send.
    pub memory: MemoryBudget,
    /// The legs that are authenticated, and as whom.
    pub auth: AuthMode,
    /// `true` if the proxy never uses the client's shared secret on the server's leg.
    pub separate_secrets: bool,
    /// `true` if the handshake keeps the host and port that the client sent.
    pub keep_host: bool,
    /// The times after which silence ends a session.
    pub timeouts: Timeouts,
    /// `true` if a client that its server transfers to another one comes back to the proxy, which
    /// then connects it to that server.
    pub follow_transfers: bool,
    /// The packets that a program decides on; `None` if there is no program.
    pub asking: Option<Asking>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            catalog: Catalog::embedded().clone(),
            limits: Limits::default(),
            memory: MemoryBudget::default(),
            auth: AuthMode::default(),
            separate_secrets: false,
            keep_host: false,
            timeouts: Timeouts::default(),
            follow_transfers: true,
            asking: None,
        }
    }
}

/// The parameters of one session.
#[derive(Debug, Clone)]
pub struct Start {
    /// The session number, counted from 1 within a run.
    pub session: u64,
    /// The time at which the client connected.
    pub at: Timestamp,
    /// The client's address.
    pub client: SocketAddr,
    /// The server to connect to.
    pub upstream: Upstream,
}
