//! What prismarine-chunk, prismarine-item and minecraft-data say of the same bytes: packets of the game's
//! servers from 1.8.8 to 1.20.1, chunks of a flying-squid server in the newest versions that it knows, and
//! chunks that prismarine-chunk wrote up to the newest version it knows.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::contents::Contents;
use mitmcraft_protocol::meaning::{About, SessionMemory, meanings};
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State};
use serde_json::Value as Json;
use sha1::{Digest as _, Sha1};

use crate::support::Program;

pub(super) fn packet(line: &Json) -> Packet {
    let protocol = Catalog::embedded().by_name(line["version"].as_str().unwrap()).unwrap();
    let context = Context {
        version: Some(protocol.version()),
        ..Context::new(1, Timestamp(0), "192.0.2.1:50000".parse().unwrap(), protocol)
    };
    let body = BASE64_STANDARD.decode(line["body"].as_str().unwrap()).unwrap();
    let content = Content::Frame(Frame::from_body(body.into()));
    let (direction, state) = (Direction::Clientbound, State::Play);
    Packet::new(Arc::new(context), 1, Timestamp(0), direction, state, content)
}

#[test]
fn chunks_items_and_entities_are_what_prismarine_says() {
    let (status, out) = Program::node("chunks.js", &[]).finish();
    assert!(status.success(), "{out}");
    let mut compared: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = String::new();
    let mut types = SessionMemory::default();
    for line in out.lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        let (version, name) = (line["version"].as_str().unwrap(), line["name"].as_str().unwrap());
        let packet = packet(&line);
        assert_eq!(packet.kind().map(|kind| kind.name().to_string()).as_deref(), Some(name));
        let result = match (&line["states"], &line["items"], &line["keys"]) {
            (Json::String(_), ..) => same_chunk(&packet, &line),
            (_, Json::Array(_), _) => same_items(&packet, &line),
            (.., Json::Array(keys)) => names_keys(&packet, types.take(&packet), keys),
            _ => same_entity(&packet, &line),
        };
        match result {
            Ok(()) => {
                let from = if line["server"] == true { " of a server" } else { "" };
                *compared.entry(format!("{version} {name}{from}")).or_default() += 1;
            }
            Err(difference) => writeln!(failures, "{version} {name}: {difference}").unwrap(),
        }
    }
    assert!(failures.is_empty(), "{failures}");
    for version in ["1.8.8", "1.12.2", "1.16.5", "1.20.1", "1.20.4", "1.21.5", "26.1"] {
        assert!(compared.contains_key(&format!("{version} map_chunk")), "{compared:?}");
    }
    for name in ["1.8.8 spawn_entity_living", "1.8.8 named_entity_spawn", "1.20.1 entity_metadata"]
    {
        assert!(compared.contains_key(name), "{name}: {compared:?}");
    }
    for version in ["1.20.4", "1.21.4"] {
        let count = compared.get(&format!("{version} map_chunk of a server"));
        assert_eq!(count, Some(&8), "{version}: {compared:?}");
    }
    assert!(compared.values().sum::<usize>() > 150, "{compared:?}");
}

fn same_chunk(packet: &Packet, line: &Json) -> Result<(), String> {
    let contents = Contents::read(packet).unwrap().map_err(|error| error.to_string())?;
    let column = &contents.columns[0];
    let (bottom, top) = (line["bottom"].as_i64().unwrap(), line["top"].as_i64().unwrap());
    let mut hash = Sha1::new();
    for y in bottom as i32..top as i32 {
        let section = column.sections.iter().find(|it| it.origin[1] == y & !15);
        for (z, x) in (0..16).flat_map(|z| (0..16).map(move |x| (z, x))) {
            let (x, z) = (column.x * 16 + x, column.z * 16 + z);
            let state = section.map_or(Some(0), |section| section.state(x, y, z));
            let state = state.ok_or_else(|| format!("no block at {x}, {y}, {z}"))?;
            hash.update(state.to_le_bytes());
        }
    }
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if hash != line["states"] {
        return Err(format!("the blocks differ: {:?}", contents.summary().names.first()));
    }
    let names = &contents.summary().names;
    let names = serde_json::to_value(&names[..names.len().min(5)]).unwrap();
    if names != line["names"] {
        return Err(format!("names: {names}, not {}", line["names"]));
    }
    let mut biomes: HashMap<u64, u64> = HashMap::new();
    let cells = column.sections.iter().filter_map(|it| it.biomes.as_ref());
    let cells = cells.flat_map(|biomes| (0..64).filter_map(|at| biomes.get(at)));
    let numbers = column.biomes.iter().flat_map(|it| it.numbers());
    cells.chain(numbers).for_each(|it| *biomes.entry(it.into()).or_default() += 1);
    for pair in line["biomes"].as_array().unwrap() {
        let (biome, count) = (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
        if biomes.get(&biome).copied().unwrap_or_default() != count {
            return Err(format!("biome {biome}: {:?}, not {count}", biomes.get(&biome)));
        }
    }
    // From 1.14 to 1.17 light has packets of its own.
    for (number, theirs) in line["light"].as_array().unwrap().iter().enumerate() {
        let bottom = bottom as i32 + number as i32 * 16;
        let Some(section) = column.sections.iter().find(|it| it.origin[1] == bottom) else {
            continue;
        };
        let sum = |light: &Option<bytes::Bytes>| {
            let halves =
                light.iter().flatten().map(|byte| u64::from(byte & 15) + u64::from(byte >> 4));
            halves.sum::<u64>()
        };
        let ours = [sum(&section.block_light), sum(&section.sky_light)];
        if serde_json::to_value(ours).unwrap() != *theirs {
            return Err(format!("light of section {number}: {ours:?}, not {theirs}"));
        }
    }
    Ok(())
}

fn same_items(packet: &Packet, line: &Json) -> Result<(), String> {
    let ours: Vec<String> = meanings(packet, None)
        .into_iter()
        .filter(|(path, text)| {
            (path.ends_with(".itemId") || path.ends_with(".blockId")) && text != "empty"
        })
        .map(|(_, text)| text)
        .collect();
    match serde_json::to_value(&ours).unwrap() == line["items"] {
        true => Ok(()),
        false => Err(format!("items: {ours:?}, not {}", line["items"])),
    }
}

/// Checks that all keys of an entity's metadata have names. Of 1.8, the entities that only their metadata
/// shows are not known.
fn names_keys(packet: &Packet, entity: Option<About>, keys: &[Json]) -> Result<(), String> {
    let ours = meanings(packet, entity);
    let named = ours.iter().filter(|(path, _)| path.ends_with(".key")).count();
    let change = packet.kind().is_some_and(|kind| &**kind.name() == "entity_metadata");
    let unknown = change && entity.is_none();
    match unknown && packet.context().protocol.version() == 47 || named == keys.len() {
        true => Ok(()),
        false => Err(format!("{entity:?}: {ours:?} of the keys {keys:?}")),
    }
}

fn same_entity(packet: &Packet, line: &Json) -> Result<(), String> {
    let ours = meanings(packet, None).into_iter().find(|(path, _)| path == "type");
    match ours.as_ref().is_some_and(|(_, text)| *text == line["entity"]) {
        true => Ok(()),
        false => Err(format!("entity: {ours:?}, not {}", line["entity"])),
    }
}
