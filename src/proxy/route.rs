use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::link::Upstream;
use crate::session::Timeouts;

/// How the upstream connection of a session is made.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) upstream: Upstream,
    pub(super) timeout: Option<Duration>,
    /// What is said first: a PROXY header.
    pub(super) preamble: Vec<u8>,
    /// Why the client is turned away instead.
    pub(super) refused: Option<String>,
    /// Where the connection is noted, so that it is known if it comes back.
    pub(super) outgoing: Outgoing,
}

impl Route {
    /// Connects to the first of the upstream's addresses that answers.
    pub(super) async fn connect(self) -> io::Result<TcpStream> {
        if let Some(why) = self.refused {
            return Err(io::Error::other(why));
        }
        let connecting = async {
            let target = (self.upstream.host.as_str(), self.upstream.port);
            let mut socket = TcpStream::connect(target).await?;
            self.outgoing.note(&socket);
            socket.write_all(&self.preamble).await?;
            Ok(socket)
        };
        let Some(timeout) = self.timeout else { return connecting.await };
        match tokio::time::timeout(timeout, connecting).await {
            Ok(connected) => connected,
            Err(_) => {
                let text =
                    format!("no answer within {} s (timeout `connect`)", timeout.as_secs_f64());
                Err(io::Error::new(io::ErrorKind::TimedOut, text))
            }
        }
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

/// The ends of our own connections to servers, in a run that takes redirected ones: where the
/// system redirects ours too, they come back to us as clients.
#[derive(Debug, Clone, Default)]
pub(super) struct Outgoing {
    /// None: nobody asks.
    ends: Option<Arc<Mutex<HashSet<SocketAddr>>>>,
}

impl Outgoing {
    /// One that is kept.
    pub(super) fn kept() -> Self {
        Self { ends: Some(Arc::default()) }
    }

    /// Whether a client is a connection of ours.
    pub(super) fn has(&self, client: SocketAddr) -> bool {
        let Some(ends) = &self.ends else { return false };
        ends.lock().unwrap_or_else(PoisonError::into_inner).contains(&client)
    }

    /// Forgets a connection that is about to close.
    pub(super) fn forget(&self, end: SocketAddr) {
        if let Some(ends) = &self.ends {
            ends.lock().unwrap_or_else(PoisonError::into_inner).remove(&end);
        }
    }

    fn note(&self, socket: &TcpStream) {
        if let (Some(ends), Ok(end)) = (&self.ends, socket.local_addr()) {
            ends.lock().unwrap_or_else(PoisonError::into_inner).insert(end);
        }
    }
}
