mod import;
mod prove;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::sync::LazyLock;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, ValueEnum};
use mitmcraft_engine::lang::closest;
use mitmcraft_engine::text::Escaped;
use mitmcraft_protocol::schema::{
    Catalog, Direction, LayoutField, Name, PacketType, Protocol, State, json_schema, typescript,
};
use serde_json::{Value as Json, json};

use super::args::{Protocols, Suggested};
use super::exit::Done;
use super::output::Output;
use super::version;

/// List versions, packets and what differs; describe a new version
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  mitmcraft protocols
  mitmcraft protocols latest
  mitmcraft protocols 1.8.9 play clientbound
  mitmcraft protocols 47 map_chunk
  mitmcraft protocols alpha-5 clientbound
  mitmcraft protocols beta-1.7.3 map_chunk
  mitmcraft protocols 47 play clientbound 0x21
  mitmcraft protocols diff 1.8.9 1.21.1
  mitmcraft protocols diff 1.20.4 1.21.1 configuration clientbound
  mitmcraft protocols diff 1.8.9 1.21.1 map_chunk
  mitmcraft protocols 1.21.4 --emit json-schema > packets.schema.json
  mitmcraft protocols 1.8.9 play --emit typescript > packets.d.ts
  mitmcraft protocols import generated/reports -o 778.json
  mitmcraft protocols prove session.jsonl --protocol 778.json"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    /// A protocol number or a version of the game: `47`, `1.8.9`, `latest`, `beta-1.7.3`, `alpha-5`,
    /// `legacy-ping`, `query`; or `diff` and two of them
    #[arg(value_parser = Suggested::new(versions), hide_possible_values = true)]
    version: Option<String>,
    /// Show only packets of this state (handshaking, status, login, configuration, play), of this
    /// direction (clientbound, serverbound), or with this name, official name or id (with its fields).
    /// `login` is a state and a packet: both are shown
    #[arg(value_name = "STATE|DIRECTION|PACKET")]
    select: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the types of the packets' `fields` in captures
    #[arg(long, value_name = "LANGUAGE", conflicts_with = "json", requires = "version")]
    emit: Option<Emit>,

    #[command(flatten)]
    protocols: Protocols,
}

#[derive(Debug, Subcommand)]
enum Action {
    Import(import::Arguments),
    Prove(prove::Arguments),
}

/// Returns what the first argument can be.
fn versions() -> &'static [String] {
    static WORDS: LazyLock<Vec<String>> =
        LazyLock::new(|| [&["diff".to_owned()], version::names()].concat());
    &WORDS
}

/// The language in which types are printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Emit {
    /// A JSON Schema (draft 7) of a capture's lines
    JsonSchema,
    /// TypeScript declarations, with a union of all packets
    Typescript,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    match &arguments.action {
        Some(Action::Import(arguments)) => return import::run(arguments, output),
        Some(Action::Prove(arguments)) => return prove::run(arguments, output),
        None => {}
    }
    let catalog = arguments.protocols.catalog()?;
    match (arguments.version.as_deref(), &arguments.select[..]) {
        (None, _) => list(&catalog, arguments.json, output),
        (Some("diff"), [old, new, words @ ..]) if arguments.emit.is_none() => {
            let (old, new) = (version::find(&catalog, old)?, version::find(&catalog, new)?);
            let selection = Selection::new(words)?;
            if selection.packets(&old).is_err() {
                selection.packets(&new)?;
            }
            diff(&old, &new, &selection, arguments.json, output)
        }
        (Some("diff"), _) if arguments.emit.is_some() => {
            bail!("`--emit` prints the types of one version, not what differs between two")
        }
        (Some("diff"), _) => bail!("`protocols diff` compares two versions: `diff 47 767`"),
        (Some(version), words) => {
            let protocol = version::find(&catalog, version)?;
            let selection = Selection::new(words)?;
            let packets = selection.packets(&protocol)?;
            let types = |packets| json_schema(&protocol, packets);
            match arguments.emit {
                Some(Emit::JsonSchema) => output.lines(&format!("{:#}", types(packets)))?,
                Some(Emit::Typescript) => output.lines(typescript(&types(packets)).trim_end())?,
                None => show(&protocol, &selection, packets, arguments.json, output)?,
            }
            Ok(Done::Yes)
        }
    }
}

fn list(catalog: &Catalog, json: bool, output: &Output) -> anyhow::Result<Done> {
    let mut old: Vec<_> = catalog.old().collect();
    old.sort_by_key(|protocol| protocol.release());
    let old = old.iter().map(|protocol| {
        let (name, of_game) = (version::old_name(protocol), protocol.name());
        let names: Vec<&str> = match catalog.legacy_names(protocol) {
            [] if *name == *of_game => vec!["before 1.7"],
            [] => vec![of_game],
            names => names.iter().map(|name| &**name).collect(),
        };
        (Json::from(name), names)
    });
    let new = catalog
        .versions()
        .map(|(number, names)| (Json::from(number), names.iter().map(|name| &**name).collect()));
    for (protocol, names) in old.chain(new) {
        if json {
            output.json(&json!({ "protocol": protocol, "versions": names }))?;
        } else {
            let protocol = protocol.as_str().map_or_else(|| protocol.to_string(), str::to_owned);
            output.line(&format!("{protocol:>11}  {}", names.join(", ")))?;
        }
    }
    Ok(Done::Yes)
}

fn show(
    protocol: &Protocol,
    selection: &Selection,
    packets: Vec<&PacketType>,
    json: bool,
    output: &Output,
) -> io::Result<()> {
    for packet in packets {
        let fields = || protocol.layout(packet, FIELD_LEVELS);
        if json {
            output.json(&as_json(protocol, packet, &fields()))?;
            continue;
        }
        output.line(&header(protocol, packet))?;
        if selection.packet.is_some() || selection.state_names(packet) {
            for field in fields() {
                output.line(&format!("    {}", row(&field)))?;
            }
        }
    }
    Ok(())
}

/// The packets that the user asked for.
#[derive(Default)]
struct Selection {
    state: Option<State>,
    direction: Option<Direction>,
    packet: Option<String>,
}

impl Selection {
    fn new(words: &[String]) -> anyhow::Result<Self> {
        let mut selection = Self::default();
        for word in words {
            if let Some(state) = word.parse().ok().filter(|_| selection.state.is_none()) {
                selection.state = Some(state);
            } else if let Ok(direction) = word.parse() {
                selection.direction = Some(direction);
            } else if let Some(packet) = &selection.packet {
                bail!("`{packet}` and `{word}`: expected one packet");
            } else {
                selection.packet = Some(word.clone());
            }
        }
        Ok(selection)
    }

    /// Returns the packets of a version that are selected, at least one.
    fn packets<'p>(&self, protocol: &'p Protocol) -> anyhow::Result<Vec<&'p PacketType>> {
        let packets: Vec<_> = protocol.packets().iter().filter(|packet| self.has(packet)).collect();
        if packets.is_empty() {
            let version = version::old_name(protocol);
            let names = protocol.packets().iter().map(|packet| &**packet.name());
            let near = self.packet.as_deref().and_then(|word| closest(word, names));
            match near {
                Some(near) => bail!("no such packet in protocol {version}: did you mean `{near}`?"),
                None => {
                    bail!("no such packet in protocol {version}: `protocols {version}` lists all")
                }
            }
        }
        Ok(packets)
    }

    /// Returns whether the word for a state, without a packet, is also the name of this packet: `login`.
    fn state_names(&self, packet: &PacketType) -> bool {
        self.packet.is_none() && self.state.is_some_and(|state| state.name() == &**packet.name())
    }

    fn has(&self, packet: &PacketType) -> bool {
        self.state.is_none_or(|state| state == packet.state() || self.state_names(packet))
            && self.direction.is_none_or(|direction| direction == packet.direction())
            && self.packet.as_ref().is_none_or(|word| {
                let id = match word.strip_prefix("0x") {
                    Some(hex) => i32::from_str_radix(hex, 16).ok(),
                    None => word.parse().ok(),
                };
                let is_named =
                    || **word == **packet.name() || packet.official_names().any(|it| *it == **word);
                id.map_or_else(is_named, |id| id == packet.id())
            })
    }
}

/// Compares the selected packets of two versions by their names. The answer is `No` if they differ.
fn diff(
    old: &Protocol,
    new: &Protocol,
    selection: &Selection,
    json: bool,
    output: &Output,
) -> anyhow::Result<Done> {
    let (before, after) = (by_name(old, selection), by_name(new, selection));
    let mut differs = false;
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let (one, other) = (before.get(key).copied(), after.get(key).copied());
        let fields = |protocol: &Protocol, packet: Option<&PacketType>| {
            packet.map_or_else(Vec::new, |packet| protocol.layout(packet, FIELD_LEVELS))
        };
        let (was, is) = (fields(old, one), fields(new, other));
        let moved = one.map(PacketType::id) != other.map(PacketType::id);
        if !moved && was == is {
            continue;
        }
        differs = true;
        let packet = other.or(one).context("a packet of neither version")?;
        let of = if other.is_some() { new } else { old };
        let gone: Vec<&LayoutField> = was.iter().filter(|field| !is.contains(field)).collect();
        let added: Vec<&LayoutField> = is.iter().filter(|field| !was.contains(field)).collect();
        if json {
            let ids = json!([one.map(PacketType::id), other.map(PacketType::id)]);
            let list = |fields: &[&LayoutField]| {
                fields.iter().map(|field| field_json(field)).collect::<Json>()
            };
            let mut line = as_json(of, packet, &[]);
            line["id"] = ids;
            line["fields"] = json!({ "removed": list(&gone), "added": list(&added) });
            output.json(&line)?;
            continue;
        }
        let mut text = match (one, other) {
            (Some(one), Some(other)) if moved => {
                format!("~ {}  (was 0x{:02x})", header(of, other), one.id())
            }
            (Some(_), Some(_)) => format!("~ {}", header(of, packet)),
            (None, _) => format!("+ {}", header(of, packet)),
            (_, None) => format!("- {}", header(of, packet)),
        };
        if one.is_some() && other.is_some() {
            for (sign, fields) in [('-', gone), ('+', added)] {
                for field in fields {
                    let _ = write!(text, "\n    {sign} {}", row(field));
                }
            }
        }
        output.lines(&text)?;
    }
    Ok(if differs { Done::No } else { Done::Yes })
}

fn by_name<'p>(
    protocol: &'p Protocol,
    selection: &Selection,
) -> BTreeMap<(State, Direction, &'p Name), &'p PacketType> {
    let packets = protocol.packets().iter().filter(|packet| selection.has(packet));
    packets.map(|it| ((it.state(), it.direction(), it.name()), it)).collect()
}

fn header(protocol: &Protocol, packet: &PacketType) -> String {
    let (state, direction) = (packet.state(), packet.direction());
    let official =
        protocol.official_name(packet).map(|name| format!(" ({name})")).unwrap_or_default();
    format!("{state:<13} {direction:<11} 0x{:02x}  {}{official}", packet.id(), packet.name())
}

fn row(field: &LayoutField) -> String {
    let condition = field.condition.as_ref().map(|it| format!("  if {it}"));
    format!("{}: {}{}", field.path, field.wire, condition.unwrap_or_default())
}

fn as_json(protocol: &Protocol, packet: &PacketType, fields: &[LayoutField]) -> Json {
    json!({
        "state": packet.state().name(),
        "dir": packet.direction().to_string(),
        "id": packet.id(),
        "packet": &**packet.name(),
        "official": protocol.official_name(packet),
        "fields": fields.iter().map(field_json).collect::<Json>(),
    })
}

fn field_json(field: &LayoutField) -> Json {
    let mut json = json!({ "path": field.path, "wire": field.wire });
    if let Some(condition) = &field.condition {
        json["if"] = json!(condition);
    }
    json
}

/// Lists packets, those of one state and direction in one line.
fn by_section(packets: impl Iterator<Item = (State, Direction, String)>) -> String {
    let mut sections: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for (state, direction, name) in packets {
        let key = (state as usize, direction.to_string());
        sections.entry((key, state)).or_default().push(Escaped(&name).to_string());
    }
    let mut text = String::new();
    for (((_, direction), state), names) in sections {
        let _ = writeln!(text, "  {state} {direction}: {}", names.join(", "));
    }
    text
}

/// Levels of nested fields that are listed: types of later versions are recursive.
const FIELD_LEVELS: usize = 6;
