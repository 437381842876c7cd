use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use mitmcraft::capture::{BodyPlaces, CaptureTarget, CommentEditor, CreateError, RingSink};
use mitmcraft::codec::Limits;
use mitmcraft::filter::{RingCapture, RuleSet};
use mitmcraft::lang::amount::Size;
use mitmcraft::link::{Notice, Upstream};
use mitmcraft::proxy::{
    ControlHandle, FilterFiles, KeyLog, LogOptions, NamedSink, Notices, OnFull, Proxy,
    ProxyOptions, QueryProxyOptions, Resolver, RuleEditor, RunNotice, StoreSink, UpstreamName,
};
use mitmcraft::session::Config;
use mitmcraft::store::{Limit, SavedNotes, Store, StoreOptions};
use mitmcraft::tui::App;
use mitmcraft::view::words;

use super::accounts::{AccountOptions, Settled};
use super::args::{
    CaptureOptions, Condition, Interactive, Lines, Memory, PreambleSide, Protocols, Quiet, Timeout,
    Verbose, Web, listen_address,
};
use super::exit::Done;
use super::notice::run_notice;
use super::output::Output;
use super::rules::{load, print_counts, reloaded};
use super::run::{Bound, Run};
use super::screen::Screen;
use super::summary::SummaryReceiver;
use super::terminal_interface::TerminalInterface;

/// Relay clients to a server: decode, show and record every packet
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft proxy mc.example.org --lan
  mitmcraft proxy mc.example.org:25570 -w session.pcapng -w session.jsonl
  mitmcraft proxy [::1]:25565 -l 0.0.0.0:25566 -q
  mitmcraft proxy mc.example.org --web --open
  mitmcraft proxy mc.example.org --tui --intercept 'chat or chat_message'
  mitmcraft proxy mc.example.org --auth client
  mitmcraft proxy 10.0.0.5 --proxy-protocol in,out --metrics 127.0.0.1:9150 --timeout idle=10m
  mitmcraft proxy --transparent -l 0.0.0.0:25566
  mitmcraft proxy mc.example.org -w - --format pcapng | wireshark -k -i -

Then add the address after `-l`, or localhost:25566, to the server list of the game; with `--lan`,
it is there already, under Multiplayer.")]
pub(crate) struct Arguments {
    /// The server: `host[:port]` or `[ipv6]:port`. Without a port, its SRV record is looked up, and
    /// 25565 is used if there is none. With `--transparent`, used for connections that were not
    /// redirected
    #[arg(required_unless_present = "transparent")]
    upstream: Option<UpstreamName>,

    /// Address to listen on, or a port of this machine; port 0 picks a free one
    #[arg(
        short,
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:25566",
        value_parser = listen_address
    )]
    listen: SocketAddr,

    /// Announce the proxy in the game's multiplayer list, to games on this machine and, unless the
    /// proxy listens on a loopback address, on its network
    #[arg(long)]
    lan: bool,

    #[command(flatten)]
    captures: CaptureOptions,

    /// Apply the rules in a filter file, which is reloaded when it changes (repeatable, in order)
    #[arg(short, long, value_name = "FILE")]
    filters: Vec<PathBuf>,

    #[command(flatten)]
    web: Web,

    #[command(flatten)]
    interactive: Interactive,

    #[command(flatten)]
    condition: Condition,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    lines: Lines,

    #[command(flatten)]
    quiet: Quiet,

    #[command(flatten)]
    accounts: AccountOptions,

    /// Append the keys of each encrypted connection to a key log, one per line, for `decode` and
    /// other programs. A new file can be read by its owner only
    #[arg(long, value_name = "FILE", env = "MINECRAFT_KEY_LOG_FILE")]
    key_log: Option<PathBuf>,

    /// Leave the host and port in the handshake as the client sent them
    #[arg(long)]
    keep_host: bool,

    /// Forward a server's Transfer unchanged: the client then connects to the new server directly
    #[arg(long)]
    no_follow_transfers: bool,

    /// Largest frame to decode, at most 128M; larger frames are forwarded without being decoded
    #[arg(long, value_name = "SIZE", default_value_t = Size(2 << 20))]
    max_frame: Size,

    #[command(flatten)]
    memory: Memory,

    /// Maximum number of concurrent sessions; further clients are refused
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_sessions: usize,

    /// What to do while captures and screen cannot keep up
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnFullLog::Wait)]
    on_full: OnFullLog,

    /// Timeouts, each a duration or `none`: `connect` for connecting to the server; `login` for
    /// silence before the game begins, `idle` for silence in the game
    #[arg(
        long,
        value_name = "NAME=DURATION",
        value_delimiter = ',',
        default_value = "connect=30,login=120,idle=none"
    )]
    timeout: Vec<Timeout>,

    #[command(flatten)]
    protocols: Protocols,

    /// Also relay and record the UDP Query protocol, listening on this address
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    query: Option<SocketAddr>,

    /// The server of `--query`, `host[:port]` [default: the host and port of UPSTREAM]
    #[arg(long, value_name = "ADDR", requires = "query")]
    query_upstream: Option<UpstreamName>,

    /// Accept connections that the firewall redirects here (REDIRECT, DNAT), and connect each to its
    /// original destination. Linux only
    #[arg(long)]
    transparent: bool,

    /// Use HAProxy's PROXY protocol: `in` expects a header from every client, `out` sends one to the
    /// server (version 2, `out=v1` for version 1)
    #[arg(long, value_name = "SIDE", value_delimiter = ',')]
    proxy_protocol: Vec<PreambleSide>,

    /// Serve metrics for Prometheus at `http://ADDR/metrics`; port 0 picks a free port
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    metrics: Option<SocketAddr>,

    /// On a terminal, show every packet, including those that repeat many times a second
    #[arg(long)]
    no_collapse: bool,
}

/// What to do while captures and screen cannot keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnFullLog {
    /// Slow the sessions down: nothing is lost
    Wait,
    /// Leave entries out, and count them
    Drop,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let runtime = tokio::runtime::Runtime::new()?;
    let ended = runtime.block_on(proxy(arguments, output));
    // Do not wait for DNS lookups that are still running.
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
    output.check_screen(arguments.captures.on_stdout() && !arguments.quiet.quiet)?;
    let resolver = Resolver::new();
    let upstream = match &arguments.upstream {
        Some(name) => Some(resolver.resolve(name).await),
        None => None,
    };
    if let Some(upstream) = &upstream {
        let address = resolver.address(upstream).await?;
        if is_ours(address, arguments.listen) {
            bail!(
                "{upstream} is the address that the proxy itself listens on: choose another with `-l`"
            );
        }
    }
    let catalog = arguments.protocols.catalog()?;
    let shown = arguments.condition.compile(&catalog, output)?;
    arguments.interactive.check(arguments.web.is_on(), arguments.captures.on_stdout())?;
    let breakpoint = arguments.interactive.breakpoint(&catalog)?;
    let limits = limits(arguments.max_frame)?;
    let query = match arguments.query {
        Some(listen) => {
            let named = arguments.query_upstream.map(|name| Upstream {
                port: name.port.unwrap_or(UpstreamName::DEFAULT_PORT),
                host: name.host,
            });
            let upstream = named
                .or(upstream)
                .context("`--query` needs `--query-upstream` if there is no UPSTREAM")?;
            let server = resolver.address(&upstream).await?;
            Some((listen, server, upstream.to_string()))
        }
        None => None,
    };
    let files = FilterFiles::new(arguments.filters, catalog.clone());
    let loaded = load(&files, output)?;
    let options = arguments.captures.options();
    let planned = arguments.captures.plan(&catalog, output)?;
    let redaction = planned.redaction.clone();
    let ring = |capture: &RingCapture| {
        let target = CaptureTarget::new(capture.file.as_ref(), &options)?;
        target.check().map(|()| (capture.clone(), target))
    };
    let rings = loaded.sets.iter().filter_map(RuleSet::capture).map(ring);
    let rings = rings.collect::<Result<Vec<_>, CreateError>>()?;
    let stderr = *output;
    let editor = (!files.paths().is_empty()).then(|| files.clone());
    let mut rules = files.watch(loaded, move |outcome| reloaded(outcome, &stderr))?;

    let mut bound = Bound::new(arguments.listen, arguments.max_sessions).await?;
    if let Some((listen, server, upstream)) = query {
        let pipeline = rules.pipelines();
        bound = bound.query(QueryProxyOptions { listen, server, upstream, pipeline }).await?;
    }
    if let Some(listen) = arguments.metrics {
        bound = bound.metrics(listen).await?;
    }
    if arguments.lan {
        bound = bound.lan()?;
    }
    let store = Arc::new(Store::new(StoreOptions::default()));
    let is_browsed = arguments.web.is_on() || arguments.interactive.tui();
    let control = is_browsed.then(|| ControlHandle::start(Arc::new(catalog.clone()), breakpoint));
    let web = arguments.web.bind(&store, &catalog, true).await?;
    let web = web.zip(control.clone()).map(|(web, control)| web.controlled(control));
    let web = web.map(|web| match editor {
        Some(files) => web.with_rules(RuleEditor::new(files, rules.subscribe())),
        None => web,
    });
    let _opened = web.as_ref().and_then(|web| arguments.web.open(&web.url(), output));
    bound = bound.web(web);

    let Settled { auth, authority, endpoint, jvm_arguments } =
        arguments.accounts.settle(output).await?;
    if let Some(endpoint) = endpoint {
        bound = bound.auth_endpoint(endpoint);
    }
    // An empty variable counts as not set.
    let key_log = arguments.key_log.filter(|path| !path.as_os_str().is_empty());
    let key_log = key_log.as_deref().map(open_key_log).transpose()?;

    let read_with = catalog.clone();
    let on_stdout = arguments.captures.on_stdout();
    let (counting, summary) = SummaryReceiver::new();
    let mut sinks: Vec<NamedSink> = vec![counting];
    let mut captures = planned.create()?;
    let places = is_browsed.then(|| read_older(&store, &mut captures)).flatten();
    let written: Vec<String> = captures.iter().map(|(name, _)| name.clone()).collect();
    sinks.extend(captures);
    for (RingCapture { file, ring, bytes }, target) in rings {
        let sink = redaction.apply(target.create()?);
        sinks.push((file, Box::new(RingSink::new(sink, ring, bytes))));
    }
    let mut terminal = None;
    if arguments.interactive.tui() {
        let app = App::new(Arc::clone(&store), Arc::new(catalog.clone()), true);
        terminal = Some(TerminalInterface::new(app.filtered(shown), control.clone()));
    } else if !arguments.quiet.quiet {
        let screen = Screen::new(arguments.verbose.verbosity(), arguments.lines, on_stdout, output)
            .only(shown);
        let screen = if arguments.no_collapse { screen } else { screen.collapsed() };
        sinks.push(screen.named());
    }
    if is_browsed {
        sinks.push((
            "the interface".to_owned(),
            Box::new(StoreSink::new(Arc::clone(&store), places)?),
        ));
    }
    let notices = Notices::new(Arc::new(move |notice| {
        stderr.warning(&run_notice(notice));
        if let (RunNotice::Session(Notice::NotLent), Some(line)) = (notice, &jvm_arguments) {
            stderr.note(line.expose());
        }
    }));
    let (memory, queue) = arguments.memory.shares();
    let config = Config {
        catalog,
        limits,
        memory: memory.clone(),
        auth,
        keep_host: arguments.keep_host,
        timeouts: Timeout::apply(&arguments.timeout),
        follow_transfers: !arguments.no_follow_transfers,
    };
    let run = Run {
        bound,
        log: LogOptions {
            queue,
            on_error: arguments.captures.on_error(),
            notices: notices.clone(),
            passed: summary.passed.clone(),
            on_full: match arguments.on_full {
                OnFullLog::Wait => OnFull::Wait,
                OnFullLog::Drop => OnFull::Drop,
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
            control,
        },
        sinks,
        rules: rules.subscribe(),
        terminal,
    };
    let failed = async {
        let error = rules.failed().await;
        anyhow::Error::from(error).context("the filter files are not watched any more")
    };
    let served = run.start()?.serve(failed, output).await;
    if is_browsed {
        let editor = |name: &String| {
            CommentEditor::open(name.as_ref(), &read_with, arguments.memory.bytes())
        };
        // Those of sessions and of rotation have other names.
        keep_notes(&store, written.iter().filter_map(|name| editor(name).ok()), output);
    }
    summary.print(output);
    print_counts(&rules.sets(), output);
    arguments.memory.report(&memory, output);
    served.map(|_| Done::Yes)
}

/// Lets a store read what is older than its window in the first of the captures that allows it, and
/// tell why it does not.
fn read_older(store: &Store, captures: &mut [NamedSink]) -> Option<BodyPlaces> {
    // Those of sessions and of rotation have other names.
    let mut names = captures.iter().map(|(name, _)| name);
    if let Some(name) = names.find(|name| Path::new(name).is_file()) {
        store.set_name(name);
    }
    for (name, sink) in captures.iter_mut() {
        if Path::new(&*name).is_file()
            && let Some(places) = sink.body_places()
            && let Ok(capture) = File::open(&*name)
        {
            store.set_capture(capture);
            store.set_limit(Limit::InCapture(name.clone()));
            return Some(places);
        }
    }
    store.set_limit(match captures {
        [] => Limit::NoCapture,
        _ => Limit::UnreadableCaptures,
    });
    None
}

/// Saves the marks and comments of a run that has ended in its captures.
fn keep_notes(store: &Store, captures: impl Iterator<Item = CommentEditor>, output: &Output) {
    captures.for_each(|capture| store.save_in(capture));
    match &*store.save_notes() {
        SavedNotes::Nothing | SavedNotes::AtEnd => {}
        saved => output.note(&words::saved(saved)),
    }
}

/// Returns whether `server` is the address that the proxy listens on: it would be its own client.
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

/// Returns the limits for frames of `size` bytes. A frame may inflate to four times that, as in the
/// game, up to the largest limit.
fn limits(size: Size) -> anyhow::Result<Limits> {
    let frame = usize::try_from(size.0).unwrap_or(usize::MAX);
    if frame > Limits::MAX {
        bail!("`--max-frame {size}` is too large: at most {}", Size(Limits::MAX as u64));
    }
    let inflated = frame.saturating_mul(4).clamp(Limits::default().inflated, Limits::MAX);
    Ok(Limits::new(frame, inflated))
}
