use std::io;
use std::net::SocketAddr;

use super::driver::Driver;
use super::listener::Accepted;
use super::shared::Shared;
use crate::proxy::accounts::seed;
use crate::proxy::{
    Clock, ConnectError, Listener, LogHandle, Notices, ServerConnection, SessionNumbers, Stop,
};
use mitmcraft_engine::link::{Engine, Opening, Upstream};

/// Runs engines that are one end of a single connection, such as a replay's. Cheap to clone: clones
/// number their sessions together.
#[derive(Debug, Clone)]
pub struct EngineRunner {
    clock: Clock,
    numbers: SessionNumbers,
    log: LogHandle,
    notices: Notices,
}

impl EngineRunner {
    /// Creates a runner whose engines record in `log`.
    #[must_use]
    pub fn new(log: LogHandle) -> Self {
        let (numbers, notices) = (SessionNumbers::default(), Notices::default());
        Self { clock: Clock::new(), numbers, log, notices }
    }

    /// Tells `notices` of clients that are turned away.
    #[must_use]
    pub fn with_notices(self, notices: Notices) -> Self {
        Self { notices, ..self }
    }

    /// Runs the engine that `server` makes for each client of `listener`, until `stop`; then ends all
    /// sessions in order.
    pub async fn serve<E: Engine + 'static>(
        &self,
        listener: Listener,
        stop: &Stop,
        mut server: impl FnMut(Opening) -> E,
    ) {
        let serve = |accepted: io::Result<Accepted>| {
            let Accepted { socket, address, refused } = accepted.ok()?;
            if let Some(reason) = &refused {
                self.notices.show_turned_away(reason);
            }
            let engine = server(self.opening(address, socket.local_addr().ok()?));
            let shared = Shared::plain(self.clock, self.log.clone(), stop);
            let driver = Driver::new(engine, shared, nowhere(), Some(socket));
            let driver = match refused {
                Some(reason) => driver.refuse(reason),
                None => driver,
            };
            Some(driver.run())
        };
        listener.run(stop, serve).await;
    }

    /// Connects to `upstream`, runs the engine that `client` makes until it is over, and returns it;
    /// `None` if stopped before there is a connection.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn connect<E: Engine>(
        &self,
        upstream: &Upstream,
        stop: &Stop,
        client: impl FnOnce(Opening) -> E,
    ) -> Result<Option<E>, ConnectError> {
        tokio::select! {
            connected = ServerConnection::open(upstream) => {
                Ok(Some(self.run(connected?, stop, client).await))
            }
            () = stop.stopped() => Ok(None),
        }
    }

    /// Runs the engine that `client` makes over `connection` until it is over, and returns it.
    pub async fn run<E: Engine>(
        &self,
        connection: ServerConnection,
        stop: &Stop,
        client: impl FnOnce(Opening) -> E,
    ) -> E {
        let ServerConnection { socket, local, peer } = connection;
        let mut engine = client(self.opening(local, peer));
        let shared = Shared::plain(self.clock, self.log.clone(), stop);
        Driver::new(&mut engine, shared, nowhere(), None).connected(socket).run().await;
        engine
    }

    fn opening(&self, client: SocketAddr, server: SocketAddr) -> Opening {
        let (session, at) = (self.numbers.next(), self.clock.now());
        Opening { session, at, client, server, seed: seed() }
    }
}

/// The route of an engine that makes no other connection.
fn nowhere() -> Upstream {
    Upstream { host: String::new(), port: 0 }
}
