use clap::Args;
use mitmcraft::proxy::{Clock, UpstreamName, query};
use mitmcraft_engine::lang::amount::Period;
use mitmcraft_engine::link::Upstream;
use mitmcraft_engine::query::{Kind, QueryOptions, Stat};
use mitmcraft_engine::text::Styled;
use mitmcraft_protocol::packet::StyledText;
use serde_json::{Value as Json, json};

use super::exit::Done;
use super::output::Output;
use super::run::look_up;

/// Query a server over UDP: map, plugins, all players
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft query mc.example.org
  mitmcraft query mc.example.org:25570 --basic
  mitmcraft query localhost --json

A server answers if its `server.properties` has `enable-query=true`.

Exit code: 1 if the server does not answer.")]
pub(crate) struct Arguments {
    /// The server: `host[:port]` or `[ipv6]:port`. Without a port, its SRV record is looked up, and
    /// 25565 is used if there is none
    host: UpstreamName,

    /// Request the basic stat instead of the full one
    #[arg(long)]
    basic: bool,

    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,

    /// How long to wait for an answer before trying again
    #[arg(long, value_name = "DURATION", default_value = "2", value_parser = Period::positive)]
    timeout: Period,

    /// Maximum number of tries
    #[arg(long, value_name = "N", default_value_t = 3)]
    tries: u32,
}

pub(crate) async fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let server = look_up(&arguments.host).await?;
    let kind = if arguments.basic { Kind::Basic } else { Kind::Full };
    let mut options = QueryOptions::default();
    options.tries = arguments.tries;
    options.timeout = arguments.timeout.0;
    let stat = match query(&Clock::new(), &server, kind, options).await {
        Ok(stat) => stat,
        Err(why) => {
            output.error(&format!("{server}: {why}"));
            return Ok(Done::No);
        }
    };
    if let Stat::Full(full) = &stat {
        for (key, _) in full.values.iter().filter(|(_, value)| value.contains('\0')) {
            output.warning(&format!("the value of `{key}` contains a NUL, which ends a value"));
        }
    }
    if arguments.json {
        output.json(&to_json(&server, &stat))?;
    } else {
        output.lines(&describe(&stat, output.colors_stdout()))?;
    }
    Ok(Done::Yes)
}

fn describe(stat: &Stat, colored: bool) -> String {
    let clean = |text: &str| {
        // A line break would begin what looks like another value.
        let text = text.replace('\n', "\\n");
        Styled(&StyledText::from_codes(&text), colored).to_string()
    };
    match stat {
        Stat::Basic(basic) => {
            let lines = [
                format!("motd     {}", clean(&basic.motd)),
                format!("game     {}", clean(&basic.game_type)),
                format!("map      {}", clean(&basic.world)),
                format!("players  {}/{}", clean(&basic.players), clean(&basic.max_players)),
                format!("address  {}:{}", clean(&basic.host), basic.port),
            ];
            lines.join("\n")
        }
        Stat::Full(full) => {
            let width = full.values.iter().map(|(key, _)| key.chars().count()).max();
            let width = width.unwrap_or(0).clamp(7, 20);
            let value = |(key, value): &(String, String)| {
                format!("{:<width$}  {}", clean(key), clean(value))
            };
            let mut lines: Vec<String> = full.values.iter().map(value).collect();
            let players: Vec<String> = full.players.iter().map(|name| clean(name)).collect();
            lines.push(format!("{:<width$}  {}", "players", players.join(", ")));
            lines.join("\n")
        }
    }
}

fn to_json(server: &Upstream, stat: &Stat) -> Json {
    let (host, port) = (&server.host, server.port);
    match stat {
        Stat::Basic(basic) => json!({
            "host": host,
            "port": port,
            "kind": "basic",
            "motd": basic.motd,
            "game_type": basic.game_type,
            "map": basic.world,
            "players": basic.players,
            "max_players": basic.max_players,
            "host_port": basic.port,
            "host_ip": basic.host,
        }),
        Stat::Full(full) => {
            let pair = |(key, value): &(String, String)| json!([key, value]);
            json!({
                "host": host,
                "port": port,
                "kind": "full",
                "values": full.values.iter().map(pair).collect::<Vec<_>>(),
                "players": full.players,
            })
        }
    }
}
