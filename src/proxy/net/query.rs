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
use tokio::time::{Instant, sleep_until};

use super::ask::{DATAGRAM, connected};
use super::route::canonical;
use crate::proxy::{Clock, LogHandle, PipelineFactory, SessionNumbers, Stop};
use mitmcraft_engine::query::{Relay, RelayOptions, RelayOutput};

/// Options of a [`QueryProxy`]. Start with [`new`](Self::new).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct QueryProxyOptions {
    /// Address for clients; port 0 picks a free port.
    pub listen: SocketAddr,
    /// The addresses of the server, at least one. The next one is tried after an error, or a second of silence.
    pub servers: Vec<SocketAddr>,
    /// The server as the user named it.
    pub upstream: String,
    /// Makes the filters of each client.
    pub pipeline: watch::Receiver<PipelineFactory>,
}

impl QueryProxyOptions {
    /// Creates options without filters.
    #[must_use]
    pub fn new(listen: SocketAddr, servers: Vec<SocketAddr>, upstream: String) -> Self {
        Self { listen, servers, upstream, pipeline: PipelineFactory::default().fixed() }
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
    /// If the address cannot be bound, or the server has no address.
    pub async fn bind(options: QueryProxyOptions) -> io::Result<Self> {
        if options.servers.is_empty() {
            return Err(io::Error::other("the server has no address"));
        }
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
            server: self.options.servers[0],
            upstream: self.options.upstream.clone(),
            clients: CLIENTS,
            idle: IDLE,
        });
        let mut sockets = Sockets::new(self.options.servers.clone());
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let timeout = relay.poll_timeout().map(|at| sleep_until(clock.instant(at).into()));
            let silence = sockets.silence();
            let stopped = tokio::select! {
                received = self.socket.recv_from(&mut buffer) => {
                    match received {
                        Ok((count, from)) => {
                            let datagram = Bytes::copy_from_slice(&buffer[..count]);
                            let open = || (numbers.next(), self.options.pipeline.borrow().make());
                            relay.handle_client(clock.now(), canonical(from), datagram, open);
                        }
                        // An error of one client must not affect other clients.
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                    false
                }
                Some(Received { session, server, datagram }) = sockets.answers.recv() => {
                    match datagram {
                        Ok(datagram) => {
                            sockets.hear(server);
                            relay.handle_server(clock.now(), session, datagram);
                        }
                        // Several sessions may have the error of an address that was left.
                        Err(_) if server == sockets.current => sockets.turn_to_next().await,
                        Err(_) => {}
                    }
                    false
                }
                Some(()) = OptionFuture::from(silence) => {
                    sockets.turn_to_next().await;
                    false
                }
                Some(()) = OptionFuture::from(timeout) => {
                    relay.handle_timeout(clock.now());
                    false
                }
                () = &mut stopping => true,
            };
            relay.set_server(sockets.servers[sockets.current]);
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
                sockets.untried = sockets.servers.len() - 1;
                if sockets.send(session, datagram).await.is_err() {
                    sockets.turn_to_next().await;
                }
            }
            RelayOutput::ToClient(client, datagram) => {
                let client = match (self.options.listen, client) {
                    (SocketAddr::V6(_), SocketAddr::V4(it)) => {
                        (it.ip().to_ipv6_mapped(), it.port()).into()
                    }
                    _ => client,
                };
                let _ = self.socket.send_to(&datagram, client).await;
            }
            RelayOutput::Close(session) => sockets.close(session),
        }
    }
}

/// The sockets to the server, one per session, each with a task that reads it.
struct Sockets {
    servers: Vec<SocketAddr>,
    /// The place of the address to which datagrams go.
    current: usize,
    /// How many addresses are left for the newest datagram of a client.
    untried: usize,
    /// `true` once the server has answered: its address is known.
    is_heard: bool,
    /// When to turn to the next address, unless the server answers.
    silent_until: Option<Instant>,
    open: HashMap<u64, Open>,
    tasks: JoinSet<()>,
    /// Holds [`ANSWERS`] datagrams; while it is full, answers wait in their sockets.
    sender: mpsc::Sender<Received>,
    answers: mpsc::Receiver<Received>,
}

/// A datagram that came for a session, or an error of its socket.
struct Received {
    session: u64,
    /// The place of the address that the socket is connected to.
    server: usize,
    datagram: io::Result<Bytes>,
}

struct Open {
    /// `None` if there is none to the current address.
    socket: Option<(Arc<UdpSocket>, tokio::task::AbortHandle)>,
    /// What the session sent last, for the next address.
    last: Bytes,
}

impl Open {
    fn close(&mut self) {
        if let Some((_, task)) = self.socket.take() {
            task.abort();
        }
    }
}

impl Sockets {
    fn new(servers: Vec<SocketAddr>) -> Self {
        let (sender, answers) = mpsc::channel(ANSWERS);
        Self {
            servers,
            current: 0,
            untried: 0,
            is_heard: false,
            silent_until: None,
            open: HashMap::new(),
            tasks: JoinSet::new(),
            sender,
            answers,
        }
    }

    async fn send(&mut self, session: u64, datagram: Bytes) -> io::Result<()> {
        // Removes closed sessions.
        while self.tasks.try_join_next().is_some() {}
        if !self.is_heard && self.untried > 0 {
            // Not from each datagram on: clients that ask often would wait for ever.
            self.silent_until.get_or_insert_with(|| Instant::now() + SILENCE);
        }
        let open = self.open.entry(session).or_insert(Open { socket: None, last: Bytes::new() });
        open.last = datagram.clone();
        let socket = match &open.socket {
            Some((socket, _)) => Arc::clone(socket),
            None => {
                let socket = Arc::new(connected(self.servers[self.current]).await?);
                let (sender, server) = (self.sender.clone(), self.current);
                let task = read(session, server, Arc::clone(&socket), sender);
                open.socket = Some((Arc::clone(&socket), self.tasks.spawn(task)));
                socket
            }
        };
        socket.send(&datagram).await.map(|_| ())
    }

    /// Notes that the server has answered from an address, to which all goes from then on.
    fn hear(&mut self, server: usize) {
        if !self.is_heard {
            if self.current != server {
                self.open.values_mut().for_each(Open::close);
            }
            (self.is_heard, self.current) = (true, server);
        }
    }

    /// Waits until the server has been silent for too long; `None` if there is nothing to wait for.
    fn silence(&self) -> Option<impl Future<Output = ()> + use<>> {
        let until = self.silent_until.filter(|_| !self.is_heard && self.untried > 0)?;
        Some(sleep_until(until))
    }

    /// Sends the last datagram of each session to the next address, as long as one is left and none has answered.
    async fn turn_to_next(&mut self) {
        while !self.is_heard && self.untried > 0 {
            self.untried -= 1;
            self.silent_until = None;
            self.current = (self.current + 1) % self.servers.len();
            let mut failed = false;
            let sessions: Vec<u64> = self.open.keys().copied().collect();
            for session in sessions {
                let Some(open) = self.open.get_mut(&session) else { continue };
                open.close();
                let last = open.last.clone();
                failed |= self.send(session, last).await.is_err();
            }
            if !failed {
                return;
            }
        }
    }

    fn close(&mut self, session: u64) {
        if let Some(mut open) = self.open.remove(&session) {
            open.close();
        }
    }
}

async fn read(
    session: u64,
    server: usize,
    socket: Arc<UdpSocket>,
    answers: mpsc::Sender<Received>,
) {
    let mut buffer = vec![0; DATAGRAM];
    loop {
        let came = socket.recv(&mut buffer).await;
        let is_error = came.is_err();
        let datagram = came.map(|count| Bytes::copy_from_slice(&buffer[..count]));
        if answers.send(Received { session, server, datagram }).await.is_err() {
            return;
        }
        if is_error {
            // The server may be down; it may come back.
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// How long a server may be silent before the next of its addresses is tried.
pub(super) const SILENCE: Duration = Duration::from_secs(1);

/// Maximum number of concurrent clients: each has a socket and a buffer of 64 KiB.
const CLIENTS: usize = 256;

/// Idle time after which a session ends. A token is valid for about 30 s, so a client that is silent for
/// longer needs a new one anyway.
const IDLE: Duration = Duration::from_secs(60);

/// Maximum number of answers waiting to be relayed.
const ANSWERS: usize = 64;

/// Pause after an error, so that a lasting cause does not keep a core busy.
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::{LogOptions, LogWriter};

    /// Answers each datagram with one that has a byte more.
    async fn server() -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        tokio::spawn(async move {
            let mut buffer = [0; 100];
            while let Ok((count, from)) = socket.recv_from(&mut buffer).await {
                socket.send_to(&buffer[..=count], from).await.unwrap();
            }
        });
        address
    }

    async fn answers_through(servers: Vec<SocketAddr>) {
        let listen = "127.0.0.1:0".parse().unwrap();
        let options = QueryProxyOptions::new(listen, servers, "server".to_owned());
        let proxy = QueryProxy::bind(options).await.unwrap();
        let address = proxy.local_addr().unwrap();
        let stop = Stop::new();
        let running = stop.clone();
        let (log, _writer) = LogWriter::start(Vec::new(), LogOptions::default()).unwrap();
        let run = async move {
            proxy.run(log, Clock::new(), SessionNumbers::default(), &running).await;
        };
        let run = tokio::spawn(run);
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut buffer = [0; 100];
        for _ in 0..3 {
            let handshake = [0xfe, 0xfd, 9, 0, 0, 0, 1];
            client.send_to(&handshake, address).await.unwrap();
            assert_eq!(client.recv(&mut buffer).await.unwrap(), 8);
        }
        stop.stop("the test ends");
        run.await.unwrap();
    }

    #[tokio::test]
    async fn the_next_address_is_tried_after_an_error() {
        let closed = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        answers_through(vec![closed, server().await]).await;
    }

    #[tokio::test]
    async fn the_next_address_is_tried_if_there_is_no_way_to_the_first() {
        // Broadcasts need permission: connecting fails at once.
        answers_through(vec!["255.255.255.255:9".parse().unwrap(), server().await]).await;
    }

    #[tokio::test]
    async fn the_silence_of_an_address_is_no_shorter_for_those_who_ask_often() {
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut sockets = Sockets::new(vec![silent.local_addr().unwrap(), server().await]);
        tokio::time::pause();
        for session in 0..3 {
            sockets.untried = 1;
            sockets.send(session, Bytes::from_static(b"ask")).await.unwrap();
            tokio::time::sleep(SILENCE * 2 / 3).await;
        }
        assert!(sockets.silent_until.is_some_and(|until| until < Instant::now()));
        sockets.turn_to_next().await;
        // An answer that comes late from the address before it.
        sockets.hear(0);
        assert_eq!((sockets.current, sockets.is_heard), (0, true));
    }

    #[tokio::test]
    async fn the_next_address_is_tried_after_a_second_of_silence() {
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let servers = vec![silent.local_addr().unwrap(), server().await];
        tokio::time::pause();
        answers_through(servers).await;
    }
}
