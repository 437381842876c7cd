use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;

use super::driver::{Driver, Shared};
use super::route::Route;
use super::upstream::explain;
use super::{Clock, LogHandle, SessionNumbers, Stop, keys};
use crate::link::Upstream;
use crate::replay::{ClientOptions, ClientReplay, ClientStart, Tally};

/// The client of a recorded session, ready to play against a server. Cheap to clone: its clones
/// count their sessions together.
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
    /// Plays against that server.
    #[must_use]
    pub fn new(upstream: Upstream, options: ClientOptions, log: LogHandle, tally: Tally) -> Self {
        let (clock, numbers) = (Clock::new(), SessionNumbers::default());
        Self { upstream, options: Arc::new(options), log, tally, clock, numbers }
    }

    /// Plays once, as the player of that name, until the end or until told to stop.
    ///
    /// # Errors
    /// When the server cannot be reached, and why.
    pub async fn play(&self, name: &str, stop: &Stop) -> Result<(), String> {
        let mut stopping = stop.subscribe();
        let connected = tokio::select! {
            connected = Route::from(self.upstream.clone()).connect() => connected,
            _ = stopping.wait_for(Option::is_some) => return Ok(()),
        };
        let socket = connected.map_err(|error| explain(&error))?;
        let start = self.start(name, &socket).map_err(|error| explain(&error))?;
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
