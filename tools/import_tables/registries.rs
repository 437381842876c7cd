//! Writes `crates/protocol/src/meaning/data/registries.bin`: the names that each version gives to items, blocks,
//! entities, effects, particles, sounds, biomes, enchantments, potions and block entities, and the keys of
//! entities' metadata.
//! `docs/protocol-tables.md` says what the file holds.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Map, Value as Json, json};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::lists::{BLOCK_ENTITIES, POTIONS};
use crate::metadata;
use crate::patches::{DERIVED, EXCLUDED};
use crate::reports;
use crate::{Listed, Outcome, number, object, read, text};

/// The names of each kind, by protocol number and the kind's place.
pub(super) type Registries = BTreeMap<(i32, usize), Vec<String>>;

/// Compresses the registries of all versions. Returns the file and its inflated size.
pub(super) fn pack(data: &Path, source: &str, listed: &[Listed]) -> Outcome<(Vec<u8>, usize)> {
    let mut registries = collect(data, listed)?;
    reports::correct(&mut registries)?;
    let plain = layout(source, &registries);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain.as_bytes())?;
    Ok((encoder.finish()?, plain.len()))
}

/// Collects the names that `minecraft-data` and the lists here have.
pub(super) fn collect(data: &Path, listed: &[Listed]) -> Outcome<Registries> {
    let mut registries = Registries::new();
    let paths = read(&data.join("dataPaths.json"))?;
    for (name, places) in object(&paths, "pc")? {
        if EXCLUDED.iter().any(|(excluded, _)| excluded == name) {
            continue;
        }
        let version = match listed.iter().find(|it| it.name == *name) {
            Some(known) => known.number,
            None => number(&read(&data.join(text(places, "version")?).join("version.json"))?)?,
        };
        for (place, kind) in KINDS.iter().enumerate() {
            let missing = FLATTENING.contains(&version) && kind.flattened
                || kind.name == ENCHANTMENT && version > LAST_ENCHANTMENTS;
            let Some(folder) = places[kind.file].as_str().filter(|_| !missing) else { continue };
            let file = read(&data.join(folder).join(format!("{}.json", kind.file)))?;
            let list = file.as_array().ok_or_else(|| format!("{folder}: {} no list", kind.file))?;
            let tokens = (kind.tokens)(list)?;
            let tokens: Vec<String> = match kind.name {
                "effect" => tokens.into_iter().map(game_effect).collect(),
                _ => tokens,
            };
            if !tokens.is_empty() {
                registries.insert((version, place), tokens);
            }
        }
    }
    for (version, name, start, names) in ADDED {
        let tokens = registries.get_mut(&(version, place_of(name)?)).ok_or("no list to add to")?;
        add(tokens, start, names)?;
    }
    for (snapshot, release) in SNAPSHOTS {
        for name in ["item", "block", "entity", "effect", "biome", ENCHANTMENT] {
            let place = place_of(name)?;
            let tokens = registries.get(&(release, place)).ok_or("no list of the release")?;
            registries.insert((snapshot, place), tokens.clone());
        }
    }
    let versions: BTreeSet<i32> = registries.keys().map(|(version, _)| *version).collect();
    for version in versions.into_iter().chain([LAST + 1]) {
        for (name, list) in [("potion", POTIONS), ("block_entity", BLOCK_ENTITIES)] {
            let place = place_of(name)?;
            if let Some(tokens) = list.tokens(version) {
                registries.insert((version, place), tokens);
            }
        }
    }
    let is_release = |version| listed.iter().any(|it| it.number == version && it.release);
    let known: BTreeSet<i32> = registries.keys().map(|(version, _)| *version).collect();
    let lacking = known.into_iter().filter(|it| METADATA_LACKS.contains(it) && is_release(*it));
    for version in lacking.chain([5, 47]) {
        registries.insert((version, METADATA), metadata::tokens(version)?);
    }
    compare_metadata(&registries)?;
    for derived in DERIVED.iter().filter(|it| it.like < LAST) {
        for (place, _) in KINDS.iter().enumerate() {
            if let Some(tokens) = registries.get(&(derived.like, place)).cloned() {
                registries.insert((derived.version, place), tokens);
            }
        }
    }
    Ok(registries)
}

fn place_of(name: &str) -> Outcome<usize> {
    Ok(KINDS.iter().position(|kind| kind.name == name).ok_or("no such kind")?)
}

/// Adds names whose numbers follow `start` to a list in which each name has one number.
fn add(tokens: &mut Vec<String>, start: i64, names: &str) -> Outcome<()> {
    let mut number = 0;
    let mut all = Vec::new();
    for token in tokens.iter() {
        if let Some(next) = token.strip_prefix('@') {
            number = next.parse()?;
            continue;
        }
        all.push((number, 1, token.clone()));
        number += 1;
    }
    for (number, name) in (start..).zip(names.split(' ')) {
        if all.iter().any(|(known, ..)| *known == number) {
            return Err(format!("minecraft-data has {name} now: remove it from `ADDED`").into());
        }
        all.push((number, 1, name.to_owned()));
    }
    *tokens = numbered(all);
    Ok(())
}

/// Compares the classes of `metadata.txt` with the first version of minecraft-data that has keys.
fn compare_metadata(registries: &Registries) -> Outcome<()> {
    let first = METADATA_LACKS.end() + 1;
    let ours = metadata::tokens(first)?;
    let theirs = registries.get(&(first, METADATA)).ok_or("no keys of metadata")?;
    let name = |token: &str| token.split('[').next().map(str::to_owned);
    for token in theirs {
        let known = ours.iter().find(|it| name(it) == name(token));
        if known.is_some_and(|known| known != token) {
            return Err(format!("metadata.txt has {known:?}, minecraft-data {token}").into());
        }
    }
    Ok(())
}

/// The file before it is compressed: a line of JSON, then a line for each distinct registry, which
/// repeats parts of an earlier one of its kind.
fn layout(source: &str, registries: &Registries) -> String {
    let mut lines = Vec::new();
    let mut distinct: Vec<(usize, &Vec<String>)> = Vec::new();
    let mut versions: BTreeMap<i32, Map<String, Json>> = BTreeMap::new();
    for (place, kind) in KINDS.iter().enumerate() {
        let of_kind = registries.iter().filter(|((_, it), _)| *it == place);
        for ((version, _), tokens) in of_kind {
            let known = distinct.iter().position(|it| *it == (place, tokens));
            let line = known.unwrap_or_else(|| {
                let base = distinct.iter().rposition(|(it, _)| *it == place);
                lines.push(difference(base.map(|base| (base, distinct[base].1)), tokens));
                distinct.push((place, tokens));
                distinct.len() - 1
            });
            versions.entry(*version).or_default().insert(kind.name.to_owned(), json!(line));
        }
    }
    let versions: Map<String, Json> =
        versions.into_iter().map(|(version, kinds)| (version.to_string(), kinds.into())).collect();
    let head = json!({ "source": source, "versions": versions });
    [head.to_string()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// A registry: `<BASE` if it repeats parts of another, then names and repeated parts `START+COUNT`.
pub(super) fn difference(base: Option<(usize, &Vec<String>)>, tokens: &[String]) -> String {
    let Some((number, base)) = base else { return tokens.join(" ") };
    let mut parts = vec![format!("<{number}")];
    for op in capture_diff_slices(Algorithm::Myers, base, tokens) {
        match op {
            DiffOp::Equal { old_index, len, .. } => parts.push(format!("{old_index}+{len}")),
            DiffOp::Insert { new_index, new_len, .. }
            | DiffOp::Replace { new_index, new_len, .. } => {
                parts.extend(tokens[new_index..new_index + new_len].iter().cloned());
            }
            DiffOp::Delete { .. } => {}
        }
    }
    parts.join(" ")
}

pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The file of minecraft-data, without its ending.
    file: &'static str,
    /// The registry in the game's reports; empty if none has it.
    pub(super) registry: &'static str,
    /// `true` if the flattening of 1.13 changed its numbers.
    flattened: bool,
    tokens: fn(&[Json]) -> Outcome<Vec<String>>,
}

pub(super) const KINDS: [Kind; 11] = [
    Kind { name: "item", file: "items", registry: "item", flattened: true, tokens: named },
    Kind { name: "block", file: "blocks", registry: "block", flattened: true, tokens: blocks },
    Kind {
        name: "entity",
        file: "entities",
        registry: "entity_type",
        flattened: true,
        tokens: entities,
    },
    Kind {
        name: "effect",
        file: "effects",
        registry: "mob_effect",
        flattened: false,
        tokens: named,
    },
    Kind {
        name: "particle",
        file: "particles",
        registry: "particle_type",
        flattened: false,
        tokens: named,
    },
    Kind {
        name: "sound",
        file: "sounds",
        registry: "sound_event",
        flattened: false,
        tokens: sounds,
    },
    Kind { name: "biome", file: "biomes", registry: "biome", flattened: false, tokens: named },
    Kind {
        name: ENCHANTMENT,
        file: "enchantments",
        registry: "enchantment",
        flattened: true,
        tokens: named,
    },
    // `lists.rs` has these.
    Kind { name: "potion", file: "", registry: "potion", flattened: true, tokens: named },
    Kind {
        name: "block_entity",
        file: "",
        registry: "block_entity_type",
        flattened: true,
        tokens: named,
    },
    Kind { name: "metadata", file: "entities", registry: "", flattened: false, tokens: keys },
];

/// The place of the metadata's keys, which are the last.
const METADATA: usize = KINDS.len() - 1;

/// Versions from 1.9 on whose keys minecraft-data does not have.
const METADATA_LACKS: std::ops::RangeInclusive<i32> = 107..=761;

/// Names in the order of their numbers, with `@N` before one whose number does not follow the last.
pub(super) fn numbered(mut names: Vec<(i64, i64, String)>) -> Vec<String> {
    names.sort_by_key(|(number, ..)| *number);
    names.dedup_by_key(|(number, ..)| *number);
    let mut next = 0;
    let mut tokens = Vec::new();
    for (number, count, name) in names {
        if number != next {
            tokens.push(format!("@{number}"));
        }
        tokens.push(name);
        next = number + count;
    }
    tokens
}

fn named(list: &[Json]) -> Outcome<Vec<String>> {
    Ok(numbered(list.iter().map(entry).collect::<Outcome<_>>()?))
}

/// The game's name of an effect, which minecraft-data calls by another in most versions.
fn game_effect(name: String) -> String {
    if name == "bad_luck" { "unluck".into() } else { name }
}

fn entry(it: &Json) -> Outcome<(i64, i64, String)> {
    let number = it["id"].as_i64().ok_or_else(|| format!("no `id` in {it}"))?;
    Ok((number, 1, snake(text(it, "name")?)))
}

/// Entities; before 1.14 only those that are no objects, whose numbers are others.
fn entities(list: &[Json]) -> Outcome<Vec<String>> {
    let list = list.iter().filter(|it| it["type"] != "object");
    let names = list.map(|it| {
        let (number, count, name) = entry(it)?;
        // Before 1.11 the names of the game's classes.
        let official = OFFICIAL.iter().find(|(old, _)| it["name"] == **old);
        Ok((number, count, official.map_or(name, |(_, name)| (*name).to_owned())))
    });
    Ok(numbered(names.collect::<Outcome<_>>()?))
}

/// The keys of the metadata of each entity, `creeper[shared_flags,..]`; none before 1.19.4.
fn keys(list: &[Json]) -> Outcome<Vec<String>> {
    let with_keys = list.iter().filter_map(|it| Some((it, it["metadataKeys"].as_array()?)));
    let tokens = with_keys.map(|(it, keys)| {
        let keys: Vec<&str> = keys.iter().filter_map(Json::as_str).collect();
        Ok(format!("{}[{}]", text(it, "name")?, keys.join(",")))
    });
    tokens.collect()
}

/// Sounds, counted from 0: most files count from 1, as the packet does since 1.19.3.
fn sounds(list: &[Json]) -> Outcome<Vec<String>> {
    list.iter().map(|it| Ok(text(it, "name")?.to_owned())).collect()
}

/// Blocks; since 1.13 their states, `name[property=values;..]`, the last property counting fastest.
fn blocks(list: &[Json]) -> Outcome<Vec<String>> {
    let names = list.iter().map(|it| {
        let (number, _, name) = entry(it)?;
        let (Some(first), Some(last)) = (it["minStateId"].as_i64(), it["maxStateId"].as_i64())
        else {
            return Ok((number, 1, name));
        };
        let states = it["states"].as_array().ok_or("no `states`")?;
        let properties = states.iter().map(property).collect::<Outcome<Vec<_>>>()?;
        let count = last - first + 1;
        if properties.iter().map(|(_, values)| *values).product::<i64>() != count {
            return Err(format!("{name} has {count} states, which its properties do not").into());
        }
        let properties: Vec<_> = properties.into_iter().map(|(text, _)| text).collect();
        match properties.is_empty() {
            true => Ok((first, count, name)),
            false => Ok((first, count, format!("{name}[{}]", properties.join(";")))),
        }
    });
    Ok(numbered(names.collect::<Outcome<_>>()?))
}

/// A property and how many values it has.
fn property(state: &Json) -> Outcome<(String, i64)> {
    let name = text(state, "name")?;
    let count = state["num_values"].as_i64().ok_or("no `num_values`")?;
    let values: Vec<String> = match (text(state, "type")?, state["values"].as_array()) {
        ("bool", _) => vec!["true".into(), "false".into()],
        (_, Some(values)) => {
            let values =
                values.iter().map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
            values.collect()
        }
        _ => (0..count).map(|value| value.to_string()).collect(),
    };
    if values.len() as i64 != count {
        return Err(format!("{name}: {} values, not {count}", values.len()).into());
    }
    Ok((format!("{name}={}", values.join(",")), count))
}

/// `MiningFatigue` as `mining_fatigue`; names in other forms stay as they are.
fn snake(name: &str) -> String {
    let name = name.trim_end_matches(['_', '}']);
    if !name.starts_with(|first: char| first.is_ascii_uppercase()) {
        return name.replace(' ', "_");
    }
    let mut out = String::new();
    for char in name.chars() {
        if char.is_ascii_uppercase() && !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        out.push(if char == ' ' { '_' } else { char.to_ascii_lowercase() });
    }
    out
}

/// Entities whose class was not called like the entity, and their names since 1.11 or 1.13.
const OFFICIAL: [(&str, &str); 10] = [
    ("EntityHorse", "horse"),
    ("LavaSlime", "magma_cube"),
    ("MushroomCow", "mooshroom"),
    ("Ozelot", "ocelot"),
    ("PigZombie", "zombie_pigman"),
    ("SnowMan", "snow_golem"),
    ("VillagerGolem", "iron_golem"),
    ("WitherBoss", "wither"),
    ("XPOrb", "experience_orb"),
    ("FallingSand", "falling_block"),
];

/// Names that minecraft-data has no earlier than in the next release: the protocol, the kind, the number of the first, and
/// names. Sources: the game's changelog of 1.10, and the lists of retrooper/packetevents.
const ADDED: [(i32, &str, i64, &str); 2] = [
    (210, "block", 213, "magma nether_wart_block red_nether_brick bone_block structure_void"),
    (210, "entity", 102, "polar_bear"),
];

/// Snapshots before 1.13 for which minecraft-data has the lists of the release before them, and the release after them.
/// Until 1.13 numbers were added and never moved, so that its lists have all of theirs.
const SNAPSHOTS: [(i32, i32); 6] =
    [(201, 210), (204, 210), (304, 315), (321, 335), (327, 335), (331, 335)];

/// The last version that minecraft-data has names for. Versions whose packets are derived from it have
/// new entities and items, so that its numbers are not theirs.
const LAST: i32 = 775;

const ENCHANTMENT: &str = "enchantment";

/// The last version whose enchantments have numbers of the game: later servers send a registry.
const LAST_ENCHANTMENTS: i32 = 766;

/// Snapshots of 1.13 whose tables minecraft-data gives the numbers of 1.12.
const FLATTENING: [i32; 1] = [351];
