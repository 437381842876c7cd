use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;

use super::arrival::{announced, original_destination, plain};
use super::driver::{Driver, Shared};
use super::preamble::Addresses;
use super::route::{Outgoing, Route};
use super::{ProxyOptions, Resolver, RunNotice};
use crate::link::Upstream;
use crate::session::{Config, Session, Start};

/// A client that was accepted, and what is needed to serve it.
pub(super) struct Guest {
    pub(super) session: u64,
    pub(super) options: ProxyOptions,
    pub(super) resolver: Resolver,
    /// For a client whose host is that of the server that it goes to.
    pub(super) as_dialled: Arc<Config>,
    pub(super) outgoing: Outgoing,
    pub(super) shared: Shared,
}

impl Guest {
    /// Serves it from its first byte to its last.
    pub(super) async fn serve(mut self, mut client: TcpStream, address: SocketAddr) {
        let at = self.shared.clock.now();
        let announced = match self.options.expects_preamble {
            false => Ok(plain(&client, address)),
            true => {
                let mut stop = self.shared.stop.clone();
                tokio::select! {
                    announced = announced(&mut client, address) => announced,
                    _ = stop.wait_for(Option::is_some) => Err("the run has ended".to_owned()),
                }
            }
        };
        let addresses = match &announced {
            Ok(addresses) => *addresses,
            Err(reason) => {
                let session = self.session;
                self.shared.notices.show(&RunNotice::Refused { session, reason });
                plain(&client, address)
            }
        };
        let (route, keep_host) = self.route(&client, address, addresses).await;
        let config = if keep_host { self.as_dialled } else { self.options.config };
        let upstream = route.upstream.clone();
        let start = Start { session: self.session, at, client: addresses.source, upstream };
        let pipeline = self.shared.pipelines.borrow_and_update().make();
        let Some(session) = Session::new(config, start, pipeline) else { return };
        let driver = Driver::new(session, self.shared, route, Some(client)).tapped(self.session);
        match announced {
            Ok(_) => driver.run().await,
            Err(why) => driver.refuse(why).run().await,
        }
    }

    /// Where a client goes, and whether the host that it has dialled is right there.
    async fn route(
        &self,
        client: &TcpStream,
        address: SocketAddr,
        addresses: Addresses,
    ) -> (Route, bool) {
        let (resolver, catalog) = (&self.resolver, &self.options.config.catalog);
        let transfers = &self.shared.transfers;
        let sent = transfers.target(addresses.source.ip(), client, catalog, resolver).await;
        let redirected = match self.options.transparent {
            true => redirected(client),
            false => Err(String::new()),
        };
        let (upstream, refused, keep_host) = match (sent, redirected, &self.options.upstream) {
            _ if self.outgoing.has(address) => {
                let why = "the system redirects our own connections here, too: its rule must \
                           leave them out, by our user for example";
                (named(addresses.destination), Some(why.to_owned()), true)
            }
            (Some(target), _, _) => (target, None, false),
            (None, Ok(target), _) => (named(target), None, true),
            (None, Err(_), Some(name)) => (resolver.resolve(name).await, None, false),
            (None, Err(why), None) => (named(addresses.destination), Some(why), true),
        };
        let version = self.options.sends_preamble;
        let route = Route {
            upstream,
            timeout: self.options.config.timeouts.connect,
            preamble: version.map(|version| version.write(addresses)).unwrap_or_default(),
            refused,
            outgoing: self.outgoing.clone(),
        };
        (route, keep_host)
    }
}

/// Where a redirected client was going.
///
/// # Errors
/// Why it cannot go there.
fn redirected(client: &TcpStream) -> Result<SocketAddr, String> {
    let unknown = |error| format!("the connection was not redirected here: {error}");
    let target = original_destination(client).map_err(unknown)?;
    match client.local_addr() {
        Ok(ours) if ours == target => {
            Err("the connection was made to us: there is nowhere else to go".to_owned())
        }
        _ => Ok(target),
    }
}

fn named(address: SocketAddr) -> Upstream {
    Upstream { host: address.ip().to_canonical().to_string(), port: address.port() }
}
