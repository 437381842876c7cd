use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::field::{Field, Step, kinds_at, shape_at};
use crate::packet::Glob;
use crate::schema::{Catalog, Kinds, Name, Protocol, Shape};

/// The tables of all known versions, against which names are checked.
///
/// A version is compiled when it is first asked for, so they are gone through in an order in which
/// nearly every name is found at once, and no further than needed.
pub(super) struct Tables<'c> {
    catalog: &'c Catalog,
}

impl<'c> Tables<'c> {
    pub(super) fn new(catalog: &'c Catalog) -> Self {
        Self { catalog }
    }

    /// Every protocol: that of 1.8, all others from the newest back to the oldest, and those from
    /// before 1.7.
    pub(super) fn protocols(&self) -> impl Iterator<Item = Arc<Protocol>> {
        let mut versions: Vec<i32> = self.catalog.versions().map(|(version, _)| version).collect();
        // Snapshots have the largest numbers, and hardly anybody plays them.
        versions.sort_unstable_by_key(|version| {
            (*version != FIRST, *version >= Catalog::FIRST_SNAPSHOT, Reverse(*version))
        });
        let java = versions.into_iter().filter_map(|version| self.catalog.find(version));
        java.map(|found| found.protocol).chain(self.catalog.old())
    }

    /// Those of 1.8 and of the newest release, which together have nearly every name.
    pub(super) fn ends(&self) -> Vec<Arc<Protocol>> {
        self.protocols().take(2).collect()
    }

    /// Whether there is a packet of that name.
    pub(super) fn has_packet(&self, packets: &Glob) -> bool {
        let versions = &mut self.catalog.versions();
        versions.any(|(version, _)| self.catalog.has_packet(version, |name| packets.matches(name)))
            || self.catalog.old().any(|protocol| has_packet(&protocol, packets))
    }

    /// What a field can be in all versions together, or in some that are enough; the empty set when
    /// there is no such field.
    pub(super) fn kinds(&self, field: &Field, enough: impl Fn(Kinds) -> bool) -> Kinds {
        let mut found = Kinds::NONE;
        for protocol in self.protocols() {
            found = kinds(&protocol, field, found, &enough);
            if !found.is_empty() && enough(found) {
                break;
            }
        }
        found
    }

    /// The names of all packets.
    pub(super) fn packet_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for protocol in self.protocols() {
            names.extend(protocol.packets().iter().map(|packet| packet.name().to_string()));
        }
        names
    }

    /// The names of the fields behind these steps.
    pub(super) fn field_names(&self, packets: Option<&Glob>, steps: &[Step]) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.each_shape(packets, steps, |shape| {
            names.extend(shape.fields().into_iter().map(|(name, _)| name.to_string()));
        });
        names
    }

    fn each_shape(&self, packets: Option<&Glob>, steps: &[Step], mut see: impl FnMut(&Shape<'_>)) {
        for protocol in self.protocols() {
            for packet in protocol.packets() {
                if packets.is_some_and(|packets| !packets.matches(packet.name())) {
                    continue;
                }
                shape_at(Shape::of(&protocol, packet), steps).iter().for_each(&mut see);
            }
        }
    }
}

pub(super) fn has_packet(protocol: &Protocol, packets: &Glob) -> bool {
    protocol.packets().iter().any(|packet| packets.matches(packet.name()))
}

/// What a field can be in that version, with `found` before.
pub(super) fn kinds(
    protocol: &Protocol,
    field: &Field,
    mut found: Kinds,
    enough: impl Fn(Kinds) -> bool,
) -> Kinds {
    for packet in protocol.packets() {
        if field.is_of(packet) {
            found = found | kinds_at(Shape::of(protocol, packet), &field.steps);
            if !found.is_empty() && enough(found) {
                break;
            }
        }
    }
    found
}

/// The names that a mapped number at that place can have in that version.
pub(super) fn mapped_names(protocol: &Protocol, field: &Field) -> Vec<Name> {
    let packets = protocol.packets().iter().filter(|packet| field.is_of(packet));
    let shapes = packets.filter_map(|it| shape_at(Shape::of(protocol, it), &field.steps));
    shapes.flat_map(|shape| shape.names()).map(|(_, name)| name).collect()
}

/// The protocol of 1.8, which most names are in.
const FIRST: i32 = 47;
