use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use mitmcraft::link::Upstream;
use mitmcraft::proxy::{
    Authority, KeyLog, LogFault, LogHandle, LogOptions, LogWriter, MetricsOptions, MetricsServer,
    NamedSink, Notices, PipelineFactory, PreambleVersion, Proxy, ProxyOptions, QueryProxy,
    QueryProxyOptions, Stop, Totals, UpstreamName,
};
use mitmcraft::session::Config;
use tokio::sync::watch;

use super::exit::Done;
use super::output::Output;

/// What a run of the proxy needs.
pub(crate) struct Run {
    pub(crate) listen: SocketAddr,
    /// None: where each redirected client was going.
    pub(crate) upstream: Option<UpstreamName>,
    pub(crate) transparent: bool,
    /// Whether clients begin with a PROXY header.
    pub(crate) expects_preamble: bool,
    /// The PROXY header that servers are sent.
    pub(crate) sends_preamble: Option<PreambleVersion>,
    /// None: no metrics are served.
    pub(crate) metrics: Option<MetricsOptions>,
    pub(crate) config: Config,
    pub(crate) max_sessions: usize,
    pub(crate) authority: Option<Authority>,
    pub(crate) key_log: Option<KeyLog>,
    pub(crate) notices: Notices,
    pub(crate) log: LogOptions,
    pub(crate) sinks: Vec<NamedSink>,
    /// The filters of each session.
    pub(crate) pipeline: watch::Receiver<PipelineFactory>,
    /// None: Query is not relayed.
    pub(crate) query: Option<QueryRun>,
}

/// What relaying Query needs.
pub(crate) struct QueryRun {
    pub(crate) listen: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) upstream: Upstream,
}

/// A proxy that listens, with its log.
pub(crate) struct Running {
    proxy: Proxy,
    log: LogHandle,
    writer: LogWriter,
    pub(crate) address: SocketAddr,
    /// Where clients go, in words.
    towards: String,
    metrics: Option<MetricsServer>,
    query: Option<(QueryProxy, String)>,
    /// Where Query is relayed.
    pub(crate) query_address: Option<SocketAddr>,
    pub(crate) stop: Stop,
}

impl Run {
    /// Listens and starts the log.
    pub(crate) async fn start(self) -> anyhow::Result<Running> {
        let (log, writer) =
            LogWriter::start(self.sinks, self.log).context("cannot start the log")?;
        let pipeline = self.pipeline;
        let options = ProxyOptions {
            listen: self.listen,
            upstream: self.upstream.clone(),
            transparent: self.transparent,
            expects_preamble: self.expects_preamble,
            sends_preamble: self.sends_preamble,
            config: Arc::new(self.config),
            max_sessions: self.max_sessions,
            authority: self.authority,
            key_log: self.key_log,
            notices: self.notices,
            pipeline: pipeline.clone(),
        };
        let proxy = match Proxy::bind(options, log.clone()).await {
            Ok(proxy) => proxy,
            Err(error) => return Err(cannot_listen(self.listen, "-l", &error)),
        };
        let address = proxy.local_addr().context("cannot listen")?;
        let query = match self.query {
            Some(query) => Some(query.start(&proxy, &log, pipeline).await?),
            None => None,
        };
        let metrics = match self.metrics {
            Some(options) => {
                let listen = options.listen;
                let bound = MetricsServer::bind(options, &log).await;
                Some(bound.map_err(|error| cannot_listen(listen, "--metrics", &error))?)
            }
            None => None,
        };
        let towards = match (self.transparent, &self.upstream) {
            (false, Some(upstream)) => upstream.to_string(),
            (true, Some(upstream)) => format!("where each client was going, else to {upstream}"),
            (_, None) => "where each client was going".to_owned(),
        };
        let stop = Stop::new();
        let query_address = query.as_ref().and_then(|(relay, _)| relay.local_addr().ok());
        Ok(Running { proxy, log, writer, address, towards, metrics, query, query_address, stop })
    }
}

impl QueryRun {
    /// Takes the address; the relay, and what the user is told of it.
    async fn start(
        self,
        proxy: &Proxy,
        log: &LogHandle,
        pipeline: watch::Receiver<PipelineFactory>,
    ) -> anyhow::Result<(QueryProxy, String)> {
        let upstream = self.upstream.to_string();
        let options = QueryProxyOptions {
            listen: self.listen,
            server: self.server,
            upstream: upstream.clone(),
            pipeline,
        };
        let bound = QueryProxy::bind(options, log.clone(), proxy.clock(), proxy.numbers()).await;
        let relay = bound.map_err(|error| cannot_listen(self.listen, "--query", &error))?;
        let address = relay.local_addr().context("cannot relay Query")?;
        Ok((relay, format!("relaying Query on {address} to {upstream}")))
    }
}

impl Running {
    /// Serves until stopped, by the user, a fault of the log, or `self.stop`; then writes all that
    /// is left.
    pub(crate) async fn serve(self, output: &Output) -> anyhow::Result<(Done, Totals)> {
        output.note(&format!("listening on {}, forwarding to {}", self.address, self.towards));
        let stop = self.stop;
        let query = self.query.map(|(relay, told)| {
            output.note(&told);
            relay
        });
        if let Some(address) = self.metrics.as_ref().and_then(|it| it.local_addr().ok()) {
            output.note(&format!("metrics on http://{address}/metrics"));
        }
        let metrics = self.metrics;
        let measuring = async {
            if let Some(server) = metrics {
                server.run(&stop).await;
            }
        };
        let relaying = async {
            if let Some(relay) = query {
                relay.run(&stop).await;
            }
        };
        let running = async { tokio::join!(self.proxy.run(&stop), relaying, measuring).0 };
        let totals = logged(running, &stop, self.log, self.writer, output).await?;
        Ok((Done::Yes, totals))
    }
}

/// Runs something to its end, which the user or a fault of the log can bring about by `stop`; then
/// writes all that is left.
pub(crate) async fn logged<T>(
    running: impl Future<Output = T>,
    stop: &Stop,
    mut log: LogHandle,
    writer: LogWriter,
    output: &Output,
) -> anyhow::Result<T> {
    tokio::spawn(on_interrupt(stop.clone(), *output));
    let totals = {
        tokio::pin!(running);
        tokio::select! {
            totals = &mut running => totals,
            fault = log.fault() => {
                stop.stop(&fault.to_string());
                running.await
            }
        }
    };
    let left_out = log.left_out();
    drop(log);
    let faults = tokio::task::spawn_blocking(|| writer.finish()).await?;
    if left_out > 0 {
        output.warning(&format!("{left_out} entries were left out of the log: it was too slow"));
    }
    for fault in faults {
        tell(&fault)?;
    }
    Ok(totals)
}

/// The first Ctrl-C ends the run in order, the second at once.
async fn on_interrupt(stop: Stop, output: Output) {
    interrupted().await;
    output.note("stopping: closing sessions and completing captures (Ctrl-C again ends at once)");
    stop.stop("stopped by the user");
    interrupted().await;
    std::process::exit(130);
}

async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

fn tell(fault: &LogFault) -> anyhow::Result<()> {
    if fault.broken_pipe {
        return Err(std::io::Error::from(ErrorKind::BrokenPipe).into());
    }
    Err(anyhow!("{fault}: it holds all up to there; free space or choose another file with `-w`"))
}

/// Why an address cannot be had, and what to do about it in terms of its option.
pub(crate) fn cannot_listen(
    address: SocketAddr,
    option: &str,
    error: &std::io::Error,
) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => match free_port(address, option) {
            Some(port) => {
                format!("; port {port} is free: `{option} {}:{port}`", bracketed(address))
            }
            None => format!("; choose another with `{option}`"),
        },
        ErrorKind::PermissionDenied => "; ports below 1024 need privileges".to_owned(),
        ErrorKind::Unsupported => "; `--transparent` needs Linux".to_owned(),
        _ => format!("; choose another with `{option}`"),
    };
    anyhow!("cannot listen on {address}: {error}{hint}")
}

/// A port above the busy one that is free now.
fn free_port(address: SocketAddr, option: &str) -> Option<u16> {
    let is_free = |port: &u16| match option {
        "--query" => std::net::UdpSocket::bind((address.ip(), *port)).is_ok(),
        _ => std::net::TcpListener::bind((address.ip(), *port)).is_ok(),
    };
    (1..50).filter_map(|step| address.port().checked_add(step)).find(is_free)
}

fn bracketed(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}
