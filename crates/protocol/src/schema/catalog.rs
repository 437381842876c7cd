use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use serde_json::Value as Json;

use super::embedded::{Embedded, Table};
use super::partial::{EXTENDS, NAME, NUMBER, is_partial, merge};
use super::{DescriptionId, Family, Name, Protocol, SchemaError};

/// The known protocols of the Java family by version, and access to the other families.
///
/// A protocol is compiled on first use and then shared by all clones of the catalog.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: BTreeMap<i32, Arc<Entry>>,
    /// The versions that [`only`](Self::only) has left out.
    others: Box<[Arc<Entry>]>,
    /// The protocols from before 1.7 that remain; `None` if all do.
    pub(super) old: Option<Box<[Arc<Protocol>]>>,
}

/// The result of looking up a protocol by version.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Match {
    /// The protocol of that version, or of the nearest known one.
    pub protocol: Arc<Protocol>,
    /// `true` if `protocol` is the requested version. If not, decoded packets are a guess.
    pub exact: bool,
}

#[derive(Debug)]
struct Entry {
    /// The game versions with this protocol number, oldest first.
    names: Box<[Name]>,
    /// The first snapshot number later than this version.
    snapshots_from: i32,
    protocol: LazyLock<Arc<Protocol>, Compile>,
    /// Names of all packets.
    packets: LazyLock<BTreeSet<Name>, List>,
    description: Description,
}

/// The ProtoDef JSON of a protocol.
#[derive(Debug)]
enum Description {
    Embedded(&'static Table),
    Added(Json),
    /// The protocol was added without it.
    None,
}

type List = Box<dyn FnOnce() -> BTreeSet<Name> + Send>;

type Compile = Box<dyn FnOnce() -> Arc<Protocol> + Send>;

impl Catalog {
    /// The lowest protocol number of a snapshot. Since 1.16.4 snapshots have a number range of
    /// their own, above that of releases.
    pub const FIRST_SNAPSHOT: i32 = 1 << 30;

    /// Returns the catalog of the embedded protocols: 1.7 and later.
    ///
    /// # Panics
    /// Never, nor do [`find`](Self::find) and [`by_name`](Self::by_name): a test compiles all
    /// protocols.
    #[must_use]
    pub fn embedded() -> &'static Self {
        static EMBEDDED: LazyLock<Catalog> = LazyLock::new(|| {
            let tables = Embedded::get().tables().iter();
            let entries = tables.map(|table| (table.version, Entry::new(table))).collect();
            Catalog { entries, others: Box::default(), old: None }
        });
        &EMBEDDED
    }

    /// Returns a catalog restricted to `versions`. It still knows the packets' names of the others.
    #[must_use]
    pub fn only(&self, versions: &[i32]) -> Self {
        let (kept, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            self.entries.clone().into_iter().partition(|(version, _)| versions.contains(version));
        let others = others.into_values().chain(self.others.iter().cloned()).collect();
        Self { entries: kept, others, old: self.old.clone() }
    }

    /// Returns a catalog restricted to these protocols, of any family, as [`only`](Self::only) does. If all
    /// of them are of 1.7 and later, those from before remain.
    #[must_use]
    pub fn only_of(&self, protocols: &[Arc<Protocol>]) -> Self {
        let (java, old): (Vec<_>, Vec<_>) =
            protocols.iter().cloned().partition(|it| it.family() == Family::Java);
        let versions: Vec<i32> = java.iter().map(|protocol| protocol.version()).collect();
        let old = (!old.is_empty()).then(|| old.into());
        Self { old, ..self.only(&versions) }
    }

    /// Compiles the versions that [`only`](Self::only) has left out.
    pub fn left_out(&self) -> impl Iterator<Item = Arc<Protocol>> {
        self.others.iter().map(|entry| Arc::clone(&entry.protocol))
    }

    /// Returns whether a version that [`only`](Self::only) has left out has a packet whose name
    /// satisfies `is`. Compiles nothing.
    pub fn has_packet_elsewhere(&self, is: impl Fn(&str) -> bool) -> bool {
        self.others.iter().any(|entry| entry.packets.iter().any(|name| is(name)))
    }

    /// Adds a protocol, replacing the one with the same version.
    pub fn insert(&mut self, protocol: impl Into<Arc<Protocol>>) {
        self.put(protocol.into(), Description::None);
    }

    /// Compiles and adds a description, replacing the one with the same version.
    ///
    /// A partial description changes that of another version: the one that its `extends` names (a
    /// game version or a protocol number), otherwise `version` or the nearest older one. Without a
    /// `version` it replaces the one that it extends. A description that has a `number` and a `name` of its own is
    /// added under these. See `docs/protocol-tables.md`.
    ///
    /// # Errors
    /// [`SchemaError`] with the place in the description.
    pub fn add(
        &mut self,
        version: Option<i32>,
        name: &str,
        mut description: Json,
    ) -> Result<(), SchemaError> {
        if description.as_object().is_some_and(serde_json::Map::is_empty) {
            let cause = "it describes nothing: expected `types` and states such as `play`, or \
                         `extends` with what differs";
            return Err(SchemaError { at: SchemaError::TOP.into(), cause: cause.into() });
        }
        let own = description.as_object_mut();
        let (number, own_name) =
            own.map(|own| (own.remove(NUMBER), own.remove(NAME))).unwrap_or_default();
        let version = number.map(|it| own_number(&it)).transpose()?.or(version);
        let own_name = own_name.as_ref().map(own_version_name).transpose()?;
        let name = own_name.unwrap_or(name);
        let extended = description.get(EXTENDS).map(|it| self.extended(it)).transpose()?;
        let Some(version) = version.or(extended) else {
            let cause = "no protocol number: end the file's name in it (`47.json`), or name the \
                         version that it changes with `extends`";
            return Err(SchemaError { at: SchemaError::TOP.into(), cause: cause.into() });
        };
        let description = if is_partial(&description) && description.is_object() {
            let base = extended.or_else(|| Some(self.find(version)?.protocol.version()));
            let base = base.and_then(|base| self.description(base));
            merge(base.unwrap_or_default(), &description)?
        } else {
            description
        };
        let protocol = Protocol::from_json(version, name, &description)?;
        self.put(Arc::new(protocol), Description::Added(description));
        Ok(())
    }

    /// Returns the protocol number that `extends` names.
    fn extended(&self, json: &Json) -> Result<i32, SchemaError> {
        let number = match json {
            Json::String(name) => self.by_name(name).map(|protocol| protocol.version()),
            _ => json.as_i64().and_then(|number| i32::try_from(number).ok()),
        };
        let known = number.filter(|number| self.entries.contains_key(number));
        let cause = || format!("unknown version {json}: expected one that `protocols` lists");
        known.ok_or_else(|| SchemaError { at: EXTENDS.into(), cause: cause() })
    }

    fn put(&mut self, protocol: Arc<Protocol>, description: Description) {
        let version = protocol.version();
        let older = self.entries.range(..=version).next_back();
        let known = older.filter(|(number, _)| **number == version);
        let mut names = known.map_or_else(Vec::new, |(_, entry)| entry.names.to_vec());
        if !names.iter().any(|name| **name == *protocol.name()) {
            names.push(protocol.name().into());
        }
        // The first snapshot of a new version is unknown, so all those since the previous version
        // count.
        let snapshots_from = match older {
            Some((_, entry)) if version < Self::FIRST_SNAPSHOT => entry.snapshots_from,
            _ => version.max(Self::FIRST_SNAPSHOT),
        };
        let packets: BTreeSet<Name> =
            protocol.packets().iter().map(|packet| Name::clone(packet.name())).collect();
        let packets = LazyLock::new(Box::new(|| packets) as List);
        let protocol = LazyLock::new(Box::new(|| protocol) as Compile);
        let names = names.into();
        let entry = Entry { names, snapshots_from, protocol, packets, description };
        self.entries.insert(version, Arc::new(entry));
    }

    /// Returns the protocol of `version`; if it is unknown, of the nearest older version, or of the
    /// oldest. Returns `None` for an empty catalog.
    ///
    /// A snapshot number (2^30 and above) does not tell which release it follows; the tables record
    /// which versions are older. Unknown releases never fall back to such a snapshot.
    #[must_use]
    pub fn find(&self, version: i32) -> Option<Match> {
        let older = match version {
            Self::FIRST_SNAPSHOT.. => {
                let older = self.entries.iter().filter(|(_, it)| it.snapshots_from <= version);
                older.max_by_key(|(number, it)| (**number == version, it.snapshots_from, **number))
            }
            _ => self.entries.range(..=version).next_back(),
        };
        let (number, entry) = older.or_else(|| self.entries.iter().next())?;
        Some(Match { protocol: Arc::clone(&entry.protocol), exact: *number == version })
    }

    /// Returns the protocol of the nearest version that is known and later than `version`; `None` if there is
    /// none.
    #[must_use]
    pub fn later(&self, version: i32) -> Option<Arc<Protocol>> {
        let (_, entry) = match version {
            Self::FIRST_SNAPSHOT.. => {
                let later = self.entries.iter().filter(|(_, it)| it.snapshots_from > version);
                later.min_by_key(|(number, it)| (it.snapshots_from, **number))
            }
            _ => self.entries.range(version..Self::FIRST_SNAPSHOT).find(|it| *it.0 != version),
        }?;
        Some(Arc::clone(&entry.protocol))
    }

    /// Returns the protocol of `version` if it was added; `None` if it is built in or unknown.
    #[must_use]
    pub fn added(&self, version: i32) -> Option<&Arc<Protocol>> {
        let entry = self.entries.get(&version)?;
        let built_in = matches!(entry.description, Description::Embedded(_));
        (!built_in).then(|| &*entry.protocol)
    }

    /// Returns the number that identifies the built-in tables.
    #[must_use]
    pub fn built_in_id() -> DescriptionId {
        Embedded::id()
    }

    /// Returns the protocol number of the newest release, or `None` for a catalog without releases.
    /// Compiles nothing.
    #[must_use]
    pub fn newest_release(&self) -> Option<i32> {
        self.entries.range(..Self::FIRST_SNAPSHOT).next_back().map(|(version, _)| *version)
    }

    /// Returns the protocol of a game version, for example `1.20.4`.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<Arc<Protocol>> {
        let has = |entry: &Entry| entry.names.iter().any(|known| **known == *name);
        let entry = self.entries.values().rev().find(|entry| has(entry))?;
        Some(Arc::clone(&entry.protocol))
    }

    /// Returns the newest game version with a protocol number of 1.7 and later, built in or known by name only, as most
    /// snapshots are; `None` if the number is unknown.
    #[must_use]
    pub fn newest_name(version: i32) -> Option<&'static str> {
        Embedded::get().names(version).last().map(|name| &**name)
    }

    /// Returns the protocol number of a game version that is known by name only: a snapshot or a pre-release without
    /// a table.
    #[must_use]
    pub fn without_table(name: &str) -> Option<i32> {
        Embedded::get().without_table(name)
    }

    /// Returns the ProtoDef description of `version`, or `None` if it is unknown or was
    /// [inserted](Self::insert) without one.
    #[must_use]
    pub fn description(&self, version: i32) -> Option<Json> {
        match &self.entries.get(&version)?.description {
            Description::Embedded(table) => Embedded::get().description(table),
            Description::Added(description) => Some(description.clone()),
            Description::None => None,
        }
    }

    /// Iterates over all protocols by version number, compiling those not used so far.
    pub fn protocols(&self) -> impl Iterator<Item = &Arc<Protocol>> {
        self.entries.values().map(|entry| &*entry.protocol)
    }

    /// Returns whether `version` is known and has a packet whose name satisfies `is`. Compiles
    /// nothing.
    #[must_use]
    pub fn has_packet(&self, version: i32, is: impl Fn(&str) -> bool) -> bool {
        self.entries.get(&version).is_some_and(|entry| entry.packets.iter().any(|name| is(name)))
    }

    /// Describes the releases for which `holds` is true, for example `1.8 to 1.12.2, 1.19 and
    /// later`. Returns `None` if it is true for all releases.
    pub fn releases_where(&self, mut holds: impl FnMut(i32) -> bool) -> Option<String> {
        let is_release = |name: &&Name| name.chars().all(|it| it.is_ascii_digit() || it == '.');
        let releases = self.entries.iter().filter_map(|(number, entry)| {
            let mut names = entry.names.iter().filter(is_release);
            let oldest = names.next()?;
            Some((holds(*number), oldest, names.next_back().unwrap_or(oldest)))
        });
        let releases: Vec<(bool, &Name, &Name)> = releases.collect();
        let runs: Vec<_> = releases.chunk_by(|(a, ..), (b, ..)| a == b).collect();
        let words = runs.iter().enumerate().filter(|(_, run)| run[0].0).map(|(place, run)| {
            let (from, to) = (run[0].1, run[run.len() - 1].2);
            match () {
                () if place + 1 == runs.len() => format!("{from} and later"),
                () if place == 0 => format!("up to {to}"),
                () if from == to => from.to_string(),
                () => format!("{from} to {to}"),
            }
        });
        let all = releases.iter().all(|(holds, ..)| *holds);
        (!all).then(|| words.collect::<Vec<_>>().join(", "))
    }

    /// Returns whether a description may have a text as its `name`.
    #[must_use]
    pub fn is_version_name(name: &str) -> bool {
        (1..=MAX_NAME).contains(&name.len()) && !name.contains(char::is_control)
    }

    /// Iterates over protocol numbers and the game versions that have them, both oldest first;
    /// snapshots come last. Compiles nothing.
    pub fn versions(&self) -> impl Iterator<Item = (i32, &[Name])> {
        self.entries.iter().map(|(number, entry)| (*number, &*entry.names))
    }
}

/// Reads the game version that a description has.
fn own_version_name(json: &Json) -> Result<&str, SchemaError> {
    let cause = || format!("expected a text of up to {MAX_NAME} bytes, this is {json}");
    json.as_str()
        .filter(|name| Catalog::is_version_name(name))
        .ok_or_else(|| SchemaError { at: NAME.into(), cause: cause() })
}

/// Greatest length of the name of a version in bytes. Captures allow twice that.
const MAX_NAME: usize = 100;

/// Reads the protocol number that a description has.
fn own_number(json: &Json) -> Result<i32, SchemaError> {
    let number = json.as_i64().and_then(|number| i32::try_from(number).ok());
    let cause = || format!("{json} is no protocol number");
    number.ok_or_else(|| SchemaError { at: NUMBER.into(), cause: cause() })
}

impl Entry {
    fn new(table: &'static Table) -> Arc<Self> {
        let compile = || Arc::new(table.compile().expect("the embedded tables compile"));
        Arc::new(Self {
            names: table.names.clone(),
            snapshots_from: table.snapshots_from,
            protocol: LazyLock::new(Box::new(compile)),
            packets: LazyLock::new(Box::new(|| table.packet_names())),
            description: Description::Embedded(table),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::{Direction, PacketType, State};
    const SNAPSHOT: i32 = Catalog::FIRST_SNAPSHOT;

    #[test]
    fn lists_every_release_since_1_7_2_with_its_number() {
        let versions: Vec<(i32, &[Name])> = Catalog::embedded().versions().collect();
        assert_eq!(versions.len(), 66);
        assert!(versions.is_sorted_by_key(|(number, _)| *number));
        assert_eq!(versions[0].1, ["1.7.2", "1.7.4", "1.7.5"].map(Name::from));
        for (name, number) in [
            ("1.7.10", 5),
            ("1.8.9", 47),
            ("1.14.2", 485),
            ("1.20.4", 765),
            ("26.1.2", 775),
            ("26.2", 776),
            ("26.3", 777),
        ] {
            let protocol = Catalog::embedded().by_name(name).unwrap();
            assert_eq!(protocol.version(), number, "{name}");
        }
        assert!(Catalog::embedded().by_name("1.6.4").is_none());
        assert_eq!(Catalog::embedded().find(47).unwrap().protocol.name(), "1.8");
    }

    #[test]
    fn an_unknown_version_falls_back_to_the_nearest_older_one() {
        let found = |version: i32| {
            let found = Catalog::embedded().find(version).unwrap();
            (found.protocol.version(), found.exact)
        };
        for (version, nearest) in [(47, 47), (48, 47), (754, 754), (778, 777), (i32::MIN, 4)] {
            assert_eq!(found(version), (nearest, version == nearest));
        }
        // Never to a snapshot, however near.
        assert_eq!(found(SNAPSHOT - 1), (777, false));
        // 1.16.4-pre1, 20w45a, 21w06a, 21w08a, 1.17-rc2; then those after 1.17, 1.20, 1.21.11, 26.1,
        // 26.2, 26.3.
        for (snapshot, nearest) in
            [(1, 753), (5, 754), (14, 754), (16, SNAPSHOT + 15), (35, SNAPSHOT + 15)]
        {
            assert_eq!(found(SNAPSHOT + snapshot), (nearest, false), "{snapshot}");
        }
        assert_eq!(found(SNAPSHOT + 15), (SNAPSHOT + 15, true));
        for (snapshot, nearest) in [
            (36, 755),
            (145, 763),
            (287, 774),
            (303, 774),
            (304, 775),
            (322, 775),
            (323, 776),
            (339, 777),
        ] {
            assert_eq!(found(SNAPSHOT + snapshot), (nearest, false), "{snapshot}");
        }
        assert_eq!(found(i32::MAX), (777, false));
    }

    #[test]
    fn the_version_after_another_is_found() {
        let later = |version| Catalog::embedded().later(version).map(|it| it.version());
        for (version, next) in [
            (i32::MIN, 4),
            (47, 76),
            (76, 107),
            (106, 107),
            (107, 108),
            (341, 351),
            (351, 393),
            (754, 755),
            (776, 777),
        ] {
            assert_eq!(later(version), Some(next), "{version}");
        }
        assert_eq!([later(777), later(SNAPSHOT - 1)], [None; 2]);
        // The same snapshots as in the test above.
        for (snapshot, next) in
            [(1, 754), (5, SNAPSHOT + 15), (35, 755), (36, 756), (145, 764), (287, 775)]
        {
            assert_eq!(later(SNAPSHOT + snapshot), Some(next), "{snapshot}");
        }
        assert_eq!([later(SNAPSHOT + 339), later(i32::MAX)], [None; 2]);
    }

    #[test]
    fn an_added_protocol_replaces_the_known_one() {
        let mut catalog = Catalog::embedded().clone();
        catalog.insert(small(47, "mine").unwrap());
        catalog.insert(small(778, "26.4").unwrap());
        catalog.insert(small(SNAPSHOT + 200, "24w40x").unwrap());
        for name in ["mine", "1.8.9"] {
            assert_eq!(catalog.by_name(name).unwrap().name(), "mine");
        }
        let found = |version| catalog.find(version).unwrap().protocol.version();
        assert_eq!((found(777), found(778), found(779)), (777, 778, 778));
        assert_eq!(found(SNAPSHOT + 339), 778);
        assert_eq!((found(SNAPSHOT + 199), found(SNAPSHOT + 201)), (766, SNAPSHOT + 200));
        assert_eq!(Catalog::embedded().by_name("1.8.9").unwrap().name(), "1.8");
    }

    #[test]
    fn the_names_of_packets_are_known_without_compiling() {
        let catalog = Catalog::embedded();
        for version in [4, 47, 340, 759, 777] {
            let protocol = catalog.find(version).unwrap().protocol;
            let compiled: BTreeSet<Name> =
                protocol.packets().iter().map(|packet| Name::clone(packet.name())).collect();
            let mut listed = catalog.entries[&version].packets.clone();
            listed.remove("legacy_server_list_ping");
            assert_eq!(listed, compiled, "{version}");
        }
    }

    #[test]
    fn names_the_releases_that_have_a_packet() {
        let catalog = Catalog::embedded();
        let packet = |name: &str| {
            catalog.releases_where(|version| catalog.has_packet(version, |it| it == name))
        };
        for (name, releases) in [
            ("keep_alive", None),
            ("chat", Some("up to 1.18.2")),
            ("chat_message", Some("1.19 and later")),
            ("transaction", Some("up to 1.16.5")),
            ("map_chunk_bulk", Some("up to 1.8.9")),
            ("nothing", Some("")),
        ] {
            assert_eq!(packet(name).as_deref(), releases, "{name}");
        }
        let middle = catalog.releases_where(|version| matches!(version, 5 | 107..=340 | 777));
        assert_eq!(middle.unwrap(), "1.7.6 to 1.7.10, 1.9 to 1.12.2, 26.3 and later");
    }

    #[test]
    fn a_catalog_of_one_protocol_finds_it_for_every_version() {
        let mut catalog = Catalog::default();
        assert!(catalog.find(47).is_none());
        catalog.insert(small(5, "only").unwrap());
        for version in [i32::MIN, 4, 5, 47, SNAPSHOT, i32::MAX] {
            assert_eq!(catalog.find(version).unwrap().exact, version == 5);
        }
    }

    #[test]
    fn a_partial_description_changes_another_version() {
        let mut catalog = Catalog::embedded().clone();
        let mine = json!({
            "extends": "1.8.9",
            "types": { "pair": ["container", [{ "name": "a", "type": "u8" }, { "name": "b", "type": "u8" }]] },
            "play": { "toClient": {
                "packets": { "0x70": "mine", "0x00": "chat" },
                "types": { "packet_mine": "pair", "packet_update_health": "pair" },
            } },
        });
        catalog.add(Some(900), "mod-900", mine.clone()).unwrap();
        catalog.add(None, "mod", mine).unwrap();
        for version in [47, 900] {
            let found = catalog.find(version).unwrap();
            let packet = |id| found.protocol.packet(State::Play, Direction::Clientbound, id);
            let name = |id| packet(id).map(|packet| packet.name().to_string());
            assert_eq!(name(0x70).unwrap(), "mine");
            assert_eq!((name(0).unwrap(), name(2)), ("chat".to_owned(), None));
            assert_eq!(name(0x21).unwrap(), "map_chunk");
            let health = found.protocol.decode(packet(6).unwrap(), &[6, 1, 2], 1).unwrap();
            assert_eq!(health.to_json(), json!({ "a": 1, "b": 2 }));
        }
        assert!(catalog.by_name("1.8.9").is_some_and(|protocol| protocol.version() == 47));
        // Without `extends`: the version itself, with what was added before.
        let more = json!({ "play": { "toServer": { "types": { "packet_chat": "void" } } } });
        catalog.add(Some(47), "more", more).unwrap();
        let last = catalog.find(47).unwrap().protocol;
        assert!(last.named(State::Play, Direction::Clientbound, "mine").is_some());
        assert!(catalog.description(47).unwrap()["types"]["pair"].is_array());
    }

    #[test]
    fn a_partial_description_gives_all_ids_at_once() {
        // `custom_payload` and `keep_alive` have types of several sections, so that they have none of their own name.
        let mut catalog = Catalog::embedded().clone();
        let was = catalog.find(776).unwrap().protocol;
        let side = || was.packets().iter().filter(|it| it.state() == State::Play);
        let side = || side().filter(|it| it.direction() == Direction::Clientbound);
        let last = side().map(PacketType::id).max().unwrap();
        let ids = side().map(|it| (format!("{}", (it.id() + 1) % (last + 1)), json!(&**it.name())));
        let ids: serde_json::Map<_, _> = ids.collect();
        let shifted = json!({ "extends": 776, "number": 900, "name": "27.1", "play": { "toClient": { "packets": ids } } });
        catalog.add(Some(1), "other", shifted).unwrap();
        let is = catalog.by_name("27.1").unwrap();
        assert_eq!(is.version(), 900);
        for packet in side() {
            let moved = is.named(State::Play, Direction::Clientbound, packet.name()).unwrap();
            assert_eq!(moved.id(), (packet.id() + 1) % (last + 1));
            assert_eq!(is.layout(moved, 9), was.layout(packet, 9), "{}", packet.name());
        }
        assert_eq!(is.packets().len(), was.packets().len());
        // An id without a name is free, and a packet can have one id only.
        let free = json!({ "extends": 900, "number": 901, "play": { "toClient": { "packets": { "0": null } } } });
        catalog.add(None, "free", free).unwrap();
        let freed = catalog.find(901).unwrap().protocol;
        assert_eq!(freed.packets().len(), is.packets().len() - 1);
        assert!(freed.packet(State::Play, Direction::Clientbound, 0).is_none());
        for (description, fault) in [
            (json!({ "extends": 47, "number": "x" }), "number: \"x\" is no protocol number"),
            (
                json!({ "extends": 47, "name": "" }),
                "name: expected a text of up to 100 bytes, this is \"\"",
            ),
            (
                json!({ "extends": 47, "play": { "toClient": { "packets": { "0": "chat", "0x0": "login" } } } }),
                "play.toClient.packets: `0x0` has two names",
            ),
        ] {
            let error = catalog.add(Some(900), "it", description).unwrap_err().to_string();
            assert_eq!(error, fault);
        }
    }

    #[test]
    fn a_partial_description_tells_the_payload_of_a_channel() {
        let mut catalog = Catalog::embedded().clone();
        let mine = json!({
            "types": { "pair": ["container", [{ "name": "a", "type": "u8" }, { "name": "item", "type": "slot" }]] },
            "channels": { "mymod:pair": "pair", "minecraft:brand": { "toServer": "pair" } },
        });
        catalog.add(Some(47), "mod", mine).unwrap();
        let protocol = catalog.find(47).unwrap().protocol;
        let names = |direction| {
            let mine =
                protocol.channels().iter().take(3).filter(move |it| it.direction() == direction);
            mine.map(|layout| layout.name().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(Direction::Clientbound), ["mymod:pair"]);
        assert_eq!(names(Direction::Serverbound), ["mymod:pair", "minecraft:brand"]);
        let packet = protocol.named(State::Play, Direction::Serverbound, "custom_payload").unwrap();
        for (channel, there) in
            [("mymod:pair", true), ("minecraft:brand", true), ("mymod:p", false)]
        {
            let mut body = vec![0x17, channel.len() as u8];
            body.extend_from_slice(channel.as_bytes());
            body.extend_from_slice(&[5, 0xff, 0xff]);
            let value = protocol.decode_with_payload(packet, &body, 1).unwrap();
            assert_eq!(value.get("payload").is_some(), there, "{channel}");
        }
    }

    #[test]
    fn a_partial_description_with_a_fault_is_rejected_with_its_place() {
        let place = |description: Json| {
            let error = Catalog::embedded().clone().add(Some(900), "it", description).unwrap_err();
            error.to_string()
        };
        let section = |section: Json| json!({ "extends": 47, "play": { "toClient": section } });
        for (description, fault) in [
            (json!({}), "description: it describes nothing"),
            (json!({ "extends": "1.99" }), "extends: unknown version \"1.99\""),
            (json!({ "extends": 46 }), "extends: unknown version 46"),
            (json!({ "extends": 47, "game": {} }), "description: unknown key `game`"),
            (json!({ "extends": 47, "types": [] }), "types: expected an object"),
            (json!({ "extends": 47, "play": { "both": {} } }), "play: unknown key `both`"),
            (section(json!({ "type": {} })), "play.toClient: unknown key `type`"),
            (section(json!({ "packets": { "x": "chat" } })), "play.toClient.packets: `x` is not a"),
            (section(json!({ "packets": { "1": "mine" } })), "`mine` has no type `packet_mine`"),
            (
                section(json!({ "types": { "packet_chat": "u7" } })),
                "play.toClient.types.packet_chat: unknown type `u7`",
            ),
            (json!([]), "description: expected an object"),
            (
                json!({ "extends": 47, "channels": { "a:b": "u7" } }),
                "channels.a:b: unknown type `u7`",
            ),
            (
                json!({ "extends": 47, "channels": { "a:b": { "both": "u8" } } }),
                "channels.a:b: unknown key `both`, not one of toClient, toServer",
            ),
            (
                json!({ "extends": 47, "types": { "e": ["container", [{ "name": "e", "type": "e" }]] }, "channels": { "a:b": "e" } }),
                "channels.a:b: always has more than",
            ),
        ] {
            let said = place(description);
            assert!(said.contains(fault), "{said}: {fault}");
        }
        let none = Catalog::embedded().clone().add(None, "it", json!({ "types": {} })).unwrap_err();
        assert!(none.cause.contains("no protocol number"), "{none}");
    }

    /// A protocol with one packet.
    fn small(version: i32, name: &str) -> Result<Protocol, SchemaError> {
        let mapper = json!(["mapper", { "type": "varint", "mappings": { "0x00": "it" } }]);
        let switch = json!(["switch", { "compareTo": "name", "fields": { "it": "void" } }]);
        let packet = json!([
            "container",
            [{ "name": "name", "type": mapper }, { "name": "params", "type": switch }]
        ]);
        let sides = json!({ "toClient": { "types": { "packet": packet } } });
        Protocol::from_json(version, name, &json!({ "play": sides }))
    }
}
