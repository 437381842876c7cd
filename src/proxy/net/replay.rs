use std::sync::Arc;

use crate::proxy::{EngineRunner, Listener, Stop};
use mitmcraft_engine::link::Engine;
use mitmcraft_engine::replay::{ServerOptions, ServerReplay, Tally};

/// Plays the server of a recorded session to the clients of `listener`, counted in `tally`, until `stop`; then closes
/// all sessions in order. Applies the filters of `runner` to each session, as the proxy does.
pub async fn serve_replay(
    listener: Listener,
    options: ServerOptions,
    runner: EngineRunner,
    tally: Tally,
    stop: &Stop,
) {
    let options = Arc::new(options);
    let server = |opening| -> Box<dyn Engine> {
        let server = ServerReplay::new(Arc::clone(&options), &opening, tally.clone());
        match runner.pipeline() {
            Some(pipeline) => Box::new(server.filtered(pipeline)),
            None => Box::new(server),
        }
    };
    runner.serve(listener, stop, server).await;
}
