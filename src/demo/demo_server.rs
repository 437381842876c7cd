use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use rsa::rand_core::OsRng;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::watch;
use tokio::task::{self, JoinHandle, JoinSet};
use tokio::time;

use super::peer::{self, Peer as _};
use super::server::{House, ServerCore, ServerKey};
use super::world::World;
use super::{DemoError, DemoOptions, DemoVisit};

/// A Minecraft 1.8 server that shows a small world to whoever comes, until it is dropped.
///
/// Any 1.8 client can play on it. It verifies nobody.
#[derive(Debug)]
pub struct DemoServer {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    listening: JoinHandle<Vec<DemoVisit>>,
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
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let mut random = entropy(&options)?;
        let key = match options.encrypt {
            true => Some(new_key(&mut random).await?),
            false => None,
        };
        let world = World::new(options.seed);
        let house = Arc::new(House { options: Arc::new(options), world, key });
        let (stop, stopped) = watch::channel(false);
        let listening = tokio::spawn(listen(listener, house, random, stopped));
        Ok(Self { address, stop, listening })
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
                let core = ServerCore::new(Arc::clone(&house), seed);
                tasks.spawn(serve(core, socket, client, connection, stop.clone()));
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

async fn serve(
    mut core: ServerCore,
    mut socket: TcpStream,
    client: SocketAddr,
    connection: usize,
    mut stop: watch::Receiver<bool>,
) -> Option<DemoVisit> {
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

/// Between two attempts to accept a connection.
const RETRY: Duration = Duration::from_millis(100);
