use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::capture::{CreateOptions, create_sink};
use mitmcraft::demo::{DemoOptions, DemoReport, DemoServer, play};
use mitmcraft::filter::RuleSet;
use mitmcraft::proxy::{LogOptions, NamedSink, Notices, UpstreamName, factory};
use mitmcraft::schema::Catalog;
use mitmcraft::session::Config;

use super::exit::Done;
use super::output::Output;
use super::proxy::tell_counts;
use super::run::Run;
use super::screen::{Counted, Screen};
use super::show::verbosity;

/// See the main job with nothing else installed: a server and a client of our own, and the real
/// proxy between them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft demo
  mitmcraft demo -q && mitmcraft show -v demo.pcapng

A 1.8 client pings, logs in and plays for three seconds, encrypted and compressed, through the
proxy. `demo.jsonl` and `demo.pcapng` hold all of it.")]
pub(crate) struct Arguments {
    /// Where `demo.jsonl` and `demo.pcapng` go
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// Show all fields; twice: with hex
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,

    /// Show nothing but the summary
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(demo(arguments, output))
}

async fn demo(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let options = DemoOptions::default();
    let catalog = Catalog::embedded();
    let rules = RuleSet::parse(RULES, catalog).rules.context("the demo's rules have faults")?;
    let server = DemoServer::bind("127.0.0.1:0", options.clone())
        .await
        .context("cannot start the demo's server")?;
    let upstream = server.local_addr();

    let (counted, summary) = Counted::named();
    let mut sinks: Vec<NamedSink> = vec![counted];
    let files = ["demo.jsonl", "demo.pcapng"].map(|name| arguments.folder.join(name));
    for path in &files {
        sinks.push((path.display().to_string(), create_sink(path, &CreateOptions::default())?));
    }
    if !arguments.quiet {
        sinks.push(Screen::new(verbosity(arguments.verbose), false, output).named());
    }
    let run = Run {
        listen: ([127, 0, 0, 1], 0).into(),
        upstream: UpstreamName { host: upstream.ip().to_string(), port: Some(upstream.port()) },
        config: Config::default(),
        max_sessions: 16,
        authority: None,
        key_log: None,
        notices: Notices::default(),
        log: LogOptions::default(),
        sinks,
        query: None,
        pipeline: factory(std::slice::from_ref(&rules)).fixed(),
    };
    let running = run.start().await?;
    let (proxy, stop) = (running.address, running.stop.clone());
    let playing = tokio::spawn(async move {
        let played = play(proxy, options).await;
        stop.stop("the demo is over");
        played
    });
    let served = running.serve(output).await;
    let report = playing.await.context("the demo's client has failed")?;
    server.stop().await;
    served?;
    let report = report.context("the demo's client could not play")?;
    if let Ok(summary) = summary.try_recv() {
        let mut table = String::new();
        summary.overall().write_table(&mut table);
        output.note(table.trim_end());
    }
    tell_counts(std::slice::from_ref(&rules), output);
    output.note(&told(&report));
    for path in files {
        output.note(&format!("written: {}", path.display()));
    }
    Ok(Done::Yes)
}

/// What the demo's rules do: one rewrites, one drops and answers, one leaves a comment.
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

/// What the client says of it.
fn told(report: &DemoReport) -> String {
    let encrypted = if report.encrypted { "encrypted" } else { "not encrypted" };
    let compressed = match report.threshold {
        Some(threshold) => format!("compressed from {threshold} bytes"),
        None => "not compressed".to_owned(),
    };
    let kick = report.kick.as_deref().unwrap_or("nobody");
    format!(
        "the client sent {} packets and received {}, {encrypted} and {compressed}; kicked: {kick}",
        report.sent.values().sum::<u64>(),
        report.received.values().sum::<u64>(),
    )
}
