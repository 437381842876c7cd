use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Stop;

/// A bound TCP socket whose clients are not accepted yet.
///
/// Binding is separate from serving so that a run can claim its addresses before it creates files.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    slots: Arc<Semaphore>,
}

impl Listener {
    /// Binds `address`; port 0 picks a free port. At most `max_clients` clients, but at least one,
    /// are served at a time; further ones wait in the backlog of the operating system.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn bind(address: SocketAddr, max_clients: usize) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let slots = max_clients.clamp(1, Semaphore::MAX_PERMITS);
        Ok(Self { socket, slots: Arc::new(Semaphore::new(slots)) })
    }

    /// Returns the bound address.
    ///
    /// # Errors
    /// If the operating system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Runs the future that `serve` makes of each accepted client until `stop`, then waits for those
    /// that are still running.
    ///
    /// `serve` is also told of clients that could not be accepted.
    pub(super) async fn run<F>(
        self,
        stop: &Stop,
        mut serve: impl FnMut(io::Result<(TcpStream, SocketAddr)>) -> Option<F>,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut stopping = stop.subscribe();
        let mut tasks = JoinSet::new();
        loop {
            let accept = async {
                let slot = Arc::clone(&self.slots).acquire_owned().await;
                (slot, self.socket.accept().await)
            };
            let (slot, accepted) = tokio::select! {
                accepted = accept => accepted,
                Some(_) = tasks.join_next() => continue,
                _ = stopping.wait_for(Option::is_some) => break,
            };
            // A client that is gone or a lack of file descriptors must not affect other clients.
            let failed = accepted.is_err();
            if let Some(serving) = serve(accepted) {
                tasks.spawn(async move {
                    serving.await;
                    drop(slot);
                });
            } else if failed {
                tokio::time::sleep(RETRY).await;
            }
        }
        while tasks.join_next().await.is_some() {}
    }
}

/// Pause after a failed accept, so that a lasting cause does not keep a core busy.
const RETRY: Duration = Duration::from_millis(50);
