use std::sync::Arc;

use super::{EngineRunner, LogHandle, Stop};
use crate::link::{Opening, Upstream};
use crate::replay::{ClientOptions, ClientReplay, ClientStart, Tally};

/// The client of a recorded session, ready to play against a server. Cheap to clone: its clones
/// count their sessions together.
#[derive(Debug, Clone)]
pub struct ReplayClient {
    upstream: Upstream,
    options: Arc<ClientOptions>,
    tally: Tally,
    runner: EngineRunner,
}

impl ReplayClient {
    /// Creates a client that plays against the server `upstream`.
    #[must_use]
    pub fn new(upstream: Upstream, options: ClientOptions, log: LogHandle, tally: Tally) -> Self {
        Self { upstream, options: Arc::new(options), tally, runner: EngineRunner::new(log) }
    }

    /// Plays once as the player `name`, until the end or until stopped.
    ///
    /// # Errors
    /// If the server cannot be reached: the reason.
    pub async fn play(&self, name: &str, stop: &Stop) -> Result<(), String> {
        let client = |opening| {
            let Opening { session, at, client, server, seed } = opening;
            let (upstream, name) = (self.upstream.clone(), name.to_owned());
            let start = ClientStart { session, at, client, server, upstream, name, seed };
            ClientReplay::new(Arc::clone(&self.options), start, self.tally.clone())
        };
        self.runner.connect(&self.upstream, stop, client).await.map(drop)
    }
}
