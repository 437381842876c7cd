//! The rows of the data files against the descriptions of all versions.

use std::collections::HashMap;

use super::*;
use crate::meaning::metadata::MetadataTypes;
use crate::meaning::rows::{ANY, Table, Versions};
use crate::meaning::{metadata_type_name, registry};

/// All versions, and the paths of fields as far as they were asked for.
struct Known {
    versions: BTreeMap<Release, Arc<Protocol>>,
    paths: HashMap<(Release, *const PacketType), BTreeSet<String>>,
}

impl Known {
    fn new() -> Self {
        let families = Family::ALL.into_iter().flat_map(protocols);
        let versions = families.map(|it| (it.release(), it)).collect();
        Self { versions, paths: HashMap::new() }
    }

    /// Returns the paths of a packet's fields, with those of the payloads that it can have.
    fn paths(&mut self, protocol: &Protocol, packet: &PacketType) -> &BTreeSet<String> {
        self.paths.entry((protocol.release(), packet)).or_insert_with(|| {
            let payloads = protocol.payload_layouts(packet).flat_map(|layout| {
                paths(protocol, layout, DEPTH).into_keys().map(|path| format!("payload.{path}"))
            });
            paths(protocol, packet, DEPTH).into_keys().chain(payloads).collect()
        })
    }

    /// Checks that every packet and field that rows name is in every version of the row, and that those
    /// versions exist.
    fn check<T: std::fmt::Debug>(&mut self, table: &Table<T>) {
        assert!(table.iter().next().is_some());
        for ((family, state, direction), packet, fields) in table.iter() {
            for row in fields.rows.values().flatten() {
                let name = format!("{packet}.{} of {family} {state} {direction}", row.path);
                let Versions { first, last } = row.versions;
                let ends = [first, last.unwrap_or(first)];
                assert!(ends.iter().all(|it| self.versions.contains_key(it)), "{name}: {ends:?}");
                // Packets as a whole, and all fields of a type.
                if packet == ANY && (row.path.is_empty() || row.path.starts_with('(')) {
                    continue;
                }
                let within = self.versions.values().filter(|protocol| {
                    protocol.family() == family && row.versions.contains(protocol.release())
                });
                let within: Vec<_> = within.cloned().collect();
                let mut has = |protocol: &Arc<Protocol>| {
                    let packets = protocol.packets().iter().filter(|it| {
                        let is = packet == ANY || **it.name() == *packet;
                        is && (it.state(), it.direction()) == (state, direction)
                    });
                    let end = row.path.strip_prefix(ANY);
                    let is = |path: &String| match end {
                        Some(end) => path.ends_with(end),
                        None => *path == row.path,
                    };
                    let mut packets = packets.filter(|it| {
                        row.path.is_empty() || self.paths(protocol, it).iter().any(is)
                    });
                    packets.next().is_some()
                };
                if packet == ANY {
                    assert!(within.iter().any(has), "{name}: no version has it");
                    continue;
                }
                let lacking = within.iter().find(|it| !has(it));
                assert!(lacking.is_none(), "{name}: not in {}", lacking.unwrap().version());
            }
        }
    }
}

/// Levels of fields that are known.
const DEPTH: usize = 8;

#[test]
fn every_row_is_of_a_packet_and_a_field_that_every_version_of_its_range_has() {
    let mut known = Known::new();
    known.check(crate::meaning::field_meanings::table());
    known.check(crate::meaning::limits::table());
    known.check(crate::meaning::components::table());
    known.check(crate::meaning::redaction::table());
    known.check(crate::meaning::order::world());
    known.check(crate::meaning::order::registries());
    known.check(crate::meaning::order::awaited());
    known.check(crate::meaning::order::automatic());
    known.check(crate::meaning::renamed::table());
    known.check(crate::meaning::rhythm::rhythms());
    known.check(crate::meaning::rhythm::asides());
    known.check(crate::meaning::client::answers());
    known.check(crate::meaning::client::order());
    for (name, row) in crate::meaning::client::rules()
        .iter()
        .flat_map(|(name, rows)| rows.iter().map(move |row| (name, row)))
    {
        let Versions { first, last } = row.versions;
        assert!(
            known.versions.contains_key(&first)
                && last.is_none_or(|it| known.versions.contains_key(&it)),
            "{name}"
        );
    }
    assert!(!crate::meaning::GameWords::get().members.is_empty());
}

#[test]
fn every_type_that_cannot_be_attacked_is_one_of_entities_in_its_versions() {
    let all = protocols(Family::Java);
    for (name, versions) in crate::meaning::client::unhurt() {
        // Before 1.14, they are objects, whose names are in no registry.
        let is_listed = |it: Release| it >= Release::V1_14 && versions.contains(it);
        for protocol in all.iter().filter(|it| is_listed(it.release())) {
            let Some(entities) = registry(protocol, RegistryKind::Entity) else { continue };
            let is_known = entities.numbers(name).next().is_some();
            assert!(is_known, "{name} in {}", protocol.version());
        }
    }
}

#[test]
fn every_answer_of_a_client_is_a_packet_that_every_version_of_its_row_has() {
    let all = protocols(Family::Java);
    for ((_, state, _), question, fields) in crate::meaning::client::answers().iter() {
        for row in fields.rows.values().flatten() {
            let answer = row.entry;
            for protocol in all.iter().filter(|it| row.versions.contains(it.release())) {
                let name = format!("{question} {} of {}", answer.by, protocol.version());
                let packets =
                    [(Direction::Clientbound, question), (Direction::Serverbound, &answer.by)];
                for (way, packet) in packets {
                    let kind =
                        protocol.named(state, way, packet).unwrap_or_else(|| panic!("{name}"));
                    let fields = paths(protocol, kind, 1);
                    let has = answer.number.as_ref().is_none_or(|it| fields.contains_key(it));
                    // Positions of some versions have no number.
                    assert!(has, "{name}: {way}");
                }
            }
        }
    }
}

#[test]
fn every_key_of_metadata_with_a_type_is_one_of_an_entity_in_its_versions() {
    let all = protocols(Family::Java);
    let entities = |protocol: &Arc<Protocol>| {
        let registry = Registries::find(protocol.release(), RegistryKind::Metadata)?;
        let keys = |(_, entity)| {
            let keys = (0..64).filter_map(move |number| registry.key(entity, number));
            keys.map(move |key| (key, entity))
        };
        Some((protocol.release(), registry.names().flat_map(keys).collect::<BTreeSet<_>>()))
    };
    let known: Vec<_> = all.iter().filter_map(entities).collect();
    for (key, it) in MetadataTypes::get().keys() {
        let of_row = |(known, entity): &(&str, &str)| {
            *known == key && (it.entities.is_empty() || it.entities.iter().any(|it| it == entity))
        };
        let mut within = known.iter().filter(|(release, _)| it.versions.contains(*release));
        assert!(within.any(|(_, keys)| keys.iter().any(of_row)), "{key}: {it:?}");
        let ends = [it.versions.first, it.versions.last.unwrap_or(it.versions.first)];
        let is_known = |end: &Release| all.iter().any(|known| known.release() == *end);
        assert!(ends.iter().all(is_known), "{key}: {it:?}");
    }
    let name = |number, kind| metadata_type_name(Release::new(Family::Java, number), kind);
    assert_eq!(name(47, 7), Some("rotations"));
    assert_eq!(
        (name(340, 5), name(340, 13), name(340, 14)),
        (Some("item_stack"), Some("compound_tag"), None)
    );
    assert_eq!(
        (name(760, 2), name(761, 2), name(761, 3)),
        (Some("float"), Some("long"), Some("float"))
    );
}
