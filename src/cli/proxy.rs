use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::capture::{JsonlSink, RingSink, Sink, WhereSink};
use mitmcraft::codec::Limits;
use mitmcraft::filter::{Expr, RuleSet};
use mitmcraft::proxy::{
    FilterFiles, LoadError, Loaded, LogOptions, NamedSink, OnFull, Resolver, UpstreamName,
};
use mitmcraft::schema::Catalog;
use mitmcraft::session::Config;

use super::exit::Done;
use super::output::Output;
use super::run::Run;
use super::size::Size;

/// Relay clients to a server: decode, show and record every packet
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft proxy mc.example.org
  mitmcraft proxy mc.example.org:25570 -w session.pcapng -w session.jsonl
  mitmcraft proxy [::1]:25565 -l 0.0.0.0:25566 -q
  mitmcraft proxy mc.example.org -f rules.toml -Y 'chat or pkt.error'

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

    /// Judge packets by the rules of a file, read again when it changes (repeatable, in order)
    #[arg(short, long, value_name = "FILE")]
    filters: Vec<PathBuf>,

    /// Show only packets that match
    #[arg(short = 'Y', long = "where", value_name = "EXPR")]
    condition: Option<String>,

    /// Record only packets that match
    #[arg(long, value_name = "EXPR")]
    write_where: Option<String>,

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
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(proxy(arguments, output))
}

async fn proxy(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let resolver = Resolver::new();
    let upstream = resolver.resolve(&arguments.upstream).await;
    resolver.check(&upstream).await?;
    let catalog = Catalog::embedded();
    // Nothing is shown yet that it could choose from; a fault in it is told all the same.
    parse(arguments.condition.as_deref(), "--where", catalog, output)?;
    let recorded = parse(arguments.write_where.as_deref(), "--write-where", catalog, output)?;
    let files = FilterFiles::new(arguments.filters, catalog.clone());
    let loaded = files.load()?;
    let mut sinks: Vec<NamedSink> = Vec::new();
    for path in &arguments.write {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let sink = JsonlSink::new(file);
        let sink: Box<dyn Sink> = Box::new(WhereSink::new(sink, recorded.clone()));
        sinks.push((path.display().to_string(), sink));
    }
    for capture in loaded.sets.iter().filter_map(RuleSet::capture) {
        let file = File::create(&capture.file)
            .with_context(|| format!("cannot write {}", capture.file))?;
        let sink = RingSink::new(JsonlSink::new(file), capture.ring, capture.bytes);
        sinks.push((capture.file.clone(), Box::new(sink)));
    }
    loaded.warnings.iter().for_each(|warning| output.note(warning));
    let told = *output;
    let rules = files.watch(loaded, move |outcome| reloaded(outcome, &told))?;
    let config = Config {
        catalog: catalog.clone(),
        limits: Limits { frame: arguments.max_frame.0, ..Limits::default() },
        keep_host: arguments.keep_host,
    };
    let run = Run {
        listen: arguments.listen,
        upstream: arguments.upstream,
        config,
        max_sessions: arguments.max_sessions,
        log: LogOptions { on_full: OnFull::Wait },
        sinks,
        pipeline: rules.pipelines(),
    };
    let (done, _) = run.start().await?.serve(output).await?;
    for count in rules.sets().iter().flat_map(RuleSet::counts) {
        let (name, matched) = (count.name, count.matched);
        let (acted, failed) = (count.acted, count.failed);
        output.note(&format!("rule `{name}`: {matched} matched, {acted} acted, {failed} failed"));
    }
    Ok(done)
}

/// A condition from the command line.
fn parse(
    text: Option<&str>,
    option: &str,
    catalog: &Catalog,
    output: &Output,
) -> anyhow::Result<Option<Expr>> {
    let Some(text) = text else { return Ok(None) };
    match Expr::parse(text, catalog) {
        Ok((expr, warnings)) => {
            for warning in warnings {
                output.warning(&format!("`{option}`: {}", warning.render(text)));
            }
            Ok(Some(expr))
        }
        Err(error) => Err(anyhow::anyhow!("`{option}`: {}", error.render(text))),
    }
}

/// Tells what has come of a change to the filter files.
fn reloaded(outcome: Result<&Loaded, &LoadError>, output: &Output) {
    match outcome {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|warning| output.note(warning));
            let rules: usize = loaded.sets.iter().map(|set| set.counts().len()).sum();
            output.note(&format!("the filter files have changed: {rules} rules hold now"));
        }
        Err(error) => {
            error.faults.iter().for_each(|fault| output.note(fault));
            output.warning("the filter files have changed and have faults: the old rules stay");
        }
    }
}
