use std::fmt;
use std::net::SocketAddr;

/// A limitation of a recording that a user should know about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Packets of an unsupported link type, by its number; reported once per type.
    LinkType(u32),
    /// A packet was not recorded completely; reported once.
    CutPackets,
    /// A direction of a session is no longer understood.
    Opaque {
        /// The session's number.
        session: u64,
        /// The client's address.
        client: SocketAddr,
        /// The server's address.
        server: SocketAddr,
        /// The reason.
        why: String,
    },
    /// More connections were open than are tracked, so the longest idle ones were ended.
    Crowded,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkType(number) => write!(
                f,
                "skipping packets of link type {number}: only Ethernet, IP, Linux cooked and \
                 loopback are supported"
            ),
            Self::CutPackets => f.write_str(
                "packets were not recorded completely, so streams have gaps: record with \
                 `tcpdump -s 0`",
            ),
            Self::Opaque { session, client, server, why } => {
                write!(f, "session {session}, {client} to {server}: {why}")
            }
            Self::Crowded => write!(
                f,
                "more than {} connections at a time: the longest idle ones were ended",
                super::traffic::MAX_CONNECTIONS
            ),
        }
    }
}
