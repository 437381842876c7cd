//! The tables of Beta 1.0 to 1.6.4 next to the lists that `tools/old_layouts` makes of other projects'
//! descriptions: the wire types of each packet, one after the other.
//!
//! `8` to `64`, `f32` and `f64` are numbers, of which not all sources say whether they are signed; `text16` is
//! UTF-16, `item` and `metadata` are an item and an entity's metadata in each of their forms; after `list` and
//! `data` come an element and no element. `?` stands before what depends on a value.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mitmcraft_protocol::schema::Catalog;
use serde_json::Value as Json;

use crate::support::{Program, root};

/// A direction and an id.
type Place = (String, i64);

/// A list of another project.
struct List {
    source: &'static str,
    layouts: BTreeMap<i32, BTreeMap<Place, String>>,
}

const SOURCES: [(&str, &str); 5] = [
    ("bravo", "bravoserver/bravo, at the last commit of each number"),
    ("burger", "the game's jar, read by Burger (in ddevault/TrueCraft)"),
    ("dirtmv", "DirtPowered/DirtMultiversion"),
    ("mc4p", "dalbothek/mc4p"),
    ("nmp", "node-minecraft-protocol 0.6.7, 0.8.1, 0.11.0, 0.11.6"),
];

#[test]
fn the_tables_of_old_versions_agree_with_the_lists_of_other_projects() {
    let mut explained = explained();
    let mut faults = String::new();
    let mut compared = 0;
    for list in lists() {
        for (version, theirs) in &list.layouts {
            let ours = tables(*version);
            for ((direction, id), layout) in theirs {
                let own = ours.get(&(direction.clone(), *id));
                // Most lists do not say who sends a packet.
                if own.is_none() && ours.keys().any(|(_, other)| other == id) {
                    continue;
                }
                compared += 1;
                if own == Some(layout) {
                    continue;
                }
                let known = explained
                    .iter_mut()
                    .find(|it| it.source == list.source && it.covers(*version, direction, *id));
                match known {
                    Some(known) => known.seen = true,
                    None => writeln!(
                        faults,
                        "{} {version} {direction} {id:#04x}: {own:?}, not {layout}",
                        list.source
                    )
                    .unwrap(),
                }
            }
        }
    }
    for it in explained.iter().filter(|it| !it.seen) {
        writeln!(faults, "explained.txt: {} no longer differs", it.line).unwrap();
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(compared > 2600, "{compared}");
}

/// Formats a row for each version, with the number of packets that each list has as well.
pub(super) fn table() -> String {
    let explained = explained();
    let lists = lists();
    let mut table = String::from("| version | packets |");
    lists.iter().for_each(|list| write!(table, " {} |", list.source).unwrap());
    table += "\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for version in Catalog::embedded().legacy_versions() {
        let ours = tables(version);
        write!(table, "| {version} | {} |", ours.len()).unwrap();
        for list in &lists {
            let theirs = list.layouts.get(&version);
            let agree = |(place, layout): &(&Place, &String)| {
                theirs.is_some_and(|theirs| theirs.get(*place) == Some(*layout))
                    && !explained
                        .iter()
                        .any(|it| it.source == list.source && it.covers(version, &place.0, place.1))
            };
            let count = ours.iter().filter(agree).count();
            match theirs {
                Some(_) => write!(table, " {count} |").unwrap(),
                None => table += " |",
            }
        }
        table.push('\n');
    }
    for (source, what) in SOURCES {
        write!(table, "\n`{source}` is {what}.").unwrap();
    }
    table + "\n"
}

fn lists() -> Vec<List> {
    let read = |source: &'static str| {
        let path = root().join("tests/golden/old-layouts").join(format!("{source}.txt"));
        let mut layouts: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let text = std::fs::read_to_string(path).unwrap();
        let mut named = BTreeSet::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(rest) = line.strip_prefix("source ") {
                let (version, place) = rest.split_once(' ').unwrap();
                assert!(place.contains('@') && place.contains(':'), "{line}");
                named.insert(version.parse::<i32>().unwrap());
                continue;
            }
            let (head, layout) = line.split_once(" =").unwrap();
            let [version, direction, id] = head.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let id = i64::from_str_radix(id.strip_prefix("0x").unwrap(), 16).unwrap();
            let version: i32 = version.parse().unwrap();
            let place = (direction.to_owned(), id);
            let layouts = layouts.entry(version).or_default();
            assert!(layouts.insert(place, layout.trim().to_owned()).is_none(), "{line}");
        }
        assert!(layouts.keys().eq(&named), "{source}: every version has a source");
        List { source, layouts }
    };
    SOURCES.map(|(source, _)| read(source)).into()
}

/// A difference in which a list is not believed.
struct Explained {
    line: String,
    source: String,
    versions: (i32, i32),
    direction: String,
    id: i64,
    seen: bool,
}

impl Explained {
    fn covers(&self, version: i32, direction: &str, id: i64) -> bool {
        (self.versions.0..=self.versions.1).contains(&version)
            && (&*self.direction, self.id) == (direction, id)
    }
}

fn explained() -> Vec<Explained> {
    let path = root().join("tests/golden/old-layouts/explained.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut all = Vec::new();
    while let Some(line) = lines.next() {
        let [source, versions, direction, id] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert!(lines.next().is_some_and(|line| line.starts_with("  ")), "no reason: {line}");
        let (first, last) = versions.split_once('-').unwrap();
        all.push(Explained {
            line: line.into(),
            source: source.into(),
            versions: (first.parse().unwrap(), last.parse().unwrap()),
            direction: direction.into(),
            id: i64::from_str_radix(id.strip_prefix("0x").unwrap(), 16).unwrap(),
            seen: false,
        });
    }
    all
}

/// Returns the layouts of our tables, as `protocols VERSION --json` prints them.
fn tables(version: i32) -> BTreeMap<Place, String> {
    let catalog = Catalog::embedded();
    let name = catalog.legacy(version).protocol.name().to_owned();
    let out = Program::mitmcraft(&["protocols", &name, "--json"]).succeed();
    let packets = out.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let packets = packets.filter(|packet| packet["state"] == "play").map(|packet| {
        let fields: Vec<Field<'_>> =
            packet["fields"].as_array().unwrap().iter().map(Field::of).collect();
        let place = (packet["dir"].as_str().unwrap().to_owned(), packet["id"].as_i64().unwrap());
        (place, layout(&fields))
    });
    packets.collect()
}

struct Field<'j> {
    path: &'j str,
    wire: &'j str,
    /// On what it depends; empty if it is always there.
    when: &'j str,
}

impl<'j> Field<'j> {
    fn of(json: &'j Json) -> Self {
        let text = |key: &str| json[key].as_str().unwrap_or_default();
        Self { path: text("path"), wire: text("wire"), when: text("if") }
    }
}

fn layout(fields: &[Field<'_>]) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut within: Option<String> = None;
    for field in fields {
        let Field { path, wire, .. } = *field;
        if within.as_ref().is_some_and(|within| path.starts_with(within.as_str())) {
            continue;
        }
        let elements = format!("{path}[*]");
        let around = |it: &Field<'_>| it.path == path || path.starts_with(&format!("{}[", it.path));
        let depends = fields.iter().any(|it| around(it) && !it.when.is_empty());
        let mark = if depends { "?" } else { "" };
        let mut say = |word: &str| words.push(format!("{mark}{word}"));
        let nbt = |path: &str| fields.iter().find(|it| it.path == format!("{path}nbtData"));
        let number = |text: &str| {
            let text = text.split([' ', ',']).next().unwrap();
            text.trim_start_matches(['i', 'u']).to_owned()
        };
        let item = path.strip_suffix("blockId");
        if let Some(item) =
            item.filter(|it| fields.iter().any(|other| other.path == format!("{it}itemCount")))
        {
            say(match nbt(item) {
                None => "item",
                Some(nbt) if nbt.when.contains("256 or") => "item-tools",
                Some(_) => "item-nbt",
            });
            within = Some(item.to_owned());
        } else if wire.ends_with("0x7f ends it") {
            say(if nbt(&format!("{elements}.value.")).is_some() {
                "metadata-nbt"
            } else {
                "metadata"
            });
            within = Some(elements);
        } else if let Some(length) = wire.strip_prefix("bit field of ") {
            let bytes: usize = length.split(' ').next().unwrap().parse().unwrap();
            say(&(bytes * 8).to_string());
        } else if let Some(count) = wire.strip_prefix("list, ") {
            if !count.starts_with('`') {
                say(&number(count));
            }
            let plain = |it: &Field<'_>| it.path == elements && matches!(it.wire, "i8" | "u8");
            let bytes = fields.iter().any(plain);
            say(if bytes { "data" } else { "list" });
            within = bytes.then_some(elements);
        } else if let Some(count) =
            wire.strip_prefix("bytes, ").or_else(|| wire.strip_prefix("gzip NBT, "))
        {
            if !count.starts_with('`') {
                say(&number(count));
            }
            say("data");
        } else if wire.starts_with("UTF-16") {
            say("text16");
        } else if wire.starts_with("modified UTF-8") {
            say("text8");
        } else if wire == "UUID" {
            say("64");
            say("64");
        } else if wire == "bool" {
            say("8");
        } else if wire != "container" && !wire.contains(" bits, ") {
            say(&number(wire));
        }
    }
    words.join(" ")
}
