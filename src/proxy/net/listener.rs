use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::descriptors::{clients_within_limit, out_of_descriptors};
use crate::proxy::{RefusalError, Stop};

/// A bound TCP socket whose clients are not accepted yet.
///
/// Binding is separate from serving so that a run can claim its addresses before it creates files.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    limit: usize,
    /// `true` if the limit is that of the file descriptors.
    is_short: bool,
    /// Clients that are refused at a time.
    refusals: usize,
    /// `true` if a run that drains refuses further clients.
    drains: bool,
    /// Descriptors to give up for clients that can only be told that there are no more.
    reserve: Vec<socket2::Socket>,
}

/// A future that serves one client until it is gone.
type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An accepted client.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) socket: TcpStream,
    pub(crate) address: SocketAddr,
    /// Why the client is to be refused, if it is.
    pub(crate) refused: Option<RefusalError>,
}

impl Listener {
    /// Binds `address`; port 0 picks a free port. At most `max_clients` clients, but at least one,
    /// are served at a time; further ones are refused.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn bind(address: SocketAddr, max_clients: usize) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let limit = max_clients.clamp(1, Semaphore::MAX_PERMITS);
        Ok(Self {
            socket,
            limit,
            is_short: false,
            refusals: REFUSALS,
            drains: false,
            reserve: Vec::new(),
        })
    }

    /// Serves no more clients than there are file descriptors for: the two sockets of a session, and
    /// `files` more, which it can create whatever the others use.
    #[must_use]
    pub fn with_files(mut self, files: usize) -> Self {
        if let Some(fitting) = clients_within_limit(files).filter(|it| *it < self.limit) {
            self.limit = fitting.max(1);
            self.is_short = true;
            self.refusals = REFUSALS_IF_SHORT;
        }
        self
    }

    /// Refuses further clients when the run [drains](Stop::drain), and ends with the last of those that
    /// are served.
    #[must_use]
    pub fn draining(mut self) -> Self {
        self.drains = true;
        self
    }

    /// Returns the bound address.
    ///
    /// # Errors
    /// If the operating system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Runs the future that `serve` makes of each accepted client until `stop`, then waits for those
    /// that are still running. While as many clients as allowed are served, and some more are
    /// being refused, further ones wait in the backlog of the operating system.
    ///
    /// `serve` is also told of clients that could not be accepted.
    pub(crate) async fn run<F>(
        self,
        stop: &Stop,
        mut serve: impl FnMut(io::Result<Accepted>) -> Option<F> + Send,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        self.accept_all(stop, &mut |accepted| Some(Box::pin(serve(accepted)?))).await;
    }

    /// Does what [`run`](Self::run) promises. It is compiled once for all kinds of clients.
    async fn accept_all(
        mut self,
        stop: &Stop,
        serve: &mut (dyn FnMut(io::Result<Accepted>) -> Option<Serving> + Send),
    ) {
        let slots = Arc::new(Semaphore::new(self.limit));
        let refusals = Arc::new(Semaphore::new(self.refusals));
        let mut stopping = stop.subscribe();
        let mut tasks = JoinSet::new();
        let (drains, mut is_draining) = (self.drains, false);
        while !is_draining || slots.available_permits() < self.limit {
            let accept = async {
                let (permit, full) = tokio::select! {
                    biased;
                    slot = Arc::clone(&slots).acquire_owned(), if !is_draining => (slot, false),
                    refusal = Arc::clone(&refusals).acquire_owned() => (refusal, true),
                };
                let accepted = self.accept().await;
                match Arc::clone(&slots).try_acquire_owned() {
                    _ if is_draining => {
                        (permit, accepted.map(|it| it.refused(RefusalError::Stopped)))
                    }
                    // A client has left meanwhile.
                    Ok(slot) if full => (Ok(slot), accepted),
                    _ if full => (permit, accepted.map(|it| it.refused(self.too_many()))),
                    _ => (permit, accepted),
                }
            };
            // A client that comes after the end was asked for is no player any more.
            let (permit, accepted) = tokio::select! {
                biased;
                _ = stopping.wait_for(Option::is_some) => break,
                () = stop.drained(), if drains && !is_draining => {
                    is_draining = true;
                    continue;
                }
                Some(_) = tasks.join_next() => continue,
                accepted = accept => accepted,
            };
            // A client that is gone or a lack of file descriptors must not affect other clients.
            let failed = accepted.is_err();
            if let Some(serving) = serve(accepted) {
                tasks.spawn(async move {
                    serving.await;
                    drop(permit);
                });
            } else if failed {
                tokio::time::sleep(RETRY).await;
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Returns why a client is refused when as many as allowed are served.
    fn too_many(&self) -> RefusalError {
        match self.is_short {
            true => RefusalError::NoDescriptors,
            false => RefusalError::Full { limit: self.limit },
        }
    }

    /// Accepts a client, if need be with a descriptor of the reserve.
    async fn accept(&mut self) -> io::Result<Accepted> {
        while self.reserve.len() < RESERVE {
            let Ok(spare) = SockRef::from(&self.socket).try_clone() else { break };
            self.reserve.push(spare);
        }
        let mut refused = None;
        let mut accepted = self.socket.accept().await;
        if accepted.as_ref().is_err_and(out_of_descriptors) && self.reserve.pop().is_some() {
            refused = Some(RefusalError::NoDescriptors);
            accepted = std::future::poll_fn(|context| {
                // Another connection may have taken the descriptor.
                let gone = || Err(io::ErrorKind::WouldBlock.into());
                Poll::Ready(match self.socket.poll_accept(context) {
                    Poll::Ready(accepted) => accepted,
                    Poll::Pending => gone(),
                })
            })
            .await;
        }
        let (socket, address) = accepted?;
        Ok(Accepted { socket, address, refused })
    }
}

impl Accepted {
    /// Refuses the client, unless it is refused already.
    fn refused(self, reason: RefusalError) -> Self {
        Self { refused: self.refused.or(Some(reason)), ..self }
    }
}

/// Pause after a failed accept, so that a lasting cause does not keep a core busy.
const RETRY: Duration = Duration::from_millis(50);

/// Clients that are refused at a time. Each is there for a few seconds at most.
const REFUSALS: usize = 32;

/// The same when there are few descriptors.
const REFUSALS_IF_SHORT: usize = 4;

/// Descriptors held back for clients that are refused. Each is there for a few seconds at most.
const RESERVE: usize = 8;
