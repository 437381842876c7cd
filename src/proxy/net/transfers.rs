use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::proxy::{Resolver, UpstreamName};
use mitmcraft_engine::link::{Transfer, Upstream};
use mitmcraft_engine::session::Arrival;
use mitmcraft_protocol::schema::Catalog;

/// Clients that a server transferred, expected to reconnect to the proxy; the oldest first. Each is
/// expected for [`PATIENCE`]. Beyond [`MAX_AWAITED`], the oldest are forgotten. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Transfers(Arc<Mutex<VecDeque<(Instant, Transfer)>>>);

impl Transfers {
    /// Expects a client, and replaces an earlier transfer of the same client.
    pub(super) fn expect(&self, transfer: Transfer) {
        let until = Instant::now() + PATIENCE;
        self.with(|awaited| {
            awaited.retain(|(_, it)| !is_same(it, &transfer));
            if awaited.len() >= MAX_AWAITED {
                awaited.pop_front();
            }
            awaited.push_back((until, transfer));
        });
    }

    /// Returns the target of an expected client. Waits for the client's first bytes without consuming
    /// them.
    pub(super) async fn target(
        &self,
        address: IpAddr,
        client: &TcpStream,
        catalog: &Catalog,
        resolver: &Resolver,
    ) -> Option<Upstream> {
        let awaited = self.awaited(address);
        if awaited.is_empty() {
            return None;
        }
        let arrival = arrival(client, catalog, &awaited);
        let place = tokio::time::timeout(ARRIVAL, arrival).await.ok()??;
        let transfer = &awaited[place];
        self.with(|awaited| awaited.retain(|(_, it)| !is_same(it, transfer)));
        let Upstream { host, port } = transfer.target.clone();
        // The game looks up an SRV record only for the default port.
        let port = Some(port).filter(|port| *port != UpstreamName::DEFAULT_PORT);
        Some(resolver.resolve(&UpstreamName { host, port }).await)
    }

    fn awaited(&self, address: IpAddr) -> Vec<Transfer> {
        self.with(|awaited| {
            let now = Instant::now();
            awaited.retain(|(until, _)| *until > now);
            let of_client = awaited.iter().filter(|(_, it)| it.client == address);
            of_client.map(|(_, transfer)| transfer.clone()).collect()
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut VecDeque<(Instant, Transfer)>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn is_same(one: &Transfer, other: &Transfer) -> bool {
    (one.client, &one.player) == (other.client, &other.player)
}

/// Finds a client among the awaited transfers by its first bytes.
async fn arrival(client: &TcpStream, catalog: &Catalog, awaited: &[Transfer]) -> Option<usize> {
    let mut bytes = vec![0; PEEK];
    loop {
        let count = client.peek(&mut bytes).await.ok()?;
        match Arrival::of(&bytes[..count], catalog, awaited) {
            Arrival::Of(place) => return Some(place),
            Arrival::Stranger => return None,
            Arrival::Unsure if count == 0 || count == bytes.len() => return None,
            // A socket with unread bytes stays readable, so nothing signals further bytes.
            Arrival::Unsure => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// Maximum number of expected clients.
const MAX_AWAITED: usize = 1000;

/// How long a client may take to reconnect.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait for the first bytes of a client from whose address a transfer is expected.
/// After that it is connected to the first server, as one that was not transferred.
const ARRIVAL: Duration = Duration::from_secs(10);

/// Bytes to look at: enough for a handshake and a login start with keys.
const PEEK: usize = 4096;

/// Interval at which the first bytes are looked at.
const AGAIN: Duration = Duration::from_millis(5);
