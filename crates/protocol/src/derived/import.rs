use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::lists::{ChangedList, Rewritten, rewrite};
use super::reports::{Reports, bare};
use crate::meaning::registry;
use crate::schema::{
    Catalog, Direction, PacketType, Protocol, Registry, RegistryKind, SchemaError, State,
};

/// A version derived from the game's reports: ids and names are theirs, layouts those of an earlier version.
#[derive(Debug)]
#[non_exhaustive]
pub struct Import {
    /// A partial description, which [`Catalog::add`] takes.
    pub description: Json,
    /// The version whose layouts it has.
    pub base: Arc<Protocol>,
    /// All packets of either version, by state, direction and name.
    pub packets: Vec<ImportedPacket>,
    /// The lists of names in layouts that changed.
    pub lists: Vec<ChangedList>,
    /// The names of numbers that changed, by kind.
    pub names: Vec<(RegistryKind, ChangedNames)>,
}

/// A packet of the new version or of the earlier one.
#[derive(Debug)]
#[non_exhaustive]
pub struct ImportedPacket {
    /// The state in which it is sent.
    pub state: State,
    /// Its direction.
    pub direction: Direction,
    /// Its name in the description.
    pub name: String,
    /// Its name in the game.
    pub official: String,
    /// Its id; `None` if the new version does not have it.
    pub id: Option<u16>,
    /// Its id in the earlier version.
    pub was: Option<i32>,
    /// What its layout rests on.
    pub basis: Basis,
}

/// What the layout of a packet rests on. The reports contain no layouts, so that only packets can prove one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// The earlier version has no packet of this name: it is read as bytes.
    New,
    /// The new version does not have the packet.
    Gone,
    /// The layout of the earlier version's packet of this name. It contains data whose layout depends on the names in
    /// these registries, such as the components of items, which changes with nearly every version.
    Unsure(Vec<String>),
    /// The layout of the earlier version's packet of this name, with new lists of the names in these registries.
    Changed(Vec<String>),
    /// The layout of the earlier version's packet of this name, and nothing else. From 1.21 to 26.3, one in thirty had
    /// changed.
    Name,
    /// A layout that programs of all versions must read, as it tells them the version.
    AllVersions,
}

impl Basis {
    /// Returns `new`, `gone`, `unsure`, `changed`, `unproven` or `all_versions`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Gone => "gone",
            Self::Unsure(_) => "unsure",
            Self::Changed(_) => "changed",
            Self::Name => "unproven",
            Self::AllVersions => "all_versions",
        }
    }

    /// Returns the registries on whose changes it rests.
    #[must_use]
    pub fn registries(&self) -> &[String] {
        match self {
            Self::Unsure(registries) | Self::Changed(registries) => registries,
            Self::New | Self::Gone | Self::Name | Self::AllVersions => &[],
        }
    }
}

/// How the names of one kind of things changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedNames {
    /// How many there are.
    pub count: usize,
    /// How many of them the earlier version does not have.
    pub added: usize,
    /// How many only the earlier version has.
    pub removed: usize,
    /// `false` if the reports have none, and those of the earlier version are kept.
    pub reported: bool,
}

/// Returns the version of a catalog whose packets are most like those of the reports by their official names, of
/// several the latest: another one than `number`, that of the reports. Names are known since 1.21.
#[must_use]
pub fn nearest(catalog: &Catalog, reports: &Reports, number: i32) -> Option<Arc<Protocol>> {
    let named: BTreeSet<_> =
        reports.packets.iter().map(|it| (it.state, it.direction, it.name.as_str())).collect();
    let distance = |protocol: &Protocol| {
        let packets = protocol.packets().iter();
        let own: BTreeSet<_> =
            packets.map(|it| (it.state(), it.direction(), official(protocol, it))).collect();
        own.symmetric_difference(&named).count()
    };
    let protocols = catalog
        .protocols()
        .filter(|it| it.version() != number && it.release() >= crate::schema::Release::V1_21);
    let ranked = protocols.map(|it| (std::cmp::Reverse(distance(it)), it.release(), it));
    let nearest = ranked.max_by_key(|(distance, release, _)| (*distance, *release));
    nearest.map(|(_, _, protocol)| Arc::clone(protocol))
}

/// Derives the description of the version that has these reports from that of `base`, a version of the catalog.
///
/// # Errors
/// [`SchemaError`] if `base` has no description in the catalog, or is the version of the reports itself.
pub fn import(
    catalog: &Catalog,
    base: &Arc<Protocol>,
    reports: &Reports,
    number: i32,
    name: &str,
) -> Result<Import, SchemaError> {
    let fault = |cause| SchemaError { at: "extends".into(), cause };
    if base.version() == number {
        let cause = format!("protocol {number} is the version of the reports: name another one");
        return Err(fault(cause));
    }
    let source = catalog.description(base.version());
    let source = source.ok_or_else(|| fault(format!("no description of {}", base.name())))?;
    let sections = sections(&source);
    let rewritten = rewrite(&sections, &reports.registries);
    let mut description =
        json!({ "extends": extends(catalog, base), "number": number, "name": name });
    for ((section, name), definition) in &rewritten.definitions {
        place(&mut description, section)[name.as_str()] = definition.clone();
    }
    let mut packets = Vec::new();
    for state in State::ALL {
        for direction in Direction::ALL {
            let section =
                Section { source: &source, base, state, direction, rewritten: &rewritten };
            packets.extend(section.import(reports, &mut description));
        }
    }
    let mut lists: Vec<ChangedList> = Vec::new();
    for list in rewritten.lists.values().flat_map(|lists| &lists.changed) {
        match lists.iter_mut().find(|known| known.registry == list.registry) {
            Some(known) => known.decides |= list.decides,
            None => lists.push(list.clone()),
        }
    }
    let names = import_names(base, reports, &mut description["registries"]);
    Ok(Import { description, base: Arc::clone(base), packets, lists, names })
}

/// Returns what names a version in `extends`.
fn extends(catalog: &Catalog, base: &Protocol) -> Json {
    let name = base.newest_name();
    let found = catalog.by_name(name).is_some_and(|it| it.version() == base.version());
    if found { json!(name) } else { json!(base.version()) }
}

/// Returns the parts of a description that have definitions, with a name for each: empty, or state and side.
fn sections(source: &Json) -> Vec<(String, &Map<String, Json>)> {
    let global = source["types"].as_object().map(|types| (String::new(), types));
    let of_states = State::ALL.into_iter().flat_map(|state| {
        Direction::ALL.into_iter().filter_map(move |direction| {
            let types = source[state.name()][direction.side()]["types"].as_object()?;
            Some((section_name(state, direction), types))
        })
    });
    global.into_iter().chain(of_states).collect()
}

fn section_name(state: State, direction: Direction) -> String {
    format!("{state}.{}", direction.side())
}

/// Returns the definitions of a section in the new description.
fn place<'j>(description: &'j mut Json, section: &str) -> &'j mut Json {
    match section.split_once('.') {
        Some((state, side)) => &mut description[state][side]["types"],
        None => &mut description["types"],
    }
}

fn official<'p>(protocol: &Protocol, packet: &'p PacketType) -> &'p str {
    protocol.official_name(packet).unwrap_or(packet.name())
}

/// The packets of one state and direction.
struct Section<'s> {
    source: &'s Json,
    base: &'s Protocol,
    state: State,
    direction: Direction,
    rewritten: &'s Rewritten,
}

impl Section<'_> {
    fn import(&self, reports: &Reports, description: &mut Json) -> Vec<ImportedPacket> {
        let Self { base, state, direction, .. } = *self;
        let is_here = |it: &(State, Direction)| *it == (state, direction);
        let old = base.packets().iter().filter(|it| is_here(&(it.state(), it.direction())));
        let mut old: BTreeMap<&str, &PacketType> = old.map(|it| (official(base, it), it)).collect();
        let mut taken: BTreeSet<String> = old.values().map(|it| it.name().to_string()).collect();
        let mut imported = Vec::new();
        for packet in reports.packets.iter().filter(|it| is_here(&(it.state, it.direction))) {
            let known = old.remove(packet.name.as_str());
            let name = known.map_or_else(
                || {
                    let mut name = packet.name.replace(|it: char| !it.is_ascii_alphanumeric(), "_");
                    while !taken.insert(name.clone()) {
                        name.push('_');
                    }
                    name
                },
                |known| known.name().to_string(),
            );
            imported.push(ImportedPacket {
                state,
                direction,
                name,
                official: packet.name.clone(),
                id: Some(packet.id),
                was: known.map(PacketType::id),
                basis: known.map_or(Basis::New, |known| self.basis(known)),
            });
        }
        // Reports without a section say nothing of it.
        if imported.is_empty() {
            let kept = old.into_iter().filter_map(|(official, packet)| {
                Some(ImportedPacket {
                    state,
                    direction,
                    name: packet.name().to_string(),
                    official: official.to_owned(),
                    id: Some(u16::try_from(packet.id()).ok()?),
                    was: Some(packet.id()),
                    basis: self.basis(packet),
                })
            });
            return kept.collect();
        }
        imported.extend(old.into_iter().map(|(official, gone)| ImportedPacket {
            state,
            direction,
            name: gone.name().to_string(),
            official: official.to_owned(),
            id: None,
            was: Some(gone.id()),
            basis: Basis::Gone,
        }));
        if imported.iter().any(|it| it.id.map(i32::from) != it.was) {
            let ids = imported.iter().filter_map(|it| Some((it.id?, json!(it.name))));
            let mut ids: BTreeMap<u16, Json> = ids.collect();
            for gone in imported.iter().filter(|it| it.id.is_none()) {
                let id = gone.was.and_then(|id| u16::try_from(id).ok());
                id.map(|id| ids.entry(id).or_insert(Json::Null));
            }
            let ids = ids.into_iter().map(|(id, name)| (format!("0x{id:02x}"), name));
            let section = &mut description[state.name()][direction.side()];
            section["packets"] = Json::Object(ids.collect());
        }
        for new in imported.iter().filter(|it| it.basis == Basis::New) {
            let types = place(description, &section_name(state, direction));
            types[format!("packet_{}", new.name)] =
                json!(["container", [{ "name": "data", "type": "restBuffer" }]]);
        }
        imported
    }

    /// Returns what the layout of a packet of the earlier version rests on.
    fn basis(&self, packet: &PacketType) -> Basis {
        if matches!(self.state, State::Handshaking | State::Status) {
            return Basis::AllVersions;
        }
        let (mut changed, mut unsure) = (BTreeSet::new(), BTreeSet::new());
        for key in self.definitions(packet) {
            if let Some(lists) = self.rewritten.lists.get(&key) {
                changed.extend(lists.changed.iter().map(|list| list.registry.clone()));
                unsure.extend(lists.deciding.iter().map(|it| (*it).to_owned()));
            }
        }
        match (unsure.is_empty(), changed.is_empty()) {
            (false, _) => Basis::Unsure(unsure.into_iter().collect()),
            (_, false) => Basis::Changed(changed.into_iter().collect()),
            _ => Basis::Name,
        }
    }

    /// Returns the definitions that a packet consists of.
    fn definitions(&self, packet: &PacketType) -> BTreeSet<(String, String)> {
        let section = section_name(self.state, self.direction);
        let types = &self.source[self.state.name()][self.direction.side()]["types"];
        let root = &types["packet"][1][1]["type"][1]["fields"][&**packet.name()];
        let mut found = BTreeSet::new();
        let mut waiting = vec![root];
        while let Some(json) = waiting.pop() {
            match json {
                Json::String(name) => {
                    let own = types.get(name).map(|it| (section.clone(), it));
                    let own =
                        own.or_else(|| Some((String::new(), self.source["types"].get(name)?)));
                    if let Some((section, definition)) = own
                        && found.insert((section, name.clone()))
                    {
                        waiting.push(definition);
                    }
                }
                Json::Array(parts) => waiting.extend(parts),
                // The names of fields and of values are not types.
                Json::Object(parts) => {
                    let no_type = ["name", "mappings", "compareTo", "count", "countFor", "flags"];
                    let types = parts.iter().filter(|(key, _)| !no_type.contains(&key.as_str()));
                    waiting.extend(types.map(|(_, part)| part));
                }
                _ => {}
            }
        }
        found
    }
}

/// Puts the names of numbers into the new description: those of the reports, or else those of the earlier version.
fn import_names(
    base: &Protocol,
    reports: &Reports,
    description: &mut Json,
) -> Vec<(RegistryKind, ChangedNames)> {
    let mut names = Vec::new();
    for kind in RegistryKind::ALL {
        let old = registry(base, kind).map(|it| it.tokens()).unwrap_or_default();
        let reported = match reported_as(kind) {
            Some("block") => Some(reports.blocks.clone()),
            Some(name) => reports.registries.get(name).map(|entries| {
                let entries = entries.iter().filter_map(|(number, name)| {
                    Some((u64::try_from(*number).ok()?, 1, bare(name).to_owned()))
                });
                Registry::tokens_of(entries)
            }),
            None => None,
        };
        let is_reported = reported.is_some();
        let new = reported.unwrap_or_else(|| old.clone());
        if new.is_empty() {
            continue;
        }
        let set = |all: &[String]| -> BTreeSet<String> {
            let names = all.iter().filter(|it| !it.starts_with('@'));
            names.map(|it| it.split('[').next().unwrap_or(it).to_owned()).collect()
        };
        let (before, after) = (set(&old), set(&new));
        names.push((
            kind,
            ChangedNames {
                count: after.len(),
                added: after.difference(&before).count(),
                removed: before.difference(&after).count(),
                reported: is_reported,
            },
        ));
        description[kind.name()] = json!(new);
    }
    names
}

/// Returns the registry in the reports that has the names of a kind; `None` if the reports never have them.
fn reported_as(kind: RegistryKind) -> Option<&'static str> {
    Some(match kind {
        RegistryKind::Item => "item",
        RegistryKind::Block => "block",
        RegistryKind::Entity => "entity_type",
        RegistryKind::Effect => "mob_effect",
        RegistryKind::Particle => "particle_type",
        RegistryKind::Sound => "sound_event",
        RegistryKind::Potion => "potion",
        RegistryKind::BlockEntity => "block_entity_type",
        // The server sends these, and nothing reports the keys of metadata.
        RegistryKind::Biome | RegistryKind::Enchantment | RegistryKind::Metadata => return None,
    })
}
