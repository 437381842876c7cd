use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::field::{Field, shapes_at};
use super::field_index::FieldIndex;
use super::memo::Memo;
use super::names::Mentioned;
use super::packets::{Packets, RoleName};
use mitmcraft_protocol::packet::{Glob, PathStep};
use mitmcraft_protocol::schema::{
    Catalog, Family, Kinds, Name, Protocol, Release, official_names, payload_name,
};

/// The names of all packets and fields in all known versions, against which expressions are
/// checked.
///
/// What was looked up is kept: to parse many expressions, such as those of a filter file, give all
/// of them the same vocabulary.
pub struct Vocabulary<'c> {
    pub(crate) catalog: &'c Catalog,
    /// The versions in the order of [`indexes`](Self::indexes). A version is compiled on first use,
    /// so the search begins with versions that have nearly every name, and stops early.
    versions: Vec<(i32, OnceCell<FieldIndex>)>,
    /// The protocols from before 1.7.
    old: OnceCell<Vec<FieldIndex>>,
    /// The versions that the catalog has left out.
    others: OnceCell<Vec<FieldIndex>>,
    packets: Memo<Packets, Rc<[i32]>>,
    fields: Memo<Field, Rc<[i32]>>,
    warnings: Memo<Mentioned, Option<String>>,
}

impl<'c> Vocabulary<'c> {
    /// Creates the vocabulary of a catalog. Compiles nothing.
    #[must_use]
    pub fn new(catalog: &'c Catalog) -> Self {
        let mut versions: Vec<i32> = catalog.versions().map(|(version, _)| version).collect();
        versions.sort_unstable_by_key(|number| {
            (*number != FIRST, Reverse(Release::new(Family::Java, *number)))
        });
        let versions = versions.into_iter().map(|version| (version, OnceCell::new())).collect();
        let (packets, fields, warnings) = Default::default();
        let (old, others) = (OnceCell::new(), OnceCell::new());
        Self { catalog, versions, old, others, packets, fields, warnings }
    }

    /// Returns every protocol: 1.8, then all others from the newest to the oldest, then those from
    /// before 1.7.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = &FieldIndex> {
        let java = (0..self.versions.len()).filter_map(|place| self.java(place));
        java.chain(std::iter::once_with(|| self.old()).flatten())
    }

    /// Returns the protocols of 1.8 and of the newest release, which together have nearly every
    /// name.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &FieldIndex> {
        (0..self.versions.len().min(2)).filter_map(|place| self.java(place))
    }

    /// Returns the protocols from before 1.7.
    pub(crate) fn old(&self) -> &[FieldIndex] {
        self.old.get_or_init(|| self.catalog.old().map(FieldIndex::new).collect())
    }

    /// Returns the versions since 1.7 that have a packet of that name, in ascending order. Compiles
    /// nothing.
    pub(super) fn versions_with(&self, packets: &Packets) -> Rc<[i32]> {
        self.packets.get(packets, || {
            let versions = self.catalog.versions().map(|(version, _)| version);
            let has = |version: &i32| self.catalog.has_packet(*version, |name| packets.has(name));
            versions.filter(has).collect()
        })
    }

    /// Returns the versions since 1.7 that have what is named, in ascending order. For a field that the
    /// first and the last version have, these are all: compiling the others takes time.
    pub(super) fn versions_of(&self, what: &Mentioned) -> Rc<[i32]> {
        let field = match what {
            Mentioned::Packets(packets) => return self.versions_with(packets),
            Mentioned::Field(field) => field,
        };
        self.fields.get(field, || {
            let mut versions: Vec<i32> = if self.ends().all(|index| index.has(field)) {
                self.versions.iter().map(|(version, _)| *version).collect()
            } else {
                let java = (0..self.versions.len()).filter_map(|place| self.java(place));
                java.filter(|index| index.has(field)).map(|it| it.protocol().version()).collect()
            };
            versions.sort_unstable();
            versions.into()
        })
    }

    /// Returns whether the catalog has left out versions.
    pub(super) fn is_restricted(&self) -> bool {
        self.catalog.left_out().next().is_some()
    }

    /// Returns the role of packets of that name, if more versions have a packet with that role.
    pub(super) fn wider(&self, packets: &Packets) -> Option<Packets> {
        let Packets::Named(name) = packets else { return None };
        let role = RoleName::ALL.iter().find(|role| role.covers(name.as_str()))?;
        let role = Packets::Role(role);
        (self.versions_with(&role).len() > self.versions_with(packets).len()).then_some(role)
    }

    /// Returns whether any version has a packet of that name.
    pub(super) fn has_packet(&self, packets: &Packets) -> bool {
        !self.versions_with(packets).is_empty()
            || self.old().iter().any(|index| has_packet(index.protocol(), packets))
            || self.catalog.has_packet_elsewhere(|name| packets.has(name))
    }

    /// Returns the names in the tables of the packets with an official name; none if the tables of any
    /// version have that name for a packet.
    pub(super) fn names_of_official(&self, name: &str) -> Vec<&'static str> {
        let official = || official_names().iter().filter(|it| it.official == name);
        if official().next().is_none() || self.has_packet(&Packets::Named(Glob::new(name))) {
            return Vec::new();
        }
        let names: BTreeSet<&str> = official().map(|it| it.name).collect();
        names.into_iter().collect()
    }

    /// Returns the families of the protocols from before 1.7 in which `has` is true.
    pub(super) fn families(&self, has: impl Fn(&FieldIndex) -> bool) -> BTreeSet<Family> {
        let old = self.old().iter().filter(|index| has(index));
        old.map(|index| index.protocol().family()).collect()
    }

    /// Returns a message that says which releases have the name, unless all have.
    pub(super) fn warning(&self, what: &Mentioned) -> Option<String> {
        self.warnings.get(what, || what.partial(self))
    }

    /// Returns the kinds of a field in all versions, or in as many as are `enough`; those in the versions
    /// that the catalog has left out if none of its own has the field; empty if no version has it.
    pub(super) fn kinds(&self, field: &Field, enough: impl Fn(Kinds) -> bool) -> Kinds {
        let of = |indexes: &mut dyn Iterator<Item = &FieldIndex>| {
            let mut found = Kinds::NONE;
            for index in indexes {
                found = index.kinds(field, found, &enough);
                if !found.is_empty() && enough(found) {
                    break;
                }
            }
            found
        };
        let found = of(&mut self.indexes());
        if found.is_empty() { of(&mut self.others().iter()) } else { found }
    }

    /// Returns the protocols that the catalog has left out.
    pub(crate) fn others(&self) -> &[FieldIndex] {
        self.others.get_or_init(|| self.catalog.left_out().map(FieldIndex::new).collect())
    }

    /// Returns the names of all packets.
    pub(super) fn packet_names(&self) -> BTreeSet<String> {
        let packets = self.indexes().flat_map(|index| index.protocol().packets());
        packets.map(|packet| packet.name().to_string()).collect()
    }

    /// Returns the names of the fields at the end of a path.
    pub(super) fn field_names(
        &self,
        packets: Option<&Packets>,
        steps: &[PathStep],
    ) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for protocol in self.indexes().map(FieldIndex::protocol) {
            let packets = protocol
                .packets()
                .iter()
                .filter(|packet| packets.is_none_or(|packets| packets.matches(packet)));
            for packet in packets {
                for shape in shapes_at(protocol, packet, steps) {
                    names.extend(shape.fields().into_iter().map(|(name, _)| name.to_string()));
                }
                if steps.is_empty() && protocol.payload_layouts(packet).next().is_some() {
                    names.insert(payload_name().to_string());
                }
            }
        }
        names
    }

    fn java(&self, place: usize) -> Option<&FieldIndex> {
        let (version, index) = &self.versions[place];
        if let Some(index) = index.get() {
            return Some(index);
        }
        let protocol = self.catalog.find(*version)?.protocol;
        Some(index.get_or_init(|| FieldIndex::new(protocol)))
    }
}

pub(super) fn has_packet(protocol: &Protocol, packets: &Packets) -> bool {
    protocol.packets().iter().any(|packet| packets.matches(packet))
}

/// Returns the names of a mapped number in one version.
pub(super) fn mapped_names(index: &FieldIndex, field: &Field) -> Vec<Name> {
    let protocol = index.protocol();
    let shapes = index.packets(field);
    let shapes = shapes.flat_map(|it| shapes_at(protocol, it, field.path.steps()));
    shapes.flat_map(|shape| shape.names()).map(|(_, name)| name).collect()
}

/// The protocol version of 1.8, which has most names.
const FIRST: i32 = 47;
