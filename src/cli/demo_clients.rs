//! The clients of `demo`, each through the proxy.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use mitmcraft::demo::{DemoOptions, DemoReport, play, play_alpha};
use mitmcraft::proxy::{self, Clock, LogHandle};
use mitmcraft_engine::link::Upstream;
use mitmcraft_engine::ping::Form;
use mitmcraft_engine::query::{Kind, QueryOptions, Stat};

use super::plural::count;

/// Plays 1.8, and before it the older generations if there is a relay of Query. Returns a line for
/// each.
pub(super) async fn play_all(
    proxy: SocketAddr,
    query: Option<SocketAddr>,
    options: DemoOptions,
    log: LogHandle,
) -> anyhow::Result<Vec<String>> {
    let mut lines = match query {
        Some(query) => play_old(proxy, query, &options, log.clone()).await?,
        None => Vec::new(),
    };
    let report = play(proxy, options, log).await.context("the demo's client could not play")?;
    let version = if lines.is_empty() { "" } else { "1.8: " };
    lines.push(format!("{version}{}", describe(&report)));
    Ok(lines)
}

/// Pings in every form, the oldest first, requests by Query, and plays Alpha. Returns a line for
/// each.
async fn play_old(
    proxy: SocketAddr,
    query: SocketAddr,
    options: &DemoOptions,
    log: LogHandle,
) -> anyhow::Result<Vec<String>> {
    let clock = Clock::new();
    let mut lines = Vec::new();
    for form in Form::ALL.into_iter().rev() {
        let status = proxy::ping(&clock, &server(proxy), form, options.timeout).await;
        let status = status.with_context(|| format!("the demo's ping, form {form}"))?;
        let count =
            |count: Option<i64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
        let motd = status.motd().plain().replace('\n', " / ");
        let (online, max) = (count(status.online), count(status.max));
        lines.push(format!("ping, form {form}: `{motd}`, {online} of {max} players"));
    }
    for kind in [Kind::Basic, Kind::Full] {
        let stat = proxy::query(&clock, &server(query), kind, QueryOptions::default()).await;
        lines.push(match stat.context("the demo's query")? {
            Stat::Basic(stat) => {
                let (players, max) = (stat.players, stat.max_players);
                format!("query, basic: `{}`, {players} of {max} players", stat.motd)
            }
            Stat::Full(stat) => format!("query, full: {}", stat.players.join(", ")),
        });
    }
    let mut alpha = options.clone();
    alpha.duration = ALPHA;
    let report: DemoReport =
        play_alpha(proxy, alpha, log).await.context("the demo's client of Alpha could not play")?;
    lines.push(format!("Alpha, protocol 5: {}", describe(&report)));
    Ok(lines)
}

fn server(address: SocketAddr) -> Upstream {
    Upstream { host: address.ip().to_string(), port: address.port() }
}

fn describe(report: &DemoReport) -> String {
    let encrypted = if report.encrypted { "encrypted" } else { "not encrypted" };
    let compressed = match report.threshold {
        Some(threshold) => format!("compressed from {threshold} bytes"),
        None => "not compressed".to_owned(),
    };
    let kick = report.kick.as_deref().unwrap_or("nobody");
    format!(
        "the client sent {} and received {}, {encrypted} and {compressed}; kicked: {kick}",
        count(report.sent, "packet"),
        report.received,
    )
}

/// The duration of the game of Alpha.
const ALPHA: Duration = Duration::from_millis(750);
