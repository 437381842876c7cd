//! Packets of real servers: the npm package `minecraft-packets`, 16 versions from 1.8.8 to 1.20.1.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mitmcraft_engine::analysis::Redactor;
use mitmcraft_engine::capture::{Entry, Record};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{
    Catalog, Direction, Flow, JsonVisitor, Leaf, Name, Scalar, State, Visitor, parse_uuid,
};
use serde_json::Value as Json;

/// A recorded packet, id and fields.
pub(crate) struct Real {
    /// The game version, for example `1.20.1`.
    pub(crate) version: String,
    name: String,
    pub(crate) file: PathBuf,
    pub(crate) body: Vec<u8>,
}

#[test]
fn every_real_packet_decodes_to_its_end_and_encodes_to_its_bytes() {
    let mut failures = Vec::new();
    for real in packets() {
        if let Err(failure) = comes_back(&real) {
            failures.push(format!("{}: {failure}", real.file.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_real_packet_decodes_as_another_decoder_did() {
    let mut agreed = 0;
    let mut failures = Vec::new();
    for real in packets() {
        let protocol = Catalog::embedded().by_name(&real.version).unwrap();
        let (packet, start) =
            protocol.identify(State::Play, Direction::Clientbound, &real.body).unwrap();
        let mut out = Vec::new();
        // The other decoder has lists of single bytes as numbers.
        let mut visitor = JsonVisitor::new(&mut out).with_bytes_as_numbers();
        protocol.walk(packet, &real.body, start, &mut visitor).unwrap();
        let ours: Json = serde_json::from_slice(&out).unwrap();
        let theirs = fs::read(real.file.with_extension("json")).unwrap();
        // The package has an empty file for a packet without fields.
        let theirs = if theirs.is_empty() { &b"null"[..] } else { &theirs };
        let theirs = corrected(&real.name, &ours, serde_json::from_slice(theirs).unwrap());
        match same(&ours, &theirs) {
            Ok(()) => agreed += 1,
            Err(_) if RENAMED.contains(&&*real.name) => {}
            Err(difference) => failures.push(format!("{}: {difference}", real.file.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(agreed, AGREED);
}

/// Real packets contain forms that nobody would think of: each must still decode after redaction,
/// without the UUIDs and player names of the original.
#[test]
fn every_real_packet_still_decodes_after_redaction() {
    let mut redactor = Redactor::new(b"seed");
    let mut failures = Vec::new();
    let mut changed = 0;
    for real in packets() {
        let protocol = Catalog::embedded().by_name(&real.version).unwrap();
        let context = Arc::new(Context {
            version: Some(protocol.version()),
            ..Context::new(1, Timestamp(0), "192.0.2.1:50000".parse().unwrap(), protocol)
        });
        let content = Content::Frame(Frame::from_body(real.body.clone().into()));
        let (direction, state) = (Direction::Clientbound, State::Play);
        let packet = Packet::new(context, 1, Timestamp(0), direction, state, content);
        let mut secrets = Secrets::default();
        packet.walk(&mut secrets).unwrap();
        let entry = Entry::Packet(Record::passed(packet));
        let Entry::Packet(after) = redactor.redact(entry) else { panic!() };
        let body = after.packet.body().unwrap();
        changed += usize::from(*body != real.body);
        let survives = |secret: &&Vec<u8>| body.windows(secret.len()).any(|it| it == **secret);
        match (after.packet.error(), &after.comment, secrets.found.iter().find(survives)) {
            (None, None, None) => {}
            failure => failures.push(format!("{}: {failure:?}", real.file.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(changed > 400, "{changed}");
}

/// Returns the UUIDs of a packet, and the names of players.
#[derive(Default)]
struct Secrets {
    name: String,
    found: Vec<Vec<u8>>,
}

impl Visitor for Secrets {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        match leaf.value {
            Scalar::Uuid(uuid) if uuid != 0 => self.found.push(uuid.to_be_bytes().to_vec()),
            Scalar::Text(text, encoding) => {
                let uuid = parse_uuid(&encoding.decode_lossy(text)).is_some_and(|uuid| uuid != 0);
                if uuid || self.name == "playerName" && !text.is_empty() {
                    self.found.push(text.to_vec());
                }
            }
            _ => {}
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.name = name.to_string();
        Flow::Continue(())
    }
}

/// Returns the fields of a packet without the errors of the tables that the other decoder shares
/// (`docs/upstream.md`).
fn corrected(name: &str, ours: &Json, mut theirs: Json) -> Json {
    match name {
        "map" if ours["columns"] == 128 && theirs["columns"] == -128 => {
            for key in ["columns", "rows", "x", "y"] {
                let number = theirs[key].as_i64().unwrap();
                theirs[key] = number.rem_euclid(256).into();
            }
        }
        "respawn" if ours["copyMetadata"].is_number() => {
            let copied = theirs["copyMetadata"].as_bool().unwrap();
            theirs["copyMetadata"] = i64::from(copied).into();
        }
        // Since 1.14 the game has this name for the parser.
        "declare_commands" => {
            let right = "minecraft:nbt_compound_tag";
            let nodes = theirs["nodes"].as_array_mut().unwrap();
            for (node, ours) in nodes.iter_mut().zip(ours["nodes"].as_array().unwrap()) {
                let parser = node.pointer_mut("/extraNodeData/parser");
                let parser = parser.filter(|it| *it == "minecraft:nbt");
                if let Some(parser) = parser.filter(|_| ours["extraNodeData"]["parser"] == right) {
                    *parser = right.into();
                }
            }
        }
        _ => {}
    }
    theirs
}

fn comes_back(real: &Real) -> Result<(), String> {
    let protocol = Catalog::embedded().by_name(&real.version).ok_or("version unknown")?;
    let (packet, start) = protocol
        .identify(State::Play, Direction::Clientbound, &real.body)
        .map_err(|error| error.to_string())?;
    if **packet.name() != *real.name {
        return Err(format!("taken for `{}`", packet.name()));
    }
    let measured = protocol.measure(packet, &real.body, start);
    if measured != Ok(real.body.len()) {
        return Err(format!("{measured:?} of {} bytes", real.body.len()));
    }
    let value = protocol.decode(packet, &real.body, start).map_err(|error| error.to_string())?;
    let encoded = protocol.encode(packet, &value).map_err(|error| error.to_string())?;
    if encoded != real.body {
        let first = encoded.iter().zip(&real.body).position(|(a, b)| a != b);
        return Err(format!("encodes to other bytes, the first at {first:?}"));
    }
    Ok(())
}

/// Returns every packet of the package.
pub(crate) fn packets() -> Vec<Real> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let modules = std::env::var_os("MITMCRAFT_NODE_MODULES").map(PathBuf::from);
    let modules = modules.unwrap_or_else(|| root.join("tests/real/node_modules"));
    let data = modules.join("minecraft-packets/minecraft-packets/data/pc");
    assert!(
        data.is_dir(),
        "no real packets in {}: run `npm install --prefix tests/real minecraft-packets@1.9.0`, or \
         say in MITMCRAFT_NODE_MODULES where they are",
        data.display()
    );
    let mut packets = Vec::new();
    let mut versions = 0;
    for version in entries(&data).into_iter().filter(|path| path.is_dir()) {
        versions += 1;
        for packet in entries(&version.join("from-server")) {
            let raw = |path: &PathBuf| path.extension().is_some_and(|it| it == "raw");
            for file in entries(&packet).into_iter().filter(raw) {
                let body = fs::read(&file).unwrap();
                packets.push(Real { version: name(&version), name: name(&packet), file, body });
            }
        }
    }
    assert_eq!((versions, packets.len()), (16, 3358), "not minecraft-packets 1.9.0");
    packets
}

fn entries(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Compares with node-minecraft-protocol's output: 64-bit integers in two halves, bytes as a
/// `Buffer`, 32-bit floats as 64-bit ones, and null for absent fields.
fn same(ours: &Json, theirs: &Json) -> Result<(), String> {
    let equal = match (ours, theirs) {
        (Json::Object(ours), Json::Object(theirs)) => {
            for (key, value) in ours {
                let other = theirs.get(key).unwrap_or(&Json::Null);
                same(value, other).map_err(|difference| format!(".{key}{difference}"))?;
            }
            let more = theirs.iter().find(|(key, it)| !ours.contains_key(*key) && !it.is_null());
            return more.map_or(Ok(()), |(key, value)| Err(format!(".{key}: only {value}")));
        }
        (Json::Array(ours), Json::Array(theirs)) if ours.len() == theirs.len() => {
            for (index, (value, other)) in ours.iter().zip(theirs).enumerate() {
                same(value, other).map_err(|difference| format!("[{index}]{difference}"))?;
            }
            return Ok(());
        }
        (Json::Number(ours), Json::Array(halves)) => match halves.as_slice() {
            [high, low] => match (ours.as_i64(), high.as_i64(), low.as_i64()) {
                (Some(ours), Some(high), Some(low)) => ours == high << 32 | low & 0xffff_ffff,
                _ => false,
            },
            _ => false,
        },
        (Json::Number(ours), Json::Number(theirs)) if ours.is_f64() => {
            let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            ours == theirs || ours as f32 == theirs as f32
        }
        (Json::String(ours), Json::Object(buffer)) if buffer.contains_key("data") => {
            let bytes = buffer["data"].as_array().unwrap().iter();
            let bytes: Vec<u8> = bytes.map(|byte| byte.as_u64().unwrap() as u8).collect();
            *ours == BASE64_STANDARD.encode(bytes)
        }
        _ => ours == theirs,
    };
    if equal { Ok(()) } else { Err(format!(": {ours} and not {theirs}")) }
}

/// Packets with fields whose names or forms in the tables have changed since they were recorded.
const RENAMED: &[&str] = &[
    "custom_payload",
    "difficulty",
    "entity_sound_effect",
    "entity_update_attributes",
    "entity_velocity",
    "game_state_change",
    "player_info",
    "sound_effect",
    "spawn_entity",
    "spawn_entity_living",
];

/// The number of packets that are equal in both; the others are of the kinds above.
const AGREED: usize = 2877;
