use std::sync::Arc;

use tokio::sync::watch;

use super::arrival::CAN_BE_TRANSPARENT;
use super::driver::Shared;
use super::guest::Guest;
use super::keys::KeyPool;
use super::route::Outgoing;
use super::transfers::Transfers;
use super::{
    Authority, Clock, KeyLog, Listener, LogHandle, Notices, PreambleVersion, Resolver,
    SessionNumbers, Trouble, UpstreamName,
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
    pub fn new(upstream: UpstreamName) -> Self {
        Self {
            upstream: Some(upstream),
            transparent: false,
            expects_preamble: false,
            sends_preamble: None,
            config: Arc::default(),
            authority: None,
            key_log: None,
            notices: Notices::default(),
            pipeline: PipelineFactory::default().fixed(),
        }
    }
}

impl std::fmt::Debug for ProxyOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxyOptions").field("upstream", &self.upstream).finish_non_exhaustive()
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
    /// Whether the operating system reports where redirected connections were going, which
    /// [`ProxyOptions::transparent`] needs.
    pub const CAN_BE_TRANSPARENT: bool = CAN_BE_TRANSPARENT;

    /// Creates a proxy that will serve the clients of `listener`.
    #[must_use]
    pub fn new(listener: Listener, options: ProxyOptions, log: LogHandle) -> Self {
        let outgoing = if options.transparent { Outgoing::kept() } else { Outgoing::default() };
        let (clock, resolver) = (Clock::new(), Resolver::new());
        let numbers = SessionNumbers::default();
        let as_dialled = Arc::new(Config { keep_host: true, ..Config::clone(&options.config) });
        Self { listener, options, log, clock, resolver, numbers, outgoing, as_dialled }
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
        let Self { listener, options, log, clock, resolver, numbers, outgoing, as_dialled } = self;
        let mut sessions = 0;
        let keys = KeyPool::start();
        let transfers = Transfers::default();
        let serve = |accepted| {
            let Ok((client, address)) = accepted else {
                log.metrics().count_trouble(Trouble::Accept);
                return None;
            };
            sessions += 1;
            let mut pipelines = options.pipeline.clone();
            pipelines.mark_unchanged();
            let shared = Shared {
                clock,
                log: log.clone(),
                keys: keys.clone(),
                authority: options.authority.clone(),
                transfers: transfers.clone(),
                key_log: options.key_log.clone(),
                notices: options.notices.clone(),
                stop: stop.subscribe(),
                pipelines,
            };
            let guest = Guest {
                session: numbers.next(),
                options: options.clone(),
                resolver: resolver.clone(),
                as_dialled: Arc::clone(&as_dialled),
                outgoing: outgoing.clone(),
                shared,
            };
            Some(guest.serve(client, address))
        };
        listener.run(stop, serve).await;
        Totals { sessions }
    }
}
