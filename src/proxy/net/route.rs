use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::proxy::{ConnectError, RefusalError};
use mitmcraft_engine::link::Upstream;
use mitmcraft_engine::session::Timeouts;

/// How a session connects to its server.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) upstream: Upstream,
    pub(super) timeout: Option<Duration>,
    /// Bytes to send first: a PROXY header, or nothing.
    pub(super) preamble: Vec<u8>,
    /// The reason why the session is refused instead of connected.
    pub(super) refused: Option<RefusalError>,
    /// Remembers the connection, to recognize it if it is redirected back to the proxy.
    pub(super) outgoing: Outgoing,
}

impl Route {
    /// Connects to the first of the upstream's addresses that answers.
    pub(super) async fn connect(self) -> Result<TcpStream, ConnectError> {
        if let Some(reason) = self.refused {
            return Err(ConnectError::Refused(reason));
        }
        let connecting = async {
            let target = (self.upstream.host.as_str(), self.upstream.port);
            let mut socket = TcpStream::connect(target).await?;
            self.outgoing.note(&socket);
            socket.write_all(&self.preamble).await?;
            Ok(socket)
        };
        let connected = match self.timeout {
            None => connecting.await,
            Some(timeout) => match tokio::time::timeout(timeout, connecting).await {
                Ok(connected) => connected,
                Err(_) => return Err(ConnectError::Timeout(timeout)),
            },
        };
        connected.map_err(|error: io::Error| ConnectError::Unreachable(error.into()))
    }
}

impl From<Upstream> for Route {
    fn from(upstream: Upstream) -> Self {
        Self {
            upstream,
            timeout: Timeouts::default().connect,
            preamble: Vec::new(),
            refused: None,
            outgoing: Outgoing::default(),
        }
    }
}

/// The local addresses of the proxy's own connections to servers. A firewall that redirects these too, or a server
/// that is the proxy itself, sends them back to the proxy as clients.
#[derive(Debug, Clone, Default)]
pub(super) struct Outgoing {
    /// `None` in a run without clients.
    ends: Option<Arc<Mutex<HashSet<SocketAddr>>>>,
}

impl Outgoing {
    /// Creates a set that remembers addresses.
    pub(super) fn kept() -> Self {
        Self { ends: Some(Arc::default()) }
    }

    /// Returns whether a client is one of the proxy's own connections.
    pub(super) fn has(&self, client: SocketAddr) -> bool {
        let Some(ends) = &self.ends else { return false };
        ends.lock().unwrap_or_else(PoisonError::into_inner).contains(&canonical(client))
    }

    /// Forgets a connection that is about to close.
    pub(super) fn forget(&self, end: SocketAddr) {
        if let Some(ends) = &self.ends {
            ends.lock().unwrap_or_else(PoisonError::into_inner).remove(&canonical(end));
        }
    }

    fn note(&self, socket: &TcpStream) {
        if let (Some(ends), Ok(end)) = (&self.ends, socket.local_addr()) {
            ends.lock().unwrap_or_else(PoisonError::into_inner).insert(canonical(end));
        }
    }
}

/// Returns an IPv4 address that an IPv6 socket has as one of IPv4.
pub(in crate::proxy) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
