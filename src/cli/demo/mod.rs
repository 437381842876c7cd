//! `demo`: embedded recordings played from both sides through the proxy.

mod clients;
mod server;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::proxy::{
    LogOptions, LogWriter, NamedSink, ProxyOptions, QueryProxyOptions, Stop, UpstreamName, factory,
};
use mitmcraft_engine::capture::{CreateOptions, FileType};
use mitmcraft_engine::filter::RuleSet;
use mitmcraft_protocol::schema::Catalog;

use super::args::{Lines, PlannedCaptures, Quiet, Verbose};
use super::exit::Done;
use super::listen::bind;
use super::output::{Level, Output};
use super::rule_effects::RuleEffects;
use super::rules::print_counts;
use super::run::Run;
use super::screen::Screen;
use super::services::Services;
use super::summary::SummaryReceiver;
use clients::play_all;
use server::Server;

/// Try it: a built-in client and server talk through the real proxy
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft demo
  mitmcraft demo -q && mitmcraft show -v demo.pcapng
  mitmcraft demo --all

A 1.8 client pings, logs in and plays for three seconds through the proxy, encrypted and \
compressed. With `--all`, all four Server List Pings, Query and a player of Alpha come first. \
Packets that repeat many times a second are shown as one line (`×20/s`), unless `-v` is given. \
`demo.jsonl` and `demo.pcapng` contain all packets.")]
pub(crate) struct Arguments {
    /// Folder for `demo.jsonl` and `demo.pcapng`
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// Show the older generations too: every Server List Ping, Query, and a player of Alpha
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    lines: Lines,

    #[command(flatten)]
    quiet: Quiet,
}

pub(crate) async fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = Catalog::embedded();
    let rules = if arguments.all { &[RULES, OLD_RULES].concat() } else { RULES };
    let rules = RuleSet::parse(rules, catalog).rules.context("the demo's rules have faults")?;
    // What the server and its clients see themselves is not recorded, only what the proxy sees.
    let (unrecorded, _) = LogWriter::start(Vec::new(), LogOptions::default())?;
    let server = Server::start(unrecorded).await.context("cannot start the demo's server")?;
    let upstream = server.address;

    let pipeline = factory(std::slice::from_ref(&rules)).fixed();
    let towards = UpstreamName { host: upstream.ip().to_string(), port: Some(upstream.port()) };
    let listener = bind(([127, 0, 0, 1], 0).into(), 16, "-l").await?;
    let (proxy, mut services, mut query) = (listener.local_addr()?, Services::default(), None);
    if arguments.all {
        let listen = ([127, 0, 0, 1], 0).into();
        let mut relayed = QueryProxyOptions::new(listen, vec![server.query], towards.to_string());
        relayed.pipeline = pipeline.clone();
        query = Some(services.query(relayed).await?);
    }
    std::fs::create_dir_all(&arguments.folder)
        .with_context(|| format!("cannot create the folder `{}`", arguments.folder.display()))?;
    let files = ["demo.jsonl", "demo.pcapng"].map(|name| arguments.folder.join(name));
    // The demo's own files, which it may replace.
    let mut created = CreateOptions::default();
    created.overwrite = true;
    let planned = PlannedCaptures::new(&files, FileType::JSONL, created, None)?;
    let (counting, summary) = SummaryReceiver::new();
    let mut sinks: Vec<NamedSink> = vec![counting];
    sinks.extend(planned.create()?);
    if !arguments.quiet.quiet {
        let verbosity = arguments.verbose.verbosity();
        let screen = Screen::new(verbosity, arguments.lines, false, output);
        sinks.push(screen.collapsed().named());
    }
    let (effects, mut done_by_rules) = RuleEffects::collect(output);
    sinks.push(effects);
    let mut proxied = ProxyOptions::new(towards);
    proxied.pipeline = pipeline;
    let mut log = LogOptions::default();
    log.passed = summary.passed.clone();
    let stop = Stop::new();
    let run =
        Run { listener, options: proxied, log, sinks, services, stop: stop.clone(), drain: None };
    let running = run.begin(output)?;
    let playing = tokio::spawn(async move {
        let played = play_all(&server, proxy, query).await;
        // Clients of a run that is stopped fail.
        if stop.is_stopped() {
            return Ok(Vec::new());
        }
        stop.stop("the demo is over");
        played
    });
    let served = running.serve(output).await;
    // They play on only if something else has stopped the run.
    playing.abort();
    let played = match playing.await {
        Err(error) if error.is_cancelled() => Ok(Vec::new()),
        ended => ended.context("the demo's client has failed")?,
    };
    let recorded = served?;
    let lines = played?;
    summary.print(TOP, output);
    output.note("what the rules did:");
    for line in done_by_rules.try_recv().into_iter().flatten() {
        output.message_lines(Level::Info, &line);
    }
    print_counts(std::slice::from_ref(&rules), output);
    for line in lines {
        output.note(&line);
    }
    for path in &files {
        output.note(&format!("written: {}", path.display()));
    }
    let [_, pcapng] = files.map(|it| it.display().to_string());
    output.note("next:");
    for next in [
        format!("mitmcraft show -Y role.chat {pcapng}"),
        format!("mitmcraft view {pcapng} --web --open"),
        "mitmcraft proxy YOUR.SERVER --lan".to_owned(),
    ] {
        output.note(&format!("  {next}"));
    }
    Ok(recorded)
}

/// Rows of the table of packets.
const TOP: usize = 10;

/// The demo's rules: one rewrites, one drops and answers, one leaves a comment.
const RULES: &str = r#"
[[rule]]
name = "shout"
when = 'serverbound and chat and message contains "Hello"'
set = { message = "=upper(message)" }

[[rule]]
name = "answer /help ourselves"
when = 'serverbound and chat and message == "/help"'
drop = true

[[rule.send]]
to = "client"
packet = "chat"
fields = { message = '{"text":"help is on its way, says the proxy"}', position = 0 }

[[rule]]
name = "point at explosions"
when = "explosion"
comment = "boom"
"#;

/// Rules for older generations: for the answers of pings and Query, and for NBT within gzip.
const OLD_RULES: &str = r#"
[[rule]]
name = "another name for the server"
when = "kick_disconnect and motd.exists"
set = { motd = "mitmcraft demo, as the proxy has it" }

[[rule]]
name = "one more player"
when = "stat and full.exists"
set = { "full.players[+]" = "Herobrine" }

[[rule]]
name = "repaint the sign"
when = 'tile_entity_data and nbtData.id == "Sign"'
set = { nbtData = { Text3 = "seen by the proxy" } }
"#;
