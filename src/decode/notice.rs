use std::fmt;
use std::net::SocketAddr;

/// What a user should know of a recording beside what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Packets begin with something that is not understood; told once for each kind.
    LinkType(u32),
    /// A packet was not kept whole; told once.
    CutPackets,
    /// A session is not understood any more, and why.
    Opaque {
        /// Its number.
        session: u64,
        /// Who connected.
        client: SocketAddr,
        /// To whom.
        server: SocketAddr,
        /// Why.
        why: String,
    },
    /// There were more open connections than are kept apart: the most silent ones were ended.
    Crowded,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkType(number) => write!(
                f,
                "packets of link type {number} are left out: Ethernet, IP, Linux cooked and \
                 loopback are understood"
            ),
            Self::CutPackets => f.write_str(
                "packets were not recorded whole, so that streams have gaps: record with \
                 `tcpdump -s 0`",
            ),
            Self::Opaque { session, client, server, why } => {
                write!(f, "session {session}, {client} to {server}: {why}")
            }
            Self::Crowded => write!(
                f,
                "more than {} connections at a time: the most silent ones were ended",
                super::traffic::MAX_CONNECTIONS
            ),
        }
    }
}
