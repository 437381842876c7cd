//! Names of items, blocks, sounds and others out of the game's own reports (`java -jar server.jar --reports`), where
//! `minecraft-data` lacks them or has those of another version.
//!
//! `game.txt` holds them. `import_tables FOLDER REPOSITORY` writes it anew from a git repository that has the reports
//! of each version under a tag, as Ersatz77/mcdata. The game is right wherever it has a list.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::registries::{KINDS, Registries, difference, numbered};
use crate::{Listed, Outcome, names, object};

/// Puts the lists of the game in the place of those of `minecraft-data`, and adds those that it lacks.
pub(super) fn correct(registries: &mut Registries) -> Outcome<()> {
    for line in GAME.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (version, kind) = (words.next(), words.next());
        let version = version.ok_or("an empty line")?.parse()?;
        let place = KINDS.iter().position(|it| Some(it.name) == kind).ok_or("no such kind")?;
        let tokens = expand(registries, place, words)?;
        if registries.insert((version, place), tokens.clone()) == Some(tokens) {
            return Err(format!("minecraft-data has {line} now: write game.txt anew").into());
        }
    }
    Ok(())
}

/// Writes `game.txt`: the lists of the reports that are not those of `minecraft-data`.
pub(super) fn corrections(
    registries: &mut Registries,
    repository: &Path,
    versions: &[i32],
    listed: &[Listed],
) -> Outcome<String> {
    let mut text = HEAD.to_owned();
    for &version in versions {
        let known = names(version, listed)?;
        let like = LIKE.iter().find(|(number, _)| *number == version).map(|(_, tag)| *tag);
        let tags: Vec<&str> = like.into_iter().chain(known.into_iter().rev()).collect();
        let Some(lists) = tags.iter().find_map(|tag| Reports { repository, tag }.lists()) else {
            continue;
        };
        for (place, tokens) in lists? {
            if registries.get(&(version, place)) == Some(&tokens) {
                continue;
            }
            let earlier = registries.range(..(version, 0));
            let bases = earlier.filter(|((_, kind), _)| *kind == place);
            let bases = bases.map(|((version, _), base)| (*version as usize, base));
            let parts = bases.map(|base| difference(Some(base), &tokens)).min_by_key(String::len);
            let parts = parts.unwrap_or_else(|| difference(None, &tokens));
            writeln!(text, "{version} {} {parts}", KINDS[place].name)?;
            registries.insert((version, place), tokens);
        }
    }
    Ok(text)
}

/// Writes the hashes of the lists in the reports, with which a test compares the embedded ones.
pub(super) fn witnesses(repository: &Path, versions: &[i32], listed: &[Listed]) -> Outcome<String> {
    let mut text = HASHES_HEAD.to_owned();
    for &version in versions {
        let tags = names(version, listed)?.into_iter().rev();
        let lists = tags.map(|tag| Reports { repository, tag }.numbers());
        for (list, mut numbers) in lists.flatten().take(1).flatten() {
            numbers.sort_unstable();
            let bytes = numbers.iter().map(|(number, name)| format!("{number} {name}\n"));
            let hash = bytes
                .flat_map(String::into_bytes)
                .fold(FNV.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV.1));
            writeln!(text, "{version} {list} {} {hash:016x}", numbers.len())?;
        }
    }
    Ok(text)
}

/// Reads what `difference` writes.
fn expand<'t>(
    registries: &Registries,
    place: usize,
    parts: impl Iterator<Item = &'t str>,
) -> Outcome<Vec<String>> {
    let mut base = None;
    let mut tokens = Vec::new();
    for part in parts {
        let span = part.split_once('+').and_then(|(start, count)| {
            Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
        });
        if let Some(version) = part.strip_prefix('<') {
            base = registries.get(&(version.parse()?, place));
        } else if let Some((start, count)) = span {
            let repeated = base.and_then(|base: &Vec<String>| base.get(start..start + count));
            tokens.extend_from_slice(repeated.ok_or_else(|| format!("no part {part}"))?);
        } else {
            tokens.push(part.to_owned());
        }
    }
    Ok(tokens)
}

/// Numbers and their names.
type Numbers = Vec<(i64, String)>;

/// The reports of one version.
struct Reports<'r> {
    repository: &'r Path,
    tag: &'r str,
}

impl Reports<'_> {
    /// Returns the names of each kind; `None` if there is no such version.
    fn lists(&self) -> Option<Outcome<BTreeMap<usize, Vec<String>>>> {
        let blocks = BLOCKS.iter().find_map(|path| self.read(path))?;
        Some(self.lists_with(&blocks))
    }

    fn lists_with(&self, blocks: &Json) -> Outcome<BTreeMap<usize, Vec<String>>> {
        let registries = self.read("generated/reports/registries.json").unwrap_or_default();
        let items = self.read("generated/reports/items.json").unwrap_or_default();
        let mut lists = BTreeMap::new();
        for (place, kind) in KINDS.iter().enumerate() {
            let entries = match (kind.name, kind.registry) {
                ("block", _) => {
                    lists.insert(place, states(blocks)?);
                    continue;
                }
                // Before 1.14.
                ("item", _) if registries.is_null() => &items,
                (_, registry) => &registries[format!("minecraft:{registry}")]["entries"],
            };
            if let Some(tokens) = tokens_of(entries)? {
                lists.insert(place, tokens);
            }
        }
        Ok(lists)
    }

    /// Returns each list that a test compares, with its numbers and names; `None` if there is no such version.
    fn numbers(&self) -> Option<Vec<(String, Numbers)>> {
        let blocks = BLOCKS.iter().find_map(|path| self.read(path))?;
        let states = blocks.as_object()?.iter().flat_map(|(name, block)| {
            let states = block["states"].as_array().into_iter().flatten();
            states.filter_map(|state| Some((state["id"].as_i64()?, state_name(name, state))))
        });
        let mut lists = vec![("names:block".to_owned(), states.collect())];
        let registries = self.read("generated/reports/registries.json").unwrap_or_default();
        let items = self.read("generated/reports/items.json").filter(|_| registries.is_null());
        lists.extend(items.map(|items| ("names:item".to_owned(), numbers_of(&items))));
        let named = KINDS.iter().filter(|it| it.name != "block");
        let named = named.map(|it| (format!("names:{}", it.name), it.registry));
        for (list, registry) in named.chain(MAPPED.map(|it| (it.to_owned(), it))) {
            let entries = &registries[format!("minecraft:{registry}")]["entries"];
            if entries.is_object() {
                lists.push((list, numbers_of(entries)));
            }
        }
        // Since 1.21.
        let packets = self.read("generated/reports/packets.json").unwrap_or_default();
        for (state, sides) in packets.as_object().into_iter().flatten() {
            let state = if state == "handshake" { "handshaking" } else { state };
            for (side, list) in sides.as_object().into_iter().flatten() {
                lists.push((format!("packets:{state}:{side}"), numbers_of(list)));
            }
        }
        Some(lists)
    }

    fn read(&self, path: &str) -> Option<Json> {
        let file = format!("{}:{path}", self.tag);
        let git = Command::new("git").arg("-C").arg(self.repository).args(["show", &file]).output();
        let git = git.ok().filter(|git| git.status.success())?;
        serde_json::from_slice(&git.stdout).ok()
    }
}

/// Returns the numbers and names of a registry, or of the packets of a state and direction.
fn numbers_of(entries: &Json) -> Numbers {
    let entries = entries.as_object().into_iter().flatten();
    entries.filter_map(|(name, it)| Some((it["protocol_id"].as_i64()?, bare(name)))).collect()
}

/// Returns a state of a block: `oak_stairs[facing=north,..]`.
fn state_name(block: &str, state: &Json) -> String {
    let properties = state["properties"].as_object().into_iter().flatten();
    let properties =
        properties.map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
    match properties.collect::<Vec<_>>() {
        none if none.is_empty() => bare(block),
        all => format!("{}[{}]", bare(block), all.join(",")),
    }
}

/// Returns the names of a registry in the order of their numbers; `None` if it is not there.
fn tokens_of(entries: &Json) -> Outcome<Option<Vec<String>>> {
    let Some(entries) = entries.as_object() else { return Ok(None) };
    let entry = |(name, it): (&String, &Json)| {
        let number = it["protocol_id"].as_i64().ok_or_else(|| format!("{name}: no id"))?;
        Ok((number, 1, bare(name)))
    };
    Ok(Some(numbered(entries.iter().map(entry).collect::<Outcome<_>>()?)))
}

/// The states of blocks, `name[property=values;..]`, the last property counting fastest.
fn states(blocks: &Json) -> Outcome<Vec<String>> {
    let list = blocks.as_object().ok_or("blocks are no object")?.iter().map(|(name, block)| {
        let states = block["states"].as_array().ok_or_else(|| format!("{name}: no states"))?;
        let ids = states.iter().filter_map(|state| state["id"].as_i64());
        let first = ids.min().ok_or_else(|| format!("{name}: no ids"))?;
        let mut text = bare(name);
        if let Some(Json::Object(_)) = block.get("properties") {
            let properties = object(block, "properties")?.iter().map(|(name, values)| {
                let values: Option<Vec<&str>> =
                    values.as_array()?.iter().map(Json::as_str).collect();
                Some(format!("{name}={}", values?.join(",")))
            });
            let properties: Option<Vec<String>> = properties.collect();
            write!(text, "[{}]", properties.ok_or("no property")?.join(";"))?;
        }
        Ok((first, states.len() as i64, text))
    });
    Ok(numbered(list.collect::<Outcome<_>>()?))
}

fn bare(name: &str) -> String {
    name.trim_start_matches("minecraft:").to_owned()
}

/// Registries whose numbers layouts have names for.
const MAPPED: [&str; 9] = [
    "attribute",
    "command_argument_type",
    "consume_effect_type",
    "data_component_type",
    "particle_type",
    "recipe_book_category",
    "recipe_display",
    "recipe_serializer",
    "slot_display",
];

const HASHES_HEAD: &str = "\
# Hashes of the lists in the game's own reports, written by `import_tables`: the number of the protocol, a registry whose
# numbers layouts name, a kind of names or a section of packets, how many there are, FNV-1a of the numbers and names.
";

/// The start and the factor of FNV-1a.
const FNV: (u64, u64) = (0xcbf2_9ce4_8422_2325, 0x100_0000_01b3);

const GAME: &str = include_str!("game.txt");

const HEAD: &str = "\
# Lists of names in the game's own reports that are not those of minecraft-data, as docs/protocol-tables.md says.
# A line: the number of the protocol, a kind, and names in the order of their numbers; `START+COUNT` repeats names of
# the list of that kind in the version that `<NUMBER` names.
";

/// Where the states of blocks are: the second form has files that the first lacks.
const BLOCKS: [&str; 2] =
    ["generated/reports/blocks.json", "processed/reports/blocks/data.min.json"];

/// Versions without reports, and the version whose names they have: pre-releases of 1.13.2 changed none, and of 26.3
/// its last snapshot is known.
const LIKE: [(i32, &str); 3] = [(402, "1.13.1"), (403, "1.13.1"), (777, "26.3-snapshot-9")];
