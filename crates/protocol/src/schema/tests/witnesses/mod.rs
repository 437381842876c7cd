//! Layouts from sources that do not use minecraft-data, compared with our tables.
//!
//! Each file in `data` is of one protocol number and one way in which it came into being: `776-hyperion.txt` is
//! imported, `776.txt` written by hand. `docs/protocol-tables.md` describes the form.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::LazyLock;

use compare::Comparison;
use layout::Node;
use tables::Tables;

use crate::schema::{Catalog, Direction, State};

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
}

/// The layout of a packet.
struct Witness {
    state: State,
    direction: Direction,
    id: i32,
    source: String,
    layout: Vec<Node>,
}

/// A witness and how it differs from our tables.
struct Compared {
    file: String,
    version: i32,
    place: (State, Direction, i32),
    /// The packet's state, direction and name.
    packet: String,
    /// Where the layout is from.
    source: String,
    differences: Vec<String>,
}

/// All witnesses, compared once.
static COMPARED: LazyLock<Vec<Compared>> =
    LazyLock::new(|| files().iter().flat_map(compared).collect());

fn compared(file: &Witnesses) -> Vec<Compared> {
    let found = Catalog::embedded().find(file.version).unwrap();
    assert!(found.exact, "{}", file.name);
    let protocol = found.protocol;
    let tables = Tables::new(&protocol.types);
    let mut comparison = Comparison::new(&tables, &file.types);
    let one = |it: &Witness| {
        let packet = protocol.packet(it.state, it.direction, it.id);
        let packet = packet.unwrap_or_else(|| {
            panic!("{}: no packet {} {} 0x{:02x}", file.name, it.state, it.direction, it.id)
        });
        let mut differences = comparison.differences(packet.ty, &it.layout);
        let mut seen = HashSet::new();
        differences.retain(|difference| seen.insert(difference.clone()));
        Compared {
            file: file.name.clone(),
            version: file.version,
            place: (it.state, it.direction, it.id),
            packet: format!("{} {} {}", it.state, it.direction, packet.name()),
            source: file.sources[&it.source].clone(),
            differences,
        }
    };
    file.packets.iter().map(one).collect()
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
        let used: BTreeSet<&String> = file.packets.iter().map(|it| &it.source).collect();
        assert!(used.into_iter().eq(file.sources.keys()), "{}", file.name);
        for source in file.sources.values() {
            let (place, path) = source.split_once(':').unwrap();
            let (repository, commit) = place.split_once('@').unwrap();
            let plain = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(repository.contains('/') && plain && !path.is_empty(), "{source}");
        }
        let mut places = BTreeSet::new();
        for it in &file.packets {
            let place = (it.state as usize, it.direction as usize, it.id);
            assert!(
                places.insert(place),
                "{}: {} {} {:#x}",
                file.name,
                it.state,
                it.direction,
                it.id
            );
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
        let (sources, types, packets) = (BTreeMap::new(), HashMap::new(), Vec::new());
        Witnesses { name, version, sources, types, packets }
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
/// `STATE DIRECTION ID NAME SOURCE = LAYOUT`. In a file of several versions, `type VERSIONS NAME = LAYOUT`, and
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
                let id = id.strip_prefix("0x").and_then(|id| i32::from_str_radix(id, 16).ok());
                for file in within(files, versions)? {
                    file.packets.push(Witness {
                        state: state.parse().map_err(|_| "no state")?,
                        direction: direction.parse().map_err(|_| "no direction")?,
                        id: id.ok_or("no id")?,
                        source: source.into(),
                        layout: layout.clone(),
                    });
                }
            }
        }
        _ => return Err("not a line of this file".into()),
    }
    Ok(())
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
