use std::net::IpAddr;

use super::Upstream;

/// A client that its server sent to another one, and that comes back to the proxy to be taken
/// there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Where the client comes from.
    pub client: IpAddr,
    /// Whom it logs in as.
    pub player: String,
    /// Where the server sent it.
    pub target: Upstream,
}
