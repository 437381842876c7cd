use std::sync::Arc;

use crate::proxy::{EngineRunner, Listener, Stop};
use mitmcraft_engine::link::Engine;
use mitmcraft_engine::replay::{ServerOptions, ServerReplay, Tally};

/// Plays the server of a recorded session to clients.
#[derive(Debug)]
pub struct ReplayServer {
    listener: Listener,
    options: Arc<ServerOptions>,
    runner: EngineRunner,
    tally: Tally,
}

impl ReplayServer {
    /// Creates a server that plays to the clients of `listener` and counts in `tally`. It applies the
    /// filters of `runner` to each session, as the proxy does.
    #[must_use]
    pub fn new(
        listener: Listener,
        options: ServerOptions,
        runner: EngineRunner,
        tally: Tally,
    ) -> Self {
        Self { listener, options: Arc::new(options), runner, tally }
    }

    /// Serves until `stop`, then closes all sessions in order.
    pub async fn run(self, stop: &Stop) {
        let Self { listener, options, runner, tally } = self;
        let server = |opening| -> Box<dyn Engine> {
            let server = ServerReplay::new(Arc::clone(&options), &opening, tally.clone());
            match runner.pipeline() {
                Some(pipeline) => Box::new(server.filtered(pipeline)),
                None => Box::new(server),
            }
        };
        runner.serve(listener, stop, server).await;
    }
}
