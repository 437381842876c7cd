//! Layouts from sources that do not use minecraft-data, compared with our tables.
//!
//! Each file in `data` is of one protocol number and one way in which it came into being: `776-hyperion.txt` is
//! imported, `776.txt` written by hand. `docs/protocol-tables.md` describes the form.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use layout::Node;

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

#[test]
fn the_tables_agree_with_the_witnesses() {
    let mut known = explained();
    let mut faults = Vec::new();
    for file in files() {
        let protocol = Catalog::embedded().find(file.version).unwrap();
        assert!(protocol.exact, "{}", file.name);
        let protocol = protocol.protocol;
        for it in &file.packets {
            let packet = protocol.packet(it.state, it.direction, it.id);
            let place = format!("{} {} 0x{:02x}", it.state, it.direction, it.id);
            let Some(packet) = packet else {
                faults.push(format!("{}: {place}: the tables have no such packet", file.name));
                continue;
            };
            let name = packet.name();
            let whole = whole_name(it, name);
            let all = compare::differences(&protocol.types, packet.ty, &it.layout, &file.types);
            for difference in all {
                let matches = known.iter_mut().find(|known| {
                    known.versions.contains(&file.version)
                        && known.packet == whole
                        && known.difference == difference
                });
                match matches {
                    Some(known) => known.seen.push(file.version),
                    None => faults.push(format!(
                        "{}: {place} {name} ({}): {difference}",
                        file.name, file.sources[&it.source]
                    )),
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

/// Returns the state, direction and name of a packet.
fn whole_name(it: &Witness, name: &str) -> String {
    format!("{} {} {name}", it.state, it.direction)
}

/// A known difference, and why our tables are believed.
struct Explained {
    versions: RangeInclusive<i32>,
    /// The packet as in [`whole_name`].
    packet: String,
    difference: String,
    seen: Vec<i32>,
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
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Witnesses {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let version = name.split(['-', '.']).next().unwrap().parse().unwrap();
    let (sources, types, packets) = (BTreeMap::new(), HashMap::new(), Vec::new());
    let mut file = Witnesses { name, version, sources, types, packets };
    for line in fs::read_to_string(path).unwrap().lines() {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        file.line(line).unwrap_or_else(|fault| panic!("{}: {line}: {fault}", path.display()));
    }
    file
}

impl Witnesses {
    /// Reads `source WORD REPOSITORY@COMMIT:PATH`, `type NAME = LAYOUT`, or
    /// `STATE DIRECTION ID NAME SOURCE = LAYOUT`.
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (head, layout) = line.split_once(" =").unwrap_or((line, ""));
        let words: Vec<&str> = head.split(' ').collect();
        match words[..] {
            ["source", word, place] => {
                self.sources.insert(word.into(), place.into());
            }
            ["type", name] => {
                self.types.insert(name.into(), parse::parse(layout)?);
            }
            [state, direction, id, _, source] => {
                let id = id.strip_prefix("0x").and_then(|id| i32::from_str_radix(id, 16).ok());
                self.packets.push(Witness {
                    state: state.parse().map_err(|_| "no state")?,
                    direction: direction.parse().map_err(|_| "no direction")?,
                    id: id.ok_or("no id")?,
                    source: source.into(),
                    layout: parse::parse(layout)?,
                });
            }
            _ => return Err("not a line of this file".into()),
        }
        Ok(())
    }
}
