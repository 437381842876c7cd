use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::OptionFuture;
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use super::ask::{DATAGRAM, connected};
use crate::proxy::{Clock, LogHandle, PipelineFactory, SessionNumbers, Stop};
use mitmcraft_engine::query::{Relay, RelayOptions, RelayOutput};

/// Options of a [`QueryProxy`]. Start with [`new`](Self::new).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct QueryProxyOptions {
    /// Address for clients; port 0 picks a free port.
    pub listen: SocketAddr,
    /// The server.
    pub server: SocketAddr,
    /// The server as the user named it.
    pub upstream: String,
    /// Makes the filters of each client.
    pub pipeline: watch::Receiver<PipelineFactory>,
}

impl QueryProxyOptions {
    /// Creates options without filters.
    #[must_use]
    pub fn new(listen: SocketAddr, server: SocketAddr, upstream: String) -> Self {
        Self { listen, server, upstream, pipeline: PipelineFactory::default().fixed() }
    }
}

/// Relays the Query protocol between clients and the server.
#[derive(Debug)]
pub struct QueryProxy {
    socket: UdpSocket,
    options: QueryProxyOptions,
}

impl QueryProxy {
    /// Binds the address for clients.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn bind(options: QueryProxyOptions) -> io::Result<Self> {
        Ok(Self { socket: UdpSocket::bind(options.listen).await?, options })
    }

    /// Returns the bound address.
    ///
    /// # Errors
    /// If the operating system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Returns the server as the user named it.
    #[must_use]
    pub fn upstream(&self) -> &str {
        &self.options.upstream
    }

    /// Relays until `stop`. `clock` and `numbers` are those of the proxy, so that captures are consistent.
    pub async fn run(self, log: LogHandle, clock: Clock, numbers: SessionNumbers, stop: &Stop) {
        let mut stopping = std::pin::pin!(stop.stopped());
        let reason = stop.subscribe();
        let mut relay = Relay::new(RelayOptions {
            server: self.options.server,
            upstream: self.options.upstream.clone(),
            clients: CLIENTS,
            idle: IDLE,
        });
        let mut sockets = Sockets::new(self.options.server);
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let timeout = relay.poll_timeout().map(|at| sleep_until(clock.instant(at).into()));
            let stopped = tokio::select! {
                received = self.socket.recv_from(&mut buffer) => {
                    match received {
                        Ok((count, from)) => {
                            let datagram = Bytes::copy_from_slice(&buffer[..count]);
                            let open = || (numbers.next(), self.options.pipeline.borrow().make());
                            relay.handle_client(clock.now(), from, datagram, open);
                        }
                        // An error of one client must not affect other clients.
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                    false
                }
                Some((session, datagram)) = sockets.answers.recv() => {
                    relay.handle_server(clock.now(), session, datagram);
                    false
                }
                Some(()) = OptionFuture::from(timeout) => {
                    relay.handle_timeout(clock.now());
                    false
                }
                () = &mut stopping => true,
            };
            if stopped && let Some(why) = &*reason.borrow() {
                relay.handle_stop(clock.now(), why);
            }
            while let Some(output) = relay.poll_output() {
                self.perform(output, &mut sockets).await;
            }
            let entries = relay.take_entries();
            if !entries.is_empty() {
                log.put(entries).await;
            }
            if stopped {
                return;
            }
        }
    }

    /// Sends datagrams and closes sessions. Datagrams that cannot be sent are lost.
    async fn perform(&self, output: RelayOutput, sockets: &mut Sockets) {
        match output {
            RelayOutput::ToServer(session, datagram) => {
                if let Ok(socket) = sockets.of(session).await {
                    let _ = socket.send(&datagram).await;
                }
            }
            RelayOutput::ToClient(client, datagram) => {
                let _ = self.socket.send_to(&datagram, client).await;
            }
            RelayOutput::Close(session) => sockets.close(session),
        }
    }
}

/// The sockets to the server, one per session, each with a task that reads it.
struct Sockets {
    server: SocketAddr,
    open: HashMap<u64, (Arc<UdpSocket>, tokio::task::AbortHandle)>,
    tasks: JoinSet<()>,
    /// Holds [`ANSWERS`] datagrams; while it is full, answers wait in their sockets.
    sender: mpsc::Sender<(u64, Bytes)>,
    answers: mpsc::Receiver<(u64, Bytes)>,
}

impl Sockets {
    fn new(server: SocketAddr) -> Self {
        let (sender, answers) = mpsc::channel(ANSWERS);
        Self { server, open: HashMap::new(), tasks: JoinSet::new(), sender, answers }
    }

    async fn of(&mut self, session: u64) -> io::Result<Arc<UdpSocket>> {
        // Removes closed sessions.
        while self.tasks.try_join_next().is_some() {}
        if let Some((socket, _)) = self.open.get(&session) {
            return Ok(Arc::clone(socket));
        }
        let socket = Arc::new(connected(self.server).await?);
        let task = self.tasks.spawn(read(session, Arc::clone(&socket), self.sender.clone()));
        self.open.insert(session, (Arc::clone(&socket), task));
        Ok(socket)
    }

    fn close(&mut self, session: u64) {
        if let Some((_, task)) = self.open.remove(&session) {
            task.abort();
        }
    }
}

async fn read(session: u64, socket: Arc<UdpSocket>, answers: mpsc::Sender<(u64, Bytes)>) {
    let mut buffer = vec![0; DATAGRAM];
    loop {
        match socket.recv(&mut buffer).await {
            Ok(count) => {
                let datagram = Bytes::copy_from_slice(&buffer[..count]);
                if answers.send((session, datagram)).await.is_err() {
                    return;
                }
            }
            // The server may be down; it may come back.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Maximum number of concurrent clients: each has a socket and a buffer of 64 KiB.
const CLIENTS: usize = 256;

/// Idle time after which a session ends. A token is valid for about 30 s, so a client that is silent for
/// longer needs a new one anyway.
const IDLE: Duration = Duration::from_secs(60);

/// Maximum number of answers waiting to be relayed.
const ANSWERS: usize = 64;

/// Pause after an error, so that a lasting cause does not keep a core busy.
const PAUSE: Duration = Duration::from_millis(50);
