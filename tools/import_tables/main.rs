//! Writes `crates/protocol/src/schema/data/java.bin`, the tables of every protocol version, and
//! `crates/protocol/src/meaning/data/registries.bin`, the names of what numbers stand for, from the npm package
//! `minecraft-data` or a checkout of its repository:
//! `cargo run --example import_tables -- node_modules/minecraft-data`.
//!
//! The same source gives the same bytes. `docs/protocol-tables.md` says what the files hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io, panic};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Map, Value as Json, json};

use crate::compared::COMPARED;
use crate::items::ITEMS;
use crate::known::KNOWN;
use crate::later::LATER;
use crate::named::NAMED;
use crate::patches::{DERIVED, EXCLUDED, PATCHES};

mod compared;
mod edit;
mod items;
mod known;
mod later;
mod lists;
mod metadata;
mod named;
mod patches;
mod registries;
mod reports;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let folder = match &arguments[..] {
        [folder] => folder,
        [folder, repository] => {
            let (data, _) = open(folder)?;
            let listed = read_list(&data)?;
            let mut tables = read_tables(&data, &listed)?;
            patch(&mut tables)?;
            let versions: Vec<i32> = tables.into_keys().collect();
            let mut registries = registries::collect(&data, &listed)?;
            let text = reports::corrections(&mut registries, repository, &versions, &listed)?;
            let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/import_tables");
            fs::write(tools.join("game.txt"), text)?;
            let hashes = reports::witnesses(repository, &versions, &listed)?;
            return Ok(fs::write(sources().join(HASHES), hashes)?);
        }
        _ => {
            let usage = "usage: import_tables FOLDER [REPOSITORY] (the npm package minecraft-data, or a checkout; \
                         with a repository of the game's reports: writes what the next import takes from them)";
            return Err(usage.into());
        }
    };
    let Import { tables, registries, report } = Import::of(folder)?;
    fs::write(sources().join(TABLES), &tables)?;
    fs::write(sources().join(REGISTRIES), &registries)?;
    io::stdout().write_all(report.as_bytes())?;
    Ok(())
}

/// The files that an import writes, and what it says about them.
struct Import {
    tables: Vec<u8>,
    registries: Vec<u8>,
    report: String,
}

impl Import {
    fn of(folder: &Path) -> Outcome<Self> {
        let (data, source) = open(folder)?;
        let listed = read_list(&data)?;
        let mut tables = read_tables(&data, &listed)?;
        patch(&mut tables)?;
        let plain = layout(&source, &tables, &listed)?;
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain.as_bytes())?;
        let packed = encoder.finish()?;
        let (registries, inflated) = registries::pack(&data, &source, &listed)?;
        let mut report = String::new();
        for version in tables.keys() {
            writeln!(report, "{version}: {}", names(*version, &listed)?.join(", "))?;
        }
        let (files, bytes) = (tables.len(), packed.len());
        writeln!(report, "{source}: {files} versions, {bytes} bytes ({} inflated)", plain.len())?;
        writeln!(report, "registries: {} bytes ({inflated} inflated)", registries.len())?;
        Ok(Self { tables: packed, registries, report })
    }
}

/// The folder of the library's sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/protocol/src")
}

/// The data folder of the npm package or of a checkout, and the name of its version.
fn open(folder: &Path) -> Outcome<(PathBuf, String)> {
    let package = folder.join("minecraft-data/data");
    if package.is_dir() {
        let version = read(&folder.join("package.json"))?;
        return Ok((package, format!("minecraft-data {}", text(&version, "version")?)));
    }
    let checkout = folder.join("data");
    if !checkout.join("dataPaths.json").is_file() {
        let folder = folder.display();
        return Err(
            format!("{folder}: neither the npm package minecraft-data nor a checkout").into()
        );
    }
    let git = Command::new("git").arg("-C").arg(folder).args(["rev-parse", "HEAD"]).output()?;
    if !git.status.success() {
        return Err(String::from_utf8_lossy(&git.stderr).into());
    }
    Ok((checkout, format!("minecraft-data at {}", str::from_utf8(&git.stdout)?.trim())))
}

/// The tables of every version, by protocol number.
fn read_tables(data: &Path, listed: &[Listed]) -> Outcome<BTreeMap<i32, Json>> {
    let mut tables = BTreeMap::new();
    let paths = read(&data.join("dataPaths.json"))?;
    for (name, places) in object(&paths, "pc")? {
        if EXCLUDED.iter().any(|(excluded, _)| excluded == name) {
            continue;
        }
        // The list first: `version.json` of 1.10-pre1 says what 16w20a is.
        let number = match listed.iter().find(|it| it.name == *name) {
            Some(known) => known.number,
            None => number(&read(&data.join(text(places, "version")?).join("version.json"))?)?,
        };
        let table = read(&data.join(text(places, "protocol")?).join("protocol.json"))?;
        if *tables.entry(number).or_insert_with(|| table.clone()) != table {
            return Err(format!("two different tables for {number}, the second is {name}'s").into());
        }
    }
    Ok(tables)
}

/// Adds the tables that are missing, then applies all patches. Reports every patch that does not fit.
fn patch(tables: &mut BTreeMap<i32, Json>) -> Outcome<()> {
    let mut faults = Vec::new();
    for derived in DERIVED {
        let (version, like) = (derived.version, derived.like);
        if tables.contains_key(&version) {
            faults.push(format!("{version} has a table of its own now: remove the derived one"));
            continue;
        }
        let mut table = tables.get(&like).ok_or_else(|| format!("no table for {like}"))?.clone();
        if !(derived.apply)(&mut table) {
            faults.push(format!("{version} is not like {like}: {}", derived.reason));
        }
        tables.insert(version, table);
    }
    for patch in PATCHES.iter().chain(COMPARED).chain(ITEMS).chain(LATER).chain(NAMED).chain(KNOWN)
    {
        let mut fitting = 0;
        for (version, table) in tables.range_mut(patch.versions.clone()) {
            let applied = panic::catch_unwind(AssertUnwindSafe(|| (patch.apply)(table)));
            if !applied.unwrap_or(false) {
                let (name, reason) = (patch.name, patch.reason);
                faults.push(format!(
                    "`{name}` does not fit {version}. It is there because: {reason}"
                ));
            }
            fitting += 1;
        }
        if fitting == 0 {
            faults.push(format!("`{}` is for versions that are not there", patch.name));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

/// A game version and its number.
struct Listed {
    name: String,
    number: i32,
    release: bool,
}

/// Every game version since 13w41a (0), newest first.
fn read_list(data: &Path) -> Outcome<Vec<Listed>> {
    let list = read(&data.join("pc/common/protocolVersions.json"))?;
    let list = list.as_array().ok_or("protocolVersions.json is no list")?;
    let netty = list.iter().filter(|it| it["usesNetty"] == true);
    netty
        .map(|it| {
            let name = text(it, "minecraftVersion")?.to_owned();
            let release = match it["releaseType"].as_str() {
                Some(kind) => kind == "release",
                None => name.chars().all(|char| char.is_ascii_digit() || char == '.'),
            };
            Ok(Listed { name, number: number(it)?, release })
        })
        .collect()
}

/// The releases of a number, oldest first; the snapshots of it when there is no release.
fn names(version: i32, listed: &[Listed]) -> Outcome<Vec<&str>> {
    let same = || listed.iter().rev().filter(|it| it.number == version);
    let mut names: Vec<&str> = same().filter(|it| it.release).map(|it| &*it.name).collect();
    if names.is_empty() {
        names = same().map(|it| &*it.name).collect();
    }
    if names.is_empty() {
        Err(format!("protocolVersions.json has no game version of protocol {version}").into())
    } else {
        Ok(names)
    }
}

/// The lowest snapshot number that is later than the first release of that number.
fn snapshots_from(version: i32, listed: &[Listed]) -> i32 {
    if version >= SNAPSHOT {
        return version;
    }
    let older = listed.iter().rev().take_while(|it| it.number != version);
    let listed = older.map(|it| it.number).filter(|number| *number >= SNAPSHOT);
    let unlisted = UNLISTED.into_iter().filter(|(release, _)| *release <= version);
    let last = listed.chain(unlisted.map(|(_, last)| last)).max();
    last.map_or(SNAPSHOT, |last| last + 1)
}

/// The file before it is compressed: a line of JSON that says which definitions each section has,
/// which sections each version has and how versions without a table are called, then a line for each definition. Variants of a definition
/// stand one after the other, so that the compressor sees them together.
fn layout(source: &str, tables: &BTreeMap<i32, Json>, listed: &[Listed]) -> Outcome<String> {
    let mut sections = BTreeMap::new();
    let mut lines = BTreeMap::new();
    for (age, (version, table)) in tables.iter().enumerate() {
        for (place, types) in sections_of(table)?.into_iter().enumerate() {
            let Some(types) = types else { continue };
            let mut section = BTreeSet::new();
            for (name, definition) in types {
                let definition = match name.as_str() {
                    "packet" => {
                        packets(definition).ok_or_else(|| format!("{version}: `packet`"))?
                    }
                    _ => definition.clone(),
                };
                let line = format!("{name}\t{definition}");
                lines.entry(line.clone()).or_insert_with(|| (place, name.clone(), age));
                section.insert(line);
            }
            sections.insert((age, place), section);
        }
    }
    let mut sorted: Vec<(&String, &(usize, String, usize))> = lines.iter().collect();
    sorted.sort_by_key(|(line, key)| (*key, *line));
    let numbers: HashMap<&String, usize> =
        sorted.iter().enumerate().map(|(number, (line, _))| (*line, number)).collect();
    let mut distinct: Vec<Json> = Vec::new();
    let mut versions = Vec::new();
    for (age, version) in tables.keys().enumerate() {
        let mut places = Vec::new();
        for place in 0..=2 * STATES.len() {
            let Some(section) = sections.get(&(age, place)) else {
                places.push(Json::Null);
                continue;
            };
            let mut ids: Vec<usize> = section.iter().map(|line| numbers[line]).collect();
            ids.sort_unstable();
            // As differences they repeat from version to version.
            let steps = ids.iter().scan(0, |last, id| Some(id - std::mem::replace(last, *id)));
            let steps = Json::from_iter(steps);
            let known = distinct.iter().position(|section| *section == steps);
            places.push(json!(known.unwrap_or_else(|| {
                distinct.push(steps);
                distinct.len() - 1
            })));
        }
        versions.push(json!({
            "version": version,
            "names": names(*version, listed)?,
            "snapshots_from": snapshots_from(*version, listed),
            "sections": places,
        }));
    }
    let mut without: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
    for it in listed.iter().rev().filter(|it| !tables.contains_key(&it.number)) {
        without.entry(it.number).or_default().push(&it.name);
    }
    let without: Vec<Json> = without.into_iter().map(|it| json!(it)).collect();
    let head = json!({
        "source": source,
        "sections": distinct,
        "versions": versions,
        "without_table": without,
    });
    let lines = sorted.iter().map(|(line, _)| line.as_str());
    Ok([head.to_string().as_str()].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
}

/// The definitions for all, then those of each state and direction.
fn sections_of(table: &Json) -> Outcome<Vec<Option<&Map<String, Json>>>> {
    let known = |key: &str| key == "types" || STATES.contains(&key);
    let fields = table.as_object().ok_or("a table is no object")?;
    if let Some(key) = fields.keys().find(|key| !known(key)) {
        return Err(format!("unknown part `{key}`").into());
    }
    let mut sections = vec![table["types"].as_object()];
    for state in STATES {
        for side in ["toClient", "toServer"] {
            sections.push(table[state][side]["types"].as_object());
        }
    }
    Ok(sections)
}

/// The `packet` definition as the list of its packets: a name, whose id follows the last and whose
/// type is `packet_` and the name, or `[id, name, type]`. Half of all bytes are these tables.
fn packets(definition: &Json) -> Option<Json> {
    let fields = definition.get(1)?.as_array()?;
    let [ids, params] = fields.as_slice() else { return None };
    let (ids, params) = (ids["type"].get(1)?, params["type"].get(1)?);
    let types = params["fields"].as_object()?;
    let plain = ids["type"] == "varint" && params["compareTo"] == "name";
    if !plain || params.get("default").is_some() {
        return None;
    }
    let mut list = Vec::new();
    let mut next = 0;
    for (id, name) in ids["mappings"].as_object()? {
        let id = i32::from_str_radix(id.strip_prefix("0x")?, 16).ok()?;
        let ty = types.get(name.as_str()?)?;
        let usual = id == next && *ty == format!("packet_{}", name.as_str()?);
        list.push(if usual { name.clone() } else { json!([id, name, ty]) });
        next = id + 1;
    }
    (list.len() == types.len()).then_some(Json::Array(list))
}

fn read(path: &Path) -> Outcome<Json> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))?)
}

fn object<'j>(json: &'j Json, key: &str) -> Outcome<&'j Map<String, Json>> {
    json[key].as_object().ok_or_else(|| format!("no `{key}`").into())
}

fn text<'j>(json: &'j Json, key: &str) -> Outcome<&'j str> {
    json[key].as_str().ok_or_else(|| format!("no `{key}` in {json}").into())
}

fn number(json: &Json) -> Outcome<i32> {
    let number = json["version"].as_i64().and_then(|number| i32::try_from(number).ok());
    number.ok_or_else(|| format!("no `version` in {json}").into())
}

/// In the order in which the file has their sections.
const STATES: [&str; 5] = ["handshaking", "status", "login", "configuration", "play"];

/// Releases before which `protocolVersions.json` lists no snapshots, and the number of the last one: 1.19.4-rc3 and
/// 1.20-rc1.
const UNLISTED: [(i32, i32); 2] = [(762, SNAPSHOT + 126), (763, SNAPSHOT + 141)];

/// From here on numbers are those of snapshots (since 1.16.4).
const SNAPSHOT: i32 = 1 << 30;

const TABLES: &str = "schema/data/java.bin";
const REGISTRIES: &str = "meaning/data/registries.bin";
const HASHES: &str = "meaning/tests/reports.txt";

#[cfg(test)]
mod tests {
    use super::*;

    /// The package that `tests/run` installs, in the version that is embedded.
    fn installed() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/node_modules/minecraft-data")
    }

    /// Fails if another version of the package is installed, in which a patch may be superfluous.
    #[test]
    fn the_embedded_tables_are_those_of_the_installed_package_with_all_patches() {
        let import = Import::of(&installed()).unwrap();
        for (file, imported) in [(TABLES, import.tables), (REGISTRIES, import.registries)] {
            let embedded = fs::read(sources().join(file)).unwrap();
            assert!(embedded == imported, "import the tables again: {file} is another");
        }
    }

    #[test]
    fn a_patch_that_upstream_has_taken_over_stops_the_import() {
        let (data, _) = open(&installed()).unwrap();
        let listed = read_list(&data).unwrap();
        let mut tables = read_tables(&data, &listed).unwrap();
        patch(&mut tables).unwrap();
        // These tables have all repairs, and all versions.
        let faults = patch(&mut tables).unwrap_err().to_string();
        for name in PATCHES
            .iter()
            .chain(COMPARED)
            .chain(ITEMS)
            .chain(LATER)
            .chain(NAMED)
            .map(|patch| patch.name)
        {
            assert!(faults.contains(&format!("`{name}` does not fit")), "{name}");
        }
        for version in DERIVED.iter().map(|derived| derived.version) {
            assert!(faults.contains(&format!("{version} has a table of its own now")), "{version}");
        }
    }
}
