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
    /// Connects to the first of the upstream's addresses that answers. The connection is known as the proxy's own for as
    /// long as what is returned with it lives.
    pub(super) async fn connect(self) -> Result<(TcpStream, Option<Noted>), ConnectError> {
        if let Some(reason) = self.refused {
            return Err(ConnectError::Refused(reason));
        }
        let connecting = async {
            let target = (self.upstream.host.as_str(), self.upstream.port);
            let mut socket = TcpStream::connect(target).await?;
            let noted = self.outgoing.note(&socket);
            socket.write_all(&self.preamble).await?;
            Ok((socket, noted))
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

/// The proxy's own connections to servers. A firewall that redirects these too, or a server that is the proxy itself,
/// sends them back to the proxy as clients.
#[derive(Debug, Clone, Default)]
pub(super) struct Outgoing {
    /// `None` in a run without clients.
    connections: Option<Arc<Mutex<HashSet<Ends>>>>,
}

/// The addresses of a connection: the proxy's own, and that to which it was made.
type Ends = (SocketAddr, SocketAddr);

/// A connection that [`Outgoing`] knows until this is dropped.
#[derive(Debug)]
pub(super) struct Noted {
    outgoing: Outgoing,
    ends: Ends,
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.outgoing.with(|all| all.remove(&self.ends));
    }
}

impl Outgoing {
    /// Creates a set that remembers connections.
    pub(super) fn kept() -> Self {
        Self { connections: Some(Arc::default()) }
    }

    /// Returns whether a client that connected to `target` is one of the proxy's own connections.
    pub(super) fn has(&self, client: SocketAddr, target: SocketAddr) -> bool {
        let ends = (canonical(client), canonical(target));
        self.with(|all| all.contains(&ends)).unwrap_or(false)
    }

    /// Remembers a connection; `None` in a run without clients, and if the connection has gone already.
    fn note(&self, socket: &TcpStream) -> Option<Noted> {
        let ends = (socket.local_addr().ok()?, socket.peer_addr().ok()?);
        let ends = (canonical(ends.0), canonical(ends.1));
        self.with(|all| all.insert(ends))?;
        Some(Noted { outgoing: self.clone(), ends })
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashSet<Ends>) -> T) -> Option<T> {
        let all = self.connections.as_ref()?;
        Some(act(&mut all.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Returns the address of IPv4 that one of an IPv6 socket stands for, or the same address.
pub(in crate::proxy) fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(it) => match it.ip().to_ipv4_mapped() {
            Some(ip) => (ip, it.port()).into(),
            // With its scope: a link-local address is none without.
            None => address,
        },
        SocketAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_own_connection_only_if_both_ends_are() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let outgoing = Outgoing::kept();
        let (own, server) = (address("127.0.0.1:40000"), address("127.0.0.1:25565"));
        outgoing.with(|all| all.insert((own, server)));
        let noted = Noted { outgoing: outgoing.clone(), ends: (own, server) };
        assert!(outgoing.has(own, server));
        assert!(outgoing.has(address("[::ffff:127.0.0.1]:40000"), server));
        // The system gives the same port to connections to different servers.
        assert!(!outgoing.has(own, address("127.0.0.1:25566")));
        drop(noted);
        assert!(!outgoing.has(own, server));
        assert!(!Outgoing::default().has(own, server));
    }

    #[test]
    fn an_address_of_ipv6_keeps_its_scope() {
        for (text, expected) in [
            ("[::ffff:10.0.0.1]:5", "10.0.0.1:5"),
            ("[fe80::1%3]:5", "[fe80::1%3]:5"),
            ("10.0.0.1:5", "10.0.0.1:5"),
        ] {
            assert_eq!(canonical(text.parse().unwrap()), expected.parse().unwrap(), "{text}");
        }
    }
}
