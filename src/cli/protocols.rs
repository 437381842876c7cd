use std::fmt::Write as _;

use anyhow::bail;
use clap::Args;
use mitmcraft::schema::{Catalog, Direction, PacketType, Protocol, Shape, State};

use super::exit::Done;
use super::output::Output;
use super::version;

/// List the known versions, or the packets of one version
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft protocols
  mitmcraft protocols 47
  mitmcraft protocols 1.8.9 play clientbound
  mitmcraft protocols 47 play clientbound map_chunk")]
pub(crate) struct Arguments {
    /// A protocol number or a version of the game: `47`, `1.8.9`
    version: Option<String>,
    /// Show only packets of this state: handshaking, status, login, configuration, play
    state: Option<State>,
    /// Show only packets of this direction: clientbound, serverbound
    direction: Option<Direction>,
    /// Show only this packet, with its fields
    packet: Option<String>,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = Catalog::embedded();
    let Some(version) = &arguments.version else {
        let mut text = String::new();
        for (number, names) in catalog.versions() {
            let names: Vec<&str> = names.iter().map(|name| &**name).collect();
            let _ = writeln!(text, "{number:>10}  {}", names.join(", "));
        }
        output.line(text.trim_end())?;
        return Ok(Done::Yes);
    };
    let protocol = version::find(version)?;
    let packets: Vec<&PacketType> =
        protocol.packets().iter().filter(|packet| is_selected(&arguments, packet)).collect();
    if packets.is_empty() {
        bail!("no such packet in protocol {}", protocol.version());
    }
    let mut text = String::new();
    for packet in packets {
        print(&mut text, &protocol, packet, arguments.packet.is_some());
    }
    output.line(text.trim_end())?;
    Ok(Done::Yes)
}

fn is_selected(arguments: &Arguments, packet: &PacketType) -> bool {
    arguments.state.is_none_or(|state| state == packet.state())
        && arguments.direction.is_none_or(|direction| direction == packet.direction())
        && arguments.packet.as_ref().is_none_or(|name| **name == **packet.name())
}

fn print(text: &mut String, protocol: &Protocol, packet: &PacketType, fields: bool) {
    let (state, direction) = (packet.state(), packet.direction());
    let _ = writeln!(text, "{state:<13} {direction:<11} 0x{:02x}  {}", packet.id(), packet.name());
    if fields {
        for (path, kinds) in Shape::of(protocol, packet).outline(FIELD_LEVELS) {
            let _ = writeln!(text, "    {path}: {kinds}");
        }
    }
}

/// Levels of nested fields that are listed: types of later versions are recursive.
const FIELD_LEVELS: usize = 6;
