//! The embedded protocol tables: `data/java.bin`, written by `tools/import_tables` and
//! described in `docs/protocol-tables.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;
use serde_json::{Map, Value as Json, json};

use super::{DescriptionId, Direction, Name, Protocol, SchemaError, State, packet_types};

/// All embedded tables, not yet compiled.
///
/// Definitions shared by versions are stored once. Only the text, half a megabyte, stays in memory;
/// the JSON of a version is assembled to compile it and then dropped.
pub(super) struct Embedded {
    text: Box<str>,
    /// Range of each definition in `text`.
    lines: Box<[(u32, u32)]>,
    /// Definitions that make up each section.
    sections: Box<[Box<[u16]>]>,
    tables: Box<[Table]>,
    /// The game versions that have a number, but no table, oldest first.
    without_table: BTreeMap<i32, Box<[Name]>>,
}

/// The table of one version.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) version: i32,
    /// The game versions with this protocol number, oldest first; at least one.
    pub(super) names: Box<[Name]>,
    /// The first snapshot number later than this version.
    pub(super) snapshots_from: i32,
    /// The global section, then those of each state and direction.
    sections: Box<[Option<u16>]>,
}

impl Embedded {
    /// Returns the embedded tables, inflating them on first use.
    pub(super) fn get() -> &'static Self {
        static EMBEDDED: LazyLock<Embedded> =
            LazyLock::new(|| Embedded::inflate(FILE).expect(WRITTEN));
        &EMBEDDED
    }

    /// Returns the number that identifies the file.
    pub(super) fn id() -> DescriptionId {
        static ID: LazyLock<DescriptionId> = LazyLock::new(|| DescriptionId::of(FILE));
        *ID
    }

    /// Returns the tables of all versions, oldest first.
    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Returns the game versions with a protocol number, oldest first, whether there is a table or not.
    pub(super) fn names(&self, version: i32) -> &[Name] {
        let table = self.tables.iter().find(|it| it.version == version);
        match table {
            Some(table) => &table.names,
            None => self.without_table.get(&version).map_or(&[], |names| names),
        }
    }

    /// Returns the protocol number of a game version that has no table.
    pub(super) fn without_table(&self, name: &str) -> Option<i32> {
        let mut all = self.without_table.iter();
        all.find(|(_, names)| names.iter().any(|it| **it == *name)).map(|(number, _)| *number)
    }

    /// Assembles the ProtoDef JSON of a version.
    pub(super) fn description(&self, table: &Table) -> Option<Json> {
        let mut description = json!({});
        let mut sections = table.sections.iter();
        description["types"] = self.section((*sections.next()?)?)?;
        for state in State::ALL {
            for direction in Direction::ALL {
                if let Some(section) = sections.next()? {
                    let types = self.section(*section)?;
                    description[state.name()][direction.side()] = json!({ "types": types });
                }
            }
        }
        Some(description)
    }

    /// Returns the names of a section's packets, reading nothing but their list.
    fn packet_names(&self, section: u16) -> Option<Vec<Name>> {
        let ids = self.sections.get(usize::from(section))?.iter();
        let mut lines = ids.filter_map(|id| self.line(*id)?.strip_prefix("packet\t"));
        let list: Json = serde_json::from_str(lines.next()?).ok()?;
        let names = list.as_array()?.iter().map(|packet| packet.as_str().or(packet[1].as_str()));
        names.map(|name| name.map(Name::from)).collect()
    }

    fn section(&self, section: u16) -> Option<Json> {
        let ids = self.sections.get(usize::from(section))?;
        let mut types = Map::with_capacity(ids.len());
        for id in ids {
            let (name, definition) = self.line(*id)?.split_once('\t')?;
            let definition = serde_json::from_str(definition).ok()?;
            let definition = if name == "packet" { packets(&definition)? } else { definition };
            types.insert(name.to_owned(), definition);
        }
        Some(Json::Object(types))
    }

    fn line(&self, id: u16) -> Option<&str> {
        let (start, end) = *self.lines.get(usize::from(id))?;
        Some(&self.text[start as usize..end as usize])
    }

    fn inflate(file: &[u8]) -> Option<Self> {
        let mut text = String::new();
        ZlibDecoder::new(file).read_to_string(&mut text).ok()?;
        let (head, _) = text.split_once('\n')?;
        let mut start = head.len() + 1;
        let mut lines = Vec::new();
        for line in text[start..].lines() {
            lines.push((u32::try_from(start).ok()?, u32::try_from(start + line.len()).ok()?));
            start += line.len() + 1;
        }
        let head: Json = serde_json::from_str(head).ok()?;
        let sections = head["sections"].as_array()?.iter().map(section).collect::<Option<_>>()?;
        let tables = head["versions"].as_array()?.iter().map(Table::new).collect::<Option<_>>()?;
        let without_table = head["without_table"].as_array()?.iter().map(numbered);
        let without_table = without_table.collect::<Option<_>>()?;
        Some(Self { text: text.into(), lines: lines.into(), sections, tables, without_table })
    }
}

impl Table {
    /// Compiles the table.
    pub(super) fn compile(&self) -> Result<Protocol, SchemaError> {
        let name = &self.names[0];
        let fault = || SchemaError { at: name.to_string(), cause: WRITTEN.into() };
        let description = Embedded::get().description(self).ok_or_else(fault)?;
        Protocol::built_in(self.version, name, &description)
    }

    /// Returns the names of all packets. Compiles nothing.
    pub(super) fn packet_names(&self) -> BTreeSet<Name> {
        let sections = self.sections.iter().skip(1).flatten();
        let names = sections.filter_map(|section| Embedded::get().packet_names(*section));
        names.flatten().collect()
    }

    fn new(json: &Json) -> Option<Self> {
        let int = |key: &str| i32::try_from(json[key].as_i64()?).ok();
        let names = names(&json["names"])?;
        let sections = json["sections"].as_array()?.iter().map(|section| match section {
            Json::Null => Some(None),
            section => u16::try_from(section.as_u64()?).ok().map(Some),
        });
        (!names.is_empty()).then_some(())?;
        Some(Self {
            version: int("version")?,
            names,
            snapshots_from: int("snapshots_from")?,
            sections: sections.collect::<Option<_>>()?,
        })
    }
}

fn names(json: &Json) -> Option<Box<[Name]>> {
    json.as_array()?.iter().map(|name| name.as_str().map(Name::from)).collect()
}

/// Reads a protocol number and the game versions that have it.
fn numbered(json: &Json) -> Option<(i32, Box<[Name]>)> {
    Some((i32::try_from(json[0].as_i64()?).ok()?, names(&json[1])?))
}

/// Returns the definitions of a section, which the file stores as differences.
fn section(steps: &Json) -> Option<Box<[u16]>> {
    let mut id = 0u16;
    let ids = steps.as_array()?.iter().map(|step| {
        id = id.checked_add(u16::try_from(step.as_u64()?).ok()?)?;
        Some(id)
    });
    ids.collect()
}

/// Builds ProtoDef's definition of `packet` from the list in the file.
fn packets(list: &Json) -> Option<Json> {
    let (mut ids, mut types) = (Map::new(), Map::new());
    let mut next = 0;
    for packet in list.as_array()? {
        let (id, name, ty) = match packet {
            Json::String(name) => (next, name.as_str(), json!(format!("packet_{name}"))),
            _ => (packet[0].as_u64()?, packet[1].as_str()?, packet[2].clone()),
        };
        ids.insert(format!("0x{id:02x}"), json!(name));
        types.insert(name.to_owned(), ty);
        next = id + 1;
    }
    Some(packet_types("varint", ids, types))
}

const FILE: &[u8] = include_bytes!("data/java.bin");

const WRITTEN: &str = "`data/java.bin` is as the import wrote it, which a test reads to the end";
