use std::fmt;
use std::net::SocketAddr;

use super::{AuthMode, Timeouts};
use crate::codec::Limits;
use crate::filter::Timestamp;
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

/// A server by name, as a client that connected to it directly would say in its handshake: behind
/// an SRV record that is the record's target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Upstream {
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}
