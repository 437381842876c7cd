use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::schema::{Catalog, Protocol, write_dissector};

use super::exit::Done;
use super::output::Output;
use super::version;

/// Write a Lua dissector for Wireshark: every field of the versions with a name and a type
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft wireshark -o ~/.local/lib/wireshark/plugins/minecraft.lua
  mitmcraft wireshark 1.8.9 1.20.4 -o minecraft.lua
  tshark -X lua_script:minecraft.lua -r session.pcapng -Y 'minecraft.map_chunk.x == -9'

It reads captures of ours and recordings of tcpdump alike, up to where a session is encrypted.
`decode --keys` makes a capture of an encrypted recording.")]
pub(crate) struct Arguments {
    /// Protocol numbers or versions of the game: `47`, `1.8.9`; without any: all that are known
    #[arg(value_name = "VERSION")]
    versions: Vec<String>,

    /// Where to; without it to stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// A port that servers listen on; others are found by their handshake (repeatable)
    #[arg(short, long, value_name = "N", default_value = "25565")]
    port: Vec<u16>,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let protocols: Vec<Arc<Protocol>> = match &arguments.versions[..] {
        [] => Catalog::embedded().protocols().cloned().collect(),
        versions => versions.iter().map(|it| version::find(it)).collect::<anyhow::Result<_>>()?,
    };
    let text = write_dissector(&protocols, &arguments.port);
    let Some(path) = &arguments.output else {
        output.line(text.trim_end())?;
        return Ok(Done::Yes);
    };
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(Done::Yes)
}
