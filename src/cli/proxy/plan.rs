use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use mitmcraft::proxy::{
    FilterFiles, KeyLog, Listener, LoadError, Loaded, LogOptions, NamedSink, Notices, PipeCommand,
    Proxy, ProxyOptions, QueryProxyOptions, Resolver, RunNotice, Stop, UpstreamName, Watch,
};
use mitmcraft::web::WebOptions;
use mitmcraft_engine::auth::Secret;
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::lang::amount::Size;
use mitmcraft_engine::link::{Breakpoint, Notice, Upstream};
use mitmcraft_engine::session::Config;
use mitmcraft_protocol::codec::Limits;
use mitmcraft_protocol::schema::Catalog;

use super::Arguments;
use super::browsing::Browsing;
use super::ready::Ready;
use crate::cli::accounts::{Credentials, Settled};
use crate::cli::args::{PlannedCaptures, PlannedRecorder, PreambleSide, Timeout};
use crate::cli::expectations::PlannedExpectations;
use crate::cli::listen::bind;
use crate::cli::notice::run_notice;
use crate::cli::output::Output;
use crate::cli::rules::{PlannedRings, first_rules, load, reloaded};
use crate::cli::run::{Run, with_record};
use crate::cli::screen::Screen;
use crate::cli::services::Services;
use crate::cli::summary::SummaryReceiver;

/// A run of the proxy in which everything that needs no network has been checked. Nothing is bound, and
/// no file is created.
pub(super) struct Plan {
    arguments: Arguments,
    /// The configuration of sessions, which lacks the accounts and the memory.
    config: Config,
    /// Which packets are shown.
    shown: Option<Expr>,
    breakpoint: Option<Breakpoint>,
    /// The program that decides on packets.
    pipe: Option<PipeCommand>,
    credentials: Credentials,
    files: FilterFiles,
    /// The rules in `files`.
    loaded: Loaded,
    expectations: PlannedExpectations,
    captures: PlannedCaptures,
    /// The captures of rules that record what came before a match.
    rings: PlannedRings,
    recorder: Option<PlannedRecorder>,
}

impl Plan {
    /// Checks all that the arguments name.
    pub(super) fn check(mut arguments: Arguments, output: &Output) -> anyhow::Result<Self> {
        if arguments.transparent && !Proxy::CAN_BE_TRANSPARENT {
            bail!(
                "`--transparent` needs Linux: this system does not report where a connection was going"
            );
        }
        let on_stdout = arguments.captures.files.on_stdout();
        output.check_screen(on_stdout && !arguments.quiet.quiet)?;
        let named = arguments.upstream.is_some() || arguments.query_upstream.is_some();
        if arguments.query.is_some() && !named {
            bail!("`--query` needs `--query-upstream` if there is no UPSTREAM");
        }
        let catalog = arguments.protocols.catalog()?;
        let shown = arguments.condition.compile(&catalog, output)?;
        let elsewhere = arguments.web.is_on() || arguments.control.is_on();
        arguments.interactive.check(elsewhere, on_stdout)?;
        let breakpoint = arguments.interactive.breakpoint(&catalog, output)?;
        let mut config = config(&arguments, catalog.clone())?;
        let pipe = arguments.pipe.check(&catalog, output)?;
        let (pipe, asking) = pipe.unzip();
        config.asking = asking;
        let credentials = arguments.accounts.check()?;
        let files = match arguments.filters.is_empty() && arguments.web.is_on() {
            true => first_rules(&catalog),
            false => FilterFiles::new(arguments.filters.clone(), catalog.clone()),
        };
        let loaded = load(&files, output)?;
        let overwrite = arguments.captures.files.overwrite;
        let expect = std::mem::take(&mut arguments.expect);
        let expectations = PlannedExpectations::new(&files, &loaded, expect, overwrite, on_stdout)?;
        let host = arguments.lake_host.clone().unwrap_or_else(machine);
        let lake = arguments.lake.as_deref().map(|folder| (folder, &*host));
        let captures = arguments.captures.plan(lake, &catalog, output)?;
        if let Some(path) = arguments.key_log.as_deref().filter(|path| captures.writes_to(path)) {
            bail!("`--key-log` and `-w` both name `{}`: choose another file", path.display());
        }
        let rings = PlannedRings::check(&loaded.sets, &arguments.captures.options())?;
        let recorder = arguments.recorder.plan(&catalog, output)?;
        Ok(Self {
            arguments,
            config,
            shown,
            breakpoint,
            pipe,
            credentials,
            files,
            loaded,
            expectations,
            captures,
            rings,
            recorder,
        })
    }

    /// Looks the servers up, binds, logs in, and creates the captures, in this order: nothing that fails
    /// may touch an existing file.
    pub(super) async fn acquire(self, output: &Output) -> anyhow::Result<Ready> {
        let queried = self.look_up().await?;
        let Self { arguments, mut config, shown, breakpoint, pipe, credentials, .. } = self;
        let stderr = *output;
        let report = move |it: Result<&Loaded, &LoadError>| reloaded(it, &stderr);
        let mut files = self.files;
        let mut watch = files.clone().watch(self.loaded, report);
        if watch.is_err() && files.is_awaited() {
            // Nobody has asked for rules.
            files = FilterFiles::new(Vec::new(), config.catalog.clone());
            watch = files.clone().watch(load(&files, output)?, report);
        }
        let watch = watch?;
        let (pipeline, sets) = (watch.pipelines(), watch.subscribe());

        let is_on_web = arguments.web.is_on() || arguments.control.is_on();
        let is_browsed = is_on_web || arguments.interactive.tui;
        let mut browsing = match is_browsed {
            true => {
                let colors = arguments.highlights.store(&config.catalog, output)?;
                Some(Browsing::new(config.catalog.clone(), breakpoint, colors))
            }
            false => arguments.highlights.compile(&config.catalog).map(|_| None)?,
        };
        let shows = browsing.as_ref().map(|it| it.web(files, sets.clone()));
        let per_session = self.captures.files_per_session();
        let (listener, mut services, page) =
            bind_all(&arguments, &watch, queried, shows, per_session).await?;
        arguments.web.warn(output);
        arguments.control.warn(output);
        services.filter_files(watch);

        let Settled { auth, authority, endpoint, jvm_arguments } =
            arguments.accounts.settle(credentials, output).await?;
        if let Some(endpoint) = endpoint {
            services.auth_endpoint(endpoint);
        }
        // An empty variable counts as not set.
        let key_log = arguments.key_log.as_deref().filter(|path| !path.as_os_str().is_empty());
        let key_log = key_log.map(open_key_log).transpose()?;

        let notices = notices(jvm_arguments, *output);
        let pipe = pipe.map(|command| arguments.pipe.start(command, &notices)).transpose()?;

        let (counting, summary) = SummaryReceiver::new();
        let mut sinks = vec![counting];
        let mut captures = self.captures;
        let lake = captures.create_lake(&config.catalog, *output)?;
        let redaction = captures.redaction.clone();
        let mut recorded = captures.create()?;
        if let Some(browsing) = &mut browsing {
            browsing.read_older(&mut recorded);
        }
        sinks.extend(recorded);
        sinks.extend(self.rings.create(&redaction)?);
        let (lake, compactor) = lake.unzip();
        sinks.extend(lake);
        let shares = arguments.memory.shares(arguments.recorder.is_on());
        let recorder = self.recorder.map(|it| it.start(shares.recorder, &redaction, *output));
        let (recording, recorder) = recorder.transpose()?.unzip();
        sinks.extend(recording);
        let (judging, expectations) = self.expectations.live()?.unzip();
        sinks.extend(judging);
        match &browsing {
            Some(browsing) if arguments.interactive.tui => {
                services.terminal(browsing.terminal(shown, output), output);
            }
            _ if arguments.quiet.quiet => {}
            _ => sinks.push(screen(&arguments, shown, output)),
        }
        if let Some(browsing) = &mut browsing {
            sinks.push(browsing.sink()?);
        }

        let memory = shares.sessions;
        config.memory = memory.clone();
        config.auth = auth;
        config.separate_secrets = arguments.accounts.separate_secrets;
        let mut options = ProxyOptions::default();
        options.upstream.clone_from(&arguments.upstream);
        options.transparent = arguments.transparent;
        options.expects_preamble = arguments.proxy_protocol.contains(&PreambleSide::In);
        options.sends_preamble = PreambleSide::sent(&arguments.proxy_protocol);
        options.config = Arc::new(config);
        options.authority = authority;
        options.key_log = key_log;
        options.notices = notices;
        options.pipeline = pipeline;
        options.control = browsing.as_ref().map(Browsing::control);
        options.pipe.clone_from(&pipe);
        let mut log = LogOptions::default();
        log.queue = shares.queue;
        arguments.captures.set_log(&mut log);
        log.on_full = arguments.on_full;
        log.lint = arguments.lint;
        log.notices = options.notices.clone();
        log.passed = summary.passed.clone();
        let (stop, drain) = (Stop::new(), arguments.drain.map(|limit| limit.0));
        let run = Run { listener, options, log, sinks, services, stop, drain };
        let Arguments { web, memory: ceiling, .. } = arguments;
        Ok(Ready {
            compactor,
            recorder,
            pipe,
            run,
            web,
            page,
            browsing,
            summary,
            expectations,
            sets,
            ceiling,
            memory,
        })
    }

    /// Looks the servers up, and returns that of Query, if it is relayed, with its name.
    async fn look_up(&self) -> anyhow::Result<Option<(Vec<SocketAddr>, String)>> {
        let Arguments { listen, upstream, query, query_upstream, .. } = &self.arguments;
        let resolver = Resolver::default();
        let mut server = None;
        if let Some(name) = upstream {
            let upstream = resolver.resolve(name).await;
            let found = resolver.addresses(&upstream).await;
            let found = found.map_err(|error| with_record(error.into(), name, &upstream))?;
            if found.iter().any(|it| is_ours(*it, *listen)) {
                bail!(
                    "{upstream} is the address that the proxy itself listens on: choose another \
                     with `-l`"
                );
            }
            server = Some(upstream);
        }
        if query.is_none() {
            return Ok(None);
        }
        let named = query_upstream.as_ref().map(|name| Upstream {
            port: name.port.unwrap_or(UpstreamName::DEFAULT_PORT),
            host: name.host.clone(),
        });
        let Some(server) = named.or(server) else { return Ok(None) };
        Ok(Some((resolver.addresses(&server).await?, server.to_string())))
    }
}

/// Binds the addresses of a run, and returns what listens on them, with the URL of the page if there is
/// one. `queried` is the server of Query with its name, `interface` has the options of the page and of the
/// interface for programs.
async fn bind_all(
    arguments: &Arguments,
    rules: &Watch,
    queried: Option<(Vec<SocketAddr>, String)>,
    mut interface: Option<WebOptions>,
    files_per_session: usize,
) -> anyhow::Result<(Listener, Services, Option<String>)> {
    let listener = bind(arguments.listen, arguments.max_sessions, "-l").await?;
    let listener = listener.with_files(files_per_session).draining();
    let mut services = Services::default();
    if let (Some(listen), Some((servers, upstream))) = (arguments.query, queried) {
        let mut options = QueryProxyOptions::new(listen, servers, upstream);
        options.pipeline = rules.pipelines();
        services.query(options).await?;
    }
    if let Some(listen) = arguments.metrics {
        services.metrics(listen, rules.subscribe()).await?;
    }
    let mut url = None;
    let address = listener.local_addr().context("cannot listen")?;
    let local = address.ip().is_loopback() || address.ip().is_unspecified();
    let reached = if local { format!("localhost:{}", address.port()) } else { address.to_string() };
    if let Some(options) = &mut interface {
        options.listening = Some(reached);
    }
    if let Some(options) = interface.clone()
        && let Some(server) = arguments.web.bind(options).await?
    {
        url = Some(server.url());
        services.web(server);
    }
    if let Some(options) = interface
        && let Some(server) = arguments.control.bind(options).await?
    {
        services.control(server);
    }
    if arguments.lan {
        services.lan(address)?;
    }
    Ok((listener, services, url))
}

/// Returns the name of this machine.
fn machine() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

/// Returns the lines of packets on the screen.
fn screen(arguments: &Arguments, shown: Option<Expr>, output: &Output) -> NamedSink {
    let (verbosity, on_stdout) =
        (arguments.verbose.verbosity(), arguments.captures.files.on_stdout());
    let screen = Screen::new(verbosity, arguments.lines, on_stdout, output).only(shown);
    let screen = if arguments.no_collapse { screen } else { screen.collapsed_on_terminal() };
    screen.named()
}

/// Returns the configuration of sessions.
fn config(arguments: &Arguments, catalog: Catalog) -> anyhow::Result<Config> {
    let mut config = Config::default();
    config.catalog = catalog;
    config.limits = limits(arguments.max_frame)?;
    config.keep_host = arguments.keep_host;
    config.timeouts = Timeout::apply(&arguments.timeout);
    config.follow_transfers = !arguments.no_follow_transfers;
    Ok(config)
}

/// Returns what prints notices on stderr. A game that has not lent its account needs `jvm_arguments`.
fn notices(jvm_arguments: Option<Secret>, output: Output) -> Notices {
    Notices::new(Arc::new(move |notice| {
        output.warning(&run_notice(notice));
        if let (RunNotice::Session(Notice::NotLent), Some(line)) = (notice, &jvm_arguments) {
            output.note(line.expose());
        }
    }))
}

/// Returns whether a connection to a server would be accepted by the proxy that listens on `listen`.
fn is_ours(server: SocketAddr, listen: SocketAddr) -> bool {
    let (server_ip, listen_ip) = (server.ip().to_canonical(), listen.ip().to_canonical());
    // A socket of IPv6 takes IPv4 as well. What goes to an address of this machine comes from that address.
    let takes = listen_ip.is_ipv6() || server_ip.is_ipv4();
    let is_local = || {
        let any = if server_ip.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect((server_ip, server.port())).ok()?;
        socket.local_addr().ok()
    };
    let is_local = || is_local().is_some_and(|own| own.ip() == server_ip);
    server.port() == listen.port()
        && (server_ip == listen_ip || listen_ip.is_unspecified() && takes && is_local())
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
