use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::driver::{Driver, Shared};
use super::server::accept;
use super::{Clock, LogHandle, SessionNumbers, Stop, keys};
use crate::link::Upstream;
use crate::replay::{Arrival, ServerOptions, ServerReplay, Tally};

/// A recorded session that listens for clients.
#[derive(Debug)]
pub struct ReplayServer {
    listener: TcpListener,
    options: Arc<ServerOptions>,
    max_sessions: usize,
    log: LogHandle,
    tally: Tally,
}

impl ReplayServer {
    /// Listens; at most so many clients at the same time, further ones wait.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn bind(
        listen: SocketAddr,
        options: ServerOptions,
        max_sessions: usize,
        log: LogHandle,
        tally: Tally,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        Ok(Self { listener, options: Arc::new(options), max_sessions, log, tally })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until told to stop, then ends all sessions in order.
    pub async fn run(self, stop: &Stop) {
        let mut stopping = stop.subscribe();
        let slots = Arc::new(Semaphore::new(self.max_sessions.max(1)));
        let (clock, numbers) = (Clock::new(), SessionNumbers::default());
        let mut tasks = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.listener, &slots) => accepted,
                Some(_) = tasks.join_next() => continue,
                _ = stopping.wait_for(Option::is_some) => break,
            };
            let Some((socket, client, slot)) = accepted else { continue };
            let Ok(server) = socket.local_addr() else { continue };
            let (session, seed) = (numbers.next(), keys::number());
            let arrival = Arrival { session, at: clock.now(), client, server, seed };
            let engine = ServerReplay::new(Arc::clone(&self.options), arrival, self.tally.clone());
            let shared = Shared::plain(clock, self.log.clone(), stop);
            // It connects to nobody.
            let nowhere = Upstream { host: String::new(), port: 0 };
            tasks.spawn(async move {
                Driver::new(engine, shared, nowhere, Some(socket)).run().await;
                drop(slot);
            });
        }
        while tasks.join_next().await.is_some() {}
    }
}
