//! Rows of data files: something that is known of fields of packets, with the versions in which it holds.

use std::collections::HashSet;

use rustc_hash::FxHashMap;
use toml::de::{DeTable, DeValue};

use super::annotation::{Condition, conditions};
use crate::schema::{Direction, Family, PacketType, Release, State};

/// What an entry of a data file says of its fields.
pub(crate) trait Entry: Default {
    /// Takes a key of the entry. Returns `None` if there is no such key, or its value is wrong.
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()>;
}

/// Rows that say nothing but which fields they are of.
impl Entry for () {
    fn take(&mut self, _: &str, _: &DeValue<'_>) -> Option<()> {
        None
    }
}

/// All rows of one kind, by the packets that they are about.
#[derive(Debug)]
pub(crate) struct Table<T: 'static> {
    packets: FxHashMap<Place, FxHashMap<String, Fields<T>>>,
}

/// Where packets with the same names are found.
pub(crate) type Place = (Family, State, Direction);

/// The rows of a type of packet.
#[derive(Debug)]
pub(crate) struct Fields<T: 'static> {
    /// The rows by the path of their field, as the table knows it. If several hold for a path, the first one
    /// is right.
    pub(crate) rows: FxHashMap<String, Vec<Row<T>>>,
    /// The paths of rows that begin with `*`, which stand for all that end like them.
    ends: Vec<String>,
    /// The fields on which rows depend, and those of them that come after what depends on them.
    pub(crate) deciding: HashSet<String>,
    pub(crate) later: HashSet<String>,
}

/// What an entry says of one field.
#[derive(Debug)]
pub(crate) struct Row<T: 'static> {
    /// The path of the field in the data file, in which `[*]` stands for any element; empty for the packet as
    /// a whole.
    pub(crate) path: String,
    pub(crate) versions: Versions,
    /// Conditions that all hold.
    pub(crate) when: &'static [Condition],
    pub(crate) entry: &'static T,
}

/// The versions in which a row holds, both ends included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Versions {
    pub(crate) first: Release,
    /// `None` for all that follow.
    pub(crate) last: Option<Release>,
}

impl Versions {
    /// Reads `47`, `4-47` or `477-`.
    pub(crate) fn parse(family: Family, text: &str) -> Option<Self> {
        let release = |number: &str| Some(Release::new(family, number.parse().ok()?));
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let last = if last.is_empty() { None } else { Some(release(last)?) };
        Some(Self { first: release(first)?, last })
    }

    pub(crate) fn contains(&self, release: Release) -> bool {
        self.first <= release && self.last.is_none_or(|last| release <= last)
    }
}

impl<T: Entry> Table<T> {
    /// Reads the entries `[[section]]` of data files, each with the family of those that name none. Paths
    /// of fields are looked up as `key` makes them.
    ///
    /// # Panics
    /// If a file is not as it should be; a test reads all of them.
    pub(crate) fn read(
        files: &[(Family, &str)],
        section: &str,
        key: impl Fn(&str) -> String,
    ) -> Self {
        let mut table = Self { packets: FxHashMap::default() };
        for (family, text) in files {
            let file = DeTable::parse(text).expect(READ);
            let entries = file.get_ref().get(section).and_then(|it| it.get_ref().as_array());
            for entry in entries.into_iter().flat_map(|entries| entries.iter()) {
                let line = text[..entry.span().start].lines().count();
                let read = entry.get_ref().as_table().and_then(|it| table.add(*family, it, &key));
                read.unwrap_or_else(|| {
                    panic!("`[[{section}]]` of {family} in line {line}; {READ}")
                });
            }
        }
        table
    }

    fn add(
        &mut self,
        mut family: Family,
        entry: &DeTable<'_>,
        key: &impl Fn(&str) -> String,
    ) -> Option<()> {
        let mut value = T::default();
        let (mut states, mut when, mut packets) = (&[State::Play][..], Box::default(), Vec::new());
        for (name, it) in entry {
            let it = it.get_ref();
            match name.get_ref().as_ref() {
                "family" => family = it.as_str()?.parse().ok()?,
                "state" if it.as_str()? == ANY => states = &State::ALL,
                "state" => {
                    let state: State = it.as_str()?.parse().ok()?;
                    states = std::slice::from_ref(State::ALL.iter().find(|it| **it == state)?);
                }
                "when" => when = conditions(it)?,
                name => match name.parse::<Direction>() {
                    Ok(direction) => {
                        packets.extend(texts(it)?.into_iter().map(|text| (direction, text)));
                    }
                    Err(_) => value.take(name, it)?,
                },
            }
        }
        // They are there for as long as the program runs.
        let (entry, when): (&'static T, &'static [Condition]) =
            (Box::leak(Box::new(value)), Box::leak(when));
        for (direction, text) in packets {
            let (head, paths) = text.split_once(": ").unwrap_or((text, ""));
            let (names, versions) = head.split_once(' ')?;
            let versions = Versions::parse(family, versions)?;
            for (state, name) in
                states.iter().flat_map(|it| names.split('|').map(move |name| (it, name)))
            {
                let packets = self.packets.entry((family, *state, direction)).or_default();
                let fields = packets.entry(name.to_owned()).or_default();
                for path in paths.split(' ') {
                    let row = Row { path: path.to_owned(), versions, when, entry };
                    fields.add(key(path), row);
                }
            }
        }
        Some(())
    }
}

impl<T> Table<T> {
    /// Returns the rows of a type of packet.
    pub(crate) fn of(&self, release: Release, packet: &PacketType) -> Option<&Fields<T>> {
        self.named(release, packet, packet.name())
    }

    /// Returns the rows of fields that packets of any type have.
    pub(crate) fn shared(&self, release: Release, packet: &PacketType) -> Option<&Fields<T>> {
        self.named(release, packet, ANY)
    }

    /// Returns the rows of packets of any type in that place.
    pub(crate) fn any(&self, place: Place) -> Option<&Fields<T>> {
        self.packets.get(&place)?.get(ANY)
    }

    fn named(&self, release: Release, packet: &PacketType, name: &str) -> Option<&Fields<T>> {
        self.packets.get(&(release.family(), packet.state(), packet.direction()))?.get(name)
    }

    /// Iterates over the names of packets and their rows, with the places where they are found.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, &str, &Fields<T>)> {
        self.packets.iter().flat_map(|(place, packets)| {
            packets.iter().map(move |(name, fields)| (*place, &**name, fields))
        })
    }
}

impl<T> Fields<T> {
    fn add(&mut self, key: String, row: Row<T>) {
        for condition in row.when {
            self.deciding.extend(condition.fields.iter().cloned());
            if condition.later {
                self.later.extend(condition.fields.iter().cloned());
            }
        }
        if key.starts_with(ANY) && !self.ends.contains(&key) {
            self.ends.push(key.clone());
        }
        self.rows.entry(key).or_default().push(row);
    }

    /// Iterates over what a version knows of the field at `path`, whatever other fields say.
    pub(crate) fn at(&self, path: &str, release: Release) -> impl Iterator<Item = &Row<T>> {
        let rows = self.rows.get(path).into_iter().flatten();
        rows.filter(move |row| row.versions.contains(release))
    }

    /// Iterates over what a version knows of the field at `path`, or of all that end like it: of several such
    /// rows, those of the longest end.
    pub(crate) fn ending(&self, path: &str, release: Release) -> impl Iterator<Item = &Row<T>> {
        let ends = || {
            let ends = self.ends.iter().filter(|key| path.ends_with(&key[ANY.len()..]));
            self.rows.get(ends.max_by_key(|key| key.len())?)
        };
        let rows = self.rows.get(path).or_else(ends).into_iter().flatten();
        rows.filter(move |row| row.versions.contains(release))
    }
}

impl<T> Default for Fields<T> {
    fn default() -> Self {
        Self {
            rows: FxHashMap::default(),
            ends: Vec::new(),
            deciding: HashSet::new(),
            later: HashSet::new(),
        }
    }
}

/// Returns the path of a field without the places of elements: the names in it.
pub(crate) fn names(path: &str) -> String {
    path.replace("[*]", "")
}

/// Reads a list of texts.
pub(crate) fn texts<'t>(value: &'t DeValue<'_>) -> Option<Vec<&'t str>> {
    value.as_array()?.iter().map(|text| text.get_ref().as_str()).collect()
}

/// Stands for any packet, or for the path of what contains a field.
pub(crate) const ANY: &str = "*";

const READ: &str = "a test reads the data files";
