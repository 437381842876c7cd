use std::sync::Arc;

use super::driver::{Driver, Shared};
use super::{Clock, Listener, LogHandle, SessionNumbers, Stop, keys};
use crate::link::Upstream;
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

    /// Serves until told to stop, then ends all sessions in order.
    pub async fn run(self, stop: &Stop) {
        let Self { listener, options, log, tally } = self;
        let (clock, numbers) = (Clock::new(), SessionNumbers::default());
        let serve = |accepted: std::io::Result<_>| {
            let (socket, client): (tokio::net::TcpStream, _) = accepted.ok()?;
            let server = socket.local_addr().ok()?;
            let (session, seed) = (numbers.next(), keys::number());
            let start = ServerStart { session, at: clock.now(), client, server, seed };
            let engine = ServerReplay::new(Arc::clone(&options), start, tally.clone());
            let shared = Shared::plain(clock, log.clone(), stop);
            // A replayed server connects to nothing.
            let nowhere = Upstream { host: String::new(), port: 0 };
            Some(Driver::new(engine, shared, nowhere, Some(socket)).run())
        };
        listener.run(stop, serve).await;
    }
}
