use std::net::IpAddr;

use super::Upstream;

/// A client that its server has transferred to another one, and that comes back to the proxy to be
/// connected to that server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The client's address.
    pub client: IpAddr,
    /// The player name that it logs in with.
    pub player: String,
    /// The server that it was transferred to.
    pub target: Upstream,
}
