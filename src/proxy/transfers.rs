use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::Instant;

use super::{Resolver, UpstreamName};
use crate::link::{Transfer, Upstream};
use crate::schema::Catalog;
use crate::session::Arrival;

/// Clients that were sent to another server and are to come back, oldest first: at most
/// [`MAX_AWAITED`], the oldest giving way, each for [`PATIENCE`]. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Transfers(Arc<Mutex<VecDeque<(Instant, Transfer)>>>);

impl Transfers {
    /// Expects a client, wherever it was expected to go before.
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

    /// Where that client was sent, if it is one that is expected: waits for its first bytes, which
    /// stay where they are.
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
        // As the game looks a server up: by its SRV record only at the usual port.
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

/// Which of the awaited a client is, by looking at what it sends.
async fn arrival(client: &TcpStream, catalog: &Catalog, awaited: &[Transfer]) -> Option<usize> {
    let mut bytes = vec![0; PEEK];
    loop {
        let count = client.peek(&mut bytes).await.ok()?;
        match Arrival::of(&bytes[..count], catalog, awaited) {
            Arrival::Of(place) => return Some(place),
            Arrival::Stranger => return None,
            Arrival::Unsure if count == 0 || count == bytes.len() => return None,
            // What is there can be peeked at again and again: nothing tells when more has come.
            Arrival::Unsure => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// Clients that are expected at the same time.
const MAX_AWAITED: usize = 1000;

/// How long a client may take to come back.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a client may take to say who it is, when somebody from its address is expected.
const ARRIVAL: Duration = Duration::from_secs(3);

/// A handshake and a login start, with keys.
const PEEK: usize = 4096;

const AGAIN: Duration = Duration::from_millis(5);
