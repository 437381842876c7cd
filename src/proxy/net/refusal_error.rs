use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use mitmcraft_engine::link::{NetworkError, PreambleError};

/// The reason why the proxy refuses a client before it connects to a server.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum RefusalError {
    /// The client's first bytes are not a PROXY header.
    #[error("{client} has no PROXY header: {cause}")]
    Preamble {
        /// The client.
        client: SocketAddr,
        /// The fault in the header.
        cause: PreambleError,
    },
    /// The connection broke within the PROXY header.
    #[error("{client} has no PROXY header: {cause}")]
    PreambleLost {
        /// The client.
        client: SocketAddr,
        /// The error of the operating system.
        cause: NetworkError,
    },
    /// The connection was closed within the PROXY header.
    #[error("{client} has no PROXY header: the connection was closed before it was complete")]
    PreambleClosed {
        /// The client.
        client: SocketAddr,
    },
    /// The PROXY header did not arrive in time.
    #[error("{client} has no PROXY header: it did not arrive within {} s", limit.as_secs())]
    PreambleLate {
        /// The client.
        client: SocketAddr,
        /// How long the proxy waited.
        limit: Duration,
    },
    /// The connection was not redirected, so its original destination is unknown.
    #[error("the connection was not redirected here: {0}")]
    NotRedirected(#[source] Arc<io::Error>),
    /// The connection was made to the address of the proxy itself.
    #[error("the connection was made to the proxy itself: it has no other destination")]
    NoDestination,
    /// The connection is one of the proxy's own to a server.
    #[error(
        "the proxy's own connection to the server came back to it: the server is the proxy itself, or a firewall \
         redirects these too, whose rule must exempt them, for example by user"
    )]
    OwnConnection,
    /// The connection continues a chain of proxies that leads back to this one.
    #[error(
        "more than 16 connections that begin with the same bytes came from {client} within a second, and the server \
         answered none: a proxy behind this one leads back to it"
    )]
    Chain {
        /// The address of the clients.
        client: IpAddr,
    },
    /// The proxy has no server for connections that were not redirected.
    #[error("there is no server to connect to")]
    NoUpstream,
    /// As many clients as allowed are served already.
    #[error("the proxy is full: all of its {limit} sessions are taken")]
    Full {
        /// How many clients are served at a time.
        limit: usize,
    },
    /// The proxy can open no more files and connections.
    #[error("the proxy is out of file descriptors")]
    NoDescriptors,
    /// The run ends.
    #[error("the proxy is shutting down")]
    Stopped,
}
