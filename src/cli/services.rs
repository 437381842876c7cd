use std::net::SocketAddr;
use std::pin::Pin;

use anyhow::{Context as _, anyhow};
use mitmcraft::proxy::caught;
use mitmcraft::proxy::{
    AuthEndpoint, Clock, LanAnnouncer, LogHandle, MetricsServer, Notices, QueryProxy,
    QueryProxyOptions, SessionNumbers, Stop, Watch,
};
use mitmcraft::web::WebServer;
use mitmcraft_engine::filter::RuleSet;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::exit::chain;
use super::listen::{bind, cannot_listen};
use super::output::Output;
use super::terminal_interface::TerminalInterface;

/// What runs beside the proxy until the run stops: addresses are bound, and nothing is served yet.
#[derive(Default)]
pub(crate) struct Services(Vec<Service>);

/// One of them.
struct Service {
    name: &'static str,
    /// The announcement printed when the run begins.
    announcement: Option<String>,
    start: Box<dyn FnOnce(Shared) -> Task>,
}

/// What services share with the proxy.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) log: LogHandle,
    pub(crate) clock: Clock,
    pub(crate) numbers: SessionNumbers,
    pub(crate) notices: Notices,
    pub(crate) stop: Stop,
}

/// A service that has been started. It ends when the run is stopped, or with the reason to stop the run.
type Task = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send>>;

impl Services {
    /// Binds the address at which Query is relayed, and returns it.
    pub(crate) async fn query(&mut self, options: QueryProxyOptions) -> anyhow::Result<SocketAddr> {
        let listen = options.listen;
        let relay = QueryProxy::bind(options).await;
        let relay = relay.map_err(|error| cannot_listen(listen, "--query", &error))?;
        let address = relay.local_addr()?;
        let announcement = format!("relaying Query on {address} to {}", relay.upstream());
        self.add("the relay of Query", Some(announcement), |run| async move {
            relay.run(run.log, run.clock, run.numbers, &run.stop).await;
            Ok(())
        });
        Ok(address)
    }

    /// Binds the address of the metrics, which contain the counts of `rules`.
    pub(crate) async fn metrics(
        &mut self,
        listen: SocketAddr,
        rules: watch::Receiver<Vec<RuleSet>>,
    ) -> anyhow::Result<()> {
        let listener = bind(listen, usize::MAX, "--metrics").await?;
        let announcement = format!("metrics on http://{}/metrics", listener.local_addr()?);
        self.add("the metrics", Some(announcement), |run| async move {
            MetricsServer::new(listener, rules, &run.log).run(&run.stop).await;
            Ok(())
        });
        Ok(())
    }

    /// Serves the interface in a browser.
    pub(crate) fn web(&mut self, server: WebServer) {
        let announcement = format!("open {} in a browser", server.url());
        self.serve("the page", announcement, server);
    }

    /// Serves the interface for programs.
    pub(crate) fn control(&mut self, server: WebServer) {
        let announcement = format!("programs control the run at {}", server.url());
        self.serve("the interface for programs", announcement, server);
    }

    fn serve(&mut self, name: &'static str, announcement: String, server: WebServer) {
        self.add(name, Some(announcement), |run| async move {
            server.run(&run.stop).await;
            Ok(())
        });
    }

    /// Announces the proxy, which listens on `listen`, in the game's list.
    pub(crate) fn lan(&mut self, listen: SocketAddr) -> anyhow::Result<()> {
        let lan = LanAnnouncer::new(listen, "mitmcraft").with_context(|| {
            format!("`--lan` needs an IPv4 address, and the proxy listens on {listen}: the game looks for servers over IPv4 only (see `-l`)")
        })?;
        let announcement = "announced to the local network: see Multiplayer in the game".to_owned();
        self.add("the announcement", Some(announcement), |run| async move {
            lan.run(&run.notices, &run.stop).await;
            Ok(())
        });
        Ok(())
    }

    /// Keeps filter files watched: a run whose files are not reloaded any more ends.
    pub(crate) fn filter_files(&mut self, mut watch: Watch) {
        self.add("the filter files", None, |run| async move {
            tokio::select! {
                error = watch.failed() => {
                    Err(anyhow::Error::from(error).context("the filter files are not watched any more"))
                }
                () = run.stop.stopped() => Ok(()),
            }
        });
    }

    /// Serves the web services of games.
    pub(crate) fn auth_endpoint(&mut self, endpoint: AuthEndpoint) {
        self.add("the web services of games", None, |run| async move {
            endpoint.run(&run.stop, &run.notices).await;
            Ok(())
        });
    }

    /// Shows the interface in the terminal.
    pub(crate) fn terminal(&mut self, interface: TerminalInterface, output: &Output) {
        let output = *output;
        self.add("the interface in the terminal", None, move |run| async move {
            interface.run(&run.stop, &output).await;
            Ok(())
        });
    }

    fn add<F>(
        &mut self,
        name: &'static str,
        announcement: Option<String>,
        start: impl FnOnce(Shared) -> F + 'static,
    ) where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let start = Box::new(|shared| -> Task { Box::pin(start(shared)) });
        self.0.push(Service { name, announcement, start });
    }

    /// Returns the announcements printed when the run begins.
    pub(super) fn announcements(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|service| service.announcement.as_deref())
    }

    /// Starts all services.
    pub(super) fn start(self, shared: &Shared) -> StartedServices {
        let start = |service: Service| (service.name, (service.start)(shared.clone()));
        StartedServices(self.0.into_iter().map(start).collect())
    }
}

/// Services that run once they are polled.
pub(super) struct StartedServices(Vec<(&'static str, Task)>);

impl StartedServices {
    /// Runs all services to their ends. One that fails or panics stops the run; that is an error.
    pub(super) async fn run(self, stop: &Stop) -> anyhow::Result<()> {
        let mut tasks = JoinSet::new();
        for (name, task) in self.0 {
            tasks.spawn(async move { (name, caught(task).await) });
        }
        let mut result = Ok(());
        // Tasks do not panic, and none is aborted.
        while let Some(Ok((name, ended))) = tasks.join_next().await {
            let panicked = || Err(anyhow!("{name} ended because of the panic above"));
            if let Err(error) = ended.unwrap_or_else(panicked)
                && result.is_ok()
            {
                stop.stop(chain(&error));
                result = Err(error);
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_service_that_panics_stops_the_run_and_the_error_names_it() {
        let stop = Stop::new();
        let stopping = stop.clone();
        let other = async move {
            stopping.stopped().await;
            Ok(())
        };
        let faulty = async { panic!("a fault of the program") };
        let services =
            StartedServices(vec![("the page", Box::pin(other)), ("the metrics", Box::pin(faulty))]);
        let error = services.run(&stop).await.unwrap_err().to_string();
        assert!(error.starts_with("the metrics ended"), "{error}");
        assert!(stop.is_stopped());
    }
}
