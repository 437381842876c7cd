use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::arrival::CAN_BE_TRANSPARENT;
use super::driver::Shared;
use super::guest::Guest;
use super::keys::KeyPool;
use super::route::Outgoing;
use super::transfers::Transfers;
use super::{
    Authority, Clock, KeyLog, LogHandle, Notices, PreambleVersion, Resolver, SessionNumbers,
    Trouble, UpstreamName,
};
use crate::filter::Pipeline;
use crate::session::Config;

/// Makes the filters of one session. Cheap to clone.
#[derive(Clone)]
pub struct PipelineFactory(Arc<dyn Fn() -> Pipeline + Send + Sync>);

impl PipelineFactory {
    /// Makes them this way.
    #[must_use]
    pub fn new(make: Arc<dyn Fn() -> Pipeline + Send + Sync>) -> Self {
        Self(make)
    }

    /// The filters of a new session.
    #[must_use]
    pub fn make(&self) -> Pipeline {
        (self.0)()
    }

    /// A factory that never changes.
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

/// How a proxy runs.
#[derive(Clone)]
pub struct ProxyOptions {
    /// Where clients connect; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Where they are to be connected to; with `transparent` those that were not redirected.
    pub upstream: Option<UpstreamName>,
    /// Whether connections are taken that the system redirects here, each to be connected to where
    /// it was going.
    pub transparent: bool,
    /// Whether clients come through something that says who they are in a PROXY header.
    pub expects_preamble: bool,
    /// The PROXY header that servers are told who the client is with.
    pub sends_preamble: Option<PreambleVersion>,
    /// What all sessions have in common.
    pub config: Arc<Config>,
    /// Sessions at the same time; further clients wait to be accepted.
    pub max_sessions: usize,
    /// Who speaks to the session service, when `config` has sessions want it.
    pub authority: Option<Authority>,
    /// Where what decrypts each leg is kept; None: nowhere.
    pub key_log: Option<KeyLog>,
    /// Where the user is told what happens.
    pub notices: Notices,
    /// The filters of each session; a new factory takes effect between two packets.
    pub pipeline: watch::Receiver<PipelineFactory>,
}

impl ProxyOptions {
    /// The usual ones, with no filters and nothing kept.
    #[must_use]
    pub fn new(listen: SocketAddr, upstream: UpstreamName) -> Self {
        Self {
            listen,
            upstream: Some(upstream),
            transparent: false,
            expects_preamble: false,
            sends_preamble: None,
            config: Arc::default(),
            max_sessions: 1000,
            authority: None,
            key_log: None,
            notices: Notices::default(),
            pipeline: PipelineFactory::default().fixed(),
        }
    }
}

impl std::fmt::Debug for ProxyOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxyOptions").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// A listening proxy.
#[derive(Debug)]
pub struct Proxy {
    listener: TcpListener,
    options: ProxyOptions,
    log: LogHandle,
    clock: Clock,
    resolver: Resolver,
    numbers: SessionNumbers,
    outgoing: Outgoing,
    /// For redirected clients: the host that they dialled is the right one.
    as_dialled: Arc<Config>,
}

/// Ends a run.
#[derive(Debug, Clone)]
pub struct Stop {
    sender: watch::Sender<Option<String>>,
}

impl Stop {
    /// A run that goes on.
    #[must_use]
    pub fn new() -> Self {
        Self { sender: watch::Sender::new(None) }
    }

    /// Ends it; `why` is recorded as the reason of each session.
    pub fn stop(&self, why: &str) {
        self.sender.send_replace(Some(why.to_owned()));
    }

    /// Whether it was ended.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.sender.borrow().is_some()
    }

    /// Waits until it is.
    pub async fn stopped(&self) {
        // The sender is ours, so it cannot be gone.
        let _ = self.subscribe().wait_for(Option::is_some).await;
    }

    /// Tells why, once it ends.
    pub(super) fn subscribe(&self) -> watch::Receiver<Option<String>> {
        self.sender.subscribe()
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

/// What a run has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Clients that were accepted.
    pub sessions: u64,
}

impl Proxy {
    /// Listens.
    ///
    /// # Errors
    /// When the address cannot be had, or this system does not tell where redirected connections
    /// were going.
    pub async fn bind(options: ProxyOptions, log: LogHandle) -> io::Result<Self> {
        if options.transparent && !CAN_BE_TRANSPARENT {
            let text = "this system does not tell where a redirected connection was going";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let outgoing = if options.transparent { Outgoing::kept() } else { Outgoing::default() };
        let listener = TcpListener::bind(options.listen).await?;
        let (clock, resolver) = (Clock::new(), Resolver::new());
        let numbers = SessionNumbers::default();
        let as_dialled = Arc::new(Config { keep_host: true, ..Config::clone(&options.config) });
        Ok(Self { listener, options, log, clock, resolver, numbers, outgoing, as_dialled })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What numbers the sessions.
    #[must_use]
    pub fn numbers(&self) -> SessionNumbers {
        self.numbers.clone()
    }

    /// What tells the sessions the time.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Serves until told to stop, then ends all sessions in order.
    pub async fn run(self, stop: &Stop) -> Totals {
        let mut stopping = stop.sender.subscribe();
        let mut sessions = 0;
        let keys = KeyPool::start();
        let slots = Arc::new(Semaphore::new(self.options.max_sessions.max(1)));
        let transfers = Transfers::default();
        let mut tasks = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.listener, &slots) => accepted,
                Some(_) = tasks.join_next() => continue,
                _ = stopping.wait_for(Option::is_some) => break,
            };
            let Some((client, address, slot)) = accepted else {
                self.log.metrics().count_trouble(Trouble::Accept);
                continue;
            };
            sessions += 1;
            let mut pipelines = self.options.pipeline.clone();
            pipelines.mark_unchanged();
            let shared = Shared {
                clock: self.clock,
                log: self.log.clone(),
                keys: keys.clone(),
                authority: self.options.authority.clone(),
                transfers: transfers.clone(),
                key_log: self.options.key_log.clone(),
                notices: self.options.notices.clone(),
                stop: stop.sender.subscribe(),
                pipelines,
            };
            let guest = Guest {
                session: self.numbers.next(),
                options: self.options.clone(),
                resolver: self.resolver.clone(),
                as_dialled: Arc::clone(&self.as_dialled),
                outgoing: self.outgoing.clone(),
                shared,
            };
            tasks.spawn(async move {
                guest.serve(client, address).await;
                drop(slot);
            });
        }
        while tasks.join_next().await.is_some() {}
        Totals { sessions }
    }
}

pub(super) type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

/// The next client, once there is room for it. An error of one client (it has gone, or there are no
/// more file descriptors) is none of the others': wait a moment and go on.
pub(super) async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> Option<Accepted> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((client, address)) => Some((client, address, slot)),
        Err(_) => {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            None
        }
    }
}
