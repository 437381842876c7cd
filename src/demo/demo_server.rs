use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use super::server::Server;
use super::{DemoError, DemoOptions, query};
use crate::proxy::{EngineRunner, Listener, LogHandle, Stop};
use mitmcraft_engine::link::Engine;

/// A Minecraft 1.8 server that shows a small world to its players, until it is dropped.
///
/// Any 1.8 client can play on it, and one of Alpha 1.2.3 (protocol 5). It authenticates no player. It
/// answers every Server List Ping, and Query at the UDP port of the same number.
#[derive(Debug)]
pub struct DemoServer {
    address: SocketAddr,
    stop: Stop,
    serving: JoinHandle<()>,
    answering: JoinHandle<io::Result<()>>,
}

impl DemoServer {
    /// Starts to serve on tasks of its own, at most 64 clients at a time; further ones are refused. What the
    /// server sees is recorded in `log`.
    ///
    /// # Errors
    /// If the address cannot be bound.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time and I/O.
    pub async fn bind(
        address: SocketAddr,
        options: DemoOptions,
        log: LogHandle,
    ) -> io::Result<Self> {
        let (listener, datagrams) = bind_both(address).await?;
        let (address, stop) = (listener.local_addr()?, Stop::new());
        let answering = tokio::spawn(query::answer(datagrams));
        let (options, stopping) = (Arc::new(options), stop.clone());
        let serving = tokio::spawn(async move {
            let server = |opening| -> Box<dyn Engine> {
                Box::new(Server::new(Arc::clone(&options), &opening))
            };
            EngineRunner::new(log).serve(listener, &stopping, server).await;
        });
        Ok(Self { address, stop, serving, answering })
    }

    /// Kicks all players, and stops listening.
    pub async fn stop(mut self) {
        self.stop.stop(DemoError::ServerStopped);
        // A task that has panicked has nothing left to wait for.
        let _ = (&mut self.serving).await;
    }

    /// The address on which it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        self.serving.abort();
        self.answering.abort();
    }
}

/// Binds the TCP port, and the UDP port of the same number.
async fn bind_both(address: SocketAddr) -> io::Result<(Listener, UdpSocket)> {
    let mut tries = TRIES;
    loop {
        let listener = Listener::bind(address, MAX_CLIENTS).await?;
        match UdpSocket::bind(listener.local_addr()?).await {
            Ok(socket) => return Ok((listener, socket)),
            // A port that was picked at random may be taken for datagrams.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => tries -= 1,
            Err(error) => return Err(error),
        }
    }
}

/// More than a demo has use for.
const MAX_CLIENTS: usize = 64;

/// Attempts when the system picks the port.
const TRIES: u32 = 16;
