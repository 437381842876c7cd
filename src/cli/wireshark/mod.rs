mod extcap;
mod install;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft_protocol::schema::{Family, Protocol};
use mitmcraft_protocol::wireshark::write_dissector;

pub(super) use extcap::Extcap;
use install::Folders;

use super::args::{Overwrite, Protocols, Suggested};
use super::exit::Done;
use super::output::Output;
use super::version;

/// Write a dissector for Wireshark that names every field
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft wireshark --install
  mitmcraft wireshark 1.8.9 1.20.4 -o minecraft.lua
  tshark -X lua_script:minecraft.lua -r session.pcapng -Y 'minecraft.map_chunk.x == -9'

The dissector reads captures of mitmcraft and recordings of tcpdump, up to the point at which a \
session is encrypted. `decode --keys` converts an encrypted recording to a capture.")]
pub(crate) struct Arguments {
    /// Protocol numbers or game versions: `47`, `1.8.9` [default: all known versions]
    #[arg(
        value_name = "VERSION",
        value_parser = Suggested::new(version::names),
        hide_possible_values = true
    )]
    versions: Vec<String>,

    /// Output file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write the dissector into the user's plugin folder of Wireshark, and add an interface
    /// `mitmcraft` to its start window, which records a session live (not on Windows)
    #[arg(long, conflicts_with = "output")]
    install: bool,

    #[command(flatten)]
    overwrite: Overwrite,

    #[command(flatten)]
    protocols: Protocols,

    /// Port of servers; sessions on other ports are detected by their handshake (repeatable)
    #[arg(short, long, value_name = "N", default_value = "25565")]
    port: Vec<u16>,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let protocols: Vec<Arc<Protocol>> = match &arguments.versions[..] {
        [] => {
            let old = catalog.old().filter(|it| has_sessions(it));
            old.chain(catalog.protocols().cloned()).collect()
        }
        versions => {
            let found = versions.iter().map(|name| {
                let found = version::find(&catalog, name)?;
                if !has_sessions(&found) {
                    bail!(
                        "`{name}` has no sessions that the dissector could read: name versions of \
                         the game, such as `1.8.9`"
                    );
                }
                Ok(found)
            });
            found.collect::<anyhow::Result<_>>()?
        }
    };
    let text = write_dissector(&protocols, &arguments.port);
    if arguments.install {
        let program = std::env::current_exe().context("cannot find the program")?;
        Folders::of_user()?.install(&text, &program, arguments.overwrite, output)?;
        return Ok(Done::Yes);
    }
    let Some(path) = &arguments.output else {
        output.lines(text.trim_end())?;
        return Ok(Done::Yes);
    };
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder `{}`", folder.display()))?;
    }
    arguments.overwrite.write(path, text)?;
    Ok(Done::Yes)
}

/// Returns whether a protocol has sessions, unlike the pings before 1.7 and Query.
fn has_sessions(protocol: &Protocol) -> bool {
    !matches!(protocol.family(), Family::LegacyPing | Family::Query)
}
