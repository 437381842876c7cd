use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::proxy::RefusalError;
use mitmcraft_engine::link::NetworkError;

/// Error of connecting to a server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server cannot be reached.
    #[error("{0}")]
    Unreachable(NetworkError),
    /// The server did not answer in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The proxy refuses the client that the connection is for.
    #[error(transparent)]
    Refused(RefusalError),
    /// The operating system does not report the addresses of the connection.
    #[error("the addresses of the connection are unknown: {0}")]
    Address(#[source] io::Error),
}
