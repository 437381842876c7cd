use std::io;

use thiserror::Error;

use super::upstream::explain;

/// Error of connecting to a server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server cannot be reached.
    #[error("{}", explain(.0))]
    Unreachable(#[source] io::Error),
    /// The operating system does not report the addresses of the connection.
    #[error("the addresses of the connection are unknown: {0}")]
    Address(#[source] io::Error),
}
