use std::any::Any;
use std::io;
use std::net::SocketAddr;

use tokio::sync::watch;

use super::driver::Driver;
use super::listener::Accepted;
use super::shared::Shared;
use crate::proxy::accounts::seed;
use crate::proxy::{
    Authority, Clock, ConnectError, Listener, LogHandle, Notices, PipelineFactory,
    ServerConnection, SessionNumbers, Stop,
};
use mitmcraft_engine::filter::Pipeline;
use mitmcraft_engine::link::{Engine, Opening, Upstream};

/// Runs engines that are one end of a single connection, such as a replay's. Cheap to clone: clones
/// number their sessions together.
#[derive(Debug, Clone)]
pub struct EngineRunner {
    clock: Clock,
    numbers: SessionNumbers,
    log: LogHandle,
    notices: Notices,
    /// Makes the filters of engines that have some; `None` if there are none.
    pipelines: Option<watch::Receiver<PipelineFactory>>,
    /// `None` if no engine needs the session service.
    authority: Option<Authority>,
}

impl EngineRunner {
    /// Creates a runner whose engines record in `log`.
    #[must_use]
    pub fn new(log: LogHandle) -> Self {
        let (numbers, notices) = (SessionNumbers::default(), Notices::default());
        Self { clock: Clock::new(), numbers, log, notices, pipelines: None, authority: None }
    }

    /// Tells `notices` of clients that are turned away, and what engines have to say.
    #[must_use]
    pub fn with_notices(self, notices: Notices) -> Self {
        Self { notices, ..self }
    }

    /// Asks the session service through `authority`.
    #[must_use]
    pub fn with_authority(self, authority: Option<Authority>) -> Self {
        Self { authority, ..self }
    }

    /// Gives engines new filters whenever `pipelines` has a new factory; `None` gives them none.
    #[must_use]
    pub fn with_pipelines(self, pipelines: Option<watch::Receiver<PipelineFactory>>) -> Self {
        Self { pipelines, ..self }
    }

    /// Makes the filters of a new engine; `None` if there are none.
    #[must_use]
    pub fn pipeline(&self) -> Option<Pipeline> {
        self.pipelines.as_ref().map(|pipelines| pipelines.borrow().make())
    }

    /// Runs the engine that `server` makes for each client of `listener`, until `stop`; then ends all
    /// sessions in order.
    pub async fn serve(
        &self,
        listener: Listener,
        stop: &Stop,
        mut server: impl FnMut(Opening) -> Box<dyn Engine> + Send,
    ) {
        let serve = |accepted: io::Result<Accepted>| {
            let Accepted { socket, address, refused } = accepted.ok()?;
            if let Some(reason) = &refused {
                self.notices.show_turned_away(reason);
            }
            let shared = self.shared(stop);
            let engine = server(self.opening(address, socket.local_addr().ok()?));
            let driver = Driver::new(engine, shared, nowhere(), Some(socket));
            let driver = match refused {
                Some(reason) => driver.refuse(reason),
                None => driver,
            };
            Some(async { drop(driver.run().await) })
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
        let client = |opening| -> Box<dyn Engine> { Box::new(client(opening)) };
        let engine: Box<dyn Any> = self.run_boxed(connection, stop, client).await;
        *engine.downcast().expect("the engine that `client` has made")
    }

    /// Runs the engine that `client` makes as [`run`](Self::run) does, and returns it boxed.
    pub(super) async fn run_boxed(
        &self,
        connection: ServerConnection,
        stop: &Stop,
        client: impl FnOnce(Opening) -> Box<dyn Engine>,
    ) -> Box<dyn Engine> {
        let ServerConnection { socket, local, peer } = connection;
        let shared = self.shared(stop);
        let engine = client(self.opening(local, peer));
        Driver::new(engine, shared, nowhere(), None).connected(socket).run().await.session
    }

    /// Returns the state of a driver whose engine is made after this.
    fn shared(&self, stop: &Stop) -> Shared {
        let mut shared = Shared::plain(self.clock, self.log.clone(), stop);
        shared.notices = self.notices.clone();
        shared.authority = self.authority.clone();
        if let Some(pipelines) = &self.pipelines {
            shared.pipelines = pipelines.clone();
            shared.pipelines.mark_unchanged();
        }
        shared
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
