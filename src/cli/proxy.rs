use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft::capture::{CaptureTarget, CreateError, RingSink};
use mitmcraft::codec::Limits;
use mitmcraft::filter::{RingCapture, RuleCount, RuleSet};
use mitmcraft::lang::Expr;
use mitmcraft::link::Upstream;
use mitmcraft::proxy::{
    FileFault, FileFaultKind, FilterFiles, KeyLog, LoadError, Loaded, LogOptions, NamedSink,
    Notices, OnFull, Proxy, ProxyOptions, QueryProxyOptions, Resolver, UpstreamName,
};
use mitmcraft::schema::{Catalog, Protocol};
use mitmcraft::session::Config;

use super::accounts::Choice;
use super::exit::Done;
use super::notice::notice_text;
use super::output::Output;
use super::preamble_side::PreambleSide;
use super::recording::Recording;
use super::run::{Bound, Run};
use super::screen::{Counted, Screen};
use super::show::verbosity;
use super::size::Size;
use super::timeout::Timeout;

/// Relay clients to a server: decode, show and record every packet
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft proxy mc.example.org
  mitmcraft proxy mc.example.org:25570 -w session.pcapng -w session.jsonl
  mitmcraft proxy [::1]:25565 -l 0.0.0.0:25566 -q
  mitmcraft proxy mc.example.org --auth account
  mitmcraft proxy 10.0.0.5 --proxy-protocol in,out --metrics 127.0.0.1:9150 --timeout idle=600
  mitmcraft proxy --transparent -l 0.0.0.0:25566
  mitmcraft proxy mc.example.org -w - --format pcapng | wireshark -k -i -

Point the game at the address that mitmcraft listens on.")]
pub(crate) struct Arguments {
    /// The server: `host[:port]` or `[ipv6]:port`; without a port by its SRV record, else 25565.
    /// With `--transparent` only for connections that were not redirected
    #[arg(required_unless_present = "transparent")]
    upstream: Option<UpstreamName>,

    /// Where clients connect; port 0 picks a free one
    #[arg(short, long, value_name = "ADDR", default_value = "127.0.0.1:25566")]
    listen: SocketAddr,

    #[command(flatten)]
    recording: Recording,

    /// Judge packets by the rules of a file, read again when it changes (repeatable, in order)
    #[arg(short, long, value_name = "FILE")]
    filters: Vec<PathBuf>,

    /// Show only packets that match
    #[arg(short = 'Y', long = "where", value_name = "EXPR")]
    condition: Option<String>,

    /// Show all fields; twice: with hex
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,

    /// Show nothing but the summary
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    #[command(flatten)]
    choice: Choice,

    /// Append what decrypts each leg, a line a leg, for `decode` and other dissectors; the file can
    /// be read by its owner alone
    #[arg(long, value_name = "FILE", env = "MINECRAFT_KEY_LOG_FILE")]
    key_log: Option<PathBuf>,

    /// Leave the handshake's host and port as the client sent them
    #[arg(long)]
    keep_host: bool,

    /// Leave a server's Transfer as it is: the client goes to the new server past the proxy
    #[arg(long)]
    no_follow_transfers: bool,

    /// Largest frame to decode, up to 128M; a larger one streams through
    #[arg(long, value_name = "SIZE", default_value_t = Size(2 << 20))]
    max_frame: Size,

    /// Sessions at the same time; further clients wait
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_sessions: usize,

    /// What to do while the log cannot keep up: make sessions wait, or leave entries out
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Full::Wait)]
    on_full: Full,

    /// How long to wait, in seconds, or `none`: `connect` for the server; `login` for a byte from
    /// either side before the game, and `idle` in it. The close event tells which has acted
    #[arg(
        long,
        value_name = "NAME=TIME",
        value_delimiter = ',',
        default_value = "connect=30,login=120,idle=none"
    )]
    timeout: Vec<Timeout>,

    /// A protocol description (ProtoDef JSON) to know beside the others or in their place; its
    /// name says the number: `47.json`, `my-47.json` (repeatable)
    #[arg(long, value_name = "FILE")]
    protocol: Vec<PathBuf>,

    /// Also relay and record the UDP Query protocol, for clients that ask here
    #[arg(long, value_name = "ADDR")]
    query: Option<SocketAddr>,

    /// The server of `--query`, `host[:port]`; without it the upstream's host and port
    #[arg(long, value_name = "ADDR", requires = "query")]
    query_upstream: Option<UpstreamName>,

    /// Take connections that the system redirects here, and connect each to where it was going
    /// (Linux: `SO_ORIGINAL_DST`, set by REDIRECT and DNAT)
    #[arg(long)]
    transparent: bool,

    /// HAProxy's PROXY protocol: `in` expects its header of every client, `out` (`out=v1`) sends
    /// one to the server
    #[arg(long, value_name = "WHERE", value_delimiter = ',')]
    proxy_protocol: Vec<PreambleSide>,

    /// Serve metrics to Prometheus, at `http://ADDR/metrics`; port 0 picks a free one
    #[arg(long, value_name = "ADDR")]
    metrics: Option<SocketAddr>,

    /// Show every packet on a terminal, also what repeats many times a second
    #[arg(long)]
    no_collapse: bool,
}

/// What to do while the log cannot keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Full {
    /// Sessions wait: nothing is lost
    Wait,
    /// Entries are left out and counted
    Drop,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let runtime = tokio::runtime::Runtime::new()?;
    let ended = runtime.block_on(proxy(arguments, output));
    // A name that is still looked up is nobody's any more.
    runtime.shutdown_background();
    ended
}

/// Validates, binds, logs in, creates files, announces and serves, in this order: a start that fails
/// must leave existing captures as they are.
async fn proxy(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    if arguments.transparent && !Proxy::CAN_BE_TRANSPARENT {
        bail!(
            "`--transparent` needs Linux: this system does not report where a connection was going"
        );
    }
    let resolver = Resolver::new();
    let upstream = match &arguments.upstream {
        Some(name) => Some(resolver.resolve(name).await),
        None => None,
    };
    if let Some(upstream) = &upstream {
        let address = resolver.address(upstream).await?;
        if is_ours(address, arguments.listen) {
            bail!("{upstream} is where the proxy listens itself: choose another with `-l`");
        }
    }
    let catalog = catalog(&arguments.protocol)?;
    let shown = parse(arguments.condition.as_deref(), "--where", &catalog, output)?;
    let limits = limits(arguments.max_frame)?;
    let query = match arguments.query {
        Some(listen) => {
            let named = arguments.query_upstream.map(|name| Upstream {
                port: name.port.unwrap_or(UpstreamName::DEFAULT_PORT),
                host: name.host,
            });
            let upstream = named.or(upstream).context("`--query` wants `--query-upstream`")?;
            let server = resolver.address(&upstream).await?;
            Some((listen, server, upstream.to_string()))
        }
        None => None,
    };
    let files = FilterFiles::new(arguments.filters, catalog.clone());
    let loaded = load(&files, output)?;
    let options = arguments.recording.options();
    let planned = arguments.recording.plan(&catalog, output)?;
    let ring = |capture: &RingCapture| {
        let target = CaptureTarget::new(capture.file.as_ref(), &options)?;
        target.check().map(|()| (capture.clone(), target))
    };
    let rings = loaded.sets.iter().filter_map(RuleSet::capture).map(ring);
    let rings = rings.collect::<Result<Vec<_>, CreateError>>()?;
    let told = *output;
    let rules = files.watch(loaded, move |outcome| reloaded(outcome, &told))?;

    let mut bound = Bound::new(arguments.listen, arguments.max_sessions).await?;
    if let Some((listen, server, upstream)) = query {
        let pipeline = rules.pipelines();
        bound = bound.query(QueryProxyOptions { listen, server, upstream, pipeline }).await?;
    }
    if let Some(listen) = arguments.metrics {
        bound = bound.metrics(listen).await?;
    }

    let (auth, authority) = arguments.choice.settle(output).await?;
    // An empty variable is as good as none.
    let key_log = arguments.key_log.filter(|path| !path.as_os_str().is_empty());
    let key_log = key_log.as_deref().map(open_key_log).transpose()?;

    let on_stdout = arguments.recording.on_stdout();
    let (counted, summary) = Counted::named();
    let mut sinks: Vec<NamedSink> = vec![counted];
    sinks.extend(planned.create()?);
    for (RingCapture { file, ring, bytes }, target) in rings {
        sinks.push((file, Box::new(RingSink::new(target.create()?, ring, bytes))));
    }
    if !arguments.quiet {
        let screen = Screen::new(verbosity(arguments.verbose), on_stdout, output).only(shown);
        let screen = if arguments.no_collapse { screen } else { screen.collapsed() };
        sinks.push(screen.named());
    }
    let notices = Notices::new(Arc::new(move |text| told.warning(text)), notice_text);
    let config = Config {
        catalog,
        limits,
        auth,
        keep_host: arguments.keep_host,
        timeouts: Timeout::all(&arguments.timeout),
        follow_transfers: !arguments.no_follow_transfers,
    };
    let run = Run {
        bound,
        log: LogOptions {
            on_error: arguments.recording.on_error(),
            notices: notices.clone(),
            on_full: match arguments.on_full {
                Full::Wait => OnFull::Wait,
                Full::Drop => OnFull::Drop,
            },
        },
        options: ProxyOptions {
            upstream: arguments.upstream,
            transparent: arguments.transparent,
            expects_preamble: arguments.proxy_protocol.contains(&PreambleSide::In),
            sends_preamble: PreambleSide::sent(&arguments.proxy_protocol),
            config: Arc::new(config),
            authority,
            key_log,
            notices,
            pipeline: rules.pipelines(),
        },
        sinks,
        rules: rules.subscribe(),
    };
    let served = run.start()?.serve(output).await;
    if let Ok(summary) = summary.try_recv() {
        let mut table = String::new();
        summary.overall().write_table(&mut table);
        output.note(table.trim_end());
    }
    tell_counts(&rules.sets(), output);
    served.map(|(done, _)| done)
}

/// Whether a server's address is the one that the proxy listens on: it would be its own client.
fn is_ours(server: SocketAddr, listen: SocketAddr) -> bool {
    let (server_ip, listen_ip) = (server.ip().to_canonical(), listen.ip().to_canonical());
    let same = server_ip == listen_ip || listen_ip.is_unspecified() && server_ip.is_loopback();
    same && server.port() == listen.port()
}

fn open_key_log(path: &Path) -> anyhow::Result<KeyLog> {
    KeyLog::open(path).with_context(|| {
        format!("cannot append to the key log `{}`, see `--key-log`", path.display())
    })
}

/// What each rule has done.
pub(crate) fn tell_counts(sets: &[RuleSet], output: &Output) {
    for count in sets.iter().flat_map(RuleSet::counts) {
        output.note(&told(&count));
    }
}

/// The line that says what a rule has done.
pub(crate) fn told(count: &RuleCount) -> String {
    let RuleCount { name, matched, acted, failed } = count;
    format!("rule `{name}`: {matched} matched, {acted} acted, {failed} failed")
}

/// What is known, with the descriptions that the user adds.
pub(crate) fn catalog(files: &[PathBuf]) -> anyhow::Result<Catalog> {
    let mut catalog = Catalog::embedded().clone();
    for path in files {
        let known = || format!("cannot use the protocol `{}`", path.display());
        let text = std::fs::read_to_string(path).with_context(known)?;
        let json = serde_json::from_str(&text).with_context(known)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let number = stem.rsplit(|char: char| !char.is_ascii_digit()).next().unwrap_or_default();
        let number: i32 = number.parse().with_context(|| {
            format!("`{}`: its name must end in a protocol number", path.display())
        })?;
        catalog.insert(Protocol::from_json(number, stem, &json).with_context(known)?);
    }
    Ok(catalog)
}

/// Limits for frames of that size. A frame inflates to four times as much at most, as the game has
/// it, and to no more than the largest limit.
fn limits(frame: Size) -> anyhow::Result<Limits> {
    if frame.0 > Limits::MAX {
        bail!("`--max-frame {frame}` is too large: at most {}", Size(Limits::MAX));
    }
    let inflated = frame.0.saturating_mul(4).clamp(Limits::default().inflated, Limits::MAX);
    Ok(Limits::new(frame.0, inflated))
}

/// A condition from the command line.
pub(crate) fn parse(
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

/// Loads filter files and prints their warnings, or all their faults.
pub(crate) fn load(files: &FilterFiles, output: &Output) -> anyhow::Result<Loaded> {
    match files.load() {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|fault| print(fault, output));
            Ok(loaded)
        }
        Err(error) => {
            error.faults.iter().for_each(|fault| print(fault, output));
            Err(error.into())
        }
    }
}

/// Prints what has come of a change to the filter files.
fn reloaded(outcome: Result<&Loaded, &LoadError>, output: &Output) {
    match outcome {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|fault| print(fault, output));
            let rules: usize = loaded.sets.iter().map(|set| set.counts().len()).sum();
            output.note(&format!("the filter files have changed: {rules} rules hold now"));
        }
        Err(error) => {
            error.faults.iter().for_each(|fault| print(fault, output));
            output.warning("the filter files have changed and have faults: the old rules stay");
        }
    }
}

/// Prints a fault with its place.
fn print(FileFault { path, kind }: &FileFault, output: &Output) {
    match kind {
        FileFaultKind::Text(fault) => output.note(&fault.render(&path.display().to_string())),
        kind => output.error(&format!("{}: {kind}", path.display())),
    }
}
