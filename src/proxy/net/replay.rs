use std::sync::Arc;

use tokio::sync::watch;

use crate::proxy::{EngineRunner, Listener, LogHandle, Notices, PipelineFactory, Stop};
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
    /// Creates a server that plays to the clients of `listener` and counts in `tally`.
    #[must_use]
    pub fn new(listener: Listener, options: ServerOptions, log: LogHandle, tally: Tally) -> Self {
        let runner = EngineRunner::new(log);
        Self { listener, options: Arc::new(options), runner, tally }
    }

    /// Tells `notices` of clients that are turned away, and what filters have to say.
    #[must_use]
    pub fn with_notices(self, notices: Notices) -> Self {
        Self { runner: self.runner.with_notices(notices), ..self }
    }

    /// Applies the filters that `pipelines` makes to each session, as the proxy does.
    #[must_use]
    pub fn with_pipelines(self, pipelines: watch::Receiver<PipelineFactory>) -> Self {
        Self { runner: self.runner.with_pipelines(pipelines), ..self }
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
