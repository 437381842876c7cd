use std::sync::Arc;

use crate::proxy::{ConnectError, EngineRunner, ServerConnection, Stop};
use mitmcraft_engine::link::{Engine, Upstream};
use mitmcraft_engine::replay::{ClientOptions, ClientReplay, Tally};

/// Plays the client of a recorded session against a server. Cheap to clone: clones number their
/// sessions together.
#[derive(Debug, Clone)]
pub struct ReplayClient {
    upstream: Upstream,
    options: Arc<ClientOptions>,
    tally: Tally,
    runner: EngineRunner,
}

impl ReplayClient {
    /// Creates a client for `upstream` that counts in `tally`. It applies the filters of `runner` to each
    /// session, as the proxy does.
    #[must_use]
    pub fn new(
        upstream: Upstream,
        options: ClientOptions,
        runner: EngineRunner,
        tally: Tally,
    ) -> Self {
        Self { upstream, options: Arc::new(options), tally, runner }
    }

    /// Plays the recording once, as the player `name`, until it ends or until `stop`.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn play(&self, name: &str, stop: &Stop) -> Result<(), ConnectError> {
        tokio::select! {
            connected = ServerConnection::open(&self.upstream) => {
                self.play_over(connected?, name, stop).await;
                Ok(())
            }
            () = stop.stopped() => Ok(()),
        }
    }

    /// Plays the recording once over `connection`, as the player `name`, until it ends or until
    /// `stop`.
    pub async fn play_over(&self, connection: ServerConnection, name: &str, stop: &Stop) {
        let client = |opening| -> Box<dyn Engine> {
            let options = Arc::clone(&self.options);
            let tally = self.tally.clone();
            let client = ClientReplay::new(options, &opening, &self.upstream, name, tally);
            match self.runner.pipeline() {
                Some(pipeline) => Box::new(client.filtered(pipeline)),
                None => Box::new(client),
            }
        };
        self.runner.run_boxed(connection, stop, client).await;
    }
}
