use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;

use super::driver::{Driver, Shared};
use super::route::Route;
use super::{Clock, ConnectError, LogHandle, SessionNumbers, Stop, keys};
use crate::link::Upstream;
use crate::replay::{ClientOptions, ClientReplay, ClientStart, Tally};

/// Plays the client of a recorded session against a server. Cheap to clone: clones number their
/// sessions together.
#[derive(Debug, Clone)]
pub struct ReplayClient {
    upstream: Upstream,
    options: Arc<ClientOptions>,
    log: LogHandle,
    tally: Tally,
    clock: Clock,
    numbers: SessionNumbers,
}

impl ReplayClient {
    /// Creates a client for `upstream` that counts in `tally`.
    #[must_use]
    pub fn new(upstream: Upstream, options: ClientOptions, log: LogHandle, tally: Tally) -> Self {
        let (clock, numbers) = (Clock::new(), SessionNumbers::default());
        Self { upstream, options: Arc::new(options), log, tally, clock, numbers }
    }

    /// Plays the recording once, as the player `name`, until it ends or until `stop`.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn play(&self, name: &str, stop: &Stop) -> Result<(), ConnectError> {
        let mut stopping = stop.subscribe();
        let connected = tokio::select! {
            connected = Route::from(self.upstream.clone()).connect() => connected,
            _ = stopping.wait_for(Option::is_some) => return Ok(()),
        };
        let socket = connected.map_err(ConnectError::Unreachable)?;
        let start = self.start(name, &socket).map_err(ConnectError::Address)?;
        let engine = ClientReplay::new(Arc::clone(&self.options), start, self.tally.clone());
        let shared = Shared::plain(self.clock, self.log.clone(), stop);
        Driver::new(engine, shared, self.upstream.clone(), None).connected(socket).run().await;
        Ok(())
    }

    fn start(&self, name: &str, socket: &TcpStream) -> io::Result<ClientStart> {
        Ok(ClientStart {
            session: self.numbers.next(),
            at: self.clock.now(),
            client: socket.local_addr()?,
            server: socket.peer_addr()?,
            upstream: self.upstream.clone(),
            name: name.to_owned(),
            seed: keys::seed(),
        })
    }
}
