use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::capture::{JsonlSink, Sink};
use mitmcraft::codec::Limits;
use mitmcraft::proxy::{LogOptions, NamedSink, OnFull, Resolver, UpstreamName};
use mitmcraft::schema::Catalog;
use mitmcraft::session::{Config, Upstream};

use super::exit::Done;
use super::output::Output;
use super::run::{QueryRun, Run};
use super::size::Size;

/// Relay clients to a server: decode, show and record every packet
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft proxy mc.example.org
  mitmcraft proxy mc.example.org:25570 -w session.pcapng -w session.jsonl
  mitmcraft proxy [::1]:25565 -l 0.0.0.0:25566 -q

Point the game at the address that mitmcraft listens on.")]
pub(crate) struct Arguments {
    /// The server: `host[:port]` or `[ipv6]:port`; without a port by its SRV record, else 25565
    upstream: UpstreamName,

    /// Where clients connect; port 0 picks a free one
    #[arg(short, long, value_name = "ADDR", default_value = "127.0.0.1:25566")]
    listen: SocketAddr,

    /// Record to a file; the ending chooses the format: .jsonl, .pcapng, .pcap (repeatable)
    #[arg(short, long, value_name = "FILE")]
    write: Vec<PathBuf>,

    /// Show all fields; twice: with hex
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,

    /// Show nothing but the summary
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Leave the handshake's host and port as the client sent them
    #[arg(long)]
    keep_host: bool,

    /// Largest frame to decode, up to 128M; a larger one streams through
    #[arg(long, value_name = "SIZE", default_value_t = Size(2 << 20))]
    max_frame: Size,

    /// Sessions at the same time; further clients wait
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_sessions: usize,

    /// Also relay and record the UDP Query protocol, for clients that ask here
    #[arg(long, value_name = "ADDR")]
    query: Option<SocketAddr>,

    /// The server of `--query`, `host[:port]`; without it the upstream's host and port
    #[arg(long, value_name = "ADDR", requires = "query")]
    query_upstream: Option<UpstreamName>,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(proxy(arguments, output))
}

async fn proxy(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let resolver = Resolver::new();
    let upstream = resolver.resolve(&arguments.upstream).await;
    resolver.check(&upstream).await?;
    let mut sinks: Vec<NamedSink> = Vec::new();
    for path in &arguments.write {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let sink: Box<dyn Sink> = Box::new(JsonlSink::new(file));
        sinks.push((path.display().to_string(), sink));
    }
    let config = Config {
        catalog: Catalog::embedded().clone(),
        limits: Limits { frame: arguments.max_frame.0, ..Limits::default() },
        keep_host: arguments.keep_host,
    };
    let query = match arguments.query {
        Some(listen) => {
            let named = arguments.query_upstream.map(|name| Upstream {
                port: name.port.unwrap_or(UpstreamName::DEFAULT_PORT),
                host: name.host,
            });
            let upstream = named.unwrap_or(upstream);
            Some(QueryRun { listen, server: resolver.address(&upstream).await?, upstream })
        }
        None => None,
    };
    let run = Run {
        listen: arguments.listen,
        upstream: arguments.upstream,
        config,
        max_sessions: arguments.max_sessions,
        log: LogOptions { on_full: OnFull::Wait },
        sinks,
        query,
    };
    let (done, _) = run.start().await?.serve(output).await?;
    Ok(done)
}
