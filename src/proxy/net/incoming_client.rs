use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;

use super::arrival::{announced, original_destination, plain};
use super::driver::Driver;
use super::route::{Outgoing, Route};
use super::shared::Shared;
use crate::proxy::{ProxyOptions, RefusalError, Resolver, RunNotice};
use mitmcraft_engine::link::{Addresses, Upstream};
use mitmcraft_engine::session::{Config, Session, Start};

/// An accepted client, with everything needed to serve it.
pub(super) struct IncomingClient {
    pub(super) session: u64,
    pub(super) options: ProxyOptions,
    pub(super) resolver: Resolver,
    /// Configuration for a client that dialled the server's own host.
    pub(super) as_dialled: Arc<Config>,
    pub(super) outgoing: Outgoing,
    pub(super) shared: Shared,
}

/// Where a client is connected to.
struct Destination {
    upstream: Upstream,
    refused: Option<RefusalError>,
    /// `true` if the client dialled the host of the server.
    keeps_host: bool,
}

impl IncomingClient {
    /// Returns what serves the client until its session is over. With a reason in `refused`, the client
    /// is only told that. `None` if the catalog is empty.
    pub(super) async fn driver(
        mut self,
        mut client: TcpStream,
        address: SocketAddr,
        refused: Option<RefusalError>,
    ) -> Option<Box<Driver>> {
        let at = self.shared.clock.now();
        let announced = if self.options.expects_preamble {
            let mut stop = self.shared.stop.clone();
            tokio::select! {
                announced = announced(&mut client, address) => announced,
                _ = stop.wait_for(Option::is_some) => Err(RefusalError::Stopped),
            }
        } else {
            Ok(plain(&client, address))
        };
        let addresses = match &announced {
            Ok(addresses) => *addresses,
            Err(reason) => {
                let session = self.session;
                self.shared.notices.show(&RunNotice::Refused { session, reason });
                plain(&client, address)
            }
        };
        let mut destination = self.destination(&client, address, addresses, refused).await;
        let chains = &self.shared.chains;
        let from = addresses.source.ip().to_canonical();
        let upstream = &destination.upstream;
        if destination.refused.is_none() && chains.continues(from, &client, upstream).await {
            destination.refused = Some(RefusalError::Chain { client: from });
        }
        let Destination { upstream, refused, keeps_host } = destination;
        let link = chains.begin(from, self.session, upstream.clone());
        let preamble = self.options.sends_preamble.map(|version| version.write(addresses));
        let route = Route {
            upstream: upstream.clone(),
            timeout: self.options.config.timeouts.connect,
            preamble: preamble.unwrap_or_default(),
            refused: refused.or_else(|| announced.as_ref().err().cloned()),
            outgoing: self.outgoing,
        };
        let config = if keeps_host { self.as_dialled } else { self.options.config.clone() };
        let start = Start { session: self.session, at, client: addresses.source, upstream };
        let pipeline = self.shared.pipelines.borrow_and_update().make();
        let session = Session::new(config, start, pipeline)?;
        let driver = Driver::new(Box::new(session), self.shared, route, Some(client));
        let mut driver = driver.tapped(self.session);
        driver.link = Some(link);
        if let Some(control) = &self.options.control {
            driver.control = control.open(self.session).await;
        }
        if let Some(pipe) = &self.options.pipe {
            driver.pipe = Some(pipe.open(self.session).await);
        }
        Some(match announced {
            Ok(_) => driver,
            Err(reason) => driver.refuse(reason),
        })
    }

    async fn destination(
        &self,
        client: &TcpStream,
        address: SocketAddr,
        addresses: Addresses,
        refused: Option<RefusalError>,
    ) -> Destination {
        let (resolver, catalog) = (&self.resolver, &self.options.config.catalog);
        let refuse = |reason| Destination {
            upstream: named(addresses.destination),
            refused: Some(reason),
            keeps_host: true,
        };
        if let Some(reason) = refused {
            return refuse(reason);
        }
        let connect = |upstream, keeps_host| Destination { upstream, refused: None, keeps_host };
        let transfers = &self.shared.transfers;
        let transferred = transfers.target(addresses.source.ip(), client, catalog, resolver).await;
        let redirected = self.options.transparent.then(|| redirected(client));
        let original = redirected.as_ref().and_then(|it| it.as_ref().ok().copied());
        let targets = [client.local_addr().ok(), original];
        if targets.into_iter().flatten().any(|target| self.outgoing.has(address, target)) {
            return refuse(RefusalError::OwnConnection);
        }
        if let Some(target) = transferred {
            return connect(target, false);
        }
        match (redirected, &self.options.upstream) {
            (Some(Ok(target)), _) => connect(named(target), true),
            (_, Some(name)) => connect(resolver.resolve(name).await, false),
            (Some(Err(reason)), None) => refuse(reason),
            (None, None) => refuse(RefusalError::NoUpstream),
        }
    }
}

/// Returns the original destination of a redirected client.
fn redirected(client: &TcpStream) -> Result<SocketAddr, RefusalError> {
    let target = original_destination(client)
        .map_err(|error| RefusalError::NotRedirected(Arc::new(error)))?;
    match client.local_addr() {
        Ok(ours) if ours == target => Err(RefusalError::NoDestination),
        _ => Ok(target),
    }
}

fn named(address: SocketAddr) -> Upstream {
    Upstream { host: address.ip().to_canonical().to_string(), port: address.port() }
}
