use tokio::sync::watch;

use super::chains::Chains;
use super::transfers::Transfers;
use crate::proxy::accounts::{Authority, KeyPool};
use crate::proxy::{Clock, KeyLog, LogHandle, Notices, PipelineFactory, Stop};
use mitmcraft_protocol::packet::Cause;

/// State that all drivers of a run share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) log: LogHandle,
    pub(super) keys: KeyPool,
    /// Client of the session service; `None` if no session needs it.
    pub(super) authority: Option<Authority>,
    pub(super) transfers: Transfers,
    pub(super) chains: Chains,
    /// `None` if no keys are logged.
    pub(super) key_log: Option<KeyLog>,
    pub(super) notices: Notices,
    /// The reason why the run ends, once it does.
    pub(super) stop: watch::Receiver<Option<Cause>>,
    /// `true` once no new sessions begin.
    pub(super) drain: watch::Receiver<bool>,
    /// Makes new filters when the rules have changed.
    pub(super) pipelines: watch::Receiver<PipelineFactory>,
}

impl Shared {
    /// Creates the state of a run without filters, accounts and key log.
    pub(super) fn plain(clock: Clock, log: LogHandle, stop: &Stop) -> Self {
        Self {
            clock,
            log,
            keys: KeyPool::default(),
            authority: None,
            transfers: Transfers::default(),
            chains: Chains::default(),
            key_log: None,
            notices: Notices::default(),
            stop: stop.subscribe(),
            drain: stop.subscribe_drain(),
            pipelines: PipelineFactory::default().fixed(),
        }
    }
}
