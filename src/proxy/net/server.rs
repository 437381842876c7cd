use std::error::Error;
use std::io;
use std::sync::Arc;

use tokio::sync::watch;

use super::arrival::CAN_BE_TRANSPARENT;
use super::chains::Chains;
use super::incoming_client::IncomingClient;
use super::listener::Accepted;
use super::route::Outgoing;
use super::shared::Shared;
use super::transfers::Transfers;
use crate::proxy::accounts::KeyPool;
use crate::proxy::{
    Authority, Clock, ControlHandle, KeyLog, Listener, LogHandle, Notices, PipeHandle, Resolver,
    SessionNumbers, Trouble, UpstreamName,
};
use mitmcraft_engine::filter::Pipeline;
use mitmcraft_engine::link::PreambleVersion;
use mitmcraft_engine::session::Config;
use mitmcraft_protocol::packet::Cause;

/// Makes the filters of one session. Cheap to clone.
#[derive(Clone)]
pub struct PipelineFactory(Arc<dyn Fn() -> Pipeline + Send + Sync>);

impl PipelineFactory {
    /// Creates a factory that calls `make`.
    #[must_use]
    pub fn new(make: Arc<dyn Fn() -> Pipeline + Send + Sync>) -> Self {
        Self(make)
    }

    /// Makes the filters of a new session.
    #[must_use]
    pub fn make(&self) -> Pipeline {
        (self.0)()
    }

    /// Returns a receiver of this factory that never changes.
    #[must_use]
    pub fn fixed(self) -> watch::Receiver<Self> {
        watch::channel(self).1
    }
}

impl Default for PipelineFactory {
    fn default() -> Self {
        Self::new(Arc::new(Pipeline::default))
    }
}

impl std::fmt::Debug for PipelineFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PipelineFactory")
    }
}

/// Options of a [`Proxy`]. Start with [`new`](Self::new), or with the default for clients that the
/// firewall redirects here.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProxyOptions {
    /// The server of all clients; with `transparent`, of those that were not redirected.
    pub upstream: Option<UpstreamName>,
    /// `true` if clients that the firewall redirects here are connected to their original destinations.
    pub transparent: bool,
    /// `true` if every client sends a PROXY header first.
    pub expects_preamble: bool,
    /// Version of the PROXY header to send to servers, if any.
    pub sends_preamble: Option<PreambleVersion>,
    /// Configuration of all sessions.
    pub config: Arc<Config>,
    /// Client of the session service; needed if `config` authenticates accounts.
    pub authority: Option<Authority>,
    /// Where to log the keys of each connection, if anywhere.
    pub key_log: Option<KeyLog>,
    /// Receives what the user should know at once.
    pub notices: Notices,
    /// Makes the filters of each session. A new factory takes effect between two packets.
    pub pipeline: watch::Receiver<PipelineFactory>,
    /// Lets people control sessions, if anybody can.
    pub control: Option<ControlHandle>,
    /// The program that decides on the packets that `config` selects, if there is one.
    pub pipe: Option<PipeHandle>,
}

impl ProxyOptions {
    /// Creates the default options: no filters, no accounts, no key log.
    #[must_use]
    pub fn new(upstream: UpstreamName) -> Self {
        Self { upstream: Some(upstream), transparent: false, ..Self::default() }
    }
}

impl Default for ProxyOptions {
    /// Connects redirected clients to their original destinations: no other server, no filters, no
    /// accounts, no key log.
    fn default() -> Self {
        Self {
            upstream: None,
            transparent: true,
            expects_preamble: false,
            sends_preamble: None,
            config: Arc::default(),
            authority: None,
            key_log: None,
            notices: Notices::default(),
            pipeline: PipelineFactory::default().fixed(),
            control: None,
            pipe: None,
        }
    }
}

/// A listening proxy.
#[derive(Debug)]
pub struct Proxy {
    listener: Listener,
    options: ProxyOptions,
    log: LogHandle,
    clock: Clock,
    resolver: Resolver,
    numbers: SessionNumbers,
    outgoing: Outgoing,
    /// Configuration for redirected clients, who dialled the server's own host.
    as_dialled: Arc<Config>,
}

/// Stops a run. Clones stop the same run.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    sender: watch::Sender<Option<Cause>>,
    /// `true` once no new sessions begin.
    drain: watch::Sender<bool>,
}

impl Stop {
    /// Creates a handle for a run that has not been stopped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run; `why` is recorded as the reason why each session ended.
    ///
    /// `why` is an error, or a text.
    pub fn stop(&self, why: impl Into<Box<dyn Error + Send + Sync>>) {
        self.sender.send_replace(Some(Cause::new(why)));
    }

    /// Lets no new session begin: the run ends with the last of those that there are, or when it is
    /// [stopped](Self::stop). Sessions without a player end.
    pub fn drain(&self) {
        self.drain.send_replace(true);
    }

    /// Waits until no new session may begin.
    pub(super) async fn drained(&self) {
        // The sender is ours, so it cannot be gone.
        let _ = self.drain.subscribe().wait_for(|drains| *drains).await;
    }

    /// Returns whether the run was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.sender.borrow().is_some()
    }

    /// Waits until the run is stopped.
    pub async fn stopped(&self) {
        // The sender is ours, so it cannot be gone.
        let _ = self.subscribe().wait_for(Option::is_some).await;
    }

    /// Returns a receiver of whether the run drains.
    pub(super) fn subscribe_drain(&self) -> watch::Receiver<bool> {
        self.drain.subscribe()
    }

    /// Returns a receiver of the reason, which is `None` until the run is stopped.
    pub(super) fn subscribe(&self) -> watch::Receiver<Option<Cause>> {
        self.sender.subscribe()
    }
}

impl Proxy {
    /// `true` if the operating system reports where redirected connections were going, which
    /// [`ProxyOptions::transparent`] needs.
    pub const CAN_BE_TRANSPARENT: bool = CAN_BE_TRANSPARENT;

    /// Creates a proxy that will serve the clients of `listener`.
    #[must_use]
    pub fn new(listener: Listener, options: ProxyOptions, log: LogHandle) -> Self {
        let (clock, resolver) = (Clock::new(), Resolver::default());
        let (numbers, outgoing) = (SessionNumbers::default(), Outgoing::kept());
        let mut as_dialled = Config::clone(&options.config);
        as_dialled.keep_host = true;
        let as_dialled = Arc::new(as_dialled);
        Self { listener, options, log, clock, resolver, numbers, outgoing, as_dialled }
    }

    /// Returns the counter that numbers the sessions.
    #[must_use]
    pub fn numbers(&self) -> SessionNumbers {
        self.numbers.clone()
    }

    /// Returns the clock of the sessions.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Serves until `stop`, then closes all sessions in order. A run that [drains](Stop::drain) is stopped
    /// with its last session.
    pub async fn run(self, stop: &Stop) {
        let Self { listener, options, log, clock, resolver, numbers, outgoing, as_dialled } = self;
        let keys = KeyPool::start();
        let (transfers, chains) = (Transfers::default(), Chains::default());
        let serve = |accepted: io::Result<Accepted>| {
            let Ok(Accepted { socket, address, refused }) = accepted else {
                log.metrics.count_trouble(Trouble::Accept);
                return None;
            };
            if let Some(reason) = &refused {
                options.notices.show_turned_away(reason);
            }
            let mut pipelines = options.pipeline.clone();
            pipelines.mark_unchanged();
            let shared = Shared {
                clock,
                log: log.clone(),
                keys: keys.clone(),
                authority: options.authority.clone(),
                transfers: transfers.clone(),
                chains: chains.clone(),
                key_log: options.key_log.clone(),
                notices: options.notices.clone(),
                stop: stop.subscribe(),
                drain: stop.subscribe_drain(),
                pipelines,
            };
            let incoming = IncomingClient {
                session: numbers.next(),
                options: options.clone(),
                resolver: resolver.clone(),
                as_dialled: Arc::clone(&as_dialled),
                outgoing: outgoing.clone(),
                shared,
            };
            // What finds the server is larger than an idle session, and is over soon.
            let preparing = Box::pin(incoming.driver(socket, address, refused));
            Some(async {
                if let Some(driver) = preparing.await {
                    driver.run().await;
                }
            })
        };
        listener.run(stop, serve).await;
        if !stop.is_stopped() {
            stop.stop("the last session has ended");
        }
    }
}
