use std::net::SocketAddr;

use super::{AuthMode, Timeouts};
use crate::codec::Limits;
use crate::link::Upstream;
use crate::packet::Timestamp;
use crate::schema::Catalog;

/// What all sessions of a run have in common.
#[derive(Debug, Clone)]
pub struct Config {
    /// The protocols that are known.
    pub catalog: Catalog,
    /// What a peer may make the proxy hold.
    pub limits: Limits,
    /// Who authenticates where.
    pub auth: AuthMode,
    /// Whether the handshake keeps the host and port that the client said.
    pub keep_host: bool,
    /// How long sessions wait.
    pub timeouts: Timeouts,
    /// Whether a client that its server sends to another one is to come back here, to be taken
    /// there.
    pub follow_transfers: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            catalog: Catalog::embedded().clone(),
            limits: Limits::default(),
            auth: AuthMode::default(),
            keep_host: false,
            timeouts: Timeouts::default(),
            follow_transfers: true,
        }
    }
}

/// What a session begins with.
#[derive(Debug, Clone)]
pub struct Start {
    /// Counts from 1 within a run.
    pub session: u64,
    /// When the client connected.
    pub at: Timestamp,
    /// The client's address.
    pub client: SocketAddr,
    /// Where it is to be connected to.
    pub upstream: Upstream,
}
