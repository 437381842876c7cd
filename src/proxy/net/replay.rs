use std::sync::Arc;

use crate::proxy::{EngineRunner, Listener, LogHandle, Notices, Stop};
use mitmcraft_engine::link::Opening;
use mitmcraft_engine::replay::{ServerOptions, ServerReplay, ServerStart, Tally};

/// Plays the server of a recorded session to clients.
#[derive(Debug)]
pub struct ReplayServer {
    listener: Listener,
    options: Arc<ServerOptions>,
    runner: EngineRunner,
    tally: Tally,
}

impl ReplayServer {
    /// Creates a server that plays to the clients of `listener` and counts in `tally`.
    #[must_use]
    pub fn new(listener: Listener, options: ServerOptions, log: LogHandle, tally: Tally) -> Self {
        let runner = EngineRunner::new(log);
        Self { listener, options: Arc::new(options), runner, tally }
    }

    /// Tells `notices` of clients that are turned away.
    #[must_use]
    pub fn with_notices(self, notices: Notices) -> Self {
        Self { runner: self.runner.with_notices(notices), ..self }
    }

    /// Serves until `stop`, then closes all sessions in order.
    pub async fn run(self, stop: &Stop) {
        let Self { listener, options, runner, tally } = self;
        let server = |opening| {
            let Opening { session, at, client, server, seed: [a, b, c, d, e, f, g, h, ..] } =
                opening;
            let seed = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let start = ServerStart { session, at, client, server, seed };
            ServerReplay::new(Arc::clone(&options), start, tally.clone())
        };
        runner.serve(listener, stop, server).await;
    }
}
