use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mitmcraft::proxy::{AskError, Clock, UpstreamName, ping};
use mitmcraft_engine::lang::amount::Period;
use mitmcraft_engine::link::Upstream;
use mitmcraft_engine::ping::{Form, Status};
use mitmcraft_engine::text::{Escaped, Styled};
use mitmcraft_protocol::packet::StyledText;
use mitmcraft_protocol::wire::bytes;
use serde_json::{Value as Json, json};

use super::args::{Choice, Overwrite, one_of};
use super::exit::Done;
use super::output::Output;
use super::run::look_up;

/// Ping a server: MOTD, version, players, latency
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft ping mc.example.org
  mitmcraft ping mc.example.org --form beta
  mitmcraft ping [::1]:25566 --json --icon icon.png

Exit code: 1 if the server does not answer.")]
pub(crate) struct Arguments {
    /// The server: `host[:port]` or `[ipv6]:port`. Without a port, its SRV record is looked up, and
    /// 25565 is used if there is none
    host: UpstreamName,

    /// Form of the Server List Ping
    #[arg(long, default_value = "auto", value_parser = one_of(FORMS))]
    form: &'static [Form],

    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,

    /// Write the server's icon to a PNG file
    #[arg(long, value_name = "FILE")]
    icon: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    /// How long to wait for the answer to each form
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = Period::positive)]
    timeout: Period,
}

/// The values of `--form`: forms to try one after the other.
const FORMS: &[Choice<&[Form]>] = &[
    ("auto", "Try the newest form first, then older ones until the server answers", &Form::ALL),
    ("1.7", "Status and ping, since 1.7", &[Form::V1_7]),
    ("1.6", "FE 01 FA, as 1.6", &[Form::V1_6]),
    ("1.4", "FE 01, as 1.4 and 1.5", &[Form::V1_4]),
    ("beta", "FE, as Beta 1.8 to 1.3", &[Form::Beta]),
];

pub(crate) async fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let server = look_up(&arguments.host).await?;
    let status = match first_answer(&server, arguments.form, arguments.timeout.0).await {
        Ok(status) => status,
        Err(why) => {
            output.error(&format!("{server}: {why}"));
            return Ok(Done::No);
        }
    };
    if let Some(path) = &arguments.icon {
        match &status.favicon {
            Some(icon) => arguments.overwrite.write(path, icon)?,
            None => output.warning("the server has no icon"),
        }
    }
    if arguments.json {
        output.json(&to_json(&server, &status))?;
    } else {
        output.lines(&describe(&status, output.colors_stdout()))?;
    }
    Ok(Done::Yes)
}

/// Returns the answer to the first form that has one, else why no form was answered.
async fn first_answer(
    server: &Upstream,
    forms: &[Form],
    timeout: Duration,
) -> Result<Status, String> {
    let clock = Clock::new();
    let mut reasons: Vec<(Form, String)> = Vec::new();
    for form in forms {
        match ping(&clock, server, *form, timeout).await {
            Ok(status) => return Ok(status),
            // Older forms use the same port.
            Err(AskError::Connect { cause, .. }) if reasons.is_empty() => {
                return Err(format!("cannot connect: {cause}"));
            }
            Err(error) => reasons.push((*form, error.to_string())),
        }
    }
    if let [(_, reason)] = reasons.as_slice() {
        return Err(reason.clone());
    }
    let reasons: Vec<String> =
        reasons.iter().map(|(form, reason)| format!("{form}: {reason}")).collect();
    Err(format!("no form was answered ({})", reasons.join("; ")))
}

fn describe(status: &Status, colored: bool) -> String {
    let clean = |text: &str| Escaped(StyledText::from_codes(text).plain()).to_string();
    let mut lines = Vec::new();
    let mut line = |name: &str, text: String| lines.push(format!("{name:<9}{text}"));
    // Each of its lines, so that none looks like one of the program.
    let motd = Styled(&status.motd(), colored).to_string();
    motd.split('\n').for_each(|part| line("motd", part.to_owned()));
    match (&status.version, status.protocol) {
        (Some(version), Some(protocol)) => {
            line("version", format!("{} (protocol {protocol})", clean(version)));
        }
        (Some(version), None) => line("version", clean(version)),
        (None, Some(protocol)) => line("version", format!("protocol {protocol}")),
        (None, None) => {}
    }
    let count =
        |count: Option<i64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let names: Vec<String> = status.sample.iter().map(|it| clean(&it.name)).collect();
    let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    line("players", format!("{}/{}{names}", count(status.online), count(status.max)));
    if let Some(latency) = status.latency {
        line("latency", format!("{:.1} ms", latency.as_secs_f64() * 1000.0));
    }
    if let Some((name, _)) = &status.mods {
        let count = status.mod_count().map_or_else(|| "?".to_owned(), |count| count.to_string());
        line("mods", format!("{count} ({name})"));
    }
    if let Some(icon) = &status.favicon {
        line("icon", format!("{} bytes", icon.len()));
    }
    line("form", status.form.to_string());
    if status.left > 0 {
        line("remark", format!("{} behind the status", bytes(status.left)));
    }
    lines.join("\n")
}

fn to_json(server: &Upstream, status: &Status) -> Json {
    // A chat component stays JSON; descriptions from before 1.7 are plain text.
    let description = serde_json::from_str(&status.description);
    let description = description.unwrap_or_else(|_| Json::from(status.description.as_str()));
    let sample = status.sample.iter().map(|it| json!({ "name": it.name, "id": it.id }));
    let mut out = json!({
        "host": server.host,
        "port": server.port,
        "form": status.form.name(),
        "latency_ms": status.latency.map(|it| it.as_secs_f64() * 1000.0),
        "motd": status.motd().plain(),
        "description": description,
        "version": status.version,
        "protocol": status.protocol,
        "online": status.online,
        "max": status.max,
        "sample": sample.collect::<Vec<_>>(),
        "icon_bytes": status.favicon.as_ref().map(bytes::Bytes::len),
    });
    if let Some((name, mods)) = &status.mods {
        out[name] = mods.clone();
    }
    if status.left > 0 {
        out["bytes_left"] = Json::from(status.left);
    }
    out["answer"] = Json::from(status.answer.as_str());
    out
}
