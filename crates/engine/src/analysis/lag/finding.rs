use std::sync::Arc;

use super::Share;
use crate::report::Certainty;
use mitmcraft_protocol::packet::{Context, Timestamp};
use mitmcraft_protocol::wire::named;

/// A period in which a session lagged, and where that came from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LagFinding {
    /// The capture that has the session.
    pub source: Option<Arc<str>>,
    /// The session.
    pub context: Arc<Context>,
    /// The time when it began.
    pub begin: Timestamp,
    /// The time when it was over.
    pub end: Timestamp,
    /// Where the lag came from.
    pub place: LagPlace,
    /// Where it may have come from, if that cannot be told.
    pub among: Vec<LagPlace>,
    /// How certain that is.
    pub certainty: Certainty,
    /// What happened, in words.
    pub reason: String,
    /// What speaks for it: up to five measurements.
    pub evidence: Vec<LagEvidence>,
    /// What took most bytes meanwhile: the first five of each kind.
    pub shares: Vec<Share>,
    /// All packets meanwhile, and their bytes on the wire.
    pub total: (u64, u64),
}

named! {
    /// Where lag comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LagPlace {
        /// The server did not play on, or sent too much.
        Server => "server",
        /// Packets were on the way for long between the proxy and the server.
        ServerNetwork => "network to the server",
        /// Packets were on the way for long between the proxy and the client.
        ClientNetwork => "network to the client",
        /// The client did not play on, or sent too much.
        Client => "client",
        /// Several are possible.
        Unknown => "cannot be told",
    }

    /// All places.
    pub const ALL;

    /// Returns the place in words: `network to the server`.
    pub fn name;
}

/// A measurement that speaks for where lag comes from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LagEvidence {
    /// The time.
    pub at: Timestamp,
    /// The number of the packet in its session.
    pub seq: u64,
    /// The measurement, in words.
    pub text: String,
}

impl LagPlace {
    /// Returns the place in JSON: `server`, `network` or `client`; `None` if it cannot be told.
    #[must_use]
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::Server => Some("server"),
            Self::ServerNetwork | Self::ClientNetwork => Some("network"),
            Self::Client => Some("client"),
            Self::Unknown => None,
        }
    }

    /// Returns the peer to which a network leads.
    #[must_use]
    pub fn leg(self) -> Option<&'static str> {
        match self {
            Self::ServerNetwork => Some("server"),
            Self::ClientNetwork => Some("client"),
            _ => None,
        }
    }
}

/// The most pieces of evidence of a finding.
pub(super) const MAX_EVIDENCE: usize = 5;
