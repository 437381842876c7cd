//! Layouts from sources that do not use minecraft-data, compared with our tables.
//!
//! Each file in `data` is of one protocol number and one way in which it came into being: `776-hyperion.txt` is
//! imported, `776.txt` written by hand. `docs/protocol-tables.md` describes the form.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use compare::Comparison;
use layout::Node;
use tables::Tables;

use crate::schema::{Catalog, Direction, Protocol, State};

mod changes;
mod compare;
mod layout;
mod page;
mod parse;
mod tables;

/// A file of witnesses.
struct Witnesses {
    name: String,
    version: i32,
    /// Sources by the words that stand for them.
    sources: BTreeMap<String, String>,
    types: HashMap<String, Vec<Node>>,
    packets: Vec<Witness>,
    /// Packets that have the layout of an older version.
    unchanged: Vec<Unchanged>,
}

/// The layout of a packet.
struct Witness {
    state: State,
    direction: Direction,
    id: i32,
    source: String,
    layout: Vec<Node>,
}

/// A packet of which a source says that it has the layout of a packet of an older version.
struct Unchanged {
    state: State,
    direction: Direction,
    id: i32,
    source: String,
    /// The older version, and the id in it.
    of: (i32, i32),
}

/// A witness and how it differs from our tables.
#[derive(Clone)]
struct Compared {
    file: String,
    version: i32,
    /// The version whose layout the witness has: another one for [`Unchanged`].
    layout_of: i32,
    place: (State, Direction, i32),
    /// The packet's state, direction and name.
    packet: String,
    /// Where the layout is from.
    source: String,
    differences: Vec<String>,
}

/// All witnesses, compared once.
static COMPARED: LazyLock<Vec<Compared>> = LazyLock::new(|| {
    let files = files();
    files.iter().flat_map(|file| [compared(file), unchanged(file, &files)].concat()).collect()
});

fn compared(file: &Witnesses) -> Vec<Compared> {
    let protocol = protocol(file);
    let tables = Tables::new(&protocol.types);
    let mut comparison = Comparison::new(&tables, &file.types);
    let one = |it: &Witness| {
        let place = (it.state, it.direction, it.id);
        let (packet, differences) =
            differences(file, &protocol, &mut comparison, place, &it.layout);
        Compared {
            file: file.name.clone(),
            version: file.version,
            layout_of: file.version,
            place,
            packet,
            source: file.sources[&it.source].clone(),
            differences,
        }
    };
    file.packets.iter().map(one).collect()
}

/// Compares the packets that have the layout of an older version with the witnesses of that version, if those
/// agree with the older tables.
fn unchanged(file: &Witnesses, files: &[Witnesses]) -> Vec<Compared> {
    let protocol_of = protocol(file);
    let tables = Tables::new(&protocol_of.types);
    let mut found = Vec::new();
    for older in files.iter().filter(|it| file.unchanged.iter().any(|same| same.of.0 == it.version))
    {
        let older_protocol = protocol(older);
        let older_tables = Tables::new(&older_protocol.types);
        let mut before = Comparison::new(&older_tables, &older.types);
        let mut now = Comparison::new(&tables, &older.types);
        for same in file.unchanged.iter().filter(|it| it.of.0 == older.version) {
            let place @ (state, direction, id) = (same.state, same.direction, same.of.1);
            assert!(older_protocol.packet(state, direction, id).is_some(), "{}: {id}", file.name);
            let with = |it: &&Witness| (it.state, it.direction, it.id) == place;
            let Some(it) = older.packets.iter().find(with) else { continue };
            if !differences(older, &older_protocol, &mut before, place, &it.layout).1.is_empty() {
                continue;
            }
            let place = (same.state, same.direction, same.id);
            let (packet, differences) =
                differences(file, &protocol_of, &mut now, place, &it.layout);
            found.push(Compared {
                file: file.name.clone(),
                version: file.version,
                layout_of: older.version,
                place,
                packet,
                source: format!("{}, {}", older.sources[&it.source], file.sources[&same.source]),
                differences,
            });
        }
    }
    found
}

fn protocol(file: &Witnesses) -> Arc<Protocol> {
    let found = Catalog::embedded().find(file.version).unwrap();
    assert!(found.exact, "{}", file.name);
    found.protocol
}

/// Returns the packet's state, direction and name, and how its layout differs from that of a witness.
fn differences(
    file: &Witnesses,
    protocol: &Protocol,
    comparison: &mut Comparison<'_>,
    (state, direction, id): (State, Direction, i32),
    layout: &[Node],
) -> (String, Vec<String>) {
    let packet = protocol.packet(state, direction, id);
    let packet =
        packet.unwrap_or_else(|| panic!("{}: no packet {state} {direction} 0x{id:02x}", file.name));
    let mut differences = comparison.differences(packet.ty, layout);
    let mut seen = HashSet::new();
    differences.retain(|difference| seen.insert(difference.clone()));
    (format!("{state} {direction} {}", packet.name()), differences)
}

#[test]
fn the_tables_agree_with_the_witnesses() {
    let mut known = explained();
    let mut faults = Vec::new();
    for it in COMPARED.iter() {
        for difference in &it.differences {
            match known.iter_mut().find(|known| known.is(it, difference)) {
                Some(known) => known.seen.push(it.version),
                None => {
                    faults.push(format!("{}: {} ({}): {difference}", it.file, it.packet, it.source))
                }
            }
        }
    }
    for it in known.iter().filter(|it| it.seen.is_empty()) {
        faults.push(format!("explained.txt: {}: {}: no longer differs", it.packet, it.difference));
    }
    assert!(faults.is_empty(), "{} differences\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_witness_names_its_source() {
    for file in files() {
        let unchanged = file.unchanged.iter().map(|it| &it.source);
        let used: BTreeSet<&String> =
            file.packets.iter().map(|it| &it.source).chain(unchanged).collect();
        assert!(used.into_iter().eq(file.sources.keys()), "{}", file.name);
        for source in file.sources.values() {
            let (place, path) = source.split_once(':').unwrap();
            let (repository, commit) = place.split_once('@').unwrap();
            let plain = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(repository.contains('/') && plain && !path.is_empty(), "{source}");
        }
        let mut places = BTreeSet::new();
        let own = file.packets.iter().map(|it| (it.state, it.direction, it.id));
        let unchanged = file.unchanged.iter().map(|it| (it.state, it.direction, it.id));
        for (state, direction, id) in own.chain(unchanged) {
            let new = places.insert((state as usize, direction as usize, id));
            assert!(new, "{}: {state} {direction} {id:#x}", file.name);
        }
    }
}

/// A known difference, and why our tables are believed.
struct Explained {
    versions: RangeInclusive<i32>,
    /// The packet as in [`Compared`], or `*` for all that have the value.
    packet: String,
    /// The difference, or a part of it between `..`.
    difference: String,
    seen: Vec<i32>,
}

impl Explained {
    fn is(&self, of: &Compared, difference: &str) -> bool {
        let same =
            match self.difference.strip_prefix("..").map(|part| (part, part.strip_suffix(".."))) {
                Some((_, Some(part))) => difference.contains(part),
                Some((end, None)) => difference.ends_with(end),
                None => self.difference == difference,
            };
        same && self.versions.contains(&of.version)
            && (self.packet == "*" || self.packet == of.packet)
    }
}

/// Reads `explained.txt`: versions, a packet and a difference in one line, the reason in the next, indented.
fn explained() -> Vec<Explained> {
    let text = include_str!("data/explained.txt");
    let mut all = Vec::new();
    let mut lines =
        text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let parse = || {
            let (versions, rest) = line.split_once(' ')?;
            let (packet, difference) = rest.split_once(": ")?;
            let (first, last) = versions.split_once('-').unwrap_or((versions, versions));
            Some(Explained {
                versions: first.parse().ok()?..=last.parse().ok()?,
                packet: packet.into(),
                difference: difference.into(),
                seen: Vec::new(),
            })
        };
        all.push(parse().unwrap_or_else(|| panic!("explained.txt: {line}")));
        let mut reason = 0;
        while lines.next_if(|line| line.starts_with("  ")).is_some() {
            reason += 1;
        }
        assert!(reason > 0, "explained.txt: no reason for {line}");
    }
    all
}

fn files() -> Vec<Witnesses> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schema/tests/witnesses/data");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| !path.ends_with("explained.txt")).collect();
    paths.sort();
    paths.iter().flat_map(|path| read(path)).collect()
}

/// Reads the witnesses of a file's version, or of each version that it has.
fn read(path: &Path) -> Vec<Witnesses> {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let of = |name: String, version| {
        let (sources, types) = (BTreeMap::new(), HashMap::new());
        Witnesses { name, version, sources, types, packets: Vec::new(), unchanged: Vec::new() }
    };
    let version = name.split(['-', '.']).next().unwrap().parse();
    let mut files: Vec<_> = version.map(|version| of(name.clone(), version)).into_iter().collect();
    for line in fs::read_to_string(path).unwrap().lines() {
        if let Some(versions) = line.strip_prefix("versions ") {
            let versions = versions.split(' ').map(|version| version.parse().unwrap());
            files.extend(versions.map(|version| of(format!("{name} ({version})"), version)));
        } else if !line.starts_with('#') && !line.is_empty() {
            assert!(!files.is_empty(), "{}: {line}: before the versions", path.display());
            line_of(&mut files, line)
                .unwrap_or_else(|fault| panic!("{}: {line}: {fault}", path.display()));
        }
    }
    files
}

/// Reads `source WORD REPOSITORY@COMMIT:PATH`, `type NAME = LAYOUT`, or
/// `STATE DIRECTION ID NAME SOURCE = LAYOUT`; or `STATE DIRECTION ID NAME SOURCE as VERSION:ID`. In a file of several versions, `type VERSIONS NAME = LAYOUT`, and
/// `VERSIONS:ID,..` instead of the id.
fn line_of(files: &mut [Witnesses], line: &str) -> Result<(), String> {
    let (head, layout) = line.split_once(" =").unwrap_or((line, ""));
    let words: Vec<&str> = head.split(' ').collect();
    match words[..] {
        ["source", word, place] => {
            for file in files {
                file.sources.insert(word.into(), place.into());
            }
        }
        ["type", name] => {
            let [file] = files else { return Err("no versions".into()) };
            file.types.insert(name.into(), parse::parse(layout)?);
        }
        ["type", versions, name] => {
            let layout = parse::parse(layout)?;
            for versions in versions.split(',') {
                for file in within(files, versions)? {
                    file.types.insert(name.into(), layout.clone());
                }
            }
        }
        [state, direction, ids, _, source] => {
            let layout = parse::parse(layout)?;
            for id in ids.split(',') {
                let (versions, id) = id.split_once(':').unwrap_or(("", id));
                for file in within(files, versions)? {
                    file.packets.push(Witness {
                        state: state.parse().map_err(|_| "no state")?,
                        direction: direction.parse().map_err(|_| "no direction")?,
                        id: hex(id)?,
                        source: source.into(),
                        layout: layout.clone(),
                    });
                }
            }
        }
        [state, direction, id, _, source, "as", of] => {
            let [file] = files else { return Err("several versions".into()) };
            let (version, of) = of.split_once(':').ok_or("no version")?;
            file.unchanged.push(Unchanged {
                state: state.parse().map_err(|_| "no state")?,
                direction: direction.parse().map_err(|_| "no direction")?,
                id: hex(id)?,
                source: source.into(),
                of: (version.parse().map_err(|_| "no version")?, hex(of)?),
            });
        }
        _ => return Err("not a line of this file".into()),
    }
    Ok(())
}

fn hex(id: &str) -> Result<i32, String> {
    let id = id.strip_prefix("0x").and_then(|id| i32::from_str_radix(id, 16).ok());
    id.ok_or_else(|| "no id".into())
}

/// Returns the witnesses of a version, or of the first to the last of two; of all if there are none.
fn within<'f>(
    files: &'f mut [Witnesses],
    versions: &str,
) -> Result<impl Iterator<Item = &'f mut Witnesses>, String> {
    let (first, last) = versions.split_once('-').unwrap_or((versions, versions));
    let number = |text: &str| text.parse().map_err(|_| format!("the version `{text}`"));
    let range = if versions.is_empty() { 0..=i32::MAX } else { number(first)?..=number(last)? };
    Ok(files.iter_mut().filter(move |file| range.contains(&file.version)))
}
