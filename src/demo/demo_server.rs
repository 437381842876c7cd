use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use rsa::rand_core::OsRng;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use tokio::sync::watch;
use tokio::task::{self, JoinHandle, JoinSet};
use tokio::time;

use super::alpha_server::AlphaServer;
use super::door::{self, Door};
use super::peer::{self, Input, Peer};
use super::server::{House, ServerCore, ServerKey};
use super::world::World;
use super::{DemoError, DemoOptions, DemoVisit, query};

/// A Minecraft 1.8 server that shows a small world to whoever comes, until it is dropped.
///
/// Any 1.8 client can play on it, and one of Alpha 1.2.3 (protocol 5). It verifies nobody. It answers
/// every Server List Ping, and Query at the UDP port of the same number.
#[derive(Debug)]
pub struct DemoServer {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    listening: JoinHandle<Vec<DemoVisit>>,
    answering: JoinHandle<io::Result<()>>,
}

impl DemoServer {
    /// Listens, on a task of its own, with one more for each connection; at most
    /// 64 at once, the next one waits.
    ///
    /// # Errors
    /// When the address cannot be listened on, or there are no random numbers for a key.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time and I/O.
    pub async fn bind(address: impl ToSocketAddrs, options: DemoOptions) -> io::Result<Self> {
        let (listener, datagrams) = bind_both(address).await?;
        let address = listener.local_addr()?;
        let mut random = entropy(&options)?;
        let key = match options.encrypt {
            true => Some(new_key(&mut random).await?),
            false => None,
        };
        let world = World::new(options.seed);
        let house = Arc::new(House { options: Arc::new(options), world, key });
        let (stop, stopped) = watch::channel(false);
        let answering = tokio::spawn(query::answer(datagrams, random.next_u64()));
        let listening = tokio::spawn(listen(listener, house, random, stopped));
        Ok(Self { address, stop, listening, answering })
    }

    /// Kicks all players and stops listening. Gives what the server saw of each connection, in
    /// the order in which they were accepted; nothing unless [`DemoOptions::record`].
    pub async fn stop(mut self) -> Vec<DemoVisit> {
        self.stop.send_replace(true);
        (&mut self.listening).await.unwrap_or_default()
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        self.listening.abort();
        self.answering.abort();
    }
}

/// The TCP port, and the UDP port of the same number.
async fn bind_both(address: impl ToSocketAddrs) -> io::Result<(TcpListener, UdpSocket)> {
    let mut tries = TRIES;
    loop {
        let listener = TcpListener::bind(&address).await?;
        match UdpSocket::bind(listener.local_addr()?).await {
            Ok(socket) => return Ok((listener, socket)),
            // A port that was picked at random may be taken for datagrams.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => tries -= 1,
            Err(error) => return Err(error),
        }
    }
}

/// A generator of secrets, from the operating system unless a test wants it repeatable.
pub(super) fn entropy(options: &DemoOptions) -> io::Result<ChaCha20Rng> {
    match options.key_seed {
        Some(seed) => Ok(ChaCha20Rng::seed_from_u64(seed)),
        None => ChaCha20Rng::from_rng(OsRng).map_err(io::Error::other),
    }
}

async fn new_key(random: &mut ChaCha20Rng) -> io::Result<ServerKey> {
    let mut random = ChaCha20Rng::from_rng(random).map_err(io::Error::other)?;
    let key = task::spawn_blocking(move || ServerKey::generate(&mut random)).await?;
    key.ok_or_else(|| io::Error::other("no RSA key could be made"))
}

async fn listen(
    listener: TcpListener,
    house: Arc<House>,
    mut random: ChaCha20Rng,
    mut stop: watch::Receiver<bool>,
) -> Vec<DemoVisit> {
    let mut visits = Vec::new();
    let mut tasks = JoinSet::new();
    let mut connection = 0;
    while !*stop.borrow_and_update() {
        tokio::select! {
            accepted = listener.accept(), if tasks.len() < MAX_CONNECTIONS => {
                let Ok((socket, client)) = accepted else {
                    // Most likely too many files are open.
                    time::sleep(RETRY).await;
                    continue;
                };
                let mut seed = [0; 32];
                random.fill_bytes(&mut seed);
                let visitor = Visitor { socket, client, connection, seed };
                tasks.spawn(serve(Arc::clone(&house), visitor, stop.clone()));
                connection += 1;
            }
            Some(Ok(visit)) = tasks.join_next() => visits.extend(visit),
            Ok(()) = stop.changed() => {}
        }
    }
    while let Some(visit) = tasks.join_next().await {
        visits.extend(visit.ok().flatten());
    }
    visits.sort_by_key(|visit| visit.connection);
    visits
}

/// Somebody who has just come.
struct Visitor {
    socket: TcpStream,
    client: SocketAddr,
    connection: usize,
    seed: [u8; 32],
}

async fn serve(
    house: Arc<House>,
    mut visitor: Visitor,
    mut stop: watch::Receiver<bool>,
) -> Option<DemoVisit> {
    let door = tokio::select! {
        door = door::open(&mut visitor.socket, house.options.timeout) => door?,
        _ = stop.changed() => return None,
    };
    match door {
        Door::Java(first) => {
            let core = ServerCore::new(house, visitor.seed);
            attend(core, &first, visitor, stop).await
        }
        Door::Alpha(first) => {
            let core = AlphaServer::new(Arc::clone(&house.options));
            attend(core, &first, visitor, stop).await
        }
    }
}

async fn attend(
    mut core: impl Peer,
    first: &[u8],
    visitor: Visitor,
    mut stop: watch::Receiver<bool>,
) -> Option<DemoVisit> {
    let Visitor { mut socket, client, connection, .. } = visitor;
    core.handle(Duration::ZERO, Input::Received(first));
    let stopped = tokio::select! {
        () = peer::run(&mut core, &mut socket) => false,
        _ = stop.changed() => true,
    };
    if stopped {
        core.on_error(DemoError::Stopped);
    }
    peer::close(&mut core, socket).await;
    let player = core.player().map(str::to_owned);
    let packets = core.end_mut().take_packets(connection);
    (!packets.is_empty()).then_some(DemoVisit { connection, client, player, packets })
}

/// As many tasks as one demo has use for.
const MAX_CONNECTIONS: usize = 64;

/// Ports that are tried when the system picks them.
const TRIES: u32 = 16;

/// Between two attempts to accept a connection.
const RETRY: Duration = Duration::from_millis(100);
