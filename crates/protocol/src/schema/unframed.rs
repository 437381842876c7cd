use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value as Json, json};

use super::channels::CHANNELS;
use super::{Direction, Family, Match, Name, Protocol, packet_types};

/// The versions of an unframed game: a description that holds each layout once.
#[derive(Debug)]
pub(super) struct Unframed {
    family: Family,
    source: Json,
    versions: BTreeMap<i32, Version>,
}

#[derive(Debug)]
struct Version {
    /// The game versions with this number, oldest first; at least one.
    names: Box<[Name]>,
    /// Compiled on first use.
    protocol: OnceLock<Arc<Protocol>>,
}

impl Unframed {
    pub(super) fn read(family: Family, text: &str) -> Self {
        let source: Json = serde_json::from_str(text).expect(WRITTEN);
        let versions = source["versions"].as_object().into_iter().flatten();
        let versions = versions.filter_map(|(number, names)| {
            let names = items(names).filter_map(|name| name.as_str().map(Name::from));
            let version = Version { names: names.collect(), protocol: OnceLock::new() };
            Some((number.parse().ok()?, version))
        });
        Self { family, versions: versions.collect(), source }
    }

    /// Returns the protocol of a version, or of the nearest older one, or of the oldest.
    pub(super) fn find(&self, version: i32) -> Match {
        let older = self.versions.range(..=version).next_back();
        let (number, found) = older.or_else(|| self.versions.iter().next()).expect(WRITTEN);
        let protocol = found.protocol.get_or_init(|| {
            let name = found.names.last().expect(WRITTEN);
            let protocol = Protocol::built_in(*number, name, &derive(&self.source, *number));
            Arc::new(protocol.expect(WRITTEN).in_family(self.family))
        });
        Match { protocol: Arc::clone(protocol), exact: *number == version }
    }

    /// Iterates over the protocol numbers, oldest first.
    pub(super) fn numbers(&self) -> impl DoubleEndedIterator<Item = i32> + Clone {
        self.versions.keys().copied()
    }

    /// Returns the game versions of a protocol number, oldest first.
    pub(super) fn names(&self, version: i32) -> &[Name] {
        self.versions.get(&version).map_or(&[], |version| &version.names)
    }
}

/// Compiles the one version of a family, whose description is plain ProtoDef.
pub(super) fn only_version(family: Family, text: &str) -> Arc<Protocol> {
    let description = serde_json::from_str(text).expect(WRITTEN);
    let protocol = Protocol::built_in(0, family.name(), &description).expect(WRITTEN);
    Arc::new(protocol.in_family(family))
}

/// Builds the ProtoDef description of one version from the packets and fields that it has.
fn derive(source: &Json, version: i32) -> Json {
    let mut sides = Map::new();
    for direction in Direction::ALL {
        let (mut types, mut ids, mut cases) = (Map::new(), Map::new(), Map::new());
        for packet in items(&source["packets"]).filter(|packet| is_there(packet, version)) {
            let goes = packet["direction"].as_str().unwrap_or_default();
            let (Some(id), Some(name)) = (packet["id"].as_str(), packet["name"].as_str()) else {
                continue;
            };
            if goes != "both" && goes != direction.name() {
                continue;
            }
            let fields: Vec<&Json> =
                items(&packet["fields"]).filter(|field| is_there(field, version)).collect();
            let ty = format!("packet_{name}");
            ids.insert(id.to_owned(), json!(name));
            cases.insert(name.to_owned(), json!(ty));
            types.insert(ty, json!(["container", fields]));
        }
        types.insert("packet".to_owned(), packet_types("u8", ids, cases));
        sides.insert(direction.side().to_owned(), json!({ "types": types }));
    }
    let mut global = source["types"].clone();
    for ty in items(&source["typesByVersion"]).filter(|ty| is_there(ty, version)) {
        if let Some(name) = ty["name"].as_str() {
            global[name] = ty["type"].clone();
        }
    }
    let channels = items(&source[CHANNELS]).filter(|channel| is_there(channel, version));
    let layout =
        |channel: &Json| Some((channel["name"].as_str()?.into(), channel["layout"].clone()));
    let channels: Map<String, Json> = channels.filter_map(layout).collect();
    json!({ "types": global, "play": sides, CHANNELS: channels })
}

fn items(list: &Json) -> impl Iterator<Item = &Json> {
    list.as_array().into_iter().flatten()
}

/// Returns whether a packet, field or type exists in `version`. The compiler ignores both keys.
fn is_there(part: &Json, version: i32) -> bool {
    part["since"].as_i64().is_none_or(|since| since <= version.into())
        && part["until"].as_i64().is_none_or(|until| until >= version.into())
}

const WRITTEN: &str = "a test compiles every version of the embedded descriptions";
