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
    /// When the lag began.
    pub begin: Timestamp,
    /// When the lag was over.
    pub end: Timestamp,
    /// Where the lag came from.
    pub place: LagPlace,
    /// The possible places if `place` is [`LagPlace::Unknown`]; otherwise empty.
    pub among: Vec<LagPlace>,
    /// The certainty that the lag came from [`place`](Self::place).
    pub certainty: Certainty,
    /// A sentence about what happened, without a full stop.
    pub reason: String,
    /// Up to five measurements that support `place`.
    pub evidence: Vec<LagEvidence>,
    /// The packet types, channels, chunks, entity types and players with the most bytes while it lagged, in whole
    /// slots of five seconds: up to five of each kind. Players are those of the whole capture, everything else is of
    /// this session.
    pub shares: Vec<Share>,
    /// The session's number of packets in the seconds that the lag touches, and their bytes on the wire.
    pub total: (u64, u64),
}

named! {
    /// Where lag comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LagPlace {
        /// The server's game stood still, or it sent too much.
        Server => "server",
        /// Packets were delayed between the proxy and the server.
        ServerNetwork => "network to the server",
        /// Packets were delayed between the proxy and the client.
        ClientNetwork => "network to the client",
        /// The client's game stood still, or it sent too much.
        Client => "client",
        /// Several places are possible.
        Unknown => "cannot be told",
    }

    /// All places.
    pub const ALL;

    /// Returns the place in words: `network to the server`.
    pub fn name;
}

/// A measurement that supports a finding about lag.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LagEvidence {
    /// When the packet was received.
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

/// Maximum number of measurements in a finding.
pub(super) const MAX_EVIDENCE: usize = 5;
