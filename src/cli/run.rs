use std::io::ErrorKind;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::task::Poll;

use anyhow::{Context as _, anyhow};
use mitmcraft::filter::RuleSet;
use mitmcraft::proxy::{
    AuthEndpoint, LanAnnouncer, Listener, LogFault, LogHandle, LogOptions, LogWriter,
    MetricsServer, NamedSink, Notices, Proxy, ProxyOptions, QueryProxy, QueryProxyOptions, Stop,
    Totals,
};
use mitmcraft::web::WebServer;
use tokio::sync::watch;

use super::exit::chain;
use super::notice::entries;
use super::output::Output;
use super::signals;
use super::terminal_interface::TerminalInterface;

/// A run of the proxy whose addresses are bound and whose captures are created.
pub(crate) struct Run {
    pub(crate) bound: Bound,
    pub(crate) options: ProxyOptions,
    pub(crate) log: LogOptions,
    pub(crate) sinks: Vec<NamedSink>,
    /// The rules whose counts the metrics show.
    pub(crate) rules: watch::Receiver<Vec<RuleSet>>,
    /// The interface in the terminal, if there is to be one.
    pub(crate) terminal: Option<TerminalInterface>,
}

/// The addresses of a run, all bound before the run creates any file.
pub(crate) struct Bound {
    proxy: Listener,
    query: Option<QueryProxy>,
    metrics: Option<Listener>,
    lan: Option<LanAnnouncer>,
    auth: Option<AuthEndpoint>,
    web: Option<WebServer>,
}

impl Bound {
    /// Binds the address of the proxy.
    pub(crate) async fn new(listen: SocketAddr, max_sessions: usize) -> anyhow::Result<Self> {
        let proxy = bind(listen, max_sessions, "-l").await?;
        Ok(Self { proxy, query: None, metrics: None, lan: None, auth: None, web: None })
    }

    /// Binds the address at which Query is relayed.
    pub(crate) async fn query(self, options: QueryProxyOptions) -> anyhow::Result<Self> {
        let listen = options.listen;
        let query = QueryProxy::bind(options).await;
        let query = query.map_err(|error| cannot_listen(listen, "--query", &error))?;
        Ok(Self { query: Some(query), ..self })
    }

    /// Binds the address of the metrics.
    pub(crate) async fn metrics(self, listen: SocketAddr) -> anyhow::Result<Self> {
        let metrics = bind(listen, usize::MAX, "--metrics").await?;
        Ok(Self { metrics: Some(metrics), ..self })
    }

    /// Serves the web services of games, too.
    pub(crate) fn auth_endpoint(self, endpoint: AuthEndpoint) -> Self {
        Self { auth: Some(endpoint), ..self }
    }

    /// Serves the interface in a browser, too.
    pub(crate) fn web(self, web: Option<WebServer>) -> Self {
        Self { web, ..self }
    }

    /// Prepares to announce the proxy in the game's list.
    pub(crate) fn lan(self) -> anyhow::Result<Self> {
        let listen = self.proxy.local_addr().context("cannot listen")?;
        let lan = LanAnnouncer::new(listen, "mitmcraft").with_context(|| {
            format!("`--lan` needs an IPv4 address, and the proxy listens on {listen}: the game looks for servers over IPv4 only (see `-l`)")
        })?;
        Ok(Self { lan: Some(lan), ..self })
    }
}

/// Binds the address that `option` sets.
pub(crate) async fn bind(
    address: SocketAddr,
    max_clients: usize,
    option: &str,
) -> anyhow::Result<Listener> {
    let bound = Listener::bind(address, max_clients).await;
    bound.map_err(|error| cannot_listen(address, option, &error))
}

/// A proxy that is ready to serve, with its log.
pub(crate) struct Running {
    proxy: Proxy,
    log: LogHandle,
    writer: LogWriter,
    pub(crate) address: SocketAddr,
    /// Description of where clients are connected to.
    towards: String,
    metrics: Option<(SocketAddr, MetricsServer)>,
    lan: Option<(LanAnnouncer, Notices)>,
    auth: Option<(AuthEndpoint, Notices)>,
    web: Option<WebServer>,
    query: Option<QueryProxy>,
    /// Address at which Query is relayed.
    pub(crate) query_address: Option<SocketAddr>,
    pub(crate) stop: Stop,
    terminal: Option<TerminalInterface>,
}

impl Run {
    /// Starts the log.
    pub(crate) fn start(self) -> anyhow::Result<Running> {
        let Self { bound, options, log, sinks, rules, terminal } = self;
        let Bound { proxy, query, metrics, lan, auth, web } = bound;
        let lan = lan.map(|lan| (lan, options.notices.clone()));
        let auth = auth.map(|endpoint| (endpoint, options.notices.clone()));
        let (log, writer) = LogWriter::start(sinks, log).context("cannot start the log")?;
        let address = proxy.local_addr().context("cannot listen")?;
        let query_address = query.as_ref().map(QueryProxy::local_addr).transpose()?;
        let metrics = match metrics {
            Some(listener) => {
                Some((listener.local_addr()?, MetricsServer::new(listener, rules, &log)))
            }
            None => None,
        };
        let towards = match (options.transparent, &options.upstream) {
            (false, Some(upstream)) => upstream.to_string(),
            (true, Some(upstream)) => {
                format!("the original destination of each client, or {upstream}")
            }
            (_, None) => "the original destination of each client".to_owned(),
        };
        let proxy = Proxy::new(proxy, options, log.clone());
        let stop = Stop::new();
        Ok(Running {
            proxy,
            log,
            writer,
            address,
            towards,
            metrics,
            lan,
            auth,
            web,
            query,
            query_address,
            stop,
            terminal,
        })
    }
}

impl Running {
    /// Serves until stopped by the user, a fault of the log, `failed`, or `self.stop`; then completes
    /// the log.
    pub(crate) async fn serve(
        self,
        failed: impl Future<Output = anyhow::Error>,
        output: &Output,
    ) -> anyhow::Result<Totals> {
        let stop = self.stop;
        stop_on_signals(&stop, output);
        output.note(&format!("listening on {}, forwarding to {}", self.address, self.towards));
        if let (Some(query), Some(address)) = (&self.query, self.query_address) {
            output.note(&format!("relaying Query on {address} to {}", query.upstream()));
        }
        if let Some((address, _)) = &self.metrics {
            output.note(&format!("metrics on http://{address}/metrics"));
        }
        if let Some(web) = &self.web {
            output.note(&format!("open {} in a browser", web.url()));
        }
        if self.lan.is_some() {
            output.note("announced to the local network: see Multiplayer in the game");
        }
        let (clock, numbers) = (self.proxy.clock(), self.proxy.numbers());
        let log = self.log.clone();
        let measuring = async {
            if let Some((_, server)) = self.metrics {
                server.run(&stop).await;
            }
        };
        let relaying = async {
            if let Some(relay) = self.query {
                relay.run(log, clock, numbers, &stop).await;
            }
        };
        let announcing = async {
            if let Some((lan, notices)) = self.lan {
                lan.run(&notices, &stop).await;
            }
        };
        let lending = async {
            if let Some((endpoint, notices)) = self.auth {
                endpoint.run(&stop, &notices).await;
            }
        };
        let showing = async {
            if let Some(web) = self.web {
                web.run(&stop).await;
            }
        };
        let drawing = async {
            if let Some(terminal) = self.terminal {
                terminal.run(&stop, output).await;
            }
        };
        let proxying = self.proxy.run(&stop);
        let running = async {
            tokio::join!(proxying, relaying, measuring, announcing, lending, showing, drawing).0
        };
        let running = async {
            tokio::pin!(running);
            tokio::select! {
                totals = &mut running => Ok(totals),
                error = failed => {
                    stop.stop(chain(&error));
                    running.await;
                    Err(error)
                }
            }
        };
        logged(running, &stop, self.log, self.writer, output).await?
    }
}

/// Runs `running` to its end, which a fault of the log brings about through `stop`; then completes the
/// log. A panic is an error once the log is complete.
pub(crate) async fn logged<T>(
    running: impl Future<Output = T>,
    stop: &Stop,
    mut log: LogHandle,
    writer: LogWriter,
    output: &Output,
) -> anyhow::Result<T> {
    let (view, stopping) = (log.view(), stop.clone());
    tokio::spawn(async move {
        stopping.stopped().await;
        view.release();
    });
    let totals = {
        let running = caught(running);
        tokio::pin!(running);
        tokio::select! {
            totals = &mut running => totals,
            fault = log.fault() => {
                stop.stop(fault);
                running.await
            }
        }
    };
    let left_out = log.left_out();
    drop(log);
    let faults = tokio::task::spawn_blocking(|| writer.finish()).await?;
    if left_out > 0 {
        let missing = entries(left_out);
        output.warning(&format!("{missing} missing from screen and captures: they were too slow"));
    }
    match faults.first() {
        Some(fault) => Err(log_error(fault)),
        None => totals.ok_or_else(|| anyhow!("the run has ended because of the panic above")),
    }
}

/// Returns the result of a future, or `None` if it panics, which says so on stderr.
async fn caught<T>(running: impl Future<Output = T>) -> Option<T> {
    let mut running = std::pin::pin!(running);
    std::future::poll_fn(|context| {
        // Nothing uses the future after a panic.
        let polled = AssertUnwindSafe(|| running.as_mut().poll(context));
        match std::panic::catch_unwind(polled) {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

/// Stops the run at the first signal to end from now on, and exits at the second. Call it before the run
/// says that it has begun: until then a signal ends the program without completing anything.
pub(crate) fn stop_on_signals(stop: &Stop, output: &Output) {
    tokio::spawn(on_signals(signals::end(), stop.clone(), *output));
}

async fn on_signals(first: impl Future<Output = ()>, stop: Stop, output: Output) {
    first.await;
    output.note("stopping: closing sessions and completing captures (Ctrl-C again ends at once)");
    stop.stop("stopped by the user");
    signals::end_at_once().await;
    std::process::exit(130);
}

fn log_error(fault: &LogFault) -> anyhow::Error {
    if fault.is_broken_pipe() {
        return std::io::Error::from(ErrorKind::BrokenPipe).into();
    }
    anyhow!(
        "{fault}: it is complete up to there; free space or choose another file with `-w`, then \
         start again"
    )
}

/// Returns why an address cannot be bound, with a hint that names `option`.
fn cannot_listen(address: SocketAddr, option: &str, error: &std::io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => match free_port(address, option) {
            Some(port) => {
                format!("; port {port} is free: `{option} {}`", SocketAddr::new(address.ip(), port))
            }
            None => format!("; choose another with `{option}`"),
        },
        ErrorKind::PermissionDenied => "; ports below 1024 need privileges".to_owned(),
        _ => format!("; choose another with `{option}`"),
    };
    anyhow!("cannot listen on {address}: {error}{hint}")
}

/// Returns a free port above the busy one.
fn free_port(address: SocketAddr, option: &str) -> Option<u16> {
    let is_free = |port: &u16| match option {
        "--query" => std::net::UdpSocket::bind((address.ip(), *port)).is_ok(),
        _ => std::net::TcpListener::bind((address.ip(), *port)).is_ok(),
    };
    (1..50).filter_map(|step| address.port().checked_add(step)).find(is_free)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use mitmcraft::capture::{Entry, Sink};

    use super::*;
    use crate::cli::output::{Color, LogFormat};

    /// A sink that notes whether it was completed.
    struct Noting(Arc<Mutex<bool>>);

    impl Sink for Noting {
        fn write(&mut self, _: &Entry) -> std::io::Result<()> {
            Ok(())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }

        fn finish(&mut self) -> std::io::Result<()> {
            *self.0.lock().unwrap() = true;
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_run_that_panics_is_an_error_and_its_log_is_completed() {
        let completed = Arc::new(Mutex::new(false));
        let sink: NamedSink = ("a".to_owned(), Box::new(Noting(Arc::clone(&completed))));
        let (log, writer) = LogWriter::start(vec![sink], LogOptions::default()).unwrap();
        let running = async { panic!("a fault of the program") };
        let output = Output::new(Color::Never, LogFormat::Text);
        let ended: anyhow::Result<()> = logged(running, &Stop::new(), log, writer, &output).await;
        assert!(ended.unwrap_err().to_string().contains("panic"));
        assert!(*completed.lock().unwrap());
    }
}
