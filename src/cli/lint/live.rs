use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use mitmcraft::proxy::{
    EngineRunner, LogHandle, LogOptions, LogWriter, ServerConnection, Stop, UpstreamName,
};
use mitmcraft_engine::auth::Profile;
use mitmcraft_engine::capture::CreateOptions;
use mitmcraft_engine::lang::amount::Period;
use mitmcraft_engine::link::Upstream;
use mitmcraft_engine::lint::{LintReport, Linter, Visit, VisitOptions, Visitor};
use mitmcraft_engine::text::write_info;
use mitmcraft_protocol::schema::{Catalog, Family, Protocol, Release};

use super::Arguments;
use crate::cli::accounts::OwnAccount;
use crate::cli::exit::Done;
use crate::cli::output::Output;
use crate::cli::report_sink::ReportSink;
use crate::cli::run::{connect, logged, look_up, stop_on_signals};
use crate::cli::version;

/// Options of visits to a server.
#[derive(Debug, Args)]
pub(super) struct LiveArguments {
    /// The server: `host[:port]` or `[ipv6]:port`. Without a port, its SRV record is looked up, and
    /// 25565 is used if there is none
    pub(super) upstream: Option<UpstreamName>,

    /// Versions to join as: numbers or versions of the game, and ranges of them, such as
    /// `47,1.20.4..latest` [default: 1.8.9, 1.12.2, 1.16.5, 1.18.2, 1.19.4, 1.20.4, 1.21.4 and the
    /// latest, as far as the server lets them in]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "capture")]
    versions: Vec<String>,

    /// The player's name, without an account
    #[arg(long, value_name = "NAME", default_value = "Linter")]
    name: String,

    /// Time between two joins; servers and their proxies often refuse a player who comes back sooner
    #[arg(long, value_name = "DURATION", default_value = "5")]
    pause: Period,

    /// Time that the player stays at least
    #[arg(long, value_name = "DURATION", default_value = "20")]
    stay: Period,

    /// How long to wait for a teleport, the player's death and its respawn
    #[arg(long, value_name = "DURATION", default_value = "2", value_parser = Period::positive)]
    patience: Period,

    /// How the player joins
    #[arg(long, value_enum, value_name = "MODE", default_value_t = Mode::Offline, help_heading = "Accounts")]
    auth: Mode,

    #[command(flatten)]
    account: OwnAccount,
}

/// The way in which the player joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Without an account
    Offline,
    /// With your account, see `mitmcraft login`
    Account,
}

/// Visits the server with all versions. Returns the report, and whether captures are complete.
pub(super) async fn visit(
    arguments: &Arguments,
    upstream: &UpstreamName,
    output: &Output,
) -> anyhow::Result<(LintReport, Done)> {
    let Arguments { live, files, protocols, .. } = arguments;
    if files.on_stdout() {
        bail!("`-w -` cannot be used here: stdout is for the report");
    }
    let catalog = protocols.catalog()?;
    let (versions, are_demanded) = versions(&catalog, &live.versions)?;
    let mut create = CreateOptions::default();
    create.describe = write_info;
    let planned = files.plan(create, None)?;
    let credentials = match live.auth {
        Mode::Offline => None,
        Mode::Account => Some(live.account.check()?),
    };
    let server = look_up(upstream).await?;
    let (player, authority) = match credentials {
        None => (Profile::offline(&live.name), None),
        Some(credentials) => {
            let (profile, authority) = live.account.settle(credentials, output).await?;
            (profile, Some(authority))
        }
    };
    // Creating the captures truncates existing ones, so a server that cannot be reached comes first.
    let first = connect(&server).await?;
    let mut sinks = planned.create()?;
    let (sink, mut report) = ReportSink::new(Linter::default(), |linter| linter.report());
    sinks.push(sink.named("the report"));
    let (log, writer) =
        LogWriter::start(sinks, LogOptions::default()).context("cannot start the log")?;
    let stop = Stop::new();
    stop_on_signals(&stop, output)?;
    let visits = Visits {
        live,
        server,
        player,
        has_account: authority.is_some(),
        runner: EngineRunner::new(LogHandle::clone(&log)).with_authority(authority),
        are_demanded,
    };
    let running = visits.run(versions, first, &stop, output);
    let (visits, recorded) = logged(running, &stop, log, writer, output).await?;
    let mut report = report.try_recv().context("the log was not completed")?;
    if stop.is_stopped() {
        bail!("stopped before all versions were checked");
    }
    report.visits = visits;
    Ok((report, recorded))
}

/// The visits to a server.
struct Visits<'a> {
    live: &'a LiveArguments,
    server: Upstream,
    player: Profile,
    has_account: bool,
    runner: EngineRunner,
    /// `true` if the server must let all versions in.
    are_demanded: bool,
}

impl Visits<'_> {
    /// Visits the server with one version after the other; the first begins on a connection that exists.
    async fn run(
        self,
        versions: Vec<Arc<Protocol>>,
        first: ServerConnection,
        stop: &Stop,
        output: &Output,
    ) -> Vec<Visit> {
        let mut connection = Some(first);
        let mut visits = Vec::new();
        let mut is_silent = false;
        for protocol in versions {
            if is_silent {
                let mut visit = Visit::new(&protocol, self.are_demanded);
                visit.end = UNANSWERED.to_owned();
                visits.push(visit);
                continue;
            }
            if connection.is_none() {
                tokio::select! {
                    () = tokio::time::sleep(self.live.pause.0) => {}
                    () = stop.stopped() => break,
                }
            }
            output.note(&format!("joining {} as {}", self.server, protocol.newest_name()));
            let visit;
            (visit, is_silent) = self.visit(&protocol, connection.take(), stop).await;
            visits.push(visit);
        }
        visits
    }

    /// Asks for the status, and plays. Also returns whether the server has kept the client waiting for both.
    async fn visit(
        &self,
        protocol: &Arc<Protocol>,
        connection: Option<ServerConnection>,
        stop: &Stop,
    ) -> (Visit, bool) {
        let mut options =
            VisitOptions::new(Arc::clone(protocol), self.server.clone(), &self.live.name);
        options.player = self.player.clone();
        options.has_account = self.has_account;
        options.stay = self.live.stay.0;
        options.patience = self.live.patience.0;
        let options = Arc::new(options);
        let mut visit = Visit::new(protocol, self.are_demanded);
        let status = |opening| Visitor::status(Arc::clone(&options), &opening);
        let asked = match connection {
            Some(connection) => Ok(Some(self.runner.run(connection, stop, status).await)),
            None => self.runner.connect(&self.server, stop, status).await,
        };
        let player = |opening| Visitor::player(Arc::clone(&options), &opening);
        let played = match &asked {
            Ok(_) => self.runner.connect(&self.server, stop, player).await,
            Err(_) => Ok(None),
        };
        let is_late =
            |it: &Result<Option<Visitor>, _>| matches!(it, Ok(Some(visitor)) if visitor.is_late());
        let is_silent = is_late(&asked) && is_late(&played);
        for visitor in [asked, played] {
            match visitor {
                Ok(Some(visitor)) => visit.add(&visitor),
                Ok(None) => {}
                Err(fault) => visit.end = format!("cannot reach {}: {fault}", self.server),
            }
        }
        (visit, is_silent)
    }
}

/// Returns the versions that a list names, and whether it names any.
fn versions(catalog: &Catalog, list: &[String]) -> anyhow::Result<(Vec<Arc<Protocol>>, bool)> {
    let mut versions: Vec<Arc<Protocol>> = Vec::new();
    let by_default = DEFAULT.map(str::to_owned);
    for item in if list.is_empty() { &by_default[..] } else { list } {
        let found = match item.split_once("..") {
            None => vec![version::find(catalog, item)?],
            Some((from, to)) => {
                let [from, to] = [from, to].map(|it| version::find(catalog, it));
                let range = from?.release()..=to?.release();
                let mut releases: Vec<Release> = catalog
                    .versions()
                    .map(|(number, _)| Release::new(Family::Java, number))
                    .filter(|it| range.contains(it))
                    .collect();
                releases.sort_unstable();
                let find = |it: Release| Some(catalog.find(it.number())?.protocol);
                releases.into_iter().filter_map(find).collect()
            }
        };
        if found.is_empty() {
            bail!("`--versions {item}`: no version is in this range; the older end comes first");
        }
        for protocol in found {
            if protocol.family() != Family::Java {
                bail!("`--versions {item}`: expected versions since 1.7");
            }
            if versions.iter().all(|known| known.version() != protocol.version()) {
                versions.push(protocol);
            }
        }
    }
    Ok((versions, !list.is_empty()))
}

/// Why a version is not visited behind one that the server has kept waiting.
const UNANSWERED: &str = "not visited: the server has not answered before";

/// The versions that are visited by default: with each of them much changed in the protocol.
const DEFAULT: [&str; 8] =
    ["1.8.9", "1.12.2", "1.16.5", "1.18.2", "1.19.4", "1.20.4", "1.21.4", "latest"];
