use std::sync::Arc;

use super::{EngineRunner, Listener, LogHandle, Stop};
use crate::link::Opening;
use crate::replay::{ServerOptions, ServerReplay, ServerStart, Tally};

/// Plays the server of a recorded session to clients.
#[derive(Debug)]
pub struct ReplayServer {
    listener: Listener,
    options: Arc<ServerOptions>,
    log: LogHandle,
    tally: Tally,
}

impl ReplayServer {
    /// Creates a server that plays to the clients of `listener` and counts in `tally`.
    #[must_use]
    pub fn new(listener: Listener, options: ServerOptions, log: LogHandle, tally: Tally) -> Self {
        Self { listener, options: Arc::new(options), log, tally }
    }

    /// Serves until `stop`, then closes all sessions in order.
    pub async fn run(self, stop: &Stop) {
        let Self { listener, options, log, tally } = self;
        let server = |opening| {
            let Opening { session, at, client, server, seed: [a, b, c, d, e, f, g, h, ..] } =
                opening;
            let seed = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let start = ServerStart { session, at, client, server, seed };
            ServerReplay::new(Arc::clone(&options), start, tally.clone())
        };
        EngineRunner::new(log).serve(listener, stop, server).await;
    }
}
