//! What `demo --all` shows besides: the generations before 1.8, each through the proxy.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use mitmcraft::demo::{DemoOptions, DemoReport, play_alpha};
use mitmcraft::link::Upstream;
use mitmcraft::ping::Form;
use mitmcraft::proxy::{self, Clock};
use mitmcraft::query::{Kind, QueryOptions, Stat};

use super::demo::told;

/// Pings in every form, the oldest first, asks by Query, and plays Alpha; what came of each.
pub(super) async fn play_old(
    proxy: SocketAddr,
    query: SocketAddr,
    options: &DemoOptions,
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
    let options = DemoOptions { duration: ALPHA, ..options.clone() };
    let report: DemoReport =
        play_alpha(proxy, options).await.context("the demo's client of Alpha could not play")?;
    lines.push(format!("Alpha, protocol 5: {}", told(&report)));
    Ok(lines)
}

fn server(address: SocketAddr) -> Upstream {
    Upstream { host: address.ip().to_string(), port: address.port() }
}

/// How long the game of Alpha takes.
const ALPHA: Duration = Duration::from_millis(750);
