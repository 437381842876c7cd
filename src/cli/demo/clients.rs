use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use mitmcraft::proxy::{self, Clock, EngineRunner, LogOptions, LogWriter, ReplayClient, Stop};
use mitmcraft_engine::capture::{Entry, EventKind, Sink};
use mitmcraft_engine::link::Upstream;
use mitmcraft_engine::ping::Form;
use mitmcraft_engine::query::{Kind, QueryOptions, Stat};
use mitmcraft_engine::replay::{ClientOptions, Tally};

use super::server::{Scene, Server};
use crate::cli::plural::count;
use crate::cli::report_sink::ReportSink;

/// Pings and plays 1.8, and before it the older generations if there is a relay of Query. Returns a line for
/// each client.
pub(super) async fn play_all(
    server: &Server,
    proxy: SocketAddr,
    query: Option<SocketAddr>,
) -> anyhow::Result<Vec<String>> {
    let (clock, mut lines) = (Clock::new(), Vec::new());
    let Some(query) = query else {
        ping(&clock, proxy, Form::V1_7).await?;
        return Ok(vec![play(proxy, Scene::Java).await?]);
    };
    for form in Form::ALL.into_iter().rev() {
        lines.push(ping(&clock, proxy, form).await?);
    }
    for kind in [Kind::Basic, Kind::Full] {
        let stat = proxy::query(&clock, &upstream(query), kind, QueryOptions::default()).await;
        lines.push(match stat.context("the demo's query")? {
            Stat::Basic(stat) => {
                let (players, max) = (stat.players, stat.max_players);
                format!("query, basic: `{}`, {players} of {max} players", stat.motd)
            }
            Stat::Full(stat) => format!("query, full: {}", stat.players.join(", ")),
        });
    }
    for (scene, name) in [(Scene::Alpha, "Alpha, protocol 5"), (Scene::Java, "1.8")] {
        server.show(scene)?;
        lines.push(format!("{name}: {}", play(proxy, scene).await?));
    }
    Ok(lines)
}

async fn ping(clock: &Clock, proxy: SocketAddr, form: Form) -> anyhow::Result<String> {
    let status = proxy::ping(clock, &upstream(proxy), form, TIMEOUT).await;
    let status = status.with_context(|| format!("the demo's ping, form {form}"))?;
    let count =
        |count: Option<i64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let motd = status.motd().plain().replace('\n', " / ");
    let (online, max) = (count(status.online), count(status.max));
    Ok(format!("ping, form {form}: `{motd}`, {online} of {max} players"))
}

/// Plays the client of a scene, and describes its session.
async fn play(proxy: SocketAddr, scene: Scene) -> anyhow::Result<String> {
    let (sink, report) = ReportSink::new(Report::default(), std::mem::take);
    let sinks = vec![sink.named("the demo's client")];
    let (log, writer) = LogWriter::start(sinks, LogOptions::default())?;
    let recording = scene.recording()?;
    let player = recording.context.player.clone().unwrap_or_default();
    let mut options = ClientOptions::new(recording);
    // The server says good-bye.
    options.hold = true;
    let runner = EngineRunner::new(log);
    let client = ReplayClient::new(upstream(proxy), options, runner, Tally::default());
    client.play(&player, &Stop::new()).await.context("the demo's client could not play")?;
    drop(client);
    tokio::task::spawn_blocking(|| writer.finish()).await?;
    Ok(report.await?.to_string())
}

/// The events of a client's session.
#[derive(Debug, Default)]
struct Report {
    sent: u64,
    received: u64,
    encrypted: bool,
    threshold: Option<usize>,
    ended: String,
}

impl Sink for Report {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let Entry::Event(event) = entry else { return Ok(()) };
        match &event.kind {
            EventKind::Open => {}
            EventKind::State(legs) => {
                (self.encrypted, self.threshold) = (legs.server_encrypted, legs.server_threshold);
            }
            EventKind::Close(summary) => {
                self.sent = summary.serverbound_packets;
                self.received = summary.clientbound_packets;
                self.ended.clone_from(&summary.reason);
            }
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encrypted = if self.encrypted { "encrypted" } else { "not encrypted" };
        write!(
            f,
            "the client sent {} and received {}, {encrypted} and ",
            count(self.sent, "packet"),
            self.received,
        )?;
        match self.threshold {
            Some(threshold) => write!(f, "compressed from {threshold} bytes")?,
            None => f.write_str("not compressed")?,
        }
        write!(f, "; {}", self.ended)
    }
}

fn upstream(address: SocketAddr) -> Upstream {
    Upstream { host: address.ip().to_string(), port: address.port() }
}

/// The longest wait for the answer to a ping.
const TIMEOUT: Duration = Duration::from_secs(10);
